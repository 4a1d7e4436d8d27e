"""Completion of a run: which requests are stored, and with which status, in a byte each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import RunError
from facevalue.parquet import read_table
from facevalue.protocol.study import Study
from facevalue.runs.requests import Index, TrialNumbers
from facevalue.runs.stored_run import describe_bad_rows, odd_rows
from facevalue.store.files import MANIFEST
from facevalue.store.manifest import RunManifest
from facevalue.store.schema import STATUS
from facevalue.store.shards import (
    UNREADABLE,
    check_owner,
    damaged,
    inspect,
    number_of,
    set_aside,
    shard_paths,
    write_shard,
)
from facevalue.thinking import remove_thinking
from facevalue.types import Status

# Retries: replies without a valid answer, as the study reads them.


def without_answer(study: Study, responses: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Mask of the stored responses that are replies without a valid answer; those with an error are no replies."""
    return missing_reasons(study, responses).is_not_null().to_numpy()


def missing_reasons(study: Study, responses: pl.DataFrame) -> pl.Series:
    """Reason why each stored response holds no valid answer; null where it does, or where it is an error."""
    replied = np.flatnonzero((responses["status"] != "error").to_numpy())
    replies = responses.select("trial", *study.reading.columns)[replied].with_columns(remove_thinking(pl.col("text")))
    frame = study.design.trials(replies["trial"].to_numpy().astype(np.int64))
    answered = study.answer(pl.concat([frame, replies.drop("trial")], how="horizontal"))
    return (
        pl.Series("na", [None], pl.String)
        .new_from_index(0, responses.height)
        .scatter(replied, answered["na"].cast(pl.String))
    )


_CODES = {name: code + 1 for code, name in enumerate(STATUS.categories)}  # 0 is "not stored"
_ERROR = _CODES[Status.ERROR]
_BLOCK = 2**22


