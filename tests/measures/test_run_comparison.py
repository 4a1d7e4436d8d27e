"""Two measurements of the same cells."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.run_comparison import DELTA_STATISTICS, match_tables
from facevalue.studies.vignette.reproduce import summarise_deltas


def table(values: list[float]) -> pl.DataFrame:
    """One cell per identity and activity, activities innermost (two of them)."""
    size = len(values)
    return pl.DataFrame(
        {
            "identity": [f"i{k // 2}" for k in range(size)],
            "activity": [("cooking", "programming")[k % 2] for k in range(size)],
            "value": values,
        }
    )


KEYS = ["identity", "activity"]


def test_cells_of_one_side_are_named() -> None:
    first, second = table([1.0, 2.0, 3.0, 4.0]), table([1.0, 2.0])
    found = match_tables(first, second, KEYS)
    assert found.cells.height == 2
    assert found.only_first.rows() == [("i1", "cooking"), ("i1", "programming")]
    assert found.only_second.rows() == []


def test_a_cell_without_a_value_counts_as_not_measured_there() -> None:
    second = table([1.0, 2.0]).with_columns(value=pl.Series([None, 2.0], dtype=pl.Float64))
    found = match_tables(table([1.0, 2.0]), second, KEYS)
    assert found.cells["activity"].to_list() == ["programming"]
    assert found.only_first.rows() == [("i0", "cooking")]


def test_null_is_a_level_of_its_own() -> None:
    frame = pl.DataFrame({"identity": ["old", "old"], "activity": [None, "cooking"], "value": [1.0, 2.0]})
    assert match_tables(frame, frame, KEYS).cells.height == 2


def test_what_is_no_percentage_is_refused() -> None:
    with pytest.raises(DataError, match="101 is no percentage: identity i0, activity cooking"):
        match_tables(table([101.0]), table([1.0]), KEYS)


def test_nothing_in_common_two_rows_for_a_cell_and_missing_columns_are_refused() -> None:
    other = table([1.0, 2.0]).with_columns(pl.lit("doctor").alias("identity"))
    with pytest.raises(DataError, match="no cell in common: identity i0, activity cooking"):
        match_tables(table([1.0, 2.0]), other, KEYS)
    twice = pl.concat([table([1.0]), table([2.0])])
    with pytest.raises(DataError, match="Two rows for one cell: identity i0"):
        match_tables(twice, twice, KEYS)
    with pytest.raises(UnknownNameError, match="Unknown column 'gender'"):
        match_tables(other, other, ["gender"])
    with pytest.raises(UnknownNameError, match="Unknown key 'question'"):
        summarise_deltas(match_tables(other, other, KEYS), ["question"])


def test_the_four_numbers_by_activity_and_over_all() -> None:
    matched = match_tables(table([10.0, 0.0, 20.0, 0.0]), table([13.0, 0.0, 16.0, 0.0]), KEYS)
    by = summarise_deltas(matched, ["activity"])
    assert by["activity"].to_list() == ["cooking"] * 4 + ["programming"] * 4
    assert by["statistic"].to_list() == list(DELTA_STATISTICS) * 2
    assert by["value"].to_list() == pytest.approx([-0.5, 3.5, 12.5**0.5, 4.0, 0, 0, 0, 0])
    assert summarise_deltas(matched)["value"].to_list() == pytest.approx([-0.25, 1.75, 6.25**0.5, 4.0])
    assert by["n"].to_list() == [2] * 8


VALUES = st.lists(st.floats(0, 100, allow_nan=False), min_size=2, max_size=24)


@given(VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_swapping_the_two_changes_only_the_sign(values: list[float], random: object) -> None:
    rng = np.random.default_rng(random.randint(0, 2**31))  # type: ignore[attr-defined]
    first, second = table(values), table(rng.permutation(values).tolist())
    one = summarise_deltas(match_tables(first, second, KEYS))
    shuffled = summarise_deltas(match_tables(first.sample(fraction=1, shuffle=True, seed=1), second, KEYS))
    back = summarise_deltas(match_tables(second, first, KEYS))
    assert shuffled["value"].to_list() == pytest.approx(one["value"].to_list(), abs=1e-9)
    assert back["value"][0] == pytest.approx(-one["value"][0], abs=1e-9)
    assert back["value"][1:].to_list() == pytest.approx(one["value"][1:].to_list(), abs=1e-9)


@given(VALUES)
def test_the_four_numbers_keep_their_order(values: list[float]) -> None:
    signed, absolute, rmse, largest = summarise_deltas(match_tables(table([50.0] * len(values)), table(values), KEYS))[
        "value"
    ].to_list()
    slack = 1e-9
    assert abs(signed) <= absolute + slack
    assert absolute <= rmse + slack
    assert rmse <= largest + slack


@given(VALUES)
def test_a_table_agrees_with_itself(values: list[float]) -> None:
    found = match_tables(table(values), table(values), KEYS)
    assert summarise_deltas(found)["value"].to_list() == [0.0] * 4
