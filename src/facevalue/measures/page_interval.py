"""Intervals at the level at which a page judges each row: a verdict can be read off them.

A 95% interval speaks of one row as if it were alone. A page tests many, so that a row may lie clear of zero and yet be
no finding. The page's interval is wider by as much as its correction asks for: it leaves out what the test is against
(zero) exactly where a difference is found.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.adjustment import adjust, thresholds
from facevalue.measures.cluster_bootstrap import Array

_LEAST = 1e-300  # p-values that are smaller count as this one


def row_levels(
    p: Array,
    q: Array,
    is_finding: npt.NDArray[np.bool_],
    family: npt.NDArray[np.int64],
    methods: Sequence[str],
    alpha: Array,
) -> Array:
    """Level of each test once it is corrected for all others: p lies below it exactly where a difference is found.

    Parameters
    ----------
    p, q:
        P-values, and adjusted within their families.
    is_finding:
        Which are findings.
    family, methods:
        Family of each test, numbered from 0, -1 for none; and the method of each family.
    alpha:
        Level of each test's family (`page_error`).

    Equation
    --------
    `adjustment.thresholds` of the family. Where q is larger than the method's own (max-T beside it), with alpha times
    the smallest of their ratios; where another test of the family decides (max-T) or the noise floor does, the level
    nearest to it that goes with the finding: alpha p / q where there is one, p where there is none.

    Examples
    --------
    >>> p = np.array([0.001, 0.02, 0.7])
    >>> q = np.array([0.003, 0.03, 0.7])
    >>> row_levels(p, q, q < 0.05, np.zeros(3, dtype=int), ["bh"], np.full(3, 0.05)).round(4).tolist()
    [0.0333, 0.0333, 0.05]
    """
    out = np.full(p.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(p) & np.isfinite(q) & (family >= 0))
    order = tested[np.argsort(family[tested], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(family[order])) + 1):
        if not rows.size:
            continue
        method = methods[family[rows[0]]]
        adjusted = adjust(p[rows], method)
        larger = (q[rows] > adjusted) & (q[rows] < 1)
        share = np.min(adjusted[larger] / q[rows][larger], initial=1.0)
        for level in np.unique(alpha[rows]):
            at = rows[alpha[rows] == level]
            out[at] = thresholds(p[rows], method, level * share)[alpha[rows] == level]
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.where(is_finding & ~(p < out), np.minimum(alpha * p / q, 1.0), out)
    return np.where(~is_finding & (p < out), p, out)


def page_interval(
    value: Array,
    interval: tuple[Array, Array],
    p: Array,
    df: Array,
    levels: tuple[Array, Array],
    limits: tuple[Array, Array],
    null: Array,
) -> tuple[Array, Array]:
    """Interval of each row at the level of its test.

    Parameters
    ----------
    value, interval, p:
        Of each row.
    df:
        Degrees of freedom of its test; NaN for a normal one.
    levels:
        Of errors: that of the row's interval (.05), and that of the page's test (`row_levels`).
    limits:
        Smallest and largest possible value.
    null:
        What is tested against.

    Returns
    -------
    low, high; NaN where there is no interval, or no test.

    Equation
    --------
    With c(a) = t(1 - a/2; df), the interval's side towards the null is as long as a line through what is known of it: 0
    at c = 0, its length at the interval's own level, and |value - null| at c(p), where it just touches the null; beyond
    the last point in proportion to c. The other side is longer in the same proportion as the first. For t this is t's
    interval at the page's level; for any other test it touches the null at p, so that it cannot contradict it.

    Examples
    --------
    >>> one = [np.array([x]) for x in (0.3, 0.1, 0.5, 0.004, np.nan, 0.05, 0.001, -1.0, 1.0, 0.0)]
    >>> low, high = page_interval(one[0], (one[1], one[2]), one[3], one[4], (one[5], one[6]), (one[7], one[8]), one[9])
    >>> low.round(3).item(), high.round(3).item()
    (-0.043, 0.643)
    """

    def critical(level: Array) -> Array:
        tail = np.maximum(level, _LEAST) / 2
        return np.where(
            np.isfinite(df) & (df > 0), -scipy.special.stdtrit(np.maximum(df, 1), tail), -scipy.special.ndtri(tail)
        )

    low, high = interval
    above = value >= null
    near, far = np.where(above, value - low, high - value), np.where(above, high - value, value - low)
    row, test, page = critical(levels[0]), critical(p), critical(levels[1])
    distance = np.abs(value - null)
    with np.errstate(invalid="ignore", divide="ignore"):
        agree = (test > row) == (distance > near)
        first_c, last_c = np.minimum(row, test), np.maximum(row, test)
        first, last = np.minimum(near, distance), np.maximum(near, distance)
        middle = first + (last - first) * np.where(last_c > first_c, (page - first_c) / (last_c - first_c), 0.0)
        line = np.where(page > last_c, last * page / last_c, np.where(page > first_c, middle, first * page / first_c))
        reach = np.where(agree, line, distance * page / test)
        wider = np.where(near > 0, reach / near, page / row)
        ends = np.where(above, -reach, -far * wider), np.where(above, far * wider, reach)
    measurable = np.isfinite(low) & np.isfinite(high) & np.isfinite(reach)
    return (
        np.where(measurable, np.maximum(value + ends[0], limits[0]), np.nan),
        np.where(measurable, np.minimum(value + ends[1], limits[1]), np.nan),
    )
