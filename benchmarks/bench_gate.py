"""Processor time of a gate on estimates that exist: `facevalue gate` as a process of its own, from start to end.

Run with `python -m benchmarks.bench_gate`. Runs of a simulated respondent are made and measured first, in a folder
of its own that is removed in the end. With a limit of change answers are passed over again: timed for comparison.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._harness import Result, at_most, finish, fresh

STUDIES: dict[str, tuple[dict[str, Any], int | None]] = {
    "stylisticbias": ({"faces": "60"}, None),
    "vignette": ({"dimension": ["age"]}, 16_000),
    "modscan": ({"faces": 4}, None),
    "counterfactuals": ({"sets": 20}, None),
    "visbias": ({"forms": 20}, None),
}
"""Settings of each study, and how much of it is asked."""
LIMITS = '[[limit]]\nmeasure = "missing_share"\nat_most = 0.5\n\n[[limit]]\nfindings = 100000\n'
CHANGE = '[[limit]]\nmeasure = "missing_share"\nchange = 0.5\n'


def simulate(name: str, folder: str) -> float:
    """Ask a respondent twice, take the estimates, and return how many requests there are."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run
    from facevalue.runs.kept_estimates import take_estimates
    from facevalue.runs.stored_run import StoredRun

    options, sample = STUDIES[name]
    for model in ("default", "null"):
        settings = RunSettings(check=False, sample=sample)
        asked = run(studies.build(name, options), load(f"sim/{model}"), Path(folder, model), settings).asked
    take_estimates([StoredRun.open(Path(folder, "default"))])
    return float(asked)


def held(folder: str, *options: str) -> float:
    """Hold the run against limits, as people do, and return the processor seconds of the process."""
    command = [sys.executable, "-m", "facevalue", "gate", "default", "--limits", *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert ended.returncode in (0, 3, 4), ended.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run all cases."""
    results = []
    for name in STUDIES:
        with tempfile.TemporaryDirectory() as folder:
            asked = fresh(simulate, name, folder)
            Path(folder, "limits.toml").write_text(LIMITS)
            Path(folder, "change.toml").write_text(CHANGE)
            case = f"{name}, {asked:,.0f} requests"
            held(folder, "limits.toml")  # Python compiles the package
            taken = median(held(folder, "limits.toml") for _ in range(5))
            results.append(at_most(f"{case}: values and findings", taken, "s", 1.0))
            against = held(folder, "change.toml", "--baseline", "null")
            results.append(Result(f"{case}: against a baseline", against, "s"))
    finish("gate", "A gate on estimates that exist, processor time", results)


if __name__ == "__main__":
    main()
