"""Missing answers of a run by reason: how many, whose, and replies that have none."""

from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

import numpy as np
import polars as pl

from facevalue.measures.missing_answers import SHARE
from facevalue.protocol.look import Of
from facevalue.report.answer_flips import shortened
from facevalue.runs.reply_words import said
from facevalue.runs.stored import answers
from facevalue.store import read_responses
from facevalue.view.opened import RunState

QUERY = ("run",)
_EXAMPLES, _CHUNKS, _GROUPS, _LONGEST = 12, 4, 40, 600
"""Replies of a reason; chunks of answers that they are looked for in; groups; characters of a reply."""


@dataclass(frozen=True, slots=True)
class GroupMissingShare:
    """Share of a group's replies without a valid answer, and the number of its replies."""

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
    """A reply without a valid answer."""

    trial: int
    repeat: int
    reply: str


@dataclass(frozen=True, slots=True)
class MissingReason:
    """A reason for which answers are missing. Shares by group are taken of refusals, and of all reasons together."""

    status: str
    title: str
    count: int
    share: float
    groups: tuple[GroupMissingShare, ...]
    examples: tuple[MissingReply, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing answers of a run; `total`: replies, valid or not."""

    total: int
    groups: tuple[GroupMissingShare, ...]
    reasons: tuple[MissingReason, ...]


def missing(state: RunState) -> Missing:
    """Missing answers of a run."""
    tally = state.tally
    total = tally.asked - tally.failed
    examples = state.once("missing", lambda: _examples(state))
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
    return Missing(total, _groups(state, None), reasons)


def _groups(state: RunState, reason: str | None) -> tuple[GroupMissingShare, ...]:
    view = state.view
    rows = view.rows(Of(SHARE.name, ("dimension", "group"), {"reason": reason}, order="value", most=_GROUPS))
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


def _examples(state: RunState) -> dict[str, list[MissingReply]]:
    """Replies of each reason, from the first answers of the run."""
    run, reason_count = state.run, len(state.tally.na)
    pieces: list[pl.DataFrame] = []
    for chunk in islice(answers(run), _CHUNKS):
        pieces.append(chunk.filter(pl.col("na").is_not_null()).select("na", "trial", "reply"))
        some = pl.concat(pieces).group_by("na", maintain_order=True).head(_EXAMPLES)
        if some.height == reason_count * _EXAMPLES:
            break
    numbers = some["trial"].to_numpy().astype(np.int64)
    stored = read_responses(run.folder, trials=numbers).select("trial", "repeat", "text", "probs")
    verbatim = some.join(
        stored, left_on=["trial", "reply"], right_on=["trial", "repeat"], how="left", maintain_order="left"
    )
    questions = run.study.ask(run.study.design.trials(numbers))
    out: dict[str, list[MissingReply]] = {}
    for (reason, trial, repeat, text, probs), question in zip(verbatim.iter_rows(), questions, strict=True):
        reply = shortened(said(text, probs, question.options), _LONGEST)
        out.setdefault(reason, []).append(MissingReply(trial, repeat, reply))
    return out
