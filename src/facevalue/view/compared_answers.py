"""Answers of several runs, or of a run with its interventions, to the same trials: those that flipped first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue.errors import DataError, SettingError
from facevalue.prompts.variants import PLAIN
from facevalue.protocol.conditions import FACTOR
from facevalue.report.comparison_page import flip_sentences, shorten_text
from facevalue.runs.comparisons.answer_flips import AnswerSide, compare_answers
from facevalue.runs.joined_runs import names_for_people
from facevalue.view.answer_index import AnswerIndex, Places, factor_names, index_of
from facevalue.view.answers import answer_rows, facets_of, factor_titles, factor_words
from facevalue.view.estimates import ColumnTitle, FacetLevel
from facevalue.view.open_runs import Background, OpenedRuns, RunState
from facevalue.view.pictures import PictureRef, list_pictures
from facevalue.view.query import Piece, Query, Search

QUERY = ("runs", "q", "from", "n")
_MOST = 6
"""Runs side by side."""
_PROMPT, _ASKED = 600, 500
"""Characters of a prompt; trials of which prompts are looked through at a time."""
_FAILED, _WAITING = "The answers could not be compared", "The answers are being compared: a minute for some million."
_KEYS = ["trial", "seed"]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A run that is compared, as it is or with an intervention; `side` is its name in the query."""

    side: str
    run: str
    title: str


@dataclass(frozen=True, slots=True)
class ComparedReply:
    """Reply of a side; `prompt` and `pictures` where these differ from the first side's."""

    side: str
    trial: int
    repeat: int
    answer: str | None
    why: str | None
    reply: str
    status: str
    prompt: str | None
    pictures: tuple[PictureRef, ...]


@dataclass(frozen=True, slots=True)
class ComparedTrial:
    """A trial with the replies of all sides; `shift`: how far the chances of answers lie apart, 0 to 1."""

    trial: int
    factors: Mapping[str, str]
    pictures: tuple[PictureRef, ...]
    prompt: str
    replies: tuple[ComparedReply, ...]
    flipped: bool
    shift: float | None


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """Answers side by side, and the levels of factors to choose from.

    `total` is null where only some were looked through for words so far; `searched` says how many of how many,
    `pending` whether the search goes on by itself: the page asks again.
    """

    sentences: tuple[str, ...]
    sides: tuple[ComparedSide, ...]
    factors: tuple[ColumnTitle, ...]
    facets: Mapping[str, tuple[FacetLevel, ...]]
    total: int | None
    searched: tuple[int, int] | None
    pending: bool
    rows: tuple[ComparedTrial, ...]


@dataclass(frozen=True)
class _ViewedSide:
    """A run with one of its interventions, or without."""

    state: RunState
    answers: AnswerSide
    title: str

    @property
    def name(self) -> str:
        """Name of the side in a query."""
        return _side_name(self.state, self.answers.intervention)

    @property
    def answers_here(self) -> AnswerSide:
        """Its answers, of which every one is here."""
        return AnswerSide(self.state.complete_run, self.answers.intervention)

    @property
    def is_changed(self) -> bool:
        """True if it is asked with an intervention."""
        return bool(self.answers.intervention)


def default_sides(runs: OpenedRuns) -> str:
    """Sides that are compared where none is named: the first runs of the first one's study, or its interventions."""
    states = runs.states()
    same_study = [state for state in states if state.run.study.name == states[0].run.study.name]
    if len(same_study) > 1:
        return ",".join(state.number for state in same_study[:2])
    changes = [variant.name for variant in states[0].run.study.changes.variants]
    return ",".join(_side_name(states[0], change) for change in ("", *changes[:1])) if changes else ""


def _side_name(state: RunState, change: str) -> str:
    return f"{state.number}:{change}" if change else state.number


