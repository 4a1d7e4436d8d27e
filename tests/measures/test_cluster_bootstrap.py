"""Intervals, floors and tests over clusters."""

import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from facevalue.measures.cluster_bootstrap import (
    bca_interval,
    cell_means,
    cluster_means,
    cluster_sums,
    jackknife_interval,
    sign_flip_floor,
    wilcoxon_p,
)
from facevalue.measures.group_means import compare_groups
from facevalue.measures.intervals import MANY_CLUSTERS, ONE_CLUSTER_ONLY, STUDENTISED_BOOTSTRAP, T_OVER_MEANS
from facevalue.measures.multitest import adjust_p

Array = npt.NDArray[np.float64]


def one_cell(values: list[list[float]]) -> tuple[Array, Array]:
    """Sums and counts of one cell from each cluster's observations."""
    return np.array([[sum(v)] for v in values]), np.array([[float(len(v))] for v in values])


def test_the_mean_weighs_observations_not_clusters() -> None:
    estimates = cluster_means(*one_cell([[1, 1, 1], [0]]), seed=0)
    assert estimates.value.item() == 0.75
    assert (estimates.n.item(), estimates.clusters.item()) == (4, 2)


def test_few_clusters_of_one_observation_get_the_usual_t_interval() -> None:
    values = [0.1, 0.4, 0.2, 0.9, 0.5]
    estimates = cluster_means(*one_cell([[v] for v in values]), seed=0)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (estimates.low.item(), estimates.high.item()) == pytest.approx((expected.low, expected.high))
    assert estimates.method.item() == T_OVER_MEANS


def test_one_cluster_has_a_value_but_no_interval() -> None:
    estimates = cluster_means(*one_cell([[0.2, 0.4]]), seed=0)
    assert estimates.value.item() == pytest.approx(0.3)
    assert np.isnan(estimates.low.item())
    assert np.isnan(estimates.high.item())
    assert estimates.method.item() == ONE_CLUSTER_ONLY


def test_nothing_observed_is_not_measurable_and_never_zero() -> None:
    estimates = cluster_means(np.zeros((5, 1)), np.zeros((5, 1)), seed=0)
    assert np.isnan(estimates.value.item())
    assert estimates.n.item() == 0


def test_thirty_clusters_get_a_studentised_bootstrap_close_to_t_for_normal_means() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.3, 1, 200)
    estimates = cluster_means(values[:, None], np.ones((200, 1)), seed=0, level=True)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimates.method.item() == STUDENTISED_BOOTSTRAP
    assert estimates.low.item() == pytest.approx(expected.low, abs=0.02)
    assert estimates.high.item() == pytest.approx(expected.high, abs=0.02)


@pytest.mark.parametrize("clusters", [5, 60, 300])
def test_shifts_have_students_test_whatever_their_number(clusters: int) -> None:
    """Its p-value has no smallest step: with 2,000 resamples a family of 850 tests could find nothing."""
    values = np.random.default_rng(clusters).normal(0.5, 0.2, clusters)
    found = cluster_means(values[:, None], np.ones((clusters, 1)), seed=0)
    expected = stats.ttest_1samp(values, 0)
    assert found.p is not None
    assert found.p.item() == pytest.approx(expected.pvalue)
    assert found.low.item() == pytest.approx(expected.confidence_interval(0.95).low)


def test_faces_that_all_stay_where_they_are_leave_room_for_one_that_was_not_seen() -> None:
    found = cluster_means(np.zeros((20, 1)), np.ones((20, 1)), seed=0, largest=1.0)
    assert found.p is not None
    assert found.se is not None
    assert (found.low.item(), found.high.item()) == pytest.approx((0.025 ** (1 / 20) - 1, 1 - 0.025 ** (1 / 20)))
    assert found.p.item() == 1
    assert np.isnan(found.se.item())


@pytest.mark.parametrize("clusters", [4, 8, 40])
def test_faces_that_all_move_all_the_way_have_the_p_value_of_a_sign_test(clusters: int) -> None:
    found = cluster_means(np.full((clusters, 1), -1.0), np.ones((clusters, 1)), seed=0, largest=1.0)
    assert found.p is not None
    assert found.p.item() == pytest.approx(2 / 2**clusters)


@pytest.mark.parametrize("clusters", [8, 20, 60])
def test_rare_faces_that_move_are_covered_where_the_others_do_not(clusters: int) -> None:
    """One face in twenty moves, and most others don't at all: without those unseen, t covers .34 to .95."""
    rng = np.random.default_rng(clusters)
    shifts = np.where(rng.random((clusters, 2000)) < 0.05, 1.0, 0.0)
    shifts = np.where((shifts == 0) & (rng.random(shifts.shape) < 0.2), 1 / 300, shifts)
    found = cluster_means(shifts, np.ones_like(shifts), seed=0, largest=1.0)
    true = 0.05 + 0.95 * 0.2 / 300
    assert np.mean((found.low <= true) & (true <= found.high)) > 0.93
    assert found.p is not None
    assert np.array_equal(found.p < 0.05, (found.low > 0) | (found.high < 0))


