"""Changes: intervals that cover, tests that keep their level, and nothing said where nothing can be said."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.definitions import Measure, change_of
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import NOT_MEASURABLE, T_OVER_MEANS, IntervalKind, split_method
from facevalue.measures.paired_changes import (
    ALL_ALIKE,
    JACKKNIFE_GROUPS,
    NO_VARIANCE,
    NONE_ITSELF,
    PAIRS,
    ChangeSet,
    Deletion,
    deal_units,
    reduce_estimates,
)
from facevalue.measures.uncertainty import Estimates, Floor

pytestmark = pytest.mark.all_groups

SHARE = Measure("share", "Share", "n / N", "%", "face", "", limits=(0.0, 100.0))
SPREAD = Measure("gap", "Gap", "|n / N|", "%", "face", "", signed=False)


def table(values: Array, keep: Array | None = None, measure: Measure = SHARE) -> pl.DataFrame:
    """Means of columns over those rows, one row per cluster and one column per cell."""
    values = values if keep is None else values[keep]
    n = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(n > 0, np.nansum(values, axis=0) / n, np.nan)
    width = np.where(n > 1, 1.0, np.nan)  # any interval: the jackknife looks only whether there is one
    found = Estimates(value, value - width, value + width, n, n, np.full(n.size, T_OVER_MEANS, dtype=object))
    out = EstimateTable("s", "m", ["scenario"])
    floor = None
    if not measure.signed:
        floor = Floor(found.value, found.value, np.full(found.value.size, np.nan))
    out.add(measure, {"scenario": [f"c{i:04}" for i in range(values.shape[1])]}, replace(found, floor=floor))
    return reduce_estimates(out.frame())


def compared(plain: Array, other: Array, measure: Measure = SHARE, groups: int = JACKKNIFE_GROUPS) -> pl.DataFrame:
    """Changes of every cell's mean, both conditions having the same clusters."""
    group = deal_units(len(plain), groups, seed=3)

    def without() -> Iterator[Deletion]:
        for g in range(int(group.max()) + 1):
            keep = group != g
            yield Deletion("units 3", table(plain, keep, measure), table(other, keep, measure))

    whole = table(plain, None, measure), table(other, None, measure)
    return ChangeSet(*whole, without()).table([measure], "s", "m", "x")


