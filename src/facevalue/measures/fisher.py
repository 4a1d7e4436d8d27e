"""Fisher's exact test of many 2x2 tables at once."""

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import Array, only_values

Counts = npt.NDArray[np.int64]
_BLOCK = 2**21  # probabilities held at once: bounds the work space at about 100 MB
_REACH = 40.0  # standard deviations beyond which a table's probability is below 1e-300
_SLACK = 1e-7  # relative: tables as probable as the observed one count as such despite rounding


def fisher_exact(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, d: npt.ArrayLike) -> Array:
    """Two-sided p-values of the tables [[a, b], [c, d]].

    `a`, `b`, `c`, `d`: counts, arrays of one shape, at least zero. Expected counts (of exact probabilities) are rounded
    to integers: the test is one of counts. NaN gives NaN.
    Returns the shape of the input. 1 where a margin is empty: such a table cannot speak against independence.

    Equation
    --------
    p = Σ P(x) over the tables x with the same margins and P(x) <= P(observed), P hypergeometric (Upton 1992, "Fisher's
    exact test", J. R. Statist. Soc. A 155, 395-402: the test of VIGNETTE, section 6).

    Raises
    ------
    ValueError
        For a count below zero.

    Notes
    -----
    Equal tables are tested once, and the sums run over all the others together. The test takes the answers as
    independent. Answers about one picture pair are not, so that its p-values are too small where pairs answered
    several questions or seeds.

    Examples
    --------
    >>> fisher_exact([8, 1], [2, 5], [1, 0], [5, 0]).round(4).tolist()
    [0.035, 1.0]
    """
    cells = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c, d)))
    shape = cells[0].shape
    tables = np.stack([np.rint(x).ravel() for x in cells], axis=1)
    out = np.full(tables.shape[0], np.nan)
    finite = np.isfinite(tables).all(axis=1)
    if (tables[finite] < 0).any():
        raise ValueError("Counts of a 2x2 table are not below zero.")
    if finite.any() and not only_values():
        distinct, place = np.unique(tables[finite].astype(np.int64), axis=0, return_inverse=True)
        out[finite] = _distinct(distinct)[place.ravel()]
    return out.reshape(shape)


def _distinct(tables: Counts) -> Array:
    a, b, c, d = tables.T
    draws, chosen, total = a + b, a + c, a + b + c + d
    first = np.maximum(0, chosen - (c + d))
    last = np.minimum(draws, chosen)
    safe = np.maximum(total, 1).astype(np.float64)
    centre = draws * (chosen / safe)
    spread = np.sqrt(centre * (1 - draws / safe) * (1 - chosen / safe) * (safe / np.maximum(safe - 1, 1)))
    low = np.maximum(first, np.floor(centre - _REACH * spread - 2).astype(np.int64))
    high = np.minimum(last, np.ceil(centre + _REACH * spread + 2).astype(np.int64))
    low, high = np.minimum(low, last), np.maximum(high, first)
    factorial = scipy.special.gammaln(np.arange(int(total.max()) + 1, dtype=np.float64) + 1)
    fixed = factorial[draws] + factorial[total - draws] + factorial[chosen] + factorial[total - chosen]
    fixed -= factorial[total]
    observed = fixed - factorial[a] - factorial[b] - factorial[c] - factorial[d]
    size = high - low + 1
    out = np.empty(a.size)
    start = 0
    ends = np.cumsum(size)
    while start < a.size:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - size[start] + _BLOCK, side="right")))
        block = slice(start, stop)
        which = np.repeat(np.arange(start, stop), size[block])
        offset = ends[block] - size[block] - (ends[start] - size[start])
        x = np.arange(which.size) - offset[which - start] + low[which]
        log = fixed[which] - factorial[x] - factorial[draws[which] - x]
        log -= factorial[chosen[which] - x] + factorial[(d - a)[which] + x]
        as_rare = log <= observed[which] + _SLACK
        p = np.where(as_rare, np.exp(log), 0.0)
        out[block] = np.bincount(which - start, weights=p, minlength=stop - start)
        start = stop
    outside = (a < low) | (a > high)
    out[outside] += np.exp(observed[outside])
    return np.minimum(out, 1.0)
