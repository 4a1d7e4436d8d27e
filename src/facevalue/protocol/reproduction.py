"""Reproduction of published figures: cell by cell, with the reason for each difference.

Printed values are kept as strings, so that their digits say how exact they are. A scan may have damaged them: "?220"
is three digits whose decimal point is lost (2.20, 22.0 or 220). What is shown as published is what the scan shows.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.untrusted_files import shipped

# Tables of answers that authors released, read with a sentence for whatever is wrong with them.


T = TypeVar("T")


def fold_name(name: str) -> str:
    """A name without case and marks, as files spell it in several ways.

    Examples
    --------
    >>> fold_name("GPT-4V") == fold_name("gpt_4v")
    True
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def of_models(tables: Mapping[str, T], models: Iterable[str], file: str) -> tuple[dict[str, T], list[str]]:
    """Tables of the models that a paper prints, by their names there, and a notice for each of the others.

    Examples
    --------
    >>> of_models({"gpt4v": 1, "x": 2}, ["GPT-4V"], "a.csv")
    ({'GPT-4V': 1}, ['x in a.csv is left out: the paper prints nothing of it.'])
    """
    names = {fold_name(name): name for name in models}
    of_paper = {names[fold_name(name)]: table for name, table in tables.items() if fold_name(name) in names}
    others = [name for name in tables if fold_name(name) not in names]
    return of_paper, [f"{name} in {file} is left out: the paper prints nothing of it." for name in others]


