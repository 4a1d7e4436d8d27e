"""Answers of a run: an index of all that is stored, and pages of them with factors, replies and what they mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers.base import NA
from facevalue.answers.form_fields import READ_FIELDS, fields_read
from facevalue.errors import UnknownNameError
from facevalue.printable import short
from facevalue.report.comparison_page import shorten_text
from facevalue.report.formatting import Titles
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.reviews.replies import options_read_alike
from facevalue.runs.stored_run import StoredRun
from facevalue.thinking import remove_thinking
from facevalue.types import Question
from facevalue.view.answer_index import (
    STATUSES,
    AnswerIndex,
    Places,
    counted_index_of,
    factor_names,
    places_where,
    stored_rows,
)
from facevalue.view.estimates import ColumnTitle, FacetLevel
from facevalue.view.open_runs import RunState
from facevalue.view.pictures import PictureRef, list_pictures
from facevalue.view.query import Piece, Query, Search, SearchedPlaces

QUERY = ("run", "q", "status", "answer", "since", "until", "sort", "from", "n")
LONGEST = 20_000
"""Characters of a reply on its own page."""
_SHORT, _FACETS, _PARSED = 600, 60, 5_000
"""Characters of a reply in a list; levels of a factor; replies that are parsed at a time to find some."""
_SORTED = {"when": "at", "latency": "latency_ms"}
"""Stored columns that answers are sorted by."""
_SORTING = "The answers are being put in order: a few seconds for some million."
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

    `total` is null where only some replies were looked through so far; `searched` says how many of how many, `pending`
    whether the search goes on by itself: the page asks again.
    """

    total: int | None
    searched: tuple[int, int] | None
    pending: bool
    factors: tuple[ColumnTitle, ...]
    facets: Mapping[str, tuple[FacetLevel, ...]]
    rows: tuple[AnswerRow, ...]


def answers(state: RunState, query: Query) -> AnswersPage:
    """A page of answers that meet a query."""
    index, (start, count) = counted_index_of(state), query.page()
    request = _read_query(state, query)
    searching = _looked_for(state, index, request)
    chosen = _is_wanted(index, request)
    places = _order_places(
        state, index, request, places_where(chosen) if searching is None else _sort_chosen(searching.places, chosen)
    )
    searched, pending = (None, False) if searching is None else (searching.searched, searching.pending)
    if request.reason and not pending:
        replies = state.make_recent(f"replies {request}", lambda: Search(_with_answer(state, index, request, places)))
        parsing = replies.so_far(state.patience, start + count)
        places, searched, pending = parsing.places, parsing.searched, parsing.pending
    facets = facets_of(state, index, places)
    if not request.reason:
        for name in request.levels:  # levels beside the chosen one, too
            if name in facets:
                of_others = _is_wanted(index, request, without=name)
                others = places_where(of_others) if searching is None else _sort_chosen(searching.places, of_others)
                facets[name] = _levels(state, name, index.count_levels([name], others)[name])
    facets["answer"] = _kinds_of_answers(state)
    rows = answer_rows(state, index, places[start : start + count])
    total = None if searched else places.size
    return AnswersPage(total, searched, pending, factor_titles(state), facets, rows)


@dataclass(frozen=True)
class _Wanted:
    """Filters and order of a query for answers."""

    levels: Mapping[str, Sequence[str]]
    status: str
    text: str
    since: datetime | None
    until: datetime | None
    reason: str
    order: tuple[str, bool]


def factor_titles(state: RunState) -> tuple[ColumnTitle, ...]:
    """Factors of a run's trials, and what they are called."""
    return tuple(ColumnTitle(name, state.titles.get("label", name)) for name in factor_names(state.run))


def _read_query(state: RunState, query: Query) -> _Wanted:
    names = state.run.study.design.columns
    status = query.text("status")
    if status and status not in STATUSES:
        raise UnknownNameError("status", short(status), STATUSES)
    return _Wanted(
        {name: sorted(levels) for name, levels in query.levels("F.", names, "factor").items()},
        status,
        query.text("q"),
        query.time("since"),
        query.time("until"),
        query.text("answer"),
        query.order(("trial", *_SORTED), "trial"),
    )


def _looked_for(state: RunState, index: AnswerIndex, request: _Wanted) -> SearchedPlaces | None:
    """Answers with the words and of the times that are wanted, as far as they were looked for; None for any."""
    conditions = [pl.col("text").str.contains(request.text, literal=True)] if request.text else []
    conditions += [pl.col("at") >= request.since] if request.since else []
    conditions += [pl.col("at") <= request.until] if request.until else []
    if not conditions:
        return None
    name = f"words {request.text} {request.since} {request.until}"
    meets = pl.all_horizontal(conditions)
    return state.make_recent(name, lambda: Search(index.looked_through(meets))).so_far(state.patience)


def _is_wanted(index: AnswerIndex, request: _Wanted, without: str = "") -> npt.NDArray[np.bool_]:
    """Mask of the requests that have the wanted levels and status, but for one factor."""
    chosen = np.ones(index.trial.size, dtype=np.bool_)
    for name, chosen_levels in request.levels.items():
        if name != without:
            chosen &= index.at_levels(name, chosen_levels)
    if request.status:
        chosen &= index.status == STATUSES.index(request.status)
    return chosen


