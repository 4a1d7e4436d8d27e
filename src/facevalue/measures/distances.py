"""Distances that are positive without any effect: intervals, tests and detectable effects of squared ones.

A divergence between distributions is, near zero, a sum of squares: it is chance alone where there is no effect, and
grows with the square of one. Symmetric intervals around its value are wrong there. Its noise floor says how it varies
(the same statistic where labels are dealt out anew), and that is all that is needed: the interval, the p-value and what
could have been missed come from one distribution.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.power import POWER
from facevalue.measures.uncertainty import Floor

CHI_SQUARED_INVERSION = name_method(IntervalKind.INVERSION, "noncentral chi-squared from the noise floor")
_FLOOR = 0.95  # quantile of a noise floor that `Floor.high` is
_FEW, _MANY = 0.5, 1e4  # degrees of freedom that are told apart
_STEPS, _SPREAD_STEPS = 30, 40
_ABOVE_ZERO = 1e-6


class Noise(NamedTuple):
    """Distribution without any effect: `scale` times chi-squared with `df` degrees of freedom."""

    scale: Array
    df: Array


def noise_of_floor(mean: npt.ArrayLike, high: npt.ArrayLike) -> Noise:
    """Scaled chi-squared distribution with the mean and the 95th percentile of a noise floor.

    `mean` and `high`: of the floor; NaN or zero gives NaN.

    Equation
    --------
    high / mean = chi2_{.95; v} / v, scale = high / chi2_{.95; v} (Satterthwaite 1946, by a quantile in place of the
    variance, so that what lies above the floor is the same here and there).

    Examples
    --------
    >>> found = noise_of_floor([3.0], [7.8147])
    >>> found.scale.round(3).item(), found.df.round(2).item()
    (1.0, 3.0)
    """
    m, h = (np.asarray(x, dtype=np.float64) for x in (mean, high))
    is_known = (m > 0) & (h > 0)
    ratio = h[is_known] / m[is_known]
    low, top = np.full(ratio.shape, np.log(_FEW)), np.full(ratio.shape, np.log(_MANY))
    for _ in range(_STEPS):
        middle = (low + top) / 2
        wide = (
            scipy.special.chdtri(np.exp(middle), 1 - _FLOOR) / np.exp(middle) > ratio
        )  # falls with the degrees of freedom
        low, top = np.where(wide, middle, low), np.where(wide, top, middle)
    df = np.full(m.shape, np.nan)
    df[is_known] = np.exp((low + top) / 2)
    return Noise(np.where(is_known, h, np.nan) / scipy.special.chdtri(df, 1 - _FLOOR), df)


def distance_interval(value: Array, floor: Floor) -> tuple[Array, Array]:
    """Interval of the divergence that more of the same sample would show, at `LEVEL`.

    It leaves out zero exactly where the value lies above the floor's 95th percentile, so where p < .05. (Where values
    are tied, or the floor was known from fewer shuffles than p, p decides.)

    `value`: divergences as found, biased upwards by about the floor's mean.
    Returns low, high; the bias is taken off, and then the value taken in, where it lies above. NaN where there is no
    floor.

    Equation
    --------
    value ~ scale chi2'(df, delta / scale). A delta is in the interval if P(X >= value | delta) >= .05 - a and
    P(X <= value | delta) > a, a = .025 (1 - exp(-delta / (4 scale))): 2.5% on each side of a large divergence, and 5%
    above a divergence of zero, which cannot be missed on its other side. Any such split holds 95% (Neyman 1937).

    Examples
    --------
    >>> floor = Floor(np.array([3.0, 3.0]), np.array([7.8, 7.8]), np.array([0.6, 0.001]))
    >>> low, high = distance_interval(np.array([2.0, 40.0]), floor)
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([0.0, 17.5], [8.5, 66.2])
    """
    values = np.asarray(value, dtype=np.float64)
    ends = np.full((2, *values.shape), np.nan)
    if only_values():
        return ends[0], ends[1]
    law = noise_of_floor(floor.mean, floor.high)
    is_known = np.isfinite(values) & np.isfinite(law.df)
    scale, df = law.scale[is_known], law.df[is_known]
    seen = values[is_known] / scale
    is_found = floor.p[is_known] < 1 - LEVEL
    start = np.zeros(seen.shape)
    start[is_found] = np.clip(
        _end(seen[is_found], df[is_found], upper=False), _ABOVE_ZERO * seen[is_found], seen[is_found]
    )
    ends[0][is_known] = start * scale
    ends[1][is_known] = np.maximum(_end(seen, df, upper=True), seen) * scale
    return ends[0], ends[1]


def _end(seen: Array, df: Array, *, upper: bool) -> Array:
    """Smallest and largest noncentrality that goes with what was seen, by bisection."""
    low, high = np.zeros(seen.shape), seen + 40 + 12 * np.sqrt(seen + df)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = scipy.special.chndtr(seen, df, middle)
        tail = (1 - LEVEL) / 2 * -np.expm1(-middle / 4)
        is_inside = below <= tail if upper else 1 - below >= 1 - LEVEL - tail
        low, high = np.where(is_inside, low, middle), np.where(is_inside, middle, high)
    return high


def detectable_distance(mean: npt.ArrayLike, high: npt.ArrayLike, level: npt.ArrayLike, power: float = POWER) -> Array:
    """Smallest divergence that would be found, to stand beside a value.

    `level`: of the test; for a family, that of a single one.

    Equation
    --------
    delta with P(scale chi2'(df, delta / scale) > scale chi2_{1 - level; df}) = power.

    Examples
    --------
    >>> detectable_distance(3.0, 7.8147, 0.05).round(2).item()
    10.9
    """
    law = noise_of_floor(mean, high)
    df, alpha = np.broadcast_arrays(law.df, np.asarray(level, dtype=np.float64))
    critical = scipy.special.chdtri(df, alpha)
    return np.asarray(scipy.special.chndtrinc(critical, df, 1 - power) * law.scale)


def distance_equivalence_p(
    value: npt.ArrayLike, mean: npt.ArrayLike, high: npt.ArrayLike, margin: npt.ArrayLike
) -> Array:
    """P-value of a divergence of `margin` or more: below alpha, it is smaller.

    `margin`: largest divergence that would not matter; NaN gives NaN.

    Equation
    --------
    P(scale chi2'(df, margin / scale) <= value).

    Examples
    --------
    >>> distance_equivalence_p([1.0, 9.0], 3.0, 7.8147, 10.0).round(3).tolist()
    [0.003, 0.311]
    """
    law = noise_of_floor(mean, high)
    return np.asarray(scipy.special.chndtr(np.asarray(value) / law.scale, law.df, np.asarray(margin) / law.scale))


_SURE = 0.01  # p from which a thousand draws know it well


def spread_interval(value: float, null: Array, identities: int, df: float, p: float) -> tuple[float, float]:
    """Interval of the spread without what chance adds to it.

    Parameters
    ----------
    null:
        Spreads of answers without any preference.
    df:
        Degrees of freedom that the scatter of the null is known with.
    p:
        Of the test of the spread: how far out it lies among those that it is tested against.

    Returns
    -------
    low, high. Zero is in it exactly where p is 1 - `LEVEL` or more; the value itself always is, though near zero most
    of it may be chance.

    Equation
    --------
    spread²/m ~ F with ν and df degrees of freedom and noncentrality λ = ν τ²/m, τ the spread to be known; m and 2 m²/ν
    are mean and variance of null spreads², ν at most k - 1 (Patnaik 1949). f is the quantile 1 - p of the central F, so
    that test and interval have one pivot; where p is below .01, spread²/m if that is larger, as p may have reached its
    smallest step. Limits: τ with P(F >= f) = .05 - a and P(F <= f) = a, a = .025 (1 - exp(-λ / 4)): 2.5% on either side
    of a large spread, and 5% above a spread of zero, which cannot be missed on its other side
    (`distances.distance_interval`).

    Examples
    --------
    >>> null = np.sqrt(np.random.default_rng(0).chisquare(11, 4000) / 11)
    >>> [[round(x, 1) for x in spread_interval(value, null, 12, 200, p)] for value, p in ((1.2, 0.2), (9.0, 0.00005))]
    [[0.0, 1.4], [7.9, 10.0]]
    """
    squares = null**2
    mean, variance = float(squares.mean()), float(squares.var())
    if not (mean > 0 and variance > 0 and np.isfinite(p)):
        return float("nan"), float("nan")
    nu = min(2 * mean**2 / variance, identities - 1.0)
    placed = float(scipy.special.fdtri(nu, df, 1 - max(p, _SURE)))
    f = placed if p >= _SURE else max(placed, value**2 / mean)

    def limit(*, upper: bool) -> float:
        low, high = 0.0, f * nu + 40 + 12 * np.sqrt(f * nu * (1 + f * nu / df) + nu)
        for _ in range(_SPREAD_STEPS):
            middle = (low + high) / 2
            tail = (1 - LEVEL) / 2 * -np.expm1(-middle / 4)
            below = scipy.special.ncfdtr(nu, df, middle, f)
            is_within = below > tail if upper else 1 - below < 1 - LEVEL - tail
            low, high = (middle, high) if is_within else (low, middle)
        return float(np.sqrt(mean / nu * (high if p < 1 - LEVEL or upper else 0.0)))

    return min(limit(upper=False), value), max(limit(upper=True), value)
