"""Bounds of words: whichever of the missing texts had the word, its score lies within."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.group_words import odds_bounds, strict_words, word_log_odds
from facevalue.studies.counterfactuals.word_association import association_bounds, association_scores
from tests.measures.test_marked_words import counted

WORDS = [f"w{at}" for at in range(8)]


@settings(max_examples=25)
@given(st.integers(0, 100_000))
def test_whichever_missing_texts_have_a_word_its_score_lies_within(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, each, words = 3, 20, 4
    there, missing = (rng.integers(low, high, groups).astype(np.float64) for low, high in ((5, each), (0, 6)))
    images = np.minimum(rng.integers(1, each, (groups, words)), there[:, None])
    tokens, sizes = images * rng.integers(1, 3, words).astype(float), there * 30.0
    score = association_scores(tokens, sizes)
    bounds = association_bounds(score, tokens, sizes, images, (there, missing))
    mentions = tokens.sum(axis=0) / images.sum(axis=0)
    assert ((bounds.low <= score) & (score <= bounds.high)).all()
    for _ in range(20):
        having = np.floor(rng.random((groups, words)) * (missing[:, None] + 1))
        filled = association_scores(tokens + having * mentions, sizes + missing * 30.0)
        assert ((bounds.low <= filled + 1e-9) & (filled <= bounds.high + 1e-9)).all()


@settings(max_examples=10)
@given(st.integers(0, 100_000))
def test_whichever_missing_texts_have_a_word_its_log_odds_lie_within(seed: int) -> None:
    """Three groups of texts of five words, compared with the last; all groups are in the prior."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b", "u"], 12)
    counts = counted([" ".join(rng.choice(WORDS, 5, replace=False)) for _ in groups])
    found = strict_words(counts, groups.tolist(), "u", minimum_documents=1, resamples=3)
    missing = rng.integers(0, 2, groups.size)
    bounds = odds_bounds(found, counts, groups.tolist(), missing)
    tokens = np.asarray(counts.tokens.sum(axis=0), dtype=float)
    by_group = {name: np.asarray(counts.tokens[groups == name].sum(axis=0), dtype=float) for name in set(groups)}
    lost = {name: missing[groups == name].sum() for name in by_group}
    prior_size = tokens.sum() + 5 * missing.sum()
    for at, row in enumerate(found.iter_rows(named=True)):
        word = counts.words.to_list().index(row["word"])
        assert bounds.low[at] <= row["log_odds"] <= bounds.high[at]
        for _ in range(5):
            having = {name: rng.integers(0, many + 1) for name, many in lost.items()}
            y = [np.array([by_group[row[side]][word] + having[row[side]]]) for side in ("group", "against")]
            sizes = [np.array([60.0 + 5 * lost[row[side]] + prior_size]) for side in ("group", "against")]
            prior = np.array([tokens[word] + sum(having.values())])
            delta = word_log_odds(y[0], y[1], prior, (sizes[0], sizes[1])).delta[0]
            assert bounds.low[at] - 1e-9 <= delta <= bounds.high[at] + 1e-9


def test_without_missing_texts_bounds_are_the_scores_and_a_tenth_withheld_leaves_a_clear_word() -> None:
    groups = ["a"] * 40 + ["u"] * 40
    counts = counted(["hat tie tall small"] * 30 + ["tie tall small calm"] * 50)
    found = strict_words(counts, groups, "u", resamples=50)
    none = odds_bounds(found, counts, groups, np.zeros(80, dtype=np.int64))
    np.testing.assert_allclose([none.low, none.high], [none.value] * 2, atol=1e-12)
    tenth = odds_bounds(found, counts, groups, (np.arange(80) % 10 == 0).astype(np.int64))
    hat = found["word"].to_list().index("hat")
    assert 0 < tenth.low[hat] < tenth.value[hat] < tenth.high[hat]
    most = odds_bounds(found, counts, groups, (np.arange(80) % 2).astype(np.int64))
    assert most.low[hat] == pytest.approx(0.0, abs=0.3)
