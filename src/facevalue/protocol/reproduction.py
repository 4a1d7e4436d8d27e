"""Reproduction of published figures: cell by cell, with the reason for each difference.

Printed values are kept as strings, so that their digits say how exact they are. A scan may have damaged them: "?220"
is three digits whose decimal point is lost (2.20, 22.0 or 220). What is shown as published is what the scan shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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
    """Where in it."""
    published: Value
    recomputed: Value
    """None where nothing is printed, or nothing can be recomputed."""
    same: bool | None
    """Whether they agree to the printed digits; None where they cannot be compared."""
    note: str | None = None
    """Why they differ or cannot be compared, if it is known; else how the cell was read."""

    @property
    def unexplained(self) -> bool:
        """Whether it differs, and nobody knows why: how a damaged number was read is no reason."""
        return self.same is False and (self.note is None or self.note.startswith(_READ))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All cells of a paper."""

    cells: tuple[Cell, ...]
    """In the order of the tables."""
    titles: Mapping[str, str]
    """What each table is about, by its number."""
    notices: tuple[str, ...] = ()
    """What was left out, and why."""

    @property
    def explained(self) -> bool:
        """Whether every cell that differs has a known reason."""
        return not any(cell.unexplained for cell in self.cells)

    def json(self) -> dict[str, list[dict[str, Any]]]:
        """Everything as plain data: `{"cells": [{"table", "row", "column", "published", "recomputed", ...}]}`."""
        return {"cells": [asdict(cell) for cell in self.cells]}


class Reading(NamedTuple):
    """A number as printed, and half a unit of its last digit."""

    value: float
    half: float
    note: str | None = None


def readings(printed: str) -> tuple[Reading, ...]:
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
        return (Reading(float(value), _half(value)),)
    return tuple(Reading(float(form), _half(form), note.format(value=form)) for form in forms)


def _half(form: str) -> float:
    return 0.5 * 10.0 ** -len(form.partition(".")[2])


def number(
    table: str,
    row: str,
    column: str,
    printed: str | None,
    recomputed: float | None,
    *,
    note: str | None = None,
    slack: float = 0.0,
    digits: int = 6,
) -> Cell:
    """Compare a number with the printed one.

    `table`, `row`, `column`: where it is printed. `printed`: as printed; None where the scan has nothing legible.
    `recomputed`: None if it cannot be. `note`: why they differ, if that is known, or why it cannot be recomputed. Kept
    only then. `slack`: how much more than half a unit of the last printed digit is allowed, because what goes in is
    rounded, too. `digits`: decimals of the recomputed value that are shown.

    Examples
    --------
    >>> number("8", "gpt-4o", "female", "11.68", 11.68361).same
    True
    >>> number("5", "Female", "x/income", "?220", 2.203).published
    '220'
    """
    reading_of = readings(printed)[0] if printed is not None and len(readings(printed)) == 1 else None
    published = _plain(reading_of.value) if reading_of else printed and printed.removeprefix("?")
    if printed is None or recomputed is None:
        digits_shown = None if recomputed is None else _plain(round(recomputed, digits))
        return Cell(
            table,
            row,
            column,
            published,
            digits_shown,
            None,
            note or ("illegible in the scan" if not reading_of else None),
        )
    reading = min(readings(printed), key=lambda r: abs(r.value - recomputed) / max(r.value, r.half))
    same = bool(abs(reading.value - recomputed) <= reading.half + slack + _EXACT)
    note_text = reading.note if same else "; ".join(filter(None, (note, reading.note))) or None
    return Cell(table, row, column, published, _plain(round(recomputed, digits)), same, note_text)


def word(table: str, row: str, column: str, printed: str, recomputed: str | None, note: str | None = None) -> Cell:
    """Compare words: a category, or what is said of a model. `note` is kept unless they are the same."""
    same = None if recomputed is None else printed == recomputed
    return Cell(table, row, column, printed, recomputed, same, None if same else note)


def words(table: str, row: str, column: str, printed: Sequence[str], ranked: Sequence[str], scan: str | None) -> Cell:
    """Compare a printed list of words with the first so many of a ranking.

    `table`, `row`, `column`: where it is printed. `printed`: the list. `ranked`: the recomputed ranking, longer than
    what is printed. `scan`: what in the scan leaves the list in doubt, if anything.
    """
    first = tuple(ranked[: len(printed)])
    if first == tuple(printed):
        return Cell(table, row, column, tuple(printed), first, True, scan)
    dropped = [name for name in ranked[: _last(printed, ranked)] if name not in printed]
    note = scan
    if [name for name in ranked if name in printed] == list(printed):
        note = f"the paper leaves out {', '.join(dropped)}; its words come in this order"
    elif set(printed) <= set(ranked):
        order = "the same words in another order" if set(first) == set(printed) else "its words are among the first"
        note = f"{order} {len(ranked)} of the ranking" if set(first) != set(printed) else order
        note += f"; {scan}" if scan else ""
    return Cell(table, row, column, tuple(printed), first, False, note)


def _last(printed: Sequence[str], ranked: Sequence[str]) -> int:
    """How far down the ranking the printed words reach."""
    return max((place + 1 for place, name in enumerate(ranked) if name in printed), default=0)


def _plain(value: float) -> float | int:
    """Whole numbers as such."""
    return int(value) if float(value).is_integer() and abs(value) >= 100 else float(value)
