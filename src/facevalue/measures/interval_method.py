"""Methods of intervals: the closed list of their kinds, and the one place that chooses between them."""

from enum import StrEnum
from functools import cache

import polars as pl

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
"""What stands between kind and detail in one text."""
NOT_MEASURABLE = "not measurable"
"""How the detail of an estimate begins that could not be taken; a reason may follow."""


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


FEW = 30
"""Clusters from which the bootstrap is right for one group's own mean or share."""
NONE = name_method(IntervalKind.NONE, "fewer than two clusters")
T = name_method(IntervalKind.T, "over cluster means")
WELCH = name_method(IntervalKind.WELCH, "over cluster means")
BOOTSTRAP = name_method(IntervalKind.BOOTSTRAP, "studentised, over clusters")
ENOUGH = 100
"""Clusters (per group) from which the bootstrap is right for differences of two groups, also of rare answers."""


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
    so that the bootstrap is better from `FEW`. In a difference the skewness of both sides cancels, t holds, and the
    bootstrap of rare answers finds 8% where 5% is right until `ENOUGH`. Of shifts of one and the same cluster t is as
    good with any number of them, and its p-value has no smallest step: with 2,000 resamples none lies below .001, and a
    family of 850 tests can find nothing. docs/explanation/inference-evidence.md has the numbers, also of the methods
    that are not chosen.
    """
    if clusters_per_group < 2:
        return NONE
    if paired and not level:
        return T
    if clusters_per_group >= (FEW if level else ENOUGH):
        return BOOTSTRAP
    return T if level else WELCH
