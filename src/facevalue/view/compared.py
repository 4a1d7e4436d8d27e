"""Answers of several runs to the same trials side by side, those that flipped first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue.errors import DataError, SettingError
from facevalue.report.answer_flips import flip_sentences, shortened
from facevalue.runs.answer_flips import compared_answers
from facevalue.runs.model_names import names_for_people
from facevalue.view.answer_index import index_of
from facevalue.view.answers import answer_rows, factor_names, factor_words
from facevalue.view.opened import OpenedRuns, RunState
from facevalue.view.pictures import PictureRef, listed
from facevalue.view.query import Query

QUERY = ("runs", "q", "from", "n")
_MOST = 6
"""Runs side by side."""
_PROMPT = 600
_KEYS = ["trial", "seed"]


@dataclass(frozen=True, slots=True)
class ComparedNames:
    """Two runs that are compared, by what they are called."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class ComparedReply:
    """What a run replied."""

    run: str
    trial: int
    answer: str | None
    why: str | None
    reply: str
    status: str


@dataclass(frozen=True, slots=True)
class ComparedTrial:
    """A trial with the replies of all runs; `shift`: how far the chances of answers lie apart, 0 to 1."""

    trial: int
    factors: Mapping[str, str]
    pictures: tuple[PictureRef, ...]
    prompt: str
    replies: tuple[ComparedReply, ...]
    flipped: bool
    shift: float | None


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """Answers of runs side by side."""

    sentences: tuple[str, ...]
    pairs: tuple[ComparedNames, ...]
    total: int
    rows: tuple[ComparedTrial, ...]


def compare(runs: OpenedRuns, query: Query) -> ComparedPage:
    """A page of trials that several runs were asked, flips first."""
    states = _states(runs, query.text("runs") or "0,1")
    names = _names(states)
    sentences, table = runs.once(f"compare {[s.number for s in states]}", states, lambda: _compared(states, names))
    chosen = _chosen(states[0], table, query)
    start, count = query.page()
    pairs = tuple(ComparedNames(names[0], name) for name in names[1:])
    return ComparedPage(sentences, pairs, chosen.height, _rows(states, chosen[start : start + count]))


def _states(runs: OpenedRuns, text: str) -> tuple[RunState, ...]:
    numbers = text.split(",")
    if not 2 <= len(numbers) <= _MOST or len(set(numbers)) < len(numbers) or "" in numbers:
        raise SettingError(f"runs names 2 to {_MOST} runs by their places, such as 0,1.")
    states = tuple(runs.at(number) for number in numbers)
    studies = {state.run.study.name for state in states}
    if len(studies) > 1:
        raise DataError(f"These are runs of {' and '.join(sorted(studies))}: compare runs of one study.")
    return states


def _names(states: Sequence[RunState]) -> list[str]:
    names = names_for_people([state.run for state in states])
    labels = [state.run.facts.name or names[state.run.model] for state in states]
    return (
        labels if len(set(labels)) == len(labels) else [f"{s.number}: {x}" for s, x in zip(states, labels, strict=True)]
    )


def _compared(states: Sequence[RunState], names: Sequence[str]) -> tuple[tuple[str, ...], pl.DataFrame]:
    """Sentences on each pair, and a row for each trial and seed that all runs answered."""
    sentences: list[str] = []
    table: pl.DataFrame | None = None
    for place, (state, name) in enumerate(zip(states[1:], names[1:], strict=True), start=1):
        with TemporaryDirectory() as folder:
            together = compared_answers(states[0].run, state.run, Path(folder))
            sentences += flip_sentences(together.flips, (names[0], name))
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
    places = range(1, len(states))
    table = table.with_columns(
        flipped=pl.any_horizontal(f"flipped_{at}" for at in places),
        missing=pl.any_horizontal(f"missing_{at}" for at in places),
        shift=pl.max_horizontal(f"shift_{at}" for at in places),
    )
    return tuple(sentences), table.sort(
        "flipped", "missing", "shift", "trial", "seed", descending=[True, True, True, False, False], nulls_last=True
    )


def _chosen(state: RunState, table: pl.DataFrame, query: Query) -> pl.DataFrame:
    study = state.run.study
    levels = query.levels("F.", study.design.columns, "factor")
    text = query.text("q")
    if not levels and not text:
        return table
    factors = study.design.trials(table["trial"].to_numpy().astype(np.int64), None if text else list(levels))
    keep = np.ones(table.height, dtype=np.bool_)
    for name, chosen_levels in levels.items():
        keep &= factors[name].cast(pl.String).is_in(chosen_levels).fill_null(value=False).to_numpy()
    if text and (places := np.flatnonzero(keep)).size:
        prompts = pl.Series([question.prompt for question in study.ask(factors[places])])
        keep[places] = prompts.str.contains(text, literal=True).to_numpy()
    return table.filter(pl.Series(keep))


def _rows(states: Sequence[RunState], table: pl.DataFrame) -> tuple[ComparedTrial, ...]:
    if not table.height:
        return ()
    first = states[0]
    trials = table["trial"].to_numpy().astype(np.int64)
    factors = first.run.study.design.trials(trials)
    replies = [_replies(state, table, at) for at, state in enumerate(states)]
    return tuple(
        ComparedTrial(
            row["trial"], factor_words(levels, factor_names(first.run), first.titles), pictures,
            shortened(question.prompt, _PROMPT), tuple(of_trial), row["flipped"], row["shift"],
        )
        for row, levels, question, pictures, *of_trial in zip(
            table.iter_rows(named=True), factors.iter_rows(named=True), first.run.study.ask(factors),
            listed(first, factors), *replies, strict=True,
        )
    )  # fmt: skip


def _replies(state: RunState, table: pl.DataFrame, at: int) -> list[ComparedReply]:
    index = index_of(state)
    keys = table.select(trial=pl.col(f"trial_{at}" if at else "trial"), repeat=pl.col(f"reply_{at}"))
    rows = answer_rows(state, index, index.places_of(keys))
    return [ComparedReply(state.number, row.trial, row.answer, row.why, row.reply, row.status) for row in rows]
