"""Comparisons of two groups of clusters."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from facevalue.measures import group_means
from facevalue.measures.cluster_bootstrap import bootstrap_weights, cluster_means
from facevalue.measures.group_means import EQUAL_GROUPS, compare_groups, studentised_interval, t_interval
from facevalue.measures.intervals import (
    ENOUGH_CLUSTERS,
    ONE_CLUSTER_ONLY,
    STUDENTISED_BOOTSTRAP,
    T_OVER_MEANS,
    WELCH_OVER_MEANS,
    method_for,
)

Array = npt.NDArray[np.float64]


def two_groups(first: Array, second: Array, each: float = 4.0) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Sums, counts and groups of clusters with these means (clusters x cells) of so many observations each."""
    means = np.concatenate([first, second])
    return means * each, np.full(means.shape, each), np.repeat([0, 1], [len(first), len(second)])


def test_the_number_of_clusters_and_the_design_decide() -> None:
    assert [method_for(n, paired=True) for n in (0, 1, 2, ENOUGH_CLUSTERS)] == [
        ONE_CLUSTER_ONLY,
        ONE_CLUSTER_ONLY,
        T_OVER_MEANS,
        T_OVER_MEANS,
    ]
    assert [method_for(n, paired=False) for n in (1, 2, ENOUGH_CLUSTERS - 1, ENOUGH_CLUSTERS)] == [
        ONE_CLUSTER_ONLY,
        WELCH_OVER_MEANS,
        WELCH_OVER_MEANS,
        STUDENTISED_BOOTSTRAP,
    ]
    assert [method_for(n, paired=False, level=True) for n in (29, 30)] == [T_OVER_MEANS, STUDENTISED_BOOTSTRAP]


@pytest.mark.parametrize("sizes", [(5, 5), (3, 12), (29, 40)])
def test_few_clusters_of_one_size_get_welchs_test_of_their_means(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.3, 0.2, (sizes[0], 2)), rng.normal(0.5, 0.1, (sizes[1], 2))
    found = compare_groups(*two_groups(first, second), seed=0)
    expected = stats.ttest_ind(second, first, equal_var=False)
    assert found.value == pytest.approx(second.mean(axis=0) - first.mean(axis=0))
    assert found.p == pytest.approx(expected.pvalue)
    assert found.low == pytest.approx(expected.confidence_interval(0.95).low)
    assert found.high == pytest.approx(expected.confidence_interval(0.95).high)
    assert found.method.tolist() == [WELCH_OVER_MEANS] * 2
    assert found.clusters.tolist() == [sum(sizes)] * 2


def test_many_normal_clusters_get_a_bootstrap_close_to_welch() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.3, 0.2, (150, 3)), rng.normal(0.36, 0.3, (220, 3))
    found = compare_groups(*two_groups(first, second), seed=0)
    expected = stats.ttest_ind(second, first, equal_var=False)
    assert found.method.tolist() == [STUDENTISED_BOOTSTRAP] * 3
    assert found.low == pytest.approx(expected.confidence_interval(0.95).low, abs=0.005)
    assert found.high == pytest.approx(expected.confidence_interval(0.95).high, abs=0.005)
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)


def test_interval_and_p_value_of_the_bootstrap_say_the_same() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.exponential(1, (100, 400)), rng.exponential(1.25, (100, 400))
    found = compare_groups(*two_groups(first, second), seed=0)
    outside = (found.low > 0) | (found.high < 0)
    assert found.p is not None
    near = np.abs(found.p - 0.05) < 0.003
    assert 0.2 < outside.mean() < 0.8
    assert np.array_equal(outside[~near], found.p[~near] < 0.05)


def test_one_sample_bootstrap_is_that_of_the_shared_inference() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 9, (60, 5)).astype(np.float64)
    sums = rng.binomial(counts.astype(np.int64), 0.2).astype(np.float64)
    weights = bootstrap_weights(60, 2000, 7)
    found = studentised_interval([(sums, counts)], [weights])
    expected = cluster_means(sums, counts, seed=7, level=True)
    assert expected.method.tolist() == [STUDENTISED_BOOTSTRAP] * 5
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)
    few = cluster_means(sums[:9], counts[:9], seed=7)
    t = t_interval([(sums[:9], counts[:9])])
    assert t.low == pytest.approx(few.low)
    assert t.high == pytest.approx(few.high)


