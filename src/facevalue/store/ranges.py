"""Ranges of stored units: files that hold only what was asked for of objects that stay where they are.

A unit's file here has its object's size and its end, by which Parquet finds everything else; columns are brought, by
their row groups, before they are scanned. A unit of which all columns are wanted is brought whole, and compared with
its digest. What lies here is bounded: files that were not scanned for longest go first.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from facevalue.errors import RunError
from facevalue.parquet import footer_size
from facevalue.store.objects import LARGEST, READS, ListedObject, Objects
from facevalue.store.remote import checked

MOST_BYTES = 256 * 2**20
"""Bytes of a run that are here at a time."""
_END, _GAP, _READERS = 8 * 2**10, 4 * 2**10, 8
"""Bytes at an object's end that are brought at first; bytes between two ranges up to which they are one; requests at a
time."""
_IN_USE = 60.0
"""Seconds for which a scan may go on after its columns were brought."""
_TEXT, _COUNTING = "text", ("trial", "repeat", "status", "probs")
"""Columns by which a row counts or does not, the text where it may be that there is none."""
_BY_FOLDER: dict[Path, "RunRanges"] = {}


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column of a row group: its first byte, the one after its last, and whether it has no nulls."""

    column: str
    start: int
    stop: int
    is_full: bool


@dataclass
class _Unit:
    """A unit's file: its object, the end of it, and what else of it is here."""

    object: ListedObject
    path: Path
    end: bytes
    chunks: "list[_Chunk]" = field(default_factory=list)
    brought: set[int] = field(default_factory=set)
    """Which of the chunks are here."""
    used_at: float = 0.0
    """When it was last scanned, or about to be."""
    is_checked: bool = False
    """Whether it came whole, with the digest that it was stored with."""

    @property
    def size(self) -> int:
        """Bytes of the chunks that are here."""
        return sum(self.chunks[number].stop - self.chunks[number].start for number in self.brought)

    def wanted(self, columns: Collection[str] | None) -> list[int]:
        """Chunks of these columns, or of all, that are not here."""
        return [
            number
            for number, chunk in enumerate(self.chunks)
            if number not in self.brought and (columns is None or chunk.column in columns)
        ]

    @property
    def can_spare_texts(self) -> bool:
        """True if each reply is known to have a text without reading any: a row without one may not count.

        One that is too long to count is known when it is read.
        """
        return all(chunk.is_full for chunk in self.chunks if chunk.column == _TEXT)

    def empty(self) -> None:
        """Write the file anew without any chunk; whoever reads the one before still has it."""
        self._write(self.object.size - len(self.end), self.end)
        self.brought = set()

    def fill(self, data: bytes) -> None:
        """Write the file anew with all of the unit, which was compared with its digest."""
        self._write(0, data)
        self.brought, self.is_checked = set(range(len(self.chunks))), True

    def _write(self, start: int, data: bytes) -> None:
        aside = self.path.with_name(f".{self.path.name}.aside")
        with aside.open("wb") as file:
            file.truncate(self.object.size)
            file.seek(start)
            file.write(data)
        aside.replace(self.path)


