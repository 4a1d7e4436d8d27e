"""Bounds of distances between two distributions of votes of which some are missing.

Both distances are sums over categories of parts that are zero where the two shares agree, never negative, and grow as
these move apart. So each part is smallest where its shares come as close as the missing votes allow, and largest where
they are farthest apart, and the sums hold the distance wherever the votes had gone. No votes bring all categories to
their ends at once, so that bounds are wider than need be, never narrower.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.uncertainty import Bounds


@dataclass(frozen=True, slots=True)
class ShareRanges:
    """Smallest and largest share that each category could have, shape (..., categories); NaN where nobody votes."""

    low: Array
    high: Array


def share_ranges(
    counts: Array,
    missing: npt.ArrayLike,
    possible: npt.ArrayLike = 0.0,
    prior: ShareRanges | None = None,
    amount: float = 1.0,
) -> ShareRanges:
    """Shares of categories, wherever the missing votes had gone.

    Parameters
    ----------
    counts:
        Votes that there are, shape (..., categories).
    missing:
        Votes for nobody knows what, which may not count at all, shape (...,).
    possible:
        Votes for known categories of which nobody knows whether they count, of the shape of `counts`.
    prior, amount:
        Shares of so many votes that are added.

    Equation
    --------
    low_k = (n_k + s a_k) / (n + sum_{h != k} v_h + m + s), high_k = (n_k + v_k + m + s b_k) / (n + v_k + m + s), n the
    counts, v those possible, m the missing, s the amount, a and b the ends of the prior's shares.

    Examples
    --------
    >>> ranges = share_ranges(np.array([6.0, 2.0]), 2.0)
    >>> ranges.low.tolist(), ranges.high.tolist()
    ([0.6, 0.2], [0.8, 0.4])
    """
    n, v = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(possible, dtype=np.float64))
    lost = np.asarray(missing, dtype=np.float64)[..., None]
    added = 0.0 if prior is None else amount
    prior_low, prior_high = (0.0, 0.0) if prior is None else (amount * prior.low, amount * prior.high)
    total = n.sum(axis=-1, keepdims=True) + lost + added
    with np.errstate(invalid="ignore", divide="ignore"):
        low = (n + prior_low) / (total + v.sum(axis=-1, keepdims=True) - v)
        return ShareRanges(low, (n + v + lost + prior_high) / (total + v))


def kl_bounds(value: Array, base: ShareRanges, condition: ShareRanges) -> Bounds:
    """Bounds of KL(P || Q) from the ranges of P and Q, shapes (..., categories); `value`, what was measured.

    Equation
    --------
    KL = sum_k P_k ln(P_k / Q_k) + Q_k - P_k, whose parts are convex: their largest values are at corners.

    Examples
    --------
    >>> shares = [share_ranges(np.array(votes), 2.0) for votes in ([50.0, 50.0], [90.0, 10.0])]
    >>> bounds = kl_bounds(np.array(0.5108), *shares)
    >>> bounds.low.round(2).item(), bounds.high.round(2).item()
    (0.42, 0.54)
    """
    return _bounds(value, scipy.special.kl_div, base, condition)


def js_bounds(value: Array, first: ShareRanges, second: ShareRanges) -> Bounds:
    """Bounds of JS(P, Q), at most ln 2, from the ranges of P and Q, shapes (..., categories).

    Equation
    --------
    JS = sum_k (P_k ln(P_k / M_k) + Q_k ln(Q_k / M_k)) / 2, M = (P + Q) / 2, whose parts are convex.
    """
    bounds = _bounds(value, _js_part, first, second)
    return Bounds(bounds.value, bounds.low, np.fmin(bounds.high, np.log(2)), bounds.missing, bounds.se)


def _js_part(p: Array, q: Array) -> Array:
    middle = (p + q) / 2
    return np.asarray(scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)) / 2


def _bounds(value: Array, term: Callable[[Array, Array], Array], first: ShareRanges, second: ShareRanges) -> Bounds:
    """Sums of the smallest and the largest parts; they hold what was measured but for rounding."""
    nearest = np.clip(second.low, first.low, first.high)  # of P, to the range of Q
    low = term(nearest, np.clip(nearest, second.low, second.high)).sum(axis=-1)
    ends = product((first.low, first.high), (second.low, second.high))
    high = np.max([term(p, q) for p, q in ends], axis=0).sum(axis=-1)
    unknown = np.full(low.shape, np.nan)
    return Bounds(value, np.minimum(low, value), np.maximum(high, value), unknown, unknown)