def compare(runs: OpenedRuns, query: Query) -> ComparedPage:
    """A page of trials that were asked in several runs, or with several interventions, flips first."""
    sides = _sides(runs, query.text("runs") or default_sides(runs))
    names, first = [side.name for side in sides], sides[0].state
    indexes = [index_of(side.state) for side in sides]
    states = tuple(side.state for side in sides)
    comparing = runs.make_once(
        f"compare {names}", states, lambda: Background(lambda: _compare_sides(sides, indexes[0]), _FAILED)
    )
    comparison = comparing.value(first.patience, _WAITING)
    levels = query.levels("F.", first.run.study.design.columns, "factor")
    rows, (start, count) = _at_levels(indexes[0], comparison, levels), query.page()
    searched, pending = None, False
    if text := query.text("q"):
        name = f"compare {names} {rows.size} {levels} {text}"
        search = first.make_recent(name, lambda: Search(_with_words(sides, indexes, comparison.table, rows, text)))
        searching = search.so_far(first.patience, start + count)
        rows, searched, pending = searching.places, searching.searched, searching.pending
    facets = _facets(first, indexes[0], comparison.places[rows])
    for name in () if text else levels:  # levels beside the chosen one, too
        if name in facets:
            of_others = _at_levels(indexes[0], comparison, levels, without=name)
            facets[name] = _facets(first, indexes[0], comparison.places[of_others])[name]
    return ComparedPage(
        comparison.sentences,
        tuple(ComparedSide(side.name, side.state.number, side.title) for side in sides),
        tuple(column for column in factor_titles(first) if column.name in facets),
        facets,
        None if searched else rows.size,
        searched,
        pending,
        _rows(sides, comparison.table[rows[start : start + count]]),
    )


def _sides(runs: OpenedRuns, text: str) -> tuple[_ViewedSide, ...]:
    names = text.split(",")
    if not 2 <= len(names) <= _MOST or len(set(names)) < len(names) or "" in names:
        raise SettingError(
            f"runs names 2 to {_MOST} runs by their places, such as 0,1, or a run as it is and with one of its "
            "interventions, such as 0,0:caption."
        )
    pairs = [name.partition(":") for name in names]
    states = tuple(runs.state_of_run(number) for number, _, _ in pairs)
    studies = {state.run.study.name for state in states}
    if len(studies) > 1:
        raise DataError(f"These are runs of {' and '.join(sorted(studies))}: compare runs of one study.")
    answer_sides = [AnswerSide(state.run, change) for state, (_, _, change) in zip(states, pairs, strict=True)]
    return tuple(map(_ViewedSide, states, answer_sides, _titles(states, [side.intervention for side in answer_sides])))


def _titles(states: Sequence[RunState], changes: Sequence[str]) -> list[str]:
    """Titles of the sides: their runs where there are several, and interventions where there are any."""
    names = names_for_people([state.run for state in states])
    labels = [state.run.facts.name or names[state.run.model] for state in states]
    numbers = [state.number for state in states]
    if len(set(zip(numbers, labels, strict=True))) > len(set(labels)):
        labels = [f"{number}: {label}" for number, label in zip(numbers, labels, strict=True)]
    if not any(changes):
        return labels
    words = [state.titles.get(FACTOR, change or PLAIN) for state, change in zip(states, changes, strict=True)]
    if len(set(numbers)) == 1:
        return words
    return [f"{label}: {word}" for label, word in zip(labels, words, strict=True)]


@dataclass(frozen=True)
class _Comparison:
    """Sentences on each pair, a row for each trial and seed that all sides answered, places of the first's replies."""

    sentences: tuple[str, ...]
    table: pl.DataFrame
    places: Places


def _compare_sides(sides: Sequence[_ViewedSide], index: AnswerIndex) -> _Comparison:
    """Compare sides with the first one, of whose answers this is the index."""
    sentences: list[str] = []
    table: pl.DataFrame | None = None
    first = sides[0]
    for place, side in enumerate(sides[1:], start=1):
        with TemporaryDirectory() as folder:
            together = compare_answers(first.answers_here, side.answers_here, Path(folder))
            asked_alike = first.answers.intervention == side.answers.intervention
            sentences += flip_sentences(together.flips, (first.title, side.title), asked_alike=asked_alike)
            flips = [rows.select(*_KEYS, "shift") for rows in together.all_flips()]
            pairs = [
                rows.select(
                    *_KEYS, pl.col("reply").alias("reply_0"), pl.col("trial_2").alias(f"trial_{place}"),
                    pl.col("reply_2").alias(f"reply_{place}"),
                    (pl.col("reading") != pl.col("reading_2")).fill_null(value=False).alias(f"flipped_{place}"),
                    pl.col("reading").is_null().xor(pl.col("reading_2").is_null()).alias(f"missing_{place}"),
                )
                for rows in together.pairs
            ]  # fmt: skip
        pair = pl.concat(pairs).join(pl.concat(flips).rename({"shift": f"shift_{place}"}), on=_KEYS, how="left")
        table = pair if table is None else table.join(pair.drop("reply_0"), on=_KEYS, how="inner")
    assert table is not None
    places = range(1, len(sides))
    table = table.with_columns(
        flipped=pl.any_horizontal(f"flipped_{at}" for at in places),
        missing=pl.any_horizontal(f"missing_{at}" for at in places),
        shift=pl.max_horizontal(f"shift_{at}" for at in places),
    )
    by = ("flipped", "missing", "shift", "trial", "seed")
    table = table.sort(by, descending=[True, True, True, False, False], nulls_last=True)
    of_first = index.places_of(table.select("trial", repeat="reply_0"))
    return _Comparison(tuple(sentences), table, of_first.astype(np.int32))


