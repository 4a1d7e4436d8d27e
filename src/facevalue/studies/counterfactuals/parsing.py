"""Parsing of replies: texts with their length, and the numbers that ratings and salaries state.

The columns of answers: `text` and `words` (its length) of open prompts, and `declined`, what a refusal says; `value`,
`reason` and `note` of ratings; and `weight`, `mass` and `na` as every study has them.
"""

import polars as pl

from facevalue.answers import NA_DTYPE, free_text, ratings, salaries
from facevalue.studies.counterfactuals.design import RATING
from facevalue.studies.counterfactuals.tables import SALARY

_WORD = r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*"


def answer(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the replies to a trial frame; `text` and `probs` make way for what is understood."""
    task, prompt = frame["task"].cast(pl.String), frame["prompt"].cast(pl.String)
    kinds = {
        "text": task != RATING,
        "rating": (task == RATING) & (prompt != SALARY),
        "salary": (task == RATING) & (prompt == SALARY),
    }
    rows = frame.with_row_index("_row")
    tables = []
    for kind, of_kind in kinds.items():
        replies = rows.filter(of_kind)
        if replies.height:
            tables.append(pl.concat([replies.drop("text", "probs"), _read(kind, replies)], how="horizontal"))
    return pl.concat(tables).sort("_row").drop("_row")


def _read(kind: str, replies: pl.DataFrame) -> pl.DataFrame:
    if kind == "text":
        parsed = free_text.parse_column(replies, "text")
        words = pl.col("text").str.count_matches(_WORD).cast(pl.Float64)
        nothing = [pl.lit(None, pl.Float64).alias("value"), pl.lit(None, pl.String).alias("note")]
        parsed = parsed.with_columns(
            *nothing, words=words, reason=pl.col("na").cast(pl.String), weight=pl.lit(None, pl.Float64)
        )
    else:
        parsed = (ratings if kind == "rating" else salaries).parse_column(replies, "text")
        scaled = (pl.col("value") - 1) / 9 if kind == "rating" else pl.lit(None, pl.Float64)
        none = pl.lit(None, pl.String)
        parsed = parsed.with_columns(text=none, declined=none, words=pl.lit(None, pl.Float64), weight=scaled)
    return parsed.select(
        "text", "declined", "words", "value", "reason", "note", "weight",
        mass=pl.col("na").is_null().cast(pl.Float64), na=pl.col("na").cast(NA_DTYPE),
    )  # fmt: skip
