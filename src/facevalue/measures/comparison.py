"""Comparisons of two groups of clusters: people of one group against people of another.

As in `cluster_bootstrap`, cells are columns of two matrices, `sums` and `counts`, of shape (clusters, cells).
Everything here takes one part per group, so that a single part is the one-sample case (paired shifts) and two are a
comparison.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import cluster_bootstrap, unseen
from facevalue.measures.cluster_bootstrap import LEVEL, RESAMPLES, Array
from facevalue.measures.interval_method import BOOTSTRAP, WELCH, IntervalKind, method_for, name_method
from facevalue.measures.terms import Terms, record, terms_of
from facevalue.measures.uncertainty import Estimates

Part = tuple[Array, Array]
"""Sums and counts of the clusters of one group, each of shape (clusters, cells)."""
Codes = npt.NDArray[np.int64]
POOLED = name_method(IntervalKind.WELCH, "over cluster means, and t with the spread of both groups: the wider of both")

APART = name_method(
    IntervalKind.EXACT, "no spread, as all clusters of each group are equal: what clusters that were not seen could do"
)

_BLOCK = 2**21  # elements of one matrix of resamples x cells: bounds the work space at about 200 MB


class Interval(NamedTuple):
    """Interval at `LEVEL` and two-sided p-value of each cell."""

    low: Array
    high: Array
    p: Array


def compare(
    sums: Array,
    counts: Array,
    group: Codes,
    seed: int,
    resamples: int = RESAMPLES,
    *,
    pooled: bool = False,
    largest: float | None = None,
) -> Estimates:
    """Difference of two groups' means in each cell, with an interval over clusters and a p-value.

    `group`: group of each cluster: 0 or 1; the difference is 1 minus 0. Others (-1) are left out. `pooled`: whether
    groups may be of any size, and clusters pile up at the end of a scale. `largest`: the largest possible difference,
    if there is one.

    Notes
    -----
    A handful of clusters beside many, of ratings near the end of their scale: the few often happen to be alike, and
    Welch's standard error rests on them. So with `pooled` t with the spread of both groups together is taken as well,
    and the wider of both holds. Of groups of one size that is Welch's.

    Where all clusters of one group have one value and all of the other another, as where everyone of one group is
    refused and nobody of the other, there is no spread to test with: what clusters that were not seen could do
    (`unseen.widened`, with as many as the smaller group has) gives interval and p, if `largest` is known.

    Examples
    --------
    >>> share = np.array([[0.2], [0.4], [0.3], [0.5], [0.9], [0.7]])
    >>> found = compare(share * 10, np.full((6, 1), 10.0), np.array([0, 0, 0, 1, 1, 1]), seed=0)
    >>> f"{found.value[0]:.2f} [{found.low[0]:.2f}, {found.high[0]:.2f}], p = {found.p[0]:.3f}, {found.method[0]}"
    '0.40 [-0.02, 0.82], p = 0.055, Welch t: over cluster means'
    """
    samples = [(sums[group == g], counts[group == g]) for g in (0, 1)]
    value = difference(samples)
    n = np.array([part_counts.sum(axis=0) for _, part_counts in samples])
    clusters = np.array([(part_counts > 0).sum(axis=0) for _, part_counts in samples])
    smaller = clusters.min(axis=0)
    se, _ = error(samples)
    quick = cluster_bootstrap.only_values()
    low, high, p = np.full((3, value.size), np.nan) if quick else t_interval(samples)

    method = np.full(value.shape, "", dtype=object)
    for size in np.unique(smaller):
        method[smaller == size] = method_for(int(size), paired=False)
    if pooled and not quick:
        common, common_df = pooled_error(samples)
        of_pooled = _student(value, common, common_df)
        wider = (method == WELCH) & (of_pooled.p > p)
        low, high = (
            np.where(wider, pick(a, b), a)
            for pick, a, b in ((np.fmin, low, of_pooled.low), (np.fmax, high, of_pooled.high))
        )
        p, se = np.where(wider, of_pooled.p, p), np.where(wider, np.fmax(se, common), se)
        method[wider] = POOLED
    reason = np.full(value.shape, "", dtype=object)
    reason[(smaller >= 2) & ~(se > 0)] = "the clusters of neither group differ, so that their spread is unknown"
    reason[smaller == 1] = "a group has one cluster only, so that its spread is unknown"
    reason[smaller == 0] = "only one of the groups has answers"
    reason[clusters.max(axis=0) == 0] = "neither group has answers"
    if largest is not None and not quick:
        apart = (smaller >= 2) & ~(se > 0) & (np.abs(value) > unseen.EQUAL)
        zero = np.zeros(int(apart.sum()))
        low[apart], high[apart], p[apart] = unseen.widened(value[apart], zero, smaller[apart], zero, largest, LEVEL)
        method[apart], reason[apart], se[apart] = APART, "", np.nan
    unknown = reason != ""
    method[unknown] = [name_method(IntervalKind.NONE, text) for text in reason[unknown]]

    many = np.flatnonzero(method == BOOTSTRAP)
    step = max(1, _BLOCK // max(resamples, 1))
    if many.size and not quick:
        seeds = [int(word) for word in np.random.SeedSequence(seed).generate_state(2)]  # the groups drawn apart
        weights = [
            cluster_bootstrap.bootstrap_weights(len(sample[0]), resamples, s)
            for sample, s in zip(samples, seeds, strict=True)
        ]
        for start in range(0, many.size, step):
            cells = many[start : start + step]
            low[cells], high[cells], p[cells] = studentised([(s[:, cells], c[:, cells]) for s, c in samples], weights)
    for array in (low, high, p):
        array[unknown] = np.nan
    total = n.sum(axis=0).astype(np.int64)
    return Estimates(value, low, high, total, clusters.sum(axis=0), method, se, p, _terms(sums, counts, group))


def _terms(sums: Array, counts: Array, group: npt.NDArray[np.int64]) -> Terms | None:
    """What differences are made of: sums of the units of either group, side by side."""
    cells = sums.shape[1]

    def apart(total_sums: Array, total_counts: Array) -> Array:
        means = cluster_bootstrap.ratio(total_sums, total_counts)
        return means[..., cells:] - means[..., :cells]

    if record() is None:
        return None
    s, n = (np.concatenate([x * (group == g)[:, None] for g in (0, 1)], axis=1) for x in (sums, counts))
    return terms_of(s, n, apart, estimates=cells)


def difference(samples: Sequence[Part]) -> Array:
    """Mean of the last part, less that of the first where there are two; NaN where one has nothing."""
    means = [cluster_bootstrap.ratio(sums.sum(axis=0), counts.sum(axis=0)) for sums, counts in samples]
    return means[-1] - means[0] if len(samples) > 1 else means[0]


def error(samples: Sequence[Part]) -> tuple[Array, Array]:
    """Cluster-robust standard error of `difference` and its degrees of freedom.

    Equation
    --------
    se² = Σ_g v_g with v_g from `cluster_bootstrap.standard_error`; df = (Σ v_g)² / Σ v_g²/(G_g - 1) (Welch 1947). With
    equal counts this is Welch's test of the cluster means, and with one part the usual t with G - 1.
    Rounding errors are no spread: below 10^-12 of the size of the sums, v_g is zero.
    """
    variances, groups = [], []
    for sums, counts in samples:
        se = cluster_bootstrap.standard_error(sums, counts)
        rounding = 1e-12 * cluster_bootstrap.ratio(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
        variances.append(np.where(se <= rounding, 0.0, se) ** 2)
        groups.append((counts > 0).sum(axis=0))
    v, g = np.array(variances), np.array(groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = v.sum(axis=0)
        df = total**2 / (v**2 / np.maximum(g - 1, 1)).sum(axis=0)
    return np.sqrt(total), df


def pooled_error(samples: Sequence[Part]) -> tuple[Array, Array]:
    """Standard error of `difference` where clusters of both groups vary alike, and its degrees of freedom.

    Equation
    --------
    se² = s² Σ_g 1/G_g, s² = Σ_g G_g (G_g - 1) v_g / (Σ_g G_g - 2), v_g as in `error`; df = Σ_g G_g - 2 (Student 1908).
    """
    v = np.array([cluster_bootstrap.standard_error(*sample) ** 2 for sample in samples])
    g = np.array([(counts > 0).sum(axis=0) for _, counts in samples])
    df = np.maximum(g.sum(axis=0) - len(samples), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((g * (g - 1) * v).sum(axis=0) / df * (1 / g).sum(axis=0)), df


def t_interval(samples: Sequence[Part]) -> Interval:
    """Student's interval and test with the cluster-robust standard error; Welch's for two parts. NaN without spread."""
    return _student(difference(samples), *error(samples))


def _student(value: Array, se: Array, df: Array) -> Interval:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(se > 0, value / se, np.nan)
        spread = np.where(se > 0, scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se, np.nan)
    return Interval(value - spread, value + spread, np.asarray(2 * scipy.special.stdtr(df, -np.abs(t))))


def resampled(sums: Array, counts: Array, weights: Array) -> tuple[Array, Array]:
    """Means and squared cluster-robust standard errors of reweighted clusters, each of shape (resamples, cells).

    `sums` and `counts`: shape (clusters, cells). Take the cells' means off the sums first, or small spreads drown in
    rounding. `weights`: shape (resamples, clusters); how often each cluster is in.
    """
    total = weights @ counts
    mean = cluster_bootstrap.ratio(weights @ sums, total)
    squares = weights @ sums**2
    squares -= 2 * mean * (weights @ (sums * counts))
    squares += mean**2 * (weights @ counts**2)
    seen = weights @ (counts > 0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean, np.where(seen > 1, seen / (seen - 1) * np.maximum(squares, 0) / total**2, np.nan)


def studentised(samples: Sequence[Part], weights: Sequence[Array]) -> Interval:
    """Studentised cluster bootstrap (Efron and Tibshirani 1993, ch. 12.5), each group resampled on its own.

    The p-value is twice the smaller tail of the bootstrapped t beyond the observed one, so that it falls below
    1 - `LEVEL` where the interval leaves zero out.

    `weights`: of each part, as from `cluster_bootstrap.bootstrap_weights`.
    """
    value = difference(samples)
    se, _ = error(samples)
    boot = np.zeros((len(weights[0]), value.size))
    variance = np.zeros_like(boot)
    for sign, (sums, counts), weight in zip((-1, 1)[-len(samples) :], samples, weights, strict=True):
        centre = cluster_bootstrap.ratio(sums.sum(axis=0), counts.sum(axis=0))
        mean, v = resampled(sums - centre * counts, counts, weight)
        boot += sign * mean
        variance += v
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(variance > 0, boot / np.sqrt(variance), np.nan)
        observed = np.where(se > 0, value / se, np.nan)
    return tails(t, value, se, observed)


def tails(t: Array, value: Array, se: Array, observed: Array) -> Interval:
    """Turn bootstrapped t values, of shape (resamples, cells), into interval and p-value; NaN ones are left out."""
    ordered = np.sort(t.T, axis=1)  # NaN last
    finite = np.isfinite(ordered).sum(axis=1)
    ends = [value - _quantile(ordered, finite, place) * se for place in (0.5 + LEVEL / 2, 0.5 - LEVEL / 2)]
    above = (ordered >= observed[:, None]).sum(axis=1)
    below = (ordered <= observed[:, None]).sum(axis=1)
    p = np.minimum(2 * (1.0 + np.minimum(above, below)) / (1.0 + finite), 1.0)
    return Interval(ends[0], ends[1], np.where(np.isfinite(ends[0]), p, np.nan))


def _quantile(ordered: Array, finite: Codes, place: float | Array) -> Array:
    """Quantile of each row of sorted values of which the first `known` count (linear, as numpy's default)."""
    at = np.maximum(place * (finite - 1), 0)
    left = np.floor(at).astype(np.int64)
    right = np.minimum(left + 1, np.maximum(finite - 1, 0))
    rows = np.arange(len(ordered))
    low, high = ordered[rows, left], ordered[rows, right]
    out = low + (high - low) * (at - left)
    return np.where(finite > len(ordered[0]) // 2, out, np.nan)