def drawn(clusters: int, cells: int, shift: float, seed: int) -> tuple[Array, Array]:
    """Two conditions that share what a cluster brings: a large part of each, which pairing takes out."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0.0, 5.0, (clusters, cells))
    plain, other = (shared + rng.exponential(1.0, (clusters, cells)) for _ in range(2))
    return plain, other + shift


@pytest.mark.parametrize("clusters", [23, 60, 200])
def test_intervals_of_a_known_change_cover_it(clusters: int) -> None:
    """3,000 intervals: 95% are expected to cover, with a standard error of 0.4 points."""
    plain, other = drawn(clusters, 3000, 2.0, seed=clusters)
    found = compared(plain, other)
    covered = ((found["low"] <= 2.0) & (found["high"] >= 2.0)).mean()
    assert covered == pytest.approx(0.95, abs=0.015)
    assert found["unit"].unique().to_list() == ["pp"]


@pytest.mark.parametrize("clusters", [23, 60])
def test_without_a_change_five_percent_are_found(clusters: int) -> None:
    plain, other = drawn(clusters, 3000, 0.0, seed=clusters + 1)
    found = compared(plain, other)
    assert (found["p"] < 0.05).mean() == pytest.approx(0.05, abs=0.015)
    assert (found["q"] < 0.05).sum() <= 3


def test_the_interval_respects_pairing() -> None:
    """Clusters differ by 5, the two conditions of one by about 1.4: unpaired intervals would be five times as wide."""
    found = compared(*drawn(100, 300, 0.0, seed=5))
    width = float((found["high"] - found["low"]).to_numpy().mean())
    assert width == pytest.approx(2 * 2.09 * np.sqrt(2) / 10, rel=0.1)


def test_each_cluster_is_a_group_of_its_own_where_there_are_few() -> None:
    """Then it is the plain jackknife, which for a mean is the t interval of the differences."""
    plain, other = drawn(6, 5, 1.0, seed=9)
    d = other - plain
    found = compared(plain, other)
    np.testing.assert_allclose(found["value"].to_numpy(), d.mean(axis=0))
    np.testing.assert_allclose(found["se"].to_numpy(), d.std(axis=0, ddof=1) / np.sqrt(6), rtol=1e-9)
    np.testing.assert_allclose((found["high"] - found["value"]).to_numpy(), 2.5706 * found["se"].to_numpy(), rtol=1e-4)


def test_cells_that_few_clusters_have_are_judged_by_those() -> None:
    """Ten clusters of 200 in a cell: intervals of their change cover no less often than they should."""
    plain, other = drawn(200, 2000, 0.0, seed=11)
    plain[10:], other[10:] = np.nan, np.nan
    found = compared(plain, other)
    covered = float(((found["low"] <= 0.0) & (found["high"] >= 0.0)).to_numpy().mean())
    assert 0.94 <= covered <= 0.985
    assert found["clusters"].unique().to_list() == [10]


def test_there_is_no_interval_where_nothing_varies_or_a_group_holds_all() -> None:
    plain, other = drawn(40, 3, 1.0, seed=2)
    other[:, 0] = plain[:, 0] + 1.0
    plain[1:, 1] = np.nan
    plain[:, 2] = np.nan
    found = compared(plain, other)
    assert found["value"].is_null().to_list() == [False, False, True]
    assert found["low"].null_count() == found["p"].null_count() == 2
    assert found.select("method", "detail").rows() == [
        split_method(ALL_ALIKE),
        split_method(NONE_ITSELF),
        (IntervalKind.NONE, NOT_MEASURABLE),
    ]


def test_unsigned_estimates_beside_a_floor_have_an_interval_and_no_test() -> None:
    found = compared(*drawn(40, 4, 1.0, seed=2), measure=SPREAD)
    assert found["p"].null_count() == 4
    assert found["low"].null_count() == 0


def test_what_only_the_plain_condition_measured_is_not_measurable() -> None:
    plain, other = drawn(40, 3, 1.0, seed=2)
    found = compared(plain, other[:, :2])
    assert found["value"].is_null().to_list() == [False, False, True]


def test_groups_are_equal_random_and_always_the_same() -> None:
    group = deal_units(107, 20, seed=1)
    assert set(np.bincount(group).tolist()) == {5, 6}
    assert (group == deal_units(107, 20, seed=1)).all()
    assert (group != deal_units(107, 20, seed=2)).any()
    assert sorted(deal_units(3, 20, seed=1).tolist()) == [0, 1, 2]


def test_a_change_has_the_units_and_limits_of_a_difference() -> None:
    assert (change_of(SHARE).unit, change_of(SHARE).limits) == ("pp", (-100.0, 100.0))
    assert change_of(SPREAD).signed


def test_the_same_change_of_all_units_is_no_certainty_and_says_so() -> None:
    """Forty units that all change by one point leave room for some that were not seen; six leave room for many."""
    plain = np.random.default_rng(1).uniform(20, 80, (40, 1))
    found = compared(plain, plain + 1.0).row(0, named=True)
    assert found["low"] < 0 < found["value"] < found["high"] <= 100
    assert found["p"] > 0.05
    assert (found["method"], found["detail"]) == split_method(ALL_ALIKE)
    whole = compared(np.zeros((6, 1)), np.full((6, 1), 100.0)).row(0, named=True)
    assert whole["p"] == pytest.approx(2 / 2**6)
    unlimited = Measure("share", "Share", "n / N", "%", "face", "")
    varied = compared(plain, plain + 1.0, unlimited).row(0, named=True)
    assert (varied["method"], varied["detail"]) == split_method(NO_VARIANCE)


def of_pairs(rng: np.random.Generator, people: int, liked: float, cells: int = 300) -> pl.DataFrame:
    """Changes of a mean over all pairs of people, of whom some are liked more by one condition, wherever they stand."""
    one, two = np.triu_indices(people, 1)
    person = rng.normal(0.0, liked, (people, cells))
    moved = person[one] + person[two] + rng.normal(0.0, 1.0, (one.size, cells))
    plain = rng.normal(0.0, 5.0, (one.size, 1)) + np.zeros_like(moved)
    groups, pairs = deal_units(people, 20, 1), deal_units(one.size, 20, 2)

    def without() -> Iterator[Deletion]:
        for layer, number, member in (("units 3", groups, (one, two)), (PAIRS, pairs, None)):
            for g in range(int(number.max()) + 1):
                keep = number != g if member is None else (number[one] != g) & (number[two] != g)
                yield Deletion(layer, table(plain, keep), table(plain + moved, keep))

    return ChangeSet(table(plain), table(plain + moved), without()).table([SHARE], "s", "m", "x")


@pytest.mark.parametrize("liked", [0.0, 0.3, 2.0])
def test_pairs_that_share_a_person_are_not_independent_and_not_counted_twice(liked: float) -> None:
    found = pl.concat([of_pairs(np.random.default_rng(seed), 16, liked) for seed in range(4)])
    held = ((found["low"] <= 0) & (found["high"] >= 0)).to_numpy()
    assert 0.93 <= held.mean() <= 0.985


def test_two_conditions_of_different_units_are_each_taken_with_their_own() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.normal(50, 5, (12, 1500)), rng.normal(50, 10, (30, 1500))

    def without() -> Iterator[Deletion]:
        for layer, group in (("units 1", deal_units(12, 20, 1)), ("units 2", deal_units(30, 20, 1))):
            for g in range(int(group.max()) + 1):
                sides = [table(side, group != g if layer[-1] == name else None)
                         for name, side in (("1", first), ("2", second))]  # fmt: skip
                yield Deletion(layer, *sides)

    found = ChangeSet(table(first), table(second), without()).table([SHARE], "s", "m", "x")
    expected = np.sqrt(first.var(axis=0, ddof=1) / 12 + second.var(axis=0, ddof=1) / 30)
    assert np.median(found["se"].to_numpy() / expected) == pytest.approx(1.0, abs=0.02)
    assert ((found["low"] <= 0) & (found["high"] >= 0)).mean() == pytest.approx(0.95, abs=0.02)


def test_bounds_of_a_change_follow_from_those_of_both() -> None:
    known = {"bound_low": [10.0], "bound_high": [30.0]}
    one = table(np.full((4, 1), 20.0)).with_columns(**{name: pl.Series(x) for name, x in known.items()})
    two = table(np.full((4, 1), 25.0)).with_columns(bound_low=pl.Series([24.0]), bound_high=pl.Series([29.0]))
    bounds = ChangeSet(one, two, ()).bounds(np.array([0]))
    assert (bounds.low[0], bounds.high[0]) == (-6.0, 19.0)
