"""Head of the viewer, and the first screen of a run: what was opened, how far it is, what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from facevalue import __version__
from facevalue.errors import DataError
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.prompts.variants import PLAIN
from facevalue.protocol.conditions import FACTOR
from facevalue.protocol.look import Of
from facevalue.report.formatting import number
from facevalue.report.html import cautions_of, verdict_class
from facevalue.report.sections.checks import kind_cautions
from facevalue.report.sections.findings import upper
from facevalue.report.sections.first_screen import facts_of
from facevalue.runs.joined_runs import names_for_people
from facevalue.runs.storage.in_place import describe_unchecked
from facevalue.store.reader import collected, scan_stored
from facevalue.store.shards import shard_paths
from facevalue.types import Status
from facevalue.view.background import NotYetError
from facevalue.view.estimates import ColumnTitle
from facevalue.view.open_runs import OpenedRuns, RunState
from facevalue.view.pictures import PictureRef, asked_question
from facevalue.view.pictures import pictures_of_question as asked_pictures

_PROGRESS = ("trial", "repeat", "status", "at")
_RECENT = timedelta(seconds=60)
PROVISIONAL = "The run goes on: numbers are of the answers so far, and intervals are provisional."


@dataclass(frozen=True, slots=True)
class GroupMissing:
    """Share of replies to a group that have no valid answer, in words."""

    group: str
    share: str


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run that has not come to its end."""

    stored: int
    total: int
    errors: int
    rate: float | None
    """Answers a second over the last minute of answers."""
    eta_s: float | None
    na: tuple[GroupMissing, ...]
    """Empty until estimates were taken."""


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run that is looked at."""

    run: str
    label: str
    study: str
    study_title: str
    model: str
    when: datetime | None
    complete: bool
    interventions: tuple[ColumnTitle, ...]
    """The run as it is, and its interventions; empty where it has none."""
    progress: RunProgress | None


@dataclass(frozen=True, slots=True)
class ViewerHead:
    """Head of the viewer: its version, title and notes, and the runs that it was opened with."""

    version: str
    title: str
    audit: bool
    content_note: str | None
    illustrated: str | None
    """What must be read with pictures that are no photographs."""
    runs: tuple[RunHead, ...]


@dataclass(frozen=True, slots=True)
class AskedFirst:
    """A question as it was asked, with its pictures and facts of the run; `pending`: it is being looked up."""

    prompt: str
    pictures: tuple[PictureRef, ...]
    no_picture: str
    facts: tuple[str, ...]
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Lead:
    """First screen of a run, in the report's words."""

    asked: AskedFirst
    verdict: str
    """Kind of answer with the caveat of all that was found, in the report's words."""
    look: str
    """Class of the verdict: found, equal, nothing or unknown."""
    sentences: tuple[str, ...]
    more: tuple[str, ...]
    """What must be known beside the answer."""
    cautions: tuple[str, ...]
    provisional: bool


def head(runs: OpenedRuns) -> ViewerHead:
    """Head of the viewer: what it was opened with."""
    states = runs.states()
    studies = [state.run.study for state in states]
    names = names_for_people([state.run for state in states])
    titles = list(dict.fromkeys(study.about.title for study in studies))
    models = list(dict.fromkeys(names[state.run.model] for state in states))
    title = f"Audit of {models[0]}" if runs.audit else titles[0] if len(titles) == 1 else f"{len(states)} runs"
    return ViewerHead(
        __version__,
        title,
        runs.audit,
        _join_texts([study.about.content_note for study in studies]),
        _join_texts(kind_cautions([study.source.kind for study in studies])),
        tuple(_run(state, names[state.run.model]) for state in states),
    )


def _join_texts(texts: Sequence[str]) -> str | None:
    return " ".join(dict.fromkeys(filter(None, texts))) or None


def _run(state: RunState, model: str) -> RunHead:
    facts, study = state.run.facts, state.run.study
    label = facts.name or model
    progress = None if state.is_complete else state.make_once("progress", lambda: _progress(state))
    variants = [variant.name for variant in study.changes.variants]
    changes = tuple(ColumnTitle(name, state.titles.get(FACTOR, name)) for name in (PLAIN, *variants) if variants)
    return RunHead(
        state.number, label, study.name, study.about.title, model, facts.start, state.is_complete, changes, progress
    )


def _progress(state: RunState) -> RunProgress:
    """Progress of a run, from what it has stored."""
    run, total = state.run, state.run.facts.counts.requests
    if not shard_paths(run.folder):
        return RunProgress(0, total, 0, None, None, ())
    failed = pl.col("status") == Status.ERROR.value
    latest = pl.col("at").max()
    rows = scan_stored(run.folder, timed=True, columns=_PROGRESS).select(_PROGRESS)
    counted = rows.select(
        replies=(~failed).sum(),
        errors=failed.sum(),
        recent=(~failed & (pl.col("at") > latest - _RECENT)).sum(),
        span=(latest - pl.max_horizontal(pl.col("at").min(), latest - _RECENT)),
    )
    row = collected(run.folder, counted).row(0, named=True)
    seconds = 0.0 if row["span"] is None else row["span"].total_seconds()
    rate = row["recent"] / seconds if seconds else None
    remaining = max(total - row["replies"], 0)
    eta = remaining / rate if rate else None
    return RunProgress(row["replies"], total, row["errors"], rate, eta, _missing(state))


def _missing(state: RunState) -> tuple[GroupMissing, ...]:
    if not state.are_taken:
        return ()
    try:
        view = state.view
    except DataError:  # the page itself says that there are no estimates
        return ()
    by = ("dimension", "group")
    rows = view.rows(Of(MISSING_SHARE.name, by, {"reason": None}, order="value"))
    return tuple(
        GroupMissing(view.said("{group} ({dimension:lower})", e), number(e.value, e.written_unit)) for e in rows
    )


def lead(state: RunState) -> Lead:
    """The first screen of a run: what was asked, the answer, what must be read with it."""
    data, answer = state.data, state.answer.answer
    notes = filter(None, (PROVISIONAL if not state.is_complete else "", describe_unchecked(state.run)))
    return Lead(
        _first_question(state, tuple(facts_of(data))),
        upper(answer.title),
        verdict_class(answer),
        tuple(passage.text for passage in answer.passages),
        answer.more,
        (*notes, *cautions_of(data)),
        not state.is_complete,
    )


def _first_question(state: RunState, facts: tuple[str, ...]) -> AskedFirst:
    """The question of the first screen, which waits for nothing: the answer comes from estimates alone."""
    try:
        question = asked_question(state)
    except NotYetError:
        return AskedFirst("", (), "", facts, pending=True)
    except DataError as error:
        return AskedFirst("", (), str(error), facts)
    if question is None:
        return AskedFirst("", (), "", facts)
    return AskedFirst(question.prompt, asked_pictures(state, question), question.no_picture, facts)
