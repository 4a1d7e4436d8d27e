"""Bounds of distances: nothing that the missing votes could have been lies beyond them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from facevalue.studies.visbias.divergence import js_bounds, js_divergence, kl_bounds, share_ranges

SEEDS = st.integers(0, 100_000)


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.asarray(special.rel_entr(p, q).sum(axis=-1))


def dealt(rng: np.random.Generator, votes: int, categories: int, times: int) -> np.ndarray:
    """So many votes dealt to categories, or to none; to one alone in half of the deals."""
    some = rng.multinomial(votes, rng.dirichlet(np.full(categories + 1, 0.3)), size=times)[:, :-1]
    one = np.eye(categories)[rng.integers(0, categories, times)] * votes
    return np.where(rng.random((times, 1)) < 0.5, some, one).astype(np.float64)


@given(SEEDS)
def test_no_votes_that_are_missing_lead_outside_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    categories, times = int(rng.integers(2, 6)), 200
    one, other = (rng.integers(0, 12, categories) + np.eye(categories)[0] for _ in range(2))
    lost, possible = rng.integers(0, 8, 2), rng.integers(0, 5, categories)
    whole = one + dealt(rng, lost[0], categories, times)
    part = other + dealt(rng, lost[1], categories, times) + rng.integers(0, possible + 1, (times, categories))
    p, q = (x / x.sum(axis=1, keepdims=True) for x in (whole, part))
    smooth = (part + p) / (part.sum(axis=1, keepdims=True) + 1)
    ranges = share_ranges(one, lost[0]), share_ranges(other, lost[1], possible)
    smoothed = share_ranges(other, lost[1], possible, ranges[0])
    shares = one / one.sum(), other / other.sum()
    first = (other + shares[0]) / (other.sum() + 1)
    for bounds, values, measured in (
        (js_bounds(js_divergence(*shares), *ranges), js_divergence(p, q), js_divergence(*shares)),
        (kl_bounds(kl(shares[0], first), ranges[0], smoothed), kl(p, smooth), kl(shares[0], first)),
    ):
        assert bounds.low - 1e-9 <= min(values.min(), measured)
        assert max(values.max(), measured) <= bounds.high + 1e-9


@given(SEEDS)
def test_without_missing_votes_the_bounds_are_the_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (2, 3, 4)) + 1.0
    p, q = counts / counts.sum(axis=-1, keepdims=True)
    ranges = [share_ranges(x, np.zeros(3)) for x in counts]
    for bounds in (kl_bounds(kl(p, q), *ranges), js_bounds(js_divergence(p, q), *ranges)):
        np.testing.assert_allclose([bounds.low, bounds.high], [bounds.value] * 2, atol=1e-12)


def test_with_half_of_the_votes_missing_two_distributions_may_agree_or_have_nothing_in_common() -> None:
    ranges = [share_ranges(np.array(votes), 20.0) for votes in ([20.0, 0.0], [0.0, 20.0])]
    bounds = js_bounds(np.array(np.log(2)), *ranges)
    assert bounds.low == pytest.approx(0.0)
    assert bounds.high == pytest.approx(np.log(2))
