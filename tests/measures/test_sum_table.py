"""Sums of answers that stream by."""

import numpy as np
import polars as pl
import pytest

from facevalue.measures.estimators import SumTable, UnitTable


def rows(start: int) -> pl.DataFrame:
    units = [(start + i) % 7 for i in range(20)]
    levels = pl.Enum(["no", "yes"]) if start % 2 else pl.Enum(["yes", "no"])
    answers = pl.Series(["yes" if unit % 2 else "no" for unit in units], dtype=levels)
    return pl.DataFrame({"answer": answers, "unit": pl.Series(units, dtype=pl.UInt64), "n": [1.0] * 20})


def add_units(table: UnitTable, chunk: pl.DataFrame) -> None:
    table.add(chunk, np.arange(chunk.height), chunk["unit"].to_numpy(), chunk["n"].to_numpy()[None])


def expected() -> pl.DataFrame:
    plain = pl.concat([rows(start).with_columns(pl.col("answer").cast(pl.String)) for start in range(10)])
    return plain.group_by("answer", "unit").agg(pl.col("n").sum()).sort("answer", "unit")


@pytest.mark.parametrize("pile", [1, 30, 1000])
def test_sums_do_not_depend_on_how_many_rows_pile_up(monkeypatch: pytest.MonkeyPatch, pile: int) -> None:
    monkeypatch.setattr("facevalue.measures.estimators.PILE_ROWS", pile)
    table = SumTable(["answer", "unit"], ["n"])
    for start in range(10):
        table.add(rows(start))
    assert table.frame().sort("answer", "unit").equals(expected())


@pytest.mark.parametrize(("most", "one_of"), [(1000, 1), (7, 1), (6, 2), (2, 4)])
@pytest.mark.parametrize("order", [range(10), range(9, -1, -1)])
def test_units_are_left_out_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, most: int, one_of: int, order: range
) -> None:
    monkeypatch.setattr("facevalue.measures.estimators.MOST_ROWS", most)
    table = UnitTable(["answer"], ["n"])
    for start in order:
        add_units(table, rows(start))
    frame = table.frame().with_columns(pl.col("answer").cast(pl.String))
    assert table.one_of == one_of
    assert frame.equals(expected().filter(pl.col("unit") % one_of == 0))
    assert table.frame().height == frame.height


def test_units_of_null_labels_come_last() -> None:
    table = UnitTable(["answer"], ["n"])
    add_units(table, rows(0).with_columns(answer=pl.lit(None, pl.String)))
    add_units(table, rows(0))
    assert table.frame()["answer"].unique(maintain_order=True).to_list() == ["no", "yes", None]
    assert UnitTable(["answer"], ["n"]).frame().is_empty()
