"""Ratios of sums over units: the delete-one jackknife, and t over units where all hold the same number."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.cluster_bootstrap import Array, cluster_means
from facevalue.measures.estimators import column_shares
from facevalue.measures.group_means import JACKKNIFE_OVER_UNITS, unit_ratios

SUMS = st.lists(st.floats(-1, 1), min_size=3, max_size=12).filter(lambda values: np.std(values) > 0.05)


@given(SUMS, st.integers(1, 9))
def test_units_of_one_size_are_t_over_their_means(values: list[float], size: int) -> None:
    sums, counts = size * np.array(values)[:, None], np.full((len(values), 1), float(size))
    ratio, mean = unit_ratios(sums, counts, 0), cluster_means(sums, counts, 0)
    assert ratio.method[0] == JACKKNIFE_OVER_UNITS
    for name in ("value", "low", "high", "se", "p"):
        assert getattr(ratio, name) == pytest.approx(getattr(mean, name), rel=1e-9, abs=1e-12)


@given(SUMS, st.data())
def test_its_standard_error_is_the_jackknifes(values: list[float], data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))), dtype=float)
    sums = np.array(values) * counts
    ratio = unit_ratios(sums[:, None], counts[:, None], 0)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    groups = len(values)
    expected = np.sqrt((groups - 1) / groups * ((without - ratio.value) ** 2).sum())
    assert ratio.se == pytest.approx(expected, rel=1e-9, abs=1e-12)
    df = max(counts.sum() ** 2 / (counts**2).sum() - 1, 1.0)
    reach = scipy.stats.t.ppf(0.975, df) * expected
    assert ratio.high - ratio.value == pytest.approx(reach, rel=1e-9, abs=1e-12)
    assert ratio.p is not None
    assert (ratio.p[0] < 0.05) == (abs(ratio.value[0]) > reach)


def test_units_without_any_answer_that_counts_are_none() -> None:
    sums, counts = np.array([[1.0], [0.0], [-1.0], [2.0]]), np.array([[2.0], [0.0], [2.0], [2.0]])
    ratio = unit_ratios(sums, counts, 0)
    assert ratio.clusters[0] == 3
    assert ratio.n[0] == 6
    assert np.isnan(unit_ratios(np.zeros((3, 1)), np.zeros((3, 1)), 0).value[0])


def test_preferences_in_sets_of_unlike_numbers_of_pairs_keep_their_level() -> None:
    """Ten sets, two of which have 13 pairs and all others 2; nothing is preferred but by sets of their own."""
    rng, audits = np.random.default_rng(2), 2000
    pairs = np.where(np.arange(10) % 5 == 0, 13, 2)
    logit = rng.normal(0, 0.5, (10, audits))
    sums = np.asarray(rng.binomial(2 * pairs[:, None], 1 / (1 + np.exp(-logit))) - 1.0 * pairs[:, None], np.float64)
    counts = np.repeat(2.0 * pairs[:, None], audits, axis=1)
    linear, jackknife = (method(sums, counts, 0, largest=0.5) for method in (cluster_means, unit_ratios))
    assert linear.p is not None
    assert jackknife.p is not None
    assert np.mean(linear.p < 0.05) > 0.075
    assert np.mean(jackknife.p < 0.05) < 0.065
    held = (jackknife.low <= 0) & (jackknife.high >= 0)
    assert held.mean() > 0.94


def drawn_shares(share: float, units: int, sizes: tuple[int, int], audits: int = 1500) -> tuple[Array, Array]:
    """Answers that choose something, and all of them, of units that differ (.1 of the variance is theirs)."""
    rng = np.random.default_rng([units, sizes[1]])
    counts = np.where(np.arange(units) % 5 == 0, sizes[1], sizes[0])[:, None].repeat(audits, axis=1)
    chances = rng.beta(9 * share, 9 * (1 - share), (units, audits))
    return rng.binomial(counts, chances).astype(float), counts.astype(float)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.95])
@pytest.mark.parametrize(("units", "sizes"), [(10, (5, 5)), (10, (2, 15)), (40, (5, 5)), (40, (2, 15))])
def test_intervals_of_shares_hold_the_truth_also_near_0_and_1(share: float, units: int, sizes: tuple[int, int]) -> None:
    sums, counts = drawn_shares(share, units, sizes)
    of_shares = column_shares(sums, counts)
    former = cluster_means(sums, counts, 0, resamples=200, level=True)
    held, held_before = (np.mean((e.low <= share) & (e.high >= share)) for e in (of_shares, former))
    assert held >= 0.925
    assert held <= 0.995 or sizes[0] != sizes[1]
    assert held >= held_before - 0.02
    if share <= 0.01:
        assert held_before < 0.85
    if share == 0.3 and sizes[0] == sizes[1]:
        assert np.mean(of_shares.high - of_shares.low) < 1.02 * np.mean(former.high - former.low)


def test_a_share_of_one_unit_has_no_interval() -> None:
    alone = column_shares(np.array([[1.0], [0.0]]), np.array([[2.0], [0.0]]))
    assert (alone.value[0], alone.clusters[0]) == (0.5, 1)
    assert np.isnan([alone.low[0], alone.high[0]]).all()
