"""Answers of a run: an index of all that is stored, and pages of them with factors, replies and what they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers.base import NA
from facevalue.errors import UnknownNameError
from facevalue.measures.estimates import FIXED
from facevalue.parquet import read_table
from facevalue.printable import short
from facevalue.report.answer_flips import shortened
from facevalue.report.formatting import Titles
from facevalue.runs.reply_words import said
from facevalue.runs.stored import StoredRun
from facevalue.store.reader import collected, read_responses, scan_responses
from facevalue.store.shards import shard_paths
from facevalue.thinking import spoken
from facevalue.types import Question, Status
from facevalue.view.estimates import ColumnTitle, FacetLevel
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef, listed
from facevalue.view.query import Query

Places = npt.NDArray[np.signedinteger[Any]]
QUERY = ("run", "q", "status", "answer", "since", "until", "sort", "from", "n")
LONGEST = 20_000
"""Characters of a reply on its own page."""
_SHORT, _COUNTED, _FACETS, _SEARCHED = 600, 300_000, 60, 60_000
"""Characters of a reply in a list; answers up to which levels are counted; levels; replies parsed to find some."""
_UNKNOWN, _SEVERAL = -1, -2
_STATUSES = tuple(status.value for status in Status)
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


class AnswerIndex:
    """All stored requests of a run in the order of trials, as numbers: some tens of megabytes for five million.

    Parameters
    ----------
    run:
        The run.
    """

    def __init__(self, run: StoredRun) -> None:
        self.run = run
        last = run.study.design.size - 1
        rows = collected(run.folder, scan_responses(run.folder, 0, last).select("trial", "repeat", "status"))
        self.trial = rows["trial"].to_numpy().astype(np.int64)
        self.repeat = rows["repeat"].to_numpy()
        self.status = rows["status"].to_physical().to_numpy().astype(np.uint8)
        self._keys = self.trial * 256 + self.repeat
        self._shards = shard_paths(run.folder)
        self._shard = np.full(self._keys.size, _UNKNOWN, dtype=np.int32)
        """Shard of each request; of one that is stored twice any may count."""
        for number, path in enumerate(self._shards):
            stored = read_table(path, ["trial", "repeat"])
            keys = stored["trial"].to_numpy().astype(np.int64) * 256 + stored["repeat"].to_numpy()
            at = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
            at = at[self._keys[at] == keys]
            self._shard[at] = np.where(self._shard[at] == _UNKNOWN, number, _SEVERAL)
        self._first = np.flatnonzero(np.diff(self.trial, prepend=-1))
        """Place of each trial's first request."""

    @property
    def trials(self) -> Places:
        """Trials that were asked, each once."""
        return self.trial[self._first]

    def of_trials(self, keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """For each request whether its trial is kept."""
        return np.repeat(keep, np.diff(self._first, append=self.trial.size))

    def decoded(self, column: str) -> pl.Series:
        """A factor of each trial that was asked."""
        return self.run.study.design.trials(self.trials, [column])[column]

    def places_of(self, keys: pl.DataFrame) -> Places:
        """Places of stored requests; `keys`: their `trial` and `repeat`."""
        requests = keys["trial"].to_numpy().astype(np.int64) * 256 + keys["repeat"].to_numpy()
        return np.searchsorted(self._keys, requests)

    def shards_of(self, places: Places) -> list[Path]:
        """Shards in which requests are stored."""
        numbers = np.unique(self._shard[places])
        return self._shards if (numbers < 0).any() else [self._shards[number] for number in numbers]

    def rows_of(self, trial: int) -> pl.DataFrame:
        """What is stored of a trial."""
        start, stop = np.searchsorted(self.trial, trial), np.searchsorted(self.trial, trial, side="right")
        return stored_rows(self.run, self, np.arange(start, stop))

    def beside(self, trial: int) -> tuple[int | None, int | None]:
        """The trials asked before and after a trial, in the order of their numbers."""
        before, after = np.searchsorted(self.trial, trial), np.searchsorted(self.trial, trial, side="right")
        return (
            int(self.trial[before - 1]) if before > 0 else None,
            int(self.trial[after]) if after < self.trial.size else None,
        )


def index_of(state: RunState) -> AnswerIndex:
    """Index of a run's answers."""
    index = state.once("index", lambda: AnswerIndex(state.run))
    state.rows_of = index.rows_of
    return index


def answers(state: RunState, query: Query) -> AnswersPage:
    """A page of answers that meet a query."""
    index, (start, count) = index_of(state), query.page()
    chosen = _chosen(state, index, query)
    places, total = chosen.places, chosen.places.size
    reason, searched, facets = query.text("answer"), None, dict(chosen.facets)
    if reason:
        places, searched = _with_answer(state, index, places, reason, start + count)
        facets = _facets(state, index, places)
        total = places.size
    else:
        for name in query.levels("F.", state.run.study.design.columns, "factor"):  # levels beside the chosen one, too
            if name in facets:
                facets[name] = _chosen(state, index, query, without=name).facets[name]
    facets["answer"] = _kinds_of_answers(state)
    rows = answer_rows(state, index, places[start : start + count])
    return AnswersPage(None if searched else total, searched, _factor_titles(state), facets, rows)


@dataclass
class _ChosenAnswers:
    """Answers that meet a query, and the levels that they have."""

    state: RunState
    index: AnswerIndex
    places: Places

    @cached_property
    def facets(self) -> dict[str, tuple[FacetLevel, ...]]:
        """Levels to choose from."""
        return _facets(self.state, self.index, self.places)


def factor_names(run: StoredRun) -> list[str]:
    """Factors of a run's trials, names of files and pictures apart."""
    return [name for name in run.study.design.columns if name not in ("path", "image") and name not in FIXED]


def _factor_titles(state: RunState) -> tuple[ColumnTitle, ...]:
    return tuple(ColumnTitle(name, state.titles.get("label", name)) for name in factor_names(state.run))


def _chosen(state: RunState, index: AnswerIndex, query: Query, without: str = "") -> _ChosenAnswers:
    """Answers that meet a query, in its order, but for one factor; kept for the next pages of the same."""
    run, names = state.run, state.run.study.design.columns
    levels = {name: sorted(of) for name, of in query.levels("F.", names, "factor").items() if name != without}
    status, text = query.text("status"), query.text("q")
    since, until = query.time("since"), query.time("until")
    order = query.order(("trial", "when", "latency"), "trial")
    if status and status not in _STATUSES:
        raise UnknownNameError("status", short(status), _STATUSES)

    def choose() -> _ChosenAnswers:
        keep = np.ones(index.trial.size, dtype=np.bool_)
        for name, wanted in levels.items():
            column = index.decoded(name)
            is_level = column.cast(pl.String).is_in([level for level in wanted if level]).fill_null(value=False)
            keep &= index.of_trials((is_level | column.is_null() if "" in wanted else is_level).to_numpy())
        if status:
            keep &= index.status == _STATUSES.index(status)
        conditions = [pl.col("text").str.contains(text, literal=True)] if text else []
        conditions += [pl.col("at") >= since] if since else []
        conditions += [pl.col("at") <= until] if until else []
        if conditions:
            rows = scan_responses(run.folder, timed=True).filter(conditions).select("trial", "repeat")
            meets = np.zeros(keep.size, dtype=np.bool_)
            meets[index.places_of(collected(run.folder, rows))] = True
            keep &= meets
        return _ChosenAnswers(state, index, _ordered(run, index, np.flatnonzero(keep).astype(np.int32), *order))

    return state.lately(f"places {levels} {status} {text} {since} {until} {order}", choose)


def _ordered(run: StoredRun, index: AnswerIndex, places: Places, column: str, largest_first: bool) -> Places:
    if column == "trial":
        return places[::-1] if largest_first else places
    name = {"when": "at", "latency": "latency_ms"}[column]
    rows = collected(run.folder, scan_responses(run.folder, timed=True).select("trial", "repeat", name))
    values = rows[name].to_physical().to_numpy()[places] if rows.height == index.trial.size else places
    order = np.argsort(values, kind="stable")
    return places[order[::-1] if largest_first else order]


def _with_answer(
    state: RunState, index: AnswerIndex, places: Places, reason: str, enough: int
) -> tuple[Places, tuple[int, int] | None]:
    """Of these places those with such an answer, as many as are needed, looked for among so many replies."""
    reasons = {MISSING: pl.col("na").is_not_null(), VALID: pl.col("na").is_null()}
    meets = reasons.get(reason, pl.col("na").cast(pl.String) == reason)
    out: list[Places] = []
    step = 10_000
    for start in range(0, min(places.size, _SEARCHED), step):
        some = places[start : start + step]
        rows = parsed(state.run, index, some)
        out.append(some[rows.select(meets.fill_null(value=False)).to_series().to_numpy()])
        if sum(piece.size for piece in out) >= enough and start + step < places.size:
            return np.concatenate(out), (start + step, places.size)
    searched = None if places.size <= _SEARCHED else (_SEARCHED, places.size)
    return (np.concatenate(out) if out else places[:0]), searched


def stored_rows(run: StoredRun, index: AnswerIndex, places: Places) -> pl.DataFrame:
    """Stored requests at these places, in their order."""
    keys = pl.DataFrame(
        {"trial": index.trial[places].astype(np.uint64), "repeat": index.repeat[places]},
        schema={"trial": pl.UInt64, "repeat": pl.UInt8},
    )
    if not places.size:
        return keys.join(read_responses(run.folder, 1, 0), on=["trial", "repeat"])
    first, last = int(index.trial[places].min()), int(index.trial[places].max())
    wanted = pl.col("trial").is_in(keys["trial"].unique().implode())
    rows = collected(
        run.folder, scan_responses(run.folder, first, last, timed=True, among=index.shards_of(places)).filter(wanted)
    )
    return keys.join(rows, on=["trial", "repeat"], how="left", maintain_order="left")


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


def answer_rows(state: RunState, index: AnswerIndex, places: Places, longest: int = _SHORT) -> tuple[AnswerRow, ...]:
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
                shortened(reply, longest) if longest == _SHORT else reply[:longest], pictures, row["stored at"],
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
    texts = [[f"{option.label} {option.text}".strip() for option in question.options] for question in questions]
    sampled = rows["stored probs"].is_null().to_list()
    at = [place for place, of in enumerate(texts) if sampled[place] for _ in of]
    read_alike: dict[int, list[str]] = {}
    if at:
        trials = rows["trial"].to_numpy().astype(np.int64)[at]
        replies = [text for place, of in enumerate(texts) if sampled[place] for text in of]
        read_again = pl.DataFrame({"repeat": rows["repeat"].gather(at), "text": replies}).select(
            "repeat",
            pl.lit(Status.OK.value, rows.schema["status"]).alias("status"),
            "text",
            pl.lit(None, pl.List(pl.Float32)).alias("probs"),
        )
        options = run.study.answer(pl.concat([run.study.design.trials(trials), read_again], how="horizontal"))
        alike = zip(at, replies, options.select(numbers).iter_rows(), options["na"].is_null(), strict=True)
        of_rows = list(rows.select(numbers).iter_rows())
        for place, text, values, is_valid in alike:
            if is_valid and values == of_rows[place]:
                read_alike.setdefault(place, []).append(text)
    return [_meaning(row, numbers, read_alike.get(place, [])) for place, row in enumerate(rows.iter_rows(named=True))]


def _is_number(run: StoredRun, name: str, dtype: pl.DataType) -> bool:
    aside = name.startswith(_ASIDE) or name in (*run.study.design.columns, "trial", "block")
    return (dtype.is_numeric() or dtype == pl.Boolean) and not aside


def _meaning(row: Mapping[str, Any], numbers: Sequence[str], options: Sequence[str]) -> str | None:
    if row["na"] is not None:
        return None
    if len(options) == 1:
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


def _facets(state: RunState, index: AnswerIndex, places: Places) -> dict[str, tuple[FacetLevel, ...]]:
    """Levels to choose from; counted where that is quick."""
    names = factor_names(state.run)
    counts = np.bincount(index.status[places], minlength=len(_STATUSES))
    out = {"status": tuple(FacetLevel(s, s, int(n)) for s, n in zip(_STATUSES, counts, strict=True) if n)}
    if places.size > _COUNTED:
        return out | state.once("levels", lambda: _levels(state))
    frame = state.run.study.design.trials(index.trial[places], names)
    for name in names:
        counted = frame[name].drop_nulls().cast(pl.String).value_counts(sort=True).head(_FACETS)
        out[name] = tuple(FacetLevel(level, _title(state, name)(level), count) for level, count in counted.iter_rows())
    return out


def _levels(state: RunState) -> dict[str, tuple[FacetLevel, ...]]:
    """Levels that factors of the design have."""
    sample = state.run.study.design.trials(np.zeros(1, dtype=np.int64), factor_names(state.run))
    out = {}
    for name in factor_names(state.run):
        dtype = sample[name].dtype
        levels = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else []
        out[name] = tuple(FacetLevel(level, _title(state, name)(level), None) for level in levels[:_FACETS])
    return out


def _title(state: RunState, name: str) -> Callable[[str], str]:
    return lambda level: state.titles.get(name, level)
