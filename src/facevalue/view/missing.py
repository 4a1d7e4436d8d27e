"""Missing answers of a run by reason: how many, whose, and replies that have none."""

from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
import polars as pl

from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.protocol.look import Of
from facevalue.report.comparison_page import shorten_text
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.stored_run import StoredRun, first_valid
from facevalue.view.answer_index import AnswerIndex, index_of
from facevalue.view.answers import parse_replies
from facevalue.view.background import NotYetError
from facevalue.view.open_runs import RunState

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
