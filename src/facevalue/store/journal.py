"""Journal: answers, judgments and scores on their way to a shard, kept as they arrive, so that a kill loses none.

Shards are written every few seconds, since many small files are slow to read. What waits for the next one is appended
to a journal at once. The journal is emptied when the shard is safe, and what an earlier process left in it becomes a
shard when the run goes on, or is read.
"""

import contextlib
import hashlib
import io
import json
import os
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.store.files import RESPONSES_FOLDER, unwritable
from facevalue.store.lease import RunLock
from facevalue.store.objects import Objects
from facevalue.store.reader import collected, scan_stored
from facevalue.store.schema import RESPONSES, TIMED
from facevalue.store.shards import next_number, write_shard
from facevalue.untrusted_files import to_json

# Notes of outcomes in object storage, written at once: what comes is stored in units, and a kill would lose one.


_FOLDER = "notes"


class OutcomeNotes:
    """Outcomes by what was asked, an object each.

    Parameters
    ----------
    objects:
        The prefix of the run.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._keys: set[str] | None = None

    def write(self, request: object, outcome: Mapping[str, object]) -> None:
        """Write down what became of a request; it is safe when this returns."""
        self._objects.create(_key(request), json.dumps(outcome).encode())

    def read(self, request: object) -> Mapping[str, object] | None:
        """Return what an earlier session noted of this request; None if nothing, or nothing that can be read."""
        if self._keys is None:
            self._keys = {note.key for note in self._objects.list(_FOLDER)}
        if (key := _key(request)) not in self._keys:
            return None
        with suppress(DataError, RunError):
            stored = self._objects.get(key)
            outcome = None if stored is None else to_json(stored[0], key)
            return outcome if isinstance(outcome, dict) else None
        return None


def _key(request: object) -> str:
    """Key of a note, by the hash of all that was asked, given as JSON can hold it."""
    return f"{_FOLDER}/{hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:32]}.json"


JOURNAL = ".journal"
_MARK = b"FaceValue journal 1\n"
_HEAD = struct.Struct(">QI")  # length and CRC-32 of a piece
_MOST = 256 * 2**20


class Journal:
    """A file of answers that are in no shard yet. Only for the process that holds the folder's lock.

    Parameters
    ----------
    place:
        The folder of the shards.
    of:
        Id of the run, or whose judgments or scores they are.

    Attributes
    ----------
    size:
        Bytes of the answers in it.
    """

    def __init__(self, place: Path, of: str) -> None:
        self._path = place / JOURNAL
        self._begin = _MARK + of.encode() + b"\n"
        self.size = 0
        try:
            self._file: IO[bytes] = self._path.open("wb", buffering=0)
            self._file.write(self._begin)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def append(self, frame: pl.DataFrame) -> None:
        """Write answers down. They survive the process at once; a power cut only with the next shard."""
        piece = io.BytesIO()
        frame.write_ipc(piece)
        data = piece.getvalue()
        self._do(lambda: self._file.write(_HEAD.pack(len(data), zlib.crc32(data)) + data))
        self.size += len(data)

    def clear(self) -> None:
        """Remove all answers: they are in a shard."""
        self.size = 0
        self._do(lambda: self._file.truncate(len(self._begin)))
        self._do(lambda: self._file.seek(0, os.SEEK_END))

    def close(self) -> None:
        """Remove the file; only once everything is in a shard."""
        self._do(self._file.close)
        self._do(lambda: self._path.unlink(missing_ok=True))

    def _do(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            raise unwritable(self._path, error) from error


def recover(folder: Path, run: str) -> int:
    """Make a shard of what a killed process left in its journal; return how many answers it held."""
    place = folder / RESPONSES_FOLDER
    rows = left_over(place, run, RESPONSES, TIMED)
    if rows is not None:
        keys = ["trial", "repeat"]  # a process killed between a shard and the clearing of its journal has both
        with contextlib.suppress(RunError):  # a damaged shard is told of when all are loaded; rows may be there twice
            stored = collected(folder, scan_stored(folder).filter(pl.col("status") != "error").select(keys))
            rows = rows.join(stored, on=keys, how="anti", maintain_order="left")
        if rows.height:
            write_shard(folder, next_number(folder), rows.sort("trial", "repeat", maintain_order=True), run)
    with contextlib.suppress(OSError):  # the next journal begins anew in any case
        (place / JOURNAL).unlink(missing_ok=True)
    return 0 if rows is None else rows.height


def store_left_over(folder: Path, run: str) -> None:
    """Store what a killed process left, before the run is read: all who read it then count the same answers.

    While a process writes the run, nothing is done.

    Raises
    ------
    RunError
        The folder cannot be written.
    """
    if (rows := left_over(folder / RESPONSES_FOLDER, run, RESPONSES, TIMED)) is None:
        return
    try:
        with RunLock(folder):
            recover(folder, run)
    except RunError as error:
        if isinstance(error.__cause__, OSError):
            raise RunError(
                f"The run in {folder} was killed, and {rows.height:,} of its answers wait in {JOURNAL}; they cannot be "
                "stored, as the folder cannot be written. Read a copy of it."
            ) from error


def left_over(place: Path, of: str, *schemas: pl.Schema) -> pl.DataFrame | None:
    """Read what a killed process left in its journal; None if there is nothing of this run, judge or scorer.

    What was being written at that moment is cut off; it and whatever is damaged is left out, as its checksum shows.
    """
    path = place / JOURNAL
    try:
        if not path.is_file() or path.stat().st_size > _MOST:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    begin = _MARK + of.encode() + b"\n"
    if not data.startswith(begin):
        return None
    frames = list(_pieces(data, len(begin), schemas))
    return pl.concat(frames, how="diagonal") if frames else None


def _pieces(data: bytes, at: int, schemas: Collection[pl.Schema]) -> Iterator[pl.DataFrame]:
    while at + _HEAD.size <= len(data):
        length, check = _HEAD.unpack_from(data, at)
        piece = data[at + _HEAD.size : at + _HEAD.size + length]
        if len(piece) != length or zlib.crc32(piece) != check:
            return
        try:
            frame = pl.read_ipc(io.BytesIO(piece))
        except pl.exceptions.PolarsError:
            return
        if frame.schema not in schemas:
            return
        yield frame
        at += _HEAD.size + length
