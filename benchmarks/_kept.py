"""Audits that are made once and kept as small files, side by side and up to a time limit."""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from facevalue.calibration.repetitions import pool_of
from facevalue.store.files import write_whole

Task = TypeVar("Task")
Rows = list[dict[str, object]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how many processes make audits, and how long."""
    parser.add_argument("--processes", type=int, default=1, help="that make audits side by side; 1: this one")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no audit is begun any more")


def deadline(args: argparse.Namespace) -> float:
    """Time, in seconds since 1970, after which no audit is begun."""
    return time.time() + 60 * float(args.minutes)


def kept_audits(
    make: Callable[[Task], Rows], tasks: Mapping[Path, Task], processes: int, until: float
) -> dict[Path, pl.DataFrame]:
    """Make what is not kept yet, and return a table of each audit that is there then, by its file.

    Parameters
    ----------
    make:
        Makes an audit; a function of a module, as other processes import it.
    tasks:
        What to make, by the file that keeps it.
    processes:
        How many make them side by side, each of one thread; 1 makes all in this process.
    until:
        No audit is begun after this time, in seconds since 1970.
    """
    unmade = {path: task for path, task in tasks.items() if not path.exists()}
    for path, seconds in _made(partial(_keep, make, until), unmade, processes):
        print(f"{path.stem}: {seconds:.1f} CPU s", flush=True)
    tables = {path: pl.DataFrame(json.loads(path.read_text())) for path in tasks if path.exists()}
    if len(tables) < len(tasks):
        print(f"{len(tables)} of {len(tasks)} audits are kept; the next call goes on from there.", flush=True)
    return tables


def _made(
    keep: Callable[[Path, Task], float | None], tasks: Mapping[Path, Task], processes: int
) -> Iterator[tuple[Path, float]]:
    """Each audit as soon as it is made, with its processor time."""
    if processes <= 1 or len(tasks) <= 1:
        done = ((path, keep(path, task)) for path, task in tasks.items())
        yield from ((path, seconds) for path, seconds in done if seconds is not None)
        return
    with pool_of(min(processes, len(tasks))) as pool:
        futures = {pool.submit(keep, path, task): path for path, task in tasks.items()}
        for future in as_completed(futures):
            seconds = future.result()
            if seconds is not None:
                yield futures[future], seconds


def _keep(make: Callable[[Task], Rows], until: float, path: Path, task: Task) -> float | None:
    if time.time() > until:
        return None
    begun = time.process_time()
    rows = make(task)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(rows).encode())
    return time.process_time() - begun
