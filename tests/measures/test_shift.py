"""Counterfactual shifts and spreads between groups."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from facevalue.measures.cells import Slicing
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.group_spread import group_spreads, group_tests, variation_strength
from facevalue.measures.shift import base_pair_share, cohens_d, shift_cells, shift_magnitude, steps_to_share
from facevalue.measures.uncertainty import Estimates


def test_cells_are_crossings_of_both_slicings() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan]])
    rows = Slicing(np.array([0, 1, 1]), {"variation": ["cap", "beanie"]})
    columns = Slicing(np.array([0, 1]), {"scenario": ["kind", "rich"]})
    cells = shift_cells(values, np.array([0, 0, 1]), rows, columns, 2)
    assert cells.labels == {"variation": ["cap", "cap", "beanie", "beanie"], "scenario": ["kind", "rich"] * 2}
    assert cells.sums.tolist() == [[1, 2, 3, 4], [0, 0, 5, 0]]
    assert cells.counts.tolist() == [[1, 1, 1, 1], [0, 0, 1, 0]]


def test_crossed_slicings_keep_items_of_no_cell_out() -> None:
    crossed = Slicing(np.array([0, 1, -1]), {"a": ["x", "y"]}) * Slicing(np.array([1, -1, 0]), {"b": ["u", "v"]})
    assert crossed.codes.tolist() == [1, -1, -1]
    assert crossed.labels == {"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]}


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(-0.1, 0.3, (0.0, 0.3)), (0.1, 0.3, (0.1, 0.3)), (-0.4, -0.2, (0.2, 0.4))]
)
def test_a_magnitude_takes_its_interval_from_the_signed_one(
    low: float, high: float, expected: tuple[float, float]
) -> None:
    one = np.array([1])
    signed = Estimates(np.array([(low + high) / 2]), np.array([low]), np.array([high]), one, one, np.array(["t"]))
    size = shift_magnitude(signed)
    assert (size.low.item(), size.high.item()) == pytest.approx(expected)
    assert size.value.item() == pytest.approx(abs(low + high) / 2)


def test_steps_to_share_counts_the_largest_first() -> None:
    assert steps_to_share(np.array([0.1, -0.6, 0.3]), np.ones(3)).item() == 2
    assert steps_to_share(np.array([1.0, 1, 1, 1, 1]), np.ones(5)).item() == 4


def test_steps_to_share_of_nothing_is_not_measurable() -> None:
    assert np.isnan(steps_to_share(np.zeros(3), np.ones(3)).item())


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(-1, 1)))
def test_steps_to_share_reach_the_share_and_one_less_does_not(values: Array) -> None:
    steps = steps_to_share(values, np.ones(values.size)).item()
    size = -np.sort(-np.abs(values))
    if size.sum() == 0:
        assert np.isnan(steps)
        return
    k = int(steps)
    assert size[:k].sum() >= 0.8 * size.sum() - 1e-9
    assert size[: k - 1].sum() < 0.8 * size.sum()


def test_cohens_d_is_mean_over_sd_of_the_face_means() -> None:
    means = np.array([[0.1], [0.3], [np.nan], [0.5]])
    assert cohens_d(means).item() == pytest.approx(0.3 / np.std([0.1, 0.3, 0.5], ddof=1))


def test_cohens_d_without_spread_is_not_measurable() -> None:
    assert np.isnan(cohens_d(np.full((5, 1), 0.2)).item())


@given(
    arrays(np.float64, (3, 5, 2), elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, np.nan])),
    st.sampled_from([None, 0.25, 0.5]),
)
def test_a_pair_share_counts_all_pairs_of_pictures_of_a_face(pictures: Array, threshold: float | None) -> None:
    got = base_pair_share(pictures, threshold)
    for face, scenario in product(range(3), range(2)):
        own = [v for v in pictures[face, :, scenario] if np.isfinite(v)]
        sizes = [abs(a - b) for a, b in combinations(own, 2)]
        hits = [size < 1e-9 if threshold is None else size >= threshold for size in sizes]
        assert got[face, scenario] == pytest.approx(np.mean(hits) if hits else np.nan, nan_ok=True)


def test_variation_strength_is_the_mean_over_scenarios_of_the_spread_of_group_means() -> None:
    """VS by hand: group means (.2, .4) and (.5, .9); SDs .1414 and .2828; mean .2121."""
    statistic = variation_strength(2, 2, mean=True)
    sums, counts = np.array([0.4, 1.0, 0.8, 1.8]), np.full(4, 2.0)
    assert statistic(sums, counts).item() == pytest.approx(
        (np.std([0.2, 0.4], ddof=1) + np.std([0.5, 0.9], ddof=1)) / 2
    )


def test_variation_strength_leaves_unseen_groups_out() -> None:
    statistic = variation_strength(3, 1, mean=False)
    assert statistic(np.array([0.2, 0.0, 0.6]), np.array([1.0, 0.0, 1.0])).item() == pytest.approx(
        np.std([0.2, 0.6], ddof=1)
    )
    assert np.isnan(statistic(np.array([0.2, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])).item())


def test_group_tests_are_mann_whitney_for_two_and_kruskal_wallis_for_more() -> None:
    rng = np.random.default_rng(0)
    phi = rng.random((30, 1))
    two, three = np.arange(30) % 2, np.arange(30) % 3
    expected = stats.mannwhitneyu(phi[two == 0, 0], phi[two == 1, 0]).pvalue
    assert group_tests(phi, two, 2).item() == pytest.approx(expected)
    expected = stats.kruskal(*(phi[three == g, 0] for g in range(3))).pvalue
    assert group_tests(phi, three, 3).item() == pytest.approx(expected)


def test_group_tests_of_equal_values_or_one_group_are_not_measurable() -> None:
    assert np.isnan(group_tests(np.full((10, 1), 0.5), np.arange(10) % 2, 2).item())
    assert np.isnan(group_tests(np.random.default_rng(0).random((10, 1)), np.zeros(10, dtype=int), 2).item())


def test_spreads_are_those_of_the_group_means_and_their_mean_comes_last() -> None:
    rng = np.random.default_rng(1)
    phi, group = rng.random((60, 4)), np.arange(60) % 3
    found = group_spreads(phi, group, 3, seed=0, resamples=500, most_draws=500)
    each = np.std([phi[group == g].mean(axis=0) for g in range(3)], axis=0, ddof=1)
    assert found.value == pytest.approx([*each, each.mean()])
    variance = np.array([phi[group == g].var(axis=0, ddof=1) for g in range(3)])
    error = np.sqrt(np.fmax(variance, variance.mean(axis=0)).mean(axis=0) / 20)  # no group varies less than all do
    assert found.floor.mean[:-1] == pytest.approx(error * np.sqrt(np.pi / 4), rel=0.1)  # of a chi with two degrees
    assert found.floor.high[:-1] == pytest.approx(error * np.sqrt(stats.f.ppf(0.95, 2, 57)), rel=0.1)


def test_an_interval_of_a_spread_begins_at_zero_exactly_where_the_permutation_test_finds_nothing() -> None:
    rng = np.random.default_rng(2)
    group = np.arange(40) % 2
    phi = rng.normal(0.5, 0.2, (40, 400)) + 0.1 * (group[:, None] * rng.integers(0, 2, 400))
    found = group_spreads(phi, group, 2, seed=0, resamples=500, most_draws=500)
    assert 0.1 < np.mean(found.floor.p < 0.05) < 0.9
    assert np.array_equal(found.floor.p < 0.05, found.low > 0)
    assert (found.high >= found.value).all()


@pytest.mark.parametrize("true", [0.0, 0.05, 0.3])
def test_intervals_of_a_spread_hold_the_true_one(true: float) -> None:
    """A jackknife around the published spread left a true zero out in up to all audits of 25 scenarios."""
    rng = np.random.default_rng(3)
    group = np.arange(60) % 3
    means = true * np.array([-1.0, 0.0, 1.0])
    phi = rng.normal(0.5, 0.25, (60, 400)) + means[group][:, None]
    found = group_spreads(phi, group, 3, seed=0, resamples=500, most_draws=500)
    held = (found.low <= true + 1e-12) & (true <= found.high)
    assert 0.92 < held[:-1].mean() < 0.985
    assert held[-1]


def test_intervals_of_a_mean_spread_of_few_groups_hold_the_true_one() -> None:
    """Noise that was taken to lie where differences were seen left .36 of the true spreads above."""
    rng, above = np.random.default_rng(3), 0
    for seed in range(40):
        group = rng.permutation(np.arange(40) % 2)
        phi = rng.normal(0.5, 0.3, (40, 8)) + 0.1 * rng.choice([-1, 1], 8) * group[:, None]
        found = group_spreads(phi, group, 2, seed, resamples=300, most_draws=300)
        above += found.high[-1] < 0.1 / np.sqrt(2)
    assert above <= 3


def test_a_clear_spread_has_a_p_value_small_enough_for_many_tests() -> None:
    group = np.arange(60) % 2
    phi = np.random.default_rng(4).normal(0.5, 0.1, (60, 2)) + np.array([0.0, 0.5]) * group[:, None]
    found = group_spreads(phi, group, 2, seed=0)
    assert found.floor.p[1] == found.least[1] == pytest.approx(1 / 40_001)
    assert found.floor.p[0] > 0.01 > found.least[0]


def test_spreads_ignore_what_is_not_measured() -> None:
    phi = np.array([[0.1], [np.nan], [0.9], [0.4]])
    found = group_spreads(phi, np.array([0, 0, 1, -1]), 2, seed=0, resamples=50, most_draws=50)
    assert found.value == pytest.approx(np.std([0.1, 0.9], ddof=1))
    alone = group_spreads(phi, np.array([0, 0, 0, -1]), 2, seed=0, resamples=50, most_draws=50)
    assert np.isnan(alone.value).all()
    assert np.isnan(alone.low).all()
