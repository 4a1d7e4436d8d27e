"""Numbers, and ranges, in replies to questions for an amount: "about 45,000 dollars" is one, "18 and 65" is none."""

import math
import re

import polars as pl

from facevalue.answers._phrases import REFUSAL, Stated, visible_text
from facevalue.answers._phrases import parse_column as parse_column_of_numbers
from facevalue.answers.base import NA

_NUMBER = re.compile(
    r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d{1,3}(?!\w))?)(?:\s?(k|m|b|thousand|million|billion)\b)?"
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9}
_MINUS = re.compile(r"(?:(?:^|[\s:($])-[$€£¥₹]?|\b(?:minus|negative)\s+[$€£¥₹]?)$")
_BELOW = re.compile(r"\b(?:under|below|less than|fewer than|younger than|up to|at most|max(?:imum)?)\b|[<≤]")
_ABOVE = re.compile(
    r"\b(?:over|above|more than|older than|at least|min(?:imum)?|greater than|exceed\w*|or more|or older|and up|plus)\b"
    r"|[>≥]|\d\s?k?\+"
)
_BETWEEN = re.compile(r"\W*(?:-|~|to|and|–|—)\W*")


def has_number(text: str) -> bool:
    """Return whether a text has a number at all."""
    return _NUMBER.search(text) is not None


def negative(text: str) -> bool:
    """Return whether the first number of a text is below zero; a dash with a space behind it is a bullet.

    Examples
    --------
    >>> negative("-5"), negative("minus 5"), negative("- 5"), negative("18 -29"), negative("-0")
    (True, True, False, False, False)
    """
    number = _NUMBER.search(text)
    return number is not None and _value(number) > 0 and _MINUS.search(text[: number.start()]) is not None


def read_range(text: str) -> tuple[float, float] | None:
    """Least and greatest of the numbers that a text states, both the same for one number; None for several.

    Examples
    --------
    >>> read_range("$45 ~ 50k"), read_range("1e5 a year"), read_range("34, born 1990")
    ((45000.0, 50000.0), (100000.0, 100000.0), None)
    """
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) > 2 or (len(numbers) == 2 and not _BETWEEN.fullmatch(text[numbers[0].end() : numbers[1].start()])):
        return None
    low, high = _value(numbers[0]), _value(numbers[-1])
    if len(numbers) == 2 and numbers[1][2] and not numbers[0][2]:
        low *= _SCALE[numbers[1][2]]
    return low, high


def open_range(text: str, low: float, high: float) -> tuple[float, float]:
    """The numbers that a text with one number allows: all below or above it, where it says so.

    Examples
    --------
    >>> open_range("over 70", 70, 70), open_range("70", 70, 70)
    ((70, inf), (70, 70))
    """
    if low == high and _BELOW.search(text):
        return -math.inf, math.nextafter(high, -math.inf)
    if low == high and _ABOVE.search(text):
        return low, math.inf
    return low, high


def _value(number: re.Match[str]) -> float:
    return float(number[1].replace(",", "")) * _SCALE.get(number[2] or "", 1.0)


INFINITY = float("inf")


def parse(text: str, low: float = -INFINITY, high: float = INFINITY) -> tuple[float | None, NA | None]:
    """The number that a reply states, or why there is none; a range counts as its middle.

    Examples
    --------
    >>> parse("About $45k."), parse("30 to 40 years"), parse("-3", low=0)
    ((45000.0, None), (35.0, None), (None, <NA.NEITHER: 'neither'>))
    """
    statement, _ = visible_text(text)
    if not has_number(statement):
        reason = (
            NA.REFUSED if REFUSAL.search(statement) else NA.NEITHER if any(c.isalnum() for c in statement) else NA.EMPTY
        )
        return None, reason
    between = read_range(statement)
    if between is None:
        return None, NA.BOTH
    value = sum(between) / 2 * (-1 if negative(statement) else 1)
    return (value, None) if low <= value <= high else (None, NA.NEITHER)


def parse_column(frame: pl.DataFrame, text: str, low: float = -INFINITY, high: float = INFINITY) -> pl.DataFrame:
    """Parse a column of replies; each distinct reply is parsed once.

    Examples
    --------
    >>> parse_column(pl.DataFrame({"said": ["12", "I can't say."]}), "said").rows()
    [(12.0, None), (None, 'refused')]
    """

    def read(reply: str) -> Stated:
        value, reason = parse(reply, low, high)
        return Stated(value, na=reason)

    return parse_column_of_numbers(frame, text, read).select("value", "na")
