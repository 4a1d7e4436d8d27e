"""How many times as long two runs take to be compared as one of them takes to be measured.

Run with `python -m benchmarks.bench_compare`, or with the `src` folder of another version as an argument, to have that
measured, too, in turns with the one at hand. The runs, of two simulated respondents, are made first, in a folder of its
own that is removed in the end. Processor time of a fresh process on one core each.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks._harness import Result, at_most, finish, fresh

REPEATS = 3
STUDIES: dict[str, tuple[dict[str, Any], int | None]] = {
    "stylisticbias": ({"faces": "30"}, None),
    "vignette": ({"dimension": ["age"]}, 16_000),
    "modscan": ({"faces": 4}, None),
}
"""Settings of each study, and how much of it is asked."""


def simulate(name: str, folder: str) -> float:
    """Ask two respondents, and return how many requests each got."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run

    options, sample = STUDIES[name]
    for model in ("default", "null"):
        settings = RunSettings(check=False, sample=sample)
        asked = run(studies.build(name, options), load(f"sim/{model}"), Path(folder, model), settings).asked
    return float(asked)


def compare(folder: str) -> list[float]:
    """Seconds for the measures of one run, and for the comparison of both, imports not counted."""
    from facevalue.runs.comparisons.comparison import compare_all
    from facevalue.runs.joined_runs import estimate
    from facevalue.runs.stored_run import StoredRun

    one, two = (StoredRun.open(Path(folder, model)) for model in ("default", "null"))
    estimate([one])  # imports what it needs
    start = process_time()
    estimate([one])
    measured = process_time()
    compare_all((one, two))
    return [measured - start, process_time() - measured]


def main(before: Path | None = None) -> None:
    """Run all cases."""
    results = []
    for name in STUDIES:
        with tempfile.TemporaryDirectory() as folder:
            asked = fresh(simulate, name, folder)
            versions = {"": None, **({" before": before} if before else {})}
            times: dict[str, list[list[float]]] = {version: [] for version in versions}
            for _ in range(REPEATS):
                for version, source in versions.items():
                    times[version].append(fresh(compare, folder, source=source))
        results.append(Result(f"{name}: requests of each run", asked, "requests"))
        for version, runs in times.items():
            ratio, seconds = median(both / one for one, both in runs), median(both for _, both in runs)
            results.append(Result(f"{name}: two runs compared{version}", seconds, "s"))
            case = f"{name}: compared / measured{version}"
            results.append(Result(case, ratio, "times") if version else at_most(case, ratio, "times", 3))
    finish("compare", "Two runs compared, beside the measures of one (simulated), one core, processor time", results)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
