"""Simulation of intervals and tests of ModSCAN's bias scores: docs/results/bias-score-intervals.csv.

`python -m benchmarks.bias_scores --out docs/results/bias-score-intervals.csv` takes minutes; `--quick` seconds.

Ten instances, each with pairs of two people of its own, every pair asked once. A pair is for one side with the chance
that its instance has: as said in `TRUTHS`. Beside the score's test stands the simplest rival: the sum over instances of
(share - 1/2)², as chi-square with a degree of freedom for each.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array
from facevalue.studies.modscan.statistics import GroupChoices, bias_scores

INSTANCES = 10
PAIRS = (2, 3, 6, 12)
_TURN = np.where(np.arange(INSTANCES) % 2, 1.0, -1.0)
TRUTHS: Mapping[str, Array] = {
    "none": np.full(INSTANCES, 0.5),
    "two of .9": np.where(np.arange(INSTANCES) < 2, 0.9, 0.5),
    "from .2 to .8": np.linspace(0.2, 0.8, INSTANCES),
    "all .65 or .35": 0.5 + 0.15 * _TURN,
    "all .9 or .1": 0.5 + 0.4 * _TURN,
    "all .8": np.full(INSTANCES, 0.8),
}
_SEED = 20261


def simulate(samples: int, resamples: int) -> Iterator[dict[str, object]]:
    """How often the interval holds the true score, and how often each test finds something, by setting."""
    for pairs in PAIRS:
        unit = np.arange(INSTANCES * pairs)
        asked = (unit[:, None] // pairs == np.arange(INSTANCES)).astype(np.float64)
        shown = np.stack([asked, asked], axis=2)
        for name, chances in TRUTHS.items():
            rng, truth = np.random.default_rng(_SEED), float(np.abs(chances - 0.5).mean())
            counted = np.zeros(4)
            for seed in range(samples):
                first = asked * (rng.random(asked.shape) < chances)
                chosen, people = np.stack([first, asked - first], axis=2), (unit, unit.size + unit)
                choices = GroupChoices(chosen, shown, asked, asked, 0.5, people, shown)
                score = bias_scores(choices, seed, resamples)["valid"]
                low, high = score.low.item(), score.high.item()
                squares = ((first.sum(axis=0) / pairs - 0.5) ** 2).sum() * 4 * pairs
                by_rival = scipy.special.chdtrc(INSTANCES, squares) < 0.05
                counted += low - 1e-9 <= truth <= high + 1e-9, low > 0, by_rival, high - low
            yield {
                "pairs": pairs, "choices": name, "score": truth,
                **dict(zip(("held", "found", "found: chi-square", "width"), counted / samples, strict=True)),
            }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="Where to write the table of all settings.")
    parser.add_argument("--quick", action="store_true", help="5 samples of each setting instead of 200.")
    options = parser.parse_args(arguments)
    table = pl.DataFrame(list(simulate(5 if options.quick else 200, 300)))
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        sys.stdout.write(f"{table}\n")
    if options.out:
        table.with_columns(pl.col(pl.Float64).round(4)).write_csv(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
