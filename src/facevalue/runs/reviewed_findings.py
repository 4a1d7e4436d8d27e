"""Findings that people judged: stereotypes, sound inferences, or neither."""

from pathlib import Path

import polars as pl

from facevalue.runs.ratings import FINDINGS, read_kept
from facevalue.runs.review_keys import ReviewKey
from facevalue.runs.reviewed_replies import packets_of

FINDING_KINDS = ("A stereotype", "A sound inference", "Neither")
"""What an association may be, by the words of the people who judge it."""
OF_PAGE = {"statements": "of the page"}
"""What keys of packets say that are about findings of the page, not about a study's own statements."""


def judged_findings(key: ReviewKey, answers: pl.DataFrame) -> pl.DataFrame:
    """Statements of a packet: `item`, `statement`, `raters`, how many said each kind, and what `most` of them said.

    `answers`: those that count. `most` is null where no kind was said more often than the others.
    """
    statements = key.items.drop_nulls("read").select("item", statement="read")
    counts = [(pl.col("rating") == number).sum().alias(kind) for number, kind in enumerate(FINDING_KINDS, start=1)]
    per_item = answers.group_by("item").agg(pl.len().alias("raters"), *counts)
    largest = pl.max_horizontal(FINDING_KINDS)
    alone = pl.sum_horizontal(pl.col(kind) == largest for kind in FINDING_KINDS) == 1
    kind = pl.coalesce(pl.when(pl.col(kind) == largest).then(pl.lit(kind)) for kind in FINDING_KINDS)
    judged = per_item.with_columns(pl.when(alone).then(kind).alias("most"))
    return statements.join(judged, on="item", how="left", maintain_order="left")


def reviewed_findings(folder: Path) -> pl.DataFrame | None:
    """What people said of findings of a run, by the packet with most answers; None where nobody judged any."""
    ratings = read_kept(folder, FINDINGS)
    if ratings is None:
        return None
    reviews = [(key, answers) for key, answers in packets_of(folder, ratings) if key.of == OF_PAGE]
    if not reviews:
        return None
    return judged_findings(*max(reviews, key=lambda review: review[1].height)).drop_nulls("raters")
