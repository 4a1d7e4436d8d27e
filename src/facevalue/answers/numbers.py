"""Numbers in replies to questions for an amount: "about 45,000 dollars" is one, "18 and 65" is none."""

import polars as pl

from facevalue.answers._numbers import named, negative, stated
from facevalue.answers._phrases import REFUSAL
from facevalue.answers._text import visible
from facevalue.answers.base import NA, NA_DTYPE, UNREAD, statuses, unread

INFINITY = float("inf")


def parse(text: str, low: float = -INFINITY, high: float = INFINITY) -> tuple[float | None, NA | None]:
    """The number that a reply states, or why there is none; a range counts as its middle.

    Examples
    --------
    >>> parse("About $45k."), parse("30 to 40 years"), parse("-3", low=0)
    ((45000.0, None), (35.0, None), (None, <NA.NEITHER: 'neither'>))
    """
    statement, _ = visible(text)
    if not named(statement):
        reason = (
            NA.REFUSED if REFUSAL.search(statement) else NA.NEITHER if any(c.isalnum() for c in statement) else NA.EMPTY
        )
        return None, reason
    between = stated(statement)
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
    keyed = frame.select(text=pl.col(text).cast(pl.String), status=statuses(frame))
    distinct = keyed.unique()
    numbers = [_parsed(reply, state, low, high) for reply, state in distinct.iter_rows()]
    table = distinct.with_columns(
        pl.Series("value", [value for value, _ in numbers], pl.Float64),
        pl.Series("na", [None if reason is None else reason.value for _, reason in numbers], NA_DTYPE),
    )
    parsed = keyed.join(table, on=["text", "status"], how="left", nulls_equal=True, maintain_order="left")
    return parsed.select("value", "na")


def _parsed(text: str | None, status: str | None, low: float, high: float) -> tuple[float | None, NA | None]:
    return (None, unread(status)) if text is None or status in UNREAD else parse(text, low, high)
