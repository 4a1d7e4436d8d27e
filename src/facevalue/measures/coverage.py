"""Simulation of intervals and tests where the truth is known: docs/coverage.csv, from which docs/inference.md is written.

`python -m facevalue.measures.coverage --out docs/coverage.csv` takes minutes; `--quick` seconds.

People are sampled; each answers the study's prompts (fixed, as a study's are) through a picture. On the logit scale:
logit P(yes) = base + effect + person + prompt + picture, where person and picture are drawn, normal with mean 0, anew
for each person and picture. Two designs: the same people before and after a change of the picture (paired), and one
group of people against another (two groups). One answer in twenty is missing.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special, stats

from facevalue.measures import comparison, inference
from facevalue.measures.comparison import BOOTSTRAP, WELCH, Interval, T
from facevalue.measures.inference import LEVEL, RESAMPLES, Array

CLUSTERS = (5, 10, 30, 100, 500)
DESIGNS = ("paired", "two groups")
TYPE1 = (0.035, 0.065)
COVERAGE = (0.93, 0.97)
"""What the method that the product chooses keeps to."""
EFFECT = 0.5
"""The moderate effect, on the logit scale."""
PROMPTS, ANSWERS, MISSING = 10, 2, 0.05  # answers to each prompt: the two orders of its options
NAIVE = "answers as independent"
PERCENTILE = "percentile cluster bootstrap"
BCA = "BCa cluster bootstrap"
GEE = "GEE, bias-reduced"
PERMUTATION = {"paired": "sign flip", "two groups": "label permutation"}
WILCOXON = "Wilcoxon over cluster means"
_BLOCK = 100  # repetitions that share one set of bootstrap weights
_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Setting:
    """How much people, prompts and pictures vary, as SDs on the logit scale, around a base rate."""

    name: str
    person: float
    prompt: float
    picture: float
    base: float

    @property
    def prompts(self) -> Array:
        """Effects of the prompts: normal quantiles, so that a study's prompts are the same in each repetition."""
        places = special.ndtri((np.arange(PROMPTS) + 0.5) / PROMPTS)
        return self.prompt * places / places.std()


SETTINGS = (
    Setting("little", 0.5, 0.35, 0.25, special.logit(0.3)),
    Setting("middling", 1.0, 0.7, 0.5, special.logit(0.3)),
    Setting("much", 2.0, 1.0, 1.0, special.logit(0.3)),
    Setting("rare", 1.0, 0.7, 0.5, special.logit(0.02)),
)
PROMISED = ("little", "middling", "much")
"""Settings in which the bounds are kept; `rare` shows what happens outside of them."""


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often each kind of method is tried."""

    cheap: int
    bootstrap: int
    permutation: int
    resamples: int


FULL = Repetitions(8000, 4000, 2000, RESAMPLES)
QUICK = Repetitions(400, 100, 100, 400)


@dataclass(frozen=True, slots=True)
class Sample:
    """Clusters of one group in many repetitions, each array of shape (clusters, repetitions).

    Attributes
    ----------
    sums, counts:
        As everywhere.
    squares:
        Sums of squares, for the method that takes answers for independent.
    """

    sums: Array
    counts: Array
    squares: Array

    def __getitem__(self, repetitions: slice) -> "Sample":
        """Some of the repetitions."""
        return Sample(self.sums[:, repetitions], self.counts[:, repetitions], self.squares[:, repetitions])

    @property
    def part(self) -> comparison.Part:
        """What `comparison` takes."""
        return self.sums, self.counts


def truth(setting: Setting, effect: float) -> float:
    """Marginal effect: difference of the probability of yes, over people, prompts and pictures (Gauss-Hermite)."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.hypot(setting.person, setting.picture) * points
    logits = setting.base + setting.prompts[:, None] + spread
    gain = special.expit(logits + effect) - special.expit(logits)
    return float((gain @ weights / weights.sum()).mean())


