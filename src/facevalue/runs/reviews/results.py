"""Answers of people to a packet, as the document that `review --collect` prints and the viewer shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from facevalue.measures.intervals import describe_method, split_method
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.offers import Questionnaire, Rated
from facevalue.runs.reviews.outcomes import FINDING_KINDS, RATINGS_FOLDER, ReaderReview
from facevalue.runs.reviews.packets import CollectedReview, offer_of
from facevalue.runs.reviews.rated_pictures import RatedPictures
from facevalue.runs.stored_run import StoredRun

Row = Mapping[str, str | int | float | bool | None]
"""A row of a table whose columns depend on the study."""


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """Agreement of raters. Null where it cannot be known; `method` says why."""

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
    """Answers of people to a packet."""

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
            *(outcome.rated.notes if outcome.rated is not None else ()),
            *(outcome.reader.notes if outcome.reader is not None else ()),
        ),
        folder=str(run.folder / RATINGS_FOLDER),
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
    """Agreement of raters, a row per coefficient."""
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
    """Number of people, in words."""
    return "1 person" if count == 1 else f"{count:,} people"


# What people said of a packet, for people: lines, and tables of texts, of which terminal and viewer make their own.


_COUNTED = {"yes": "", "no": " (no)", "": " (ticked)"}
"""Which answers are counted, where these are others than yes."""
TRIAL = "trial"
"""Heading of numbers of trials."""
_WORDS = ("question", "factor", "level", "printed", "statement", "label", "measure", "item", "most", "coefficient",
          "read as", "by most people as")  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...]
    """Columns of words; all others are of numbers."""


def review_texts(run: StoredRun, outcome: CollectedReview, result: ReviewResult) -> Iterator[str | TextTable]:
    """Lines and tables for people on the answers to a packet."""
    answers = outcome.counts.answers
    yield f"{people(answers['rater'].n_unique())} gave {answers.height:,} answers."
    yield from result.notes
    offer = offer_of(run)
    if outcome.reader is not None:
        yield from _reader(outcome.reader)
    if outcome.rated is not None and offer is not None:
        yield from _statements(offer, outcome.rated)
    if outcome.findings is not None:
        yield _findings(outcome.findings)
    if outcome.pictures is not None:
        yield from _pictures(outcome.pictures)
    if result.agreement:
        rows = (
            (a.coefficient, _number(a.value), a.method if a.value is None else _interval(a.low, a.high), f"{a.items:,}")
            for a in result.agreement
        )
        yield _table("How far people agree", ("coefficient", "value", "interval", "items"), rows)
    if answers["rater"].n_unique() < 2:
        yield "How far people agree takes the answers of two people or more."


def _reader(review: ReaderReview) -> Iterator[str | TextTable]:
    """Precision and recall, and replies that were read otherwise than most people read them."""
    rows = (
        (row["label"], row["measure"], _percent(row["value"]), _interval(row["low"], row["high"], 100), f"{row['n']:,}")
        for row in review.accuracy.iter_rows(named=True)
    )
    yield _table("Against what most people say", ("label", "measure", "value", "interval", "n"), rows)
    if review.undecided_replies:
        which = (
            "1 reply, which is" if review.undecided_replies == 1 else f"{review.undecided_replies:,} replies, which are"
        )
        yield f"People give no label more often than others to {which} left out."
    wrong = review.replies.filter(pl.col("people").is_not_null() & (pl.col("people") != pl.col("read")))
    misread = (
        (row["item"], *("-" if row[name] is None else f"{row[name]}" for name in ("trial", "repeat")), row["read"],
         row["people"])
        for row in wrong.unique("item", keep="first", maintain_order=True).iter_rows(named=True)
    )  # fmt: skip
    if wrong.height:
        yield _table("Read otherwise", ("item", TRIAL, "repeat", "read as", "by most people as"), misread)


def _findings(findings: pl.DataFrame) -> TextTable:
    rows = (
        (row["statement"], *(f"{row[kind] or 0}" for kind in FINDING_KINDS), row["most"] or "-")
        for row in findings.iter_rows(named=True)
    )
    return _table("What the associations are", ("statement", *FINDING_KINDS, "most"), rows)


def _statements(offer: Questionnaire, rated: Rated) -> Iterator[str | TextTable]:
    """Statements with their ratings, and how many are flagged."""
    pairs = rated.pairs
    several = "task" in pairs.columns and pairs["task"].n_unique() > 1
    numbers = [heading for heading, _, _ in offer.numbers]
    rows = (
        (
            row["item"],
            row["statement"] + (f" ({row['task']})" if several else ""),
            *("-" if row[column] is None else f"{row[column]:{form}}" for _, column, form in offer.numbers),
            f"{row['mean']:.2f}",
            _interval(row["low"], row["high"]),
            f"{row['raters']}",
            {None: "too few raters", True: "yes", False: "no"}[row["flagged"]],
        )
        for row in pairs.iter_rows(named=True)
    )
    heads = ("item", "statement", *numbers, "mean", "interval", "raters", "flagged")
    yield _table("Statements and their ratings", heads, rows)
    verdicts = pairs.unique("item")["flagged"]
    few, judged = verdicts.null_count(), verdicts.drop_nulls()
    if judged.len():
        yield f"Flagged ({offer.flagged}): {judged.sum():,} of {judged.len():,}"
    if few:
        which = "1 statement has" if few == 1 else f"{few:,} statements have"
        judges = "is not judged" if few == 1 else "are not judged"
        yield f"{which} fewer than three ratings and {judges}."


def _pictures(rated: RatedPictures) -> Iterator[str | TextTable]:
    """Shares and agreement."""
    heads = ("question", "fine", "interval", "pictures", "kappa", "interval", "printed")
    rows = (
        (
            row["question"] + _COUNTED[row["fine"]], _percent(row["share"]), _interval(row["low"], row["high"], 100),
            f"{row['pictures']:,}", _number(row["kappa"]), _interval(row["kappa_low"], row["kappa_high"]),
            _printed_values(row),
        )
        for row in rated.questions.iter_rows(named=True)
    )  # fmt: skip
    yield "Fine is the share of answers that speak for a picture."
    yield _table("Pictures", heads, rows)
    if rated.source:
        yield f"Printed: {rated.source}."
    levels = rated.groups.filter(pl.col("level").is_not_null())
    groups = levels.filter(pl.col("low").is_not_null())
    if groups.height:
        has_agreement = groups["kappa"].count() + groups["printed_share"].count() > 0
        by_group = (
            (
                row["question"], row["factor"], row["level"], _percent(row["share"]),
                _interval(row["low"], row["high"], 100), f"{row['answers']:,}",
                *((_number(row["kappa"]), _printed_values(row)) if has_agreement else ()),
            )
            for row in groups.iter_rows(named=True)
        )  # fmt: skip
        more = ("kappa", "printed") if has_agreement else ()
        yield _table("By who is shown", ("question", "factor", "level", "fine", "interval", "answers", *more), by_group)
    if left_out := levels.height - groups.height:
        shares = "1 share is" if left_out == 1 else f"{left_out:,} shares are"
        where = "`facevalue review` has them with --json or --out FILE.csv"
        yield f"{shares} of one {rated.unit} alone, without an interval: {where}."


def _table(title: str, heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> TextTable:
    words = tuple(at for at, head in enumerate(heads) if head in _WORDS)
    return TextTable(title, tuple(heads), tuple(rows), words)


def _printed_values(row: Mapping[str, Any]) -> str:
    printed = [f"{row['printed_share']:.0%}"] if row["printed_share"] is not None else []
    printed += [f"kappa {row['printed_kappa']:.2f}"] if row["printed_kappa"] is not None else []
    return ", ".join(printed) or "-"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".replace("-", "−")


def _interval(low: float | None, high: float | None, scale: int = 1) -> str:
    if low is None or high is None:
        return "no interval" if scale == 1 else "-"
    form = ".1f" if scale > 1 else ".2f"
    return f"{scale * low:{form}}..{scale * high:{form}}".replace("-", "−")
