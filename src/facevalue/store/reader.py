"""Reader of shards: one table per run, sorted, one row per request."""

import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.checked_replies import ODD, of_file
from facevalue.errors import RunError
from facevalue.parquet import read_table, scan_tables
from facevalue.store.files import RESPONSES_FOLDER
from facevalue.store.ranges import bring
from facevalue.store.schema import RESPONSES, TIMED
from facevalue.store.shards import UNREADABLE, checked, damaged, inspect, shard_paths

Numbers = npt.NDArray[np.int64]
_ORDER = "(order)"
_ATTEMPTS = 40
_PAUSE = 0.05  # seconds
_TOGETHER = 16  # shards of which the requests are read at once


def read_responses(
    folder: Path, first: int | None = None, last: int | None = None, *, trials: Numbers | None = None
) -> pl.DataFrame:
    """Read the responses of a run: those of a range, or of these trials."""
    for _ in range(_ATTEMPTS):
        before = _marks(shard_paths(folder))
        try:
            rows = scan_stored(folder, first, last)
            frame = distinct(rows if trials is None else _about(rows, trials)).collect()
        except (RunError, pl.exceptions.PolarsError, OSError) as error:
            if _marks(before) == before:
                raise error if isinstance(error, RunError) else _blame(folder, error) from error
        else:
            if _marks(before) == before:
                return frame
        time.sleep(_PAUSE)  # the run has just merged some of these shards, perhaps while they were read
    raise RunError(f"The files in {folder / RESPONSES_FOLDER} keep changing: read them when the run has ended.")


def scan_responses(
    folder: Path, first: int | None = None, last: int | None = None, *, timed: bool = False,
    among: Sequence[Path] | None = None,
) -> pl.LazyFrame:  # fmt: skip
    """The same as a lazy frame, for more than fits into memory or for a few columns of it; `timed`, with `at`, too.

    `among`: shards that hold all that is looked for, where that is known; all by default.

    Give `first` and `last` here rather than as a filter on the result: it is then applied before rows are compared.
    Files may vanish under the frame if a run merges them meanwhile; `read_responses` looks again then.
    """
    return distinct(scan_stored(folder, first, last, timed=timed, among=among))


def _about(rows: pl.LazyFrame, trials: Numbers) -> pl.LazyFrame:
    """Rows of some trials; the range of these lets files be passed over whose trials all lie outside."""
    if not trials.size:
        return rows.clear()
    among = pl.col("trial").is_in(pl.Series(trials).implode())
    return rows.filter(pl.col("trial").is_between(int(trials.min()), int(trials.max())), among)


def trials_stored(folder: Path, size: int) -> Numbers:
    """The trials, of so many, that have a stored row, each once, in order."""
    rows = scan_stored(folder, 0, size - 1).select(pl.col("trial").unique().sort())
    return collected(folder, rows)["trial"].to_numpy().astype(np.int64)


