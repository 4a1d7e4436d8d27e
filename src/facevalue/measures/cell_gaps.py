"""Numbers of several cells together: sizes of gaps beside their noise floor, and correlations with what cells have."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import factorial

import numpy as np
import scipy

from facevalue.measures.cells import Codes
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, jackknife_interval, only_values
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.run_comparison import pearson_correlation
from facevalue.measures.uncertainty import Estimates, terms_of

SHUFFLES = 4_000
"""Dealings of levels among units, and of numbers among cells where there are more orders of them."""
_ALL_ORDERS = 7
"""Cells up to which all orders of their numbers are looked at."""
_BLOCK = 2**22  # elements of what is drawn at once
_PERFECT = 1 - 1e-9  # of a correlation: beyond, Fisher's z has no end
BY_UNITS = name_method(IntervalKind.JACKKNIFE, "over clusters")
_WIDEST = name_method(
    IntervalKind.DELTA, "Fisher's z, over cells or over clusters, whichever is wider; as the permutation test says"
)
TotalsStatistic = Callable[[Array, Array], Array]
"""From totals of sums and counts, shape (..., levels, cells), to one number, shape (...)."""


def cell_values(sums: Array, counts: Array) -> Array:
    """Gap, or mean, of each cell from totals of shape (..., levels, cells)."""
    means = cell_means(sums, counts)
    return means[..., 1, :] - means[..., 0, :] if means.shape[-2] > 1 else means[..., 0, :]


def leave_out_units(sums: Array, counts: Array, statistic: TotalsStatistic) -> Estimates:
    """One number with its standard error by the jackknife, and interval; `sums`, `counts`: (units, levels, cells)."""
    flat_sums, flat_counts = (of_units.reshape(len(sums), -1) for of_units in (sums, counts))

    def statistic_of_rows(sums_of: Array, counts_of: Array) -> Array:
        shape = (*sums_of.shape[:-1], *sums.shape[1:])
        return statistic(sums_of.reshape(shape), counts_of.reshape(shape))[..., None]

    value, low, high, se = jackknife_interval(flat_sums, flat_counts, statistic_of_rows)
    n, clusters = counts.max(axis=1).sum(), (counts > 0).any(axis=(1, 2)).sum()
    terms = terms_of(flat_sums, flat_counts, statistic_of_rows, estimates=1)
    return Estimates(
        value, low, high, np.array([n], dtype=np.int64), np.array([clusters]), np.array([BY_UNITS], dtype=object), se,
        terms=terms,
    )  # fmt: skip


def deal_levels(
    sums: Array, counts: Array, strata: Codes, statistic: TotalsStatistic, seed: int
) -> tuple[Array, float]:
    """Values where levels are dealt out anew, shape (shuffles, 1), and the smallest p that there can be.

    Units with both levels swap them or not, in all cells at once; those with one have their levels dealt out among
    those of their stratum. `sums`, `counts`: as of `leave_out_units`. `strata`: number of each unit's.
    """
    used = (counts > 0).any(axis=(1, 2))
    sums, counts, strata = sums[used], counts[used], strata[used]
    has_level = np.asarray((counts > 0).any(axis=2))
    single = np.flatnonzero(~(has_level[:, 0] & has_level[:, 1]))
    single = single[np.argsort(strata[single], kind="stable")]
    level, stratum = has_level[single, 1], strata[single]
    rng, null, step = np.random.default_rng(seed), [], max(_BLOCK // max(len(sums), 1), 1)
    for start in range(0, SHUFFLES, step):
        stays = rng.random((min(step, SHUFFLES - start), len(sums))) < 0.5
        stays[:, single] = level[np.argsort(stratum + rng.random((len(stays), level.size)), axis=1)] == level
        weight = stays.astype(np.float64)
        dealt = (
            np.stack([
                np.tensordot(weight, x[:, side], 1) + np.tensordot(1 - weight, x[:, 1 - side], 1) for side in (0, 1)
            ], axis=1)
            for x in (sums, counts)
        )  # fmt: skip
        null.append(statistic(*dealt))
    of_stratum = [level[stratum == number] for number in np.unique(stratum)]
    labelings = sum(float(np.log(scipy.special.comb(x.size, x.sum()))) for x in of_stratum)
    labelings += np.log(2) * max(len(sums) - single.size - (not single.size), 0)
    return np.concatenate(null)[:, None], max(1 / (1 + SHUFFLES), float(np.exp(-labelings)))


def correlate_cells(sums: Array, counts: Array, numbers: Array, seed: int) -> Estimates:
    """Correlation of the cells' gaps, or means, with their numbers, with interval and p.

    Parameters
    ----------
    sums, counts:
        Shape (units, levels, cells).
    numbers:
        Number of each cell; NaN for none.

    Equation
    --------
    Pearson's r of k cells. p: share of the orders of the numbers among the cells whose |r| is as large, all of up to 7
    cells, (1 + hits) / 4,001 of more. Interval: tanh(z ± h), z = artanh r, h the larger of 1.96 / sqrt(k - 3) (Fisher
    1921) and t_{.975} |z / s|, with s the covariance over its standard error by the jackknife over units. p is at least
    what either of these says, and the interval holds zero where p is .05 or more. Standard error: of z, as r has it
    where it is zero.

    Examples
    --------
    >>> gaps, numbers = np.array([[[0.1, 0.2, 0.2, 0.5, 0.6]], [[0.0, 0.3, 0.4, 0.3, 0.7]]]), np.arange(5.0)
    >>> r = correlate_cells(gaps, np.ones(gaps.shape), numbers, seed=0)
    >>> f"{r.value[0]:.2f} [{r.low[0]:.2f}, {r.high[0]:.2f}], p = {r.p[0]:.3f}, {r.n[0]} cells"
    '0.97 [0.63, 1.00], p = 0.024, 5 cells'
    """
    values = cell_values(sums.sum(axis=0), counts.sum(axis=0))
    has_both = np.isfinite(values) & np.isfinite(numbers)
    values, x, cells = values[has_both], numbers[has_both], (sums[..., has_both], counts[..., has_both])
    fisher, _ = pearson_correlation(values, x)
    units = np.array([(cells[1] > 0).any(axis=(1, 2)).sum()])
    if not np.isfinite(fisher.value[0]) or only_values():
        return replace(fisher, clusters=units)
    out = leave_out_units(*cells, lambda *totals: correlations(cell_values(*totals), x))
    spread = float(values.std() * x.std())
    slope = leave_out_units(*cells, lambda *totals: correlations(cell_values(*totals), x, spread))
    assert slope.se is not None
    r, z, quantile = fisher.value, float(np.arctanh(fisher.value[0])), scipy.special.ndtri(0.5 + LEVEL / 2)
    df, over_units = max(int(out.clusters[0]) - 1, 1), float(slope.se[0] * (z / r[0] if r[0] else 1))
    t = scipy.special.stdtrit(df, 0.5 + LEVEL / 2)
    reach = float(np.fmax(quantile / np.sqrt(x.size - 3), t * over_units))
    if x.size <= _ALL_ORDERS:
        orders, extra, smallest = np.array(list(permutations(x))), 0, 1 / factorial(x.size)
    else:
        orders = np.random.default_rng(seed).permuted(np.tile(x, (SHUFFLES, 1)), axis=1)
        extra, smallest = 1, 1 / (1 + SHUFFLES)
    of_orders = np.abs(correlations(orders, values))
    p = float((extra + (of_orders >= abs(r) - 1e-9).sum()) / (extra + len(orders)))
    p = max(p, float(2 * scipy.special.ndtr(-abs(z) * np.sqrt(x.size - 3))))
    p = max(p, float(2 * scipy.special.stdtr(df, -abs(z) / over_units))) if over_units else p
    low, high = np.tanh([z - reach, z + reach])
    if p >= 1 - LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(
        out, value=r, low=np.array([low]), high=np.array([high]), n=fisher.n, se=np.array([reach / quantile]),
        method=np.array([_WIDEST], dtype=object), p=np.array([p]), p_least=np.array([smallest]),
    )  # fmt: skip


def correlations(values: Array, x: Array, spread: float | None = None) -> Array:
    """Pearson's r of values along the last axis with x, over those that are there; at most all but one.

    `spread`: product of both standard deviations where these are not those of the values, as of a slope.

    Examples
    --------
    >>> correlations(np.array([[1.0, 2.0, 2.0], [2.0, np.nan, 1.0]]), np.array([1.0, 2.0, 3.0])).round(3).tolist()
    [0.866, -1.0]
    """
    seen = np.isfinite(values)
    size = seen.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        y, z = (
            np.where(seen, side - (np.where(seen, side, 0).sum(axis=-1) / size)[..., None], 0.0) for side in (values, x)
        )
        scale = np.sqrt((y**2).mean(axis=-1) * (z**2).mean(axis=-1)) if spread is None else spread
        r = (y * z).mean(axis=-1) / scale
    return np.asarray(np.clip(r, -_PERFECT, _PERFECT) if spread is None else r)
