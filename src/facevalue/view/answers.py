"""Answers of a run: an index of all that is stored, and pages of them with factors, replies and what they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from facevalue.answers.base import NA
from facevalue.errors import UnknownNameError
from facevalue.measures.estimates import FIXED
from facevalue.printable import short
from facevalue.report.answer_flips import shortened
from facevalue.report.formatting import Titles
from facevalue.runs.read_options import options_read_alike
from facevalue.runs.reply_words import said
from facevalue.runs.stored import StoredRun
from facevalue.thinking import spoken
from facevalue.types import Question
from facevalue.view.answer_index import STATUSES, AnswerIndex, Places, index_of, stored_rows
from facevalue.view.estimates import ColumnTitle, FacetLevel
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef, listed
from facevalue.view.query import Query

QUERY = ("run", "q", "status", "answer", "since", "until", "sort", "from", "n")
LONGEST = 20_000
"""Characters of a reply on its own page."""
_SHORT, _FACETS, _SEARCHED = 600, 60, 60_000
"""Characters of a reply in a list; levels of a factor; replies parsed to find some."""
_ASIDE = ("(", "score: ", "refused score", "unread", "reply", "mass", "repeat", "stored ")
MISSING, VALID = "missing", "valid"
"""What `answer` may be besides a reason for a missing answer."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """An answer in a list."""

    trial: int
    repeat: int
    factors: Mapping[str, str]
    status: str
    answer: str | None
    why: str | None
    """Reason for which there is no valid answer."""
    reply: str
    pictures: tuple[PictureRef, ...]
    when: datetime | None


@dataclass(frozen=True, slots=True)
class AnswersPage:
    """A page of answers, and what there is to choose from.

    `total` is null where only some replies could be looked through; `searched` says how many of how many.
    """

    total: int | None
    searched: tuple[int, int] | None
    factors: tuple[ColumnTitle, ...]
    facets: Mapping[str, tuple[FacetLevel, ...]]
    rows: tuple[AnswerRow, ...]


def answers(state: RunState, query: Query) -> AnswersPage:
    """A page of answers that meet a query."""
    index, (start, count) = index_of(state), query.page()
    chosen = _chosen(state, index, query)
    if reason := query.text("answer"):
        places, searched = _with_answer(state, index, chosen.places, reason, start + count)
        facets = facets_of(state, index, places)
    else:
        places, searched, facets = chosen.places, None, dict(chosen.facets)
        for name in query.levels("F.", state.run.study.design.columns, "factor"):  # levels beside the chosen one, too
            if name in facets:
                facets[name] = _chosen(state, index, query, without=name).facets[name]
    facets["answer"] = _kinds_of_answers(state)
    rows = answer_rows(state, index, places[start : start + count])
    return AnswersPage(None if searched else places.size, searched, factor_titles(state), facets, rows)


@dataclass
class _ChosenAnswers:
    """Answers that meet a query, and the levels that they have."""

    state: RunState
    index: AnswerIndex
    places: Places

    @cached_property
    def facets(self) -> dict[str, tuple[FacetLevel, ...]]:
        """Levels to choose from."""
        return facets_of(self.state, self.index, self.places)


def factor_names(run: StoredRun) -> list[str]:
    """Factors of a run's trials, names of files and pictures apart."""
    return [name for name in run.study.design.columns if name not in ("path", "image") and name not in FIXED]


def factor_titles(state: RunState) -> tuple[ColumnTitle, ...]:
    """Factors of a run's trials, and what they are called."""
    return tuple(ColumnTitle(name, state.titles.get("label", name)) for name in factor_names(state.run))


def _chosen(state: RunState, index: AnswerIndex, query: Query, without: str = "") -> _ChosenAnswers:
    """Answers that meet a query, in its order, but for one factor; kept for the next pages of the same."""
    names = state.run.study.design.columns
    levels = {name: sorted(of) for name, of in query.levels("F.", names, "factor").items() if name != without}
    status, text = query.text("status"), query.text("q")
    since, until = query.time("since"), query.time("until")
    order = query.order(("trial", "when", "latency"), "trial")
    if status and status not in STATUSES:
        raise UnknownNameError("status", short(status), STATUSES)

    def choose() -> _ChosenAnswers:
        keep = np.ones(index.trial.size, dtype=np.bool_)
        for name, chosen_levels in levels.items():
            keep &= index.at_levels(name, chosen_levels)
        if status:
            keep &= index.status == STATUSES.index(status)
        conditions = [pl.col("text").str.contains(text, literal=True)] if text else []
        conditions += [pl.col("at") >= since] if since else []
        conditions += [pl.col("at") <= until] if until else []
        if conditions:
            keep &= index.values(pl.all_horizontal(conditions).fill_null(value=False)).to_numpy()
        return _ChosenAnswers(state, index, _ordered(index, np.flatnonzero(keep).astype(np.int32), *order))

    return state.lately(f"places {levels} {status} {text} {since} {until} {order}", choose)


def _ordered(index: AnswerIndex, places: Places, column: str, largest_first: bool) -> Places:
    if column == "trial":
        return places[::-1] if largest_first else places
    values = index.values(pl.col({"when": "at", "latency": "latency_ms"}[column]))
    order = np.argsort(values.to_physical().to_numpy()[places], kind="stable")
    return places[order[::-1] if largest_first else order]


