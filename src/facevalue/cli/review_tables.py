"""What people said of a packet, as rows for machines and as tables for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.measures.cluster_bootstrap import Estimates
from facevalue.protocol.offers import Questionnaire, Rated
from facevalue.runs.rated_pictures import RatedPictures
from facevalue.runs.review import CollectedReview, offer_of
from facevalue.runs.review_outcomes import ReaderReview
from facevalue.runs.reviewed_findings import FINDING_KINDS
from facevalue.runs.stored import StoredRun

_COUNTED = {"yes": "", "no": " (no)", "": " (ticked)"}
"""Which answers are counted, where these are others than yes."""
_LEFT = ("question", "factor", "level", "printed", "statement", "label", "measure", "item", "most")
"""Headings of columns of texts."""
_EXAMPLES = 10


class ReviewRows(NamedTuple):
    """Rows for machines, by what they are of; none where a task has none."""

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


def rows_of(run: StoredRun, outcome: CollectedReview) -> ReviewRows:
    """Rows of a review."""
    if outcome.pictures is not None:
        rated = outcome.pictures
        questions, groups = rated.questions.to_dicts(), rated.groups.to_dicts()
        return ReviewRows(questions=questions, groups=groups, source=rated.source)
    offer = offer_of(run)
    if outcome.rated is not None and offer is not None:
        return ReviewRows(items=outcome.rated.pairs.select(offer.told).to_dicts())
    if outcome.reader is not None:
        return ReviewRows(outcome.reader.accuracy.to_dicts(), outcome.reader.replies.to_dicts())
    return ReviewRows(items=() if outcome.findings is None else outcome.findings.to_dicts())


def agreement_rows(outcome: CollectedReview) -> Iterator[dict[str, Any]]:
    """How far raters agree, a row per coefficient."""
    for name, estimate in _agreement(outcome).items():
        value, low, high = (
            float(end[0]) if np.isfinite(end[0]) else None for end in (estimate.value, estimate.low, estimate.high)
        )
        yield {
            "coefficient": name, "value": value, "low": low, "high": high, "n": int(estimate.n[0]),
            "items": int(estimate.clusters[0]), "method": str(estimate.method[0]),
        }  # fmt: skip


def _agreement(outcome: CollectedReview) -> Mapping[str, Estimates]:
    if outcome.texts is not None:
        score, texts = outcome.key.of["texts"], outcome.texts
        return {
            f"Fleiss' kappa of {_people(texts.raters)}": texts.people,
            f"Fleiss' kappa with {score}": texts.with_scorer,
        }
    return (
        {"Krippendorff's alpha (ordinal)": outcome.rated.agreement} if outcome.rated is not None else outcome.agreement
    )


def text(run: StoredRun, outcome: CollectedReview, notes: Sequence[str]) -> Iterator[RenderableType]:
    """What people said, for people."""
    answers = outcome.counts.answers
    yield Text(f"{_people(answers['rater'].n_unique())} gave {answers.height:,} answers.")
    yield from map(Text, notes)
    offer = offer_of(run)
    if outcome.reader is not None:
        yield from _reader(outcome.reader)
    if outcome.rated is not None and offer is not None:
        yield from _statements(offer, outcome.rated)
    if outcome.findings is not None:
        yield from _findings(outcome.findings)
    if outcome.pictures is not None:
        yield from _pictures(outcome.pictures)
    for row in agreement_rows(outcome):
        figures = (
            f"{_number(row['value'])}, {_interval(row['low'], row['high'])}"
            if row["value"] is not None
            else row["method"]
        )
        yield Text(f"{row['coefficient']}: {figures} ({row['items']:,} items)")
    if answers["rater"].n_unique() < 2:
        yield Text("How far people agree takes another's file.")


def _reader(review: ReaderReview) -> Iterator[RenderableType]:
    """Precision and recall, and replies that were read otherwise than most people read them."""
    table = _table("label", "measure", "value", "interval", "n")
    for row in review.accuracy.iter_rows(named=True):
        table.add_row(
            escape(row["label"]),
            row["measure"],
            _percent(row["value"]),
            _interval(row["low"], row["high"], 100),
            f"{row['n']:,}",
        )
    yield table
    if review.undecided:
        yield Text(f"Of {review.undecided:,} replies people give no label more often than others; they are left out.")
    wrong = review.replies.filter(pl.col("people").is_not_null() & (pl.col("people") != pl.col("read")))
    for row in wrong.unique("item", keep="first", maintain_order=True).head(_EXAMPLES).iter_rows(named=True):
        place = "" if row["trial"] is None else f" (trial {row['trial']}, repeat {row['repeat']})"
        yield Text(f"{row['item']}{place}: read as “{row['read']}”, by most people as “{row['people']}”")


def _findings(findings: pl.DataFrame) -> Iterator[RenderableType]:
    table = _table("statement", *FINDING_KINDS, "most")
    for row in findings.iter_rows(named=True):
        table.add_row(escape(row["statement"]), *(f"{row[kind] or 0}" for kind in FINDING_KINDS), row["most"] or "-")
    yield table


def _statements(offer: Questionnaire, rated: Rated) -> Iterator[RenderableType]:
    """Statements with their ratings, and how many are flagged."""
    pairs = rated.pairs
    several = "task" in pairs.columns and pairs["task"].n_unique() > 1
    numbers = [heading for heading, _, _ in offer.numbers]
    table = _table("item", "statement", *numbers, "mean", "interval", "raters", "flagged")
    for row in pairs.iter_rows(named=True):
        table.add_row(
            row["item"],
            escape(row["statement"] + (f" ({row['task']})" if several else "")),
            *("-" if row[column] is None else f"{row[column]:{form}}" for _, column, form in offer.numbers),
            f"{row['mean']:.2f}",
            _interval(row["low"], row["high"]),
            f"{row['raters']}",
            {None: "too few raters", True: "yes", False: "no"}[row["flagged"]],
        )
    yield table
    verdicts = pairs.unique("item")["flagged"]
    few, judged = verdicts.null_count(), verdicts.drop_nulls()
    if judged.len():
        yield Text(f"Flagged ({offer.flagged}): {judged.sum():,} of {judged.len():,}")
    if few:
        which = "1 statement has" if few == 1 else f"{few:,} statements have"
        judges = "is not judged" if few == 1 else "are not judged"
        yield Text(f"{which} fewer than three ratings and {judges}.")


def _pictures(rated: RatedPictures) -> Iterator[RenderableType]:
    """Shares and agreement."""
    table = _table("question", "fine", "interval", "pictures", "kappa", "interval", "printed")
    for row in rated.questions.iter_rows(named=True):
        table.add_row(
            row["question"] + _COUNTED[row["fine"]], _percent(row["share"]), _interval(row["low"], row["high"], 100),
            f"{row['pictures']:,}", _number(row["kappa"]), _interval(row["kappa_low"], row["kappa_high"]),
            _printed(row),
        )  # fmt: skip
    yield table
    if rated.source:
        yield Text(f"Printed: {rated.source}.")
    levels = rated.groups.filter(pl.col("level").is_not_null())
    groups = levels.filter(pl.col("low").is_not_null())
    if groups.height:
        has_agreement = groups["kappa"].count() + groups["printed_share"].count() > 0
        headings = ("kappa", "printed") if has_agreement else ()
        by_group = _table("question", "factor", "level", "fine", "interval", "answers", *headings)
        for row in groups.iter_rows(named=True):
            by_group.add_row(
                row["question"], escape(row["factor"]), escape(row["level"]), _percent(row["share"]),
                _interval(row["low"], row["high"], 100), f"{row['answers']:,}",
                *((_number(row["kappa"]), _printed(row)) if has_agreement else ()),
            )  # fmt: skip
        yield by_group
    if left_out := levels.height - groups.height:
        shares = "1 share is" if left_out == 1 else f"{left_out:,} shares are"
        yield Text(f"{shares} of one {rated.unit} alone, without an interval: --json and --out FILE.csv have them.")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in _LEFT else "right", no_wrap=heading not in _LEFT)
    return table


def _printed(row: Mapping[str, Any]) -> str:
    printed = [f"{row['printed_share']:.0%}"] if row["printed_share"] is not None else []
    printed += [f"kappa {row['printed_kappa']:.2f}"] if row["printed_kappa"] is not None else []
    return ", ".join(printed) or "-"


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".replace("-", "−")


def _interval(low: float | None, high: float | None, scale: int = 1) -> str:
    if low is None or high is None:
        return "no interval" if scale == 1 else "-"
    form = ".1f" if scale > 1 else ".2f"
    return f"{scale * low:{form}}..{scale * high:{form}}".replace("-", "−")
