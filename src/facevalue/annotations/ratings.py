"""Ratings by people, and which of them count by the rules of VisBias, section 3.4."""

import re
from dataclasses import dataclass

import polars as pl

MAX_BYTES = 10 * 2**20
"""Largest file of ratings."""
LEAST_SECONDS = 120.0
"""Time below which a response is left out: those "submitted in under two minutes" are excluded (section 3.4)."""

RATER = re.compile(r"[A-Za-z0-9._-]{1,60}")
"""Names of raters."""
SCHEMA = pl.Schema({"rater": pl.String(), "item": pl.String(), "rating": pl.Int64(), "duration": pl.Float64()})
"""Ratings: by whom, of what, the number of the answer, and seconds for the whole of what the rater answered."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Which ratings count, by the paper's rules (section 3.4)."""

    ratings: pl.DataFrame
    uniform: tuple[str, ...]  # raters that rated several items and all of them alike
    hasty: tuple[str, ...]  # raters with responses submitted in under two minutes, which are left out
    said: tuple[str, ...]  # what is left out, in words


def counted(ratings: pl.DataFrame) -> Counted:
    """Leave out the responses that the paper leaves out.

    Examples
    --------
    >>> rows = {"rater": ["a", "a", "b", "b"], "item": ["x", "y"] * 2, "rating": [3, 2, 3, 4]}
    >>> counted(pl.DataFrame({**rows, "duration": [99.0, 99.0, 400.0, 400.0]})).said
    ('Left out, as published: 2 ratings by a, submitted in under two minutes.',)
    """
    if "duration" not in ratings.columns:
        ratings = ratings.with_columns(duration=pl.lit(None, pl.Float64))
    uniform = uniform_raters(ratings)
    fast = pl.col("duration") < LEAST_SECONDS
    quick = ratings.filter(fast)
    hasty = tuple(quick["rater"].unique().sort())
    sentences = [f"Left out, as published: {', '.join(uniform)}, who rated all alike."] if uniform else []
    if hasty:
        quick_ratings = "1 rating" if quick.height == 1 else f"{quick.height:,} ratings"
        sentences.append(
            f"Left out, as published: {quick_ratings} by {', '.join(hasty)}, submitted in under two minutes."
        )
    counting = ratings.filter(~pl.col("rater").is_in(uniform) & ~fast.fill_null(value=False))
    return Counted(counting, uniform, hasty, tuple(sentences))


def uniform_raters(ratings: pl.DataFrame) -> tuple[str, ...]:
    """Return the raters that rated several items and all of them alike, whom the paper leaves out (section 3.4).

    Examples
    --------
    >>> rows = {"rater": ["a", "a", "b", "b"], "item": ["x", "y", "x", "y"], "rating": [3, 3, 3, 4]}
    >>> uniform_raters(pl.DataFrame(rows))
    ('a',)
    """
    raters = ratings.group_by("rater").agg(pl.len(), different=pl.col("rating").n_unique())
    return tuple(raters.filter((pl.col("len") > 1) & (pl.col("different") == 1))["rater"].sort())
