"""Verdicts on estimates, and outcomes of limits.

Verdicts: what may be said of an estimate, in four words, and why.

A comparison ends in one of four ways. A *difference* was *found*; it is *equivalent within the margin* that was named
beforehand; it is *inconclusive*; or it is *not measurable*. The absence of a finding is never read as equivalence:
that needs its own test (`tost_p`), and a margin below which a difference would not matter.

Outcomes of limits: whether estimates lie within them, beyond them, or nobody can tell from so few units.

A limit is decided by intervals, never by values. All limits of a gate are decided together, and the two errors that a
gate can make ask for different intervals. It *fails* where any cell lies beyond: with 200 cells at their limits, some
95% interval always does. So a cell is beyond only by an interval that is wide enough for all cells at once. It *passes*
only where every cell lies within: a cell that is truly beyond must be missed by its own interval for that, so that its
own is enough, however many cells stand beside it (the intersection-union test of Berger 1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.caveats import MISSING_CAVEAT
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.power import clusters_needed

ROUNDING = 1e-9
"""Relative to a value, or to one unit of its measure: spreads below it are differences of equal numbers."""
Flags = npt.NDArray[np.bool_]
Objects = npt.NDArray[np.object_]


class Verdict(StrEnum):
    """Verdict on an estimate."""

    DIFFERENCE = "difference found"
    EQUIVALENT = "equivalent within the margin"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURABLE = "not measurable"


NO_ANSWERS = "Nothing was measured: no valid answer. Nothing was asked, or all of it was refused, unreadable or failed."
UNDEFINED = "The measure is not defined for these answers."
ONE_CLUSTER = "Only one sampled unit was observed: the value cannot be generalised to others."
ZERO_VARIANCE = (
    "All sampled units gave exactly the same value: without variance there is no standard error to judge by."
)
NO_SPREAD = (
    "All sampled units gave exactly the same value: their spread is unknown, and the interval rests on their number."
)
NO_INTERVAL = "No interval could be computed: a value without its uncertainty allows no conclusion."
NO_FLOOR = "The measure is positive even without any effect, and there is no noise floor to compare it with."
NO_TEST = "It was not tested, and equivalence was not shown."
FOUND_UNLESS = (
    f"Found, {MISSING_CAVEAT}: if all of them had gone the other way, no difference would be clear, or one of the "
    "opposite sign."
)
PAGE = "Significant in its own family of tests, but not after correction for all tests of the page."
UNREACHABLE = "No effect, however large, could have been found: the sample is too small for the number of tests."
BELOW_FLOOR = "The value lies within what noise alone gives."
FOUND = "The difference is larger than chance explains."
FOUND_SMALL = "The difference is larger than chance explains, and lies within the margin: real, but small."
SHOWN = "No difference was found, and one larger than the margin is ruled out."
NO_MARGIN = "No difference was found; without a margin, equivalence cannot be judged."
OPEN = "No difference was found, but one larger than the margin is not ruled out."

MARGIN_ERROR = (
    "Equivalence needs a margin above zero: with none, or with zero, any difference at all would count, so no sample "
    "however large could show equivalence and nothing can be concluded."
)
MARGIN_INFINITE = "Equivalence needs a finite margin: within an infinite one everything is equivalent."


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of estimates; arrays of one shape."""

    verdict: Objects
    why: Objects
    """One sentence each, for people."""


def check_margin(margin: npt.ArrayLike) -> Array:
    """The margin as an array, if it allows a conclusion.

    Raises
    ------
    ValueError
        If any is zero, negative, NaN or infinite; the message says why nothing could be concluded.

    Examples
    --------
    >>> check_margin(0.02)
    array(0.02)
    >>> check_margin(0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: Equivalence needs a margin above zero: with none, or with zero, any difference at all would count, ...
    """
    margins = np.asarray(margin, dtype=np.float64)
    if not (margins > 0).all():
        raise ValueError(MARGIN_ERROR)
    if not np.isfinite(margins).all():
        raise ValueError(MARGIN_INFINITE)
    return margins


