"""A trial: what was shown and asked, every reply with what it means, and what others say of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from facevalue.errors import DataError
from facevalue.runs.pictures import shown
from facevalue.shell_commands import shell_command
from facevalue.types import Question
from facevalue.view.answer_index import AnswerIndex, factor_names, index_of
from facevalue.view.answers import (
    LONGEST,
    factor_words,
    meanings,
    parsed,
    reason_of,
)
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef, captions, image_size
from facevalue.view.query import Query
from facevalue.view.trial_notes import JudgedReply, attention, judged, picture_checks, sorted_texts

QUERY = ("run", "trial")


@dataclass(frozen=True, slots=True)
class OptionShare:
    """An option, and the probability that the reply is this one."""

    option: str
    share: float


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply to a trial. `cut`: characters of it that are left out."""

    repeat: int
    status: str
    reply: str
    cut: int
    answer: str | None
    why: str | None
    error: str | None
    """Why a request failed."""
    probs: tuple[OptionShare, ...] | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: float | None
    when: datetime | None


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said before the prompt."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial, whole."""

    trial: int
    factors: Mapping[str, str]
    levels: Mapping[str, str]
    """The same by their names, of which answers are chosen."""
    pictures: tuple[PictureRef, ...]
    no_picture: str
    """Why no picture is shown; empty where there are some."""
    prompt: str
    system: str | None
    turns: tuple[Turn, ...]
    options: tuple[str, ...] | None
    replies: tuple[ReplyRow, ...]
    judged: tuple[JudgedReply, ...]
    attention: tuple[PictureRef, ...]
    checks: tuple[str, ...]
    previous: int | None
    next: int | None
    command: str


def trial(state: RunState, query: Query) -> Trial:
    """A trial by its number."""
    return trial_of(state, query.whole("trial"))


def trial_of(state: RunState, number: int) -> Trial:
    """A trial by its number.

    Raises
    ------
    DataError
        The design has no such trial, or it was not asked.
    """
    run, index = state.run, index_of(state)
    size = run.study.design.size
    if number >= size:
        raise DataError(f"Trial {number:,} is none: those of this run are 0 to {size - 1:,}.")
    places = index.places_of_trial(number)
    if not places.size:
        raise DataError(f"Trial {number:,} has not been asked in this run.")
    texts = sorted_texts(state, index, places).get(number, ())
    return _trial(state, index, number, parsed(run, index, places), texts)


def _trial(state: RunState, index: AnswerIndex, number: int, rows: pl.DataFrame, texts: Sequence[JudgedReply]) -> Trial:
    run, titles = state.run, state.titles
    factors = run.study.design.trials([number])
    names, levels = factor_names(run), factors.row(0, named=True)
    (question,) = run.study.ask(factors)
    pictures, no_picture = _pictures(state, number, factors)
    before, after = index.beside(number)
    replies = rows.to_dicts()
    return Trial(
        number,
        factor_words(levels, names, titles),
        {name: str(levels[name]) for name in names if levels[name] is not None},
        pictures,
        no_picture,
        question.prompt,
        question.system,
        tuple(Turn(*turn) for turn in question.turns),
        tuple(_option_texts(question)) or None,
        tuple(
            _reply(state, row, question, answer)
            for row, answer in zip(replies, meanings(run, rows, [question] * rows.height), strict=True)
        ),
        tuple(judged(state, number, replies, texts)),
        attention(state, number, question),
        picture_checks(state, levels),
        before,
        after,
        shell_command("show", run.place, "--trial", number),
    )


def _pictures(state: RunState, number: int, factors: pl.DataFrame) -> tuple[tuple[PictureRef, ...], str]:
    """Pictures of a trial with their sizes, or why there are none."""
    look = shown(state.run, number, index_of(state).rows_of(number))
    (text,) = captions(state.run, factors, state.titles)
    return tuple(
        PictureRef(f"picture/{state.number}/{number}-{at}", text, *image_size(image.data))
        for at, image in enumerate(look.images)
    ), "" if look.images else look.why


def _option_texts(question: Question) -> list[str]:
    return [option.wording for option in question.options]


def _reply(state: RunState, row: Mapping[str, object], question: Question, answer: str | None) -> ReplyRow:
    text, probs = row["stored text"], row["stored probs"]
    reply = "" if text is None else str(text)
    shares = None
    if isinstance(probs, list):
        shares = tuple(OptionShare(o, p) for o, p in zip(_option_texts(question), probs, strict=False))
    stored = {
        name: row[f"stored {name}"] for name in ("prompt_tokens", "completion_tokens", "latency_ms", "at", "error")
    }
    return ReplyRow(
        int(str(row["repeat"])), str(row["status"]), reply[:LONGEST], max(len(reply) - LONGEST, 0),
        answer, reason_of(row, state.titles), stored["error"], shares,  # type: ignore[arg-type]
        stored["prompt_tokens"], stored["completion_tokens"], stored["latency_ms"], stored["at"],  # type: ignore[arg-type]
    )  # fmt: skip
