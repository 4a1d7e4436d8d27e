"""Spread between groups of sets: what is planted, what chance gives, and replies that are missing."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array, values_only
from facevalue.measures.majority import group_deviation
from tests.floors import floor_of


def _scores(seed: int, sets: int = 35, groups: int = 10, *, planted: float = 0.0) -> Array:
    """Skewed scores of sets that differ, three replies to each picture; two groups lie apart by what is planted."""
    rng = np.random.default_rng(seed)
    values = rng.gamma(0.5, size=(sets, groups, 3)) + rng.normal(size=(sets, 1, 1))
    values[:, :2] += planted
    return np.asarray(values)


def test_of_whole_sets_it_is_the_standard_deviation_of_the_groups_means() -> None:
    values = _scores(0)
    found = group_deviation(values)
    assert found.value[0] == pytest.approx(values.mean(axis=(0, 2)).std(ddof=1))
    assert (found.n[0], found.clusters[0]) == (values.size, 35)


@pytest.mark.parametrize(("planted", "truth"), [(0.0, 0.0), (0.5, 0.5 * np.sqrt(1.6 / 9))])
def test_intervals_hold_the_true_spread(planted: float, truth: float) -> None:
    found = [group_deviation(_scores(seed, planted=planted)) for seed in range(150)]
    held = [one.low[0] <= truth <= one.high[0] for one in found]
    assert np.mean(held) >= 0.91
    clear = [one.low[0] > 0 for one in found]
    assert clear == [floor_of(one).p[0] < 0.05 for one in found]
    assert np.mean(clear) <= 0.1 if planted == 0 else np.mean(clear) > 0.9


def test_chance_alone_is_what_groups_that_are_alike_show() -> None:
    found = [group_deviation(_scores(seed)) for seed in range(150)]
    squares = np.mean([one.value[0] ** 2 for one in found])
    assert np.sqrt(squares) == pytest.approx(np.mean([floor_of(one).mean[0] for one in found]), rel=0.1)


def test_replies_that_are_missing_from_low_sets_make_no_spread() -> None:
    values = _scores(0)
    low = values.mean(axis=(1, 2)) < np.median(values.mean(axis=(1, 2)))
    values[np.flatnonzero(low), 0] = np.nan  # the group's own mean is far too high
    found = group_deviation(values)
    assert found.low[0] == 0.0
    assert found.value[0] < floor_of(found).high[0]
    assert np.nanmean(values, axis=(0, 2)).std(ddof=1) > floor_of(found).high[0]


@pytest.mark.parametrize("values", [np.full((5, 4, 2), np.nan), np.zeros((0, 3, 1)), np.ones((6, 1, 2))])
def test_without_two_groups_in_a_set_it_is_not_measurable(values: Array) -> None:
    found = group_deviation(values)
    assert np.isnan(found.value[0])
    assert found.method[0].startswith("none: not measurable: ")
    assert np.isnan(floor_of(found).mean[0])


def test_one_set_has_a_spread_without_an_interval() -> None:
    found = group_deviation(_scores(0, sets=1))
    assert found.value[0] > 0
    assert np.isnan(found.low[0])
    assert found.method[0].startswith("none: no set")


def test_values_alone_are_the_same() -> None:
    values = _scores(0)
    with values_only():
        bare = group_deviation(values)
    assert bare.value[0] == group_deviation(values).value[0]
    assert np.isnan(bare.low[0])