def request_trials(folder: Path, last: int, repeats: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Trials of all stored requests up to a trial, those of the first repeats alone, in order; one for each request."""
    dtype = np.uint32 if (last + 1) * repeats < 2**32 else np.uint64
    pieces = [np.zeros(0, dtype)]
    paths = shard_paths(folder)
    for start in range(0, len(paths), _TOGETHER):
        rows = scan_stored(folder, 0, last, among=paths[start : start + _TOGETHER]).filter(pl.col("repeat") < repeats)
        key = collected(folder, rows.select(pl.col("trial") * repeats + pl.col("repeat")))["trial"]
        pieces.append(key.to_numpy().astype(dtype))
    keys = np.concatenate(pieces)
    pieces.clear()
    keys.sort()  # where they are: of millions of requests every copy counts
    is_first = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first] // dtype(repeats)


def collected(folder: Path, rows: pl.LazyFrame) -> pl.DataFrame:
    """Collect what was scanned from a folder; damage that shows only now is blamed on its shard."""
    try:
        return rows.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _blame(folder, error) from error


def scan_stored(
    folder: Path, first: int | None = None, last: int | None = None, *, timed: bool = False,
    among: Sequence[Path] | None = None, columns: Collection[str] | None = None,
) -> pl.LazyFrame:  # fmt: skip
    """Every stored row in the order of storing, requests stored twice included.

    `columns`: those that are used of what is scanned, where not all are: others of a run that is read in place are not
    brought.
    """
    if not (folder / RESPONSES_FOLDER).is_dir():
        raise RunError(f"{folder} holds no responses: it is not the folder of a run, or nothing was asked yet.")
    paths = shard_paths(folder) if among is None else among
    has_texts = bring(folder, paths, columns)
    for path in paths:
        checked(path)
    schema = TIMED if timed else RESPONSES
    if not paths:
        return pl.LazyFrame(schema=schema)
    rows = scan_tables(paths, schema, optional=("at",))
    rows = of_file(rows if has_texts else rows.with_columns(text=pl.lit("")))  # nobody uses them, and none is at fault
    if first is not None:
        rows = rows.filter(pl.col("trial") >= first)
    if last is not None:
        rows = rows.filter(pl.col("trial") <= last)
    return rows


def count_drawn(folder: Path) -> int:
    """Count the requests of an exact run that were answered by a drawn reply, as probabilities could not be read."""
    sampled = pl.col("probs").is_null() & pl.col("status").is_in(["ok", "truncated"])
    return int(collected(folder, scan_responses(folder).filter(sampled).select(pl.len())).item())


def count_replied(folder: Path, repeats: int) -> int:
    """Count the requests that have a reply, valid or not, re-asks left out. `repeats`: of a trial."""
    replied = (pl.col("repeat") < repeats) & (pl.col("status") != "error")
    rows = scan_responses(folder).filter(replied).select(pl.len())
    return int(collected(folder, rows).item()) if shard_paths(folder) else 0


def commonest_failure(folder: Path) -> str:
    """Most frequent error of the requests that failed and were not answered since; empty if none failed."""
    failed = scan_responses(folder).filter(pl.col("status") == "error", pl.col("error").is_not_null())
    counted = (
        failed.group_by("error").agg(pl.len(), pl.col("trial").min()).sort("len", "trial", descending=[True, False])
    )
    errors = collected(folder, counted.head(1))["error"]
    return str(errors[0]) if errors.len() else ""


def odd_replies(folder: Path) -> tuple[int, str]:
    """Count the requests whose reply came or is stored, but cannot count; and why, of the first."""
    begins = pl.any_horizontal(pl.col("error").str.starts_with(start) for start in ODD)
    rows = scan_responses(folder).filter(pl.col("status") == "error", begins)
    odd = collected(folder, rows.select(pl.len().alias("count"), pl.col("error").first()))
    return int(odd["count"][0]), str(odd["error"][0] or "")


def distinct(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Sort by request, and keep the one row of each that counts: the first that did not fail, else the first."""
    # One number for trial, repeat (below 2^8) and failure: sorting by it is several times as fast as by three columns.
    # No design has 2^54 trials.
    trial, repeat = pl.col("trial").clip(upper_bound=2**54), pl.col("repeat").cast(pl.UInt64)
    failed = (pl.col("status") == "error").fill_null(value=False).cast(pl.UInt64)
    order = (trial * 2**9 + repeat * 2 + failed).alias(_ORDER)
    ordered = rows.with_columns(order).sort(_ORDER, maintain_order=True)
    request = pl.col(_ORDER) // 2
    return ordered.filter(request.ne_missing(request.shift())).drop(_ORDER)


def _marks(paths: Iterable[Path]) -> dict[Path, tuple[int, int, int] | None]:
    """Marks by which files are known to be the same still; new shards beside them don't matter."""
    marks: dict[Path, tuple[int, int, int] | None] = {}
    for path in paths:
        try:
            state = path.stat()
        except FileNotFoundError:
            marks[path] = None
        else:
            marks[path] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return marks


def _blame(folder: Path, error: Exception) -> RunError:
    """Find the shard that cannot be read."""
    for path in shard_paths(folder):
        try:
            inspect(path)
            read_table(path)
        except (*UNREADABLE, OSError) as own:
            return damaged(path, own)
    return RunError(f"The responses in {folder} cannot be read: {error}")