def _at_levels(
    index: AnswerIndex, comparison: _Comparison, levels: Mapping[str, Sequence[str]], without: str = ""
) -> Places:
    """Rows at these levels, but for one factor."""
    keep = np.ones(comparison.places.size, dtype=np.bool_)
    for name, chosen_levels in levels.items():
        if name != without:
            keep &= index.at_levels(name, chosen_levels)[comparison.places]
    return np.flatnonzero(keep)


def _with_words(
    sides: Sequence[_ViewedSide], indexes: Sequence[AnswerIndex], table: pl.DataFrame, rows: Places, text: str
) -> Iterator[Piece]:
    """Rows with the words in a reply of any side, or in the first one's prompt."""
    has_words = np.zeros(table.height, dtype=np.bool_)
    meets = pl.col("text").str.contains(text, literal=True)
    for at, index in enumerate(indexes):
        of_index = np.zeros(index.trial.size, dtype=np.bool_)
        for _, _, matches in index.looked_through(meets):
            of_index[matches] = True
        has_words |= of_index[
            index.places_of(table.select(trial=f"trial_{at}" if at else "trial", repeat=f"reply_{at}"))
        ]
    study = sides[0].state.run.study
    for start in range(0, rows.size, _ASKED):
        batch = rows[start : start + _ASKED]
        factors = study.design.trials(table["trial"].gather(batch).to_numpy().astype(np.int64))
        prompts = pl.Series([question.prompt for question in study.ask(factors)], dtype=pl.String)
        keep = has_words[batch] | prompts.str.contains(text, literal=True).to_numpy()
        yield min(start + _ASKED, rows.size), rows.size, batch[keep]


def _facets(state: RunState, index: AnswerIndex, places: Places) -> dict[str, tuple[FacetLevel, ...]]:
    """Levels of factors, with how many of these replies have each."""
    facets = facets_of(state, index, places)
    return {name: levels for name, levels in facets.items() if name not in ("status", FACTOR)}


def _rows(sides: Sequence[_ViewedSide], table: pl.DataFrame) -> tuple[ComparedTrial, ...]:
    if not table.height:
        return ()
    first = sides[0].state
    factors = first.run.study.design.trials(table["trial"].to_numpy().astype(np.int64))
    names = [name for name in factor_names(first.run) if name != FACTOR or not any(side.is_changed for side in sides)]
    prompts = _prompts(first, factors)
    replies = [_replies(side, table, at, prompts) for at, side in enumerate(sides)]
    return tuple(
        ComparedTrial(
            row["trial"], factor_words(levels, names, first.titles), pictures, prompt, tuple(of_trial), row["flipped"],
            row["shift"],
        )
        for row, levels, prompt, pictures, *of_trial in zip(
            table.iter_rows(named=True), factors.iter_rows(named=True), prompts, list_pictures(first, factors),
            *replies, strict=True,
        )
    )  # fmt: skip


def _prompts(state: RunState, factors: pl.DataFrame) -> list[str]:
    return [shorten_text(question.prompt, _PROMPT) for question in state.run.study.ask(factors)]


def _replies(side: _ViewedSide, table: pl.DataFrame, at: int, prompts: Sequence[str]) -> list[ComparedReply]:
    """Replies of a side; `prompts`: those of the first one."""
    index = index_of(side.state)
    trials = pl.col(f"trial_{at}" if at else "trial")
    rows = answer_rows(side.state, index, index.places_of(table.select(trial=trials, repeat=pl.col(f"reply_{at}"))))
    side_prompts = prompts
    if side.is_changed and at:
        side_prompts = _prompts(side.state, side.state.run.study.design.trials(np.array([row.trial for row in rows])))
    return [
        ComparedReply(
            side.name, row.trial, row.repeat, row.answer, row.why, row.reply, row.status,
            prompt if prompt != first else None, row.pictures if side.is_changed and at else (),
        )
        for row, prompt, first in zip(rows, side_prompts, prompts, strict=True)
    ]  # fmt: skip
