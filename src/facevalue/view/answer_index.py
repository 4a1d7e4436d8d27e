"""Index of a run's answers: all that are stored, in the order of trials, and where each of them lies."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.estimates import FIXED_COLUMNS
from facevalue.runs.stored_run import StoredRun
from facevalue.store.ranges import bring
from facevalue.store.reader import collected, read_responses, scan_responses, scan_stored
from facevalue.store.shards import checked, damaged, shard_paths
from facevalue.types import Status
from facevalue.view.open_runs import RunState

Places = npt.NDArray[np.signedinteger[Any]]
_AT_ONCE, _BYTES = 16, 8 * 2**20
"""Shards that are read together at most: some hundred thousand answers, or fewer with long replies."""
_TRIALS = 500_000
"""Trials of which levels are taken together."""
WAITING = "The answers are being indexed: a few seconds for some million."
FAILED = "The answers could not be indexed"
_REQUEST = ("trial", "repeat", "status")
_LAST = 2**32 - 1
"""The largest key."""
STATUSES = tuple(status.value for status in Status)


class AnswerIndex:
    """All stored requests of a run in the order of trials, as numbers: some 20 bytes for each, and one for each factor.

    Shards are read some at a time; of a request that is stored twice the row that counts stands for it, as in
    `scan_responses`.

    Parameters
    ----------
    run:
        The run.
    """

    def __init__(self, run: StoredRun) -> None:
        self.run = run
        self._shards = shard_paths(run.folder)
        """Shards in the order of storing."""
        size = run.study.design.size
        self._starts = np.cumsum([0, *(checked(path).rows for path in self._shards)])
        count = int(self._starts[-1])
        trial = np.empty(count, np.uint32 if size < 2**32 else np.int64)
        repeat, state = np.empty(count, np.uint8), np.empty(count, np.uint8)
        bring(run.folder, self._shards, _REQUEST, one_by_one=True)  # many at a time
        for path, start, stop in zip(self._shards, self._starts[:-1], self._starts[1:], strict=True):
            with _explain_merge():
                scanned = scan_stored(run.folder, among=[path], columns=_REQUEST).select(_REQUEST)
                rows = collected(run.folder, scanned)
            if rows.height != stop - start:
                raise damaged(path, DataError("it has more or fewer rows than it says"))
            trial[start:stop] = np.minimum(rows["trial"].to_numpy(), size)
            repeat[start:stop] = rows["repeat"].to_numpy()
            state[start:stop] = rows["status"].to_physical().to_numpy()
        self._stored = _rows_that_count(trial, repeat, state == STATUSES.index(Status.ERROR.value), size)
        """Place of each request's row in the order of storing."""
        self.trial, self.repeat, self.status = trial[self._stored], repeat[self._stored], state[self._stored]
        firsts = np.flatnonzero(np.diff(self.trial, prepend=size))
        self._first = None if firsts.size == self.trial.size else firsts.astype(np.int32)
        """Place of each trial's first request; None where each has one alone."""
        self._levels: dict[
            str, tuple[tuple[str, ...], npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64]]
        ] = {}

    @property
    def trials(self) -> Places:
        """Trials that were asked, each once."""
        return self.trials_of(self._first)

    def trials_of(self, places: Places | None) -> Places:
        """Trials of the requests at these places; of all where none are named."""
        return (self.trial if places is None else self.trial[places]).astype(np.int64)

    def take_levels(self, factors: Sequence[str]) -> None:
        """Take the levels of all trials, so that a page need not."""
        for factor in factors:
            self._number_levels(factor)

    def _number_levels(
        self, factor: str
    ) -> tuple[tuple[str, ...], npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64]]:
        """Levels of a factor, the place among them of each trial's (their number where it has none), and their counts.

        Counts are of requests.
        """
        if factor not in self._levels:
            design = self.run.study.design
            dtype = design.trials([0], [factor]).schema[factor]
            assert isinstance(dtype, pl.Enum)
            levels = tuple(dtype.categories)
            pieces, trials = [np.zeros(0, np.min_scalar_type(len(levels)))], self.trials
            for start in range(0, trials.size, _TRIALS):
                column = design.trials(trials[start : start + _TRIALS], [factor])[factor]
                codes = column.to_physical().cast(pl.UInt32).fill_null(len(levels)).to_numpy()
                pieces.append(codes.astype(pieces[0].dtype))
            of_trials = np.concatenate(pieces)
            counts = _counts(of_trials, self._requests(), len(levels) + 1)
            self._levels[factor] = levels, of_trials, counts
        return self._levels[factor]

    def _requests(self) -> npt.NDArray[np.int32] | None:
        """Number of each trial's requests; None where each has one."""
        return None if self._first is None else np.diff(self._first, append=np.int32(self.trial.size))

    def _is_at(self, factor: str, chosen_levels: Collection[str]) -> npt.NDArray[np.bool_]:
        levels, codes, _ = self._number_levels(factor)
        is_chosen: npt.NDArray[np.bool_] = np.array([level in chosen_levels for level in (*levels, "")])
        return is_chosen[codes]

    def trials_at(self, factor: str, chosen_levels: Collection[str]) -> Places:
        """Trials that were asked at one of these levels."""
        at = np.flatnonzero(self._is_at(factor, chosen_levels))
        return self.trials_of(at if self._first is None else self._first[at])

    def at_levels(self, factor: str, chosen_levels: Collection[str]) -> npt.NDArray[np.bool_]:
        """Mask of the requests whose trial has one of these levels; an empty level stands for none."""
        requests = self._requests()
        is_at = self._is_at(factor, chosen_levels)
        return is_at if requests is None else np.repeat(is_at, requests)

    def count_levels(self, factors: Sequence[str], places: Places) -> dict[str, list[tuple[str, int]]]:
        """Levels of factors, and how many of these requests have each; the commonest first, none without any."""
        is_left_out = 2 * places.size > self.trial.size  # then the fewer others are counted
        marks = np.zeros(self.trial.size, dtype=np.bool_)
        marks[places] = True
        if is_left_out:
            np.logical_not(marks, out=marks)
        requests = marks if self._first is None else np.add.reduceat(marks, self._first, dtype=np.int32)
        present = np.flatnonzero(requests)
        weights = None if self._first is None else requests[present]
        out = {}
        for factor in factors:
            levels, codes, of_all = self._number_levels(factor)
            counts = _counts(codes[present], weights, len(levels) + 1)
            counts = (of_all - counts if is_left_out else counts)[:-1]
            order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
            out[factor] = [(levels[at], int(counts[at])) for at in order]
        return out

    def looked_through(self, meets: pl.Expr) -> Iterator[tuple[int, int, Places]]:
        """Look through the stored rows, some shards at a time: rows so far, of how many, places of those that meet.

        Nothing but the columns that the condition takes is read.
        """
        for start, rows in self._some_rows(meets.fill_null(value=False)):
            first = int(self._starts[start])
            places = places_where((self._stored >= first) & (self._stored < first + rows.len()))
            yield first + rows.len(), int(self._starts[-1]), places[rows.to_numpy()[self._stored[places] - first]]

    def order(self, column: str) -> Places:
        """Places of all requests in the order of the numbers that are stored in a column, those without it last."""
        of = pl.col(column).to_physical().cast(pl.Float64)
        low, high = np.inf, -np.inf
        for _, rows in self._some_rows(of):
            if rows.null_count() < rows.len():
                low, high = min(low, float(str(rows.min()))), max(high, float(str(rows.max())))
        scale = (_LAST - 1) / (high - low) if high > low else 1.0
        by = pl.when(of.is_not_null()).then((of - low) * scale).otherwise(_LAST)
        keys = np.empty(int(self._starts[-1]), np.uint32)
        for start, rows in self._some_rows(by):
            keys[self._starts[start] : self._starts[start] + rows.len()] = rows.to_numpy()
        keys = keys[self._stored]
        return _by_key(keys)[0]

    def _some_rows(self, of: pl.Expr) -> Iterator[tuple[int, pl.Series]]:
        """Something of the stored rows of some shards at a time, with the place of the first of these."""
        start = 0
        while start < len(self._shards):
            with _explain_merge():
                sizes = np.cumsum([path.stat().st_size for path in self._shards[start : start + _AT_ONCE]])
                shards = self._shards[start : start + max(int((sizes <= _BYTES).sum()), 1)]
                rows = scan_stored(self.run.folder, timed=True, among=shards, columns=of.meta.root_names())
                yield start, collected(self.run.folder, rows.select(of.alias("value")))["value"]
            start += len(shards)

    def places_of(self, keys: pl.DataFrame) -> Places:
        """Places of stored requests; `keys`: their `trial` and `repeat`."""
        trial, repeat = (keys[name].to_numpy().astype(np.int64) for name in ("trial", "repeat"))
        return np.searchsorted(self.trials_of(None) * 256 + self.repeat, trial * 256 + repeat)

    def by_shard(self, places: Places) -> Places:
        """Order these places by the shards that hold their rows, so that neighbours are read together."""
        shards = np.searchsorted(self._starts, self._stored[places], side="right")
        return places[np.argsort(shards.astype(np.int32), kind="stable")]

    def as_stored(self, at_once: int) -> Iterator[Places]:
        """Places of all requests in the order of the shards that hold their rows, up to so many at a time."""
        for first, last in zip(self._starts[:-1], self._starts[1:], strict=True):
            places = places_where((self._stored >= first) & (self._stored < last))
            yield from (places[start : start + at_once] for start in range(0, places.size, at_once))

    def shards_of(self, places: Places) -> list[Path]:
        """Shards in which the rows of requests lie."""
        numbers = np.unique(np.searchsorted(self._starts, self._stored[places], side="right") - 1)
        return [self._shards[number] for number in numbers]

    def rows_of(self, trial: int) -> pl.DataFrame:
        """Stored rows of a trial."""
        return stored_rows(self.run, self, self.places_of_trial(trial))

    def _ends_of(self, trial: int) -> tuple[int, int]:
        """Place of a trial's first request, and the one after its last."""
        start, stop = np.searchsorted(self.trial, np.array([trial, trial + 1], dtype=self.trial.dtype)).tolist()
        return start, stop

    def places_of_trial(self, trial: int) -> Places:
        """Places of a trial's requests."""
        return np.arange(*self._ends_of(trial))

    def neighbour_trials(self, trial: int) -> tuple[int | None, int | None]:
        """The trials asked before and after a trial, in the order of their numbers."""
        before, after = self._ends_of(trial)
        return (
            int(self.trial[before - 1]) if before > 0 else None,
            int(self.trial[after]) if after < self.trial.size else None,
        )


