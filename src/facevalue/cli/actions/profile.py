"""`facevalue profile` and `trend`: what several studies say side by side, and the history of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.cli.actions.results import open_all, unasked_of
from facevalue.cli.actions.schema import Row
from facevalue.cli.output import Document, Output, rich_table
from facevalue.cli.params import place
from facevalue.errors import SettingError
from facevalue.protocol.lookup import Condition
from facevalue.protocol.offers import OfferedTable as Shown
from facevalue.report.comparison_page import HEADS, cell_rows, trend_sentence, write_trend
from facevalue.report.formatting import shown_settings
from facevalue.report.profile import Profile, profile_of
from facevalue.report.profile.cells import CHANGED, OPPOSITE, SIGNS, Square, columns_of
from facevalue.report.profile.page import (
    ComparisonRow,
    ContrastRow,
    comparison_rows,
    contrast_rows,
    level_sentence,
    profile_answer,
    write,
)
from facevalue.runs.audits.folder import describe_unasked
from facevalue.runs.comparisons.trend import StudyTrend, Trend, audits_below, runs_below
from facevalue.runs.comparisons.trend import trend as trend_of
from facevalue.runs.stored_run import StoredRun

_ROWS = 40
"""Groups that a table in the terminal shows."""


@dataclass(frozen=True, slots=True)
class StudyOfProfile:
    """A study of a profile."""

    name: str
    title: str
    models: tuple[str, ...]
    families: int
    """Families of tests that its pages lead with, judged together with those of all other studies."""
    unmeasured: tuple[str, ...]
    """Models without a valid answer."""
    unanswered: Mapping[str, str]
    """Models that were not asked all of it, or of whose replies half cannot be read, each with the reason."""


@dataclass(frozen=True)
class ProfileDocument(Document):
    """Results of several studies about the same groups, judged at one level."""

    FORMAT: ClassVar[str] = "profile"
    studies: tuple[StudyOfProfile, ...]
    alpha: float
    """Chance that a profile of models without any bias holds a finding, at most."""
    answer: tuple[str, ...]
    """The profile in a few sentences."""
    comparisons: tuple[ComparisonRow, ...]
    """Every comparison that the pages lead with; docs/how-to/profile.md."""
    side_by_side: tuple[ContrastRow, ...]
    """Kinds of question, models and interventions side by side, never averaged."""
    page: str
    """The HTML file that was written; empty for none."""


def profile(runs: tuple[str, ...], out: Path | None) -> Output[ProfileDocument]:
    """Set what runs of several studies say side by side."""
    if out is not None and out.suffix.lower() != ".html":
        raise SettingError(f"{out.name} is not a .html file.")
    built = profile_of(open_all(runs), unasked_of(runs))
    if out is not None:
        write(out, built)
    return Output(lambda: document(built, out), _profile_text(built, out))


def document(built: Profile, out: Path | None) -> ProfileDocument:
    """A profile for machines; `out`: the page that was written, if any."""
    return ProfileDocument(
        tuple(
            StudyOfProfile(s.name, s.title, s.models, s.families, s.unmeasured, dict(s.unanswered))
            for s in built.studies
        ),
        built.alpha,
        tuple(profile_answer(built)),
        tuple(comparison_rows(built)),
        tuple(contrast_rows(built)),
        "" if out is None else str(out),
    )


def _profile_text(built: Profile, out: Path | None) -> Iterator[RenderableType]:
    """A profile for people."""
    first, *rest = profile_answer(built)
    yield Text(first, style="bold")
    yield from map(Text, rest)
    for condition in built.conditions:
        yield from _tables(built, condition)
    for contrast in (*(c for condition in built.models for c in built.questions(condition)), *built.pairs):
        yield Text(f"{contrast.title}: {contrast.summary}")
        for row in contrast.rows:
            if row.kind == OPPOSITE or CHANGED in row.change:
                yield Text(f"  {row.group}: {'; '.join(filter(None, (row.change, row.reading)))}")
    yield Text("  ".join(f"{sign} {meaning.partition(';')[0]}" for sign, meaning in SIGNS.values()), style="dim")
    yield Text("(…): found on its study's page alone. Empty: the group is not shown.", style="dim")
    yield Text(level_sentence(built), style="dim")
    if out is not None:
        yield f"Profile: {out}"


def _tables(built: Profile, condition: Condition) -> Iterator[RenderableType]:
    """Groups of which something is found, a table for each study: a terminal has no room for all side by side."""
    rows = built.rows(condition)
    columns = columns_of(rows)
    measured = {cell.study for cell in built.cells if cell.condition == condition and cell.estimate.value is not None}
    for study in dict.fromkeys(column.study for column in columns):
        of_study = [column for column in columns if column.study == study]
        members = [row for row in rows if any(column in row.squares for column in of_study)]
        telling = [row for row in members if any(row.squares[c].found_cells for c in of_study if c in row.squares)]
        if not telling:
            verb = "found" if study in measured else "measured"
            yield Text(f"{condition.name}, {study}: nothing {verb} of {len(members):,} groups.")
            continue
        further = len(members) - len(telling[:_ROWS])
        title = f"{condition.name}, {study}" + (f" ({further:,} more groups)" if further else "")
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("group")
        for column in of_study:
            table.add_column(escape(column.title), overflow="fold")
        for row in telling[:_ROWS]:
            table.add_row(escape(row.name), *(_square(row.squares.get(column)) for column in of_study))
        yield table


def _square(square: Square | None) -> str:
    if square is None:
        return ""
    count = f"({square.count})" if square.found_cells and square.count else ""
    text = " ".join(filter(None, [SIGNS[square.mark][0], square.label, count, square.caveat]))
    return escape(f"({text})" if square.is_of_page else text)


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
        write_trend(out, history)
    return Output(lambda: _document(history), _history_text(history, out))


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


def _history_text(history: Trend, out: Path | None) -> Iterator[RenderableType]:
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
