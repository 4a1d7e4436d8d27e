"""Tests of a table by family: within what values can reach, at any time, and in the worst case.

Tests and intervals that stay valid however often a run is looked at, and whenever it stops.

A test at level .05 is wrong in one of twenty audits if it is looked at once. Looked at after every face, it finds
something in half of them sooner or later. Here a p-value and an interval pay for all looks at once, so that a run may
stop as soon as they say enough, and go on if they don't.

Worst case of each test: how surely a difference is there, whatever the missing answers would have been.

Bounds say between which values the estimate would lie (`missing_data_bounds`). Where answers were withheld at one pole
alone, the truth lies at an end of them, and that end is computed from a sample like any other number: it lies on either
side of the truth. So a finding stands only where the nearer end differs from zero by more than *its* sampling error
(Imbens and Manski 2004, "Confidence intervals for partially identified parameters"; Stoye 2009, "More on confidence
intervals for partially identified parameters"), among all tests of the page as well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import fact_of_rows
from facevalue.measures.multitest import AUDIT_FAMILY, adjust_within
from facevalue.measures.pairs import independent_units, to_array

_OF_UNIT: Final = {"share": 1.0, "probability": 1.0, "%": 100.0, "pp": 100.0, "per 1,000 words": 1000.0}
"""Largest size of a value by its unit, for measures that state no limits."""
_OF_COUNT: Final = ("log odds", "nat")
"""Units in which n answers can show ln(n + 1) at most, for measures that state no limits."""

_SPOKEN: Final = dict.fromkeys(("share", "probability"), "a share: 0.05 is 5 points of a hundred")


def largest_value(measure: Measure) -> float:
    """Largest possible size of a measure's value, either way; infinity where there is none.

    Examples
    --------
    >>> gap = Measure("gap", "Gap to an even choice", "S - 50", "pp", "image", "", limits=(-50, 50))
    >>> largest_value(gap), largest_value(Measure("change", "Change", "S - S_0", "pp", "image", ""))
    (50, 100.0)
    """
    limit = max(abs(end) for end in measure.limits)
    return limit if math.isfinite(limit) else _OF_UNIT.get(measure.unit, math.inf)


def check_margins(margins: Mapping[str, float], measures: Sequence[Measure]) -> None:
    """Refuse margins within which everything would be equivalent.

    `margins`: by key of the measure, in its unit, which is that of the page. `measures`: definitions; others are not
    looked at.

    Raises
    ------
    DataError
        A margin that no value of its measure can lie beyond.

    Examples
    --------
    >>> gap = Measure("gap", "Gap", "p - q", "probability", "face", "")
    >>> check_margins({"gap": 0.05}, [gap])
    >>> check_margins({"gap": 5.0}, [gap])
    Traceback (most recent call last):
    facevalue.errors.DataError: The margin of gap is 5, and gap never lies further than 1 from zero: everything would \
