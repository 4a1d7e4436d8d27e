"""Reading of what a reply states, each distinct reply once, for the parsers of numbers, ratings and salaries."""

import re
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from facevalue.answers._phrases import LIMIT, REFUSAL, visible_text
from facevalue.answers.base import NA, NA_DTYPE, UNREAD, each_once, statuses, unread
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
"""Words behind a number that counts something else."""


class Stated(NamedTuple):
    """Value that a reply states, or the reason why there is none."""

    value: float | None
    """None where nothing counts."""
    reason: str | None = None
    """Reason why nothing counts; None if there is a value."""
    note: str | None = None
    """Way in which the value was taken where it is not simply the number: "range", "hourly", "hourly range"."""
    na: NA | None = None
    """The reason as one of those that every study has."""


Read = Callable[[str], Stated]
"""From a text to what it states."""


def missing(reason: str) -> Stated:
    """No value, for a reason of numbers."""
    return Stated(None, reason, None, NA.BOTH if reason == SEVERAL else NA.NEITHER)


def read_reply(text: str, reader: Read) -> Stated:
    """Read what a reply states. A first line with a number alone counts by itself, unless a later one has another."""
    reply, _ = visible_text(_HALF.sub(".5", text[: 4 * LIMIT]) if len(text) <= 4 * LIMIT else text)
    reply = _without_list(reply.translate(_MARKS))
    if not any(c.isalnum() for c in reply):
        return Stated(None, NA.EMPTY.value, None, NA.EMPTY)
    lines = [line.strip() for line in reply.splitlines() if any(c.isalnum() for c in line)]
    if len(lines) > 1 and len(lines[0]) <= _SHORT:
        first = reader(lines[0])
        others = (reader(line).value for line in lines[1:] if _bare(line))
        if first.value is not None and all(value in (None, first.value) for value in others):
            return first
    statement = reader(" \n ".join(lines))
    if statement.value is None and REFUSAL.search(reply):
        return Stated(None, NA.REFUSED.value, None, NA.REFUSED)
    return statement


def parse_column(frame: pl.DataFrame, text: str, parse: Read) -> pl.DataFrame:
    """Columns `value`, `reason`, `note` and `na` of a column of replies; each distinct reply is parsed once."""
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)

    def read(reply: str | None, status: str | None) -> tuple[object, ...]:
        statement = _reply(reply, status, parse)
        return *statement[:3], None if statement.na is None else statement.na.value

    keyed = frame.select(text=pl.col(text).cast(pl.String), status=statuses(frame))
    schema = {"value": pl.Float64(), "reason": pl.String(), "note": pl.String(), "na": NA_DTYPE}
    return each_once(keyed, read, schema)


def _reply(text: str | None, status: str | None, parse: Read) -> Stated:
    if text is None or status in UNREAD:
        na = unread(status)
        return Stated(None, na.value, None, na)
    statement = parse(text)
    if statement.value is None and statement.reason == NO_NUMBER and status == Status.TRUNCATED:
        return Stated(None, NA.TRUNCATED.value, None, NA.TRUNCATED)
    return statement


def _bare(line: str) -> bool:
    """Return whether a later line is a number again, with two words at most ("Rating: 7")."""
    return len(line) <= _SHORT and len(_LETTERS.findall(line)) <= 2


def _without_list(text: str) -> str:
    """The text without the numbers of a numbered list, of which there are at least 1 and 2."""
    numbers = {int(match[1]) for match in _ENUMERATED.finditer(text)}
    return _ENUMERATED.sub("- ", text) if {1, 2} <= numbers else text
