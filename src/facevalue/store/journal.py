"""Journal: answers, judgments and scores on their way to a shard, kept as they arrive, so that a kill loses none.

Shards are written every few seconds, since many small files are slow to read. What waits for the next one is appended
to a journal at once. The journal is emptied when the shard is safe, and what an earlier process left in it becomes a
shard when the run goes on.
"""

import contextlib
import io
import os
import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import IO

import polars as pl

from facevalue.errors import RunError
from facevalue.store.files import RESPONSES_FOLDER, unwritable
from facevalue.store.reader import collected, scan_stored
from facevalue.store.schema import RESPONSES, TIMED
from facevalue.store.shards import next_number, write_shard

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
        """Forget all answers: they are in a shard."""
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
