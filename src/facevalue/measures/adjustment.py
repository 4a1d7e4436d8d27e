"""P-values adjusted for the number of tests: within one family, and within each of several."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

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
    if method == "holm":
        order = np.argsort(values, kind="stable")
        steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
        adjusted = np.empty_like(values)
        adjusted[order] = np.minimum(steps, 1.0)
    else:
        adjusted = scipy.stats.false_discovery_control(values, method="bh" if method == "bh" else "by")
    out[tested] = adjusted
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
