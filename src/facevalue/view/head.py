"""First screens of a run: what was opened, how far it is, what was found, its profile, and missing answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

import numpy as np
import polars as pl

from facevalue import __version__
from facevalue.errors import DataError
from facevalue.measures.cells import MISSING_SHARE
from facevalue.prompts.variants import PLAIN
from facevalue.protocol.conditions import FACTOR
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Condition
from facevalue.report.comparison_page import shorten_text
from facevalue.report.formatting import number
from facevalue.report.html import cautions_of, verdict_class
from facevalue.report.profile import profile_of
from facevalue.report.profile.cells import SIGNS, GroupRow, ProfileCell, QuestionColumn, Square, SquareMark, columns_of
from facevalue.report.profile.page import POOLED, level_sentence, profile_answer
from facevalue.report.profile.profile import Profile
from facevalue.report.sections.checks import kind_cautions
from facevalue.report.sections.findings import upper
from facevalue.report.sections.first_screen import facts_of
from facevalue.runs.joined_runs import names_for_people
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.storage.in_place import describe_unchecked
from facevalue.runs.stored_run import StoredRun, first_valid
from facevalue.store.reader import collected, distinct, scan_stored
from facevalue.store.shards import shard_paths
from facevalue.types import Status
from facevalue.view.answer_index import AnswerIndex, index_of
from facevalue.view.answers import parse_replies
from facevalue.view.estimates import ColumnTitle, key_of
from facevalue.view.open_runs import NotYetError, OpenedRuns, RunState
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
    rows = distinct(scan_stored(run.folder, timed=True, columns=_PROGRESS).select(_PROGRESS))
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


QUERY = ("run",)
_EXAMPLES, _GROUPS, _LONGEST = 12, 40, 600
"""Replies of a reason; groups; characters of a reply."""
_LOOKED_AT, _AT_ONCE = 1_000_000, 20_000
"""Answers among which replies of a reason are looked for, and how many of them at a time."""
_FAILED, _WAITING = "Replies without an answer could not be looked for", "Replies are being looked for."


@dataclass(frozen=True, slots=True)
class GroupMissingShare:
    """Share of a group's questions without a valid answer, and their number."""

    label: str
    level: str
    title: str
    share: float | None
    of: int | None
    text: str
    """The share with its interval, as the report writes it."""
    query: str | None
    """Query of the answers about the group, where it is a level of a factor."""


@dataclass(frozen=True, slots=True)
class MissingReply:
    """A reply without a valid answer, or what the request failed with."""

    trial: int
    repeat: int
    reply: str