be equivalent. Name one below 1, in the unit of the page (a share: 0.05 is 5 points of a hundred).
    """
    for measure in measures:
        margin, reach = margins.get(measure.key, 0.0), largest_value(measure)
        if margin >= reach:
            unit = _SPOKEN.get(measure.unit, measure.unit)
            raise DataError(
                f"The margin of {measure.key} is {margin:g}, and {measure.key} never lies further than {reach:g} "
                f"from zero: everything would be equivalent. Name one below {reach:g}, in the unit of the page "
                f"({unit})."
            )


def within_reach(margins: Mapping[str, float], measures: Sequence[Measure]) -> dict[str, float]:
    """Margins beyond which values can lie; those of runs that declared others before these were refused are none."""
    reach = {measure.key: largest_value(measure) for measure in measures}
    return {name: margin for name, margin in margins.items() if margin < reach.get(name, math.inf)}


def limits_of(estimates: pl.DataFrame, measures: Sequence[Measure]) -> tuple[Array, Array]:
    """Smallest and largest possible value of each estimate, as its measure states them; NaN where none is known.

    `estimates`: with `measure` and `score`. `measures`: definitions.
    """
    ends = estimates.select(
        lowest=fact_of_rows(measures, lambda measure: float(measure.limits[0]), math.nan),
        highest=fact_of_rows(measures, lambda measure: float(measure.limits[1]), math.nan),
    )
    return ends["lowest"].to_numpy(), ends["highest"].to_numpy()


def largest_of(estimates: pl.DataFrame, measures: Sequence[Measure]) -> Array:
    """Largest possible size of each estimate.

    `estimates`: with `measure`, `score` and `n`. `measures`: definitions. Log-odds ratios and Kullback-Leibler
    divergences, both with one answer's worth added, have no limit of their own, but one for n answers: ln(n + 1), from
    an even choice to always, or never. Of a change n is that of both conditions.
    Returns one each, in the unit of the measure; infinity where there is none, or where the measure is not defined
    here.
    """
    sizes = fact_of_rows(measures, lambda measure: float(largest_value(measure)), math.inf)
    out = estimates.select(sizes.alias("size"))["size"].to_numpy()
    n = estimates["n"].cast(pl.Float64).fill_null(math.inf).to_numpy()
    growing = [one.name for one in measures if one.unit in _OF_COUNT and math.isinf(largest_value(one))]
    return np.where(estimates["measure"].is_in(growing).to_numpy(), np.log1p(n), out)


_SAME = 1e-9  # relative: q as close to Benjamini and Hochberg's is theirs


@dataclass(frozen=True, slots=True)
class FamilyTests:
    """Tests of a table of estimates; arrays of one length, an entry for each row.

    Attributes
    ----------
    tested:
        Which rows have a p, a q and a family.
    family:
        Number of each row's family, of one model, intervention, measure and score; -1 where nothing is tested.
    p:
        P-value that a correction starts from. Where a family is judged by its largest statistic (max-T), q lies below
        Benjamini and Hochberg's, and it is q / tests: what a test among so many would have to show to be found so.
    q:
        As the table has it.
    """

    tested: npt.NDArray[np.bool_]
    family: npt.NDArray[np.int64]
    p: Array
    q: Array

    @classmethod
    def from_estimates(cls, estimates: pl.DataFrame) -> "FamilyTests":
        """Tests of a table.

        Examples
        --------
        >>> table = pl.DataFrame({"model": "m", "intervention": None, "measure": "shift", "score": None,
        ...                       "family": "cues", "p": [0.01, 0.04], "q": [0.012, 0.04]})
        >>> FamilyTests.from_estimates(table).p.tolist()
        [0.006, 0.04]
        """
        p, q = to_array(estimates["p"]), to_array(estimates["q"])
        of = estimates.select(pl.struct(AUDIT_FAMILY).rank("dense").cast(pl.Int64))
        tested = np.isfinite(p) & np.isfinite(q) & estimates["family"].is_not_null().to_numpy()
        family = np.where(tested, of["model"].to_numpy() - 1, -1)
        tests = np.bincount(family[tested], minlength=1)[family]
        by_largest = q < adjust_within(p, family) * (1 - _SAME)
        return cls(tested, family, np.where(by_largest, np.fmin(p, q / np.maximum(tests, 1)), p), q)

    def q_of(self, p: Array) -> Array:
        """Benjamini and Hochberg's q of other p-values within each family, at least the one that there is."""
        return np.where(self.tested, np.fmax(adjust_within(p, self.family), self.q), self.q)


LEAST_UNITS = 20
"""Units below which nothing is claimed: a variance of a few skewed units says too little to be looked at repeatedly."""
_VARIANCE = 1.0
"""Variance that the mixture gives to an effect, in standard deviations between units: that of one unit."""
AT_ANY_TIME = "at any time, by a t mixture"
"""Ending of the detail of the method of such an estimate."""


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
    """Half-width, in standard errors, of an interval that holds at all looks together; infinite below `LEAST_UNITS`.

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
    p by `any_time_p`, of the p that corrections start from (`FamilyTests`). q: Benjamini and Hochberg's
    over these within a family, at least that of one look. Each side of an interval grows by t' / t
    (`any_time_critical`); one without a bound ends at the measure's limits.
    """
    x = {name: to_array(estimates[name]) for name in ("value", "low", "high", "level")}
    units = independent_units(estimates)
    tests = FamilyTests.from_estimates(estimates)
    p = any_time_p(tests.p, df, units)
    alpha = 1 - np.where(np.isfinite(x["level"]), x["level"], LEVEL)
    with np.errstate(invalid="ignore"):
        wider = any_time_critical(alpha, df, units) / -scipy.special.stdtrit(np.maximum(df, 1), alpha / 2)
    smallest, largest = limits_of(estimates, measures)
    low = np.maximum(x["value"] - _reach(x["value"] - x["low"], wider), smallest)
    high = np.minimum(x["value"] + _reach(x["high"] - x["value"], wider), largest)
    columns = {"p": p, "q": tests.q_of(p), "low": low, "high": high}
    longer = pl.concat_str("detail", pl.lit(AT_ANY_TIME), separator=", ", ignore_nulls=True)
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


