"""Means of groups: comparisons of two groups of clusters, ratios of sums, and differences of these.

As in `cluster_bootstrap`, cells are columns of two matrices, `sums` and `counts`, of shape (clusters, cells).
Everything here takes one part per group, so that a single part is the one-sample case (paired shifts) and two are a
comparison: people of one group against people of another.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import (
    LEVEL,
    RESAMPLES,
    Array,
    bootstrap_weights,
    cell_means,
    cells_at_once,
    cluster_means,
    observed_rows,
    only_values,
    standard_error,
)
from facevalue.measures.intervals import (
    EQUAL_WITHIN,
    MANY_CLUSTERS,
    STUDENTISED_BOOTSTRAP,
    T_OVER_MEANS,
    WELCH_OVER_MEANS,
    IntervalKind,
    method_for,
    name_method,
    widen_interval,
)
from facevalue.measures.uncertainty import Estimates, Terms, term_record, terms_of

GroupSums = tuple[Array, Array]
"""Sums and counts of the clusters of one group, each of shape (clusters, cells)."""
Codes = npt.NDArray[np.int64]
POOLED_WELCH = name_method(
    IntervalKind.WELCH, "over cluster means, and t with the spread of both groups: the wider of both"
)

EQUAL_GROUPS = name_method(
    IntervalKind.EXACT, "no spread, as all clusters of each group are equal: what clusters that were not seen could do"
)

_BLOCK = 2**21  # elements of one matrix of resamples x cells: bounds the work space at about 200 MB


class Interval(NamedTuple):
    """Interval at `LEVEL` and two-sided p-value of each cell."""

    low: Array
    high: Array
    p: Array


def compare_groups(
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
    (`intervals.widen_interval`, with as many as the smaller group has) gives interval and p, if `largest` is known.

    Examples
    --------
    >>> share = np.array([[0.2], [0.4], [0.3], [0.5], [0.9], [0.7]])
    >>> found = compare_groups(share * 10, np.full((6, 1), 10.0), np.array([0, 0, 0, 1, 1, 1]), seed=0)
    >>> f"{found.value[0]:.2f} [{found.low[0]:.2f}, {found.high[0]:.2f}], p = {found.p[0]:.3f}, {found.method[0]}"
    '0.40 [-0.02, 0.82], p = 0.055, Welch t: over cluster means'
    """
    samples = [(sums[group == g], counts[group == g]) for g in (0, 1)]
    value = difference_of_means(samples)
    n = np.array([part_counts.sum(axis=0) for _, part_counts in samples])
    clusters = np.array([(part_counts > 0).sum(axis=0) for _, part_counts in samples])
    smaller = clusters.min(axis=0)
    se, _ = error_of_difference(samples)
    quick = only_values()
    low, high, p = np.full((3, value.size), np.nan) if quick else t_interval(samples)

    method = np.full(value.shape, "", dtype=object)
    for size in np.unique(smaller):
        method[smaller == size] = method_for(int(size), paired=False)
    method[(method == STUDENTISED_BOOTSTRAP) & (clusters.max(axis=0) >= MANY_CLUSTERS)] = WELCH_OVER_MEANS
    if pooled and not quick:
        common, common_df = pooled_error(samples)
        of_pooled = _student(value, common, common_df)
        wider = (method == WELCH_OVER_MEANS) & (of_pooled.p > p)
        low, high = (
            np.where(wider, pick(a, b), a)
            for pick, a, b in ((np.fmin, low, of_pooled.low), (np.fmax, high, of_pooled.high))
        )
        p, se = np.where(wider, of_pooled.p, p), np.where(wider, np.fmax(se, common), se)
        method[wider] = POOLED_WELCH
    reason = np.full(value.shape, "", dtype=object)
    reason[(smaller >= 2) & ~(se > 0)] = "the clusters of neither group differ, so that their spread is unknown"
    reason[smaller == 1] = "a group has one cluster only, so that its spread is unknown"
    reason[smaller == 0] = "only one of the groups has answers"
    reason[clusters.max(axis=0) == 0] = "neither group has answers"
    if largest is not None and not quick:
        apart = (smaller >= 2) & ~(se > 0) & (np.abs(value) > EQUAL_WITHIN)
        zero = np.zeros(int(apart.sum()))
        low[apart], high[apart], p[apart] = widen_interval(value[apart], zero, smaller[apart], zero, largest, LEVEL)
        method[apart], reason[apart], se[apart] = EQUAL_GROUPS, "", np.nan
    unknown = reason != ""
    method[unknown] = [name_method(IntervalKind.NONE, text) for text in reason[unknown]]

    many = np.flatnonzero(method == STUDENTISED_BOOTSTRAP)
    seeds = [int(word) for word in np.random.SeedSequence(seed).generate_state(2)]  # the groups drawn apart
    for cells in () if quick else cells_at_once(many, max(len(sample[0]) for sample in samples), resamples):
        rows = [observed_rows(of_group[:, cells]) for _, of_group in samples]
        weights = [bootstrap_weights(at.size, resamples, of_group) for at, of_group in zip(rows, seeds, strict=True)]
        of_cells = [(s[np.ix_(at, cells)], c[np.ix_(at, cells)]) for at, (s, c) in zip(rows, samples, strict=True)]
        low[cells], high[cells], p[cells] = studentised_interval(of_cells, weights)
    for array in (low, high, p):
        array[unknown] = np.nan
    total = n.sum(axis=0).astype(np.int64)
    return Estimates(value, low, high, total, clusters.sum(axis=0), method, se, p, _terms(sums, counts, group))


