"""Writer of responses to disk."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.hashing import Hashes
from facevalue.store.files import RESPONSES_FOLDER, make_folder
from facevalue.store.journal import Journal
from facevalue.store.schema import PICTURE_SHARE, RESPONSES, TIMED
from facevalue.store.shards import compact, next_number, remove_leftovers, shard_paths, write_shard
from facevalue.types import Response

Numbers = npt.NDArray[np.int64]
Asked = Callable[[Numbers, Numbers], Hashes]
Shares = Callable[[Sequence[Response]], Sequence[float | None] | None]
_FULL = 64 * 2**20  # bytes of a journal, of which one too large is not read back
_MERGE_EVERY = 64  # shards; keeps the number of files below about 2 x 64 + one per full shard


class ShardWriter:
    """Collects responses and stores them as shards, each whole or absent.

    A shard is written once `rows` responses wait, or the oldest has waited `seconds`; a thread of its own sees to the
    latter, so that nothing waits longer because the model is slow or hangs. What waits is in a journal, so that a
    killed process loses none of it. Leaving the `with` block, by whatever exception, stores the rest. Only for the
    process that holds the folder's lock.
    """

    def __init__(
        self,
        folder: Path,
        asked: Asked,
        *,
        rows: int = 32_768,
        seconds: float = 5.0,
        stored: Callable[[pl.DataFrame], None] | None = None,
        run: str = "",
        listed: Callable[[Collection[Path]], None] | None = None,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
        timed: bool = False,
        journal_seconds: float = 0.02,
        picture_shares: Shares | None = None,
    ) -> None:
        self._folder = folder
        self._asked = asked
        self._picture_shares = picture_shares
        self._limit = rows
        self._seconds = seconds
        self._stored = stored
        self._run = run
        self._listed = listed or _nobody
        self._guard = guard
        self._timed = timed
        self._waiting: list[Response] = []
        self._times: list[float] = []  # of those that wait, as far as they are known
        self._held: list[pl.DataFrame] = []  # taken from those waiting; in the journal
        self._held_rows = 0
        self._ready: pl.DataFrame | None = None  # put together from those held, not yet in a shard
        self._journal_seconds = journal_seconds
        self._noted = 0.0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._flushed = time.monotonic()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._keep_time, name="facevalue-store", daemon=True)

    def __enter__(self) -> Self:
        make_folder(self._folder / RESPONSES_FOLDER)
        remove_leftovers(self._folder)
        self._compact(fewest=16)
        self._next = next_number(self._folder)
        self._since_merge = 0
        self._journal = Journal(self._folder / RESPONSES_FOLDER, self._run)
        self._thread.start()
        return self

    def append(self, response: Response) -> None:
        """Append a response."""
        if self._timed:
            self._times.append(time.time())  # first, as the other thread takes as many times as there are responses
        self._waiting.append(response)
        if len(self._waiting) + self._held_rows >= self._limit or self._failure is not None:
            self.flush()
        elif self._is_due():
            with self._guard(), self._lock:
                self._note()

    def flush(self) -> None:
        """Store the responses that wait."""
        with self._guard(), self._lock:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard():
            self._closing.set()
            self._thread.join()
            try:
                self._write()
            except Exception:
                if kind is None:
                    raise  # otherwise what ended the block says more, and is on its way already
            else:
                self._journal.close()
                self._compact(fewest=2)
            if kind is None and self._failure is not None:
                raise self._failure

    def _keep_time(self) -> None:
        while not self._closing.wait(0.05):
            due = time.monotonic() >= self._flushed + self._seconds
            if not due and not (self._waiting and self._is_due()):
                continue
            with self._lock:
                try:
                    self._write() if due else self._note()
                except BaseException as error:
                    self._failure = error
                    return  # told to the owner with the next response

    def _write(self) -> None:
        self._flushed = time.monotonic()
        if self._ready is not None:  # what could not be written before
            self._store(self._ready)
        self._take()
        if self._held:
            rows = pl.concat(self._held).sort("trial", "repeat", maintain_order=True)
            self._ready, self._held, self._held_rows = rows, [], 0
            self._store(rows)
            self._journal.clear()

    def _is_due(self) -> bool:
        return time.monotonic() >= self._noted + self._journal_seconds

    def _note(self) -> None:
        """Write what waits into the journal."""
        frame = self._take()
        if frame is not None:
            self._journal.append(frame)
            if self._journal.size > _FULL:
                self._write()
        self._noted = time.monotonic()

    def _take(self) -> pl.DataFrame | None:
        """Look up what waits, once for each response, and hold it."""
        count = len(self._waiting)  # the other thread may append meanwhile
        if not count:
            return None
        rows = self._waiting[:count]
        keys = np.array([row[:2] for row in rows], dtype=np.int64)
        shares = None if self._picture_shares is None else self._picture_shares(rows)  # while requests are open
        hashes = self._asked(keys[:, 0], keys[:, 1])
        frame = to_frame(rows, hashes, self._times[:count] if self._timed else None, shares)
        del self._waiting[:count], self._times[:count]
        self._held.append(frame)
        self._held_rows += frame.height
        return frame

    def _store(self, frame: pl.DataFrame) -> None:
        if frame.height:
            write_shard(self._folder, self._next, frame, self._run)
            self._listed(shard_paths(self._folder))
        self._ready = None
        if not frame.height:
            return
        self._next += 1
        self._since_merge += 1
        if self._stored is not None:
            self._stored(frame)
        if self._since_merge >= _MERGE_EVERY:
            self._since_merge = 0
            self._compact(fewest=16)

    def _compact(self, fewest: int) -> None:
        compact(self._folder, self._limit, fewest, self._run, self._listed)


def _nobody(paths: Collection[Path]) -> None:
    """Keep no list of stored files."""


def to_frame(
    rows: Sequence[Response],
    hashes: Hashes,
    times: Sequence[float] | None = None,
    picture_shares: Sequence[float | None] | None = None,
) -> pl.DataFrame:
    """Responses in the order given, the hashes of their requests, picture shares and perhaps when they came."""
    if not rows:
        return pl.DataFrame(schema=RESPONSES if times is None else TIMED)
    trial, repeat, status, text, probs, prompt, completion, latency, error = zip(*rows, strict=True)
    frame = pl.DataFrame(
        [
            pl.Series("trial", trial, dtype=pl.UInt64),
            pl.Series("repeat", repeat, dtype=pl.UInt8),
            pl.Series("status", status, dtype=RESPONSES["status"]),
            pl.Series("text", text, dtype=pl.String),
            _lists("probs", probs),
            pl.Series("prompt_tokens", prompt, dtype=pl.UInt32),
            pl.Series("completion_tokens", completion, dtype=pl.UInt32),
            pl.Series("latency_ms", latency, dtype=pl.Float32),
            pl.Series("error", error, dtype=pl.String),
            pl.Series("request", hashes),
            pl.Series(PICTURE_SHARE, picture_shares or [None] * len(rows), dtype=RESPONSES[PICTURE_SHARE]),
        ]
    )
    if times is not None:
        came = pl.Series("at", np.array(times) * 1000).cast(pl.Int64).cast(pl.Datetime("ms"))
        frame = frame.with_columns(came.dt.replace_time_zone("UTC"))
    return frame


def _lists(name: str, values: Sequence[tuple[float, ...] | None]) -> pl.Series:
    """Build a column of lists; where all are of one length, without a Python object per row (thirty times faster)."""
    present = [i for i, value in enumerate(values) if value is not None]
    lengths = {len(value) for value in values if value is not None}
    if not present:
        return pl.Series(name, [None], dtype=RESPONSES[name]).new_from_index(0, len(values))
    if len(lengths) > 1 or 0 in lengths:
        return pl.Series(name, values, dtype=RESPONSES[name])
    width = lengths.pop()
    flat = np.fromiter(chain.from_iterable(v for v in values if v is not None), np.float32, len(present) * width)
    lists = pl.Series(name, flat.reshape(len(present), width)).cast(RESPONSES[name])
    if len(present) == len(values):
        return lists
    at = np.full(len(values), len(present), dtype=np.uint32)
    at[present] = np.arange(len(present), dtype=np.uint32)
    return pl.concat([lists, pl.Series(name, [None], dtype=RESPONSES[name])]).gather(at)
