"""Index of a run's answers: all that are stored, in the order of trials, and where each of them lies."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.runs.stored import StoredRun
from facevalue.store.reader import collected, read_responses, scan_responses, scan_stored
from facevalue.store.shards import shard_paths
from facevalue.types import Status
from facevalue.view.opened import RunState

Places = npt.NDArray[np.signedinteger[Any]]
_AT_ONCE = 16
"""Shards that are read together: some hundred thousand answers."""
STATUSES = tuple(status.value for status in Status)


class AnswerIndex:
    """All stored requests of a run in the order of trials, as numbers: some 25 bytes for each.

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
        last = run.study.design.size - 1
        keys, status, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)], [0]
        for path in self._shards:
            rows = collected(run.folder, scan_stored(run.folder, among=[path]).select("trial", "repeat", "status"))
            trial = rows["trial"].to_numpy()
            keys.append(np.where(trial <= last, _keys(trial, rows["repeat"].to_numpy()), -1))
            status.append(rows["status"].to_physical().to_numpy().astype(np.uint8))
            sizes.append(rows.height)
        self._starts = np.cumsum(sizes)
        key, state = np.concatenate(keys), np.concatenate(status)
        keys.clear()  # of five million answers every such list counts
        order = np.argsort(key * 2 + (state == STATUSES.index(Status.ERROR.value)), kind="stable")
        key = key[order]
        first = (np.diff(key, prepend=-1) != 0) & (key >= 0)
        self._stored: Places = order[first].astype(np.int32 if key.size < 2**31 else np.int64)
        """Place of each request's row in the order of storing."""
        self._keys = key[first]
        self.trial = self._keys >> 8
        self.repeat = (self._keys & 255).astype(np.uint8)
        self.status = state[self._stored]
        self._first = np.flatnonzero(np.diff(self.trial, prepend=-1))
        """Place of each trial's first request."""
        self._codes: dict[str, tuple[tuple[str, ...], npt.NDArray[np.unsignedinteger[Any]]]] = {}

    @property
    def trials(self) -> Places:
        """Trials that were asked, each once."""
        return self.trial[self._first]

    def _coded(self, factor: str) -> tuple[tuple[str, ...], npt.NDArray[np.unsignedinteger[Any]]]:
        """Levels of a factor, and the place among them of each trial's; their number where it has none."""
        if factor not in self._codes:
            column = self.run.study.design.trials(self.trials, [factor])[factor]
            assert isinstance(column.dtype, pl.Enum)
            levels = tuple(column.dtype.categories)
            codes = column.to_physical().cast(pl.UInt32).fill_null(len(levels)).to_numpy()
            self._codes[factor] = levels, codes.astype(np.min_scalar_type(len(levels)))
        return self._codes[factor]

    def _is_at(self, factor: str, chosen_levels: Collection[str]) -> npt.NDArray[np.bool_]:
        levels, codes = self._coded(factor)
        is_chosen: npt.NDArray[np.bool_] = np.array([level in chosen_levels for level in (*levels, "")])
        return is_chosen[codes]

    def trials_at(self, factor: str, chosen_levels: Collection[str]) -> Places:
        """Trials that were asked at one of these levels."""
        return self.trials[self._is_at(factor, chosen_levels)]

    def at_levels(self, factor: str, chosen_levels: Collection[str]) -> npt.NDArray[np.bool_]:
        """For each request whether its trial has one of these levels; an empty one stands for none."""
        return np.repeat(self._is_at(factor, chosen_levels), np.diff(self._first, append=self.trial.size))

    def counted(self, factors: Sequence[str], places: Places) -> dict[str, list[tuple[str, int]]]:
        """Levels of factors, and how many of these requests have each; the commonest first, none without any."""
        chosen = np.zeros(self.trial.size, dtype=np.int32)
        chosen[places] = 1
        of_trial = np.add.reduceat(chosen, self._first) if chosen.size else chosen
        out = {}
        for factor in factors:
            levels, codes = self._coded(factor)
            counts = np.bincount(codes, of_trial, len(levels) + 1)[:-1].astype(np.int64)
            order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
            out[factor] = [(levels[at], int(counts[at])) for at in order]
        return out

    def values(self, of: pl.Expr) -> pl.Series:
        """Something of the stored row of each request; nothing but the columns that it takes is read."""
        folder, pieces = self.run.folder, []
        for start in range(0, max(len(self._shards), 1), _AT_ONCE):
            with _unmerged():
                rows = scan_stored(folder, timed=True, among=self._shards[start : start + _AT_ONCE])
                pieces.append(collected(folder, rows.select(of.alias("value"))))
        return pl.concat(pieces)["value"].gather(self._stored)

    def places_of(self, keys: pl.DataFrame) -> Places:
        """Places of stored requests; `keys`: their `trial` and `repeat`."""
        return np.searchsorted(self._keys, _keys(keys["trial"].to_numpy(), keys["repeat"].to_numpy()))

    def shards_of(self, places: Places) -> list[Path]:
        """Shards in which the rows of requests lie."""
        numbers = np.unique(np.searchsorted(self._starts, self._stored[places], side="right") - 1)
        return [self._shards[number] for number in numbers]

    def rows_of(self, trial: int) -> pl.DataFrame:
        """What is stored of a trial."""
        return stored_rows(self.run, self, self.places_of_trial(trial))

    def places_of_trial(self, trial: int) -> Places:
        """Places of a trial's requests."""
        start, stop = np.searchsorted(self.trial, [trial, trial + 1]).tolist()
        return np.arange(start, stop)

    def beside(self, trial: int) -> tuple[int | None, int | None]:
        """The trials asked before and after a trial, in the order of their numbers."""
        before, after = np.searchsorted(self.trial, [trial, trial + 1])
        return (
            int(self.trial[before - 1]) if before > 0 else None,
            int(self.trial[after]) if after < self.trial.size else None,
        )


@contextmanager
def _unmerged() -> Iterator[None]:
    """Read shards of an index; a run that goes on may have merged them since."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("The run goes on, and has just merged its files: look again in some seconds.") from error


def _keys(trial: npt.NDArray[Any], repeat: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return trial.astype(np.int64) * 256 + repeat


def index_of(state: RunState) -> AnswerIndex:
    """Index of a run's answers."""
    index = state.once("index", lambda: AnswerIndex(state.run))
    state.rows_of = index.rows_of
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
    with _unmerged():
        rows = scan_responses(run.folder, first, last, timed=True, among=index.shards_of(places)).filter(is_of_trials)
        stored = collected(run.folder, rows)
    return keys.join(stored, on=["trial", "repeat"], how="left", maintain_order="left")