def test_equal_clusters_have_an_interval_of_no_width() -> None:
    estimates = cluster_means(np.full((40, 1), 0.2), np.ones((40, 1)), seed=0)
    assert estimates.low.item() == pytest.approx(0.2)
    assert estimates.high.item() == pytest.approx(0.2)


def test_resampling_is_reproducible() -> None:
    values = np.random.default_rng(2).normal(size=(50, 3))
    one, two = (cluster_means(values, np.ones((50, 3)), seed=5) for _ in range(2))
    assert np.array_equal(one.low, two.low)
    assert np.array_equal(one.high, two.high)


def test_clusters_not_answers_decide_the_width() -> None:
    """Ten copies of each answer tell no more than one."""
    values = np.random.default_rng(3).normal(size=(60, 1))
    once = cluster_means(values, np.ones((60, 1)), seed=0)
    tenfold = cluster_means(values * 10, np.full((60, 1), 10.0), seed=0)
    assert tenfold.low.item() == pytest.approx(once.low.item())
    assert tenfold.n.item() == 600


@given(arrays(np.float64, (12, 2), elements=st.floats(-1, 1)), st.floats(-3, 3), st.floats(0.1, 5))
def test_intervals_move_and_stretch_with_the_data(values: Array, shift: float, scale: float) -> None:
    ones = np.ones((12, 2))
    base = cluster_means(values, ones, seed=0)
    moved = cluster_means(values * scale + shift, ones, seed=0)
    assert moved.value == pytest.approx(base.value * scale + shift, abs=1e-9)
    assert moved.low == pytest.approx(base.low * scale + shift, abs=1e-7)
    assert moved.high == pytest.approx(base.high * scale + shift, abs=1e-7)


def test_cluster_sums_leave_out_missing_values_and_items_of_no_cell() -> None:
    sums, counts = cluster_sums(
        np.array([1.0, np.nan, 2.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, -1]), 2, 2
    )
    assert sums.tolist() == [[1, 0], [0, 2]]
    assert counts.tolist() == [[1, 0], [0, 1]]


def test_bca_of_a_mean_is_close_to_the_t_interval() -> None:
    values = np.random.default_rng(4).normal(0.1, 1, 150)
    value, low, high, _ = bca_interval(values[:, None], np.ones((150, 1)), cell_means, seed=0)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert value.item() == pytest.approx(values.mean())
    assert low.item() == pytest.approx(expected.low, abs=0.03)
    assert high.item() == pytest.approx(expected.high, abs=0.03)


def test_jackknife_of_a_mean_is_the_t_interval_cut_at_zero() -> None:
    values = np.random.default_rng(5).normal(0.1, 1, 50)
    _, low, high, _ = jackknife_interval(values[:, None], np.ones((50, 1)), cell_means)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert low.item() == pytest.approx(max(expected.low, 0))
    assert high.item() == pytest.approx(expected.high)


def test_the_noise_floor_of_an_absolute_mean_is_that_of_a_folded_normal() -> None:
    values = np.random.default_rng(6).normal(0, 1, (400, 1))
    floor = sign_flip_floor(values, np.ones((400, 1)), lambda s, n: np.abs(cell_means(s, n)), seed=0, resamples=4000)
    scale = np.sqrt((values**2).sum()) / 400
    assert floor.mean.item() == pytest.approx(scale * np.sqrt(2 / np.pi), rel=0.05)
    assert floor.high.item() == pytest.approx(scale * 1.96, rel=0.05)


def test_a_noise_floor_does_not_grow_with_the_effect() -> None:
    values = np.random.default_rng(6).normal(0, 1, (400, 1))
    ones = np.ones((400, 1))

    def size(s: Array, n: Array) -> Array:
        return np.abs(cell_means(s, n))

    still, moved = (sign_flip_floor(v, ones, size, seed=0) for v in (values, values + 3))
    assert moved.high == pytest.approx(still.high)


def test_a_large_effect_stands_above_its_floor() -> None:
    values = np.random.default_rng(7).normal(1, 1, (50, 1))
    floor = sign_flip_floor(values, np.ones((50, 1)), lambda s, n: np.abs(cell_means(s, n)), seed=0)
    assert floor.high.item() < values.mean()
    assert floor.p.item() < 0.01


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1)))
def test_q_values_are_no_smaller_than_p_and_keep_their_order(p: Array) -> None:
    q = adjust_p(p, "bh")
    assert (q >= p - 1e-12).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= -1e-12).all()


