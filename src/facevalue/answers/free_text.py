"""Free text: whether a reply is a text at all, or declines to give one.

A long text is a text, whatever it says besides ("I can't say who she is, but ..."). A short one that declines is a
refusal.
"""

import polars as pl

from facevalue.answers._phrases import REFUSAL
from facevalue.answers._text import visible
from facevalue.answers.base import NA, NA_DTYPE, statuses
from facevalue.errors import UnknownNameError
from facevalue.thinking import spoken
from facevalue.types import Status

SHORT = 40
"""Words up to which a reply that declines is a refusal."""


def parse_column(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Tell texts from replies that are none; `declined` is what a refusal says.

    Examples
    --------
    >>> replies = pl.DataFrame({"said": ["A tall person.", " ", "I'm sorry, I can't describe people."]})
    >>> read = parse_column(replies, "said")
    >>> read.select("text", "na").rows()
    [('A tall person.', None), (None, 'empty'), (None, 'refused')]
    >>> read["declined"].to_list()
    [None, None, "I'm sorry, I can't describe people."]
    """
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)
    replies = frame.select(text=spoken(pl.col(text).cast(pl.String)), status=statuses(frame))
    replies = replies.with_columns(
        pl.col("text").str.strip_chars(), words=pl.col("text").str.count_matches(r"\S+").fill_null(0)
    ).with_columns(short=(pl.col("words") <= SHORT) & pl.col("text").str.contains(r"[\p{L}\p{N}]"))
    short = replies.filter("short")["text"].unique()
    declined = [reply for reply in short if REFUSAL.search(visible(reply)[0])]
    reason = (
        pl.when(pl.col("status") == Status.REFUSED.value)
        .then(pl.lit(NA.REFUSED.value))
        .when((pl.col("status") == Status.ERROR.value) | pl.col("text").is_null())
        .then(pl.lit(NA.ERROR.value))
        .when(~pl.col("text").str.contains(r"[\p{L}\p{N}]"))
        .then(
            pl.when(pl.col("status") == Status.TRUNCATED.value)
            .then(pl.lit(NA.TRUNCATED.value))
            .otherwise(pl.lit(NA.EMPTY.value))
        )
        .when(pl.col("short") & pl.col("text").is_in(declined))
        .then(pl.lit(NA.REFUSED.value))
    )
    reasoned = replies.with_columns(na=reason.cast(NA_DTYPE))
    says = (pl.col("na") == NA.REFUSED.value) & pl.col("text").str.contains(r"[\p{L}\p{N}]")
    return reasoned.select(
        text=pl.when(pl.col("na").is_null()).then("text"), na="na", declined=pl.when(says).then("text")
    )
