"""What intervals cost: 10,000 estimates with 2,000 resamples over 5 million answers of 500 people.

Run with `python -m benchmarks.bench_inference`. Two cores; from flat arrays of answers to the table of intervals.
"""

from time import perf_counter

import numpy as np

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb
from facevalue.measures.cluster_bootstrap import Array, cluster_means, cluster_sums
from facevalue.measures.group_means import Codes, compare_groups
from facevalue.measures.intervals import STUDENTISED_BOOTSTRAP
from facevalue.measures.uncertainty import Estimates

ANSWERS, CLUSTERS, CELLS, RESAMPLES = 5_000_000, 500, 10_000, 2_000
CORES = 2
SECONDS, MEGABYTES = 60, 4_000


def answers() -> tuple[Array, Codes, Codes]:
    """Answers of people who differ, one in twenty missing, with person and cell of each."""
    rng = np.random.default_rng(1)
    cluster = rng.integers(0, CLUSTERS, ANSWERS)
    cell = rng.integers(0, CELLS, ANSWERS)
    chance = rng.beta(2, 2, CLUSTERS)
    values = (rng.random(ANSWERS) < chance[cluster]).astype(np.float64)
    values[rng.random(ANSWERS) < 0.05] = np.nan
    return values, cluster, cell


def work(what: str) -> tuple[float, float, float, float]:
    """Seconds to gather and to estimate, peak memory in MB, and the share of estimates with an interval."""
    values, cluster, cell = answers()
    group = np.arange(CLUSTERS) % 2
    start = perf_counter()
    sums, counts = cluster_sums(values, cluster, cell, CLUSTERS, CELLS)
    gathered = perf_counter()
    estimates: Estimates
    if what == "means":
        estimates = cluster_means(sums, counts, seed=0, resamples=RESAMPLES)
    else:
        estimates = compare_groups(sums, counts, group, seed=0, resamples=RESAMPLES)
    end = perf_counter()
    assert set(estimates.method) == {STUDENTISED_BOOTSTRAP}
    return gathered - start, end - gathered, peak_mb(), float(np.isfinite(estimates.low).mean())


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    for what, title in (("means", "means"), ("compare", "differences of two groups")):
        gather, estimate, peak, measured = fresh(work, what, cores=CORES)
        results += [
            Result(f"{title}: gather by person and cell", gather, "s"),
            Result(f"{title}: intervals", estimate, "s"),
            at_most(f"{title}: in all", gather + estimate, "s", SECONDS),
            at_most(f"{title}: peak memory", peak, "MB", MEGABYTES),
            Result(f"{title}: estimates with an interval", 100 * measured, "%"),
        ]
    finish("inference", "Inference: 10,000 estimates x 2,000 resamples, 5 million answers, two cores", results)


if __name__ == "__main__":
    main()