def test_untested_cells_stay_untested_and_cost_nothing() -> None:
    q = adjust_p(np.array([0.01, np.nan, 0.04]), "bh")
    assert np.isnan(q[1])
    assert q[[0, 2]] == pytest.approx([0.02, 0.04])


def test_wilcoxon_is_scipys_on_cluster_means() -> None:
    values = np.random.default_rng(8).normal(0.2, 1, 80)
    sums, counts = (values * 3)[:, None], np.full((80, 1), 3.0)
    assert wilcoxon_p(sums, counts).item() == pytest.approx(stats.wilcoxon(values).pvalue)


@given(arrays(np.int64, st.integers(2, 9), elements=st.integers(-3, 3)).filter(lambda v: np.count_nonzero(v) > 1))
def test_wilcoxon_of_few_clusters_is_exact_with_ties_and_zeros(values: npt.NDArray[np.int64]) -> None:
    column = values.astype(np.float64)
    expected = stats.wilcoxon(column[column != 0], method=stats.PermutationMethod(n_resamples=10_000)).pvalue
    assert wilcoxon_p(column[:, None], np.ones((column.size, 1))).item() == pytest.approx(expected)


def test_wilcoxon_of_no_difference_at_all_is_not_measurable() -> None:
    assert np.isnan(wilcoxon_p(np.zeros((10, 1)), np.ones((10, 1))).item())


def test_a_mean_of_which_one_cluster_holds_all_that_differs_has_a_sane_interval() -> None:
    sums = np.full((40, 1), 5.0)
    sums[3] = 6.0
    found = cluster_means(sums, np.ones_like(sums), seed=0, level=True)
    assert 4.9 < found.low[0] < found.value[0] < found.high[0] < 5.2
    assert found.method.tolist() == [T_OVER_MEANS]


def test_resamples_that_differ_from_the_value_by_rounding_alone_are_ties() -> None:
    """Few clusters give many resamples with the very value, which another order of adding up moves to either side."""
    sums, counts = np.array([[5, 7], [9, 0], [1, 8], [9, 2], [3, 8], [4, 2]]) / 10, np.ones((6, 2))

    def difference(s: Array, n: Array) -> Array:
        return np.asarray((s[..., :1] - s[..., 1:]) / n[..., :1])

    def other_order(s: Array, n: Array) -> Array:
        return np.asarray(s[..., :1] / n[..., :1] - s[..., 1:] / n[..., :1])

    first, second = (bca_interval(sums, counts, statistic, seed=3) for statistic in (difference, other_order))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_with_very_many_clusters_t_and_the_bootstrap_agree() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random((MANY_CLUSTERS, 1)) ** 3
    ones = np.ones_like(scores)
    t = cluster_means(scores, ones, seed=0, level=True)
    bootstrap = cluster_means(scores[:-1], ones[:-1], seed=0, level=True)
    assert (t.method[0], bootstrap.method[0]) == (T_OVER_MEANS, STUDENTISED_BOOTSTRAP)
    assert (t.high - t.low)[0] == pytest.approx((bootstrap.high - bootstrap.low)[0], rel=0.05)


def test_of_many_clusters_a_cell_rests_on_those_that_it_was_observed_in() -> None:
    rng = np.random.default_rng(4)
    scores, counts = rng.random((2 * MANY_CLUSTERS, 2)), np.ones((2 * MANY_CLUSTERS, 2))
    counts[60:, 0] = 0
    scores *= counts
    both = cluster_means(scores, counts, seed=1, level=True)
    alone = cluster_means(scores[:60, :1], counts[:60, :1], seed=1, level=True)
    assert both.method.tolist() == [STUDENTISED_BOOTSTRAP, T_OVER_MEANS]
    assert (both.low[0], both.high[0]) == (alone.low[0], alone.high[0])


def test_resamples_and_sign_changes_of_very_many_clusters_take_little_memory() -> None:
    rng = np.random.default_rng(5)
    sums, counts = rng.normal(size=(200_000, 1)), np.ones((200_000, 1))

    def size(total: Array, n: Array) -> Array:
        return np.abs(cell_means(total, n))

    tracemalloc.start()
    floor = sign_flip_floor(sums, counts, size, seed=0, resamples=200)
    bca_interval(sums, counts, size, seed=0, resamples=50)
    compare_groups(sums, counts, np.arange(200_000) % 2, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
    assert floor.high[0] == pytest.approx(1.96 / np.sqrt(200_000), rel=0.2)
