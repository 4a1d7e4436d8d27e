"""Makings in processes of their own that are killed at random moments."""

import multiprocessing
import random
import time
from collections.abc import Mapping
from pathlib import Path

from tests.runs import slow_making

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.slow_making"])


def asked(log: Path) -> list[str]:
    """Pictures that were asked for, by all processes."""
    return log.read_text().split() if log.exists() else []


def is_killed(
    place: Path | str, log: Path, draws: random.Random, pictures: int, environment: Mapping[str, str] | None = None
) -> bool:
    """Have a process make pictures, and kill it a moment after it asked for so many; whether it had not ended yet."""
    goal = len(asked(log)) + pictures
    process = PROCESSES.Process(target=slow_making.main, args=(place, log, environment), daemon=True)
    process.start()
    deadline = time.monotonic() + 60
    while len(asked(log)) < goal and process.exitcode is None and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(draws.uniform(0.0, 0.1))
    runs = process.exitcode is None
    if runs:
        process.kill()
    process.join()
    return runs
