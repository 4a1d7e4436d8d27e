"""`facevalue trend`: history of runs, what drifted and what changed at a date."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text

from facevalue.cli.output import Document, Output, rich_table
from facevalue.cli.params import place
from facevalue.cli.schema import Row
from facevalue.errors import SettingError
from facevalue.protocol.offers import OfferedTable as Shown
from facevalue.report.formatting import shown_settings
from facevalue.report.trend_page import HEADS, cell_rows, trend_sentence
from facevalue.runs.audit_folder import describe_unasked
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.trend import StudyTrend, Trend, audits_below, runs_below
from facevalue.runs.trend import trend as trend_of

_LISTED = 20


@dataclass(frozen=True, slots=True)
class DatedRun:
    """A run of a history."""

    run: str
    date: str
    """When it began, in ISO 8601."""
    model: str
    place: str
    """Folder or URL."""


@dataclass(frozen=True, slots=True)
class StudyHistory:
    """History of one study."""

    study: str
    runs: Sequence[DatedRun]
    """Oldest first."""
    settings: Mapping[str, Sequence[str]]
    """Settings in which they differ, each with its value in every run."""
    units: str
    """On which units the runs are compared."""
    measures: Mapping[str, str]
    """What is followed, and the unit of each."""
    changed: int
    """Number of cells that drifted or changed at a date."""
    cells: Sequence[Row]
    """Labels of each cell, `first`, `last`, `became`, `since`, `change` with its intervals, p; docs/how-to/trend.md."""
    values: Sequence[Row]
    """Estimates of each cell at each date (`at`, the number of the run)."""


@dataclass(frozen=True)
class TrendDocument(Document):
    """History of runs of one or several studies, judged at one level."""

    FORMAT: ClassVar[str] = "trend"
    changed: int
    """Number of cells of all studies that drifted or changed at a date."""
    studies: Sequence[StudyHistory]
    left_out: tuple[str, ...]
    """Runs and studies without a history, and why, and studies of audits that wait to be asked, a sentence each."""


def trend(places: tuple[str, ...], out: Path | None) -> Output[TrendDocument]:
    """Say what drifted over the dates of runs, and what changed at one of them."""
    if out is not None and out.suffix != ".html":
        raise SettingError(f"{out.name} is not an .html file.")
    runs = [StoredRun.open(place(run)) for text in places for run in runs_below(place(text))]
    history = trend_of(runs, describe_unasked(audit for text in places for audit in audits_below(place(text))))
    if out is not None:
        from facevalue.report.trend_page import write_trend  # noqa: PLC0415 - templates take their time

        write_trend(out, history)
    return Output(lambda: _document(history), _text(history, out))


def _document(history: Trend) -> TrendDocument:
    return TrendDocument(history.changed, list(map(_study, history.studies)), history.left_out)


def _study(study_trend: StudyTrend) -> StudyHistory:
    return StudyHistory(
        study_trend.study.name,
        [
            DatedRun(name, date.isoformat(), run.model, run.place)
            for name, date, run in zip(study_trend.names, study_trend.dates, study_trend.runs, strict=True)
        ],
        shown_settings(study_trend.settings),
        study_trend.units,
        {measure.key: measure.unit for measure in study_trend.measures},
        study_trend.changed.height,
        study_trend.cells.to_dicts(),
        study_trend.values.to_dicts(),
    )


def _text(history: Trend, out: Path | None) -> Iterator[RenderableType]:
    for left_out in history.left_out:
        yield Text(left_out)
    for study_trend in history.studies:
        yield Text(f"{study_trend.study.name}: {trend_sentence(study_trend)}", style="bold")
        yield Text(study_trend.units)
        dated = zip(study_trend.names, study_trend.dates, study_trend.runs, strict=True)
        runs = [(name, f"{date:%Y-%m-%d %H:%M}", run.model) for name, date, run in dated]
        yield rich_table(Shown("Runs", ("run", "date", "model"), runs, boxed=False))
        if study_trend.settings:
            settings = [(name, *values) for name, values in shown_settings(study_trend.settings).items()]
            yield rich_table(Shown("Settings that differ", ("setting", *study_trend.names), settings, boxed=False))
        title = f"The {min(_LISTED, study_trend.cells.height)} clearest of {study_trend.cells.height:,} cells"
        yield rich_table(Shown(title, HEADS, list(cell_rows(study_trend, _LISTED)), boxed=False))
    if out is not None:
        yield f"Page: {out}"
