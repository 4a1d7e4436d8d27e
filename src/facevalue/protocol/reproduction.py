"""Reproduction of published figures: cell by cell, with the reason for each difference.

Printed values are kept as strings, so that their digits say how exact they are. A scan may have damaged them: "?220"
is three digits whose decimal point is lost (2.20, 22.0 or 220). What is shown as published is what the scan shows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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


class PrintedNumber(NamedTuple):
    """A number as printed, and half a unit of its last digit."""

    value: float
    half: float
    note: str | None = None


def is_number(text: object) -> bool:
    """Whether a printed text is a number that the scan has left whole.

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
    """Where it is printed."""
    text: str | tuple[str, ...] | None
    """As printed, a tuple for a list of words; None where nothing is, or nothing legible in the scan."""
    note: str | None = None
    """Why the recomputed value differs, if that is known, or why there is none. Shown only then."""
    slack: float = 0.0
    """How much more than half a unit of the last printed digit is allowed, because what goes in is rounded, too."""
    digits: int = 6
    """Decimals of a recomputed value that are shown."""
    missing: str | None = None
    """Why there is none, where answers that are at hand give none."""
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
