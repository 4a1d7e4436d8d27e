"""Simulation of intervals and tests where the truth is known: the numbers of docs/explanation/inference.md.

`python -m benchmarks.coverage --out docs/results/coverage.csv` takes minutes; `--quick` seconds.

People are sampled; each answers the study's prompts (fixed, as a study's are) through a picture. On the logit scale:
logit P(yes) = base + effect + person + prompt + picture, where person and picture are drawn, normal with mean 0, anew
for each person and picture. Designs: the same people before and after a change of the picture (paired); one group of
people against another (two groups), also five times as large (two groups, 1:5); and the share of one group, where
nothing is compared, so that there is coverage only. One answer in twenty is missing.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special, stats

from facevalue.measures.cluster_bootstrap import LEVEL, RESAMPLES, Array, bootstrap_weights, cell_means, wilcoxon_p
from facevalue.measures.group_means import (
    GroupSums,
    Interval,
    difference_of_means,
    resample_means,
    studentised_interval,
    t_interval,
)
from facevalue.measures.intervals import STUDENTISED_BOOTSTRAP, T_OVER_MEANS, WELCH_OVER_MEANS, method_for

CLUSTERS = (5, 10, 30, 100, 500)
DESIGNS = ("paired", "two groups", "two groups, 1:5", "one group")
TYPE1 = (0.035, 0.065)
COVERAGE = (0.93, 0.97)
"""What the method that the product chooses keeps to."""
EFFECT = 0.5
"""The moderate effect, on the logit scale."""
MOST_UNEQUAL = 100
"""Clusters of the smaller group up to which groups of unequal size are simulated: nothing happens beyond."""
PROMPTS, ANSWERS, MISSING = 10, 2, 0.05  # answers to each prompt: the two orders of its options
T, WELCH = "t over cluster means", "Welch t over cluster means"
BOOTSTRAP = "studentised cluster bootstrap"
_NAMES = {T_OVER_MEANS: T, WELCH_OVER_MEANS: WELCH, STUDENTISED_BOOTSTRAP: BOOTSTRAP}
"""What the methods of the product are called here."""
NAIVE = "answers as independent"
PERCENTILE = "percentile cluster bootstrap"
BCA = "BCa cluster bootstrap"
GEE = "GEE, bias-reduced"
SIGN_FLIP = "sign flip of clusters"
PERMUTATION = "label permutation"
WILCOXON = "Wilcoxon over cluster means"
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
_BLOCK = 100  # repetitions that share one set of bootstrap weights
_SEED = 20260101
_ENUMERATED = 20_000  # relabelings up to which all are tried: 8 against 8 clusters
_WORK = 2**21  # elements of one matrix of relabelings x repetitions


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
PROMISED_FROM = {"paired": 5, "two groups": 5, "two groups, 1:5": 10, "one group": 10}
"""Clusters (of the smaller group) from which they are kept."""


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
    def part(self) -> GroupSums:
        """What `comparison` takes."""
        return self.sums, self.counts


def chance(setting: Setting, effect: float) -> float:
    """Probability of yes over people, prompts and pictures (Gauss-Hermite)."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.hypot(setting.person, setting.picture) * points
    yes = special.expit(setting.base + effect + setting.prompts[:, None] + spread)
    return float((yes @ weights / weights.sum()).mean())


