"""Worst case of each test: how surely a difference is there, whatever the missing answers would have been.

Bounds say between which values the estimate would lie (`missing_data_bounds`). Where answers were withheld at one pole
alone, the truth lies at an end of them, and that end is computed from a sample like any other number: it lies on either
side of the truth. So a finding stands only where the nearer end differs from zero by more than *its* sampling error
(Imbens and Manski 2004, "Confidence intervals for partially identified parameters"; Stoye 2009, "More on confidence
intervals for partially identified parameters"), among all tests of the page as well.
"""

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.family_tests import FamilyTests
from facevalue.measures.selection import to_array

_SAME = 1e-9  # relative: bounds as close to the value are of complete answers


def worst_p(
    value: npt.ArrayLike,
    p: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    null: npt.ArrayLike = np.nan,
) -> Array:
    """P-value of each difference had all missing answers gone against it.

    Parameters
    ----------
    value, p, se, df:
        Estimates, their own p-values, standard errors and degrees of freedom; NaN where unknown (normal, without `df`).
    bounds:
        Smallest and largest value that missing answers could have led to, and the standard error of these; NaN where
        unknown. Without bounds p stays as it is.
    null:
        What an unsigned measure shows without any difference; NaN for signed ones, whose zero is 0.

    Equation
    --------
    e is the end of the bounds on the side of zero; s = |value| / t(p), so that the worst case rests on the very test of
    the estimate where nothing is missing; s_e² = s² + max(0, se_e² - se²). p' = P(|T| >= e / s_e), never below p, and 1
    where e lies on the other side of zero. An unsigned measure counts from `null`, one-sided, and its upper end cannot
    help it.

    Notes
    -----
    Where answers are withheld so that the worst case is the truth, and the truth is zero, e / s_e is a t statistic
    under its null, so that p' is a p-value: uniform, or larger.

    Examples
    --------
    >>> worst_p([0.2, 0.2, 0.2], [0.001] * 3, [0.05] * 3, [40] * 3,
    ...         ([0.2, 0.1, -0.1], [0.2, 0.3, 0.4], [0.05] * 3)).round(3).tolist()
    [0.001, 0.083, 1.0]
    """
    columns = (value, p, se, df, *bounds, null)
    values, tested, errors, freedom, low, high, ends, zeros = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in columns)
    )
    unsigned = np.isfinite(zeros)
    size = values - np.where(unsigned, zeros, 0.0)
    side = np.where(unsigned | (size > 0), 1.0, -1.0)
    end = np.where(side > 0, low, -high) - np.where(unsigned, zeros, 0.0)
    freedom = np.where(freedom > 0, freedom, np.inf)
    tails = np.where(unsigned, 1.0, 2.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        p_error = np.abs(size) / -scipy.special.stdtrit(freedom, np.clip(tested / tails, 0.0, 0.5))
        more = np.nan_to_num(ends) ** 2 - np.nan_to_num(errors) ** 2
        spread = np.sqrt(p_error**2 + np.maximum(more, 0.0))
        worst = np.where(end > 0, np.minimum(tails * scipy.special.stdtr(freedom, -end / spread), 1.0), 1.0)
    complete = high - low <= _SAME * np.fmax(np.abs(values), 1.0)
    bounded = np.isfinite(end) & ~complete & np.isfinite(tested)
    return np.where(bounded, np.fmax(np.where(np.isfinite(worst), worst, 1.0), tested), tested)


def worst_tests(estimates: pl.DataFrame, df: Array, unsigned: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The table with p and q as they would be had all missing answers gone against each difference.

    `df`: degrees of freedom of each row. `unsigned`: which rows are of measures without a direction; without a floor
    they stay as they are.

    Equation
    --------
    q is at least the one that there is, and Benjamini and Hochberg's over p' of the same family, with t(p) of the p
    that corrections start from (`family_tests.FamilyTests`).
    """
    x = {name: to_array(estimates[name]) for name in ("value", "se", *_BOUNDS, "floor", "floor_high")}
    null = np.where(unsigned, x["floor"], np.nan)
    bounds = (np.where(unsigned & ~np.isfinite(null), np.nan, x["bound_low"]), x["bound_high"], x["bound_se"])
    tests = FamilyTests.of(estimates)
    p = worst_p(x["value"], tests.p, x["se"], df, bounds, null)
    p = np.where(unsigned & (bounds[0] <= x["floor_high"]) & tests.tested, 1.0, p)
    q = tests.q_of(p)
    return estimates.with_columns(pl.Series("p", p).fill_nan(None), pl.Series("q", q).fill_nan(None))


_BOUNDS = ("bound_low", "bound_high", "bound_se")