def _rows_that_count(
    trial: npt.NDArray[Any], repeat: npt.NDArray[np.uint8], failed: npt.NDArray[np.bool_], size: int
) -> Places:
    """Rows that count, by request: of each the first that has not failed, else the first.

    Trials beyond the design's `size` do not count.
    """
    width = 2 * (int(repeat.max(initial=0)) + 1)
    key: npt.NDArray[np.integer[Any]] = trial.astype(np.uint32 if (size + 1) * width < 2**32 else np.int64)
    key *= width
    key += failed
    for number in range(1, width // 2):
        key[repeat == number] += 2 * number  # no copy of all repeats in wider numbers
    order, key = _by_key(key)
    key //= 2
    is_first = np.ones(key.size, dtype=np.bool_)
    np.not_equal(key[1:], key[:-1], out=is_first[1:])
    return order[is_first & (key < size * (width // 2))]


def _by_key(key: npt.NDArray[np.integer[Any]]) -> tuple[Places, npt.NDArray[np.integer[Any]]]:
    """Places in the order of keys, those of one key as they come, and the keys in that order."""
    if key.dtype != np.uint32 or key.size > _LAST:
        order = np.argsort(key, kind="stable")
        return order, key[order]
    pairs = np.empty(key.size, "<u8")  # place and key in one number: they are sorted where they are, without copies
    halves = pairs.view("<u4")
    halves[0::2], halves[1::2] = np.arange(key.size, dtype=np.uint32), key
    pairs.sort()
    return halves[0::2].astype(np.int32 if key.size < 2**31 else np.int64), halves[1::2].astype(np.uint32)


def places_where(chosen: npt.NDArray[np.bool_]) -> Places:
    """Places that are chosen; some at a time, as wider copies are made of them."""
    out: Places = np.empty(np.count_nonzero(chosen), np.int32 if chosen.size < 2**31 else np.int64)
    filled = 0
    for start in range(0, chosen.size, _TRIALS):
        places = np.flatnonzero(chosen[start : start + _TRIALS])
        out[filled : filled + places.size] = places + start
        filled += places.size
    return out


def _counts(codes: npt.NDArray[Any], weights: npt.NDArray[Any] | None, size: int) -> npt.NDArray[np.int64]:
    """Count how often each code comes, or sum its weights; done in pieces, as larger copies are made of them."""
    out = np.zeros(size, dtype=np.int64)
    for start in range(0, codes.size, _TRIALS):
        batch_weights = None if weights is None else weights[start : start + _TRIALS]
        out += np.bincount(codes[start : start + _TRIALS], batch_weights, size).astype(np.int64)
    return out


@contextmanager
def _explain_merge() -> Iterator[None]:
    """Read shards of an index; a run that goes on may have merged them since."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("The run goes on, and has just merged its files: look again in some seconds.") from error


def factor_names(run: StoredRun) -> list[str]:
    """Factors of a run's trials, names of files and pictures apart."""
    return [name for name in run.study.design.columns if name not in ("path", "image") and name not in FIXED_COLUMNS]


def index_of(state: RunState) -> AnswerIndex:
    """Index of a run's answers, made in the background.

    Raises
    ------
    NotYetError
        It is being made.
    DataError
        It cannot be made.
    """
    index = state.make_in_background("index", lambda: AnswerIndex(state.run), FAILED, WAITING)
    if state.rows_of is None:
        state.rows_of = index.rows_of
        if state.patience is not None:  # a reader who looks at pages is likely to look at lists of answers, too
            state.begin("levels", lambda: index.take_levels(factor_names(state.run)), FAILED)
    return index


def counted_index_of(state: RunState) -> AnswerIndex:
    """Index of a run's answers, with the levels of all trials, which lists count; it fails as `index_of` does."""
    index = index_of(state)
    state.make_in_background("levels", lambda: index.take_levels(factor_names(state.run)), FAILED, WAITING)
    return index


def stored_rows(run: StoredRun, index: AnswerIndex, places: Places) -> pl.DataFrame:
    """Stored requests at these places, in their order."""
    keys = pl.DataFrame(
        {"trial": index.trial[places].astype(np.uint64), "repeat": index.repeat[places]},
        schema={"trial": pl.UInt64, "repeat": pl.UInt8},
    )
    if not places.size:
        return keys.join(read_responses(run.folder, 1, 0), on=["trial", "repeat"])
    first, last = int(index.trial[places].min()), int(index.trial[places].max())
    is_of_trials = pl.col("trial").is_in(keys["trial"].unique().implode())
    with _explain_merge():
        rows = scan_responses(run.folder, first, last, timed=True, among=index.shards_of(places)).filter(is_of_trials)
        stored = collected(run.folder, rows)
    return keys.join(stored, on=["trial", "repeat"], how="left", maintain_order="left")