def _sort_chosen(places: Places, chosen: npt.NDArray[np.bool_]) -> Places:
    """Chosen requests of some places, in the order of trials."""
    return np.sort(places[chosen[places]])


def _order_places(state: RunState, index: AnswerIndex, request: _Wanted, places: Places) -> Places:
    column, largest_first = request.order
    if column != "trial":
        of = _SORTED[column]
        order = state.make_in_background(
            f"order {column}", lambda: index.order(of), "The answers could not be put in order", _SORTING
        )
        chosen = np.zeros(index.trial.size, dtype=np.bool_)
        chosen[places] = True
        places = order[chosen[order]]
    return places[::-1] if largest_first else places


def _with_answer(state: RunState, index: AnswerIndex, request: _Wanted, places: Places) -> Iterator[Piece]:
    """Places with the wanted answer, for which replies are parsed; by files where it may be."""
    reasons = {MISSING: pl.col("na").is_not_null(), VALID: pl.col("na").is_null()}
    meets = reasons.get(request.reason, pl.col("na").cast(pl.String) == request.reason).fill_null(value=False)
    if request.order == ("trial", False):
        places = index.by_shard(places)
    for start in range(0, places.size, _PARSED):
        batch = places[start : start + _PARSED]
        rows = parse_replies(state.run, index, batch).select(meets).to_series()
        yield min(start + _PARSED, places.size), places.size, batch[rows.to_numpy()]


def parse_replies(run: StoredRun, index: AnswerIndex, places: Places) -> pl.DataFrame:
    """Parse the replies at these places: their meaning and factors, and stored columns under other names."""
    stored = stored_rows(run, index, places)
    verbatim = stored.select(
        pl.all().exclude("trial", "repeat", "status").name.prefix("stored "),
    )
    return pl.concat([run.study.answer(replies_read(run, stored)), verbatim], how="horizontal")


def replies_read(run: StoredRun, stored: pl.DataFrame) -> pl.DataFrame:
    """Stored replies with the factors of their trials, as a study reads them: what is said after thinking."""
    texts = stored.with_columns(remove_thinking(pl.col("text"))).select(run.study.reading.columns)
    return pl.concat([run.study.design.trials(stored["trial"].to_numpy()), texts], how="horizontal")


def answer_rows(state: RunState, index: AnswerIndex, places: Places) -> tuple[AnswerRow, ...]:
    """Answers at these places, for people."""
    run, titles = state.run, state.titles
    if not places.size:
        return ()
    rows = parse_replies(run, index, places)
    factors = run.study.design.trials(index.trials_of(places))
    questions = run.study.ask(factors)
    names = factor_names(run)
    out = []
    for row, question, pictures, answer in zip(
        rows.iter_rows(named=True),
        questions,
        list_pictures(state, factors),
        meanings(run, rows, questions),
        strict=True,
    ):
        reply = reply_text(row["stored text"], row["stored probs"], question.options)
        out.append(
            AnswerRow(
                row["trial"], row["repeat"], factor_words(row, names, titles), row["status"],
                answer, reason_of(row, titles),
                shorten_text(reply, _SHORT), pictures, row["stored at"],
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
    """Meaning of each reply: the option read in the same way, or else fields or numbers; None without an answer."""
    numbers = [name for name in rows.columns if _is_number(run, name, rows.schema[name])]
    options_alike = options_read_alike(run, rows, questions, numbers)
    return [
        _meaning(row, numbers, [question.options[at].wording for at in places])
        for row, question, places in zip(rows.iter_rows(named=True), questions, options_alike, strict=True)
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
    if row.get(READ_FIELDS) is not None:
        return "; ".join(f"{name}: {', '.join(read) or 'nothing'}" for name, read in fields_read(row[READ_FIELDS]))
    texts = [f"{name.replace('_', ' ')} {row[name]:g}" for name in numbers if row[name] is not None]
    return ", ".join(texts) or "valid"


def reason_of(row: Mapping[str, object], titles: Titles) -> str | None:
    """Reason why a reply has no valid answer, in words; None where it has one."""
    return None if row.get("na") is None else titles.get("reason", str(row["na"]))


def _kinds_of_answers(state: RunState) -> tuple[FacetLevel, ...]:
    """Levels of the filter `answer`; not counted, as replies would have to be parsed for it."""
    reasons = [(reason.value, state.titles.get("reason", reason.value)) for reason in NA]
    kinds = ((VALID, "Valid"), (MISSING, "Missing"), *reasons)
    return tuple(FacetLevel(level, title, None) for level, title in kinds)


def facets_of(state: RunState, index: AnswerIndex, places: Places) -> dict[str, tuple[FacetLevel, ...]]:
    """Levels to choose from, and how many of these answers have each."""
    counts = np.bincount(index.status[places], minlength=len(STATUSES))
    out = {"status": tuple(FacetLevel(s, s, int(n)) for s, n in zip(STATUSES, counts, strict=True) if n)}
    for name, levels in index.count_levels(factor_names(state.run), places).items():
        out[name] = _levels(state, name, levels)
    return out


def _levels(state: RunState, name: str, levels: Sequence[tuple[str, int]]) -> tuple[FacetLevel, ...]:
    return tuple(FacetLevel(level, state.titles.get(name, level), n) for level, n in levels[:_FACETS])