def trusted_error(value: npt.ArrayLike, se: npt.ArrayLike) -> Array:
    """Standard errors that say something; those that are zero, or nothing but rounding, are missing.

    Sampled units that all gave the same value say nothing of how others would differ: neither that no effect could have
    been missed, nor that there is none.

    `value` and `se`: estimates and standard errors, in the measure's unit; any shapes that broadcast.
    Returns the shape of the broadcast inputs, NaN for what is missing.

    Examples
    --------
    >>> trusted_error([0.2, 0.2, 300.0], [0.1, 1e-17, 1e-8]).tolist()
    [0.1, nan, nan]
    """
    values, errors = (np.asarray(x, dtype=np.float64) for x in (value, se))
    return np.where(errors > _rounding(values), errors, np.nan)


def _rounding(values: Array) -> Array:
    return ROUNDING * np.fmax(np.abs(values), 1.0)


def tost_p(value: npt.ArrayLike, se: npt.ArrayLike, df: npt.ArrayLike, margin: npt.ArrayLike) -> Array:
    """P-value of equivalence by two one-sided tests.

    Below alpha exactly where the interval at level 1 - 2 alpha (90% for alpha = .05) lies inside
    -margin to margin.

    Returns the shape of the broadcast inputs; NaN where value, se or df is missing, se zero, or df not positive.

    Parameters
    ----------
    value, se:
        Estimates and standard errors over clusters, in the measure's unit; any shapes that broadcast.
    df:
        Degrees of freedom: clusters - 1 for a mean of cluster differences, Welch's for two groups.
    margin:
        Largest difference that would not matter, in the measure's unit, above zero.

    Equation
    --------
    p = max(P(T >= (value + margin)/se), P(T <= (value - margin)/se)), T ~ t(df) (Schuirmann 1987, "A comparison of the
    two one-sided tests procedure and the power approach").

    Raises
    ------
    ValueError
        For a margin that is not above zero.

    Examples
    --------
    >>> tost_p([0.0, 0.019, np.nan], se=0.005, df=99, margin=0.02).round(4).tolist()
    [0.0001, 0.4209, nan]
    """
    margins = check_margin(margin)
    values, errors, freedom = _mask_untestable(value, se, df)
    return np.maximum(
        scipy.special.stdtr(freedom, -(values + margins) / errors),
        scipy.special.stdtr(freedom, (values - margins) / errors),
    )


def unseen_p(
    value: npt.ArrayLike, se: npt.ArrayLike, clusters: npt.ArrayLike, margin: npt.ArrayLike, largest: npt.ArrayLike
) -> Array:
    """P-value of a mean beyond the margin because few clusters move far.

    Twenty faces that a cue doesn't move say nothing of the one in fifty that it may move all the way, which alone would
    make a mean of .02; and where eight in 160 move all the way on average, a sample that happens to hold three of them
    has a small mean and a small standard error, both for one reason. t does not know of this. So all spread is taken as
    that of clusters that move all the way, and their number is tested as one of a binomial.

    Parameters
    ----------
    value, se, clusters:
        Mean m over G clusters and its standard error; any shapes that broadcast.
    margin:
        Largest mean that would not matter.
    largest:
        Largest possible size L of one cluster's value; infinity where there is none, so that nothing can be said: NaN.

    Equation
    --------
    k = (G (G - 1) se² + G m²) / L² clusters that move by L have this mean square, and p = P(K <= k) with K binomial of
    G and share = k/G + (margin - |m|)/L, whole numbers or not: I(1 - share; G - k, k + 1), the regularised incomplete
    beta function. Of clusters that move by L or not at all this is the exact test (Clopper and Pearson 1934); a mean by
    clusters that move less far has less room above it.

    Examples
    --------
    >>> unseen_p(0.0, 0.0, [20, 149], 0.02, 1.0).round(3).tolist()
    [0.668, 0.049]
    >>> unseen_p([3 / 160, 4 / 160], [0.0108, 0.0124], 160, 0.05, 1.0).round(3).tolist()
    [0.039, 0.094]
    """
    values, errors, size, limit = (np.asarray(x, dtype=np.float64) for x in (np.abs(value), se, clusters, largest))
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.minimum((size * (size - 1) * errors**2 + size * values**2) / limit**2, size)
        share = np.clip(far / size + (np.asarray(margin, dtype=np.float64) - values) / limit, 0.0, 1.0)
        out = scipy.special.betainc(np.maximum(size - far, ROUNDING), far + 1, 1 - share)
    return np.where(np.isfinite(limit), out, np.nan)