@dataclass(frozen=True, slots=True)
class MissingReason:
    """A reason for missing answers. Shares by group are of refusals, of failed requests, and of all reasons."""

    status: str
    title: str
    count: int
    share: float
    groups: tuple[GroupMissingShare, ...]
    examples: tuple[MissingReply, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing answers of a run; `total`: questions that were asked. `pending`: replies are being looked for."""

    total: int
    pending: bool
    groups: tuple[GroupMissingShare, ...]
    reasons: tuple[MissingReason, ...]


def missing(state: RunState) -> Missing:
    """Missing answers of a run."""
    tally = state.tally
    total = tally.asked
    examples: dict[str, list[MissingReply]] = {}
    pending = False
    try:
        index = index_of(state)
        examples = state.make_in_background(
            "missing", lambda: _examples(state.run, index, len(tally.na)), _FAILED, _WAITING
        )
    except NotYetError:
        pending = True
    reasons = tuple(
        MissingReason(
            reason,
            state.titles.get("reason", reason),
            count,
            count / total if total else 0.0,
            _groups(state, reason),
            tuple(examples.get(reason, ())),
        )
        for reason, count in sorted(tally.na.items(), key=lambda pair: -pair[1])
    )
    return Missing(total, pending, _groups(state, None), reasons)


def _groups(state: RunState, reason: str | None) -> tuple[GroupMissingShare, ...]:
    view = state.view
    rows = view.rows(Of(MISSING_SHARE.name, ("dimension", "group"), {"reason": reason}, order="value", most=_GROUPS))
    return tuple(
        GroupMissingShare(
            e["dimension"] or "",
            e["group"] or "",
            view.said("{group} ({dimension:lower})", e),
            e.value,
            e.n,
            f"{view.value(e)} {view.interval(e)}",
            _query(state, e["dimension"] or "", e["group"] or ""),
        )
        for e in rows
    )


def _query(state: RunState, dimension: str, group: str) -> str | None:
    name = dimension.replace(" ", "_")
    if name not in state.run.study.design.columns:
        return None
    dtype = state.run.study.design.trials([0], [name])[name].dtype
    is_level = isinstance(dtype, pl.Enum) and group in dtype.categories
    return urlencode({"run": state.number, f"F.{name}": group}) if is_level else None


def _examples(run: StoredRun, index: AnswerIndex, reason_count: int) -> dict[str, list[MissingReply]]:
    """Replies of each reason, from the first answers that were stored."""
    examples, looked_at = pl.DataFrame(schema={"na": pl.String, "trial": pl.Int64}), 0
    for places in index.as_stored(_AT_ONCE):
        rows = parse_replies(run, index, places).filter(pl.col("na").is_not_null())
        pieces = [examples, rows.select(pl.col("na").cast(pl.String), pl.col("trial").cast(pl.Int64))]
        examples = pl.concat(pieces).group_by("na", maintain_order=True).head(_EXAMPLES)
        looked_at += places.size
        if examples.height == reason_count * _EXAMPLES or looked_at >= _LOOKED_AT:
            break
    if not examples.height:
        return {}
    of_trials = [index.places_of_trial(trial) for trial in examples["trial"].unique(maintain_order=True)]
    answered = parse_replies(run, index, np.concatenate(of_trials)).with_columns(reply=pl.col("repeat"))
    if run.study.draws.reasks:
        answered = first_valid(answered, run.study.repeats)
    na = answered.filter(pl.col("na").is_not_null()).group_by("na", maintain_order=True).head(_EXAMPLES)
    questions = run.study.ask(run.study.design.trials(na["trial"].to_numpy().astype(np.int64)))
    columns = na.select(pl.col("na").cast(pl.String), "trial", "reply", "stored text", "stored probs", "stored error")
    out: dict[str, list[MissingReply]] = {}
    for (reason, trial, repeat, text, probs, error), question in zip(columns.iter_rows(), questions, strict=True):
        reply = shorten_text(error if text is None and error else reply_text(text, probs, question.options), _LONGEST)
        out.setdefault(reason, []).append(MissingReply(trial, repeat, reply))
    return out


_SIGNS = {
    SquareMark.AGAINST: "worse",
    SquareMark.FOR: "better",
    SquareMark.EQUAL: "none",
    SquareMark.NONE: "undecided",
}
"""Whether a square is good or bad for its group; the other marks are neither."""


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """A kind of question of a study."""

    id: str
    study: str
    title: str


@dataclass(frozen=True, slots=True)
class ProfileMark:
    """A sign of the table, and its meaning."""

    mark: str
    symbol: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ProfileSquare:
    """Results of a kind of question for a group; `run` and `key` lead to its strongest, or first, estimate.

    `page_only`: found on the study's own page alone.
    """

    kind: str
    sign: str | None
    mark: str
    symbol: str
    text: str
    reading: str
    page_only: bool
    run: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """A group of people, as one model treats it."""

    model: str
    dimension: str
    group: str
    title: str
    squares: tuple[ProfileSquare, ...]


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """Profile of runs."""

    sentences: tuple[str, ...]
    marks: tuple[ProfileMark, ...]
    kinds: tuple[ProfileKind, ...]
    groups: tuple[ProfileGroup, ...]
    notes: tuple[str, ...]


def profile(runs: OpenedRuns) -> ProfilePage:
    """The profile of all runs.

    Raises
    ------
    DataError
        There is one run only.
    """
    if len(runs) < 2:
        raise DataError("A profile is of several runs; this is one.")
    states = runs.states()
    opened = [state.run for state in states]
    return runs.make_once("profile", states, lambda: _document(profile_of(opened, runs.waiting), runs))


def _document(profile: Profile, runs: OpenedRuns) -> ProfilePage:
    states = runs.states()
    names = names_for_people([state.run for state in states])
    places = {(state.run.study.name, names[state.run.model]): state.number for state in reversed(states)}
    rows = [(condition, row) for condition in profile.conditions for row in profile.rows(condition)]
    columns = columns_of([row for _, row in rows])
    return ProfilePage(
        tuple(profile_answer(profile)),
        tuple(ProfileMark(mark.value, symbol, meaning) for mark, (symbol, meaning) in SIGNS.items()),
        tuple(ProfileKind(column.name, column.study, column.title) for column in columns),
        tuple(_group(condition, row, places) for condition, row in rows),
        (level_sentence(profile), *POOLED),
    )


def _group(condition: Condition, row: GroupRow, places: dict[tuple[str, str], str]) -> ProfileGroup:
    return ProfileGroup(condition.name, row.dimension, row.group, row.name, tuple(_squares(row, places)))


def _squares(row: GroupRow, places: dict[tuple[str, str], str]) -> Iterator[ProfileSquare]:
    for column, square in row.squares.items():
        yield _square(column, square, places)


def _square(column: QuestionColumn, square: Square, places: dict[tuple[str, str], str]) -> ProfileSquare:
    cell: ProfileCell = square.strongest or square.cells[0]
    e = cell.estimate
    return ProfileSquare(
        column.name,
        _SIGNS.get(square.mark),
        square.mark.value,
        SIGNS[square.mark][0],
        " ".join(filter(None, [square.label, square.count and f"({square.count})", square.caveat])),
        square.reading,
        square.is_of_page,
        places.get((cell.study, cell.model)),
        key_of(e.measure, cell.intervention or None, e.labels),
    )
