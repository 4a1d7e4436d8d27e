"""Tests and intervals that stay valid however often a run is looked at, and whenever it stops.

A test at level .05 is wrong in one of twenty audits if it is looked at once. Looked at after every face, it finds
something in half of them sooner or later. Here a p-value and an interval pay for all looks at once, so that a run may
stop as soon as they say enough, and go on if they don't.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.family_tests import FamilyTests
from facevalue.measures.selection import to_array
from facevalue.measures.value_limits import limits_of

LEAST_UNITS = 20
"""Units below which nothing is claimed: a variance of a few skewed units says too little to be looked at repeatedly."""
_VARIANCE = 1.0
"""Variance that the mixture gives to an effect, in standard deviations between units: that of one unit."""
METHOD = "at any time, by a t mixture"
"""How the detail of the method of such an estimate ends."""


def any_time_p(p: npt.ArrayLike, df: npt.ArrayLike, units: npt.ArrayLike) -> Array:
    """P-value that is valid at all looks together, of one that is valid at a single one.

    Returns the shape of the broadcast inputs; 1 below `LEAST_UNITS`, NaN where p is missing.

    Parameters
    ----------
    p, df:
        Two-sided p-value of a test, and the degrees of freedom of its standard error.
    units:
        Sampled units that it rests on, in random order.

    Equation
    --------
    t = t(1 - p/2; df), r = 1 + n v, v = 1: the mixture of t likelihood ratios over effects of variance v, in standard
    deviations between units,

        E = r^(-1/2) [(1 + t^2 / df) / (1 + t^2 / (df r))]^((df + 1)/2),

    and p' = min(1, 1/E). E is at most 1/a at all n together in all but a share a of audits without an effect (Ville's
    inequality; Lai 1976, "On confidence sequences"; Wang and Ramdas 2025, "Anytime-valid t-tests and confidence
    sequences for Gaussian means with unknown variance").

    Notes
    -----
    Exact for means of normal units. Means of others are so once there are many (Waudby-Smith, Arbour, Sinha, Kennedy
    and Ramdas 2024, "Time-uniform central limit theory and asymptotic confidence sequences"). Bounds by
    Bernstein's inequality hold for any bounded unit, and ask for two to five times as many.

    Examples
    --------
    >>> any_time_p([0.05, 0.001, 1e-6], 99, 100).round(4).tolist()
    [1.0, 0.0437, 0.0001]
    """
    tested, freedom, n = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (p, df, units)))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        square = scipy.special.stdtrit(np.maximum(freedom, 1), np.clip(tested, _LEAST, 1.0) / 2) ** 2
        ratio = 1 + n * _VARIANCE
        growth = np.log1p(square / freedom) - np.log1p(square / (freedom * ratio))
        evidence = (freedom + 1) / 2 * growth - np.log(ratio) / 2
        out = np.exp(-np.maximum(evidence, 0.0))
    enough = (n >= LEAST_UNITS) & (freedom > 0)
    return np.where(np.isnan(tested), np.nan, np.where(enough, np.maximum(out, tested), 1.0))


def any_time_critical(level: npt.ArrayLike, df: npt.ArrayLike, units: npt.ArrayLike) -> Array:
    """How many standard errors an interval reaches that holds at all looks together; infinite below `LEAST_UNITS`.

    `level`: share of audits in which the truth may ever lie outside. `df`, `units`: as in `any_time_p`.

    Equation
    --------
    `any_time_p` solved for t: K = (r^(1/2) / a)^(2 / (df + 1)), t^2 = df (K - 1) / (1 - K / r); infinite where K >= r.

    Examples
    --------
    >>> any_time_critical(0.05, [19, 99, 999], [20, 100, 1000]).round(2).tolist()
    [3.42, 3.35, 3.6]
    """
    alpha, freedom, n = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (level, df, units)))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = 1 + n * _VARIANCE
        growth = (np.sqrt(ratio) / alpha) ** (2 / (freedom + 1))
        square = freedom * (growth - 1) / (1 - growth / ratio)
        reachable = (growth < ratio) & (n >= LEAST_UNITS) & (freedom > 0)
        return np.where(reachable, np.sqrt(square), np.where(np.isnan(freedom) | np.isnan(n), np.nan, np.inf))


def single_look_level(level: npt.ArrayLike, df: npt.ArrayLike, units: npt.ArrayLike) -> Array:
    """Level of a single look that asks for as much as `level` does at any time: what a detectable effect rests on.

    Examples
    --------
    >>> single_look_level(0.05, 99, 100).round(4).item()
    0.0012
    """
    critical = any_time_critical(level, df, units)
    freedom = np.asarray(df, dtype=np.float64)
    return np.maximum(2 * scipy.special.stdtr(np.maximum(freedom, 1), -critical), _LEAST)


def at_any_time(estimates: pl.DataFrame, df: Array, measures: Sequence[Measure]) -> pl.DataFrame:
    """The table with p, q, low and high as they are at any time.

    Parameters
    ----------
    estimates:
        As the measures give them, or with the worst cases of their tests.
    df:
        Degrees of freedom of each row.
    measures:
        Definitions, for the limits beyond which no interval reaches.

    Equation
    --------
    p by `any_time_p`, of the p that corrections start from (`family_tests.FamilyTests`). q: Benjamini and Hochberg's
    over these within a family, at least that of one look. Each side of an interval grows by t' / t
    (`any_time_critical`); one without a bound ends at the measure's limits.
    """
    x = {name: to_array(estimates[name]) for name in ("value", "low", "high", "level", "clusters")}
    tests = FamilyTests.of(estimates)
    p = any_time_p(tests.p, df, x["clusters"])
    alpha = 1 - np.where(np.isfinite(x["level"]), x["level"], LEVEL)
    with np.errstate(invalid="ignore"):
        wider = any_time_critical(alpha, df, x["clusters"]) / -scipy.special.stdtrit(np.maximum(df, 1), alpha / 2)
    smallest, largest = limits_of(estimates, measures)
    low = np.maximum(x["value"] - _reach(x["value"] - x["low"], wider), smallest)
    high = np.minimum(x["value"] + _reach(x["high"] - x["value"], wider), largest)
    columns = {"p": p, "q": tests.q_of(p), "low": low, "high": high}
    longer = pl.concat_str("detail", pl.lit(METHOD), separator=", ", ignore_nulls=True)
    return estimates.with_columns(
        *(
            pl.Series(name, np.where(np.isfinite(column), column, np.nan)).fill_nan(None)
            for name, column in columns.items()
        ),
        detail=pl.when(pl.col("low").is_not_null()).then(longer).otherwise("detail"),
    )


def _reach(side: Array, wider: Array) -> Array:
    """A side of an interval, grown; none stays none."""
    with np.errstate(invalid="ignore"):
        return np.where(side > 0, side * wider, side)


_LEAST = 1e-300  # p-values that are smaller count as this one
