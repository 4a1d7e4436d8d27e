"""P-values adjusted for the number of tests: within one family, and within each of several."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import Array

METHODS = ("holm", "bh", "by")


def adjust(p: Array, method: str) -> Array:
    """P-values adjusted for the number of tests in one family.

    Parameters
    ----------
    p:
        Any shape; all tests of it are one family. NaN stays NaN and does not count as a test.
    method:
        "holm" (family-wise error; Holm 1979), "bh" (false discovery rate; Benjamini and Hochberg 1995) or "by" (the
        same under any dependence; Benjamini and Yekutieli 2001).

    Equation
    --------
    With p sorted upwards, i = 1..m: Holm max_{j<=i} (m - j + 1) p_j; BH min_{j>=i} m p_j / j; BY as BH times
    1 + 1/2 + ... + 1/m. At most 1.

    Raises
    ------
    ValueError
        For values outside [0, 1].

    Examples
    --------
    >>> adjust(np.array([0.01, np.nan, 0.04, 0.03]), "holm").tolist()
    [0.03, nan, 0.06, 0.06]
    >>> adjust(np.array([0.01, np.nan, 0.04, 0.03]), "bh").tolist()
    [0.03, nan, 0.04, 0.04]
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    p = np.asarray(p, dtype=np.float64)
    out = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    values = p[tested]
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values lie between 0 and 1.")
    if values.size == 0:
        return out
    order, rank = np.argsort(values, kind="stable"), np.arange(1, values.size + 1)
    if method == "holm":
        steps = np.maximum.accumulate(values[order] * rank[::-1])
    else:
        factor = values.size / rank * (1.0 if method == "bh" else (1 / rank).sum())
        steps = np.minimum.accumulate((values[order] * factor)[::-1])[::-1]
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    out[tested] = adjusted
    return out


def thresholds(p: Array, method: str, alpha: float) -> Array:
    """P-value below which each test is found at `alpha`, the other tests being what they are.

    So that one can be read off an interval: that at 1 less this level leaves zero out exactly where the test is found.

    `p`, `method`: as in `adjust`; NaN stays NaN.

    Equation
    --------
    Of m tests, Holm: alpha / (m - k), k of the others found at alpha / m, alpha / (m - 1), ... in their order. BH: R
    alpha / m, R how many are found with p_i set to 0 (Benjamini and Yekutieli 2005, "False discovery rate-adjusted
    multiple confidence intervals for selected parameters"); BY as BH with alpha / (1 + 1/2 + ... + 1/m).

    Examples
    --------
    >>> p = np.array([0.01, 0.04, 0.03, 0.5])
    >>> thresholds(p, "holm", 0.05).round(4).tolist(), thresholds(p, "bh", 0.05).round(4).tolist()
    ([0.0125, 0.0167, 0.0167, 0.0167], [0.0125, 0.0375, 0.025, 0.05])
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    out = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    if not (m := tested.size):
        return out
    order = tested[np.argsort(p[tested], kind="stable")]
    ranked, rank = p[order], np.arange(m)
    if method == "holm":
        before = np.minimum.accumulate(ranked * (m - rank) < alpha)  # those up to each are found
        stops = np.where(
            ranked * (m - rank + 1) < alpha, m, rank
        )  # where those after each would, each one place higher
        after = np.append(np.minimum.accumulate(stops[::-1])[::-1][1:], m)
        first = before.argmin() if not before.all() else m
        others = np.where(rank <= first, after - 1, first)
        out[order] = alpha / (m - others)
        return out
    level = alpha if method == "bh" else alpha / float((1 / (rank + 1)).sum())
    passing = np.flatnonzero(ranked * m < level * (rank + 1))
    last = int(passing[-1]) + 1 if passing.size else 0
    lifted = np.where(ranked * m < level * (rank + 2), rank + 2, 1)  # found, had one after it moved to the front
    before = np.append(1, np.maximum.accumulate(lifted)[:-1])
    out[order] = level / m * np.where(rank < last, last, before)
    return out


def within(p: Array, family: npt.NDArray[np.int64], methods: Sequence[str] = ()) -> Array:
    """P-values adjusted within each family: NaN where there is no test, or no family.

    `p` and `family`: shape (tests,); families are numbered from 0, -1 is none. `methods`: of each family; all "bh" by
    default.

    Examples
    --------
    >>> within(np.array([0.01, 0.04, 0.03, 0.5]), np.array([0, 0, 1, -1])).tolist()
    [0.02, 0.04, 0.03, nan]
    """
    out = np.full(p.shape, np.nan)
    order = np.argsort(family, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(family[order])) + 1):
        if rows.size and family[rows[0]] >= 0:
            out[rows] = adjust(p[rows], methods[family[rows[0]]] if methods else "bh")
    return out
