"""Runs on a cluster: what a second worker adds, and what the driver itself costs.

Run with `python -m benchmarks.bench_cluster`; it needs Ray. Workers ask a model that sleeps, so that two of them and
the driver fit on two cores; runs with one and with two take turns, in fresh processes, and medians count. The driver's
own load is measured with workers that do nothing, on a run of 10,000 units.
"""

import os
import resource
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import polars as pl
from obstore.store import MemoryStore

from benchmarks._harness import Result, at_least, at_most, finish, fresh
from facevalue import studies
from facevalue.cluster.begin import begin_on_cluster
from facevalue.cluster.settings import ClusterSettings
from facevalue.cluster.workers import ClusterWorkers
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.runs.prepared import Prepared
from facevalue.runs.progress import SilentProgress
from facevalue.runs.remote_run import drive
from facevalue.runs.settings import RunSettings
from facevalue.runs.units import Lost, ModelFacts, Receipt, Unit, UnitPlan, answers_per_unit
from facevalue.store.objects import Objects
from facevalue.store.remote import UnitFacts, encoded
from facevalue.store.schema import TIMED
from tests.cluster.places import environment, started

PAIRS = 3
SAMPLE, UNIT = 8_000, 250
SECONDS = 0.002
"""That the model sleeps per answer."""
STUDIES = ("stylisticbias", "vignette", "visbias", "modscan", "counterfactuals")
UNITS = 10_000


def scaled(address: str, workers: int, folder: str) -> float:
    """Answers a second of a run with so many workers, from the time when all are there."""

    def all_there(self: ClusterWorkers) -> ModelFacts:
        found = first(self)
        while self.alive().total() < workers:
            self.wait(0.2)
        return found

    first = ClusterWorkers.facts
    ClusterWorkers.facts = all_there  # type: ignore[method-assign]
    study = studies.build("stylisticbias", {"faces": 40})
    prepared = Prepared(study, Path(folder).as_uri(), RunSettings(sample=SAMPLE, unit=UNIT))
    cluster = ClusterSettings(address, workers=(workers, workers), cpus=0.5)
    summary = begin_on_cluster(prepared, "nap/default", ModelOptions(), cluster, SilentProgress())
    assert summary.complete
    return summary.asked / summary.seconds


def named(study: str) -> float:
    """Microseconds of processor time for a request, to cut a run into units and name them."""
    built = studies.build(study, {})
    size = answers_per_unit(built.design.size * built.repeats)
    plan = UnitPlan(built, RunSettings(), "run", 1, size)
    pieces = list(islice(plan.pieces(), 16))
    for piece in pieces[:4]:
        plan.whole(piece)
    began = time.process_time()
    made = sum(int(plan.whole(piece).wanted.sum()) for piece in pieces[4:])
    return (time.process_time() - began) / made * 1e6


class Idle:
    """Workers that store next to nothing, at once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._units: deque[Unit] = deque()
        self.seconds = 0.0

    def facts(self) -> ModelFacts:
        """Any model's."""
        return ModelFacts("nap/default", {}, Capabilities(), (), {})

    def room(self) -> int:
        """As many as 64 workers take."""
        return 128 - len(self._units)

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        self._units.append(unit)

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        """Store the next one; what that costs is not the driver's."""
        began = time.process_time()
        unit = self._units.popleft()
        run = self._objects.get("run.json")
        assert run is not None
        rows = int(unit.wanted.sum())
        facts = UnitFacts(unit.key, _id(run[0]), 0, 0, rows, rows, 0, 0, 0, 0, 0, 0, 0, 0)
        self._objects.create(unit.key, encoded(pl.DataFrame(schema=TIMED), facts))
        self.seconds += time.process_time() - began
        return [Receipt(unit.key, facts, True, 1.0, "node")]

    def answered(self) -> int:
        """None on their way."""
        return 0

    def alive(self) -> Mapping[str, int]:
        """One node."""
        return {"node": 64}

    def stop(self) -> None:
        """Nothing to stop."""

    def close(self, *, now: bool = False) -> None:
        """Nothing to close."""


def _id(run: bytes) -> str:
    return run.decode().split('"id": "')[1].split('"')[0]


def driven(units: int) -> tuple[float, float, float]:
    """Milliseconds of processor time a unit, of driving and of resuming; peak memory in MB."""
    study = studies.build("stylisticbias", {})
    requests = study.design.size * study.repeats
    objects = Objects("memory://bucket/run", MemoryStore())
    settings = replace(RunSettings(), unit=requests // units, check=False)
    spent = []
    for _ in range(2):
        made: list[Idle] = []

        def idle(_: Callable[[], None], made: list[Idle] = made) -> Idle:
            made.append(Idle(objects))
            return made[0]

        began = time.process_time()
        drive(study, settings, objects, idle, SilentProgress())
        spent.append(time.process_time() - began - made[0].seconds)
    stored = len(objects.list("responses"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return spent[0] / stored * 1e3, spent[1] / stored * 1e3, peak


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as place:
        env = environment(Path(place), 9, SECONDS)
        os.environ.update(env)
        with started("tests.cluster.ray_head", env=env) as (_, address):
            for pair in range(PAIRS):
                for workers in (1, 2) if pair % 2 else (2, 1):
                    rates[workers].append(fresh(scaled, address, workers, f"{place}/{pair}-{workers}", cores=None))
    for workers, found in rates.items():
        results.append(Result(f"{workers} worker{'s' * (workers > 1)}", statistics.median(found), "answers/s"))
    gains = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    results.append(at_least("2 workers beside 1, median of pairs", statistics.median(gains), "times", 1.8))
    driving, resuming, peak = fresh(driven, UNITS, cores=1)
    results += [
        at_most(f"driver, {UNITS:,} units", driving, "ms CPU/unit", 20),
        at_most(f"driver resuming {UNITS:,} units", resuming, "ms CPU/unit", 20),
        Result(f"driver, {UNITS:,} units", peak, "MB at most"),
    ]
    results += [Result(f"units of {study}", fresh(named, study, cores=1), "µs CPU/request") for study in STUDIES]
    finish("cluster", "Runs on a cluster", results)


if __name__ == "__main__":
    main()