def truth(setting: Setting, design: str, effect: float) -> float:
    """What an interval should hold: the marginal effect, or the probability of one group."""
    return chance(setting, effect) - (0.0 if design == "one group" else chance(setting, 0.0))


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
    largest = 5 if design.endswith("1:5") else 1
    step = max(1, 2_000_000 // (clusters * largest * PROMPTS * ANSWERS))
    blocks = [
        _simulate(setting, design, (clusters, clusters * largest), effect, min(step, repetitions - start), rng)
        for start in range(0, repetitions, step)
    ]
    return [
        Sample(*(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in Sample.__slots__))
        for parts in zip(*blocks, strict=True)
    ]


def _simulate(
    setting: Setting, design: str, sizes: tuple[int, int], effect: float, repetitions: int, rng: np.random.Generator
) -> list[Sample]:
    scale = np.float32(setting.person)
    people, others = (scale * rng.standard_normal((size, repetitions), dtype=np.float32) for size in sizes)
    if design == "paired":
        (before, seen), (after, too) = _answers(setting, people, 0.0, rng), _answers(setting, people, effect, rng)
        both = seen & too
        rose, fell = _count(after & ~before & both), _count(before & ~after & both)
        return [Sample(rose - fell, _count(both), rose + fell)]
    groups = [_answers(setting, others, effect, rng)]
    if design != "one group":
        groups.insert(0, _answers(setting, people, 0.0, rng))
    return [Sample(_count(yes & seen), _count(seen), _count(yes & seen)) for yes, seen in groups]


def _answers(setting: Setting, people: Floats, effect: float, rng: np.random.Generator) -> tuple[Flags, Flags]:
    """Answers (yes or no) and whether there is one, each of shape (clusters, repetitions, prompts, answers)."""
    pictures = np.float32(setting.picture) * rng.standard_normal(people.shape, dtype=np.float32)
    logits = (people + pictures)[..., None] + (setting.base + effect + setting.prompts).astype(np.float32)
    bound = np.float32(MISSING) + np.float32(1 - MISSING) * special.expit(logits)
    drawn = rng.random((*bound.shape, ANSWERS), dtype=np.float32)
    return drawn < bound[..., None], drawn >= MISSING


def _count(answers: Flags) -> Array:
    return np.count_nonzero(answers, axis=(2, 3)).astype(np.float64)


def naive(samples: Sequence[Sample]) -> Interval:
    """Take every answer (or paired difference of answers) for independent, with the normal distribution."""
    value = difference_of_means([sample.part for sample in samples])
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
    value = difference_of_means([sample.part for sample in samples])
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
    weights = [bootstrap_weights(len(part[0]), resamples, int(seed)) for part, seed in zip(parts, seeds, strict=True)]
    out = {BOOTSTRAP: studentised_interval(parts, weights)}
    value = difference_of_means(parts)
    boot = np.zeros((resamples, value.size))
    third, second = np.zeros(value.shape), np.zeros(value.shape)
    for sign, (sums, counts), drawn in zip((-1, 1)[-len(parts) :], parts, weights, strict=True):
        boot += sign * cell_means(drawn @ sums, drawn @ counts)
        influence = sign * (sums - cell_means(sums.sum(axis=0), counts.sum(axis=0)) * counts) / counts.sum(axis=0)
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


def permutation_p(sums: Array, counts: Array, group: Codes, seed: int, resamples: int) -> Array:
    """Two-sided p-value of each cell by dealing the group labels out anew among the clusters that were observed.

    The statistic is the studentised difference, which keeps the level where groups differ in spread as well (Janssen
    1997). All relabelings are tried up to 8 against 8 clusters, so that the p-value is exact; beyond, `resamples`
    random ones with (1 + hits) / (1 + resamples).

    NaN where a group has fewer than two clusters or nothing varies.
    """
    member = (group == 0) | (group == 1)
    sums, counts, own = sums[member], counts[member], group[member]
    out = np.full(sums.shape[1], np.nan)
    patterns, which = np.unique(counts > 0, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        seen = patterns[:, number]
        labels = own[seen]
        if min((labels == 0).sum(), (labels == 1).sum()) < 2:
            continue
        deals = _relabelings(labels, seed, resamples)
        cells = np.flatnonzero(which == number)
        step = max(1, _WORK // len(deals))
        for start in range(0, cells.size, step):
            here = cells[start : start + step]
            s, c = sums[np.ix_(seen, here)], counts[np.ix_(seen, here)]
            s = s - cell_means(s.sum(axis=0), c.sum(axis=0)) * c
            scale = np.sqrt((s**2).sum(axis=0))
            s = s * (c.sum(axis=0) / np.where(scale > 0, scale, 1.0))  # means near 1, whatever the unit
            t = np.abs(_studentised_difference(s, c, deals))  # the first is how the labels lie
            hits = (t >= t[0] * (1 - 1e-9)).sum(axis=0)
            varies = scale > 1e-12 * np.sqrt((sums[np.ix_(seen, here)] ** 2).sum(axis=0))
            out[here] = np.where(varies, hits / len(deals), np.nan)
    return out


def _relabelings(labels: Codes, seed: int, resamples: int) -> Array:
    """Membership in group 1, shape (deals, clusters); the first row is the observed one, and no row is it again."""
    size, ones = labels.size, int((labels == 1).sum())
    observed = (labels == 1).astype(np.float64)[None, :]
    if comb(size, ones) <= _ENUMERATED:
        chosen = np.array(list(combinations(range(size), ones)))
        deals = np.zeros((len(chosen), size))
        np.put_along_axis(deals, chosen, 1.0, axis=1)
        return np.concatenate([observed, deals[(deals != observed).any(axis=1)]])
    rng = np.random.default_rng(seed)
    return np.concatenate([observed, rng.permuted(np.repeat(observed, resamples, axis=0), axis=1)])


def _studentised_difference(sums: Array, counts: Array, deals: Array) -> Array:
    one, zero = resample_means(sums, counts, deals), resample_means(sums, counts, 1 - deals)
    gap, se = one[0] - zero[0], np.sqrt(one[1] + zero[1])
    apart = np.abs(gap) > 1e-12
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(se > 1e-12, gap / se, np.where(apart, np.inf, 0.0))


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
    parts = [sample.part for sample in samples]
    t = WELCH if len(samples) > 1 else T
    out = {NAIVE: naive(samples), t: t_interval(parts), GEE: gee(samples)}
    booted: dict[str, list[Interval]] = {}
    for block in _blocks(how.bootstrap):
        for name, interval in bootstraps([sample[block] for sample in samples], how.resamples, rng).items():
            booted.setdefault(name, []).append(interval)
    out |= {name: _joined(intervals) for name, intervals in booted.items()}
    if design == "paired":
        blocks = [sign_flip(samples[0][block], how.resamples, rng) for block in _blocks(how.permutation)]
        out[SIGN_FLIP] = _only_p(np.concatenate(blocks))
        few = samples[0][slice(0, how.permutation)]
        out[WILCOXON] = _only_p(wilcoxon_p(few.sums, few.counts))
    elif len(samples) > 1:
        sums, counts = (np.concatenate([getattr(sample, name) for sample in samples]) for name in ("sums", "counts"))
        group = np.repeat([0, 1], [len(sample.sums) for sample in samples])
        blocks = [
            permutation_p(sums[:, block], counts[:, block], group, int(rng.integers(2**32)), how.resamples)
            for block in _blocks(how.permutation)
        ]
        out[PERMUTATION] = _only_p(np.concatenate(blocks))
    return out


def chosen(design: str, clusters: int) -> str:
    """Which method the product takes."""
    return _NAMES[method_for(clusters, paired=design == "paired", level=design == "one group")]


def _share(hits: Flags) -> tuple[float, float]:
    """Share and its Monte-Carlo standard error, with half a hit added on each side, so that none has no error."""
    n = hits.size
    padded = (hits.sum() + 0.5) / (n + 1)
    return float(hits.mean()), float(np.sqrt(padded * (1 - padded) / n))


def rows(
    setting: Setting, design: str, clusters: int, how: Repetitions, seed: int = _SEED
) -> Iterator[dict[str, object]]:
    """Rows of the table for one design: type I error, coverage, power and width of each method."""
    found: list[dict[str, Interval]] = []
    truths = [truth(setting, design, effect) for effect in (0.0, EFFECT)]
    place = [s.name for s in SETTINGS].index(setting.name), DESIGNS.index(design), clusters
    for which, effect in enumerate((0.0, EFFECT)):
        rng = np.random.default_rng([seed, *place, which])
        found.append(methods(simulate(setting, design, clusters, effect, how.cheap, rng), design, how, rng))
    for method, null in found[0].items():
        moved = found[1][method]
        row: dict[str, object] = {"design": design, "clusters": clusters, "setting": setting.name, "method": method}
        row |= {"chosen": method == chosen(design, clusters), "repetitions": null.p.size}
        for name, interval in (("type1", null), ("power", moved)):  # of one group's share there is nothing to test
            share = (None, None) if design == "one group" else _share(interval.p < 1 - LEVEL)
            row[name], row[f"{name}_se"] = share
        for name, interval, true in zip(("zero", "effect"), (null, moved), truths, strict=True):
            known = np.isfinite(interval.low)
            covered = (interval.low <= true) & (true <= interval.high)
            share = _share(covered[known]) if known.any() else (None, None)
            row[f"true_{name}"] = true
            row[f"coverage_{name}"], row[f"coverage_{name}_se"] = share
        known = np.isfinite(moved.low)
        row["width"] = float(np.median((moved.high - moved.low)[known])) if known.any() else None
        row["undefined"] = float(np.mean(~np.isfinite(moved.p)))
        row |= {"person_sd": setting.person, "prompt_sd": setting.prompt}
        row |= {"picture_sd": setting.picture, "base_rate": float(special.expit(setting.base))}
        yield {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def table(
    how: Repetitions = FULL,
    *,
    settings: Sequence[Setting] = SETTINGS,
    clusters: Sequence[int] = CLUSTERS,
    designs: Sequence[str] = DESIGNS,
    seed: int = _SEED,
    say: Callable[[str], object] = str,
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
        if design.endswith("1:5") and size > MOST_UNEQUAL:
            continue
        out += rows(setting, design, size, how, seed)
        say(f"{time.perf_counter() - start:5.0f} s  {design}, {size} clusters, {setting.name}")
    return judged(pl.DataFrame(out, infer_schema_length=None))


def judged(frame: pl.DataFrame) -> pl.DataFrame:
    """Add whether a row is promised to keep the bounds (`promised`), and whether it does (`within`)."""
    least = pl.col("design").replace_strict(PROMISED_FROM, return_dtype=pl.Int64)
    promised = pl.col("chosen") & pl.col("setting").is_in(PROMISED) & (pl.col("clusters") >= least)
    kept = pl.col("type1").is_between(*TYPE1).fill_null(pl.col("design") == "one group")
    for name in ("coverage_zero", "coverage_effect"):  # tests that have no interval are judged by their level
        kept &= pl.col(name).is_between(*COVERAGE).fill_null(True)
    return frame.with_columns(promised=promised, within=kept)


def outside(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that are promised to keep the bounds and do not."""
    return frame.filter(pl.col("promised") & ~pl.col("within"))


def main() -> None:
    """Simulate, write the table, and say what is outside of the bounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="CSV to write")
    parser.add_argument("--quick", action="store_true", help="few repetitions: seconds, and only a smoke test")
    asked = parser.parse_args()
    frame = table(QUICK if asked.quick else FULL, say=lambda line: print(line, file=sys.stderr, flush=True))
    asked.out.write_text(frame.write_csv(float_precision=4))
    wrong = outside(frame)
    print(
        f"{asked.out}: {frame['promised'].sum()} promised rows, {wrong.height} outside of the bounds", file=sys.stderr
    )


if __name__ == "__main__":
    main()
