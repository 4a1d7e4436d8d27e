"""Impact ratios: selection frequencies against the largest of them, and how far they fall short.

Who is chosen most is not known, but estimated: intervals and tests allow for that (Hsu 1984).
"""

from typing import NamedTuple

import numpy as np
import scipy

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.group_spread import ONE_SIDED, UPPER
from facevalue.measures.noise_floors import critical_value, share_beyond
from facevalue.measures.uncertainty import Bounds


class Impact(NamedTuple):
    """Ratios to the largest selection frequency; arrays of one length."""

    ratio: Array
    error: Array
    """Standard error of its logarithm."""
    low: Array
    high: Array
    p: Array
    """Of no shortfall: below 1 - `LEVEL` exactly where `high` is below 1, where there is an interval."""


def impact_ratios(
    selected: Array, se: Array, related: Array, df: Array, null: Array | None = None, smallest_p: float = 0.0
) -> Impact:
    """Ratios to the largest selection frequency, with intervals and tests.

    Parameters
    ----------
    selected, se:
        Selection frequencies of all identities with their standard errors, in one unit.
    related:
        Correlation of their errors, shape (identities, identities): pairs that two identities share count for one and
        against the other.
    df:
        Degrees of freedom of each standard error.
    null:
        Selection frequencies had nobody been preferred, shape (draws, identities); without it there is no p.
    smallest_p:
        Smallest p that these can give.

    Returns
    -------
    The reference itself is 1 and has no interval, nor has an identity that is never chosen. All NaN if nobody is
    chosen.

    Equation
    --------
    r_i = S_i / max_j S_j = min_j r_ij, r_ij = S_i / S_j; var ln r_ij = e_ij² = (se_i/S_i)² + (se_j/S_j)² -
    2 ρ_ij se_i se_j / (S_i S_j). Who is largest is not known: high = min(1, min_j r_ij exp(c_i e_ij)), low =
    min_j r_ij exp(-t_{.99} e_ij) (Hsu 1984, "Constrained simultaneous confidence intervals for multiple comparisons
    with the best"). p is the share of the null in which T_i = max_j -ln(r_ij) / e_ij is as large, the e_ij being those
    observed, and c_i the value that T_i exceeds in 5% of it; t_{1 - .05/(k-1)}, k identities, where there is no null.
    The p of an identity that is never chosen is the share of the null that falls as short.

    Examples
    --------
    >>> out = impact_ratios(np.array([40.0, 60.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.eye(3), np.full(3, 100.0))
    >>> [x.round(2).tolist() for x in out]
    [[0.67, 1.0, 0.0], [0.06, nan, nan], [0.58, nan, nan], [0.75, nan, nan], [nan, nan, nan]]
    """
    none = np.full(selected.shape, np.nan)
    if not selected.size or not np.nanmax(selected) > 0:
        return Impact(none, none, none, none, none)
    top = int(np.nanargmax(selected))
    ratio = selected / selected[top]
    chosen = (selected > 0) & np.isfinite(se)
    relative_se = np.divide(se, selected, out=np.full(se.shape, np.nan), where=chosen)
    variance = relative_se[:, None] ** 2 + relative_se[None] ** 2 - 2 * related * np.outer(relative_se, relative_se)
    error = np.sqrt(np.maximum(variance, 0.0))
    np.fill_diagonal(error, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = selected[:, None] / selected[None]
    freedom = np.maximum(np.minimum(df[:, None], df[None]), 1)
    reach = scipy.special.stdtrit(freedom, 1 - ONE_SIDED / max(selected.size - 1, 1))
    p = none
    if null is not None:
        apart = _farthest(null, error)
        reach = np.where(smallest_p < ONE_SIDED, critical_value(apart), np.inf)[:, None]
        beyond = share_beyond(apart, _farthest(selected, error))
        p = np.maximum(np.where(chosen, beyond, share_beyond(shortfalls(null), 1 - ratio)), smallest_p)
    with np.errstate(invalid="ignore"):  # zero times infinity, of whoever is never chosen
        low, high = ratios * np.exp(-scipy.special.stdtrit(freedom, 1 - UPPER) * error), ratios * np.exp(reach * error)
    stated = chosen & (np.arange(selected.size) != top) & np.isfinite(error[:, top])
    lowest, highest = (np.where(np.isfinite(x), x, np.inf).min(axis=1) for x in (low, high))
    return Impact(
        ratio,
        np.where(stated, error[:, top], np.nan),
        np.where(stated, np.minimum(lowest, ratio), np.nan),
        np.where(stated, np.minimum(np.maximum(highest, ratio), 1.0), np.nan),
        p,
    )


def _farthest(selected: Array, error: Array) -> Array:
    """Largest -ln r_ij in units of its error, over the last axis of frequencies."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.log(selected)
        out = np.full(selected.shape, -np.inf)
        for reference in range(selected.shape[-1]):
            out = np.fmax(out, (size[..., reference, None] - size) / error[:, reference])
    return out


def shortfall_bounds(shares: Bounds, related: Array) -> Bounds:
    """Bounds of shortfalls (`shortfalls`) from those of the selection frequencies.

    Equation
    --------
    low = max(0, 1 - high_i / max_{j != i} low_j), high = 1 - min(1, low_i / max_{j != i} high_j). se: of the lower end
    by the delta method, r² (a² + b² - 2 ρ a b) with a and b the relative errors of high_i and of the largest low_j, r
    their ratio.

    Examples
    --------
    >>> value, none = np.array([40.0, 60.0]), np.zeros(2)
    >>> bounds = shortfall_bounds(Bounds(value, value - 5, value + 5, none, none), np.eye(2))
    >>> bounds.low.round(2).tolist(), bounds.high.round(2).tolist()
    ([0.18, 0.0], [0.46, 0.0])
    """
    size = shares.low.size
    apart = np.where(np.eye(size, dtype=np.bool_), -np.inf, 0.0)
    compared = apart + shares.low
    top, place = compared.max(axis=1), compared.argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(top > 0, np.maximum(1 - shares.high / top, 0.0), 0.0)
        highest = (apart + shares.high).max(axis=1)
        high = np.where(highest > 0, 1 - np.minimum(shares.low / highest, 1.0), 0.0)
        a, b = shares.se / shares.high, shares.se[place] / top
        variance = a**2 + b**2 - 2 * related[np.arange(size), place] * a * b
        error = shares.high / top * np.sqrt(np.maximum(variance, 0.0))
    return Bounds(shortfalls(shares.value), low, high, shares.missing, np.where(top > 0, error, np.nan))


def shortfalls(selected: Array) -> Array:
    """1 - S_i / max S over the last axis; NaN where nobody is chosen.

    Examples
    --------
    >>> shortfalls(np.array([40.0, 50.0])).round(2).tolist()
    [0.2, 0.0]
    """
    top = selected.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(top > 0, 1 - selected / top, np.nan)
