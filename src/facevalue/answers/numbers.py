"""Numbers in replies to questions for an amount: "about 45,000 dollars" is one, "18 and 65" is none."""

import polars as pl

from facevalue.answers._numbers import has_number, negative, read_range
from facevalue.answers._phrases import REFUSAL, visible_text
from facevalue.answers._statements import Stated
from facevalue.answers._statements import parse_column as parse_column_of_numbers
from facevalue.answers.base import NA

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
