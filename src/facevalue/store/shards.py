"""The files that hold responses: their names and order, damaged ones, many small ones made few."""

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from facevalue.errors import RunError
from facevalue.parquet import read_metadata, read_table, scan_tables
from facevalue.store.files import ASIDE, RESPONSES_FOLDER, sync_folder, write_whole
from facevalue.store.schema import FORMAT, RESPONSES

_NAME = re.compile(r"part-(\d+)\.parquet")
_NUMBERED = re.compile(r"\.?part-(\d+)\.parquet")
_VERSION, _ROWS = "facevalue.responses", "facevalue.rows"


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of responses.

    Attributes
    ----------
    path:
        `part-NUMBER.parquet`; shards were stored in the order of their numbers.
    rows:
        How many responses it holds.
    """

    path: Path
    rows: int


def shard_path(folder: Path, number: int) -> Path:
    """Where the shard with this number of a run folder lies."""
    return folder / RESPONSES_FOLDER / f"part-{number:08d}.parquet"


def shard_paths(folder: Path) -> list[Path]:
    """Shards of a run folder in the order in which they were stored; files still being written are not among them."""
    found = [(int(match[1]), path) for path, match in _matches(folder, _NAME)]
    return [path for _, path in sorted(found)]


def next_number(folder: Path) -> int:
    """Return a number above that of every shard, also of those set aside."""
    found = [int(match[1]) for path, match in _matches(folder, _NUMBERED) if path.suffix != ASIDE]
    return max(found, default=0) + 1


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed process was still writing. Only for the process that holds the folder's lock."""
    for path, _ in _matches(folder, _NUMBERED):
        if path.suffix == ASIDE:
            path.unlink(missing_ok=True)


def _matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[Path, re.Match[str]]]:
    place = folder / RESPONSES_FOLDER
    if not place.is_dir():
        return
    whole = pattern is _NAME
    for path in place.iterdir():
        match = pattern.fullmatch(path.name) if whole else pattern.match(path.name)
        if match:
            yield path, match


def write_shard(path: Path, frame: pl.DataFrame) -> None:
    """Write a shard that is whole or absent.

    It is encoded in memory first, so that what can fail on the way to the disk is plain file access.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={_VERSION: str(FORMAT), _ROWS: str(frame.height)})
    write_whole(path, buffer.getvalue())


def inspect(path: Path) -> Shard:
    """Look at the end of a shard, where a cut shows.

    Raises
    ------
    polars.exceptions.PolarsError
        It is cut short or no Parquet file.
    RunError
        It was written by a newer FaceValue.
    """
    facts = read_metadata(path)
    version = facts.get(_VERSION, str(FORMAT))
    if version != str(FORMAT):
        raise RunError(f"{path} has format {version}; this FaceValue reads {FORMAT}. Use the one that wrote it.")
    rows = facts.get(_ROWS)
    return Shard(path, int(rows) if rows is not None else scan_tables([path]).select(pl.len()).collect().item())


def damaged(path: Path, error: Exception) -> RunError:
    """Return the error for a shard that cannot be read."""
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return RunError(
        f"{path} is cut short or damaged ({why}). Rename it to {path.name}.broken and give the command of the run "
        "again: only its trials are asked once more."
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged shard so that nobody reads it, and nothing of it is deleted."""
    broken = path.with_name(path.name + ".broken")
    path.replace(broken)
    sync_folder(path.parent)
    return broken


def compact(folder: Path, target: int, least: int) -> None:
    """Merge neighbouring small shards.

    The merged shard takes the place and name of the first of them in one rename; then the others are deleted. A kill in
    between leaves rows twice, which readers drop as they drop any second row of a request. Only for the process that
    holds the folder's lock.

    Parameters
    ----------
    folder:
        The run folder.
    target:
        Merge until so many rows are together; shards of half as many are left alone.
    least:
        Merge no fewer shards than that, as rewriting costs more than a few more files.
    """
    group: list[Shard] = []
    with contextlib.suppress(pl.exceptions.PolarsError, RunError, OSError):  # a full disk or damage shows elsewhere
        for path in shard_paths(folder):
            shard = inspect(path)
            if shard.rows < target // 2:
                group.append(shard)
            if shard.rows >= target // 2 or sum(one.rows for one in group) >= target:
                _merge(group, least)
                group = []
        _merge(group, least)


def _merge(group: Sequence[Shard], least: int) -> None:
    if len(group) < max(least, 2):
        return
    frame = pl.concat([read_table(shard.path) for shard in group])
    assert frame.schema == RESPONSES
    write_shard(group[0].path, frame.sort("trial", "repeat", maintain_order=True))
    for shard in group[1:]:
        shard.path.unlink()
