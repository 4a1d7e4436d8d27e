"""Shards, the files that hold responses: names, digests, order, damage, compaction.

A shard's name holds the digest of its bytes, so that it says by itself whether it is whole, also when the run was
killed before it could be listed. Its metadata hold the run's id: a shard of another run is never taken for one of this.
"""

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import SHARD, check_shard, digest_of
from facevalue.store.files import ASIDE, MANIFEST, RESPONSES_FOLDER, STIMULI, sync_folder, write_whole
from facevalue.store.manifest import RunManifest, read_manifest
from facevalue.store.schema import FORMAT, RESPONSES, TIMED

_NUMBERED = re.compile(r"\.?part-(\d+)(?:-[0-9a-f]{16})?\.parquet")
_VERSION, _ROWS, _RUN = "facevalue.responses", "facevalue.rows", "facevalue.run"


UNREADABLE = (DataError, pl.exceptions.PolarsError)
"""What looking at a damaged shard raises."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of responses."""

    # `part-NUMBER-DIGEST.parquet`; shards were stored in the order of their numbers.
    path: Path
    rows: int
    run: str  # id of the run that it belongs to


def shard_path(folder: Path, number: int, digest: str) -> Path:
    """Path of the shard with this number and content."""
    return folder / RESPONSES_FOLDER / f"part-{number:08d}-{digest}.parquet"


def number_of(path: Path) -> int:
    """Number of a shard."""
    match = SHARD.fullmatch(path.name)
    assert match is not None
    return int(match[1])


def shard_paths(folder: Path) -> list[Path]:
    """Shards of a run folder in the order in which they were stored; files still being written are not among them."""
    numbered = [(int(match[1]), path.name, path) for path, match in _matches(folder, SHARD)]
    return [path for _, _, path in sorted(numbered)]


def next_number(folder: Path) -> int:
    """Return a number above that of every shard, also of those set aside."""
    numbers = [int(match[1]) for path, match in _matches(folder, _NUMBERED) if path.suffix != ASIDE]
    return max(numbers, default=0) + 1


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed process was still writing. Only for the process that holds the folder's lock."""
    for path, _ in _matches(folder, _NUMBERED):
        if path.suffix == ASIDE:
            path.unlink(missing_ok=True)


def _matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[Path, re.Match[str]]]:
    place = folder / RESPONSES_FOLDER
    if not place.is_dir():
        return
    is_full = pattern is SHARD
    for path in place.iterdir():
        match = pattern.fullmatch(path.name) if is_full else pattern.match(path.name)
        if match:
            yield path, match


def write_shard(folder: Path, number: int, frame: pl.DataFrame, run: str) -> Path:
    """Write a shard that is whole or absent, and say where.

    It is encoded in memory first, so that what can fail on the way to the disk is plain file access.
    """
    data = parquet_bytes(frame, {_VERSION: str(FORMAT), _ROWS: str(frame.height), _RUN: run})
    path = shard_path(folder, number, digest_of(data))
    write_whole(path, data)
    return path


def inspect(path: Path) -> Shard:
    """Look at a shard: whether its bytes are those that were written, and what it says of itself."""
    facts = path.stat()
    return _inspected(path, facts.st_ino, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=65_536)
def _inspected(path: Path, *marks: int) -> Shard:  # noqa: ARG001 - by which the cache knows the file
    """The same, once for as long as the file stays as it is: hashing goes as fast as reading, but not for free."""
    check_shard(path)
    facts = read_metadata(path)
    version = facts.get(_VERSION)
    if version != str(FORMAT):
        raise RunError(f"{path} has format {version}; this FaceValue reads {FORMAT}. Use the one that wrote it.")
    return Shard(path, int(facts[_ROWS]), facts[_RUN])