def read_columns(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a CSV file, as text."""
    frame = read_csv(path)
    require_columns(path, frame, columns)
    return frame.select(columns)


def read_csv(path: Path) -> pl.DataFrame:
    """All columns of a CSV file, as text."""
    try:
        return pl.read_csv(path, infer_schema=False, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file(path, error) from None


def require_columns(path: Path, frame: pl.DataFrame, columns: Sequence[str]) -> None:
    """Say which columns a file lacks."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        names = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        near = [column for name in missing for column in get_close_matches(name, frame.columns, n=1)]
        hint = f" Is it {near[0]!r}?" if near else ""
        raise DataError(f"{path.name} lacks the {names}.{hint} Its columns: {', '.join(frame.columns[:40]) or 'none'}.")


def unreadable_file(path: Path, error: Exception) -> DataError:
    """Error for a file that cannot be read."""
    return DataError(f"{path.name} cannot be read: {(str(error) or type(error).__name__).splitlines()[0]}")


def parse_counts(frame: pl.DataFrame, name: str, path: Path) -> pl.Series:
    """A column of text as whole numbers; null where it is empty."""
    cells = frame[name].replace("", None)
    numbers = cells.cast(pl.Int64, strict=False)
    wrong = cells.filter(cells.is_not_null() & (numbers.is_null() | (numbers < 0)))
    if len(wrong):
        raise DataError(f"{path.name}: {name} is {wrong[0]!r}, not a count.")
    return numbers


def parse_levels(frame: pl.DataFrame, column: str, spellings: Mapping[str, Sequence[str]]) -> pl.Series:
    """A column as levels, each of which has several spellings.

    Examples
    --------
    >>> parse_levels(pl.DataFrame({"gender": [" Woman", "man"]}), "gender", {"f": ["woman"], "m": ["man"]}).to_list()
    ['f', 'm']
    """
    level_of = {spelling: level for level, listed in spellings.items() for spelling in listed}
    cells = frame[column].cast(pl.String).str.to_lowercase().str.strip_chars()
    levels = cells.replace_strict(level_of, default=None, return_dtype=pl.String)
    wrong = cells.filter(levels.is_null())
    if len(wrong):
        raise UnknownNameError(column, str(wrong[0]), spellings)
    return levels


Value = float | int | str | tuple[str, ...] | None

_EXACT = 1e-9
_READ = "the decimal point is lost in the scan"
LOST_POINT = f"{_READ}: read as {{value}}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A published value and the recomputed one."""

    table: str
    """Number of the table or, for what is printed in the text, of the section."""
    row: str
    column: str
    """Place in the table."""
    published: Value
    recomputed: Value
    """None where nothing is printed, or nothing can be recomputed."""
    same: bool | None
    """True if they agree to the printed digits; None where they cannot be compared."""
    note: str | None = None
    """Reason why they differ or cannot be compared, if it is known; else how the cell was read."""

    @property
    def is_unexplained(self) -> bool:
        """True if it differs for no known reason: how a damaged number was read is none."""
        return self.same is False and (self.note is None or self.note.startswith(_READ))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All cells of a paper."""

    cells: tuple[Cell, ...]
    """In the order of the tables."""
    titles: Mapping[str, str]
    """Subject of each table, by its number."""
    notices: tuple[str, ...] = ()
    """Omissions, and why."""

    @property
    def is_explained(self) -> bool:
        """True if every cell that differs has a known reason."""
        return not any(cell.is_unexplained for cell in self.cells)


class PrintedNumber(NamedTuple):
    """A number as printed, and half a unit of its last digit."""

    value: float
    half: float
    note: str | None = None


def is_number(text: object) -> bool:
    """Return whether a printed text is a number that the scan has left whole.

    Examples
    --------
    >>> [is_number(text) for text in ("+0.056", "11,200", "?220", "N/A")]
    [True, True, False, False]
    """
    return isinstance(text, str) and re.fullmatch(r"[+-]?[\d,]+(\.\d+)?", text) is not None


def readings(printed: str) -> tuple[PrintedNumber, ...]:
    """The numbers that a printed one may stand for: one, unless the scan has damaged it.

    Examples
    --------
    >>> [r.value for r in readings("0.80")], readings("0.80")[0].half
    ([0.8], 0.005)
    >>> [r.value for r in readings("?220")]
    [2.2, 22.0, 220.0]
    """
    if printed.startswith("?"):
        digits = printed[1:]
        forms = [f"{digits[:at]}.{digits[at:]}" for at in range(1, len(digits))] + [digits]
        note = LOST_POINT
    else:
        value = printed.replace(",", "")
        return (PrintedNumber(float(value), _half(value)),)
    return tuple(PrintedNumber(float(form), _half(form), note.format(value=form)) for form in forms)


def _half(form: str) -> float:
    return 0.5 * 10.0 ** -len(form.partition(".")[2])


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as a paper prints it, to be compared with what is recomputed of it.

    Examples
    --------
    >>> Printed("8", "gpt-4o", "female", "11.68").number(11.68361).same
    True
    >>> Printed("5", "Female", "x/income", "?220").number(2.203).published
    '220'
    """

    table: str
    row: str
    column: str
    """Place where it is printed."""
    text: str | tuple[str, ...] | None
    """As printed, a tuple for a list of words; None where nothing is, or nothing legible in the scan."""
    note: str | None = None
    """Reason why the recomputed value differs, if that is known, or why there is none. Shown only then."""
    slack: float = 0.0
    """Tolerance beyond half a unit of the last printed digit, because what goes in is rounded, too."""
    digits: int = 6
    """Decimals of a recomputed value that are shown."""
    missing: str | None = None
    """Reason why there is none, where answers that are at hand give none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the estimate of the authors' answers that recomputes it: `measure`, `model` and others; "" for null."""

    def at(self, column: str, text: str | tuple[str, ...] | None = None, row: str = "") -> "Printed":
        """Another cell, of the same row unless `row` names another."""
        return replace(self, column=column, text=text, row=row or self.row)

    def number(self, recomputed: float | None, note: str | None = None) -> Cell:
        """Compare a number; None if it cannot be recomputed. A `note` takes the place of the cell's."""
        note = note or self.note
        choices = readings(self.text) if isinstance(self.text, str) else ()
        published = _plain(choices[0].value) if len(choices) == 1 else str(self.text).removeprefix("?")
        if not choices or recomputed is None:
            value = None if recomputed is None else _plain(round(recomputed, self.digits))
            note = note or ("illegible in the scan" if len(choices) != 1 else None)
            return self._cell(published if choices else None, value, None, note)
        reading = min(choices, key=lambda r: abs(r.value - recomputed) / max(r.value, r.half))
        same = bool(abs(reading.value - recomputed) <= reading.half + self.slack + _EXACT)
        note = reading.note if same else "; ".join(filter(None, (note, reading.note))) or None
        return self._cell(published, _plain(round(recomputed, self.digits)), same, note)

    def word(self, recomputed: str | tuple[str, ...] | None, note: str | None = None) -> Cell:
        """Compare words: a category, a list, or what is said of a model."""
        same = None if recomputed is None else self.text == recomputed
        return self._cell(self.text, recomputed, same, None if same else note or self.note)

    def claim(self, recomputed: Value, holds: bool | None, note: str | None = None) -> Cell:
        """A sentence beside what the tables have, and whether it holds; None where that cannot be told."""
        return self._cell(self.text, recomputed, holds, None if holds else note or self.note)

    def words(self, ranked: Sequence[str], doubt: str | None = None) -> Cell:
        """Compare words with the first so many of a longer ranking; `doubt` says what leaves them in doubt."""
        listed = tuple(str(self.text).split())
        first = tuple(ranked[: len(listed)])
        if first == listed:
            return self._cell(listed, first, True, doubt)
        last = max((place + 1 for place, name in enumerate(ranked) if name in listed), default=0)
        dropped = [name for name in ranked[:last] if name not in listed]
        note = doubt
        if tuple(name for name in ranked if name in listed) == listed:
            note = f"the paper leaves out {', '.join(dropped)}; its words come in this order"
        elif set(listed) <= set(ranked):
            among = f"its words are among the first {len(ranked)} of the ranking"
            note = "the same words in another order" if set(first) == set(listed) else among
            note += f"; {doubt}" if doubt else ""
        return self._cell(listed, first, False, note)

    def _cell(self, published: Value, recomputed: Value, same: bool | None, note: str | None) -> Cell:
        return Cell(self.table, self.row, self.column, published, recomputed, same, note)


def _plain(value: float) -> float | int:
    """Whole numbers as such."""
    return int(value) if float(value).is_integer() and abs(value) >= 100 else float(value)


# Papers as data: their printed tables, and which estimate or function recomputes which of the cells.


Recompute = Callable[[Printed], Value | Cell | list[Cell]]
"""From a printed cell to its value, recomputed, or to the compared cells that come in its place, if any."""
Tables = Mapping[str, Mapping[str, Any]]
AVERAGE = "Average"
"""The row of a table that has the means of its columns."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Tables and claims that a paper prints.

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
        """Texts that a table prints, by row and column."""
        table: dict[str, dict[str, Any]] = {}
        for block in self._blocks():
            for cell in self._printed_cells(block) if block["table"] == number else ():
                if cell.text is not None:
                    table.setdefault(cell.row, {})[cell.column] = cell.text
        return table

    def numbers(self, number: str) -> Mapping[str, Mapping[str, float]]:
        """Undamaged numbers of a table, by row and column."""
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
            for printed in self._printed_cells(block)
            if (name := _setting_of_cell(block.get("value", "estimate" if "estimate" in block else None), printed))
            for cell in _compare_cell(printed, functions[name](printed))
        ]
        titles = self.document["titles"]
        cells.sort(key=lambda cell: list(titles).index(cell.table))
        return Reproduction(tuple(cells), titles, (*self.document["notices"], *notices))

    def _blocks(self) -> list[Mapping[str, Any]]:
        return [*self.document["cells"], *self.document["claims"]]

    def _printed_cells(self, block: Mapping[str, Any]) -> Iterator[Printed]:
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
                cell, note=_setting_of_cell(block.get("note"), cell),
                slack=_setting_of_cell(block.get("slack"), cell) or 0.0, digits=block.get("digits", 6),
                missing=block.get("missing"), labels=self._labels(block, cell),
            )  # fmt: skip

    def _labels(self, block: Mapping[str, Any], cell: Printed) -> Mapping[str, str]:
        """Of the estimate that a cell points at."""
        labels, levels = dict(block.get("estimate", {})), self.document.get("levels", {})
        for text, names in ((cell.row, labels.pop("row", "")), (cell.column, labels.pop("column", ""))):
            parts = zip(names.split("/"), text.split("/"), strict=True) if names else ()
            labels |= {name: levels.get(level, level) for name, level in parts}
        return labels


def matching_estimates(estimates: pl.DataFrame, printed: Printed) -> pl.DataFrame | None:
    """Estimates that have a cell's labels; None where there are none of this measure, and score, for its model."""
    labels = dict(printed.labels)
    of_model = estimates.filter(pl.col("versus").is_null(), measure=labels.pop("measure"), model=labels.pop("model"))
    of_model = of_model.filter(pl.col("score") == labels["score"]) if labels.get("score") else of_model
    levels = (pl.col(name).eq_missing(pl.lit(level or None, pl.String)) for name, level in labels.items())
    return of_model.filter(*levels) if of_model.height else None


def compare_cell(estimates: pl.DataFrame, printed: Printed) -> list[Cell]:
    """Compare a cell with the estimate that it points at; no cell where its model's answers are not at hand."""
    rows = matching_estimates(estimates, printed)
    if rows is None:
        return []
    value = rows["value"][0] if rows.height else None
    return [printed.number(value, printed.missing if value is None else None)]


def _setting_of_cell(setting: Any, cell: Printed) -> Any:
    """A setting of a block for one of its cells: the same for all, by row or column, or by row and then column."""
    while isinstance(setting, dict):
        setting = setting.get(cell.row, setting.get(cell.column))
    return setting


def _compare_cell(printed: Printed, result: Value | Cell | list[Cell]) -> Sequence[Cell]:
    if isinstance(result, Cell):
        return (result,)
    if isinstance(result, list):
        return result
    if isinstance(result, str | tuple):
        return (printed.word(result),)
    return (printed.number(result),)
