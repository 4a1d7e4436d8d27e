"""Runs on a cluster: what a second worker adds, and what the driver itself costs.

Run with `python -m benchmarks.bench_cluster`; it needs Ray. Workers ask a model that sleeps, so that two of them and
the driver fit on two cores; runs with one and with two take turns, in fresh processes, and medians count. What the
driver does for 10,000 units is in `bench_objects`; here is what each protocol's requests cost it.
"""

import os
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks._harness import Result, at_least, finish, fresh
from facevalue import studies
from facevalue.cluster.fleet import begin_on_cluster
from facevalue.cluster.workers import ClusterSettings, ClusterWorkers
from facevalue.models.base import ModelOptions
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.storage.units import ModelFacts, UnitPlan, answers_per_unit
from tests.cluster.places import environment, started

PAIRS = 3
SAMPLE, UNIT = 8_000, 250
SECONDS = 0.002
"""That the model sleeps per answer."""
STUDIES = ("stylisticbias", "vignette", "visbias", "modscan", "counterfactuals")


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
    warm = len(pieces) // 2
    for piece in pieces[:warm]:
        plan.plain_unit(piece)
    began = time.process_time()
    made = sum(int(plan.plain_unit(piece).wanted.sum()) for piece in pieces[warm:])
    return (time.process_time() - began) / made * 1e6


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
    results += [Result(f"units of {study}", fresh(named, study, cores=1), "µs CPU/request") for study in STUDIES]
    finish("cluster", "Runs on a cluster", results)


if __name__ == "__main__":
    main()
