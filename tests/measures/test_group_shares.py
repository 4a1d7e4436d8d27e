"""Shares by group: of things that belong to units, with intervals that hold."""

import numpy as np
import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.measures.group_shares import group_shares
from facevalue.measures.intervals import split_method
from facevalue.measures.proportions import TOO_FEW_UNITS


def things(units: int, each: int, share: float, seed: int) -> pl.DataFrame:
    """Things of units that differ in how often it is true of theirs."""
    rng = np.random.default_rng(seed)
    of_unit = rng.beta(4 * share, 4 * (1 - share), units)
    flags = rng.random((units, each)) < of_unit[:, None]
    return pl.DataFrame({"unit": np.repeat(np.arange(units), each), "flag": flags.ravel()})


def test_things_that_nobody_knows_of_count_in_no_share() -> None:
    rows = pl.DataFrame({"unit": list("aabb"), "group": ["x"] * 4, "flag": [True, None, None, False]})
    assert group_shares(rows, "flag", ["group"], "unit").select("share", "n", "units").rows() == [(0.5, 2, 2)]


def test_one_unit_has_no_interval_and_no_group_is_all() -> None:
    rows = pl.DataFrame({"unit": ["a", "a", "b"], "group": ["x", "x", None], "flag": [True, False, True]})
    by_group = group_shares(rows, "flag", ["group"], "unit")
    assert by_group.select("group", "share", "low").rows() == [("x", 0.5, None), (None, 1.0, None)]
    together = group_shares(rows, "flag", [], "unit")
    assert together.columns == ["share", "low", "high", "n", "units", "method", "detail"]
    assert together.select("share", "n").rows() == [(pytest.approx(2 / 3), 3)]
    assert together.select("method", "detail").rows() == [split_method(TOO_FEW_UNITS)]


def test_nothing_known_is_no_group() -> None:
    rows = pl.DataFrame({"unit": ["a"], "group": ["x"], "flag": [None]}, schema_overrides={"flag": pl.Boolean})
    assert group_shares(rows, "flag", ["group"], "unit").height == 0
    assert group_shares(rows, "flag", [], "unit").select("share", "n").rows() == [(None, 0)]


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownNameError, match="gender"):
        group_shares(pl.DataFrame({"unit": ["a"], "flag": [True]}), "flag", ["gender"], "unit")


def test_intervals_hold_the_share_over_units() -> None:
    """Of 300 samples of 40 units with 10 things each, that differ from unit to unit, 95% hold it; .03 is two errors."""
    held = 0
    for seed in range(300):
        low, high = group_shares(things(40, 10, 0.2, seed), "flag", [], "unit").select("low", "high").row(0)
        held += low <= 0.2 <= high
    assert held / 300 > 0.92
