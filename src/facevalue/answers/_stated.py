"""What the parsers of ratings and of salaries share: reading what a reply states, each distinct reply once."""

import re
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from facevalue.answers._phrases import REFUSAL
from facevalue.answers._text import LIMIT, visible
from facevalue.answers.base import NA, NA_DTYPE, UNREAD, statuses, unread
from facevalue.errors import UnknownNameError
from facevalue.types import Status

NO_NUMBER, SEVERAL = "no number", "several numbers"
RANGE = "range"
_SHORT = 30
"""Characters of a first line that is a number and little else."""
_LETTERS = re.compile(r"[^\W\d]+")
_MARKS = str.maketrans(dict.fromkeys("*`_\\{}[]", " ") | {"\u2013": "-", "\u2014": "-", "~": "-"})
_HALF = re.compile(r"(?:(?<=\d) ?\u00bd| and a half\b)")
_ENUMERATED = re.compile(r"^\s{0,8}(\d{1,2})[.)]\s(?=\s*[^\s\d])", re.MULTILINE)
COUNTED = (
    r"\s?-?(?:%|percent|years?|yrs?|months?|weeks?|days?|hours?|minutes?|people|persons?|men|women|individuals?"
    r"|candidates?|employees?|times|reasons?|keywords?|words?|sentences?|st|nd|rd|th)\b"
)
"""What stands behind a number that counts something else."""


class Stated(NamedTuple):
    """What a reply states: a value, or why there is none."""

    value: float | None
    """None where nothing counts."""
    reason: str | None = None
    """Why nothing does; None if there is a value."""
    note: str | None = None
    """How the value was taken where it is not simply the number: "range", "hourly", "hourly range"."""
    na: NA | None = None
    """The reason as one of those that every study has."""


Read = Callable[[str], Stated]
"""From a text in plain form to what it states."""


def missing(reason: str) -> Stated:
    """No value, for a reason of numbers."""
    return Stated(None, reason, None, NA.BOTH if reason == SEVERAL else NA.NEITHER)


def stated(text: str, read: Read) -> Stated:
    """What a reply states. A first line with a number alone counts by itself, unless a later one has another."""
    said, _ = visible(_HALF.sub(".5", text[: 4 * LIMIT]) if len(text) <= 4 * LIMIT else text)
    said = _without_list(said.translate(_MARKS))
    if not any(c.isalnum() for c in said):
        return Stated(None, NA.EMPTY.value, None, NA.EMPTY)
    lines = [line.strip() for line in said.splitlines() if any(c.isalnum() for c in line)]
    if len(lines) > 1 and len(lines[0]) <= _SHORT:
        first = read(lines[0])
        others = (read(line).value for line in lines[1:] if _bare(line))
        if first.value is not None and all(other in (None, first.value) for other in others):
            return first
    found = read(" \n ".join(lines))
    if found.value is None and REFUSAL.search(said):
        return Stated(None, NA.REFUSED.value, None, NA.REFUSED)
    return found


def parse_column(frame: pl.DataFrame, text: str, read: Read) -> pl.DataFrame:
    """Columns `value`, `reason`, `note` and `na` of a column of replies; each distinct reply is read once."""
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)
    keyed = frame.select(text=pl.col(text).cast(pl.String), status=statuses(frame))
    distinct = keyed.unique()
    found = [_reply(said, status, read) for said, status in distinct.iter_rows()]
    table = distinct.with_columns(
        pl.Series("value", [one.value for one in found], pl.Float64),
        pl.Series("reason", [one.reason for one in found], pl.String),
        pl.Series("note", [one.note for one in found], pl.String),
        pl.Series("na", [None if one.na is None else one.na.value for one in found], NA_DTYPE),
    )
    joined = keyed.join(table, on=["text", "status"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select("value", "reason", "note", "na")


def _reply(text: str | None, status: str | None, read: Read) -> Stated:
    if text is None or status in UNREAD:
        na = unread(status)
        return Stated(None, na.value, None, na)
    found = stated(text, read)
    if found.value is None and found.reason == NO_NUMBER and status == Status.TRUNCATED:
        return Stated(None, NA.TRUNCATED.value, None, NA.TRUNCATED)
    return found


def _bare(line: str) -> bool:
    """Whether a later line is a number again, with two words at most ("Rating: 7")."""
    return len(line) <= _SHORT and len(_LETTERS.findall(line)) <= 2


def _without_list(text: str) -> str:
    """The text without the numbers of a numbered list, of which there are at least 1 and 2."""
    numbers = {int(found[1]) for found in _ENUMERATED.finditer(text)}
    return _ENUMERATED.sub("- ", text) if {1, 2} <= numbers else text
