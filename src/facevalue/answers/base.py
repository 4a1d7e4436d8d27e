"""Parsed replies: a choice, or the reason why there is none."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import polars as pl

from facevalue.types import Status


class NA(StrEnum):
    """Reason why a reply is no valid answer. A reason is an outcome of its own, never a zero."""

    REFUSED = "refused"
    """The model declined, in words or by its own signal; also where it names an option all the same."""
    BOTH = "both"
    """More than one option is named."""
    NEITHER = "neither"
    """No option is named, or the only one named is denied."""
    HEDGED = "hedged"
    """An option may be named, but the reply does not commit to it."""
    EMPTY = "empty"
    """There is no letter and no digit in the reply."""
    CONTRADICTION = "contradiction"
    """The letter of one option stands with the text of another."""
    TRUNCATED = "truncated"
    """The reply hit the token limit before it named an option."""
    ERROR = "error"
    """There is no reply."""
    LOW_MASS = "low-mass"
    """Exact mode: too little probability is on the options to say how the model answers."""
    UNMEASURED = "unmeasured"
    """A place on a picture is named, and what the picture took of what was shown is not stored."""


NA_DTYPE = pl.Enum([reason.value for reason in NA])
"""The type of every `na` column."""


UNREAD = (Status.REFUSED, Status.ERROR)
"""Statuses of replies whose text says nothing."""


def unread(status: str | None) -> NA:
    """Reason why there is no answer in a reply that is not read."""
    return NA.REFUSED if status == Status.REFUSED else NA.ERROR


def statuses(frame: pl.DataFrame) -> pl.Expr:
    """The status of each reply as text; all are `ok` without such a column."""
    return pl.col("status").cast(pl.String) if "status" in frame.columns else pl.lit(Status.OK.value, pl.String)


def each_once(
    rows: pl.DataFrame, read: Callable[..., tuple[object, ...]], schema: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    """Columns of what is read of each row, such as a reply and its status; of rows that are alike once.

    Examples
    --------
    >>> replies = pl.DataFrame({"text": ["Yes.", "No.", "Yes."]})
    >>> each_once(replies, lambda text: (len(text),), {"length": pl.Int64()})["length"].to_list()
    [4, 3, 4]
    """
    distinct = rows.unique()
    values: list[tuple[Any, ...]] = [read(*row) for row in distinct.iter_rows()]
    table = distinct.hstack(pl.DataFrame(values, schema=schema, orient="row"))
    return rows.join(table, on=rows.columns, how="left", nulls_equal=True, maintain_order="left").select(schema.keys())


class Parsed(NamedTuple):
    """The choice that a reply makes, or the reason that it makes none."""

    choice: int | None  # index into the options as shown; None if there is no valid answer
    reason: NA | None  # why there is none; None if there is one