class Completion:
    """State of every request of a run.

    The array is one byte per request and, where nothing is stored, not even touched: the system hands out such pages
    only when they are written to. Runs of 10^7 requests need 10 MB at most.
    """

    def __init__(self, numbers: TrialNumbers, repeats: int, reasks: int) -> None:
        self.numbers = numbers
        self.repeats = repeats
        self.width = repeats * (1 + reasks)
        self.prompt_tokens = 0
        self.completion_tokens = 0
        try:
            self._state = np.zeros((numbers.size, self.width), dtype=np.uint8)
            # Which replies have no valid answer; only where that is a reason to ask again.
            self._invalid = np.zeros((numbers.size if reasks else 0, self.width), dtype=np.bool_)
        except (MemoryError, ValueError) as error:
            raise RunError(f"{numbers.size:,} trials are too many for one run: choose a sample.") from error

    @property
    def requests(self) -> int:
        """Requests of the run, re-asks not counted."""
        return self.numbers.size * self.repeats

    def load(self, folder: Path, facts: RunManifest, study: Study) -> list[str]:
        """Enter what a run folder holds; what is damaged or cannot count is set aside, so that it is asked again."""
        paths = shard_paths(folder)
        warnings = [
            f"{name} is listed in {folder / MANIFEST}, but not there: its trials are asked again."
            for name in sorted(set(facts.shards) - {path.name for path in paths})
        ]
        for path in paths:
            try:
                check_owner(inspect(path), facts, folder)
                # All of it, not the columns needed here alone: damage anywhere must show now, not when it is measured.
                frame = read_table(path)
                odd = odd_rows(study, frame, self.width)
            except UNREADABLE as error:
                broken = set_aside(path)
                reason = str(error).splitlines()[0]
                warnings.append(
                    f"{path} is cut short or damaged ({reason}): renamed to {broken.name}, its trials are asked again."
                )
                continue
            except OSError as error:
                raise damaged(path, error) from error
            if fault := describe_bad_rows(frame, odd):
                frame = frame.filter(odd.is_null())
                if frame.height:
                    write_shard(folder, number_of(path), frame, facts.id)
                warnings.append(f"{path}: {fault} Renamed to {set_aside(path).name}; what counts of it is stored anew.")
            if not self.enter(frame):
                raise RunError(
                    f"{path} holds trials that this run doesn't have: it belongs to another run. Name another folder."
                )
            if self._invalid.size:
                self.mark(frame.filter(without_answer(study, frame)))
        return warnings

    def enter(self, frame: pl.DataFrame) -> bool:
        """Enter stored rows, and say whether all are of this run. An answer gives way to no error and no other."""
        trials = frame["trial"].to_numpy().astype(np.int64)
        repeats = frame["repeat"].to_numpy().astype(np.int64)
        codes = (frame["status"].to_physical().to_numpy() + 1).astype(np.uint8)
        positions, in_run = self.numbers.positions(trials)
        in_run &= repeats < self.width
        positions, repeats, codes = positions[in_run], repeats[in_run], codes[in_run]
        before = self._state[positions, repeats]
        better = (before == 0) | (before == _ERROR)
        # Written backwards, so that of several rows of one request the first stays; errors first, so that they lose.
        for rows in (np.flatnonzero(better & (codes == _ERROR)), np.flatnonzero(better & (codes != _ERROR))[::-1]):
            self._state[positions[rows], repeats[rows]] = codes[rows]
        self.prompt_tokens += int(frame["prompt_tokens"].sum())
        self.completion_tokens += int(frame["completion_tokens"].sum())
        return bool(in_run.all())

    def mark(self, frame: pl.DataFrame) -> None:
        """Enter rows whose replies have no valid answer, of a run that asks again for that reason."""
        if self._invalid.size:
            positions, in_run = self.numbers.positions(frame["trial"].to_numpy().astype(np.int64))
            self._invalid[positions[in_run], frame["repeat"].to_numpy()[in_run]] = True

    def open(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Mask of the requests at a range of positions still to be asked: positions x repeats, without re-asks."""
        state = self._state[start:stop, : self.repeats]
        return (state == 0) | (state == _ERROR)

    def open_requests(self, positions: Index, again: int, *, only_failed: bool = False) -> npt.NDArray[np.bool_]:
        """Mask of the requests of these trials still to be made in a round: positions x (repeats, those of re-asks).

        Round 0 is the protocol's own; later ones ask again where the round before brought no valid answer. With
        `only_failed` it is what failed of the first.
        """
        state = self._state[positions]
        out = (state == _ERROR) if only_failed and not again else (state == 0) | (state == _ERROR)
        columns = slice(again * self.repeats, (again + 1) * self.repeats)
        if again:
            out[:, columns] &= self._invalid[positions, (again - 1) * self.repeats : again * self.repeats]
        out[:, : columns.start] = False
        out[:, columns.stop :] = False
        return out

    def count_stored(self) -> int:
        """Requests that have an answer of whatever kind, re-asks left out."""
        return sum(int(((block != 0) & (block != _ERROR))[:, : self.repeats].sum()) for block in self._blocks())

    def count_unasked(self) -> int:
        """Requests that were never answered nor failed, re-asks left out."""
        return sum(int((block[:, : self.repeats] == 0).sum()) for block in self._blocks())

    def counts(self) -> dict[str, int]:
        """Requests by status, re-asks included."""
        total = np.zeros(len(_CODES) + 1, dtype=np.int64)
        for block in self._blocks():
            total += np.bincount(block.ravel(), minlength=total.size)
        return {name: int(total[code]) for name, code in _CODES.items()}

    def one_each(self, stimuli: Callable[[Index], Index], limit: int) -> tuple[Index, Index]:
        """Select one stored request about each stimulus: trials and repeats; always the same."""
        chunks: list[tuple[Index, Index, Index]] = []
        start = 0
        for block in self._blocks():
            has = (block != 0) & (block != _ERROR)
            # In an order drawn by seed, so that not the same question is looked at for every stimulus.
            rows = np.random.default_rng(start).permutation(np.flatnonzero(has.any(axis=1)).astype(np.int64))
            trials = self.numbers.take(rows + start)
            numbers, first = np.unique(stimuli(trials), return_index=True)
            some = _spread(numbers.size, limit)
            chunks.append((numbers[some], trials[first[some]], has[rows[first[some]]].argmax(axis=1).astype(np.int64)))
            start += block.shape[0]
        columns = zip(*chunks, strict=True)
        numbers, trials, repeats = (
            (np.concatenate(column) for column in columns) if chunks else [np.zeros(0, np.int64)] * 3
        )
        _, first = np.unique(numbers, return_index=True)
        some = first[_spread(first.size, limit)]
        return trials[some], repeats[some]

    def _blocks(self) -> Iterator[npt.NDArray[np.uint8]]:
        step = max(_BLOCK // max(self.width, 1), 1)
        for start in range(0, self.numbers.size, step):
            yield self._state[start : start + step]


def _spread(size: int, limit: int) -> Index:
    """Up to `most` places among so many, evenly spread."""
    return np.arange(size) if size <= limit else np.linspace(0, size - 1, limit).astype(np.int64)
