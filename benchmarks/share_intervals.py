"""Simulation of intervals of shares over units and over pairs: docs/results/share-intervals.csv.

`python -m benchmarks.share_intervals --out docs/results/share-intervals.csv` takes two minutes; `--quick` seconds.

Units answer with chances of their own, from a beta distribution around the share, so that answers of one unit are
correlated (0: units are alike; 1: each says the same throughout). All weigh the same (36 answers), or unlike
(log-normal, SD .7), or one in five has 120 answers and all others 12. With strata, two parts of the sample have shares
.7 above and below on the logit scale. Rules side by side: t with G - 1 degrees of freedom (G less the number of
strata), with Satterthwaite's (`measures.proportions`), and the jackknife with Kish's number of units. The share that an
interval should hold is that of the units' own weights.

Pairs: all pairs of units (with strata, of units of one stratum) give four answers each, with the chance base + sd
(a_i + a_j) on the logit scale, a of units standard normal. Rules: the sum over units on either side with G/(G - 1) and
t with G - 1 degrees of freedom, as VIGNETTE had it, and `measures.pairs`, with strata and without. The share is that of
all pairs that there could be.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.pairs import pair_shares
from facevalue.measures.proportions import FEWEST_UNITS, Codes, effective_size, unit_shares, wilson_interval

UNITS = (2, 3, 4, 5, 8, 12, 20, 30)
SHARES = (0.02, 0.1, 0.3, 0.5)
CORRELATIONS = (0.0, 0.05, 0.2, 1.0)
WEIGHTS = ("equal", "unlike", "one in five has ten times as many")
PAIRED_UNITS = (4, 6, 8, 12, 20, 30)
BASES, DEVIATIONS = (0.05, 0.2, 0.5), (0.0, 0.5, 1.0)
RULES = ("G - 1", "Satterthwaite", "jackknife, Kish")
_SEED = 20260


def drawn_weights(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Answers of each unit."""
    if kind == "equal":
        return np.full(shape, 36.0)
    if kind == "unlike":
        return np.maximum(np.rint(36 * np.exp(rng.normal(-0.245, 0.7, shape))), 1.0)
    return np.broadcast_to(np.where(np.arange(shape[1]) % 5 == 0, 120.0, 12.0), shape)


def drawn_answers(share: Array, correlation: float, n: Array, rng: np.random.Generator) -> Array:
    """Answers that the share is of, of each unit."""
    chance = share + np.zeros_like(n)
    if correlation == 1:
        chance = (rng.random(n.shape) < chance).astype(np.float64)
    elif correlation > 0:
        of_units = (1 - correlation) / correlation
        chance = rng.beta(chance * of_units, (1 - chance) * of_units)
    return rng.binomial(n.astype(np.int64), chance).astype(np.float64)


def variances(s: Array, n: Array, strata: Codes) -> dict[str, tuple[Array, Array]]:
    """Variance of each sample's share, and its degrees of freedom, by each rule."""
    total, number = n.sum(axis=1), n.shape[1]
    linear, jackknife, squares, of_g, of_kish = (np.zeros(len(n)) for _ in range(5))
    for stratum in np.unique(strata):
        a, c = n[:, strata == stratum], s[:, strata == stratum]
        part, g = a / a.sum(axis=1, keepdims=True), a.shape[1]
        error = (c - (c.sum(axis=1) / a.sum(axis=1))[:, None] * a) / total[:, None]
        linear += g / (g - 1) * (error**2).sum(axis=1)
        jackknife += (g - 1) / g * ((error / (1 - part)) ** 2).sum(axis=1)
        w = a / total[:, None]
        v = (w**2).sum(axis=1)
        squares += v
        with np.errstate(divide="ignore"):
            of_g += v**2 / (v**2 / (w**4).sum(axis=1) - 1)
            of_kish += v**2 / (1 / (part**2).sum(axis=1) - 1)
    freedom = np.full(len(n), float(number - np.unique(strata).size))
    rules = (linear, freedom), (linear, squares**2 / of_g), (jackknife, squares**2 / of_kish)
    return dict(zip(RULES, rules, strict=True))