def worst_p(
    value: npt.ArrayLike,
    p: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    null: npt.ArrayLike = np.nan,
) -> Array:
    """P-value of each difference had all missing answers gone against it.

    Parameters
    ----------
    value, p, se, df:
        Estimates, their own p-values, standard errors and degrees of freedom; NaN where unknown (normal, without `df`).
    bounds:
        Smallest and largest value that missing answers could have led to, and the standard error of these; NaN where
        unknown. Without bounds p stays as it is.
    null:
        What an unsigned measure shows without any difference; NaN for signed ones, whose zero is 0.

    Equation
    --------
    e is the end of the bounds on the side of zero; s = |value| / t(p), so that the worst case rests on the very test of
    the estimate where nothing is missing; s_e² = s² + max(0, se_e² - se²). p' = P(|T| >= e / s_e), never below p, and 1
    where e lies on the other side of zero. An unsigned measure counts from `null`, one-sided, and its upper end cannot
    help it.

    Notes
    -----
    Where answers are withheld so that the worst case is the truth, and the truth is zero, e / s_e is a t statistic
    under its null, so that p' is a p-value: uniform, or larger.

    Examples
    --------
    >>> worst_p([0.2, 0.2, 0.2], [0.001] * 3, [0.05] * 3, [40] * 3,
    ...         ([0.2, 0.1, -0.1], [0.2, 0.3, 0.4], [0.05] * 3)).round(3).tolist()
    [0.001, 0.083, 1.0]
    """
    columns = (value, p, se, df, *bounds, null)
    values, tested, errors, freedom, low, high, ends, zeros = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in columns)
    )
    unsigned = np.isfinite(zeros)
    size = values - np.where(unsigned, zeros, 0.0)
    side = np.where(unsigned | (size > 0), 1.0, -1.0)
    end = np.where(side > 0, low, -high) - np.where(unsigned, zeros, 0.0)
    freedom = np.where(freedom > 0, freedom, np.inf)
    tails = np.where(unsigned, 1.0, 2.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        p_error = np.abs(size) / -scipy.special.stdtrit(freedom, np.clip(tested / tails, 0.0, 0.5))
        more = np.nan_to_num(ends) ** 2 - np.nan_to_num(errors) ** 2
        spread = np.sqrt(p_error**2 + np.maximum(more, 0.0))
        worst = np.where(end > 0, np.minimum(tails * scipy.special.stdtr(freedom, -end / spread), 1.0), 1.0)
    complete = high - low <= _SAME * np.fmax(np.abs(values), 1.0)
    bounded = np.isfinite(end) & ~complete & np.isfinite(tested)
    return np.where(bounded, np.fmax(np.where(np.isfinite(worst), worst, 1.0), tested), tested)


def worst_tests(estimates: pl.DataFrame, df: Array, unsigned: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The table with p and q as they would be had all missing answers gone against each difference.

    `df`: degrees of freedom of each row. `unsigned`: which rows are of measures without a direction; without a floor
    they stay as they are.

    Equation
    --------
    q is at least the one that there is, and Benjamini and Hochberg's over p' of the same family, with t(p) of the p
    that corrections start from (`FamilyTests`).
    """
    x = {name: to_array(estimates[name]) for name in ("value", "se", *_BOUNDS, "floor", "floor_high")}
    null = np.where(unsigned, x["floor"], np.nan)
    bounds = (np.where(unsigned & ~np.isfinite(null), np.nan, x["bound_low"]), x["bound_high"], x["bound_se"])
    tests = FamilyTests.from_estimates(estimates)
    p = worst_p(x["value"], tests.p, x["se"], df, bounds, null)
    p = np.where(unsigned & (bounds[0] <= x["floor_high"]) & tests.tested, 1.0, p)
    q = tests.q_of(p)
    return estimates.with_columns(pl.Series("p", p).fill_nan(None), pl.Series("q", q).fill_nan(None))


_BOUNDS = ("bound_low", "bound_high", "bound_se")
