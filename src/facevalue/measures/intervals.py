"""Methods of intervals, and what units that were not sampled could change of them."""

from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import UnknownNameError


class IntervalKind(StrEnum):
    """Kinds of methods by which intervals are made."""

    WILSON = "Wilson"
    """Wilson's score interval of a share, with an effective sample size."""
    EXACT = "exact"
    """Clopper and Pearson's interval of a share, and what it says of units that were not seen."""
    JEFFREYS = "Jeffreys"
    """The beta distribution of a share, from Jeffreys' prior."""
    T = "t"
    """Student's t with a standard error over clusters."""
    WELCH = "Welch t"
    """Student's t for two groups of unlike spread."""
    BOOTSTRAP = "bootstrap"
    """Clusters drawn with replacement: studentised, or bias-corrected and accelerated (BCa)."""
    JACKKNIFE = "jackknife"
    """Clusters, or groups of clusters, left out in turn."""
    PERMUTATION = "permutation"
    """Labels, or residuals, dealt out anew."""
    DELTA = "delta method"
    """The standard error of a function of means, by its slope."""
    INVERSION = "test inversion"
    """All true values that a test of what was found does not reject, as by a noncentral distribution."""
    WOODRUFF = "Woodruff"
    """Quantiles at the ends of an interval of the share below."""
    NONE = "none"
    """No interval; the detail says why."""


_KINDS = frozenset(IntervalKind)
SEPARATOR = ": "
"""Separator of kind and detail in one text."""
NOT_MEASURABLE = "not measurable"
"""Beginning of the detail of an estimate that could not be taken; a reason may follow."""


def name_method(kind: IntervalKind, detail: str) -> str:
    """Name a method with its detail in one text, as arrays of estimates hold it.

    Examples
    --------
    >>> name_method(IntervalKind.WILSON, "over forms"), name_method(IntervalKind.NONE, "fewer than two clusters")
    ('Wilson: over forms', 'none: fewer than two clusters')
    """
    return f"{kind}{SEPARATOR}{detail}"


def name_unmeasured(reason: str = "") -> str:
    """Name the method of what could not be measured, in one text.

    Examples
    --------
    >>> name_unmeasured("no valid answer")
    'none: not measurable: no valid answer'
    """
    return name_method(IntervalKind.NONE, f"{NOT_MEASURABLE}: {reason}" if reason else NOT_MEASURABLE)


@cache
def split_method(text: str) -> tuple[IntervalKind, str]:
    """Split the text of a method into its kind and its detail.

    Raises
    ------
    UnknownNameError
        No such kind.

    Examples
    --------
    >>> split_method("t: over cluster means")
    (<IntervalKind.T: 't'>, 'over cluster means')
    """
    kind, _, detail = text.partition(SEPARATOR)
    if kind not in _KINDS:
        raise UnknownNameError("kind of interval", kind, [kind.value for kind in IntervalKind])
    return IntervalKind(kind), detail