def _mask_untestable(value: npt.ArrayLike, se: npt.ArrayLike, df: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Arrays, with standard errors and degrees of freedom that allow no test as NaN."""
    values, errors, freedom = (np.asarray(x, dtype=np.float64) for x in (value, se, df))
    return values, np.where(errors > 0, errors, np.nan), np.where(freedom > 0, freedom, np.nan)


def reach_verdicts(
    value: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    q: npt.ArrayLike,
    margin: npt.ArrayLike,
    tost_p: npt.ArrayLike,
    alpha: npt.ArrayLike,
    floor_high: npt.ArrayLike = np.nan,
    *,
    unsigned: npt.ArrayLike | None = None,
    n: npt.ArrayLike = np.nan,
    clusters: npt.ArrayLike = np.nan,
    family_q: npt.ArrayLike = np.nan,
    open_to_missing: npt.ArrayLike = False,
    unreachable: npt.ArrayLike = False,
) -> Verdicts:
    """Reach a verdict on each estimate.

    Returns verdicts of the broadcast shape.

    Parameters
    ----------
    q:
        P-values adjusted for their family and for the page; NaN where no test was possible.
    margin:
        Largest difference that would not matter; NaN where none was declared.
    tost_p:
        P-values of `tost_p`; NaN where equivalence could not be tested. If equivalence itself is to be claimed for many
        estimates at once, adjust these too.
    alpha:
        Level of both decisions, in (0, 1); one for all, or one each.
    floor_high:
        95th percentile of the noise floor, for unsigned measures; NaN for signed ones.
    unsigned:
        Which estimates are of unsigned measures; by default those with a noise floor. An unsigned estimate without
        one cannot be a difference found.
    n, clusters:
        Observations and clusters behind each estimate, where known: they make `why` say what was missing.
    open_to_missing:
        Where the missing answers, had all of them gone against it, would leave no difference clear (`family_tests`).
    unreachable:
        Where the smallest p-value that the test can give lies above its level.

    Raises
    ------
    ValueError
        For a margin of zero or less, or an infinite one.

    Notes
    -----
    In this order, the first that holds:

    1. *not measurable*: value or interval missing, or an interval of no width (rounding apart) although no difference
       was found. (Forty equal shifts are evidence by a rank or sign test, which needs no variance; but they give no
       standard error to show equivalence by.)
    2. *difference found*: q < alpha, and for unsigned measures value > floor_high as well.
    3. *equivalent within the margin*: tost_p < alpha.
    4. *inconclusive*: everything else.

    A difference may be both found and within the margin, in a large sample. Then the verdict is "difference found",
    since that is the stronger statement and hiding it would be worse, and `why` says that it is small.
    A difference *beyond* the margin is never equivalent: tost_p < alpha < .5 implies |value| < margin.

    Examples
    --------
    >>> out = reach_verdicts([0.1, 0.001, 0.03, np.nan], [0.05, -0.004, -0.02, np.nan], [0.15, 0.006, 0.08, np.nan],
    ...                q=[0.001, 0.8, 0.3, np.nan], margin=0.02, tost_p=[0.99, 0.001, 0.7, np.nan], alpha=0.05)
    >>> [str(v) for v in out.verdict]
    ['difference found', 'equivalent within the margin', 'inconclusive', 'not measurable']
    >>> out.why[3]
    'The measure is not defined for these answers.'
    """
    columns = (value, low, high, q, family_q, tost_p, margin, alpha, floor_high, n, clusters)
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in columns))
    values, lows, highs, qs, p_own, equivalence, margins, levels, floors, observed, units = arrays
    check_margin(margins[~np.isnan(margins)])
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError("alpha must lie between 0 and 1.")
    floored = np.isfinite(floors) if unsigned is None else np.broadcast_to(np.asarray(unsigned, dtype=bool), qs.shape)

    measured = np.isfinite(values) & ~np.isnan(lows) & ~np.isnan(highs)
    reached = measured & (qs < levels)
    is_found = reached & (~floored | (values > floors))
    flat = measured & (highs - lows <= _rounding(values)) & ~is_found
    measurable = measured & ~flat
    within = measurable & (equivalence < levels) & ~np.isnan(margins)

    verdict = _first(
        [(~measurable, Verdict.NOT_MEASURABLE), (is_found, Verdict.DIFFERENCE), (within, Verdict.EQUIVALENT)],
        otherwise=Verdict.INCONCLUSIVE,
    )
    missing = ~np.isfinite(values)
    is_single = units < 2
    reasons = [
        (missing & (observed == 0), NO_ANSWERS),
        (missing, UNDEFINED),
        ((~measured | flat) & is_single, ONE_CLUSTER),
        (flat, ZERO_VARIANCE),
        (~measured, NO_INTERVAL),
        (is_found & np.asarray(open_to_missing, dtype=np.bool_), FOUND_UNLESS),
        (is_found & within, FOUND_SMALL),
        (is_found, FOUND),
        (within, SHOWN),
        (floored & np.isnan(floors), NO_FLOOR),
        (reached, BELOW_FLOOR),
        (np.isnan(qs), NO_TEST),
        (np.broadcast_to(unreachable, qs.shape), UNREACHABLE),
        ((p_own < levels) & ~reached, PAGE),
        (np.isnan(margins), NO_MARGIN),
    ]
    return Verdicts(verdict, _first(reasons, otherwise=OPEN))


def _first(choices: Sequence[tuple[Flags, str]], otherwise: str) -> Objects:
    """The first choice that holds, element by element; objects, so that a `Verdict` stays one."""
    conditions = [flags for flags, _ in choices]
    return np.select(conditions, [np.array(say, dtype=object) for _, say in choices], np.array(otherwise, dtype=object))


class LimitOutcome(StrEnum):
    """Outcome of an estimate against a limit; the worst first."""

    BEYOND = "beyond"
    NOT_MEASURABLE = "not measurable"
    UNDECIDED = "not enough data"
    WITHIN = "within"


OUTCOME_ORDER = tuple(LimitOutcome)
"""From the worst to the best: the worst of all limits is that of the gate."""


@dataclass(frozen=True, slots=True)
class MeasuredCells:
    """Estimates that limits are about; arrays of one length, NaN where there is no number.

    Attributes
    ----------
    value, low, high:
        Each estimate with its own interval, at 95%.
    se, clusters, df:
        Standard error over the units that were sampled, how many these are, and the degrees of freedom of the error.
    lowest, highest:
        Smallest and largest possible value.
    noise:
        What the measure is on average without any effect, for those that are positive by noise alone; else 0.
    squared:
        Which are squared distances.
    bound_low, bound_high:
        The value had all missing answers gone one way or the other; NaN where nothing is counted as missing.
    """

    value: Array
    low: Array
    high: Array
    se: Array
    clusters: Array
    df: Array
    lowest: Array
    highest: Array
    noise: Array
    squared: Flags
    bound_low: Array
    bound_high: Array


@dataclass(frozen=True, slots=True)
class DecidedCells:
    """Outcome of each cell; arrays of one length."""

    outcome: npt.NDArray[np.str_]
    """Values of `LimitOutcome`."""
    gate_low: Array
    gate_high: Array
    """Intervals at the level of the whole gate."""
    units: Array
    """Units that would probably tell; infinity where no sample would, NaN where more units are not what lacks."""
    by_missing: Flags
    """Those that are open only because of what missing answers could be."""


def decide_limits(cells: MeasuredCells, at_least: Array, at_most: Array, level: float) -> DecidedCells:
    """Decide limits.

    Parameters
    ----------
    at_least, at_most:
        Smallest and largest value that each cell may have; infinite where there is none.
    level:
        Chance of error at which each cell is beyond: .05 / M for a gate of M cells (Bonferroni), so that all that are
        within are said to be so in .95 of gates.

    Equation
    --------
    *Not measurable* without a value or an interval. *Beyond* where the interval at 1 - level lies wholly
    outside: low' > at_most or high' < at_least. It is the cell's own interval with either side longer by
    c(level) / c(.05), c(a) = t(1 - a/2; df). What noise adds counts for the cell: at_most + noise, and
    (√at_most + √noise)² for squared distances, as ‖x + e‖ <= ‖x‖ + ‖e‖. *Within* where the cell's own interval lies
    inside, and so do the bounds for missing answers. *Not enough data* otherwise.

    Units that would tell: those whose test of size .05 (level, outside) against the limit detects a value that is as
    far from it as the present one, in .8 of samples (`power.clusters_needed`); its standard error is no smaller than
    that side of the interval which faces the limit says.

    Source
    ------
    FaceValue; R. L. Berger 1982, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24.

    Examples
    --------
    >>> x = lambda *numbers: np.array(numbers, dtype=float)
    >>> none = x(np.nan, np.nan, np.nan)
    >>> three = MeasuredCells(x(.02, .4, .16), x(-.04, .34, .1), x(.08, .46, .22), x(.03, .03, .03), x(60, 60, 60),
    ...                       x(59, 59, 59), x(-1, -1, -1), x(1, 1, 1), x(0, 0, 0), none > 0, none, none)
    >>> decided = decide_limits(three, x(-.2, -.2, -.2), x(.2, .2, .2), level=.05 / 3)
    >>> [str(outcome) for outcome in decided.outcome], float(decided.units[2])
    (['within', 'beyond', 'not enough data'], 267.0)
    """
    measurable = np.isfinite(cells.value) & ~np.isnan(cells.low) & ~np.isnan(cells.high)
    gate_low, gate_high = _wider(cells, level)
    root = np.sqrt(np.maximum(at_most, 0)) + np.sqrt(np.maximum(cells.noise, 0))
    highest = np.where(cells.squared & np.isfinite(at_most), root**2, at_most + cells.noise)
    inside = (cells.value >= at_least) & (cells.value <= at_most)
    with np.errstate(invalid="ignore"):
        beyond = measurable & ((gate_low > highest) | (gate_high < at_least))
        alone = measurable & (cells.low >= at_least) & (cells.high <= at_most)
        open_to_missing = (cells.bound_low < at_least) | (cells.bound_high > at_most)
    within = alone & ~open_to_missing
    kinds = (LimitOutcome.NOT_MEASURABLE, LimitOutcome.BEYOND, LimitOutcome.WITHIN)
    out = np.select([~measurable, beyond, within], [*map(str, kinds)], str(LimitOutcome.UNDECIDED))
    by_missing = alone & open_to_missing & ~beyond
    alpha = np.where(inside, 1 - LEVEL, level)
    far = np.where(
        inside,
        np.fmin(at_most - cells.value, cells.value - at_least),
        np.fmax(cells.value - at_most, at_least - cells.value),
    )
    undecided = (out == LimitOutcome.UNDECIDED) & ~by_missing
    units = np.full(cells.value.shape, np.nan)
    if undecided.any():
        upward = np.where(inside, at_most - cells.value <= cells.value - at_least, cells.value < at_least).astype(
            np.bool_
        )
        error = _errors(cells, upward)[undecided]
        needed = clusters_needed(error * np.sqrt(cells.clusters[undecided]), far[undecided], alpha[undecided])
        units[undecided] = np.maximum(needed, cells.clusters[undecided] + 1)
    return DecidedCells(out, gate_low, gate_high, units, by_missing)


def _critical(cells: MeasuredCells, alpha: float) -> Array:
    df = np.where(cells.df > 0, cells.df, 1e6)
    return -scipy.special.stdtrit(df, np.full(df.shape, alpha / 2))


def _wider(cells: MeasuredCells, alpha: float) -> tuple[Array, Array]:
    """Intervals at another level: either side longer in proportion to the critical value."""
    longer = _critical(cells, alpha) / _critical(cells, 1 - LEVEL)
    low = cells.value - (cells.value - cells.low) * longer
    high = cells.value + (cells.high - cells.value) * longer
    return np.maximum(low, cells.lowest), np.minimum(high, cells.highest)


def _errors(cells: MeasuredCells, upward: Flags) -> Array:
    """Standard errors, no smaller than what the side of the interval that faces the limit says.

    `upward`: whether that is the upper side.
    """
    side = np.where(upward, cells.high - cells.value, cells.value - cells.low)
    return np.fmax(trusted_error(cells.value, cells.se), side / _critical(cells, 1 - LEVEL))
