"""A trial: what was shown and asked, every reply with what it means, and what others say of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from facevalue.answers.sorting import OPEN, Sorting
from facevalue.errors import DataError, FaceValueError
from facevalue.places import is_url
from facevalue.printable import shell_command
from facevalue.protocol.making import IMAGE
from facevalue.protocol.making_study import MAKING
from facevalue.protocol.picture_checks import ACCEPTED, REASONS, read_verdicts
from facevalue.report.comparison_page import shorten_text
from facevalue.runs.attention_maps import maps_of
from facevalue.runs.judgments import read_judgments
from facevalue.runs.own_pictures.inspection import CHECKS
from facevalue.runs.pictures import load_shown
from facevalue.runs.reviews.outcomes import REPLIES, kept_at, replies_by_people
from facevalue.runs.reviews.pictures import PICTURES
from facevalue.runs.reviews.replies import read_people
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import StoredRun
from facevalue.types import Question
from facevalue.view.answer_index import AnswerIndex, Places, factor_names, index_of, stored_rows
from facevalue.view.answers import LONGEST, factor_words, meanings, parse_replies, reason_of, replies_read
from facevalue.view.open_runs import RunState
from facevalue.view.pictures import PictureRef, captions, image_size
from facevalue.view.query import Query

# What others made of a trial: verdicts of judges, scorers and people, checks of its pictures, maps of attention.


_SCORE = "score: "
_TEXT = 120  # characters of a text that was sorted


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """Judgment of a reply by a scorer, a judge or people."""

    by: str
    text: str


class SortedTexts:
    """Texts in the replies of a run that its judge, or people, sort, with the category that each was given."""

    def __init__(self, run: StoredRun) -> None:
        self._judgments, self._folder = read_judgments(run.folder), run.folder
        self._asked: list[tuple[Sorting, str]] = []
        self._lock = Lock()
        self._run = run.reopen(self._judge)

    def _judge(self, sorting: Sorting, text: str) -> str | None:
        if (sorting, text) not in self._asked:
            self._asked.append((sorting, text))
        return None if self._judgments is None else self._judgments.judge(sorting, text)

    def verdicts_by_trial(self, replies: pl.DataFrame) -> dict[int, tuple[JudgedReply, ...]]:
        """Verdicts on the texts in replies, by trial; `replies` as studies read them, those of a trial together."""
        with self._lock:
            texts = list(self._texts(replies.partition_by("trial", maintain_order=True)))
        sortings = {sorting for _, doubts in texts for sorting, _ in doubts}
        people = {sorting: tuple(read_people(self._folder, sorting).values()) for sorting in sortings}
        return {
            trial: tuple(note for sorting, text in doubts for note in self._verdicts(sorting, text, people[sorting]))
            for trial, doubts in texts
        }

    def _texts(self, trials: Sequence[pl.DataFrame]) -> Iterator[tuple[int, list[tuple[Sorting, str]]]]:
        """Texts that come up while replies are read; halves of which none holds a text are not looked at again."""
        self._asked.clear()
        self._run.study.answer(pl.concat(trials))
        if len(trials) == 1:
            yield int(trials[0]["trial"][0]), list(self._asked)
        elif self._asked:
            middle = len(trials) // 2
            yield from self._texts(trials[:middle])
            yield from self._texts(trials[middle:])

    def _verdicts(self, sorting: Sorting, text: str, people: Sequence[Mapping[str, float]]) -> Iterator[JudgedReply]:
        quoted = f"“{shorten_text(sorting.text_of(text), _TEXT)}”"
        judgments = self._judgments
        if judgments is not None and (judgment := judgments.judgments.get((sorting.name, text))):
            verdict = judgment.category or f"{judgment.verdict.value}: {shorten_text(judgment.reply, _TEXT)}"
            yield JudgedReply(f"{judgments.name}, {sorting.name}", f"{quoted}: {verdict}")
        labels = [of_rater[text] for of_rater in people if text in of_rater]
        if labels:
            names = Counter(OPEN if label < 0 else sorting.categories[int(label)] for label in labels)
            yield JudgedReply(f"people, {sorting.name}", f"{quoted}: {_count_names(names)}")


def sorted_texts(state: RunState, index: AnswerIndex, places: Places) -> dict[int, tuple[JudgedReply, ...]]:
    """Verdicts on the texts in replies at these places, by trial, of runs whose replies hold such texts."""
    if not places.size or state.run.study.reading.judged is None:
        return {}
    texts = state.make_once("sorted texts", lambda: SortedTexts(state.run))
    return texts.verdicts_by_trial(replies_read(state.run, stored_rows(state.run, index, places)))


def judgment_notes(
    state: RunState, trial: int, rows: Sequence[Mapping[str, Any]], texts: Sequence[JudgedReply]
) -> Iterator[JudgedReply]:
    """Judgments of others on the replies of a trial.

    `rows`: these replies, as they are read. `texts`: verdicts on the texts in them (`sorted_texts`).
    """
    for row in rows:
        for name, score in row.items():
            if name.startswith(_SCORE) and score is not None:
                yield JudgedReply(name.removeprefix(_SCORE), f"{score:g} (reply {row['repeat']})")
    yield from texts
    folder = state.run.folder
    by_people = state.make_once(f"replies by people {kept_at(folder, REPLIES)}", lambda: replies_by_people(folder))
    for repeat, choices in by_people.get(trial, {}).items():
        yield JudgedReply("people, what the reply says", f"{_count_names(choices)} (reply {repeat})")


def _count_names(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count} of {sum(names.values())})" for name, count in names.items())


def picture_checks(state: RunState, levels: Mapping[str, Any]) -> tuple[str, ...]:
    """Verdicts of the checks on the pictures of a trial, with reasons, where they were checked."""
    verdicts = state.make_once("checks", lambda: _verdicts(state.run))
    images = dict.fromkeys(str(levels[name]) for name in PICTURES if levels.get(name) is not None)
    return tuple(f"{image}: {verdicts[image]}" for image in images if image in verdicts)


def _verdicts(run: StoredRun) -> dict[str, str]:
    """Verdict on each checked picture: from a run of checks, or beside pictures that the user named."""
    out: dict[str, str] = {}
    for place in _checks(run):
        with suppress(FaceValueError, OSError):
            rows = read_verdicts(place).select(IMAGE, ACCEPTED, REASONS)
            out |= {
                image: "passes its checks" if passes else f"fails its checks: {reasons or 'no reason is stored'}"
                for image, passes, reasons in rows.iter_rows()
                if image is not None and passes is not None
            }
    return out


def _checks(run: StoredRun) -> list[Path]:
    """Folders that may hold checks; a run folder may come from a stranger, whose places are not looked into."""
    places = [run.folder.parent / CHECKS if run.study.name == MAKING else run.folder]
    root = own_folder(run.facts.options) if run.pictures_named else None
    return places if root is None or is_url(str(root)) else [*places, root / CHECKS]


def attention_notes(state: RunState, trial: int, question: Question) -> tuple[PictureRef, ...]:
    """Maps of where a model looked, as far as `facevalue attention` made them."""
    out = []
    for at, of in enumerate(maps_of(state.run.folder, trial)):
        names = {"attention": "Mean attention of the answer", "heads": "Attention by head"}
        name = ({**names, "word": f"Attention to word {of.option}, by head"}).get(of.kind, "")
        if not name:
            places = dict(enumerate((option.wording for option in question.options), start=1))
            name = f"Relevancy for {places.get(of.option, f'option {of.option}')}"
        which = f", picture {of.picture}" if of.picture else ""
        model = f" ({of.model})" if of.model else ""
        out.append(PictureRef(f"picture/{state.number}/attention-{trial}-{at}", f"{name}{which}{model}"))
    return tuple(out)


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
    """Message that stands before the prompt."""

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
    return trial_of(state, query.whole_number("trial"))


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
    return _trial(state, index, number, parse_replies(run, index, places), texts)


def _trial(state: RunState, index: AnswerIndex, number: int, rows: pl.DataFrame, texts: Sequence[JudgedReply]) -> Trial:
    run, titles = state.run, state.titles
    factors = run.study.design.trials([number])
    names, levels = factor_names(run), factors.row(0, named=True)
    (question,) = run.study.ask(factors)
    pictures, no_picture = _pictures(state, number, factors)
    before, after = index.neighbour_trials(number)
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
        tuple(judgment_notes(state, number, replies, texts)),
        attention_notes(state, number, question),
        picture_checks(state, levels),
        before,
        after,
        shell_command("show", run.place, "--trial", number),
    )


def _pictures(state: RunState, number: int, factors: pl.DataFrame) -> tuple[tuple[PictureRef, ...], str]:
    """Pictures of a trial with their sizes, or why there are none."""
    look = load_shown(state.run, number, index_of(state).rows_of(number))
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
