"""Sums of answers that stream by."""

import polars as pl
import pytest

from facevalue.measures.sum_table import SumTable


def rows(start: int) -> pl.DataFrame:
    units = [(start + i) % 7 for i in range(20)]
    levels = pl.Enum(["no", "yes"]) if start % 2 else pl.Enum(["yes", "no"])
    answers = pl.Series(["yes" if unit % 2 else "no" for unit in units], dtype=levels)
    return pl.DataFrame({"answer": answers, "unit": pl.Series(units, dtype=pl.UInt64), "n": [1.0] * 20})


@pytest.mark.parametrize("thinned", [True, False])
@pytest.mark.parametrize("pile", [1, 30, 1000])
def test_sums_do_not_depend_on_how_many_rows_pile_up(monkeypatch: pytest.MonkeyPatch, pile: int, thinned: bool) -> None:
    monkeypatch.setattr("facevalue.measures.sum_table.PILE", pile)
    table = SumTable(["answer", "unit"], ["n"], thinned=thinned)
    for start in range(10):
        table.add(rows(start))
    plain = pl.concat([rows(start).with_columns(pl.col("answer").cast(pl.String)) for start in range(10)])
    expected = plain.group_by("answer", "unit").agg(pl.col("n").sum()).sort("answer", "unit")
    assert table.frame().sort("answer", "unit").equals(expected)
    assert table.one_of == 1


def test_only_a_table_of_more_cells_than_are_kept_loses_units(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, whole in ((7, True), (6, False)):
        monkeypatch.setattr("facevalue.measures.sum_table.MOST", most)
        table = SumTable(["answer", "unit"], ["n"], thinned=True)
        for start in range(10):
            table.add(rows(start))
        assert (table.frame().height == 7) is whole
        assert (table.one_of == 1) is whole
