"""Differences between two ratios of sums over units, where units differ in how many of their answers count."""

import numpy as np
import scipy

from facevalue.measures import unseen
from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values, ratio
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.JACKKNIFE, "over units, t by their effective number")
ALIKE = name_method(IntervalKind.EXACT, "no spread: what units that were not seen could do")
FEW = name_method(IntervalKind.NONE, "fewer than two units on either side")


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
    ratios = [ratio(sums.sum(axis=0), counts.sum(axis=0)) for sums, counts in sides]
    value = ratios[1] - ratios[0]
    held = [counts > 0 for _, counts in sides]
    n = np.rint(first[1].sum(axis=0) + second[1].sum(axis=0)).astype(np.int64)
    clusters = (held[0] | held[1]).sum(axis=0)
    none = np.full(value.size, np.nan)
    if only_values():
        return Estimates(value, none, none, n, clusters, np.full(value.size, METHOD, dtype=object), none, none)
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
        parts = [(move**2).sum(axis=0) for move in moves]
        welch = (parts[0] + parts[1]) ** 2 / (parts[0] ** 2 / dfs[0] + parts[1] ** 2 / dfs[1])
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
    method = np.full(value.size, METHOD, dtype=object)
    alike = (se == 0) & ~few & np.isfinite(value)
    if alike.any():
        zero = np.zeros(int(alike.sum()))
        fewest = np.minimum(*groups)[alike].astype(np.int64)
        low[alike], high[alike], p[alike] = unseen.widened(value[alike], zero, fewest, zero, largest, LEVEL)
        method[alike] = ALIKE
    method[few] = FEW
    se = np.where(few | alike, np.nan, se)
    low, high, p = (np.where(few, np.nan, column) for column in (low, high, p))
    return Estimates(value, low, high, n, clusters, method, se, p)
