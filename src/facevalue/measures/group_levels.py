"""Levels of groups over shared units: intervals of means that hold for few units and skewed values, too."""

from dataclasses import replace

import numpy as np
import scipy

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values, ratio
from facevalue.measures.interval_method import FEW, IntervalKind, T, name_method
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.T, "over cluster means, for their skewness")
_LEAST = 0.25
"""A group's variance counts as at least this share of that of all groups."""
_FLAT = 1e-9


def group_levels(sums: Array, counts: Array, seed: int) -> Estimates:
    """Mean of each group, with an interval that borrows spread and skewness from the other groups of the same units.

    From `interval_method.FEW` units on, these are the intervals of `cluster_bootstrap.means`. For fewer, t is too sure
    of rare and skewed values: a group that happens to have none of the rare high scores seems not to vary at all.

    Parameters
    ----------
    sums, counts:
        Shape (units, groups).

    Equation
    --------
    Hall's (1992, "On the removal of skewness by transformation") inverse of the cubic transformation of t: with a = g /
    sqrt(G), g the skewness of the units' residuals over all groups, and h(u) = 3 ((1 + a (u - a/6))^(1/3) - 1) / a, the
    interval is m - se h(t) to m - se h(-t), t of G - 1 degrees of freedom; se² at least a quarter of the mean over
    groups.

    Examples
    --------
    >>> rare = np.zeros((20, 2))
    >>> rare[:2, 0] = 0.6
    >>> found = group_levels(rare, np.ones((20, 2)), seed=0)
    >>> found.value.round(2).tolist(), (found.high > 0.1).tolist()
    ([0.06, 0.0], [True, True])
    """
    levels = cluster_bootstrap.means(sums, counts, seed, level=True)
    few = (levels.method == T) & (levels.clusters < FEW)
    if only_values() or levels.se is None or not few.any():
        return levels
    apart = np.where(counts > 0, ratio(sums, counts) - levels.value, np.nan)[:, few]
    square = float(np.nanmean(apart**2))
    if not square > _FLAT * float(np.nanmean(levels.value[few] ** 2)):
        return levels
    skewness = float(np.nanmean(apart**3)) / square**1.5
    units = levels.clusters[few]
    se = np.sqrt(np.fmax(levels.se[few] ** 2, _LEAST * np.nanmean(levels.se[few] ** 2)))
    reach = np.asarray(scipy.special.stdtrit(units - 1, 0.5 + LEVEL / 2), dtype=np.float64)
    low, high = levels.low.copy(), levels.high.copy()
    low[few] = levels.value[few] - se * _unskewed(reach, skewness / np.sqrt(units))
    high[few] = levels.value[few] - se * _unskewed(-reach, skewness / np.sqrt(units))
    method = levels.method.copy()
    method[few] = METHOD
    return replace(levels, low=low, high=high, method=method)


def _unskewed(u: Array, a: Array) -> Array:
    """Inverse of t + a t² / 3 + a² t³ / 27 + a / 6."""
    flat = np.abs(a) < _FLAT
    safe = np.where(flat, 1.0, a)
    return np.where(flat, u, 3 * (np.cbrt(1 + safe * (u - safe / 6)) - 1) / safe)
