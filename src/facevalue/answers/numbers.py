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
    said, _ = visible(text)
    if not named(said):
        reason = NA.REFUSED if REFUSAL.search(said) else NA.NEITHER if any(c.isalnum() for c in said) else NA.EMPTY
        return None, reason
    between = stated(said)
    if between is None:
        return None, NA.BOTH
    value = sum(between) / 2 * (-1 if negative(said) else 1)
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
    read = [_parsed(said, state, low, high) for said, state in distinct.iter_rows()]
    table = distinct.with_columns(
        pl.Series("value", [value for value, _ in read], pl.Float64),
        pl.Series("na", [None if why is None else why.value for _, why in read], NA_DTYPE),
    )
    found = keyed.join(table, on=["text", "status"], how="left", nulls_equal=True, maintain_order="left")
    return found.select("value", "na")


def _parsed(text: str | None, status: str | None, low: float, high: float) -> tuple[float | None, NA | None]:
    return (None, unread(status)) if text is None or status in UNREAD else parse(text, low, high)