def _terms(sums: Array, counts: Array, group: npt.NDArray[np.int64]) -> Terms | None:
    """Terms of the differences: sums of the units of either group, side by side."""
    cells = sums.shape[1]

    def difference_of_means(total_sums: Array, total_counts: Array) -> Array:
        means = cell_means(total_sums, total_counts)
        return means[..., cells:] - means[..., :cells]

    if term_record() is None:
        return None
    s, n = (np.concatenate([x * (group == g)[:, None] for g in (0, 1)], axis=1) for x in (sums, counts))
    return terms_of(s, n, difference_of_means, estimates=cells)


def difference_of_means(samples: Sequence[GroupSums]) -> Array:
    """Mean of the last part, less that of the first where there are two; NaN where one has nothing."""
    means = [cell_means(sums.sum(axis=0), counts.sum(axis=0)) for sums, counts in samples]
    return means[-1] - means[0] if len(samples) > 1 else means[0]


def error_of_difference(samples: Sequence[GroupSums]) -> tuple[Array, Array]:
    """Cluster-robust standard error of `difference_of_means` and its degrees of freedom.

    Equation
    --------
    se² = Σ_g v_g with v_g from `cluster_bootstrap.standard_error`; df = (Σ v_g)² / Σ v_g²/(G_g - 1) (Welch 1947). With
    equal counts this is Welch's test of the cluster means, and with one part the usual t with G - 1.
    Rounding errors are no spread: below 10^-12 of the size of the sums, v_g is zero.
    """
    variances, groups = [], []
    for sums, counts in samples:
        se = standard_error(sums, counts)
        rounding = 1e-12 * cell_means(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
        variances.append(np.where(se <= rounding, 0.0, se) ** 2)
        groups.append((counts > 0).sum(axis=0))
    v, g = np.array(variances), np.array(groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = v.sum(axis=0)
        df = total**2 / (v**2 / np.maximum(g - 1, 1)).sum(axis=0)
    return np.sqrt(total), df


def pooled_error(samples: Sequence[GroupSums]) -> tuple[Array, Array]:
    """Standard error of `difference_of_means` where clusters of both groups vary alike, and its degrees of freedom.

    Equation
    --------
    se² = s² Σ_g 1/G_g, s² = Σ_g G_g (G_g - 1) v_g / (Σ_g G_g - 2), v_g as in `error_of_difference`; df = Σ_g G_g - 2
    (Student 1908).
    """
    v = np.array([standard_error(*sample) ** 2 for sample in samples])
    g = np.array([(counts > 0).sum(axis=0) for _, counts in samples])
    df = np.maximum(g.sum(axis=0) - len(samples), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((g * (g - 1) * v).sum(axis=0) / df * (1 / g).sum(axis=0)), df


def t_interval(samples: Sequence[GroupSums]) -> Interval:
    """Student's interval and test with the cluster-robust standard error; Welch's for two parts. NaN without spread."""
    return _student(difference_of_means(samples), *error_of_difference(samples))


def _student(value: Array, se: Array, df: Array) -> Interval:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(se > 0, value / se, np.nan)
        spread = np.where(se > 0, scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se, np.nan)
    return Interval(value - spread, value + spread, np.asarray(2 * scipy.special.stdtr(df, -np.abs(t))))


def resample_means(sums: Array, counts: Array, weights: Array) -> tuple[Array, Array]:
    """Means and squared cluster-robust standard errors of reweighted clusters, each of shape (resamples, cells).

    `sums` and `counts`: shape (clusters, cells). Take the cells' means off the sums first, or small spreads drown in
    rounding. `weights`: shape (resamples, clusters); how often each cluster is in.
    """
    total = weights @ counts
    mean = cell_means(weights @ sums, total)
    squares = weights @ sums**2
    squares -= 2 * mean * (weights @ (sums * counts))
    squares += mean**2 * (weights @ counts**2)
    seen = weights @ (counts > 0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean, np.where(seen > 1, seen / (seen - 1) * np.maximum(squares, 0) / total**2, np.nan)


def studentised_interval(samples: Sequence[GroupSums], weights: Sequence[Array]) -> Interval:
    """Studentised cluster bootstrap (Efron and Tibshirani 1993, ch. 12.5), each group resampled on its own.

    The p-value is twice the smaller tail of the bootstrapped t beyond the observed one, so that it falls below
    1 - `LEVEL` where the interval leaves zero out.

    `weights`: of each part, as from `cluster_bootstrap.bootstrap_weights`.
    """
    value = difference_of_means(samples)
    se, _ = error_of_difference(samples)
    boot = np.zeros((len(weights[0]), value.size))
    variance = np.zeros_like(boot)
    for sign, (sums, counts), weight in zip((-1, 1)[-len(samples) :], samples, weights, strict=True):
        centre = cell_means(sums.sum(axis=0), counts.sum(axis=0))
        mean, v = resample_means(sums - centre * counts, counts, weight)
        boot += sign * mean
        variance += v
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(variance > 0, boot / np.sqrt(variance), np.nan)
        observed = np.where(se > 0, value / se, np.nan)
    return bootstrap_tails(t, value, se, observed)


def bootstrap_tails(t: Array, value: Array, se: Array, observed: Array) -> Interval:
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


JACKKNIFE_OVER_UNITS = name_method(IntervalKind.JACKKNIFE, "over units, t by their effective number")


def unit_ratios(
    sums: Array, counts: Array, seed: int, *, level: bool = False, largest: float | None = None
) -> Estimates:
    """Ratio of each cell with an interval over units; `level` and `largest` as of `cluster_bootstrap.cluster_means`.

    Where the interval of a mean would be t's, a unit that holds much of what counts is taken for what it is: it pulls
    the ratio to itself, so that its residual is too small, and there are fewer units than it seems.

    Parameters
    ----------
    sums, counts:
        Of what counts, by unit and cell, shape (units, cells).

    Equation
    --------
    se² = (G - 1)/G Σ_g ((s_g - r n_g) / (1 - h_g))² / N², h_g = n_g / N, N = Σ_g n_g, which is the delete-one jackknife
    of r = Σ_g s_g / N; t with 1 / Σ_g h_g² - 1 degrees of freedom (Kish's effective number of units less one). With the
    same number in each unit this is t over the units' means.

    Notes
    -----
    In 4,000 audits without an effect, units of which some have ten times as many counting answers as others, linearised
    t found something in .058 to .069 at .05 (10 to 40 units), this in .049 to .056.

    Of preferences in 4 to 20 sets, 4,000 audits each of 1 or 3 questions asked both ways round: where sets have 1 to 6
    pairs, linearised t found something in .050 to .072, this in .034 to .053; where one set in five has 13 pairs and
    all others 2, .076 to .136 and .001 to .057; where all have 3 both are the same, .013 to .060.
    """
    means = cluster_means(sums, counts, seed, level=level, largest=largest)
    at = np.flatnonzero((means.method == T_OVER_MEANS) & np.isfinite(means.low))
    n = np.rint(counts.sum(axis=0)).astype(np.int64)
    if not at.size or means.se is None:
        return replace(means, n=n)
    se, df = _jackknife_interval(means.value[at], sums[:, at], counts[:, at])
    reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    arrays = {name: getattr(means, name).copy() for name in ("low", "high", "se", "method")}
    arrays["low"][at], arrays["high"][at] = means.value[at] - reach, means.value[at] + reach
    arrays["se"][at], arrays["method"][at] = se, JACKKNIFE_OVER_UNITS
    if means.p is not None:
        arrays["p"] = means.p.copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            p = 2 * scipy.special.stdtr(df, -np.abs(means.value[at] / se))
        arrays["p"][at] = np.where(np.isfinite(means.p[at]), p, np.nan)
    return replace(means, n=n, **arrays)


def _jackknife_interval(value: Array, sums: Array, counts: Array) -> tuple[Array, Array]:
    """Standard errors and degrees of freedom of ratios; NaN of one unit."""
    total, groups = counts.sum(axis=0), (counts > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = counts / total
        residuals = (sums - value * counts) / (1 - weight)
        se = np.sqrt((groups - 1) / groups * (residuals**2).sum(axis=0)) / total
        return np.where(groups > 1, se, np.nan), np.maximum(1 / (weight**2).sum(axis=0) - 1, 1.0)


EQUAL_UNITS = name_method(IntervalKind.EXACT, "no spread: what units that were not seen could do")
FEW_UNITS_ON_A_SIDE = name_method(IntervalKind.NONE, "fewer than two units on either side")


def ratio_differences(first: tuple[Array, Array], second: tuple[Array, Array], largest: float) -> Estimates:
    """Second ratio less the first in each cell, with an interval over units and a test of zero.

    Parameters
    ----------
    first, second:
        Sums and counts of what counts, by unit and cell, shape (units, cells); the same units in the same rows. A unit
        may be on either side, or on both.
    largest:
        Largest possible difference.

    Equation
    --------
    d = r_2 - r_1, r_i = Σ_g s_ig / N_i, N_i = Σ_g n_ig. Leaving out unit g moves r_i by e_ig = (s_ig - r_i n_ig) /
    ((1 - h_ig) N_i), h_ig = n_ig / N_i (`unit_ratios`): se² = Σ_g (f_2 e_2g - f_1 e_1g)², f_i² = (G_i - 1) / G_i.
    A unit on both sides moves both. With units on one side each, t has the degrees of freedom of Satterthwaite from
    1 / Σ h_ig² - 1; else those of the units' mean weights. In the first case a second t takes both sides' residuals
    together, se² = v (1/N_1 + 1/N_2), v = Σ (s_ig - r_i n_ig)² / (n_ig (1 - h_ig)) / (G_1 + G_2), as few units of one
    group may happen to be alike; the larger p and the wider interval stand.

    Examples
    --------
    >>> ones = np.ones((6, 1)); side = np.array([[1.0], [1], [1], [0], [0], [0]])
    >>> s = np.array([[1.0], [2.0], [3.0], [2.0], [4.0], [6.0]])
    >>> out = ratio_differences((s * side, 4 * side), (s * (1 - side), 4 * (1 - side)), 1.0)
    >>> out.value.item(), out.clusters.item(), bool(out.low < 0 < out.high)
    (0.5, 6, True)
    """
    sides = first, second
    ratios = [cell_means(sums.sum(axis=0), counts.sum(axis=0)) for sums, counts in sides]
    value = ratios[1] - ratios[0]
    held = [counts > 0 for _, counts in sides]
    n = np.rint(first[1].sum(axis=0) + second[1].sum(axis=0)).astype(np.int64)
    clusters = (held[0] | held[1]).sum(axis=0)
    none = np.full(value.size, np.nan)
    if only_values():
        return Estimates(
            value, none, none, n, clusters, np.full(value.size, JACKKNIFE_OVER_UNITS, dtype=object), none, none
        )
    groups = [of_side.sum(axis=0) for of_side in held]
    few = np.minimum(*groups) < 2
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = [counts / counts.sum(axis=0) for _, counts in sides]
        residuals = [sums - r * counts for (sums, counts), r in zip(sides, ratios, strict=True)]
        moves = [
            np.nan_to_num(np.sqrt((g - 1) / g) * e / ((1 - h) * counts.sum(axis=0)))
            for e, h, g, (_, counts) in zip(residuals, weights, groups, sides, strict=True)
        ]
        se = np.sqrt(((moves[1] - moves[0]) ** 2).sum(axis=0))
        apart = ~(held[0] & held[1]).any(axis=0)
        dfs = [np.maximum(1 / (h**2).sum(axis=0) - 1, 1.0) for h in weights]
        variances = [(move**2).sum(axis=0) for move in moves]
        welch = (variances[0] + variances[1]) ** 2 / (variances[0] ** 2 / dfs[0] + variances[1] ** 2 / dfs[1])
        together = np.maximum(1 / (((weights[0] + weights[1]) / 2) ** 2).sum(axis=0) - 1, 1.0)
        df = np.where(apart, welch, together)
        squares = [np.nan_to_num(e**2 / (counts * (1 - h))) for e, h, (_, counts)
                   in zip(residuals, weights, sides, strict=True)]  # fmt: skip
        pooled = sum(square.sum(axis=0) for square in squares) / (groups[0] + groups[1])
        pooled_se = np.sqrt(pooled * sum(1 / counts.sum(axis=0) for _, counts in sides))
        pooled_df = np.maximum(groups[0] + groups[1] - 2.0, 1.0)
        p = 2 * scipy.special.stdtr(df, -np.abs(value) / se)
        p_pooled = np.where(apart, 2 * scipy.special.stdtr(pooled_df, -np.abs(value) / pooled_se), 0.0)
        reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
        reach = np.fmax(reach, np.where(apart, scipy.special.stdtrit(pooled_df, 0.5 + LEVEL / 2) * pooled_se, 0.0))
    low, high, p = value - reach, value + reach, np.fmax(p, p_pooled)
    method = np.full(value.size, JACKKNIFE_OVER_UNITS, dtype=object)
    alike = (se == 0) & ~few & np.isfinite(value)
    if alike.any():
        zero = np.zeros(int(alike.sum()))
        fewest = np.minimum(*groups)[alike].astype(np.int64)
        low[alike], high[alike], p[alike] = widen_interval(value[alike], zero, fewest, zero, largest, LEVEL)
        method[alike] = EQUAL_UNITS
    method[few] = FEW_UNITS_ON_A_SIDE
    se = np.where(few | alike, np.nan, se)
    low, high, p = (np.where(few, np.nan, column) for column in (low, high, p))
    return Estimates(value, low, high, n, clusters, method, se, p)
