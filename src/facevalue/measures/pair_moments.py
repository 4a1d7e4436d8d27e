"""How selection frequencies of identities move together, since they share pairs, and what chance alone gives them."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from facevalue.measures.inference import LEVEL, Array, Floor, only_values

Codes = npt.NDArray[np.int64]
FLIPS = 1000
MOST_PAIRS = 3000
"""Pairs up to which each one is flipped; beyond, their sums are drawn from the normal with the same covariance."""
_BLOCK = 2**21  # signs held at once: bounds the work space at 16 MB


def flip_correlation(first: Codes, second: Codes, squares: Array, identities: int) -> Array:
    """Correlation of selection frequencies if every pair's choice were turned round by the toss of a coin.

    Parameters
    ----------
    first, second:
        Identities of each row; each couple of identities is there in both orders.
    squares:
        Σ (s - n/2)² over the pairs of that couple.
    identities:
        How many there are.

    Returns
    -------
    Shape (identities, identities): -Q_ij / sqrt(Q_i Q_j), Q_i = Σ_j Q_ij, 1 on the diagonal.

    Notes
    -----
    A pair adds d to one identity and -d to the other, and turned round the opposite: so the covariance is the
    Laplacian of the graph of pairs. Exact where activities are asked equally often.

    Examples
    --------
    >>> flip_correlation(np.array([0, 1]), np.array([1, 0]), np.array([2.0, 2.0]), 2).round(6).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    shared = np.zeros((identities, identities))
    np.add.at(shared, (first, second), squares)
    return _scaled(-shared, shared.sum(axis=1))


def correlation(
    first: Codes,
    second: Codes,
    moments: tuple[Array, Array, Array, Array, Array],
    identities: int,
    of_second: tuple[Array, Array] | None = None,
) -> Array:
    """Correlation of the sampling errors of selection frequencies.

    Parameters
    ----------
    first, second:
        Identities of each row; each couple of identities is there in both orders.
    moments:
        Σ n, Σ s, Σ n², Σ s n and Σ s² over the pairs of that couple, s of the first.
    identities:
        How many there are.
    of_second:
        Σ s t and Σ t n, t what chose the second; by default t = n - s.

    Equation
    --------
    Σ e_i e_j / sqrt(Σ e_i² Σ e_j²) with e_i = s - R_i n, e_j = t - R_j n over the pairs that both are in, and R the
    share that chose: the correlation of the linearised estimates.
    """
    n, s, nn, sn, ss = moments
    st, tn = (sn - ss, nn - sn) if of_second is None else of_second
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.bincount(first, s, identities) / np.bincount(first, n, identities)
    rate = np.nan_to_num(rate)
    own, other = rate[first], rate[second]
    both = np.zeros((identities, identities))
    np.add.at(both, (first, second), st - other * sn - own * tn + own * other * nn)
    return _scaled(both, np.bincount(first, ss - 2 * own * sn + own**2 * nn, identities).astype(np.float64))


def _scaled(shared: Array, total: Array) -> Array:
    scale = np.sqrt(np.maximum(total, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.nan_to_num(shared / np.outer(scale, scale))
    np.fill_diagonal(out, 1.0)
    return np.clip(out, -1.0, 1.0)


def flipped(
    first: Codes, second: Codes, gains: tuple[Array, Array], identities: int, seed: int, resamples: int = FLIPS
) -> Array:
    """Selection frequencies with every pair's choice turned round, or not, by the toss of a coin.

    Parameters
    ----------
    first, second:
        Identities of each pair.
    gains:
        What a pair adds to the frequency of either identity, in percent, above an even choice.
    identities:
        How many there are.
    seed, resamples:
        Of the tossing.

    Returns
    -------
    Shape (resamples, identities), in percent; one row of NaN where only values are taken.
    """
    if only_values():
        return np.full((1, identities), np.nan)
    rows = np.concatenate([first, second]), np.tile(np.arange(first.size), 2)
    adds = sparse.csr_array((np.concatenate(gains), rows), shape=(identities, first.size))
    coins = _coins(max(first.size, MOST_PAIRS), resamples, seed)[: first.size]
    out = np.empty((resamples, identities))
    step = max(1, _BLOCK // max(first.size, 1))
    for start in range(0, resamples, step):
        some = slice(start, start + step)
        out[some] = 50.0 + (adds @ coins[:, some].astype(np.float64)).T
    return out


@lru_cache(maxsize=1)
def _coins(pairs: int, resamples: int, seed: int) -> npt.NDArray[np.int8]:
    """Tosses, 1 or -1, of so many pairs: drawn once for all sets of pairs, as each takes the first ones (3 MB)."""
    tosses = np.random.default_rng(seed).integers(0, 2, size=(pairs, resamples), dtype=np.int8)
    return tosses * np.int8(2) - np.int8(1)


def drawn(chance: Array, related: Array, seed: int, resamples: int = FLIPS) -> Array:
    """The same for many pairs, as normal draws with the standard deviations and correlations of the flips."""
    if only_values():
        return np.full((1, chance.size), np.nan)
    values, vectors = np.linalg.eigh(related * np.outer(chance, chance))
    root = vectors * np.sqrt(np.maximum(values, 0))
    normal = np.random.default_rng(seed).standard_normal((resamples, chance.size))
    return np.clip(50.0 + normal @ root.T, 0.0, 100.0)


def spread(selected: Array) -> Array:
    """Standard deviation (ddof 1) over the last axis: how far identities lie apart; NaN of fewer than two."""
    if selected.shape[-1] < 2:
        return np.full(selected.shape[:-1], np.nan)
    return selected.std(axis=-1, ddof=1)


def spread_interval(selected: Array, se: Array, related: Array, df: float) -> tuple[float, float, float]:
    """Standard error, low and high of `spread`, by the delta method; it never is below zero.

    Equation
    --------
    se² = g' Σ g, g_i = (S_i - mean S) / ((k - 1) spread), Σ the covariance of the S_i. As spreads are biased upwards,
    this says how far the value would move with other pairs; how much of it is chance is said by its floor.
    """
    size = float(spread(selected))
    if not size > 0 or not np.isfinite(se).all():
        return np.nan, np.nan, np.nan
    slope = (selected - selected.mean()) / ((selected.size - 1) * size)
    error = float(np.sqrt(max(slope @ (related * np.outer(se, se)) @ slope, 0.0)))
    reach = float(special.stdtrit(max(df, 1.0), 0.5 + LEVEL / 2)) * error
    return error, max(size - reach, 0.0), size + reach


def null_floor(null: Array, value: npt.ArrayLike, pairs: int) -> Floor:
    """Mean and 95th percentile of a null of shape (resamples, estimates), and p of the values.

    No p is below 2^(1 - pairs): so probable it is that coins turn all pairs one way, or the other.
    """
    values = np.asarray(value, dtype=np.float64)
    if only_values():
        none = np.full(values.shape, np.nan)
        return Floor(none, none, none)
    hits = (null >= values - 1e-9).sum(axis=0)
    p = np.where(np.isfinite(values), (1.0 + hits) / (1.0 + null.shape[0]), np.nan)
    return Floor(null.mean(axis=0), np.quantile(null, 0.95, axis=0), np.maximum(p, 2.0 ** (1 - max(pairs, 1))))
