"""What people said of a packet, as a document: the one that `review --collect` prints, and the viewer shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from facevalue.measures.intervals import describe_method, split_method
from facevalue.measures.uncertainty import Estimates
from facevalue.runs.ratings import FOLDER
from facevalue.runs.review import CollectedReview, offer_of
from facevalue.runs.stored import StoredRun

Row = Mapping[str, str | int | float | bool | None]
"""A row of a table whose columns depend on the study."""


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """How far raters agree. Null where that cannot be known; `method` says why."""

    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    """Ratings, or items that both of two raters rated."""
    items: int
    method: str


@dataclass(frozen=True)
class ReviewResult:
    """What people said of a packet."""

    task: str
    packet: str
    raters: Sequence[Row]
    """Each rater: answers, time in seconds, checks of attention failed, and whether the rater counts."""
    agreement: tuple[RatersAgreement, ...]
    accuracy: Sequence[Row]
    """Of replies: precision and recall of each label of the parser, or the judge, against what most people say."""
    items: Sequence[Row]
    """Each reply, or statement, with what people say of it."""
    questions: Sequence[Row]
    """Of pictures: each question with the share of answers that speak for a picture, how far raters agree, and what was
    printed."""
    groups: Sequence[Row]
    """Of pictures: the same share by each factor that says who is shown."""
    source: str
    """Where printed numbers are from; empty where there are none."""
    notes: tuple[str, ...]
    """Who and what is left out."""
    folder: str
    """Where the answers are kept."""
    replaced: int
    """Answers that the same raters gave before, in place of which these are."""


def review_result(run: StoredRun, outcome: CollectedReview) -> ReviewResult:
    """The document of what people said."""
    tables = _rows_of(run, outcome)
    return ReviewResult(
        task=outcome.key.task,
        packet=outcome.key.packet,
        raters=outcome.counts.raters.to_dicts(),
        agreement=tuple(_agreement_rows(outcome)),
        accuracy=tables.accuracy,
        items=tables.items,
        questions=tables.questions,
        groups=tables.groups,
        source=tables.source,
        notes=(
            *outcome.counts.notes,
            *(outcome.rated.said if outcome.rated is not None else ()),
            *(outcome.reader.notes if outcome.reader is not None else ()),
        ),
        folder=str(run.folder / FOLDER),
        replaced=outcome.replaced,
    )


class _Rows(NamedTuple):
    """Rows by what they are of; none where a task has none."""

    accuracy: Sequence[Mapping[str, Any]] = ()
    items: Sequence[Mapping[str, Any]] = ()
    questions: Sequence[Mapping[str, Any]] = ()
    groups: Sequence[Mapping[str, Any]] = ()
    source: str = ""


def table_of(outcome: CollectedReview) -> pl.DataFrame:
    """The table of a review that is written as a file: of pictures by group, of anything else by item."""
    if outcome.pictures is not None:
        return outcome.pictures.groups
    if outcome.rated is not None:
        return outcome.rated.pairs
    if outcome.reader is not None:
        return outcome.reader.replies
    return outcome.findings if outcome.findings is not None else outcome.counts.answers


def _rows_of(run: StoredRun, outcome: CollectedReview) -> _Rows:
    """Rows of a review."""
    if outcome.pictures is not None:
        rated = outcome.pictures
        questions, groups = rated.questions.to_dicts(), rated.groups.to_dicts()
        return _Rows(questions=questions, groups=groups, source=rated.source)
    offer = offer_of(run)
    if outcome.rated is not None and offer is not None:
        return _Rows(items=outcome.rated.pairs.select(offer.item_columns).to_dicts())
    if outcome.reader is not None:
        return _Rows(outcome.reader.accuracy.to_dicts(), outcome.reader.replies.to_dicts())
    return _Rows(items=() if outcome.findings is None else outcome.findings.to_dicts())


def _agreement_rows(outcome: CollectedReview) -> Iterator[RatersAgreement]:
    """How far raters agree, a row per coefficient."""
    for name, estimate in _agreement(outcome).items():
        value, low, high = (
            float(end[0]) if np.isfinite(end[0]) else None for end in (estimate.value, estimate.low, estimate.high)
        )
        items, method = int(estimate.clusters[0]), describe_method(*split_method(str(estimate.method[0])))
        yield RatersAgreement(name, value, low, high, int(estimate.n[0]), items, method)


def _agreement(outcome: CollectedReview) -> Mapping[str, Estimates]:
    if outcome.texts is not None:
        score, texts = outcome.key.of["texts"], outcome.texts
        return {
            f"Fleiss' kappa of {people(texts.raters)}": texts.people,
            f"Fleiss' kappa with {score}": texts.with_scorer,
        }
    return (
        {"Krippendorff's alpha (ordinal)": outcome.rated.agreement} if outcome.rated is not None else outcome.agreement
    )


def people(count: int) -> str:
    """So many people, in words."""
    return "1 person" if count == 1 else f"{count:,} people"
