"""Marked words: the published lists, and what chance alone gives."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.annotations.counts import Tokeniser, WordCounter, WordCounts
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.group_words import published_words, strict_words, word_log_odds
from facevalue.measures.multitest import adjust_p
from facevalue.measures.noise_floors import LONE_EFFECT
from tests.reference import reference


def counted(texts: list[str], units: list[int] | None = None, tokeniser: Tokeniser = Tokeniser.WORDS) -> WordCounts:
    """Words of texts, each its own unit by default."""
    unit = np.arange(len(texts)) if units is None else np.array(units)
    counter = WordCounter(int(unit.max()) + 1, tokeniser)
    counter.add(pl.DataFrame({"said": texts}), "said", unit)
    return counter.counts()


def made(seed: int, units: int, lift: float, repeats: int = 1) -> tuple[WordCounts, list[str]]:
    """Texts of forty words from 60, `repeats` equal ones per unit; group b says "w0" more often by `lift`."""
    rng = np.random.default_rng(seed)
    groups = ["a", "b"] * (units // 2)
    texts, unit = [], []
    for number, group in enumerate(groups):
        words = rng.integers(0, 60, 40)
        words[rng.random(40) < (lift if group == "b" else 0)] = 0
        texts += [" ".join(f"w{word}" for word in words)] * repeats
        unit += [number] * repeats
    return counted(texts, unit), groups


def test_the_released_lists_come_out_word_for_word() -> None:
    """Table 1 and the release's notebook: the first twenty of each group with their z."""
    frame = pl.read_parquet(reference("visbias", "descriptions_gpt-4o.parquet"))
    expected = json.loads(reference("visbias", "marked_words_expected.json").read_text())
    cells = frame.select("race", "gender").unique(maintain_order=True).with_row_index("unit")
    unit = frame.join(cells, on=["race", "gender"], how="left", maintain_order="left")["unit"]
    counter = WordCounter(cells.height, Tokeniser.MARKED)
    counter.add(frame, "text", unit.to_numpy().astype(np.int64))
    counts = counter.counts()
    found = pl.concat(
        published_words(counts, cells[column].to_list(), unmarked)
        for column, unmarked in (("race", "white"), ("gender", "male"))
    )
    assert len(expected) == 7
    for wanted in expected:
        own = found.filter(pl.col("group") == wanted["group"])
        assert own["word"].to_list() == wanted["top20"], wanted["group"]
        assert own["rank"].to_list() == list(range(1, own.height + 1))
        if wanted["z"][0] is not None:
            assert own["z"].to_list() == pytest.approx(wanted["z"], abs=0.00051)
        else:
            assert own["z"].null_count() == own.height


@given(st.lists(st.tuples(*[st.integers(0, 50)] * 3), min_size=2, max_size=8))
def test_log_odds_turn_their_sign_with_the_groups(rows: list[tuple[int, int, int]]) -> None:
    one, two, extra = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    prior = one + two + extra + 1
    there, back = word_log_odds(one, two, prior), word_log_odds(two, one, prior)
    np.testing.assert_allclose(there.z, -back.z, atol=1e-12)
    np.testing.assert_array_equal(np.sign(there.z), np.sign(there.delta))


def test_published_names_groups_sides_and_counts() -> None:
    texts = ["red red hat"] * 60 + ["blue blue hat"] * 60
    found = published_words(counted(texts), ["x"] * 60 + ["u"] * 60, "u")
    rows = found.select("rank", "word", "group", "against", "tokens", "documents", "tokens_against").rows()
    assert rows == [(1, "red", "x", "u", 120, 60, 0), (1, "blue", "u", "x", 120, 60, 0)]


def test_the_unmarked_groups_words_are_those_of_exactly_two_opposite_lists() -> None:
    """As released: what sets the unmarked group apart from all others is left out."""
    # One, two and all three of the others lack the words of that name.
    said = {"u": "one two all hat", "x": "hat tie tie tie", "y": "one hat tie tie", "z": "one two hat tie"}
    texts = [text for text in said.values() for _ in range(80)]
    found = published_words(counted(texts), [group for group in said for _ in range(80)], "u")
    assert found.filter(group="u")["word"].to_list() == ["two"]
    assert found.filter(group="u")["against"].to_list() == [None]


def test_strict_finds_a_word_that_is_there_and_names_its_side() -> None:
    counts, groups = made(1, 120, 0.1)
    found = strict_words(counts, groups, "a", resamples=400)
    first = found.row(0, named=True)
    assert (first["word"], first["group"], first["against"]) == ("w0", "b", "a")
    assert first["z"] > 0 < first["t"]
    assert first["p_family"] == pytest.approx(1 / 401)
    assert first["tokens"] > first["tokens_against"]
    turned = strict_words(counts, groups, "b", resamples=400).row(0, named=True)
    assert (turned["word"], turned["group"], turned["against"]) == ("w0", "b", "a")
    assert turned["z"] == pytest.approx(first["z"])
    assert turned["tokens"] == first["tokens"]


@pytest.mark.slow
def test_without_a_difference_a_family_finds_anything_one_time_in_twenty() -> None:
    """120 corpora at 5%: 6 expected, 13 or more has probability 0.6%."""
    found = sum(
        (strict_words(*made(seed, 40, 0.0), "a", resamples=99)["p_family"] <= 0.05).any() for seed in range(120)
    )
    assert 1 <= found <= 12