def simulate(
    setting: Setting, design: str, clusters: int, effect: float, repetitions: int, rng: np.random.Generator
) -> list[Sample]:
    """Sample people and their answers: one sample of shifts, or two groups of people.

    Parameters
    ----------
    setting, design, clusters, effect:
        What is simulated; `clusters` per group.
    repetitions:
        How often.
    rng:
        Source of all randomness.
    """
    step = max(1, 2_000_000 // (clusters * PROMPTS * ANSWERS))
    blocks: list[list[Sample]] = []
    for start in range(0, repetitions, step):
        shape = (clusters, min(step, repetitions - start))
        people = setting.person * rng.standard_normal(shape, dtype=np.float32)
        before = _answers(setting, people, 0.0, rng)
        if design == "paired":
            after = _answers(setting, people, effect, rng)
            both = before[1] & after[1]
            rose, fell = _count(after[0] & ~before[0] & both), _count(before[0] & ~after[0] & both)
            blocks.append([Sample(rose - fell, _count(both), rose + fell)])
        else:
            others = setting.person * rng.standard_normal(shape, dtype=np.float32)
            after = _answers(setting, others, effect, rng)
            groups = [(_count(yes & seen), _count(seen)) for yes, seen in (before, after)]
            blocks.append([Sample(sums, counts, sums) for sums, counts in groups])
    return [
        Sample(*(np.concatenate([getattr(block[g], name) for block in blocks], axis=1) for name in Sample.__slots__))
        for g in range(len(blocks[0]))
    ]


def _answers(setting: Setting, people: Array, effect: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Answers (yes or no) and whether there is one, each of shape (clusters, repetitions, prompts, answers)."""
    pictures = setting.picture * rng.standard_normal(people.shape, dtype=np.float32)
    logits = (people + pictures)[..., None] + (setting.base + effect + setting.prompts).astype(np.float32)
    chance = np.float32(MISSING) + np.float32(1 - MISSING) * special.expit(logits)
    drawn = rng.random((*chance.shape, ANSWERS), dtype=np.float32)
    return drawn < chance[..., None], drawn >= MISSING


def _count(answers: Array) -> Array:
    return np.count_nonzero(answers, axis=(2, 3)).astype(np.float64)


def naive(samples: Sequence[Sample]) -> Interval:
    """Take every answer (or paired difference of answers) for independent, with the normal distribution."""
    value = comparison.difference([sample.part for sample in samples])
    variance = np.zeros(value.shape)
    for sample in samples:
        n = sample.counts.sum(axis=0)
        mean = sample.sums.sum(axis=0) / n
        variance += (sample.squares.sum(axis=0) / n - mean**2) / (n - 1)
    return _normal(value, np.sqrt(variance))


def gee(samples: Sequence[Sample]) -> Interval:
    """Bias-reduced GEE with independent working correlation and identity link, with the normal distribution.

    Equation
    --------
    Each cluster's residual is divided by 1 - n_i / Σ n, its leverage (Mancl and DeRouen 2001); in closed form, because
    no covariate varies within a cluster. A test holds it against statsmodels' `cov_type="bias_reduced"`.
    """
    value = comparison.difference([sample.part for sample in samples])
    variance = np.zeros(value.shape)
    for sample in samples:
        n = sample.counts.sum(axis=0)
        residual = (sample.sums - sample.sums.sum(axis=0) / n * sample.counts) / (1 - sample.counts / n)
        variance += (residual**2).sum(axis=0) / n**2
    return _normal(value, np.sqrt(variance))


def _normal(value: Array, se: Array) -> Interval:
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(se > 0, value / se, np.nan)
    spread = np.where(se > 0, stats.norm.ppf(0.5 + LEVEL / 2) * se, np.nan)
    return Interval(value - spread, value + spread, 2 * stats.norm.sf(np.abs(z)))


def bootstraps(samples: Sequence[Sample], resamples: int, rng: np.random.Generator) -> dict[str, Interval]:
    """Percentile, BCa and studentised intervals, all from the same resamples of each repetition."""
    parts = [sample.part for sample in samples]
    seeds = rng.integers(2**32, size=len(parts))
    weights = [
        inference.bootstrap_weights(len(part[0]), resamples, int(seed)) for part, seed in zip(parts, seeds, strict=True)
    ]
    out = {BOOTSTRAP: comparison.studentised(parts, weights)}
    value = comparison.difference(parts)
    boot = np.zeros((resamples, value.size))
    third, second = np.zeros(value.shape), np.zeros(value.shape)
    for sign, (sums, counts), drawn in zip((-1, 1)[-len(parts) :], parts, weights, strict=True):
        boot += sign * inference.ratio(drawn @ sums, drawn @ counts)
        influence = sign * (sums - inference.ratio(sums.sum(axis=0), counts.sum(axis=0)) * counts) / counts.sum(axis=0)
        third += (influence**3).sum(axis=0)
        second += (influence**2).sum(axis=0)
    below = (np.mean(boot < value, axis=0) + np.mean(boot <= value, axis=0)) / 2
    z0 = special.ndtri(np.clip(below, 1 / (resamples + 1), resamples / (resamples + 1)))
    accelerate = third / (6 * np.where(second > 0, second, np.inf) ** 1.5)
    ordered = np.sort(boot.T, axis=1)
    tail = (1 - LEVEL) / 2
    for name, shift, a in ((PERCENTILE, 0.0 * z0, 0.0 * z0), (BCA, z0, accelerate)):
        ends = []
        for z in special.ndtri([tail, 1 - tail]):
            place = special.ndtr(shift + (shift + z) / (1 - a * (shift + z))) * (resamples - 1)
            left = np.minimum(place.astype(np.int64), resamples - 2)
            rows = np.arange(len(ordered))
            ends.append(ordered[rows, left] + (place - left) * (ordered[rows, left + 1] - ordered[rows, left]))
        excludes = (ends[0] > 0) | (ends[1] < 0)
        out[name] = Interval(ends[0], ends[1], np.where(excludes, 0.0, 1.0))  # p is not needed beyond the level
    return out


def sign_flip(sample: Sample, resamples: int, rng: np.random.Generator) -> Array:
    """Two-sided p-value by changing the signs of whole clusters; all sign changes of few clusters."""
    clusters = len(sample.sums)
    if 2**clusters <= resamples:
        bits = np.arange(2**clusters)[:, None] >> np.arange(clusters)
        signs, more = (bits & 1) * 2.0 - 1, 0
    else:
        signs, more = rng.integers(0, 2, (resamples, clusters)) * 2.0 - 1, 1
    hits = np.sum(np.abs(signs @ sample.sums) >= np.abs(sample.sums.sum(axis=0)) - 1e-9, axis=0)
    return (more + hits) / (more + len(signs))


def _only_p(p: Array) -> Interval:
    nothing = np.full(p.shape, np.nan)
    return Interval(nothing, nothing, p)


def _blocks(repetitions: int) -> Iterator[slice]:
    for start in range(0, repetitions, _BLOCK):
        yield slice(start, min(start + _BLOCK, repetitions))


def _joined(parts: Sequence[Interval]) -> Interval:
    return Interval(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def methods(samples: list[Sample], design: str, how: Repetitions, rng: np.random.Generator) -> dict[str, Interval]:
    """Intervals and p-values of each method, for as many repetitions as it gets."""
    paired = design == "paired"
    parts = [sample.part for sample in samples]
    out = {NAIVE: naive(samples), T if paired else WELCH: comparison.t_interval(parts), GEE: gee(samples)}
    booted: dict[str, list[Interval]] = {}
    for block in _blocks(how.bootstrap):
        for name, interval in bootstraps([sample[block] for sample in samples], how.resamples, rng).items():
            booted.setdefault(name, []).append(interval)
    out |= {name: _joined(intervals) for name, intervals in booted.items()}
    permuted = []
    for block in _blocks(how.permutation):
        few = [sample[block] for sample in samples]
        if paired:
            permuted.append(sign_flip(few[0], how.resamples, rng))
        else:
            sums, counts = (np.concatenate([getattr(s, name) for s in few]) for name in ("sums", "counts"))
            group = np.repeat([0, 1], len(few[0].sums))
            permuted.append(comparison.permutation_p(sums, counts, group, int(rng.integers(2**32)), how.resamples))
    out[PERMUTATION[design]] = _only_p(np.concatenate(permuted))
    if paired:
        few = samples[0][slice(0, how.permutation)]
        out[WILCOXON] = _only_p(inference.wilcoxon(few.sums, few.counts))
    return out


def _share(hits: Array) -> tuple[float, float]:
    """Share and its Monte-Carlo standard error, with half a hit added on each side, so that none has no error."""
    n = hits.size
    padded = (hits.sum() + 0.5) / (n + 1)
    return float(hits.mean()), float(np.sqrt(padded * (1 - padded) / n))


def rows(
    setting: Setting, design: str, clusters: int, how: Repetitions, seed: int = _SEED
) -> Iterator[dict[str, object]]:
    """Rows of the table for one design: type I error, coverage, power and width of each method."""
    found: list[dict[str, Interval]] = []
    truths = [0.0, truth(setting, EFFECT)]
    place = [s.name for s in SETTINGS].index(setting.name), DESIGNS.index(design), clusters
    for which, effect in enumerate((0.0, EFFECT)):
        rng = np.random.default_rng([seed, *place, which])
        found.append(methods(simulate(setting, design, clusters, effect, how.cheap, rng), design, how, rng))
    chosen = comparison.method_for(clusters, paired=design == "paired")
    for method, null in found[0].items():
        moved = found[1][method]
        row: dict[str, object] = {"design": design, "clusters": clusters, "setting": setting.name, "method": method}
        row |= {"chosen": method == chosen, "repetitions": null.p.size}
        row["type1"], row["type1_se"] = _share(null.p < 1 - LEVEL)
        row["power"], row["power_se"] = _share(moved.p < 1 - LEVEL)
        for name, interval, true in zip(("zero", "effect"), (null, moved), truths, strict=True):
            known = np.isfinite(interval.low)
            covered = (interval.low <= true) & (true <= interval.high)
            share = _share(covered[known]) if known.any() else (None, None)
            row[f"coverage_{name}"], row[f"coverage_{name}_se"] = share
        known = np.isfinite(moved.low)
        row["width"] = float((moved.high - moved.low)[known].mean()) if known.any() else None
        row["undefined"] = float(np.mean(~np.isfinite(moved.p)))
        row |= {"effect": truths[1], "person_sd": setting.person, "prompt_sd": setting.prompt}
        yield row | {"picture_sd": setting.picture, "base_rate": float(special.expit(setting.base))}


def table(
    how: Repetitions = FULL,
    *,
    settings: Sequence[Setting] = SETTINGS,
    clusters: Sequence[int] = CLUSTERS,
    designs: Sequence[str] = DESIGNS,
    seed: int = _SEED,
    say: Callable[[str], object] = lambda line: None,
) -> pl.DataFrame:
    """Simulate everything.

    Parameters
    ----------
    how:
        How often.
    settings, clusters, designs:
        What.
    seed:
        Another one gives an independent table.
    say:
        Told of each step that is done.
    """
    out: list[dict[str, object]] = []
    start = time.perf_counter()
    for design, size, setting in product(designs, clusters, settings):
        out += rows(setting, design, size, how, seed)
        say(f"{time.perf_counter() - start:5.0f} s  {design}, {size} clusters, {setting.name}")
    return pl.DataFrame(out, infer_schema_length=None)


def outside(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of chosen methods, in the promised settings, that leave the bounds."""
    kept = pl.col("type1").is_between(*TYPE1)
    for name in ("coverage_zero", "coverage_effect"):
        kept &= pl.col(name).is_between(*COVERAGE)
    return frame.filter(pl.col("chosen") & pl.col("setting").is_in(PROMISED) & ~kept)


def main() -> None:
    """Simulate, write the table, and say what is outside of the bounds."""
    parser = argparse.ArgumentParser(prog="python -m facevalue.measures.coverage", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="CSV to write")
    parser.add_argument("--quick", action="store_true", help="few repetitions: seconds, and only a smoke test")
    chosen = parser.parse_args()
    frame = table(QUICK if chosen.quick else FULL, say=lambda line: print(line, file=sys.stderr, flush=True))
    chosen.out.write_text(frame.write_csv(float_precision=4))
    wrong = outside(frame)
    print(f"{chosen.out}: {frame['chosen'].sum()} chosen rows, {wrong.height} outside of the bounds", file=sys.stderr)


if __name__ == "__main__":
    main()
