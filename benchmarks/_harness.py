"""Shared by all benchmarks: a fresh process per case, medians of repeats, peak memory, a table and a JSON file."""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """One measured number.

    Attributes
    ----------
    case:
        What was done.
    value, unit:
        How fast or how large.
    target:
        What the project promises, in words ("at least 5"); empty if nothing.
    met:
        Whether the promise is kept; None where there is none.
    """

    case: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None


def at_least(case: str, value: float, unit: str, target: float) -> Result:
    """Return a result that should not be smaller than its target."""
    return Result(case, value, unit, f">= {target:g}", value >= target)


def at_most(case: str, value: float, unit: str, target: float) -> Result:
    """Return a result that should not be larger than its target."""
    return Result(case, value, unit, f"<= {target:g}", value <= target)


def seconds(work: Callable[[], object], repeats: int = 5, warm: int = 1) -> float:
    """Median wall time of a call.

    Parameters
    ----------
    work:
        What to time.
    repeats:
        Timed calls.
    warm:
        Calls before that, not timed.
    """
    for _ in range(warm):
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_mb() -> float:
    """Largest resident memory of this process so far, in MB of 10^6 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def fresh(case: Callable[..., Any], *args: str | int | float, cores: int | None = 1, source: Path | None = None) -> Any:
    """Call a module-level function in a process of its own and return its value, which must fit into JSON.

    Parameters
    ----------
    case:
        The function; found again by its module and name.
    args:
        Its arguments.
    cores:
        Pin the process to so many cores and its libraries to as many threads; None for all there are.
    source:
        Import the package from this folder, to measure another version of it; None for the one at hand.
    """
    module = case.__module__
    if module == "__main__":  # run as `python -m benchmarks.bench_x`
        spec = sys.modules["__main__"].__spec__
        assert spec is not None
        module = spec.name
    env = dict(os.environ) | ({"PYTHONPATH": str(source)} if source else {})
    if cores is not None:
        for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            env[name] = str(cores)
    job = json.dumps({"module": module, "name": case.__name__, "args": args, "cores": cores})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._harness", job],
        env=env,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, str | int]:
    """Facts that a reader needs to judge the numbers; nothing that says whose machine it is."""
    cpu = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = models[0] if models else cpu
    return {
        "cpu": cpu,
        "cores": os.cpu_count() or 1,
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "polars", "facevalue")},
    }


def finish(name: str, title: str, results: Sequence[Result]) -> None:
    """Print the table, write `results/NAME.json`, and exit with 1 if a target is missed.

    Parameters
    ----------
    name:
        Stem of the result file.
    title:
        Heading of the table.
    results:
        What was measured.
    """
    table = Table(title=title)
    for heading in ("case", "value", "unit", "target", ""):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    marks = {True: "met", False: "MISSED", None: ""}
    for result in results:
        table.add_row(result.case, f"{result.value:,.3g}", result.unit, result.target, marks[result.met])
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    record = {
        "benchmark": name,
        "machine": machine(),
        "results": [asdict(result) | {"value": float(f"{result.value:.4g}")} for result in results],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    if any(result.met is False for result in results):
        sys.exit(1)


def _main(job: str) -> None:
    wanted = json.loads(job)
    cores = wanted["cores"]
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    case = getattr(import_module(wanted["module"]), wanted["name"])
    print(json.dumps(case(*wanted["args"])))


if __name__ == "__main__":
    _main(sys.argv[1])