def test_repeats_of_one_image_are_no_evidence() -> None:
    """With sixteen equal texts an image, z explodes; the test over images is as with one."""
    once, groups = made(3, 40, 0.0)
    often, _ = made(3, 40, 0.0, repeats=16)
    one = strict_words(once, groups, "a", resamples=99, minimum_documents=1)
    many = strict_words(often, groups, "a", resamples=99, minimum_documents=1)
    assert np.abs(many["z"].to_numpy()).max() > 3 * np.abs(one["z"].to_numpy()).max()
    joined = one.join(many, on="word", suffix="_many")
    np.testing.assert_allclose(joined["p"], joined["p_many"], atol=0.08)


def test_labels_stay_within_strata() -> None:
    """A word of one stratum only, whose groups are unbalanced: no evidence within strata, much without them."""
    texts = ["gavel hat"] * 30 + ["stove hat"] * 30
    strata = ["court"] * 30 + ["kitchen"] * 30
    groups = ["b"] * 25 + ["a"] * 5 + ["b"] * 5 + ["a"] * 25
    counts = counted(texts)
    free = strict_words(counts, groups, "a", resamples=200)
    held = strict_words(counts, groups, "a", strata=strata, resamples=200)
    assert free.filter(word="gavel")["p"][0] < 0.01
    assert held.filter(word="gavel")["p"][0] is None  # every labelling gives the same counts


def test_masked_and_rare_words_are_not_tested() -> None:
    counts, groups = made(5, 60, 0.1)
    found = strict_words(counts, groups, "a", masked=["w0"], minimum_documents=25, resamples=50)
    assert "w0" not in found["word"].to_list()
    assert ((found["documents"] + found["documents_against"]) >= 25).all()
    assert 0 < found.height < 59


def test_masking_takes_the_words_out_of_the_corpus() -> None:
    texts = ["she red hat"] * 20 + ["he blue hat"] * 20
    without = [text.split(" ", 1)[1] for text in texts]
    groups = ["f"] * 20 + ["m"] * 20
    masked = strict_words(counted(texts), groups, "m", masked=["she", "he"], resamples=50)
    plain = strict_words(counted(without), groups, "m", resamples=50)
    assert masked.sort("word").equals(plain.sort("word"))


def test_q_finds_one_effect_or_many_within_each_comparison() -> None:
    counts, groups = made(7, 60, 0.08)
    three = [group if number % 3 else "c" for number, group in enumerate(groups)]
    found = strict_words(counts, three, "a", resamples=60)
    for other in ("b", "c"):
        own = found.filter((pl.col("group") == other) | (pl.col("against") == other))
        many, one = adjust_p(own["p"].to_numpy(), "bh"), own["p_family"].to_numpy()
        nothing = min(one.min() / LONE_EFFECT, many.min() / (1 - LONE_EFFECT))
        np.testing.assert_allclose(own["q"].to_numpy(), np.clip(np.minimum(many, one), nothing, 1))


def test_one_word_among_hundreds_is_found() -> None:
    """In nine of ten texts of a group and one in twenty of the other: with a thousand shuffles no p is small enough."""
    rng = np.random.default_rng(5)
    groups = ["a", "b"] * 40
    texts = [
        " ".join([f"w{word}" for word in rng.integers(0, 700, 120)] + ["sash"] * (rng.random() < (0.9, 0.05)[g == "a"]))
        for g in groups
    ]
    found = strict_words(counted(texts), groups, "a")
    assert found.height > 400
    assert found.filter(pl.col("q") < 0.01)["word"].to_list() == ["sash"]
    assert found["p_least"][0] * found.height < 0.05 / 30  # even as one of thirty families of a page


def test_labels_move_among_the_pictures_of_a_person_who_is_in_both_groups() -> None:
    """Each person has words of their own, and one picture in either group: these words can't mark one."""
    texts = [f"p{person} hat {worn}" for person in range(20) for worn in ("scarf", "glove")]
    people = [str(person) for person in range(20) for _ in range(2)]
    groups = ["b", "a"] * 20
    found = strict_words(counted(texts), groups, "a", people=people, minimum_documents=2)
    assert set(found.filter(pl.col("q") < 0.05)["word"]) == {"scarf", "glove"}
    assert found.filter(pl.col("word").str.starts_with("p")).select(pl.col("p").fill_null(1).min()).item() == 1


def test_the_same_seed_gives_the_same_table() -> None:
    counts, groups = made(9, 40, 0.1)
    one, two, other = (strict_words(counts, groups, "a", resamples=60, seed=s) for s in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_bad_labels_are_refused() -> None:
    counts = counted(["a hat", "a tie"])
    with pytest.raises(UnknownNameError, match="Did you mean 'white'"):
        published_words(counts, ["black", "white"], "whit")
    with pytest.raises(DataError, match="all texts are about that one"):
        strict_words(counts, ["white", None], "white")
    with pytest.raises(DataError, match="2 units, but 1 group labels"):
        strict_words(counts, ["white"], "white")
    with pytest.raises(DataError, match="2 units, but 1 strata"):
        strict_words(counts, ["white", "black"], "white", strata=["x"])
    with pytest.raises(DataError, match="at least one resample"):
        strict_words(counts, ["white", "black"], "white", resamples=0)
