"""Spread between groups of counterfactual sets: how far their mean scores lie apart, beyond what chance gives.

Figures 5 and 7 of the paper of the counterfactual sets show occupations in the order of the standard deviation of
scores between groups. A standard deviation is positive whatever the groups are, and larger where sets are few.
"""

from dataclasses import replace

import numpy as np
import scipy

from facevalue.measures import unsigned
from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.majority import group_effects
from facevalue.measures.uncertainty import Estimates, Floor, no_floor

METHOD = f"{unsigned.METHOD}, of squares, over sets"


def group_deviation(values: Array) -> Estimates:
    """Standard deviation between the groups' means within sets, and what groups without any difference give.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none. Any set of which two groups have a value counts.

    Returns
    -------
    One estimate with its floor, whose p is one-sided, of groups that are alike.

    Equation
    --------
    s² = sum_g m_g² / (k - 1), m_g the effects of `majority.group_effects`: with whole sets the variance of the groups'
    means (Figures 5 and 7); where values are missing, groups are still compared within sets. Without any difference s²
    / v̄ is F distributed, v̄ the mean of the effects' variances v_g: k - 1 degrees of freedom, fewer where these differ
    ((k - 1)/k (sum v)² / sum v², Box 1954), and those of v. Its mean and 95th percentile are the floor of s²; the
    interval of the true variance is `unsigned.interval`'s, and roots are taken of all. It begins at zero where p is .05
    or more.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(50, 6, 3))
    >>> values[:, :2] += 1
    >>> spread = group_deviation(values)
    >>> spread.value.round(2).tolist(), spread.floor.high.round(2).tolist(), (spread.floor.p < 0.001).tolist()
    ([0.53], [0.12], [True])
    """
    effects = group_effects(values)
    answered = np.isfinite(values).any(axis=2)
    used = answered.sum(axis=1) > 1
    n, sets = int(np.isfinite(values[used]).sum()), int(used.sum())
    mean = effects.mean[np.isfinite(effects.mean)]
    k = mean.size
    if k < 2:
        method = name_unmeasured("no set has two groups to compare")
        return replace(Estimates.single(np.nan, np.nan, np.nan, np.nan, n, sets, method), floor=no_floor(1))
    square = np.array([float((mean**2).sum()) / (k - 1)])
    value = float(np.sqrt(square[0]))
    variance = effects.variance[np.isfinite(effects.mean)]
    if only_values() or not variance.sum() > 0:
        method = name_method(IntervalKind.NONE, "no set differs from another, or there is one alone")
        return replace(Estimates.single(value, np.nan, np.nan, np.nan, n, sets, method), floor=no_floor(1))
    floor = _floor(square, variance, float(np.nanmin(effects.df)))
    low, high = (float(np.sqrt(end[0])) for end in unsigned.interval(square, floor))
    floor_of_root = Floor(np.sqrt(floor.mean), np.sqrt(floor.high), floor.p)
    return replace(Estimates.single(value, low, high, np.nan, n, sets, METHOD), floor=floor_of_root)


def _floor(square: Array, variance: Array, df: float) -> Floor:
    """Of the variance between groups, where they are alike."""
    size, mean = variance.size, float(variance.mean())
    between = (size - 1) / size * float(variance.sum()) ** 2 / float((variance**2).sum())
    expected = mean * df / (df - 2) if df > 2 else mean
    high = mean * float(scipy.special.fdtri(between, df, LEVEL))
    p = scipy.special.fdtrc(between, df, square / mean)
    return Floor(np.array([expected]), np.array([high]), p)
