"""Outcomes of limits: whether estimates lie within them, beyond them, or nobody can tell from so few units.

A limit is decided by intervals, never by values. All limits of a gate are decided together, and the two errors that a
gate can make ask for different intervals. It *fails* where any cell lies beyond: with 200 cells at their limits, some
95% interval always does. So a cell is beyond only by an interval that is wide enough for all cells at once. It *passes*
only where every cell lies within: a cell that is truly beyond must be missed by its own interval for that, so that its
own is enough, however many cells stand beside it (the intersection-union test of Berger 1982).
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.power import clusters_needed
from facevalue.measures.verdicts import trusted_error

Flags = npt.NDArray[np.bool_]


class LimitOutcome(StrEnum):
    """What may be said of an estimate and a limit; the worst first."""

    BEYOND = "beyond"
    NOT_MEASURABLE = "not measurable"
    UNDECIDED = "not enough data"
    WITHIN = "within"


ORDER = tuple(LimitOutcome)
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
    """Which are open only because of what missing answers could be."""


def outcomes(cells: MeasuredCells, at_least: Array, at_most: Array, level: float) -> DecidedCells:
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
    >>> decided = outcomes(three, x(-.2, -.2, -.2), x(.2, .2, .2), level=.05 / 3)
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
