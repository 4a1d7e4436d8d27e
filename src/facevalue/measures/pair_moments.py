"""Covariances of selection frequencies, since identities share pairs, and their values by chance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.uncertainty import Floor

Codes = npt.NDArray[np.int64]
Orders = npt.NDArray[np.unsignedinteger[Any]]
NULL_DRAWS = 1000
"""Of a floor, and of a test at first."""
MOST_NULL_DRAWS = 20_000
"""Of a test that has fewer than `ENOUGH_NULL_DRAWS` hits until then."""
ENOUGH_NULL_DRAWS = 20
_SURE = 0.01  # p from which a thousand draws know it well
_STEPS = 40
_SLACK = 1e-9  # values that are closer are ties
_BLOCK = 2**16  # numbers held at once: what fits a processor's cache


class PairSpread(NamedTuple):
    """A spread with its interval, floor and test."""

    value: float
    se: float
    low: float
    high: float
    floor: float
    floor_high: float
    p: float
    p_least: float


@dataclass(frozen=True)
class Scenes:
    """Answers by scene: pictures of all identities that are paired with each other and with no others.

    A line is a scene's pictures of one activity. A scene has several where one person stands for all of them.
    """

    n: Array
    s: Array
    """Valid answers about each picture, and how much of them chose it, shape (lines, identities)."""
    scene: Codes
    stratum: Codes
    activity: Codes
    """Of each line, numbered from 0; lines are ordered by activity."""

    @property
    def identities(self) -> int:
        """Number of them."""
        return self.n.shape[1]

    @cached_property
    def count(self) -> int:
        """Number of scenes."""
        return int(np.unique(self.scene).size)

    @cached_property
    def strata(self) -> int:
        """Number of strata."""
        return int(np.unique(self.stratum).size)

    def selection_frequencies(self, n: Array, s: Array) -> Array:
        """Selection frequencies in percent, shape (identities, ...), of answers shaped (lines, identities, ...)."""
        sums = (self._adding @ x.reshape(len(x), -1) for x in (n, s))
        return _frequencies(*(x.reshape(-1, *n.shape[1:]) for x in sums), axis=0)

    @cached_property
    def _adding(self) -> scipy.sparse.csr_matrix:
        """Membership of lines in activities: 1 or 0, shape (activities, lines)."""
        lines = np.arange(self.activity.size)
        return scipy.sparse.csr_matrix((np.ones(lines.size), (np.unique(self.activity, return_inverse=True)[1], lines)))

    @cached_property
    def _residuals(self) -> tuple[Array, Array]:
        """Residuals of lines from their identity's own rate, and the rate of everybody, shape (lines, identities)."""
        size = int(self.stratum.max()) + 1
        own_n, own_s = np.zeros((2, size, self.identities))
        np.add.at(own_n, self.stratum, self.n)
        np.add.at(own_s, self.stratum, self.s)
        rate = np.divide(own_s, own_n, out=np.zeros_like(own_s), where=own_n > 0)
        total = own_n.sum(axis=1)
        everyone = np.divide(own_s.sum(axis=1), total, out=np.zeros(size), where=total > 0)
        return self.s - rate[self.stratum] * self.n, np.broadcast_to(everyone[self.stratum, None], self.s.shape)

    @cached_property
    def null_answers(self) -> Array:
        """The answers had nobody been preferred: differences between identities taken out, their scatter kept."""
        residual, everyone = self._residuals
        _, first = np.unique(self.scene, return_index=True)  # each is of one stratum
        scenes = np.bincount(self.stratum[first])[self.stratum]
        wider = np.sqrt(scenes / np.maximum(scenes - 1, 1))[:, None]
        return everyone * self.n + wider * residual

    @cached_property
    def error_correlation(self) -> Array:
        """Correlation of the errors of the identities' frequencies, shape (identities, identities)."""
        residual, _ = self._residuals
        of_scene = np.zeros((int(self.scene.max()) + 1, self.identities))
        np.add.at(of_scene, self.scene, residual / np.maximum(self.n.sum(axis=0), 1e-12))
        return correlation_matrix(of_scene.T @ of_scene)

    def permute_identities(self, s: Array, draws: int, seed: int) -> Array:
        """Selection frequencies with identities dealt anew to the pictures of each scene, shape (draws, identities).

        Had nobody been preferred, it would not matter which of a scene's pictures shows whom. All pictures of one
        person as one identity go together.
        """
        scenes, activities = int(self.scene.max()) + 1, int(self.activity.max()) + 1
        crossed = scenes * activities <= 2 * len(self.n)  # scenes have about the same activities
        deal = self._dealt_by_scene(s, scenes, activities) if crossed else self._dealt_by_line(s)
        step = max(1, _BLOCK // max(self.n.size, 2 * activities * self.identities))
        orders = draw_orders(draws, scenes, self.identities, seed)
        return np.concatenate([deal(orders[start : start + step]) for start in range(0, draws, step)])

    def _dealt_by_scene(self, s: Array, scenes: int, activities: int) -> Callable[[Orders], Array]:
        """From deals of the shape (deals, scenes, identities) to frequencies; a scene's activities move as one."""
        answers = np.zeros((scenes, self.identities, 2, activities))
        answers[self.scene, :, 0, self.activity], answers[self.scene, :, 1, self.activity] = self.n, s

        def deal(order: Orders) -> Array:
            sums = answers[0].take(order[:, 0], axis=0)
            for scene in range(1, scenes):
                sums += answers[scene].take(order[:, scene], axis=0)
            return _frequencies(sums[:, :, 0], sums[:, :, 1], axis=-1)

        return deal

    def _dealt_by_line(self, s: Array) -> Callable[[Orders], Array]:
        """The same where each scene has activities of its own."""
        first = np.arange(0, self.n.size, self.identities)[:, None, None]

        def deal(order: Orders) -> Array:
            place = first + np.ascontiguousarray(order.transpose(1, 2, 0))[self.scene]  # (lines, identities, deals)
            return self.selection_frequencies(self.n.take(place), s.take(place)).T

        return deal

    @property
    def smallest_p(self) -> float:
        """Smallest p of a test by dealing: all deals that only rename identities look alike."""
        return float(np.exp(-scipy.special.gammaln(self.identities + 1) * (self.count - 1)))


@lru_cache(maxsize=16)
def draw_orders(draws: int, scenes: int, identities: int, seed: int) -> Orders:
    """Orders of the identities in each scene; kept between calls, as most questions have the same scenes."""
    rng, out = np.random.default_rng(seed), np.empty((draws, scenes, identities), np.min_scalar_type(identities))
    step = max(1, _BLOCK // (scenes * identities))
    for start in range(0, draws, step):
        orders = out[start : start + step]
        orders[:] = rng.random(orders.shape).argsort(axis=2)
    return out


def _frequencies(options: Array, chosen: Array, *, axis: int) -> Array:
    """Mean over activities, along an axis, of the percentage of options that were chosen; NaN without any option."""
    seen = options > 0
    rate = np.divide(chosen, options, out=np.zeros_like(chosen), where=seen)
    count = seen.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, 100 * rate.sum(axis=axis) / count, np.nan)


def correlation_matrix(covariance: Array) -> Array:
    """Correlations of a covariance matrix; those of what does not vary are zero.

    Examples
    --------
    >>> correlation_matrix(np.array([[4.0, -2.0], [-2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.nan_to_num(covariance / np.outer(scale, scale))
    np.fill_diagonal(out, 1.0)
    return np.clip(out, -1.0, 1.0)


def crossed_correlation(first: Codes, second: Codes, n: Array, se: Array) -> Array:
    """Correlation of errors where pictures stand beside several pictures of the same other identity.

    `first`, `second`, `n`: answers of each couple of identities, which is there in both orders.

    Equation
    --------
    M diag(se²) M', M_ii = 1, M_ij = -n_ij / n_i: what is added to one identity is taken from those beside it.

    Examples
    --------
    >>> crossed_correlation(np.array([0, 1]), np.array([1, 0]), np.ones(2), np.ones(2)).round(6).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    size = se.size
    moved = np.zeros((size, size))
    np.add.at(moved, (first, second), -n / np.bincount(first, n, size)[first])
    np.fill_diagonal(moved, 1.0)
    return correlation_matrix(moved * np.nan_to_num(se) ** 2 @ moved.T)


def draw_frequencies(se: Array, related: Array, df: float, draws: int, seed: int, centre: float = 50.0) -> Array:
    """Selection frequencies had nobody been preferred, drawn from t with the errors of those found.

    `se` and `related`: standard errors in percent, and their correlations. `centre`: what everybody has then.
    Returns values of shape (draws, identities), in percent.
    """
    values, vectors = np.linalg.eigh(related * np.outer(se, se))
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((draws, se.size)) @ root.T
    scale = np.sqrt(max(df, 1.0) / rng.chisquare(max(df, 1.0), size=(draws, 1)))
    return np.clip(centre + scale * normal, 0.0, 100.0)


def frequency_spread(selected: Array) -> Array:
    """Standard deviation (ddof 1) over the last axis: how far identities lie apart; NaN of fewer than two."""
    if selected.shape[-1] < 2:
        return np.full(selected.shape[:-1], np.nan)
    return selected.std(axis=-1, ddof=1)


def spread_error(selected: Array, se: Array, related: Array) -> float:
    """Standard error of `frequency_spread` by the delta method.

    Equation
    --------
    se² = g' Σ g, g_i = (S_i - mean S) / ((k - 1) spread), Σ the covariance of the S_i.
    """
    size = float(frequency_spread(selected))
    if not size > 0 or not np.isfinite(se).all():
        return float("nan")
    slope = (selected - selected.mean()) / ((selected.size - 1) * size)
    return float(np.sqrt(max(slope @ (related * np.outer(se, se)) @ slope, 0.0)))


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
        for _ in range(_STEPS):
            middle = (low + high) / 2
            tail = (1 - LEVEL) / 2 * -np.expm1(-middle / 4)
            below = scipy.special.ncfdtr(nu, df, middle, f)
            is_within = below > tail if upper else 1 - below < 1 - LEVEL - tail
            low, high = (middle, high) if is_within else (low, middle)
        return float(np.sqrt(mean / nu * (high if p < 1 - LEVEL or upper else 0.0)))

    return min(limit(upper=False), value), max(limit(upper=True), value)


def null_floor(null: Array, value: npt.ArrayLike, p: npt.ArrayLike) -> Floor:
    """Mean and 95th percentile of a null of shape (draws, estimates), with p of the values."""
    return Floor(null.mean(axis=0), np.quantile(null, 0.95, axis=0), np.broadcast_to(p, np.shape(value)))


def critical_value(null: Array) -> Array:
    """Value above which `share_beyond` is less than 1 - `LEVEL`; infinity where no value is.

    Examples
    --------
    >>> null = np.arange(100.0)
    >>> [share_beyond(null, critical_value(null) + more).round(3).tolist() for more in (0.0, 0.5)]
    [0.059, 0.05]
    """
    reaching = int(np.ceil((1 - LEVEL) * (1 + null.shape[0]))) - 2  # draws that may reach it, at most
    if reaching < 0:
        return np.full(null.shape[1:], np.inf)
    return np.asarray(np.sort(null, axis=0)[null.shape[0] - 1 - reaching] + _SLACK)


def share_beyond(null: Array, value: npt.ArrayLike) -> Array:
    """Share of a null of shape (draws, ...) that reaches a value, the value itself among them."""
    values = np.asarray(value, dtype=np.float64)
    hits = (null >= values - _SLACK).sum(axis=0)
    return np.where(np.isfinite(values), (1.0 + hits) / (1.0 + null.shape[0]), np.nan)


def selection_spread(
    selected: Array, se: Array, related: Array, df: float, scenes: Scenes | None, seed: int
) -> PairSpread:
    """Take the spread of selection frequencies with all that goes with it.

    `scenes`: answers by scene; None where pictures are paired across scenes: then the null is `draw_frequencies`.

    Notes
    -----
    p: identities are dealt anew to the pictures of each scene (`Scenes.permute_identities`), 1,000 times, and on to
    20,000 until 20 deals reach the value (Besag and Clifford 1991). The floor and the interval are of the same deals
    with differences between identities taken out first, so that they don't grow with what was found.
    """
    none = float("nan")
    if selected.size < 2 or not np.isfinite(se).all() or only_values():
        value = float(frequency_spread(selected)) if selected.size else none
        return PairSpread(value, none, none, none, none, none, none, none)
    value, error = float(frequency_spread(selected)), spread_error(selected, se, related)
    if scenes is None:
        null = frequency_spread(draw_frequencies(se, related, df, NULL_DRAWS * 10, seed))
        p, p_least = float(share_beyond(null, value)), 1.0 / (1 + null.size)
        freedom = max(df, 1.0)
    else:
        null = frequency_spread(scenes.permute_identities(scenes.null_answers, NULL_DRAWS, seed + 1))
        p, p_least = _dealt_p(scenes, value, seed)
        freedom = max((selected.size - 1.0) * (scenes.count - scenes.strata), 1.0)
    low, high = spread_interval(value, null, selected.size, freedom, p)
    return PairSpread(value, error, low, high, float(null.mean()), float(np.quantile(null, 0.95)), p, p_least)


def _dealt_p(scenes: Scenes, value: float, seed: int) -> tuple[float, float]:
    hits = draws = 0
    while draws < MOST_NULL_DRAWS and hits < ENOUGH_NULL_DRAWS:
        spreads = frequency_spread(scenes.permute_identities(scenes.s, NULL_DRAWS, seed + 2 + draws))
        hits += int((spreads >= value - 1e-9).sum())
        draws += NULL_DRAWS
    return max((1.0 + hits) / (1.0 + draws), scenes.smallest_p), max(1.0 / (1 + MOST_NULL_DRAWS), scenes.smallest_p)
