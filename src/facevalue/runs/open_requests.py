"""Requests of a run that are not stored yet: which those are, a byte each, and their stream."""

import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Order
from facevalue.errors import RunError
from facevalue.hashing import Hashes
from facevalue.parquet import read_table
from facevalue.protocol.study import Study
from facevalue.runs.requests import Chunk, Index, RequestBuilder, TrialNumbers, draw_seed, picture_share
from facevalue.runs.stored_run import describe_bad_rows, odd_rows
from facevalue.store.files import MANIFEST
from facevalue.store.manifest import RunManifest
from facevalue.store.schema import PICTURE_SHARE, STATUS
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
from facevalue.types import Request, Response, Status

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


class OpenRequests:
    """Requests on their way.

    A model may take requests in one thread while responses are stored in another; the table of open requests between
    the two is all they share.

    Attributes
    ----------
    failure:
        What ended the stream too early, such as a missing image; raised by the runner, whatever the model makes of it.
    stop:
        Set to end the stream.
    """

    def __init__(self, study: Study, asking: RequestBuilder) -> None:
        self._study = study
        self._asking = asking
        self._open: list[Chunk] = []
        self._lock = threading.Lock()
        self.failure: Exception | None = None
        self.stop = False

    def requests_of_chunks(self, chunks: Iterable[Chunk]) -> Iterator[Request]:
        """Requests of chunks."""
        try:
            for chunk in chunks:
                with self._lock:
                    self._open.append(chunk)
                for request in self._requests_of_chunk(chunk):
                    if self.stop:
                        return
                    yield request
        except Exception as error:
            self.failure = error

    def close_requests(self, trials: Index, repeats: Index) -> Hashes:
        """Hashes of open requests that were answered just now; they no longer are open."""
        hashes = np.zeros(trials.size, dtype=np.uint64)
        left = np.ones(trials.size, dtype=np.bool_)
        with self._lock:
            for chunk in self._open:
                row, asked_here = chunk.rows(trials)
                asked_here &= left
                asked_here[asked_here] = chunk.wanted[row[asked_here], repeats[asked_here]]
                if not asked_here.any():
                    continue
                at, again = row[asked_here], repeats[asked_here]
                hashes[asked_here] = self._asking.request_hashes(
                    chunk.stimulus_hashes[at], chunk.question_hashes[at], again
                )
                chunk.wanted[at, again] = False
                left &= ~asked_here
            self._open = [chunk for chunk in self._open if chunk.wanted.any()]
        return hashes

    def picture_shares(self, rows: Sequence[Response]) -> list[float | None] | None:
        """Shares of the height that pictures took above a text, of responses to open requests.

        None for a study that reads no places on pictures.
        """
        if PICTURE_SHARE not in self._study.reading.columns:
            return None
        with self._lock:
            of_chunks = [chunk.picture_shares for chunk in self._open if chunk.picture_shares]
        shares = ChainMap(*of_chunks)
        return [picture_share(row, shares.get(row.trial)) for row in rows]

    def _requests_of_chunk(self, chunk: Chunk) -> Iterator[Request]:
        sampling, exact, constrain = self._study.draws.sampling, self._asking.exact, self._study.draws.constrain
        seeds, questions, trials = self._asking.seeds, chunk.questions, chunk.trials.tolist()
        repeats = [np.flatnonzero(row).tolist() for row in chunk.wanted] if len(seeds) > 1 else [[0]] * len(trials)
        for first, stop, stimulus in self._asking.stimuli(chunk):
            for row in range(first, stop):
                trial, question = trials[row], questions[row]
                settings = question.sampling or sampling
                for repeat in repeats[row]:
                    seed = draw_seed(seeds[repeat], question.draw) if question.draw else seeds[repeat]
                    yield Request(trial, repeat, seed, stimulus, question, settings, exact, constrain)


class RequestStream(OpenRequests):
    """Requests of a run that are still to be made.

    Attributes
    ----------
    planned:
        Requests of this session so far known of; grows as re-asks turn out to be needed.
    only_failed:
        Set to ask of the first round what failed alone, once a run knows enough.
    """

    def __init__(self, study: Study, completion: Completion, asking: RequestBuilder, order: Order, chunk: int) -> None:
        super().__init__(study, asking)
        self._completion = completion
        self._order = order
        self._step = chunk
        self.planned = completion.requests - completion.count_stored()
        self.only_failed = False

    def requests(self, again: int) -> Iterator[Request]:
        """Requests of one round: 0 is the protocol's own, later ones ask again where there was no valid answer."""
        return self.requests_of_chunks(self._chunks(again))

    def _chunks(self, again: int) -> Iterator[Chunk]:
        completion = self._completion
        for positions in self._order.pieces(self._step):
            if self.stop:
                return
            missing = completion.open_requests(positions, again, only_failed=self.only_failed)
            rows = np.flatnonzero(missing.any(axis=1))
            if again:
                self.planned += int(missing.sum())
            if rows.size:
                yield self._asking.chunk(completion.numbers.take(positions[rows]), missing[rows])
