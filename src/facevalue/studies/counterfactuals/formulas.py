"""Formulas of counterfactual sets: means and quantiles of groups, who has the largest scores, distances from sets.

Figures 2 and 6 of the paper of the counterfactual sets show whose image has the largest score among the sets whose
range is in the tail; Table 9 shows each group's own tail. What we add is each group's mean against that of its sets.
"""

from dataclasses import replace

import numpy as np
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, cluster_means, only_values
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import FEW_CLUSTERS, T_OVER_MEANS, IntervalKind, name_method, name_unmeasured
from facevalue.measures.noise_floors import MOST_SHUFFLES, by_shuffles
from facevalue.measures.set_ranges import TAIL_QUANTILE, Codes, set_quantiles, set_ranges
from facevalue.measures.shift import wider_estimates
from facevalue.measures.uncertainty import Estimates, Floor, no_floor

SKEWED_T = name_method(IntervalKind.T, "over cluster means, for their skewness")
DEALT_WITHIN_SETS = name_method(IntervalKind.PERMUTATION, "groups dealt out anew within sets")
_LEAST = 0.25
"""A group's variance counts as at least this share of that of all groups."""
_FLAT = 1e-9
_SLACK = 1e-12
_MANY, _NEAR = 500, 0.2
"""Sets beyond which groups are dealt out anew only where t finds less than this: elsewhere nothing can be found."""


