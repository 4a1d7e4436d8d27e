"""Two sources of answers beside each other: a model that sees the picture and the one that is told who is on it.

The paper of the counterfactual sets (section 5.1) correlates the two over groups.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.run_comparison import match
from facevalue.measures.selection import to_array
from facevalue.measures.uncertainty import Estimates

_FEWEST = 4
_PERFECT = 1 - 1e-12


def correlation(first: pl.DataFrame, second: pl.DataFrame, measure: str, by: Sequence[str]) -> tuple[Estimates, float]:
    """Pearson's correlation of two sources over cells, such as groups, with its p-value.

    Parameters
    ----------
    first, second:
        Tables of estimates, of one model each.
    measure:
        Which ("score").
    by:
        Labels that make a cell ("subset", "group"); cells are those that both have.

    Returns
    -------
    One estimate, arrays of shape (1,), whose n is the number of cells; and the two-sided p-value.

    Equation
    --------
    r of the values; t = r sqrt((n - 2) / (1 - r²)) with n - 2 degrees of freedom; interval by Fisher's z, tanh(artanh r
    ± 1.96 / sqrt(n - 3)). The 52 groups of the three subsets give r = .50, p = 1e-04 and r = .77, p = 4e-11 (5.1).

    Examples
    --------
    >>> told = pl.DataFrame({"measure": ["tail_share"] * 5, "group": list("abcde"), "value": [1.0, 2, 3, 4, 5]})
    >>> found, p = correlation(told, told.with_columns(pl.col("value") ** 2), "tail_share", ["group"])
    >>> found.value.round(3).tolist(), found.n.tolist(), round(p, 3)
    ([0.981], [5], 0.003)
    """
    cells = match(_of(first, measure), _of(second, measure), by, (-np.inf, np.inf)).cells
    return pearson(to_array(cells["first"]), to_array(cells["second"]))


def pearson(first: Array, second: Array) -> tuple[Estimates, float]:
    """Pearson's correlation of two arrays, and its p-value; see `correlation`.

    Raises
    ------
    DataError
        Arrays of different lengths.
    """
    if first.shape != second.shape:
        raise DataError(f"A correlation needs as many values of either source, not {first.size} and {second.size}.")
    have_both = np.isfinite(first) & np.isfinite(second)
    x, y = first[have_both], second[have_both]
    size = x.size
    flat = size and any(np.ptp(side) <= 1e-12 * np.abs(side).max() for side in (x, y))
    if size < _FEWEST or flat:
        reason = f"fewer than {_FEWEST} cells" if size < _FEWEST else "one of the two does not vary"
        return Estimates.single(np.nan, np.nan, np.nan, np.nan, size, size, name_unmeasured(reason)), float("nan")
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -_PERFECT, _PERFECT))
    reach = scipy.special.ndtri(0.5 + LEVEL / 2) / np.sqrt(size - 3)
    low, high = np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach)
    return Estimates.single(
        r, low, high, float("nan"), size, size, name_method(IntervalKind.DELTA, "Fisher's z, over cells")
    ), correlation_p(r, size)


def correlation_p(r: float, n: int) -> float:
    """Two-sided p-value of Pearson's correlation of n cells.

    Examples
    --------
    >>> f"{correlation_p(0.77, 52):.0e}"
    '3e-11'
    """
    return float(2 * scipy.special.stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r))))


def _of(table: pl.DataFrame, measure: str) -> pl.DataFrame:
    names = table["measure"].unique().drop_nulls().to_list()
    if measure not in names:
        raise UnknownNameError("measure", measure, names)
    return table.filter(pl.col("measure") == measure)
