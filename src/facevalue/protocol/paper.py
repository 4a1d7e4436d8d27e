"""Papers as data: their printed tables, and which estimate or function recomputes which of the cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from facevalue.given import shipped
from facevalue.protocol.reproduction import Cell, Printed, Reproduction, Value, is_number

Recompute = Callable[[Printed], Value | Cell | list[Cell]]
"""From a printed cell to its value, recomputed, or to the compared cells that come in its place, if any."""
Tables = Mapping[str, Mapping[str, Any]]
AVERAGE = "Average"
"""The row of a table that has the means of its columns."""


@dataclass(frozen=True, slots=True)
class Paper:
    """What a paper prints.

    `titles` says what each table is about, in order; `notices` what was left out. Each of `[[cells]]` is a table or a
    part of it, and each of `claims` the same in one line: `table`, `columns`, and `rows` with what they print in each
    column (a row may end early; "" is nothing legible), or a list of rows that all print `printed`, or nothing. `value`
    names the function that recomputes them, for all or by row or column; without it they are only what others are
    recomputed from, or what `estimate` points at: the estimate that the study makes of the authors' answers. Its `row`
    and `column` name the labels whose levels the cells' row and column are, parted by "/" (`levels` at the top has the
    study's names of them), and all else is a label: `{measure = "choice_share", row = "model", column = "question"}`.
    `note`, `slack`, `missing` and `digits` are those of `Printed`, the first two for all, by row or column, or both.
    `by = "column"` goes column by column.
    """

    document: Mapping[str, Any]

    @classmethod
    def shipped(cls, package: str) -> "Paper":
        """The `tables/published.toml` of a study."""
        return cls(shipped(package, "tables", "published.toml"))

    def table(self, number: str) -> Tables:
        """What a table prints, by row and column."""
        table: dict[str, dict[str, Any]] = {}
        for block in self._blocks():
            for cell in self._printed(block) if block["table"] == number else ():
                if cell.text is not None:
                    table.setdefault(cell.row, {})[cell.column] = cell.text
        return table

    def numbers(self, number: str) -> Mapping[str, Mapping[str, float]]:
        """What of a table are undamaged numbers, by row and column."""
        return {
            row: {column: float(text.replace(",", "")) for column, text in cells.items() if is_number(text)}
            for row, cells in self.table(number).items()
        }

    def average(self, number: str, column: str) -> float:
        """Mean of a column of a table over its rows, that of the printed averages left out."""
        rows = self.numbers(number).items()
        return float(np.mean([row[column] for name, row in rows if name != AVERAGE and column in row]))

    def reproduce(self, functions: Mapping[str, Recompute], notices: Sequence[str] = ()) -> Reproduction:
        """Recompute every cell that names a function; `notices` stand behind the paper's own.

        The function "estimate" recomputes those that point at an estimate and name none; "average" is the mean of the
        column (`average`).
        """
        functions = {"average": lambda cell: self.average(cell.table, cell.column), **functions}
        cells = [
            cell
            for block in self._blocks()
            for printed in self._printed(block)
            if (name := _of(block.get("value", "estimate" if "estimate" in block else None), printed))
            for cell in _compared(printed, functions[name](printed))
        ]
        titles = self.document["titles"]
        cells.sort(key=lambda cell: list(titles).index(cell.table))
        return Reproduction(tuple(cells), titles, (*self.document["notices"], *notices))

    def _blocks(self) -> list[Mapping[str, Any]]:
        return [*self.document["cells"], *self.document["claims"]]

    def _printed(self, block: Mapping[str, Any]) -> Iterator[Printed]:
        """The cells of a block, as printed."""
        rows, columns = block["rows"], block["columns"]
        if not isinstance(rows, dict):
            rows = {row: [block.get("printed")] * len(columns) for row in rows}
        cells = [
            (row, column, text) for row, texts in rows.items() for column, text in zip(columns, texts, strict=False)
        ]
        if block.get("by") == "column":
            cells.sort(key=lambda cell: columns.index(cell[1]))
        for row, column, text in cells:
            cell = Printed(block["table"], row, column, tuple(text) if isinstance(text, list) else text or None)
            yield replace(
                cell, note=_of(block.get("note"), cell), slack=_of(block.get("slack"), cell) or 0.0,
                digits=block.get("digits", 6), missing=block.get("missing"), labels=self._labels(block, cell),
            )  # fmt: skip

    def _labels(self, block: Mapping[str, Any], cell: Printed) -> Mapping[str, str]:
        """Of the estimate that a cell points at."""
        labels, levels = dict(block.get("estimate", {})), self.document.get("levels", {})
        for text, names in ((cell.row, labels.pop("row", "")), (cell.column, labels.pop("column", ""))):
            parts = zip(names.split("/"), text.split("/"), strict=True) if names else ()
            labels |= {name: levels.get(level, level) for name, level in parts}
        return labels


def pointed(estimates: pl.DataFrame, printed: Printed) -> pl.DataFrame | None:
    """Estimates that have a cell's labels; None where there are none of this measure for its model."""
    labels = dict(printed.labels)
    of_model = estimates.filter(pl.col("versus").is_null(), measure=labels.pop("measure"), model=labels.pop("model"))
    levels = (pl.col(name).eq_missing(pl.lit(level or None, pl.String)) for name, level in labels.items())
    return of_model.filter(*levels) if of_model.height else None


def estimated(estimates: pl.DataFrame, printed: Printed) -> list[Cell]:
    """Compare a cell with the estimate that it points at; no cell where its model's answers are not at hand."""
    rows = pointed(estimates, printed)
    if rows is None:
        return []
    value = rows["value"][0] if rows.height else None
    return [printed.number(value, printed.missing if value is None else None)]


def _of(setting: Any, cell: Printed) -> Any:
    """A setting of a block for one of its cells: the same for all, by row or column, or by row and then column."""
    while isinstance(setting, dict):
        setting = setting.get(cell.row, setting.get(cell.column))
    return setting


def _compared(printed: Printed, result: Value | Cell | list[Cell]) -> Sequence[Cell]:
    if isinstance(result, Cell):
        return (result,)
    if isinstance(result, list):
        return result
    if isinstance(result, str | tuple):
        return (printed.word(result),)
    return (printed.number(result),)
