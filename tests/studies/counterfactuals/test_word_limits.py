"""Intervals of listed words: they agree with their p-values, and hold true ratios of rates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.studies.counterfactuals.word_association import Presence, association_scores, listed_limits


def texts(
    rates: np.ndarray, sets: int, rng: np.random.Generator, *, in_sets: bool = True
) -> tuple[Presence, np.ndarray]:
    """Who has which words, and how often all have: a text of some 60 words about each image. `rates`: groups, words."""
    groups, words = rates.shape
    lengths = np.rint(60 * rng.gamma(20, 1 / 20, (sets, groups)))
    counts = rng.poisson(rates[None] * lengths[:, :, None])
    has = counts > 0
    if in_sets:
        unit, word = np.nonzero(has.any(axis=1))
        mask = (has[unit, :, word] * (1 << np.arange(groups))).sum(axis=1).astype(np.uint64)
        return Presence(word, unit, mask, words, lengths, in_sets=True), counts.sum(axis=0)
    image, group, word = np.nonzero(has)
    alone = np.where(np.eye(groups, dtype=bool)[np.tile(np.arange(groups), sets)], lengths.reshape(-1, 1), 0.0)
    bits = (1 << group).astype(np.uint64)
    return Presence(word, image * groups + group, bits, words, alone, in_sets=False), counts.sum(axis=0)


@pytest.mark.parametrize("in_sets", [True, False])
def test_intervals_of_listed_words_hold_the_true_ratio_of_rates(in_sets: bool) -> None:
    """Words of any rate, some of them of one group; those with twice the rate or more in their texts are listed."""
    rng = np.random.default_rng(1)
    held = listed = 0
    for _ in range(12 if in_sets else 5):
        rates = np.tile(rng.gamma(0.7, 1 / 150, 120), (4, 1))
        rates[0, :20] *= 2 ** rng.uniform(0.5, 3, 20)
        presence, tokens = texts(rates, 40, rng, in_sets=in_sets)
        score = association_scores(tokens.astype(float), presence.lengths.sum(axis=0))
        chosen = (score >= 1) & (tokens >= 10) & np.isfinite(score)
        if not chosen.any():
            continue
        low, high, _ = listed_limits(presence, chosen, int((tokens >= 10).sum()))
        size = presence.lengths.sum(axis=0)
        others = (rates * size[:, None]).sum(axis=0) - rates * size[:, None]
        truth = np.log2(rates / (others / (size.sum() - size)[:, None]))
        held += int(((low <= truth) & (truth <= high))[chosen].sum())
        listed += int(chosen.sum())
    assert listed > 60
    assert held / listed > 0.92


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([1.0, 4.0, 40.0]))
@settings(max_examples=10, deadline=None)
def test_an_interval_leaves_out_zero_exactly_where_p_is_below_five_percent(
    seed: int, in_sets: bool, more: float
) -> None:
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.gamma(0.5, 1 / 60, 8), (3, 1))
    rates[0] *= more
    presence, tokens = texts(rates, int(rng.integers(3, 12)), rng, in_sets=in_sets)
    images = presence.images
    chosen = (images > 0) & (tokens > 0) & (presence.everywhere * 3 < images.sum(axis=0))
    low, high, p = listed_limits(presence, chosen, 3 * 8)
    assert ((low > 0) == (p < 0.05))[chosen].all()
    assert (np.isfinite(low) & np.isfinite(high) & (low < high))[chosen].all()
