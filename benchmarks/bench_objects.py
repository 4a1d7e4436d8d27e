"""Runs in object storage: what the driver itself does for 10,000 units, and how fast a run is brought into its mirror.

Run with `python -m benchmarks.bench_objects` (`make bench-objects`). The store is memory or a folder, so that no
network is measured; workers return at once. Rates are by processor time.
"""

import statistics
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from os import environ
from pathlib import Path
from time import process_time

from obstore.store import MemoryStore

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb
from benchmarks.bench_run import _Instant, study
from facevalue.models.base import Capabilities
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.mirror import mirror_run
from facevalue.runs.storage.units import Job, Lost, ModelFacts, Receipt, Unit, UnitPlan
from facevalue.runs.storage.worker import Came, LocalWorkers, UnitWorker
from facevalue.store.manifest import versions
from facevalue.store.objects import Objects
from facevalue.store.remote import UnitFacts, encoded, read_run
from facevalue.store.sight import Sight
from facevalue.store.writer import to_frame

UNITS, SMALL, LARGE, ROUNDS = 10_000, 100, 16_384, 3
NONE = UnitFacts("", "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class _Fleet:
    """Workers that have done a unit once it is submitted; what they write is one row that says it is a whole unit."""

    def __init__(self, objects: Objects, write: bool, came: Came) -> None:
        self._objects = objects
        self._done: deque[Receipt | Lost] = deque()
        self._write = write
        self._run = ""

    def facts(self) -> ModelFacts:
        return ModelFacts("instant", {}, Capabilities(), (), versions())

    def sight(self) -> Sight:
        return Sight()

    def room(self) -> int:
        return 0 if len(self._done) > 127 else 1

    def submit(self, unit: Unit) -> None:
        self._run = self._run or read_run(self._objects)[0].id
        count = int(unit.wanted.sum())
        facts = replace(NONE, key=unit.key, run=self._run, wanted=count, rows=count)
        if self._write:
            self._objects.create(unit.key, encoded(to_frame((), unit.trials[:0].astype("u8")), facts))
        self._done.append(Receipt(unit.key, facts, True, 1.0, "node"))

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        done = list(self._done)
        self._done.clear()
        return done

    def answer_count(self) -> int:
        return 0

    def alive(self) -> Mapping[str, int]:
        return {"node": 1}

    def stop(self) -> None:
        """Nothing is on its way."""

    def close(self, *, now: bool = False) -> None:
        """Nothing to close."""


def planned() -> float:
    """Requests a second that are cut into units of the usual size, with the hash of all that each asks."""
    plan = UnitPlan(study(LARGE * 200), RunSettings(), "run", 1, LARGE)
    start = process_time()
    units = [plan.plain_unit(piece) for piece in islice(plan.pieces(), 50)]
    return sum(unit.trials.size for unit in units) / (process_time() - start)


def driven() -> tuple[float, float, float]:
    """The driver's processor time for 10,000 units, that until it has found them all done, its peak memory in MB."""
    asked, objects, settings = study(UNITS * SMALL), Objects("memory://bench", MemoryStore()), RunSettings(unit=SMALL)
    start = process_time()
    done = drive(asked, settings, objects, partial(_Fleet, objects, False), SilentProgress())
    driving = process_time() - start
    assert done.asked == UNITS * SMALL
    objects = Objects("memory://bench", MemoryStore())
    drive(asked, settings, objects, partial(_Fleet, objects, True), SilentProgress())
    start = process_time()
    again = drive(asked, settings, objects, partial(_Fleet, objects, False), SilentProgress())
    assert (again.asked, again.skipped) == (0, UNITS * SMALL)
    return driving, process_time() - start, peak_mb()


def brought() -> tuple[float, float]:
    """Answers a second that are brought into a mirror, and peak memory in MB beyond what asking took."""
    asked, model = study(1_000_000), _Instant()
    with tempfile.TemporaryDirectory() as place:
        environ["FACEVALUE_CACHE"] = str(Path(place) / "cache")
        objects = Objects.at((Path(place) / "store").as_uri(), make=True)
        job = Job(objects.url, asked.name, {}, model.name)

        def alone(came: Came) -> LocalWorkers:
            return LocalWorkers(UnitWorker(job, asked, model, objects), came)

        drive(asked, RunSettings(unit=LARGE), objects, alone, SilentProgress())
        before, start = peak_mb(), process_time()
        mirror_run(objects.url)
        return 1_000_000 / (process_time() - start), peak_mb() - before


def main() -> None:
    """Measure, print, store."""
    rate = statistics.median(fresh(planned) for _ in range(ROUNDS))
    driving, found, peak = fresh(driven)
    mirror, more = fresh(brought)
    finish(
        "objects",
        "Runs in object storage: the driver, one core",
        [
            at_least("planning units of 16,384 requests, with their hashes", rate, "requests/s", 200_000),
            at_most("10,000 units of 100: planned, handed out, counted", driving, "s of CPU", 60),
            at_most("10,000 units of 100: listed and found done", found, "s of CPU", 30),
            at_most("10,000 units of 100: peak memory", peak, "MB", 400),
            at_least("a million short answers brought into a mirror", mirror, "answers/s", 500_000),
            Result("a million short answers brought: memory beyond", more, "MB"),
        ],
    )


if __name__ == "__main__":
    main()