def checked(path: Path) -> Shard:
    """Look at a shard; one that is damaged is named, with what to do."""
    try:
        return inspect(path)
    except UNREADABLE as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> RunError:
    """Return the error for a shard that cannot be read."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return RunError(
        f"{path} is cut short or damaged ({reason}). Rename it to {path.name}.broken and give the command of the run "
        "again: only its trials are asked once more."
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged shard so that nobody reads it, and nothing of it is deleted."""
    broken = path.with_name(path.name + ".broken")
    path.replace(broken)
    sync_folder(path.parent)
    return broken


def compact(folder: Path, target: int, fewest: int, run: str, stored: Callable[[Collection[Path]], None]) -> None:
    """Merge neighbouring small shards.

    The merged shard takes the number of the first of them; `stored` lists it; then the others are deleted. A kill in
    between leaves rows twice, which readers drop as they drop any second row of a request. Only for the process that
    holds the folder's lock.
    """
    group: list[Shard] = []
    with contextlib.suppress(*UNREADABLE, RunError, OSError):  # a full disk or damage shows elsewhere
        for path in shard_paths(folder):
            shard = inspect(path)
            if shard.rows < target // 2:
                group.append(shard)
            if shard.rows >= target // 2 or sum(member.rows for member in group) >= target:
                _merge(folder, group, fewest, run, stored)
                group = []
        _merge(folder, group, fewest, run, stored)


def _merge(
    folder: Path, group: Sequence[Shard], fewest: int, run: str, stored: Callable[[Collection[Path]], None]
) -> None:
    if len(group) < max(fewest, 2):
        return
    frame = pl.concat([read_table(shard.path) for shard in group], how="diagonal")
    assert frame.schema in (RESPONSES, TIMED)
    old = {shard.path for shard in group}
    merged = write_shard(folder, number_of(group[0].path), frame.sort("trial", "repeat", maintain_order=True), run)
    stored([path for path in shard_paths(folder) if path not in old or path == merged])
    for path in old - {merged}:
        path.unlink()


# Integrity of a run folder: every listed shard present, each whole, none of another run.


_ATTEMPTS, _PAUSE = 40, 0.05  # tries, and seconds between them


def check_folder(folder: Path) -> RunManifest:
    """Check the files of a run folder at the speed of reading them; it may be one that a run is writing."""
    facts = read_manifest(folder)
    check_stimuli(folder, facts)
    for _ in range(_ATTEMPTS):
        try:
            check_shards(folder, facts)
        except (RunError, OSError) as error:
            again = read_manifest(folder)
            if again.shards == facts.shards and not isinstance(error, FileNotFoundError):
                raise
            facts = again  # the run has just merged shards, perhaps while they were looked at
            time.sleep(_PAUSE)
        else:
            return facts
    raise RunError(f"The files in {folder} keep changing: look at them when the run has ended.")


def check_stimuli(folder: Path, facts: RunManifest) -> None:
    """Check the table of pictures, by which trial numbers have their meaning."""
    path = folder / STIMULI
    if facts.stimuli is None:
        return
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}. Restore it from a copy.") from None
    if digest != facts.stimuli:
        raise RunError(
            f"{path} is not the table of pictures that the run began with: its digest is another one. It was damaged "
            "or replaced. Restore it from a copy."
        )


def check_shards(folder: Path, facts: RunManifest) -> list[Shard]:
    """Check every shard, and that none that is listed is missing."""
    paths = shard_paths(folder)
    missing = sorted(set(facts.shards) - {path.name for path in paths})
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RunError(
            f"{folder / RESPONSES_FOLDER / missing[0]}{more}: listed in {MANIFEST}, but not there. Restore it from a "
            "copy, or give the command of the run again: only its trials are asked once more."
        )
    shards = []
    for path in paths:
        shard = checked(path)
        check_owner(shard, facts, folder)
        shards.append(shard)
    return shards


def check_owner(shard: Shard, facts: RunManifest, folder: Path) -> None:
    """Refuse a shard of another run."""
    if shard.run != facts.id:
        raise RunError(
            f"{shard.path} belongs to another run ({shard.run}) than {folder} ({facts.id}): "
            "its answers may be another model's, to other questions. Take it out."
        )