def with_details(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the texts of their column `method` split: into kinds, and a column `detail`."""
    pairs = [None if text is None else split_method(text) for text in rows["method"]]
    kinds, details = ([pair and str(pair[at]) for pair in pairs] for at in (0, 1))
    return rows.with_columns(pl.Series("method", kinds, pl.String), pl.Series("detail", details, pl.String))


def describe_method(kind: str | None, detail: str | None) -> str:
    """Say how an interval was made, or why there is none; empty where nobody knows.

    Examples
    --------
    >>> describe_method("Wilson", "over forms"), describe_method("none", "one unit only")
    ('Wilson (over forms)', 'no interval: one unit only')
    >>> describe_method("none", "not measurable: no valid answer")
    'not measurable: no valid answer'
    """
    if kind == IntervalKind.NONE:
        measured = detail and not detail.startswith(NOT_MEASURABLE)
        return f"no interval: {detail}" if measured else detail or "no interval"
    return f"{kind} ({detail})" if kind and detail else kind or ""


FEW_CLUSTERS = 30
"""Clusters from which the bootstrap is right for one group's own mean or share."""
ONE_CLUSTER_ONLY = name_method(IntervalKind.NONE, "fewer than two clusters")
T_OVER_MEANS = name_method(IntervalKind.T, "over cluster means")
WELCH_OVER_MEANS = name_method(IntervalKind.WELCH, "over cluster means")
STUDENTISED_BOOTSTRAP = name_method(IntervalKind.BOOTSTRAP, "studentised, over clusters")
ENOUGH_CLUSTERS = 100
"""Clusters (per group) from which the bootstrap is right for differences of two groups, also of rare answers."""

MANY_CLUSTERS = 5_000
"""Clusters from which t is taken again: the bootstrap says the same, and its resamples no longer fit into memory."""


def method_for(clusters_per_group: int, *, paired: bool, level: bool = False) -> str:
    """Say how an interval and its p-value are made: the one place that decides it.

    Parameters
    ----------
    clusters_per_group:
        Clusters that were observed, of the smaller group where there are two.
    paired:
        Whether each cluster is compared with itself (one sample of shifts), or one group of clusters with another.
    level:
        Whether nothing is compared: the mean or share of one group.

    Notes
    -----
    The clusters are what was sampled, so their number decides, not that of the answers. Few clusters make too few
    different resamples to know the tails; t adds the missing width by its degrees of freedom (Welch's for two groups,
    which may then differ in size and spread). Many let the studentised bootstrap follow the skewness of the cluster
    means. When they are enough depends on the question: a share near 0 or 1 is skewed, and t too short on one side,
    so that the bootstrap is better from `FEW_CLUSTERS`. In a difference the skewness of both sides cancels, t holds,
    and the bootstrap of rare answers finds 8% where 5% is right until `ENOUGH_CLUSTERS`. Of shifts of one and the same
    cluster t is as good with any number of them, and its p-value has no smallest step: with 2,000 resamples none lies
    below .001, and a family of 850 tests can find nothing. From `MANY_CLUSTERS` on all methods agree.
    docs/explanation/inference-evidence.md has the numbers, also of the methods that are not chosen.
    """
    if clusters_per_group < 2:
        return ONE_CLUSTER_ONLY
    if paired and not level:
        return T_OVER_MEANS
    if (FEW_CLUSTERS if level else ENOUGH_CLUSTERS) <= clusters_per_group < MANY_CLUSTERS:
        return STUDENTISED_BOOTSTRAP
    return T_OVER_MEANS if level else WELCH_OVER_MEANS


Array = npt.NDArray[np.float64]

WIDENED_T = name_method(
    IntervalKind.T, "over cluster means, most of them equal: widened by what clusters that were not seen could do"
)
ALIKE_SHIFTS = name_method(
    IntervalKind.EXACT,
    "no spread, as all clusters shift alike: what clusters that were not seen could do, as in a sign test",
)
EQUAL_CLUSTERS = name_method(IntervalKind.EXACT, "Clopper-Pearson over clusters, all of them equal")
FLAT_CLUSTERS = name_method(IntervalKind.NONE, "the clusters that were seen give no spread")
"""Method of the interval of a mean or share to which all clusters give the same value."""
EQUAL_WITHIN = 1e-9
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
    rounding = EQUAL_WITHIN * np.fmax(np.abs(median), 1.0)
    equal = (np.abs(means - median) <= rounding) & seen
    zero = np.where(np.abs(median) <= rounding, 0.0, median)
    return np.where((groups > 1) & (2 * equal.sum(axis=0) > groups), zero, np.nan)


def widen_interval(
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
    >>> low, high, p = widen_interval(m, np.zeros(3), np.array([20, 20, 6]), m, 9.0, 0.95)
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


def equal_interval(
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
    >>> low, high = equal_interval(np.array([1.0, 0.5]), np.array([10, 10]), (0.0, 1.0), 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.692, 0.346], [1.0, 0.654])
    """
    share = -np.expm1(np.log((1 - level) / 2) / clusters)
    return value - share * (value - limits[0]), value + share * (limits[1] - value)