def of_units(samples: int) -> Iterator[dict[str, object]]:
    """How often intervals over units hold the truth, and how wide they are, by setting and rule."""
    rng = np.random.default_rng(_SEED)
    for kind, stratified, units, share, correlation in product(WEIGHTS, (False, True), UNITS, SHARES, CORRELATIONS):
        if stratified and units < 4:
            continue
        n = drawn_weights(kind, (samples, units), rng)
        # of each five, one or two are in the second part; the large ones in turn
        strata = (np.arange(units) // (5 if kind == WEIGHTS[2] and units > 8 else 1) % 2) * stratified
        logit = np.log(share / (1 - share)) + stratified * 1.4 * (strata - 0.5)
        chance = 1 / (1 + np.exp(-logit))
        s = drawn_answers(chance, correlation, n, rng)
        truth, value = ((x * n).sum(axis=1) / n.sum(axis=1) for x in (chance, s / n))
        row: dict[str, object] = {
            "over": "units", "weights": kind, "strata": 1 + stratified, "units": units, "share": share,
            "correlation": correlation,
        }  # fmt: skip
        for rule, (variance, df) in variances(s, n, strata).items():
            low, high = wilson_interval(value, effective_size(value, np.sqrt(variance), np.full(samples, units)), df)
            row |= {f"held: {rule}": held(low, high, truth), f"width: {rule}": float(np.mean(high - low))}
        if units >= FEWEST_UNITS:
            cell, unit = (code.ravel() for code in np.indices(n.shape))
            shares = unit_shares(cell, samples, unit, n.ravel(), s.ravel(), stratum=np.tile(strata, samples))
            assert held(shares.low, shares.high, truth) == row["held: Satterthwaite"], row
        yield row


def of_pairs(samples: int) -> Iterator[dict[str, object]]:
    """How often intervals over units on either side of pairs hold the truth, and how wide they are."""
    rng = np.random.default_rng(_SEED)
    sums = rng.normal(size=400_000) * np.sqrt(2)  # of two units
    for strata, units, base, deviation in product((1, 2), PAIRED_UNITS, BASES, DEVIATIONS):
        if strata == 2 and units < 8:
            continue
        first, second = np.triu_indices(units, 1)
        within = first * strata // units == second * strata // units
        first, second = first[within], second[within]
        stratum = first * strata // units
        middle = np.log(base / (1 - base)) + 1.4 * (np.arange(strata) - (strata - 1) / 2)
        truth = np.full(samples, np.mean(1 / (1 + np.exp(-middle - deviation * sums[:, None]))))
        units_vary = deviation * rng.normal(size=(samples, units))
        chance = 1 / (1 + np.exp(-middle[stratum] - units_vary[:, first] - units_vary[:, second]))
        hits = rng.binomial(4, chance) / 4
        cell, pair = (code.ravel() for code in np.indices(hits.shape))
        sides, one = (first[pair], second[pair]), np.ones(pair.size)
        whole, apart = (pair_shares(hits.ravel(), one, sides, cell, samples, x) for x in (None, stratum[pair]))
        error = hits - hits.mean(axis=1, keepdims=True)
        side = (np.arange(units) == first[:, None]).astype(float) + (np.arange(units) == second[:, None])
        squares, alone = ((error @ side) ** 2).sum(axis=1) * units / (units - 1), (error**2).sum(axis=1)
        se = np.sqrt(np.maximum(squares - alone, alone)) / first.size
        value = hits.mean(axis=1)
        low, high = wilson_interval(value, effective_size(value, se, np.full(samples, units)), units - 1)
        ends = {
            "either side": (low, high),
            "dyadic": (whole.low, whole.high),
            "dyadic, strata": (apart.low, apart.high),
        }
        yield {
            "over": "pairs", "weights": "equal", "strata": strata, "units": units, "share": base,
            "correlation": deviation,
            **{f"held: {rule}": held(*of_rule, truth) for rule, of_rule in ends.items()},
            **{f"width: {rule}": float(np.mean(x[1] - x[0])) for rule, x in ends.items()},
        }  # fmt: skip


def held(low: Array, high: Array, truth: Array) -> float:
    """Share of the intervals that hold the truth."""
    return float(np.mean((low <= truth) & (truth <= high)))


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Mean coverage, how many settings lie below .93, and mean width, by units, weights and rule."""
    long = pl.concat(
        table.select(
            "over", "weights", "units", rule=pl.lit(name.removeprefix("held: ")), held=name, width=f"width: {name[6:]}"
        )
        for name in table.columns
        if name.startswith("held: ")
    ).drop_nulls()
    return long.group_by("over", "weights", "units", "rule", maintain_order=True).agg(
        pl.col("held").mean().round(3), lowest=pl.col("held").min().round(3),
        below=(pl.col("held") < 0.93).sum(), settings=pl.len(), width=pl.col("width").mean().round(3),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="Where to write the table of all settings.")
    parser.add_argument(
        "--quick", action="store_true", help="200 samples of each setting instead of 4,000 (pairs: 50, 1,000)."
    )
    options = parser.parse_args(arguments)
    samples = 200 if options.quick else 4000
    frames = (pl.DataFrame(list(rows)) for rows in (of_units(samples), of_pairs(samples // 4)))
    table = pl.concat(frames, how="diagonal")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=50):
        sys.stdout.write(f"{summary(table)}\n")
    if options.out:
        table.with_columns(pl.col(pl.Float64).round(4)).write_csv(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
