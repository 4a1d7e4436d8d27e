"""Intervals, noise floors and tests over the unit that was sampled.

Everything works on two matrices per family of cells: `sums` and `counts`, of shape (clusters, cells). A cell's mean is
the ratio of their column totals. The cluster is the unit that was sampled (a face, a counterfactual set); treating its
answers as independent would give about 30% false findings.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.intervals import (
    ALIKE_SHIFTS,
    EQUAL_WITHIN,
    MANY_CLUSTERS,
    STUDENTISED_BOOTSTRAP,
    T_OVER_MEANS,
    WIDENED_T,
    common_shift,
    method_for,
    widen_interval,
)
from facevalue.measures.uncertainty import Estimates, Floor, no_floor, terms_of

Array = npt.NDArray[np.float64]
CellStatistic = Callable[[Array, Array], Array]
"""From totals of sums and counts, shape (..., cells), to estimates, shape (..., estimates)."""

LEVEL = 0.95
RESAMPLES = 2000
_ENUMERATED, _EXACT = 13, 50  # clusters up to which all sign changes are tried, and untied ranks are exact
_ROUNDING = 1e-10  # of the squares of a cell: a resample with less differs by rounding alone
_BLOCK = 2**21  # elements of one bootstrap matrix: bounds the work space at about 100 MB
_VALUES_ONLY: ContextVar[bool] = ContextVar("values_only", default=False)


@contextmanager
def values_only() -> Iterator[None]:
    """Take values without what takes long: resampling, noise floors and exact tests.

    Values, standard errors by linearisation, n and clusters are the very same; intervals, floors and p-values are NaN
    where they would have to be drawn or enumerated, and mean nothing. For estimates that are taken again many times,
    as when a jackknife leaves out groups.

    Examples
    --------
    >>> with values_only():
    ...     found = cluster_means(np.array([[1.0], [2.0]]), np.ones((2, 1)), seed=0)
    >>> found.value.tolist(), found.low.tolist()
    ([1.5], [nan])
    """
    token = _VALUES_ONLY.set(True)
    try:
        yield
    finally:
        _VALUES_ONLY.reset(token)


def only_values() -> bool:
    """Return whether nothing but values is wanted; see `values_only`."""
    return _VALUES_ONLY.get()


def cluster_sums(
    values: Array, cluster: npt.NDArray[np.int64], cell: npt.NDArray[np.int64], clusters: int, cells: int
) -> tuple[Array, Array]:
    """Sum values by cluster and cell.

    `values`, `cluster`, `cell`: flat arrays of one length; NaN values and negative cells are left out.
    Returns sums, counts of shape (clusters, cells).
    """
    keep = ~np.isnan(values) & (cell >= 0)
    at = cluster[keep] * cells + cell[keep]
    size = clusters * cells
    sums = np.bincount(at, weights=values[keep], minlength=size).reshape(clusters, cells)
    counts = np.bincount(at, minlength=size).reshape(clusters, cells)
    return sums.astype(np.float64), counts.astype(np.float64)


def cell_means(sums: Array, counts: Array) -> Array:
    """Mean of each cell; NaN where nothing was observed."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def standard_error(sums: Array, counts: Array) -> Array:
    """Cluster-robust standard error of each cell's mean, by linearisation.

    Equation
    --------
    se² = G/(G-1) Σ_g (s_g - m n_g)² / (Σ_g n_g)², with G the clusters observed in the cell (Cochran, Sampling
    Techniques, 1977, section 6.4). With one observation per cluster this is the usual standard error of a mean.
    """
    total_n = counts.sum(axis=0)
    mean = cell_means(sums.sum(axis=0), total_n)
    groups = (counts > 0).sum(axis=0)
    squares = ((sums - mean * counts) ** 2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(groups > 1, np.sqrt(groups / (groups - 1.0) * squares) / total_n, np.nan)


@lru_cache(maxsize=4)
def bootstrap_weights(clusters: int, resamples: int, seed: int) -> Array:
    """Number of times each cluster is drawn in each resample, shape (resamples, clusters).

    Kept between calls, so that all estimates of a run are taken on the same resamples.
    """
    draws = np.random.default_rng(seed).integers(0, clusters, size=(resamples, clusters))
    draws += np.arange(resamples)[:, None] * clusters
    out = np.bincount(draws.ravel(), minlength=resamples * clusters).reshape(resamples, clusters).astype(np.float64)
    out.setflags(write=False)
    return out


def cluster_means(
    sums: Array,
    counts: Array,
    seed: int,
    resamples: int = RESAMPLES,
    *,
    level: bool = False,
    largest: float | None = None,
) -> Estimates:
    """Mean of each cell with a cluster interval.

    The method is that of `intervals.method_for`: t with the cluster-robust standard error and G - 1 degrees of
    freedom, or a studentised cluster bootstrap (Efron and Tibshirani 1993, ch. 12.5); one cluster has no interval.
    Shifts have a p-value as well.

    `level`: whether the cells are means or shares of their own rather than paired shifts. `largest`: largest possible
    shift of a cluster, either way; where it is given, shifts of which most are equal get the interval of
    `intervals.widen_interval`.
    """
    total_s, total_n = sums.sum(axis=0), counts.sum(axis=0)
    value = cell_means(total_s, total_n)
    se = standard_error(sums, counts)
    groups = (counts > 0).sum(axis=0)
    quick = only_values()
    p = None
    if level or quick:
        spread = (np.nan if quick else scipy.special.stdtrit(np.maximum(groups - 1, 1), 0.5 + LEVEL / 2)) * se
        low, high = value - spread, value + spread
    else:
        low, high, p = t_test(value, se, groups)
    sizes, which = np.unique(groups, return_inverse=True)
    method = np.array([method_for(int(size), paired=not level, level=level) for size in sizes], dtype=object)[which]
    rounding = 1e-12 * cell_means(np.sqrt((sums**2).sum(axis=0)), total_n)  # clusters that are equal but for rounding
    if p is not None:
        p[~(se > rounding)] = np.nan
    if p is not None and largest is not None:
        common = common_shift(sums, counts)
        if (cells := np.flatnonzero(np.isfinite(common))).size:
            flat = ~(se > rounding)[cells]
            spread = np.where(flat, 0.0, se[cells])
            low[cells], high[cells], p[cells] = widen_interval(
                value[cells], spread, groups[cells], common[cells], largest, LEVEL
            )
            se, method = se.copy(), method.copy()
            se[cells] = np.nan  # of the clusters that were seen; it says nothing of the others
            method[cells] = np.where(flat, ALIKE_SHIFTS, WIDENED_T)
    many = np.flatnonzero((method == STUDENTISED_BOOTSTRAP) & (se > rounding))
    for cells in () if quick else cells_at_once(many, sums.shape[0], resamples):
        rows = observed_rows(counts[:, cells])
        weights = bootstrap_weights(rows.size, resamples, seed)
        counts_of_rows = counts[np.ix_(rows, cells)]
        residuals = sums[np.ix_(rows, cells)] - value[cells] * counts_of_rows  # or small spreads drown in rounding
        t_low, t_high = _studentised_quantiles(residuals, counts_of_rows, weights)
        finite = np.isfinite(t_low)  # else a few clusters hold all that differs, and many resamples none of them
        method[cells[~finite]] = T_OVER_MEANS
        low[cells] = np.where(finite, value[cells] - t_high * se[cells], low[cells])
        high[cells] = np.where(finite, value[cells] - t_low * se[cells], high[cells])
    n = total_n.astype(np.int64)
    return Estimates(value, low, high, n, groups.astype(np.int64), method, se, p, terms_of(sums, counts))


def cells_at_once(cells: npt.NDArray[np.int64], clusters: int, resamples: int) -> Iterator[npt.NDArray[np.int64]]:
    """Cells that are resampled together; of many clusters each alone, as it may have been observed in few of them."""
    step = 1 if clusters >= MANY_CLUSTERS else max(1, _BLOCK // max(resamples, 1))
    return (cells[start : start + step] for start in range(0, cells.size, step))


def observed_rows(counts: Array) -> npt.NDArray[np.int64]:
    """Clusters that are resampled: all or, of many, those that the cells were observed in."""
    return np.arange(len(counts)) if len(counts) < MANY_CLUSTERS else np.flatnonzero((counts > 0).any(axis=1))


def t_test(value: Array, se: Array, groups: npt.NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Interval and two-sided p-value by t with `groups` - 1 degrees of freedom: low, high, p."""
    df = np.maximum(groups - 1, 1)
    spread = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        return value - spread, value + spread, np.asarray(2 * scipy.special.stdtr(df, -np.abs(value / se)))


def _studentised_quantiles(sums: Array, counts: Array, weights: Array) -> tuple[Array, Array]:
    """Quantiles of the bootstrapped t of means that are zero."""
    boot_n = weights @ counts
    boot = cell_means(weights @ sums, boot_n)
    spread = weights @ sums**2
    squares = spread - 2 * boot * (weights @ (sums * counts)) + boot**2 * (weights @ counts**2)
    clusters_drawn = weights @ (counts > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(np.maximum(squares, 0) * clusters_drawn / (clusters_drawn - 1)) / boot_n
        t = np.where(squares > _ROUNDING * spread.max(axis=0), boot / se, np.nan)
    tail = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    quantiles = np.full((2, t.shape[1]), np.nan)
    complete = np.isfinite(t).all(axis=0)
    quantiles[:, complete] = np.quantile(t[:, complete], tail, axis=0)
    some = ~complete & (np.isfinite(t).mean(axis=0) > LEVEL)
    if some.any():  # a resample without spread has no t; much slower, so only where it is needed
        quantiles[:, some] = np.nanquantile(t[:, some], tail, axis=0)
    return quantiles[0], quantiles[1]


def bca_interval(
    sums: Array, counts: Array, statistic: CellStatistic, seed: int, resamples: int = RESAMPLES
) -> tuple[Array, Array, Array, Array]:
    """Bias-corrected and accelerated cluster bootstrap of any statistic of the cell totals.

    `statistic`: vectorised over leading axes.
    Returns value, low, high, standard error, each of shape (estimates,).

    Notes
    -----
    Efron (1987), "Better bootstrap confidence intervals", with the acceleration from the delete-one-cluster jackknife.
    """
    totals = sums.sum(axis=0), counts.sum(axis=0)
    value = statistic(*totals)
    if only_values():
        return _bare(value)
    boot = statistic(*_resample_totals(sums, counts, resamples, seed))
    jack = statistic(totals[0] - sums, totals[1] - counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = boot - value
        is_tied = np.abs(apart) <= EQUAL_WITHIN * (1 + np.abs(value))
        below = np.mean((apart < 0) & ~is_tied, axis=0) + 0.5 * np.mean(is_tied, axis=0)
        z0 = scipy.special.ndtri(np.clip(below, 1 / (resamples + 1), resamples / (resamples + 1)))
        finite = np.isfinite(jack)
        pull = np.where(finite, jack, 0).sum(axis=0) / finite.sum(axis=0) - jack
        accelerate = np.nansum(pull**3, axis=0) / (6 * np.nansum(pull**2, axis=0) ** 1.5)
        accelerate = np.where(np.isfinite(accelerate), accelerate, 0.0)
        z = scipy.special.ndtri(np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]))[:, None]
        places = scipy.special.ndtr(z0 + (z0 + z) / (1 - accelerate * (z0 + z)))
    low, high, se = (np.full(value.shape, np.nan) for _ in range(3))
    for i in np.flatnonzero(np.isfinite(value)):
        resampled = boot[np.isfinite(boot[:, i]), i]
        if resampled.size > resamples / 2:
            low[i], high[i] = np.quantile(resampled, places[:, i])
            se[i] = resampled.std(ddof=1)
    return value, low, high, se


def _resample_totals(sums: Array, counts: Array, resamples: int, seed: int) -> tuple[Array, Array]:
    """Totals of resampled clusters, shape (resamples, cells); of many clusters some resamples at a time."""
    clusters = sums.shape[0]
    if clusters < MANY_CLUSTERS:
        weights = bootstrap_weights(clusters, resamples, seed)
        return weights @ sums, weights @ counts
    rng, totals = np.random.default_rng(seed), np.empty((2, resamples, sums.shape[1]))
    for at in range(resamples):
        weight = np.bincount(rng.integers(0, clusters, size=clusters), minlength=clusters)
        totals[0, at], totals[1, at] = weight @ sums, weight @ counts
    return totals[0], totals[1]


def _bare(value: Array) -> tuple[Array, Array, Array, Array]:
    none = np.full(value.shape, np.nan)
    return value, none, none, none


def jackknife_interval(sums: Array, counts: Array, statistic: CellStatistic) -> tuple[Array, Array, Array, Array]:
    """Interval of an unsigned statistic: delete-one-cluster standard error, never below zero.

    Spreads and maxima are biased upwards, in the sample and again in each resample, so that bootstrap intervals slide
    off the published value. This interval says how far that value would move with other clusters; how much of it is
    bias is said by its noise floor.

    Returns value, low, high, standard error, each of shape (estimates,).
    """
    totals = sums.sum(axis=0), counts.sum(axis=0)
    value = statistic(*totals)
    used = np.flatnonzero(counts.sum(axis=1) > 0)
    size = used.size
    if size < 2 or only_values():
        return _bare(value)
    left_out = statistic(totals[0] - sums[used], totals[1] - counts[used])
    squares = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(squares * (size - 1) / size)
    spread = scipy.special.stdtrit(size - 1, 0.5 + LEVEL / 2) * se
    return value, np.maximum(value - spread, 0.0), value + spread, se


def floor_from(null: Array, value: Array) -> Floor:
    """Summarise a null distribution of shape (resamples, estimates) against observed values."""
    if only_values():
        return no_floor(value.size)
    hits = np.nansum(null >= value - 1e-12, axis=0)
    p = np.where(np.isfinite(value), (1.0 + hits) / (1.0 + null.shape[0]), np.nan)
    return Floor(null.mean(axis=0), np.quantile(null, 0.95, axis=0), p)


def sign_flip_floor(sums: Array, counts: Array, statistic: CellStatistic, seed: int, resamples: int = 1000) -> Floor:
    """Noise floor of a statistic of paired differences.

    The effects are taken off first, or the floor would grow with what it is compared with: each cell's mean from its
    clusters' differences. What is left may change sign, all differences of a cluster together, as with no effect base
    and variant are exchangeable. Residuals are too small by sqrt(1 - 1/G), which is made up for; and as their spread is
    itself an estimate, each draw is multiplied by sqrt((G - 1) / chi²), so that for the mean of one cell this is t.
    """
    total_n = counts.sum(axis=0)
    value = statistic(sums.sum(axis=0), total_n)
    if only_values():
        return no_floor(value.size)
    groups = (counts > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        widening = np.where(groups > 1, np.sqrt(groups / (groups - 1.0)), np.nan)
    residuals = (sums - np.nan_to_num(cell_means(sums.sum(axis=0), total_n)) * counts) * np.nan_to_num(widening)
    rng, flipped = np.random.default_rng(seed), np.empty((resamples, sums.shape[1]))
    free, step = max(int(groups.max(initial=0)) - 1, 1), max(1, _BLOCK // max(len(residuals), 1))
    for start in range(0, resamples, step):
        block = flipped[start : start + step]
        signs = rng.integers(0, 2, size=(len(block), len(residuals))).astype(np.float64) * 2 - 1
        signs *= np.sqrt(free / rng.chisquare(free, size=(len(block), 1)))
        block[:] = signs @ residuals
    null = statistic(flipped, np.broadcast_to(total_n, (resamples, total_n.size)))
    return floor_from(null, value)


def wilcoxon_p(sums: Array, counts: Array) -> Array:
    """Two-sided Wilcoxon signed-rank p-value of the cluster means of each cell; means of zero are dropped (Table 12).

    Exact up to 13 clusters, ties included, by all sign changes; exact up to 50 without ties; the normal approximation
    with correction for ties beyond. NaN where no cluster mean differs from zero: there is nothing to rank.
    """
    if only_values():
        return np.full(sums.shape[1], np.nan)
    means = cell_means(sums, counts)
    used = np.isfinite(means) & (means != 0)
    n = used.sum(axis=0)
    size = np.where(used, np.abs(means), np.inf)  # what is not used ranks last, and is then left out
    ranks = np.where(used, average_ranks(size), 0.0)
    signed = np.where(used, np.sign(means), 0.0)
    observed = (signed * ranks).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Given the ranks, ties or not, the signed sum has variance sum of squared ranks.
        z = np.abs(observed) / np.sqrt((ranks**2).sum(axis=0))
    out = np.where(n > 0, 2 * scipy.special.ndtr(-z), np.nan)
    for cell in np.flatnonzero((n > 0) & (n <= _EXACT)):
        ranks_of_cell = ranks[used[:, cell], cell]
        if ranks_of_cell.size <= _ENUMERATED:
            out[cell] = np.mean(np.abs(_signs(ranks_of_cell.size) @ ranks_of_cell) >= abs(observed[cell]) - 1e-9)
        elif np.unique(ranks_of_cell).size == ranks_of_cell.size:
            positive = round(ranks_of_cell[signed[used[:, cell], cell] > 0].sum())
            below, above = np.split(rank_sum_shares(ranks_of_cell.size), [positive])
            out[cell] = min(2 * min(below.sum() + above[0], above.sum()), 1.0)
    return out


def average_ranks(values: Array) -> Array:
    """Ranks within each column, from 1; equal values have the mean of theirs.

    Examples
    --------
    >>> average_ranks(np.array([[2.0], [1.0], [2.0]])).ravel().tolist()
    [2.5, 1.0, 2.5]
    """
    ranks = np.empty_like(values)
    for place, column in enumerate(values.T):
        ranks[:, place] = pl.Series(column).rank()
    return ranks


@lru_cache(maxsize=64)
def rank_sum_shares(size: int) -> Array:
    """Share of all sign changes of the ranks 1 to `size` whose positive ranks sum to 0, 1, 2, ..."""
    shares = np.ones(1)
    for rank in range(1, size + 1):
        longer = np.pad(shares, (0, rank))
        shares = (longer + longer[::-1]) / 2  # the shares are symmetric: reversed is shifted by the rank
    return shares


@lru_cache(maxsize=16)
def _signs(size: int) -> Array:
    """All sign changes of so many values, shape (2^size, size)."""
    bits = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    return bits.astype(np.float64) * 2 - 1
