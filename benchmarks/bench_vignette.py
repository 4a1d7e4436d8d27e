"""VIGNETTE's design of 31 million picture pairs: planned, sampled, its answers measured.

Run with `python -m benchmarks.bench_vignette`. Medians of five; the command is timed with its start.
"""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb, seconds
from facevalue import studies
from facevalue.runs.plan import plan

ANSWERS = 2_000_000


def command(*arguments: str) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command, from its start to its end; medians of five."""
    times, peaks = [], []
    for _ in range(6):
        start = perf_counter()
        program = Path(sys.executable).with_name("facevalue")
        with subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"{arguments}: exit status {child.returncode}")
        times.append(perf_counter() - start)
        peaks.append(usage.ru_maxrss * 1024 / 1e6)
    return float(np.median(times[1:])), float(np.median(peaks[1:]))


def whole() -> tuple[float, float]:
    """Seconds to build and plan the whole study, and to draw 10,000 requests of it, libraries loaded."""
    made = studies.build("vignette", {"drawings": "none"})
    build = seconds(lambda: plan(studies.build("vignette", {"drawings": "none"})))
    return build, seconds(lambda: made.design.trials(made.sample(10_000, 1, 1)))


def measure() -> tuple[float, float, float]:
    """Seconds to measure two million random answers about the whole study; peak memory in MB before and after."""
    study = studies.build("vignette", {"drawings": "none"})
    numbers = study.sample(ANSWERS, 1, 1)
    weight = np.random.default_rng(1).integers(0, 2, numbers.size).astype(np.float64)
    parts = []
    for start in range(0, numbers.size, 500_000):
        rows = study.design.trials(numbers[start : start + 500_000])
        values = pl.Series("weight", weight[start : start + 500_000])
        nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("swapped", "both", "none")]
        flags = [pl.lit(value).alias(name) for name, value in (("listed_first", True), ("left_first", False))]
        parts.append(
            rows.with_columns(
                values, pl.lit(0, pl.UInt8).alias("repeat"), pl.lit(1.0).alias("mass"),
                pl.lit(None, pl.String).alias("na"), *nothing, *flags,
            )
        )  # fmt: skip
    before = peak_mb()
    begin = perf_counter()
    study.analyse({"model": iter(parts)})
    return perf_counter() - begin, before, peak_mb()


def main() -> None:
    """Measure, print, store."""
    elapsed, peak = command("plan", "vignette", "--json")
    sampled, _ = command("plan", "vignette", "--drawings", "none", "--sample", "10000", "--json")
    build, draw = fresh(whole)
    took, before, after = fresh(measure)
    finish(
        "vignette",
        "VIGNETTE: one core",
        [
            at_most("plan the whole study: the command", elapsed, "s", 1),
            at_most("plan the whole study: peak memory", peak, "MB", 200),
            at_most("plan with a sample of 10,000: the command", sampled, "s", 2),
            Result("build and plan, libraries loaded", build * 1e3, "ms"),
            Result("draw and decode 10,000, libraries loaded", draw * 1e3, "ms"),
            Result("measure two million answers", took, "s"),
            Result("of it, memory beyond the answers", after - before, "MB"),
        ],
    )


if __name__ == "__main__":
    main()
