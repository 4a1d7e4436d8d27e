"""Shares over units: one result in any order of the rows, strata and levels, bounds, and intervals that hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.proportions import FEWEST_UNITS, Shares, unit_shares

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "share-intervals.csv"
NAMES = ("value", "low", "high", "se", "df", "n", "clusters", "size", "variance")


def rows(seed: int, many: int = 200) -> dict[str, Any]:
    """Rows of three cells, with strata and levels, and several of one unit."""
    rng = np.random.default_rng(seed)
    n = np.where(rng.random(many) < 0.1, 0.0, rng.random(many) * 5)
    codes = {name: rng.integers(0, k, many) for name, k in (("cell", 3), ("unit", 20), ("stratum", 2), ("inner", 3))}
    return {**codes, "n": n, "s": n * rng.random(many), "requests": n + rng.random(many)}


def shares_of(columns: Mapping[str, Any]) -> Shares:
    return unit_shares(cells=3, **columns)


@given(st.integers(0, 1000))
def test_the_order_of_the_rows_changes_no_bit(seed: int) -> None:
    columns = rows(seed)
    order = np.random.default_rng(seed + 1).permutation(columns["n"].size)
    one, other = shares_of(columns), shares_of({name: x[order] for name, x in columns.items()})
    for name in ("low", "high", "se", "df", "clusters", "variance"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    assert one.bounds is not None
    assert other.bounds is not None
    np.testing.assert_allclose(one.bounds.se, other.bounds.se, rtol=1e-12)


def test_rows_of_one_unit_are_added_up() -> None:
    columns = rows(3)
    halves = {name: np.repeat(x, 2) / (2 if name in ("n", "s", "requests") else 1) for name, x in columns.items()}
    halves |= {name: halves[name].astype(np.int64) for name in ("cell", "unit", "stratum", "inner")}
    for name in NAMES:
        np.testing.assert_allclose(getattr(shares_of(halves), name), getattr(shares_of(columns), name), rtol=1e-9)


def test_units_that_weigh_the_same_have_one_degree_of_freedom_less_than_there_are() -> None:
    s = np.array([1.0, 2.0, 5.0, 3.0, 4.0])
    of_five = unit_shares(np.zeros(5, np.int64), 1, np.arange(5), np.full(5, 6.0), s)
    assert of_five.df.item() == pytest.approx(4)
    assert of_five.se.item() == pytest.approx(np.std(s / 6, ddof=1) / np.sqrt(5))


def test_a_unit_that_outweighs_all_others_leaves_one_degree_of_freedom() -> None:
    n = np.array([1.0, 1.0, 1.0, 1.0, 100.0])
    uneven = unit_shares(np.zeros(5, np.int64), 1, np.arange(5), n, n * np.array([0.2, 0.9, 0.4, 0.5, 0.3]))
    assert (uneven.df.item(), uneven.clusters.item()) == (1.0, 5)


@pytest.mark.parametrize("units", [1, 2, 3])
def test_intervals_begin_with_three_units(units: int) -> None:
    few = unit_shares(np.zeros(units, np.int64), 1, np.arange(units), np.ones(units), np.full(units, 0.5))
    assert np.isfinite(few.low.item()) == np.isfinite(few.se.item()) == (units >= FEWEST_UNITS)
    assert few.method.item().startswith("none") == (units < FEWEST_UNITS)


def test_strata_that_differ_do_not_widen_the_interval() -> None:
    unit, stratum = np.arange(20), np.arange(20) % 2
    s = np.where(stratum == 0, 0.2, 0.8) + 0.01 * (np.arange(20) // 2 - 4.5)
    none = np.zeros(20, np.int64)
    whole, apart = (unit_shares(none, 1, unit, np.ones(20), s, stratum=x) for x in (None, stratum))
    assert apart.se.item() < 0.1 * whole.se.item()
    assert apart.df.item() == pytest.approx(18)


def test_bounds_are_those_of_all_missing_answers_at_either_end() -> None:
    n, requests = np.array([4.0, 4.0, 2.0]), np.full(3, 4.0)
    three = unit_shares(np.zeros(3, np.int64), 1, np.arange(3), n, np.array([1.0, 2.0, 1.0]), requests=requests)
    assert three.bounds is not None
    assert (three.bounds.low.item(), three.bounds.high.item()) == pytest.approx((4 / 12, 6 / 12))
    assert three.bounds.se.item() >= three.se.item()


def test_the_rule_that_is_used_holds_more_often_than_the_others() -> None:
    table = pl.read_csv(RESULTS).filter((pl.col("over") == "units") & (pl.col("units") >= FEWEST_UNITS))
    below = {name: (table[name] < 0.93).sum() for name in table.columns if name.startswith("held: ")}
    assert below["held: Satterthwaite"] == min(
        below[f"held: {x}"] for x in ("G - 1", "Satterthwaite", "jackknife, Kish")
    )
    few = table.filter((pl.col("units") <= 12) & (pl.col("weights") != "equal"))
    assert few["held: Satterthwaite"].min() >= 0.93  # type: ignore[operator]