def _with_answer(
    state: RunState, index: AnswerIndex, places: Places, reason: str, enough: int
) -> tuple[Places, tuple[int, int] | None]:
    """Of these places those with such an answer, as many as are needed, looked for among so many replies."""
    reasons = {MISSING: pl.col("na").is_not_null(), VALID: pl.col("na").is_null()}
    meets = reasons.get(reason, pl.col("na").cast(pl.String) == reason)
    out: list[Places] = []
    step, count = 10_000, 0
    for start in range(0, min(places.size, _SEARCHED), step):
        some = places[start : start + step]
        rows = parsed(state.run, index, some)
        out.append(some[rows.select(meets.fill_null(value=False)).to_series().to_numpy()])
        count += out[-1].size
        if count >= enough and start + step < places.size:
            return np.concatenate(out), (start + step, places.size)
    searched = None if places.size <= _SEARCHED else (_SEARCHED, places.size)
    return (np.concatenate(out) if out else places[:0]), searched


def parsed(run: StoredRun, index: AnswerIndex, places: Places) -> pl.DataFrame:
    """What replies at these places mean, with their factors, and what is stored of them in columns of other names."""
    stored = stored_rows(run, index, places)
    factors = run.study.design.trials(index.trial[places])
    texts = stored.drop("trial").with_columns(spoken(pl.col("text")))
    answered = run.study.answer(
        pl.concat([factors, texts.select("repeat", "status", "text", "probs")], how="horizontal")
    )
    verbatim = stored.select(
        pl.all().exclude("trial", "repeat", "status").name.prefix("stored "),
    )
    return pl.concat([answered, verbatim], how="horizontal")


def answer_rows(state: RunState, index: AnswerIndex, places: Places) -> tuple[AnswerRow, ...]:
    """Answers at these places, for people."""
    run, titles = state.run, state.titles
    if not places.size:
        return ()
    rows = parsed(run, index, places)
    factors = run.study.design.trials(index.trial[places])
    questions = run.study.ask(factors)
    names = factor_names(run)
    out = []
    for row, question, pictures, answer in zip(
        rows.iter_rows(named=True), questions, listed(state, factors), meanings(run, rows, questions), strict=True
    ):
        reply = said(row["stored text"], row["stored probs"], question.options)
        out.append(
            AnswerRow(
                row["trial"], row["repeat"], factor_words(row, names, titles), row["status"],
                answer, reason_of(row, titles),
                shortened(reply, _SHORT), pictures, row["stored at"],
            )
        )  # fmt: skip
    return tuple(out)


def factor_words(row: Mapping[str, object], names: Sequence[str], titles: Titles) -> dict[str, str]:
    """Levels of a trial's factors in words."""
    out = {}
    for name in names:
        level = row.get(name)
        if level is not None:
            is_variation = name == "variation"
            attribute = row.get("attribute")
            out[name] = (
                titles.variation(None if attribute is None else str(attribute), str(level))
                if is_variation
                else titles.get(name, str(level))
            )
    return out


def meanings(run: StoredRun, rows: pl.DataFrame, questions: Sequence[Question]) -> list[str | None]:
    """What replies count as: the option that is read in the same way, or else the numbers; None without an answer."""
    numbers = [name for name in rows.columns if _is_number(run, name, rows.schema[name])]
    alike = options_read_alike(run, rows, questions, numbers)
    return [
        _meaning(row, numbers, [question.options[at].wording for at in places])
        for row, question, places in zip(rows.iter_rows(named=True), questions, alike, strict=True)
    ]


def _is_number(run: StoredRun, name: str, dtype: pl.DataType) -> bool:
    aside = name.startswith(_ASIDE) or name in (*run.study.design.columns, "trial", "block")
    return (dtype.is_numeric() or dtype == pl.Boolean) and not aside


def _meaning(row: Mapping[str, Any], numbers: Sequence[str], options: Sequence[str]) -> str | None:
    if row["na"] is not None:
        return None
    if row["stored probs"] is None and len(options) == 1:
        return options[0]
    if row.get("choice") is not None:
        return str(row["choice"])
    texts = [f"{name.replace('_', ' ')} {row[name]:g}" for name in numbers if row[name] is not None]
    return ", ".join(texts) or "valid"


def reason_of(row: Mapping[str, object], titles: Titles) -> str | None:
    """Why a reply has no valid answer, in words; None where it has one."""
    return None if row.get("na") is None else titles.get("reason", str(row["na"]))


def _kinds_of_answers(state: RunState) -> tuple[FacetLevel, ...]:
    """What `answer` may be; not counted, as replies would have to be parsed for it."""
    reasons = [(reason.value, state.titles.get("reason", reason.value)) for reason in NA]
    kinds = ((VALID, "Valid"), (MISSING, "Missing"), *reasons)
    return tuple(FacetLevel(level, title, None) for level, title in kinds)


def facets_of(state: RunState, index: AnswerIndex, places: Places) -> dict[str, tuple[FacetLevel, ...]]:
    """Levels to choose from, and how many of these answers have each."""
    counts = np.bincount(index.status[places], minlength=len(STATUSES))
    out = {"status": tuple(FacetLevel(s, s, int(n)) for s, n in zip(STATUSES, counts, strict=True) if n)}
    for name, levels in index.counted(factor_names(state.run), places).items():
        out[name] = tuple(FacetLevel(level, state.titles.get(name, level), n) for level, n in levels[:_FACETS])
    return out
