"""Unseen clusters: what they could change, where most of the sampled ones shift alike."""

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.interval_method import IntervalKind, name_method

Array = npt.NDArray[np.float64]

UNSEEN = name_method(
    IntervalKind.T, "over cluster means, most of them equal: widened by what clusters that were not seen could do"
)
SAME = name_method(
    IntervalKind.EXACT,
    "no spread, as all clusters shift alike: what clusters that were not seen could do, as in a sign test",
)
ALIKE = name_method(IntervalKind.EXACT, "Clopper-Pearson over clusters, all of them equal")
FLAT = name_method(IntervalKind.NONE, "the clusters that were seen give no spread")
"""How the interval of a mean or share is made to which all clusters give the same value."""
EQUAL = 1e-9
"""Cluster means that differ by less, relative to their size or to one unit, are equal."""


def common_shift(sums: Array, counts: Array) -> Array:
    """Mean that more than half of a cell's clusters, and at least two, have in common; NaN where there is none.

    `sums` and `counts`: shape (clusters, cells).

    Examples
    --------
    >>> common_shift(np.array([[0.0, 3.0], [0.0, 3.0], [1.0, 2.0], [2.0, 1.0]]), np.ones((4, 2))).tolist()
    [nan, nan]
    >>> common_shift(np.array([[0.0], [0.0], [1.0]]), np.ones((3, 1))).tolist()
    [0.0]
    """
    seen = counts > 0
    means = np.where(seen, sums / np.where(seen, counts, 1.0), np.nan)
    groups = seen.sum(axis=0)
    ordered = np.sort(means, axis=0)  # NaN last; a value that most have is the median
    median = ordered[np.maximum(groups - 1, 0) // 2, np.arange(means.shape[1])]
    rounding = EQUAL * np.fmax(np.abs(median), 1.0)
    equal = (np.abs(means - median) <= rounding) & seen
    zero = np.where(np.abs(median) <= rounding, 0.0, median)
    return np.where((groups > 1) & (2 * equal.sum(axis=0) > groups), zero, np.nan)


def widened(
    value: Array, se: Array, clusters: npt.NDArray[np.int64], common: Array, largest: float, level: float
) -> tuple[Array, Array, Array]:
    """Interval and p-value of a mean shift where most clusters shift alike, and others may exist that were not seen.

    Twenty faces that don't move at all leave room for one in seven that moves all the way: their standard error of
    zero says nothing of that one. So the interval adds what a share u of such clusters could do. Where most do move, by
    c, unseen ones may move by as much the other way, or farther by as much.

    `value` and `se`: mean shift and standard error over the clusters that were seen; zero where all are equal.
    `common`: what most shift by (`common_shift`). `largest`: largest possible shift L, either way.
    Returns low, high, p; p is below 1 - level exactly where zero lies outside.

    Equation
    --------
    low = (1 - u)(m - t se) + u a, high = (1 - u)(m + t se) + u b, u = 1 - (a/2)^(1/G), t = t(1 - a/2; G - 1): of G
    clusters none is of a kind that has the share u with probability a/2 (Clopper and Pearson 1934, with no success).
    Unseen shifts lie from a to b: -L to L for c = 0, else c - 2|c| to c + 2|c|, within these. p is the a at which the
    interval begins to hold zero; G clusters that all shift by the same c give 2/2^G, as the sign test.

    Examples
    --------
    >>> m = np.array([0.0, 1.0, 3.0])
    >>> low, high, p = widened(m, np.zeros(3), np.array([20, 20, 6]), m, 9.0, 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist(), p.round(9).tolist()
    ([-1.516, 0.663, 0.244], [1.516, 1.337, 5.756], [1.0, 1.907e-06, 0.03125])
    """
    far = np.where(common == 0, largest, 2 * np.abs(common))
    ends = np.maximum(common - far, -largest), np.minimum(common + far, largest)
    opposite = np.where(value > 0, -ends[0], ends[1])

    def reach(alpha: Array) -> tuple[Array, Array]:
        share = -np.expm1(np.log(alpha / 2) / clusters)
        spread = -scipy.special.stdtrit(np.maximum(clusters - 1, 1), alpha / 2) * se
        return share, np.where(se > 0, spread, 0.0)

    share, spread = reach(np.full(value.shape, 1 - level))
    low, high = (1 - share) * (value - spread) + share * ends[0], (1 - share) * (value + spread) + share * ends[1]
    low_log, high_log = np.full(value.shape, -700.0), np.full(value.shape, 0.0)  # logarithms of alpha
    for _ in range(60):
        middle = (low_log + high_log) / 2
        share, spread = reach(np.exp(middle))
        out = (1 - share) * (np.abs(value) - spread) > share * opposite
        low_log, high_log = np.where(out, low_log, middle), np.where(out, middle, high_log)
    return low, high, np.where(np.abs(value) > 0, np.exp(high_log), 1.0)


def alike(
    value: Array, clusters: npt.NDArray[np.int64], limits: tuple[float, float], level: float
) -> tuple[Array, Array]:
    """Interval of a mean or share to which all clusters that were seen give one and the same value.

    Ten faces that are all refused don't show that every face would be: a bootstrap, and t, have an interval without
    width there.

    Parameters
    ----------
    value:
        What all clusters have.
    clusters:
        How many, at least one.
    limits:
        Smallest and largest possible value of a cluster.
    level:
        Of the interval.

    Returns
    -------
    low, high.

    Equation
    --------
    low = v - u (v - min), high = v + u (max - v), u = 1 - (a/2)^(1/G): of G clusters none is of a kind that has the
    share u with probability a/2. For a share of 0 or 1 this is the interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> low, high = alike(np.array([1.0, 0.5]), np.array([10, 10]), (0.0, 1.0), 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.692, 0.346], [1.0, 0.654])
    """
    share = -np.expm1(np.log((1 - level) / 2) / clusters)
    return value - share * (value - limits[0]), value + share * (limits[1] - value)
