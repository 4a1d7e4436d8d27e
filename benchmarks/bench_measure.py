"""How long the measures of a full-size run take: 4.7 million answers about 15,726 pictures, and their base faces.

Run with `python -m benchmarks.bench_measure`. The run itself, by a simulated respondent, is made first, in a folder of
its own that is removed in the end; then its stored responses are read, parsed and measured, each time in a fresh
process on two cores.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb

REPEATS = 3


def simulate(folder: str) -> list[float]:
    """Requests a second, and how many requests, of the whole run."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run

    study = studies.build("stylisticbias", {"faces": "274M,226F"})
    summary = run(study, load("sim/default"), Path(folder), RunSettings(check=False))
    return [summary.asked / summary.seconds, float(summary.asked)]


def measure(folder: str) -> list[float]:
    """Seconds for the measures of the run, imports not counted, and peak memory in MB."""
    from facevalue.runs.joined import estimate
    from facevalue.runs.stored import StoredRun
    from facevalue.studies.stylisticbias import taken

    assert taken
    start = perf_counter()
    estimates, _ = estimate([StoredRun.open(Path(folder))])
    assert estimates.height > 1000
    return [perf_counter() - start, peak_mb()]


def main() -> None:
    """Run all cases."""
    with tempfile.TemporaryDirectory() as folder:
        rate, requests = fresh(simulate, f"{folder}/run", cores=2)
        runs = [fresh(measure, f"{folder}/run", cores=2) for _ in range(REPEATS)]
    finish(
        "measure",
        "Measures of a full-size StylisticBias run (simulated), two cores",
        [
            Result("requests", requests, "requests"),
            Result("simulated run, stored", rate, "requests/s"),
            at_most("read, parse, measure", median(r[0] for r in runs), "s", 10),
            at_most("peak memory", median(r[1] for r in runs), "MB", 2000),
        ],
    )


if __name__ == "__main__":
    main()
