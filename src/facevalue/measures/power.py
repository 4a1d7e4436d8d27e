"""Power: what a sample can detect, and the allocation of a budget by it.

Power: what a sample can detect, and which sample detects what.

The unit is the cluster, the thing that was sampled (a face, a counterfactual set, a picture pair), never the answer.
A paired comparison has one difference per cluster, the mean of its answers to the variant minus that to the base; `sd`
is the standard deviation (ddof 1) of these differences across clusters, in the measure's unit. It holds both how much
clusters really differ and what is left of the noise of their answers, so that more answers per cluster shrink it, but
never below the first. From a run, sd = se sqrt(clusters) with the cluster-robust standard error.

An effect counts as detected when the two-sided test is significant in its own direction; significance in the wrong one
is an error, not power (it is rarer than 1 in 10,000 where the power is a half or more). The noncentral t distribution
is exact for normal cluster differences, and close for means over many answers.

A missing, or a zero, standard deviation gives NaN: a pilot without variance says nothing about the next sample.

Where it is known how clusters differ, and not by how much alone, audits of so many of them are drawn and judged by the
report's own test (`detects_mean`): a few shares of a few replies are not normal.

Allocation of a budget over studies, so that the largest effect that may be missed is smallest.

What a study detects with each size is a curve; studies are compared by shares of the largest possible effect. Sizes are
whole units, so that curves are steps: the solution is exact over the sizes that are given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import Array, cluster_means

POWER = 0.8
POWER_AUDITS = 2000
"""Drawn audits; the standard error of a power of .8 is .009."""
MANY_CLUSTERS = 200
"""Clusters from which the noncentral t is as good as drawn audits, and faster."""
_SIZES = 20  # effects that are tried before the smallest is narrowed down
_NORMAL = 1e5  # degrees of freedom from which t is normal for our purposes
_FAR = 200.0  # critical values from which the noncentral t is a scaled chi, to 1e-5; its library function fails there
_CLOSE = 1e-6  # relative error of the noncentral t quantile


def minimum_detectable(
    se: npt.ArrayLike, df: npt.ArrayLike, alpha: npt.ArrayLike = 0.05, power: float = POWER
) -> Array:
    """Smallest effect that a comparison with this standard error detects, to stand beside it.

    It depends on the precision alone, not on the value found ("observed power" would only repeat the p-value).

    Returns the shape of the broadcast inputs, in the unit of se; NaN where se or df is missing, zero or negative.

    Parameters
    ----------
    se:
        Standard errors over clusters, in the measure's unit.
    df:
        Degrees of freedom; infinity for a normal reference.
    alpha:
        Two-sided level, for a family of m tests that of the first, alpha/m; one for all, or one each.
    power:
        How often such an effect is detected, from .5.

    Equation
    --------
    delta se with P(T > t(1 - alpha/2; df)) = power, T ~ noncentral t(df, delta).

    Examples
    --------
    >>> minimum_detectable([0.01, np.nan, 0.0], df=99).round(4).tolist()
    [0.0283, nan, nan]
    """
    errors = np.asarray(se, dtype=np.float64)
    errors = np.where(errors > 0, errors, np.nan)
    return errors * _noncentrality(np.where(np.isnan(errors), np.nan, df), alpha, power)


def detectable_mean(
    sd: npt.ArrayLike,
    clusters: npt.ArrayLike,
    alpha: npt.ArrayLike = 0.05,
    power: float = POWER,
    most_df: float = np.inf,
) -> Array:
    """Smallest mean of cluster-level differences that so many clusters detect (one-sample or paired).

    `clusters`: how many are sampled; fewer than two detect nothing (NaN). `most_df`: degrees of freedom that the test
    has at most, as of a jackknife over groups of clusters.
    Returns the shape of the broadcast inputs, in the unit of sd.

    Equation
    --------
    As `minimum_detectable`, with se = sd / sqrt(G) and df = G - 1 (Cohen 1988, ch. 2; exact by the noncentral t).

    Examples
    --------
    >>> detectable_mean(0.2, [10, 100]).round(3).tolist()
    [0.199, 0.057]
    """
    sizes = np.asarray(clusters, dtype=np.float64)
    sizes = np.where(sizes >= 2, sizes, np.nan)
    return minimum_detectable(_spread(sd) / np.sqrt(sizes), np.minimum(sizes - 1, most_df), alpha, power)


def clusters_needed(
    sd: npt.ArrayLike, effect: npt.ArrayLike, alpha: npt.ArrayLike = 0.05, power: float = POWER, most_df: float = np.inf
) -> Array:
    """Fewest clusters whose mean difference detects an effect (one-sample or paired).

    `effect`: what is to be detected, in the same unit; the sign does not matter.
    Returns whole numbers as floats, at least 2; infinity for an effect of zero, which no sample detects; NaN for a
    missing or zero sd.

    Equation
    --------
    Smallest G with `detectable_mean`(sd, G, alpha, power) <= |effect|.

    Examples
    --------
    >>> clusters_needed(0.2, [0.05, 0.1, 0.0, np.nan]).tolist()
    [128.0, 34.0, inf, nan]
    """
    _check(alpha, power)
    spread, size, level = np.broadcast_arrays(
        _spread(sd), np.abs(np.asarray(effect, dtype=np.float64)), np.asarray(alpha, dtype=np.float64)
    )
    spread = np.where(spread > 0, spread, np.nan)
    out = np.asarray(np.where(size == 0, np.inf, np.nan) + 0 * spread)
    todo = np.isfinite(spread) & (size > 0)
    relative, level = spread[todo] / size[todo], level[todo]

    def fits(clusters: Array, at: npt.NDArray[np.intp] | slice) -> npt.NDArray[np.bool_]:
        reach = detectable_mean(relative[at], clusters, level[at], power, most_df)
        return np.asarray(reach <= 1 + _CLOSE)

    # The normal approximation is a lower end; what its own t asks for is enough, since t only shrinks with the sample.
    low = np.maximum(np.floor(((scipy.special.ndtri(1 - level / 2) + scipy.special.ndtri(power)) * relative) ** 2), 2.0)
    high = np.maximum(np.ceil((_noncentrality(np.minimum(low - 1, most_df), level, power) * relative) ** 2), 2.0)
    high = np.where(fits(low, slice(None)), low, high)
    while (wide := np.flatnonzero(high - low > 1)).size:
        middle = np.floor((low[wide] + high[wide]) / 2)
        enough = fits(middle, wide)
        high[wide] = np.where(enough, middle, high[wide])
        low[wide] = np.where(enough, low[wide], middle)
    out[todo] = high
    return out


def detects_mean(units: Array, clusters: int, alpha: float, power: float = POWER, largest: float | None = None) -> bool:
    """Return whether the report's test detects the mean of the distribution of clusters, with this many of them.

    `units`: differences of very many clusters. `largest`: largest possible one, either way; None where there is none.
    """
    if clusters < 2:
        return False
    if clusters > MANY_CLUSTERS:
        return bool(detectable_mean(units.std(), clusters, alpha, power) <= abs(units.mean()) * (1 + _CLOSE))
    audits = units[np.random.default_rng(0).integers(0, units.size, (clusters, POWER_AUDITS))]
    estimates = cluster_means(audits, np.ones_like(audits), 0, largest=largest)
    assert estimates.p is not None
    return bool(np.mean((estimates.p < alpha) & (estimates.value * units.mean() > 0)) >= power)


def fewest_clusters(units: Array, alpha: float, power: float = POWER, largest: float | None = None) -> float:
    """Fewest clusters that detect the mean of what they are drawn from (`detects_mean`); infinity if it is zero.

    Examples
    --------
    >>> fewest_clusters(0.1 + 0.2 * np.random.default_rng(1).standard_normal(4000), 0.05)
    36.0
    """
    start = float(clusters_needed(units.std(), units.mean(), alpha, power)) if units.std() > 0 else 2.0
    if not start <= MANY_CLUSTERS:
        return start
    out = int(start)
    while not detects_mean(units, out, alpha, power, largest):
        out += 1
    while out > 2 and detects_mean(units, out - 1, alpha, power, largest):
        out -= 1
    return float(out)


def smallest_effect(
    draw: Callable[[float], Array], clusters: int, alpha: float, largest: float, power: float = POWER
) -> float:
    """Smallest effect that so many clusters detect (`detects_mean`); NaN if they detect none.

    Effects near the largest possible one may be missed again: clusters that are all alike say little of others.

    `draw`: from an effect to differences of very many clusters with that mean. `largest`: largest possible one.
    """
    sizes = largest * np.linspace(0, 1, _SIZES + 1)[1:-1]
    high = next((float(size) for size in sizes if detects_mean(draw(size), clusters, alpha, power, largest)), np.nan)
    low = high - largest / _SIZES
    while high - low > 5e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if detects_mean(draw(middle), clusters, alpha, power, largest) else (middle, high)
    return high


def _noncentrality(df: npt.ArrayLike, alpha: npt.ArrayLike, power: float) -> Array:
    """Effect in standard errors that is detected; shape of df and alpha, NaN where df is not positive."""
    _check(alpha, power)
    degrees, tails = np.broadcast_arrays(np.asarray(df, dtype=np.float64), np.asarray(alpha, dtype=np.float64) / 2)
    (freedom, tail), place = np.unique(np.reshape([degrees, tails], (2, -1)), axis=1, return_inverse=True)
    finite = np.where((freedom > 0) & (freedom < _NORMAL), freedom, np.nan)
    critical = -scipy.special.stdtrit(finite, tail)
    far = critical > _FAR  # there the mean's own error is nothing beside that of its standard error
    with np.errstate(invalid="ignore"):
        asymptotic = critical * np.sqrt(scipy.special.chdtri(finite, 1 - power) / finite)
    exact = scipy.special.nctdtrinc(np.where(far, np.nan, finite), 1 - power, critical)
    out = np.where(far, asymptotic, exact)
    out = np.where(freedom >= _NORMAL, scipy.special.ndtri(power) - scipy.special.ndtri(tail), out)
    return out[place].reshape(degrees.shape)


def _spread(sd: npt.ArrayLike) -> Array:
    out = np.asarray(sd, dtype=np.float64)
    if (out < 0).any():
        raise ValueError("A standard deviation is never negative.")
    return out


def _check(alpha: npt.ArrayLike, power: float = POWER) -> None:
    levels = np.asarray(alpha, dtype=np.float64)
    if not ((levels > 0) & (levels < 0.5)).all():
        raise ValueError("The level alpha must lie above 0 and below .5.")
    if not 0.5 <= power < 1:
        raise ValueError("The power must be at least .5 and below 1.")


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class DetectionCurve:
    """Detectable effects of a study by its cost.

    Attributes
    ----------
    costs:
        Of each size, ascending, in the unit of the budget.
    effects:
        Smallest effect that each detects, as a share of the largest possible one; NaN where none is detected.

    Examples
    --------
    >>> DetectionCurve(np.array([10.0, 40.0]), np.array([np.nan, 0.2])).first_verdict
    40.0
    """

    costs: Array
    effects: Array

    @property
    def first_verdict(self) -> float:
        """Cost of the smallest size that detects anything; infinity where none does."""
        telling = np.flatnonzero(np.isfinite(self.effects))
        return float(self.costs[telling[0]]) if telling.size else np.inf

    def reaching(self, effect: float) -> int | None:
        """Number of the cheapest size that detects an effect of this size; None where none does."""
        enough = np.flatnonzero(self.effects <= effect + _ROUNDING)
        return int(enough[0]) if enough.size else None

    @property
    def best(self) -> float:
        """Smallest effect that any size detects; NaN where none detects any."""
        telling = self.effects[np.isfinite(self.effects)]
        return float(telling.min()) if telling.size else np.nan


@dataclass(frozen=True, slots=True)
class Allocation:
    """Sizes of studies within a budget.

    Attributes
    ----------
    sizes:
        Number of the size of each study on its curve; None for one that the budget does not reach.
    fewest:
        Smallest budget with which any study detects anything; infinity where none ever does.
    """

    sizes: tuple[int | None, ...]
    fewest: float


def allocate_budget(curves: Sequence[DetectionCurve], budget: float) -> Allocation:
    """Choose a size of each study, so that the largest effect that may be missed is smallest.

    A study that cannot detect less is set at its cheapest best size, and the others go on without it (the
    lexicographic minimum: first the worst study, then the next worst). Where the budget does not bring all to a
    verdict, those that are dearest to bring to one are left out until it does for the rest.

    Parameters
    ----------
    curves:
        What each study detects; one of which no size detects anything is left out.
    budget:
        What all may cost together.

    Equation
    --------
    min max_s e_s(n_s) subject to sum_s c_s(n_s) <= B, over the sizes n_s on each curve.

    Examples
    --------
    >>> halves = DetectionCurve(np.array([10.0, 40.0, 160.0]), np.array([0.4, 0.2, 0.1]))
    >>> dearer = DetectionCurve(np.array([20.0, 80.0, 320.0]), np.array([0.4, 0.2, 0.1]))
    >>> allocate_budget([halves, dearer], 130).sizes, allocate_budget([halves, dearer], 15).sizes
    ((1, 1), (0, None))
    """
    fewest = min((curve.first_verdict for curve in curves), default=np.inf)
    todo = [number for number, curve in enumerate(curves) if np.isfinite(curve.first_verdict)]
    while todo and sum(curves[number].first_verdict for number in todo) > budget + _ROUNDING:
        todo.remove(max(todo, key=lambda number: curves[number].first_verdict))
    size_of: dict[int, int] = {}
    rest = budget
    while todo:
        sizes = _smallest([curves[number] for number in todo], rest)
        effects = {number: float(curves[number].effects[size]) for number, size in zip(todo, sizes, strict=True)}
        worst = max(effects.values())
        settled = [
            number
            for number in todo
            if effects[number] >= worst - _ROUNDING or curves[number].best >= worst - _ROUNDING
        ]
        for number, size in zip(todo, sizes, strict=True):
            if number in settled:
                size_of[number] = size
                rest -= float(curves[number].costs[size])
        todo = [number for number in todo if number not in settled]
    return Allocation(tuple(size_of.get(number) for number in range(len(curves))), fewest)


def _smallest(curves: Sequence[DetectionCurve], budget: float) -> list[int]:
    """Sizes of which the largest effect is the smallest that the budget buys; that of first verdicts is one of them."""
    levels = np.unique(np.concatenate([curve.effects[np.isfinite(curve.effects)] for curve in curves]))
    levels = levels[levels >= max(curve.best for curve in curves) - _ROUNDING]
    low, high = 0, levels.size - 1
    while low < high:
        middle = (low + high) // 2
        if _cost(curves, float(levels[middle])) <= budget + _ROUNDING:
            high = middle
        else:
            low = middle + 1
    return [number for curve in curves if (number := curve.reaching(float(levels[low]))) is not None]


def _cost(curves: Sequence[DetectionCurve], effect: float) -> float:
    sizes = [curve.reaching(effect) for curve in curves]
    return float(sum(np.inf if size is None else curve.costs[size] for curve, size in zip(curves, sizes, strict=True)))


def shares_of_budget(costs: Mapping[str, float], budget: float) -> dict[str, float]:
    """Equal shares of a budget, none above what a study costs as a whole; what is left of one goes to the others.

    Examples
    --------
    >>> shares_of_budget({"small": 10, "large": 1000, "larger": 2000}, 210)
    {'small': 10.0, 'large': 100.0, 'larger': 100.0}
    """
    out: dict[str, float] = {}
    rest = dict(costs)
    while rest:
        share = max(budget, 0.0) / len(rest)
        small = {name: cost for name, cost in rest.items() if cost <= share}
        for name, cost in small.items() or ((name, share) for name in rest):
            out[name] = float(cost)
        budget -= sum(small.values())
        rest = {name: cost for name, cost in rest.items() if name not in out}
    return {name: out[name] for name in costs}
