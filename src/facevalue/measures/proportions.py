"""Proportions: intervals and tests of shares, and shares over units.

Shares s / n over units: one value, one variance and one interval, for all that is a share of answers.

A cell is summed up by its *units*, which were sampled: `n`, how many answers count, and `s`, how much of them is what
the share is of. Sums of different answers add up, so that a run of any length is reduced chunk by chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Bounds, Estimates

_FLAT = 1e-7  # standard errors below this are rounding


def effective_size(share: npt.ArrayLike, se: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """Effective sample size: number of independent answers that would estimate the share as precisely.

    `share` and `se`: shares in [0, 1] with their standard errors over clusters.

    Equation
    --------
    n_eff = p (1 - p) / se² (Kish; Korn and Graubard 1998). Where no cluster differs from another there is no variance
    to go by, and each counts as one answer: n_eff = clusters.

    Examples
    --------
    >>> effective_size([0.5, 1.0, 0.3], [0.05, 0.0, np.nan], [40, 4, 1]).round(3).tolist()
    [100.0, 4.0, nan]
    """
    p, error, size = (np.asarray(x, dtype=np.float64) for x in (share, se, clusters))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.where((error > _FLAT) & (p > 0) & (p < 1), p * (1 - p) / error**2, size)
    return np.where(np.isfinite(p) & np.isfinite(error) & (size > 1), out, np.nan)


def wilson_interval(
    share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, level: npt.ArrayLike = LEVEL
) -> tuple[Array, Array]:
    """Wilson's interval of shares known from an effective number of answers.

    `size`: effective number of answers, see `effective_size`; NaN gives no interval. `df`: degrees of freedom of the
    standard error behind it.
    Returns low, high within [0, 1].

    Equation
    --------
    (p + k/2 ± sqrt(k p (1 - p) + k²/4)) / (1 + k), k = t²_{df} / n_eff (Wilson 1927, with the effective sample size of
    Korn and Graubard 1998; Franco, Little, Louis and Slud 2019, "Comparative study of confidence intervals for
    proportions in complex sample surveys").

    Examples
    --------
    >>> low, high = wilson_interval([0.5, 1.0], [100, 4], [99, 3])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.403, 0.283], [0.597, 1.0])
    """
    p, n, freedom = (np.asarray(x, dtype=np.float64) for x in (share, size, df))
    with np.errstate(invalid="ignore", divide="ignore"):
        k = scipy.special.stdtrit(np.maximum(freedom, 1), 0.5 + np.asarray(level) / 2) ** 2 / n
        spread = np.sqrt(k * p * (1 - p) + k**2 / 4)
        low, high = (p + k / 2 - spread) / (1 + k), (p + k / 2 + spread) / (1 + k)
    return np.clip(low, 0.0, p), np.clip(high, p, 1.0)


def ends_of_agreement(
    value: Array, low: Array, high: Array, largest_fall: Array | float, units: npt.ArrayLike
) -> tuple[Array, Array]:
    """Ends of the interval of an agreement beyond chance, no narrower than Wilson's of disagreement.

    Few items on which nearly all agree give resamples without a disagreement, so that a bootstrap alone says "certain".

    Parameters
    ----------
    value, low, high:
        The coefficient, 1 - largest_fall * w with w the share of disagreement, and its interval.
    largest_fall:
        By how much the coefficient falls from agreement of all to none: 1 over the disagreement that chance gives.
    units:
        Number of items, or of units of these.

    Examples
    --------
    >>> one = np.ones(1)
    >>> [end.round(2).tolist() for end in ends_of_agreement(one, one, one, 2.0, [40])]
    [[0.81], [1.0]]
    """
    size = np.asarray(units)
    fewest, largest = wilson_interval((1 - value) / largest_fall, size, size - 1)
    return np.fmax(np.fmin(low, 1 - largest_fall * largest), -1.0), np.fmax(high, 1 - largest_fall * fewest)


def score_p(share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, null: npt.ArrayLike = 0.5) -> Array:
    """Two-sided p-values of shares against a null share: below 0.05 exactly where the 95% interval leaves it out.

    `share`, `size`, `df`: as in `wilson_interval`. `null`: what is tested against, in (0, 1).

    Equation
    --------
    t = (p - p0) / sqrt(p0 (1 - p0) / n_eff), two tails of t with df degrees of freedom: `wilson_interval` turned round.

    Examples
    --------
    >>> score_p([0.5, 0.6, 1.0], [100, 100, 4], [99, 99, 3]).round(3).tolist()
    [1.0, 0.048, 0.139]
    """
    p, n, freedom, p0 = (np.asarray(x, dtype=np.float64) for x in (share, size, df, null))
    statistic = np.abs(p - p0) * np.sqrt(n / (p0 * (1 - p0)))
    return np.minimum(2 * scipy.special.stdtr(np.maximum(freedom, 1), -statistic), 1.0)


Codes = npt.NDArray[np.int64]

WILSON_OVER_UNITS = name_method(IntervalKind.WILSON, "effective sample size over units")
TOO_FEW_UNITS = name_method(
    IntervalKind.NONE, "fewer than three units, too few to tell them from what they are asked about"
)
FEWEST_UNITS = 3
"""Units from which there is an interval: with two that weigh unlike it would hold the truth in .86 of samples."""
NOTHING = 1e-9
"""Mass that is no answer."""
_ROUNDING = 1e-7  # of a unit's residual
_LARGEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares(Estimates):
    """Shares in [0, 1] with their uncertainty over units."""

    se: Array
    """Standard error over units; NaN where there is no interval."""
    size: Array
    """Effective number of independent answers (`effective_size`)."""
    df: Array
    """Degrees of freedom of the standard error, with which interval and `p` are made."""
    variance: Array
    """Square of the standard error, as far as it is known; NaN where some layer has one unit."""
    units: Array | None = None
    """Effective number of units, of shares over pairs (`pairs.pair_shares`)."""

    def p_against(self, null: npt.ArrayLike) -> Array:
        """Two-sided p-values against a share: below .05 exactly where the interval leaves it out."""
        return np.where(np.isfinite(self.low), score_p(self.value, self.size, self.df, null), np.nan)


def shares_of_variance(value: Array, variance: Array, df: Array, n: npt.NDArray[Any], clusters: Codes) -> Shares:
    """Shares with Wilson's interval, from their variance over units and its degrees of freedom.

    All of shape (cells,); `clusters` is the number of units.

    Examples
    --------
    >>> two, ten = shares_of_variance(
    ...     *(np.array([x, x]) for x in (0.5, 0.01, 8.0, 60.0)), np.array([2, 10])
    ... ).low.tolist()
    >>> two, round(ten, 3)
    (nan, 0.291)
    """
    has_interval = clusters >= FEWEST_UNITS
    se = np.where(has_interval, np.sqrt(variance), np.nan)
    size = effective_size(value, se, clusters)
    low, high = wilson_interval(value, size, df)
    methods = np.where(has_interval, WILSON_OVER_UNITS, TOO_FEW_UNITS).astype(object)
    return Shares(
        value=value, low=low, high=high, n=np.rint(n).astype(np.int64), clusters=clusters, method=methods, se=se,
        size=size, df=df, variance=variance,
    )  # fmt: skip


def unit_shares(
    cell: Codes,
    cells: int,
    unit: Codes,
    n: Array,
    s: Array,
    *,
    stratum: Codes | None = None,
    inner: Codes | None = None,
    requests: Array | None = None,
    ends: tuple[Array, Array] | None = None,
) -> Shares:
    """Share of each cell with its interval over units.

    Parameters
    ----------
    cell, unit:
        Number of each row's cell, from 0 to `cells` - 1, and of the unit that was sampled; shape (rows,). A negative
        unit is no single one: its answers count in the value, and say nothing of how units vary. Rows in any order;
        several of one unit are added up.
    n, s:
        Expected number of answers, and how much of them the share is of; 0 <= s <= n.
    stratum:
        Part of the sample that a unit is from: units of different strata are other units.
    inner:
        What the cell's share is averaged over, each level that has an answer weighing the same.
    requests:
        Number of answers asked for: for bounds.
    ends:
        `s` had all missing answers gone one way or the other, where less than all of each is unknown.

    Equation
    --------
    R = 1/A Σ_a s_a / n_a over the A levels of `inner` with an answer. A unit u adds c_u = 1/A Σ_a s_ua / n_a, with
    weight w_u = 1/A Σ_a n_ua / n_a. The variance, between units within layers h, is Σ_h G_h/(G_h - 1) Σ_u
    (c_u - R_h w_u)², R_h = Σ c_u / Σ w_u (Cochran, Sampling Techniques, 1977, sections 5.3 and 6.4). Layers are strata
    and levels of `inner` where each has two units or more and no unit is in two of them; else strata; else there is
    one. Degrees of freedom: V² / Σ_h V_h²/(g_h - 1), at least 1, with V_h = Σ_u w_u² and g_h = V_h² / Σ_u w_u⁴
    (Satterthwaite 1946, for units that weigh unlike; G - 1 of one layer where they weigh the same). The interval is
    Wilson's with p (1 - p) / se² answers (`wilson_interval`), from three units on: docs/results/share-intervals.csv
    says how often it holds the truth.

    Bounds are the same means of s / requests and of (s + requests - n) / requests; their variance is that of the end
    that varies more, and at least the share's own. It is NaN where nothing is missing.

    Examples
    --------
    >>> three = unit_shares(np.zeros(3, int), 1, np.arange(3), np.full(3, 6.0), np.array([2.0, 3.0, 4.0]))
    >>> [round(x.item(), 3) for x in (three.value, three.low, three.high, three.se, three.df)]
    [0.5, 0.181, 0.819, 0.096, 2.0]
    """
    seen = (unit >= 0) & (n > NOTHING)
    variance, df, clusters = unit_variance(*_rows(seen, cell, unit, stratum, inner), cells, n[seen], s[seen])
    value, total = mean_share(cell, cells, n, s, inner), np.bincount(cell, n, cells)
    shares = shares_of_variance(value, variance, df, total, clusters)
    if requests is None:
        return shares
    lowest, highest = ends or (s, s + np.maximum(requests - n, 0.0))
    short = (np.bincount(cell, highest - lowest > NOTHING, cells) > 0)[cell] & (unit >= 0) & (requests > NOTHING)
    ends_of_units = lowest[short], highest[short]
    worst, _, _ = unit_variance(*_rows(short, cell, unit, stratum, inner), cells, requests[short], *ends_of_units)
    low, high = (mean_share(cell, cells, requests, end, inner) for end in (lowest, highest))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.where(np.isfinite(worst), np.fmax(variance, worst), np.nan))
        bounds = Bounds(value, low, high, 1 - total / np.bincount(cell, requests, cells), error)
    return replace(shares, bounds=bounds)


def mean_share(cell: Codes, cells: int, n: Array, s: Array, inner: Codes | None = None) -> Array:
    """Mean over the levels of `inner` of s / n, as in `unit_shares`; NaN of cells without an answer.

    Examples
    --------
    >>> mean_share(np.zeros(3, int), 2, np.array([9.0, 1.0, 0.0]), np.array([9.0, 0.0, 0.0]), np.arange(3)).tolist()
    [0.5, nan]
    """
    level, first = groups(cell, np.zeros_like(cell) if inner is None else inner)
    total = np.bincount(level, n)
    seen = total > NOTHING
    rates = np.divide(np.bincount(level, s), total, out=np.zeros(total.size), where=seen)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(cell[first], rates, cells) / np.bincount(cell[first], seen, cells))


def unit_variance(
    cell: Codes, unit: Codes, stratum: Codes, inner: Codes, cells: int, n: Array, *sums: Array
) -> tuple[Array, Array, Codes]:
    """Variance between units within layers of the shares of `unit_shares`, its degrees of freedom, and units.

    Of several `sums`, each with a share of n, the largest variance. Each row has an answer, n > 0. Shape (cells,) each;
    the variance is NaN, and the degrees of freedom 1, where some layer has one unit.

    Examples
    --------
    >>> none, n, s = np.zeros(4, int), np.array([1.0, 1.0, 1.0, 9.0]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> variance, df, units = unit_variance(none, np.arange(4), none, none, 1, n, s)
    >>> variance.round(3).tolist(), df.round(2).tolist(), units.tolist()
    ([0.034], [1.0], [4])
    """
    layer, owner, w, added = _sum_units(cell, unit, stratum, inner, cells, n, sums)
    size = owner.size
    units, w1, w2, w4 = (np.bincount(layer, x, size) for x in (None, w, w**2, (w * w) ** 2))
    variances = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for c in added:
            rate = (np.bincount(layer, c, size) / w1)[layer]
            error = c - rate * w
            error[np.abs(error) <= _ROUNDING * (np.abs(c) + np.abs(rate) * w)] = 0.0
            variances.append(np.bincount(owner, np.bincount(layer, error**2, size) * units / (units - 1), cells))
        df = np.bincount(owner, w2, cells) ** 2 / np.bincount(owner, w2**2 / (w2**2 / w4 - 1), cells)
    clusters = np.bincount(owner, units, cells).astype(np.int64)
    has_variance = (clusters > 0) & (np.bincount(owner, units < 2, cells) == 0)
    variance = np.where(has_variance, np.max(variances, axis=0), np.nan)
    return variance, np.where(has_variance, np.fmax(df, 1.0), 1.0), clusters


def _sum_units(
    cell: Codes, unit: Codes, stratum: Codes, inner: Codes, cells: int, n: Array, sums: Sequence[Array]
) -> tuple[Codes, Codes, Array, list[Array]]:
    """Layer of each unit, cell of each layer, weight of each unit, and the units' weighted sums."""
    order = _order((cell, stratum, unit, inner), n, *sums)  # sums are the same in any order of the rows
    cell, unit, stratum, inner = (code[order] for code in (cell, unit, stratum, inner))
    n = n[order]
    level, first = groups(cell, inner)
    owner = cell[first]
    weight = 1 / (np.bincount(level, n)[level] * np.bincount(owner, minlength=cells)[cell])
    row, first = groups(cell, stratum, unit)
    w, *added = (np.bincount(row, x * weight).astype(np.float64) for x in (n, *(s[order] for s in sums)))
    layer = level[first]
    if stratum.any() or inner.any():
        spans = np.bincount(row, (np.diff(inner, prepend=-2) != 0) | (np.diff(row, prepend=-1) != 0)) > 1
        cell, stratum, inner = cell[first], stratum[first], inner[first]
        blocks = (groups(cell, *codes)[0] for codes in ((stratum,), (stratum, inner)))
        coarse, alone = (np.bincount(cell, np.bincount(block)[block] < 2, cells) > 0 for block in blocks)
        alone |= np.bincount(cell, spans, cells) > 0
        layer, first = groups(cell, np.where(coarse[cell], 0, stratum), np.where(alone[cell], 0, inner))
        owner = cell[first]
    return layer, owner, w, added


def _rows(
    some: npt.NDArray[np.bool_], cell: Codes, unit: Codes, stratum: Codes | None, inner: Codes | None
) -> tuple[Codes, Codes, Codes, Codes]:
    """Cell, unit, stratum and inner level of some rows; 0 for what is not told apart."""
    cell = cell[some]
    none = np.zeros_like(cell)
    return cell, unit[some], none if stratum is None else stratum[some], none if inner is None else inner[some]


def _joint(codes: Sequence[Codes]) -> Codes:
    """Numbers for what several codes say together, in their order."""
    joint = codes[0]
    for code in codes[1:]:
        lowest, highest = code.min(initial=0), code.max(initial=0)
        if highest > lowest:
            if int(joint.max(initial=0)) * int(highest - lowest + 1) > _LARGEST:
                joint = np.unique(joint, return_inverse=True)[1]
            joint = joint * (highest - lowest + 1) + code - lowest
    return joint


def _order(codes: Sequence[Codes], *numbers: Array) -> Codes | slice:
    """Order of rows by their codes and, of the same codes, by their numbers."""
    joint = _joint(codes)
    if (np.diff(joint) > 0).all():
        return slice(None)
    order = np.argsort(joint)
    return order if np.diff(joint[order]).all() else np.lexsort((*numbers, joint))


def level_codes(column: pl.Series) -> Codes:
    """Levels of a column as numbers, -1 for null; whole numbers are their own."""
    numbered = column if column.dtype.is_integer() or column.dtype == pl.Enum else column.cast(pl.Categorical)
    return numbered.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def groups(*codes: Codes) -> tuple[Codes, Codes]:
    """Number of each row's group, from 0, in the order of the codes, and the first row of each group."""
    joint = _joint(codes)
    steps = np.diff(joint)
    if (steps >= 0).all():
        new = np.concatenate([np.ones(min(joint.size, 1), bool), steps > 0])
        return np.cumsum(new) - 1, np.flatnonzero(new)
    lowest = int(joint.min())
    if int(joint.max()) - lowest > 4 * joint.size:
        order = pl.Series(joint).arg_sort().to_numpy()  # in half of the time that np.unique takes
        new = np.diff(joint[order], prepend=lowest - 1) > 0
        group = np.empty(joint.size, dtype=np.int64)
        group[order] = np.cumsum(new) - 1
        return group, np.minimum.reduceat(order, np.flatnonzero(new)).astype(np.int64)
    joint = joint - lowest
    first = np.full(int(joint.max()) + 1, -1)
    first[joint[::-1]] = np.arange(joint.size)[::-1]
    return (np.cumsum(first >= 0) - 1)[joint], first[first >= 0]