def group_levels(sums: Array, counts: Array, seed: int) -> Estimates:
    """Mean of each group, with an interval that borrows spread and skewness from the other groups of the same units.

    From `intervals.FEW_CLUSTERS` units on, these are the intervals of `cluster_bootstrap.cluster_means`. For fewer, t
    is too sure of rare and skewed values: a group that happens to have none of the rare high scores seems not to vary
    at all.

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
    levels = cluster_means(sums, counts, seed, level=True)
    few = (levels.method == T_OVER_MEANS) & (levels.clusters < FEW_CLUSTERS)
    if only_values() or levels.se is None or not few.any():
        return levels
    apart = np.where(counts > 0, cell_means(sums, counts) - levels.value, np.nan)[:, few]
    square = float(np.nanmean(apart**2))
    if not square > _FLAT * float(np.nanmean(levels.value[few] ** 2)):
        return levels
    skewness = float(np.nanmean(apart**3)) / square**1.5
    units = levels.clusters[few]
    se = np.sqrt(np.fmax(levels.se[few] ** 2, _LEAST * np.nanmean(levels.se[few] ** 2)))
    reach = np.asarray(scipy.special.stdtrit(units - 1, 0.5 + LEVEL / 2), dtype=np.float64)
    low, high = levels.low.copy(), levels.high.copy()
    low[few] = levels.value[few] - se * _invert_skewness(reach, skewness / np.sqrt(units))
    high[few] = levels.value[few] - se * _invert_skewness(-reach, skewness / np.sqrt(units))
    method = levels.method.copy()
    method[few] = SKEWED_T
    return replace(levels, low=low, high=high, method=method)


def _invert_skewness(u: Array, a: Array) -> Array:
    """Inverse of t + a t² / 3 + a² t³ / 27 + a / 6."""
    flat = np.abs(a) < _FLAT
    safe = np.where(flat, 1.0, a)
    return np.where(flat, u, 3 * (np.cbrt(1 + safe * (u - safe / 6)) - 1) / safe)


def deviations(means: Array) -> Array:
    """Means of groups from the mean over groups, in SDs of theirs (n - 1): beyond 1 either way they are flagged.

    Examples
    --------
    >>> deviations(np.array([1.0, 2.0, 3.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, nan]
    """
    finite = means[np.isfinite(means)]
    if finite.size < 2 or np.ptp(finite) <= 1e-12 * np.abs(finite).max():
        return np.full(means.shape, np.nan)
    return np.asarray((means - finite.mean()) / finite.std(ddof=1))


def tail_credits(scores: Array, quantile: float = TAIL_QUANTILE) -> Array:
    """Count how often each group scores highest in its set, in draws whose range is above a quantile of all ranges.

    Parameters
    ----------
    scores:
        Shape (sets, groups, draws); NaN where there is none.

    Returns
    -------
    Shape (sets, groups): in how many of a set's draws in the tail the group has the largest score. Groups that share
    it share the draw.

    Examples
    --------
    >>> scores = np.array([[[0.0], [0.1]], [[0.9], [0.0]], [[0.1], [0.2]]])
    >>> tail_credits(scores, 0.5).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    ranges = set_ranges(scores)
    finite = ranges[np.isfinite(ranges)]
    out = np.zeros(scores.shape[:2])
    if not finite.size:
        return out
    sets, draws = np.nonzero(ranges > np.quantile(finite, quantile) + _SLACK)
    scores_of_set = scores[sets, :, draws]
    largest = scores_of_set >= scores_of_set.max(axis=1, keepdims=True) - _SLACK
    np.add.at(out, sets, largest / largest.sum(axis=1, keepdims=True))
    return out


def tail_shares(scores: Array, seed: int) -> tuple[Estimates, Floor, Array]:
    """Share of each group among the largest scores of sets in the tail, and whether labels by chance give the same.

    Parameters
    ----------
    scores:
        As in `tail_credits`.

    Returns
    -------
    Estimates of the groups' shares, which sum to 1, with Wilson's intervals over sets; what labels by chance give, with
    two-sided p-values; and the smallest that these could be. NaN without any range above the quantile.

    Equation
    --------
    share_g = sum over set-draws with MaxX > q_.9(MaxX) of 1[g has the maximum] / number of groups that have it / number
    of these set-draws (Figures 2 and 6). By chance, 1 / n.

    Notes
    -----
    The test deals the labels of each set out anew, in all its draws together: a set's range stays what it is, and with
    it the tail. Labels are turned round by a random number of places, which gives each group each place as often.

    Examples
    --------
    >>> scores = np.random.default_rng(1).random((200, 4, 3))
    >>> scores[:, 2] += 1
    >>> tail_shares(scores, seed=0)[0].value.tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    credits = tail_credits(scores, TAIL_QUANTILE)
    credited = credits[credits.sum(axis=1) > 0]
    counts, groups = credited.sum(axis=1), scores.shape[1]
    total, size = float(counts.sum()), credited.shape[0]
    none = np.full(groups, np.nan)
    if not size:
        zero = np.zeros(groups, dtype=np.int64)
        methods = np.full(groups, name_unmeasured("no range lies above the others"), dtype=object)
        return Estimates(none, none, none, zero, zero, methods, none), no_floor(groups), none
    of_groups = column_shares(credited, np.repeat(counts[:, None], groups, axis=1))
    if only_values():
        return of_groups, no_floor(groups), none
    rng = np.random.default_rng(seed)
    sets, places = np.nonzero(credited)
    weights = credited[sets, places] / total

    def draw_null(shuffles: int) -> Array:
        turned = (places + rng.integers(0, groups, size=(shuffles, size))[:, sets]) % groups
        at = (turned + np.arange(shuffles)[:, None] * groups).ravel()
        sums_drawn = np.bincount(at, np.tile(weights, shuffles), shuffles * groups)
        return np.asarray(sums_drawn.reshape(shuffles, groups) - 1 / groups)

    tests = by_shuffles(of_groups.value - 1 / groups, draw_null, signed=True, block=200)
    chance = Floor(np.full(groups, 1 / groups), 1 / groups + tests.floor.high, tests.p)
    return of_groups, chance, np.full(groups, 1 / (1 + MOST_SHUFFLES))


def from_set_mean(values: Array, *, largest: float | None = None) -> Estimates:
    """Estimate the distance of each group's mean from that of its sets: paired, with t over sets.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none. Draws of a set in which a group has no value are left out.
    largest:
        Largest possible difference; see `cluster_bootstrap.cluster_means`.

    Equation
    --------
    d_g = mean over sets and draws of (x_cg - mean_h x_ch). The differences of all groups sum to zero (ours). Where
    values are rare, most sets of a group without any lie a little below their mean, and t takes that for certain. So
    groups are dealt out anew within sets, too, once their differences are taken off (`redealt`), and the wider of both
    holds.

    Examples
    --------
    >>> values = np.array([[[1.0], [3.0]], [[2.0], [6.0]], [[5.0], [np.nan]]])
    >>> from_set_mean(values).value.tolist()
    [-1.5, 1.5]
    """
    apart = values - values.mean(axis=1, keepdims=True)
    sums, counts = np.nansum(apart, axis=2), np.isfinite(apart).sum(axis=2).astype(np.float64)
    means = cluster_means(sums, counts, 0, largest=largest)
    if means.p is None or only_values():
        return means
    sets = int((counts[:, 0] > 0).sum())
    rest = sums - np.nan_to_num(means.value) * counts
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = rest * np.sqrt(sets / (sets - 1.0)) / counts.sum(axis=0) if sets > 1 else np.full(rest.shape, np.nan)
    near = np.flatnonzero((means.p < _NEAR) | (sets <= _MANY))
    shape = (*rest.shape, near.size)
    noise, possible = (np.broadcast_to(of_set[:, :, None], shape) for of_set in (noise, counts > 0))
    df = np.full(near.size, float((sets - 1) * (rest.shape[1] - 1)))
    dealt = wider_estimates(means.at(near), noise, possible, df, DEALT_WITHIN_SETS)
    order = np.concatenate([near, np.setdiff1d(np.arange(rest.shape[1]), near)])
    return Estimates.concatenate([dealt, means.at(order[near.size :])]).at(np.argsort(order))


def group_quantiles(values: Array, cluster: Codes, group: Codes, groups: int) -> Estimates:
    """90th percentile of each group's values, sets or none (Table 9).

    Parameters
    ----------
    values, cluster, group:
        Flat arrays of one length: value (NaN where there is none), the unit that was sampled and the group, from 0.

    Equation
    --------
    q_g = 90th percentile, linear, of X over all replies about g. Intervals as those of `set_quantiles`.

    Examples
    --------
    >>> group_quantiles(np.arange(11.0), np.arange(11), np.zeros(11, dtype=int), 1).value.tolist()
    [9.0]
    """
    tables = []
    for g in range(groups):
        at = (group == g) & np.isfinite(values)
        tables.append(set_quantiles(values[at], cluster[at], np.array([TAIL_QUANTILE])))
    return Estimates.concatenate(tables)
