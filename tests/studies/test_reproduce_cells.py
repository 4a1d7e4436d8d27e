"""Published beside recomputed: when two numbers are the same, and what is said where they are not."""

from functools import partial

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.protocol.reproduction import Cell, Paper, Printed, Reproduction, compare_cell, readings


def printed(text: str | None, note: str | None = None) -> Printed:
    return Printed("1", "r", "c", text, note)


@given(st.floats(-1000, 1000), st.integers(0, 4))
def test_a_number_is_the_same_as_itself_rounded(value: float, digits: int) -> None:
    assert printed(f"{value:.{digits}f}").number(value).same


@given(st.floats(0.1, 900), st.integers(0, 3))
def test_a_unit_of_the_last_digit_is_too_much(value: float, digits: int) -> None:
    assert printed(f"{value:.{digits}f}").number(value + 1.1 * 10.0**-digits).same is False


@given(st.floats(1, 900))
def test_a_lost_decimal_point_is_found_again_and_said(value: float) -> None:
    text = f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
    cell = printed("?" + text.replace(".", "")).number(value)
    assert cell.same
    assert cell.published == text.replace(".", "")
    assert cell.note == f"the decimal point is lost in the scan: read as {text}"


def test_no_reading_of_damaged_digits_fits_just_anything() -> None:
    cell = printed("?220").number(2.4)
    assert (cell.published, cell.same) == ("220", False)
    assert cell.note == "the decimal point is lost in the scan: read as 2.20"
    assert cell.is_unexplained
    known = printed("?220", "a known reason").number(2.4)
    assert known.note == "a known reason; the decimal point is lost in the scan: read as 2.20"
    assert not known.is_unexplained


def test_thousands_are_numbers() -> None:
    assert readings("11,200")[0].value == 11_200
    assert printed("11,200").number(11_200).published == 11_200


def test_slack_is_added_to_half_a_unit() -> None:
    assert Printed("5", "r", "c", "0.76", slack=0.001).number(0.7655).same
    assert Printed("5", "r", "c", "0.76", slack=0.001).number(0.7662).same is False


def test_what_cannot_be_compared_is_neither_same_nor_different() -> None:
    assert printed(None).number(3.0).same is None
    cell = printed("370", "no code").number(None)
    assert (cell.published, cell.recomputed, cell.same, cell.note) == (370, None, None, "no code")
    assert printed("Asian").word(None).same is None


@pytest.mark.parametrize(
    ("listed", "ranked", "same", "note"),
    [
        ("a b c", "a b c d e", True, None),
        ("a c d", "a b c d e", False, "the paper leaves out b; its words come in this order"),
        ("a c b", "a b c d e", False, "the same words in another order"),
        ("e a b", "a b c d e", False, "its words are among the first 5 of the ranking"),
        ("a x b", "a b c d e", False, None),
    ],
)
def test_lists_of_words(listed: str, ranked: str, same: bool, note: str | None) -> None:
    cell = printed(listed).words(ranked.split())
    assert (cell.same, cell.note) == (same, note)


def test_a_list_that_the_scan_leaves_in_doubt_says_so() -> None:
    assert printed("a x").words(["a", "b"], "columns run together").note == "columns run together"


def test_only_a_difference_without_a_reason_is_unexplained() -> None:
    known = Cell("1", "r", "c", 1, 2, False, "why")
    unknown = Cell("1", "r", "c", 1, 2, False)
    assert Reproduction((known,), {}).is_explained
    assert not Reproduction((known, unknown), {}).is_explained


def test_cells_point_at_estimates_by_their_rows_and_columns() -> None:
    block = {
        "table": "1", "missing": "no answers", "columns": ["m/a", "m/b", "n/a"],
        "rows": {"Women": ["0.5", "0.2", "0.1"], "Men": ["0.9"]}, "note": {"Men": {"m/a": "a misprint"}},
        "estimate": {"measure": "share", "row": "group", "column": "model/question", "dimension": ""},
    }  # fmt: skip
    document = {"titles": {"1": "shares"}, "notices": [], "claims": [], "levels": {"Women": "female", "Men": "male"}}
    rows = [("m", "a", "female", None, 0.52), ("m", "a", "male", None, 0.6), ("m", "b", "female", "race", 0.2)]
    columns = ["model", "question", "group", "dimension", "value"]
    estimates = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        measure=pl.lit("share"), versus=pl.lit(None, pl.String)
    )
    cells = Paper({**document, "cells": [block]}).reproduce({"estimate": partial(compare_cell, estimates)}).cells
    assert [(cell.row, cell.column, cell.recomputed, cell.same, cell.note) for cell in cells] == [
        ("Women", "m/a", 0.52, True, None),
        ("Women", "m/b", None, None, "no answers"),  # only of people of some race; of n nothing is at hand
        ("Men", "m/a", 0.6, False, "a misprint"),
    ]


def test_an_average_is_that_of_the_other_rows() -> None:
    block = {"table": "2", "columns": ["a"], "value": {"Average": "average"},
             "rows": {"x": ["1.0"], "y": ["2.0"], "z": ["?30"], "Average": ["1.5"]}}  # fmt: skip
    (cell,) = Paper({"titles": {"2": ""}, "notices": [], "claims": [], "cells": [block]}).reproduce({}).cells
    assert (cell.row, cell.recomputed, cell.same) == ("Average", 1.5, True)