@given(arrays(np.float64, (9, 2), elements=st.floats(0, 1)), st.floats(-2, 2), st.floats(0.1, 5))
def test_differences_stretch_with_the_data_and_turn_with_the_groups(values: Array, shift: float, scale: float) -> None:
    base = compare_groups(*two_groups(values[:4], values[4:]), seed=0)
    moved = compare_groups(*two_groups(values[:4] * scale + shift, values[4:] * scale + shift), seed=0)
    turned = compare_groups(*two_groups(values[4:], values[:4]), seed=0)
    assert base.se is not None
    assert base.p is not None
    assert turned.p is not None
    known = base.se > 1e-6
    assert moved.value == pytest.approx(base.value * scale, abs=1e-9)
    assert moved.low[known] == pytest.approx(base.low[known] * scale, rel=1e-5, abs=1e-7)
    assert turned.low[known] == pytest.approx(-base.high[known], rel=1e-6, abs=1e-9)
    assert turned.p[known] == pytest.approx(base.p[known])
    assert ((base.low <= base.value) & (base.value <= base.high))[known].all()


def test_clusters_not_answers_decide_the_width() -> None:
    values = np.random.default_rng(5).random((12, 1))
    once, tenfold = (compare_groups(*two_groups(values[:6], values[6:], each), seed=0) for each in (1.0, 10.0))
    assert tenfold.low == pytest.approx(once.low)
    assert tenfold.n.tolist() == [120]


def test_what_cannot_be_concluded_says_why() -> None:
    """One cell each: nothing, one group only, one cluster, no variance, and a sound one."""
    nan = np.nan
    means = np.array(
        [
            [nan, 0.1, 0.1, 0.1, 0.2],
            [nan, 0.2, 0.2, 0.1, 0.3],
            [nan, 0.3, 0.4, 0.1, 0.1],
            [nan, nan, 0.3, 0.7, 0.6],
            [nan, nan, nan, 0.7, 0.7],
        ]
    )
    counts = np.where(np.isnan(means), 0.0, 3.0)
    found = compare_groups(np.nan_to_num(means) * 3, counts, np.array([0, 0, 0, 1, 1]), seed=0)
    assert np.isnan(found.value).tolist() == [True, True, False, False, False]
    assert found.p is not None
    for interval in (found.low, found.high, found.p):
        assert np.isnan(interval).tolist() == [True, True, True, True, False]
    whys = ["neither group has answers", "only one of the groups", "one cluster only", "spread is unknown"]
    assert all(method.startswith("none: ") for method in found.method[:4])
    assert all(why in method for why, method in zip(whys, found.method[:4], strict=True))
    assert found.n.tolist() == [0, 9, 12, 15, 15]
    assert found.value[3] == pytest.approx(0.6)


@pytest.mark.parametrize("size", [4, ENOUGH_CLUSTERS])
def test_equal_answers_have_no_spread_whatever_the_rounding(size: int) -> None:
    """0.1 added up three times is not 0.3."""
    means = np.full((size, 1), 0.1 + 0.1 + 0.1)
    means[::2] = 0.3
    found = compare_groups(*two_groups(means, means + 0.2, 7.0), seed=0)
    assert np.isnan(found.low).all()
    assert "spread is unknown" in found.method[0]


def test_one_label_and_no_cells_at_all() -> None:
    found = compare_groups(np.ones((4, 2)), np.ones((4, 2)), np.zeros(4, dtype=np.int64), seed=0)
    assert np.isnan(found.value).all()
    assert found.method[0] == "none: only one of the groups has answers"
    assert compare_groups(np.ones((4, 0)), np.ones((4, 0)), np.array([0, 0, 1, 1]), seed=0).value.shape == (0,)


def test_clusters_of_no_group_are_left_out() -> None:
    values = np.random.default_rng(6).random((8, 2))
    sums, counts, group = two_groups(values[:4], values[4:])
    more = compare_groups(
        np.vstack([sums, np.ones((2, 2))]), np.vstack([counts, np.ones((2, 2))]), np.append(group, [-1, -1]), seed=0
    )
    assert more.low == pytest.approx(compare_groups(sums, counts, group, seed=0).low)
    assert more.n.tolist() == [32, 32]