class RunRanges:
    """Units of a run in object storage, of which a folder holds what was asked for.

    Parameters
    ----------
    objects:
        Where they lie.
    run:
        Id of the run.
    limit:
        Bytes of them that are here at a time.
    """

    def __init__(self, objects: Objects, run: str, limit: int = MOST_BYTES) -> None:
        self._objects, self._run, self._limit = objects, run, limit
        self._units: OrderedDict[Path, _Unit] = OrderedDict()
        self._lock, self._count = Lock(), Lock()
        self.bytes = 0
        """Bytes that were brought."""

    @property
    def checked(self) -> tuple[int, int]:
        """Number of units that came whole with the digest that they were stored with, and number of all units."""
        return sum(unit.is_checked for unit in self._units.values()), len(self._units)

    def add(self, units: Sequence[ListedObject], place: Callable[[ListedObject, bytes], Path]) -> None:
        """Bring the ends of units, and lay files for them; `place`: where, by what a unit says at its end."""
        with ThreadPoolExecutor(_READERS) as pool:
            for listed, end in zip(units, pool.map(self._end_of, units), strict=True):
                unit = _Unit(listed, place(listed, end), end)
                unit.empty()
                unit.chunks = list(_chunks(unit.path, self._objects.called(listed.key)))
                self._units[unit.path] = unit

    def _end_of(self, listed: ListedObject) -> bytes:
        if listed.size > LARGEST:
            raise RunError(f"{self._objects.called(listed.key)} is larger than {LARGEST // 2**20:,} MiB.")
        end = self._part(listed, max(listed.size - _END, 0), listed.size)
        size = min(footer_size(end), listed.size)
        return end if size <= len(end) else self._part(listed, listed.size - size, listed.size)

    def bring(self, paths: Sequence[Path], columns: Collection[str] | None, *, one_by_one: bool = False) -> bool:
        """Have columns of some units here, all by default, and those that say whether rows count.

        `one_by_one`: whether units will be scanned each by itself. False where their texts were left out.
        """
        with self._lock:
            units, now = [self._units[path] for path in paths if path in self._units], time.monotonic()
            with ThreadPoolExecutor(_READERS) as pool:
                for unit in units:
                    self._units.move_to_end(unit.path)
                    unit.used_at = now
                can_spare = columns is not None and _TEXT not in columns and all(unit.can_spare_texts for unit in units)
                needed = {*(columns or ()), *_COUNTING}

                def fill(unit: _Unit) -> None:
                    spares = can_spare or (one_by_one and unit.can_spare_texts)
                    self._fill(unit, unit.wanted(None if columns is None else needed if spares else needed | {_TEXT}))

                list(pool.map(fill, units))
            self._let_go(now)
            return not can_spare

    def _fill(self, unit: _Unit, numbers: Sequence[int]) -> None:
        if numbers and len(numbers) + len(unit.brought) == len(unit.chunks):
            unit.fill(self._whole(unit.object))
            return
        for start, stop in _joined(sorted((unit.chunks[number].start, unit.chunks[number].stop) for number in numbers)):
            data = self._part(unit.object, start, stop)
            with unit.path.open("r+b") as file:
                file.seek(start)
                file.write(data)
        unit.brought.update(numbers)

    def _whole(self, listed: ListedObject) -> bytes:
        """All of a unit, read again where it does not come with its digest: it may have been damaged on its way."""
        for left in reversed(range(READS)):
            data = self._part(listed, 0, listed.size)
            try:
                checked(data, listed.key, self._objects.called(listed.key), self._run)
            except RunError:
                if not left:
                    raise
            else:
                break
        return data

    def _let_go(self, now: float) -> None:
        """Empty the files that were not scanned for longest while there are too many bytes here."""
        size = sum(unit.size for unit in self._units.values())
        for unit in self._units.values():
            if size <= self._limit or now <= unit.used_at + _IN_USE:
                return
            size -= unit.size
            unit.empty()

    def _part(self, listed: ListedObject, start: int, stop: int) -> bytes:
        data = self._objects.part(listed, start, stop)
        with self._count:
            self.bytes += len(data)
        return data


def _chunks(path: Path, name: str) -> Iterator[_Chunk]:
    """Column chunks of a file; `name`: of its object, for people."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    try:
        with path.open("rb") as file:
            facts: Any = pq.read_metadata(file)
        for group in range(facts.num_row_groups):
            for number in range(facts.num_columns):
                column = facts.row_group(group).column(number)
                start = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
                stop = start + column.total_compressed_size
                if not 0 < start <= stop <= path.stat().st_size:
                    raise ValueError("a column lies outside of it")
                nulls = column.statistics.null_count if column.statistics is not None else None
                yield _Chunk(column.path_in_schema.split(".")[0], start, stop, is_full=nulls == 0)
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{name} is damaged: {error}") from error


def _joined(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges, neighbours together."""
    if not ranges:
        return
    start, stop = ranges[0]
    for next_start, next_stop in ranges[1:]:
        if next_start - stop > _GAP:
            yield start, stop
            start = next_start
        stop = max(stop, next_stop)
    yield start, stop


def read_in_place(folder: Path, ranges: RunRanges) -> None:
    """Have what is scanned in a folder brought before."""
    _BY_FOLDER[folder] = ranges


def is_in_place(folder: Path) -> bool:
    """Return whether the shards of a folder hold only the parts that were read."""
    return folder in _BY_FOLDER


def checked_units(folder: Path) -> tuple[int, int]:
    """Number of shards of a folder that came whole with their stored digest, and number of all read in place."""
    ranges = _BY_FOLDER.get(folder)
    return (0, 0) if ranges is None else ranges.checked


def release(folder: Path) -> None:
    """Release what lies in a folder, as nobody reads it any more."""
    _BY_FOLDER.pop(folder, None)


def bring(folder: Path, paths: Sequence[Path], columns: Collection[str] | None, *, one_by_one: bool = False) -> bool:
    """Have columns of shards in a folder where they can be scanned, all by default; False if texts were left out.

    `one_by_one`: whether shards will be scanned each by itself.
    """
    ranges = _BY_FOLDER.get(folder)
    return ranges is None or ranges.bring(paths, columns, one_by_one=one_by_one)