def test_a_method_is_chosen_cell_by_cell_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    sums, counts, group = two_groups(rng.random((ENOUGH_CLUSTERS, 5)), rng.random((ENOUGH_CLUSTERS, 5)))
    counts[0, 2] = sums[0, 2] = 0
    whole = compare_groups(sums, counts, group, seed=1, resamples=200)
    assert whole.method.tolist() == [
        STUDENTISED_BOOTSTRAP,
        STUDENTISED_BOOTSTRAP,
        WELCH_OVER_MEANS,
        STUDENTISED_BOOTSTRAP,
        STUDENTISED_BOOTSTRAP,
    ]
    monkeypatch.setattr(group_means, "_BLOCK", 400)
    again = compare_groups(sums, counts, group, seed=1, resamples=200)
    assert again.low == pytest.approx(whole.low)
    assert again.p == pytest.approx(whole.p)


def test_groups_of_one_size_are_not_resampled_alike() -> None:
    """With the same clusters drawn in both groups, equal groups would seem to differ by nothing in every resample."""
    values = np.random.default_rng(8).random((ENOUGH_CLUSTERS, 1))
    found = compare_groups(*two_groups(values, values), seed=0)
    welch = stats.ttest_ind(values, values, equal_var=False).confidence_interval(0.95)
    assert found.high - found.low == pytest.approx(welch.high - welch.low, rel=0.1)


@pytest.mark.parametrize("sizes", [(3, 9), (4, 20), (8, 40), (6, 6)])
def test_ratings_near_the_end_of_their_scale_are_not_found_to_differ_in_groups_of_unequal_size(
    sizes: tuple[int, int],
) -> None:
    """Welch's test alone finds a difference in up to .13 of such audits at .05, and in .04 at .005."""
    rng = np.random.default_rng(1)
    audits = 3000
    people = rng.normal(4.8, 1.0, (sum(sizes), 1, audits)) + rng.normal(0, 0.7, (sum(sizes), 4, audits))
    sums = np.clip(np.round(people), 1, 5).sum(axis=1)
    found = compare_groups(sums, np.full(sums.shape, 4.0), np.repeat([0, 1], sizes), seed=0, pooled=True)
    assert found.p is not None
    p = np.nan_to_num(found.p, nan=1.0)
    for level in (0.05, 0.005):
        assert (p < level).mean() < level + 2 * np.sqrt(level * (1 - level) / audits)
    outside = (found.low > 0) | (found.high < 0)
    assert (outside == (p < 0.05)).all()


def test_the_pooled_spread_is_that_of_students_test() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, (4, 200)), rng.normal(0.3, 1, (15, 200))
    sums = np.concatenate([first, second])
    found = compare_groups(sums, np.ones_like(sums), np.repeat([0, 1], [4, 15]), seed=0, pooled=True)
    student, welch = (stats.ttest_ind(second, first, equal_var=same).pvalue for same in (True, False))
    assert found.p == pytest.approx(np.fmax(student, welch))


def test_groups_without_spread_that_lie_apart_are_found_to_differ() -> None:
    """Everyone of one group refused and nobody of the other: the plainest difference there is."""
    for size, p in ((2, 0.5), (5, 0.0625), (6, 0.03125), (20, 2 * 0.5**20)):
        sums = np.repeat([0.0, 1.0], [size, 40])[:, None]
        found = compare_groups(
            sums, np.ones_like(sums), np.repeat([0, 1], [size, 40]), seed=0, pooled=True, largest=1.0
        )
        assert found.p == pytest.approx(p)
        assert (found.low[0] > 0) == (p < 0.05)
        assert (found.value[0], found.high[0], found.method[0]) == (1.0, 1.0, EQUAL_GROUPS)
    alike = compare_groups(np.ones((6, 1)), np.ones((6, 1)), np.repeat([0, 1], 3), seed=0, largest=1.0)
    unbounded = compare_groups(sums, np.ones_like(sums), np.repeat([0, 1], [20, 40]), seed=0)
    assert np.isnan([alike.low[0], unbounded.low[0]]).all()
