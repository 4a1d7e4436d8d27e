"""Contrasts with the groups that are alike: which groups of sets without a base stand apart from the others.

A group's difference from the mean of all groups moves with every other group: where two of ten are planted, the other
eight lie below that mean by a quarter of the shift, and are found. So each group is compared with a majority that is
alike, whichever it is. As few groups as explain the sets count as apart, as far as the data can tell which they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates, only_values, ratio
from facevalue.measures.estimates import NOT_MEASURABLE
from facevalue.measures.interval_method import NONE
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.unseen import SAME, widened

Places = npt.NDArray[np.int64]
METHOD = "contrast with a majority of alike groups, over sets"
PAIR = "t over sets, of one group against the other"
DRAWS, DRAWS_OF_MANY, MANY, ENOUGH = (2_000, 10_000), (2_000, 4_000), 16, 20
"""Worlds without a difference, and as many of two halves, from which p is taken, at first and at most, for up to so
many groups and for more; and how many of the first must have as much evidence, so that no further ones are drawn."""
_PRICE = 2.0
"""What each further group that stands apart costs, in squared standard errors."""
_HALVES = 3.0
"""How far apart the two halves lie in the second kind of worlds, in standard errors: there it errs most."""
_WIDER = 2.0
"""By how many of its own standard errors a group's variance must exceed the pooled one to count instead of it."""
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class GroupEffects:
    """Groups of sets beside each other, whatever the sets have in common taken off; arrays of shape (groups,)."""

    mean: Array
    """Effects, of sum zero; NaN for a group that cannot be compared."""
    variance: Array
    """What each group's own replies contribute to the variance of differences."""
    df: Array
    """Degrees of freedom of that."""
    n: npt.NDArray[np.int64]
    sets: npt.NDArray[np.int64]
    """Values of the group that count, and sets that they are in."""


def group_effects(values: Array) -> GroupEffects:
    """Effects of groups within sets, from all values of sets of which two groups or more have one.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none.

    Equation
    --------
    Least squares of x_cgd = a_c + m_g + e_cgd, sum_g m_g = 0 (the intra-block analysis of incomplete blocks, Yates
    1940): each value counts once, and is compared with those of the same set alone. With whole sets m_g is the mean of
    x_cg less the mean of its set. Variances are robust, over sets: V = C⁺ (sum_c u_c u_cᵀ) C⁺ G/(G-1), with C the
    normal equations and u_c the residuals of a set. Of V_gg a group's own share is v_g = (V_gg - v̄/k) / (1 - 2/k), v̄
    = k/(k-1) mean V. Groups that have none of some rare replies seem not to vary: the pooled variance counts, unless
    v_g is clearly larger (by two of its standard errors), and at least what one further set like these could change.

    Examples
    --------
    >>> values = np.array([[[1.0], [3.0], [2.0]], [[2.0], [6.0], [np.nan]]])
    >>> group_effects(values).mean.round(3).tolist()[:2]
    [-1.5, 1.5]
    """
    answered = np.isfinite(values)
    counts = answered.sum(axis=2).astype(np.float64)
    sums = np.where(answered, values, 0.0).sum(axis=2)
    used = (counts > 0).sum(axis=1) > 1
    counts, sums = counts[used], sums[used]
    seen = np.flatnonzero(counts.sum(axis=0) > 0)
    groups = values.shape[1]
    mean, variance, df = np.full(groups, np.nan), np.full(groups, np.nan), np.full(groups, np.nan)
    n, sets = counts.sum(axis=0).astype(np.int64), (counts > 0).sum(axis=0)
    if seen.size < 2:
        return GroupEffects(mean, variance, df, n, sets)
    counts, sums = counts[:, seen], sums[:, seen]
    size, k = counts.sum(axis=1, keepdims=True), seen.size
    normal = np.diag(counts.sum(axis=0)) - (counts / size).T @ counts
    if np.linalg.matrix_rank(normal) < k - 1:  # some groups never stand beside the others
        return GroupEffects(mean, variance, df, n, sets)
    inverse = np.linalg.pinv(normal, hermitian=True)
    centred = sums - counts * sums.sum(axis=1, keepdims=True) / size
    effect = inverse @ centred.sum(axis=0)
    explained = counts * (effect - (counts * effect).sum(axis=1, keepdims=True) / size)
    mean[seen] = effect
    many = counts.shape[0]
    if many < 2:
        return GroupEffects(mean, variance, df, n, sets)
    influence = (centred - explained) @ inverse
    robust = _shares((influence**2).sum(axis=0) * many / (many - 1))
    weight = np.maximum(_shares(np.diag(inverse)), _SLACK)
    pooled = weight * max(robust.sum(), 0.0) / weight.sum()
    further = ((centred @ inverse) ** 2).sum(axis=0) / many
    wider = robust > pooled * (1 + _WIDER * np.sqrt(2 / (many - 1)))
    variance[seen] = np.maximum(np.where(wider, robust, pooled), further.mean())
    df[seen] = np.where(wider, many - 1.0, (many - 1.0) * (k - 1.0))
    return GroupEffects(mean, variance, df, n, sets)


def _shares(diagonal: Array) -> Array:
    """Each group's share in variances of effects of sum zero."""
    k = diagonal.size
    if k == 2:
        return 2 * diagonal
    return (diagonal - diagonal.mean() / (k - 1)) / (1 - 2 / k)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Groups against a majority that is alike."""

    estimates: Estimates
    """Of each group. `p_zero` holds for all groups together: the chance that any group of the majority has one below
    .05 is .05."""
    bounds: Bounds
    """What each would be had all missing values gone one way or the other."""
    p_any: float
    """P-value of all groups being alike. Where it is small and no group stands apart, as many could be affected as
    not, or too little is known to say which are."""
    p_least: float
    """Smallest p that could have come; NaN where any could."""


def from_majority(
    values: Array, seed: int, asked: npt.NDArray[np.bool_] | None = None, limits: tuple[float, float] | None = None
) -> Contrasts:
    """How far each group lies from the groups that are alike, with tests and intervals for all groups together.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none. Any set of which two groups have a value counts.
    asked:
        Which values were asked for, all by default; of these, those that are NaN are missing.
    limits:
        Smallest and largest value that a missing one could have; by default those of the values that are there.

    Equation
    --------
    With m_g, v_g of `group_effects`: an explanation is a set A of groups that stand apart, at most half of all; the
    rest S are alike. It costs Q_S + 2 |A|, Q_S = sum_S (m_g - m_S)² / v_g. The value is m_g - m_{S without g} under the
    cheapest. The evidence T_g is how much more the cheapest explanation costs in which g is alike than the cheapest in
    which g stands apart, with fewer than half. p = max(P_0(max T >= T_g), P_½(max T >= T_g)): among worlds in which all
    groups are alike, and among those in which half of them lie three standard errors above the others (then nobody can
    say which half stands apart, and neither must be named). The interval holds all shifts of g at which p is .05 or
    more. Of two groups one is compared with the other, by t.

    Where no set differs from another at all, and limits are given, intervals are those of `unseen.widened`.

    Bounds compare the mean of g, all its missing values at one limit, with the mean of the groups of S, all of theirs
    at the other (Manski 1989); S is that of the values that are there.

    Notes
    -----
    S is sought among groups that are neighbours in the order of their effects, which are the cheapest for equal v.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(50, 6, 3))
    >>> values[:, :2] += 1
    >>> found = from_majority(values, seed=0)
    >>> (found.estimates.p_zero < 0.05).tolist()
    [True, True, False, False, False, False]
    """
    effects = group_effects(values)
    measurable = np.flatnonzero(np.isfinite(effects.variance) & (effects.variance > _SLACK))
    out = _plain(effects)
    if measurable.size < 2:
        if limits is not None:
            out = _widened(out, limits)
        return Contrasts(out, _no_bounds(out.value), np.nan, np.nan)
    mean, variance, df = effects.mean[measurable], effects.variance[measurable], effects.df[measurable]
    if measurable.size == 2:
        value, low, high, se, p, p_any = _pair(mean, variance, float(df.min()))
        others = 1 - np.eye(2)
    else:
        explained = _Explained(mean[None, :], variance[None, :])
        value, se, others = mean - explained.centre[0], explained.error[0], explained.others()
        low, high, p, p_any = _tested(explained, variance, df, seed)
        low, high = mean - high, mean - low
    weight = others / variance
    weight /= weight.sum(axis=1, keepdims=True)
    ends = _bounded(values[:, measurable], None if asked is None else asked[:, measurable], limits, weight)
    bounds = _no_bounds(out.value)
    bounds.low[measurable], bounds.high[measurable] = np.fmin(ends.low, value), np.fmax(ends.high, value)
    bounds.missing[measurable], bounds.se[measurable] = ends.missing, ends.se
    targets = (out.value, out.low, out.high, out.se, out.p_zero, bounds.value)
    for target, part in zip(targets, (value, low, high, se, p, value), strict=True):
        assert target is not None
        target[measurable] = part
    out.method[measurable] = PAIR if measurable.size == 2 else METHOD
    return Contrasts(out, bounds, p_any, 1 / (1 + _draws(measurable.size)[-1]) if measurable.size > 2 else np.nan)


def _draws(groups: int) -> tuple[int, ...]:
    return DRAWS if groups <= MANY else DRAWS_OF_MANY


def _pair(mean: Array, variance: Array, df: float) -> tuple[Array, Array, Array, Array, Array, float]:
    """Two groups, each against the other: value, low, high, standard error, p, and p of both."""
    value, se = mean - mean[::-1], np.full(2, np.sqrt(variance.sum()))
    p = 2 * special.stdtr(df, -np.abs(value) / se)
    reach = special.stdtrit(df, 0.5 + LEVEL / 2) * se
    return value, value - reach, value + reach, se, p, float(p[0])


def _tested(explained: "_Explained", variance: Array, df: Array, seed: int) -> tuple[Array, Array, Array, float]:
    """Between what each group could lie, the others as they are; its p; and that of all groups being alike."""
    none = np.full(variance.shape, np.nan)
    if only_values():
        return none, none, none, np.nan
    for draws in _draws(variance.size):
        spreads, *null = _worlds(*_rounded(variance, df), draws, seed)
        hits = np.max(
            [
                draws_of_group.size - np.searchsorted(draws_of_group, explained.evidence[0] - _SLACK)
                for draws_of_group in null
            ],
            axis=0,
        )
        if hits.min() >= ENOUGH:
            break
    limit = max(float(draws_of_group[int(np.ceil(LEVEL * (draws + 1))) - 1]) for draws_of_group in null)
    p_any = (1 + spreads.size - np.searchsorted(spreads, explained.spread[0] - _SLACK)) / (1 + draws)
    low, high = explained.ends(limit)
    return low[0], high[0], (1 + hits) / (1 + draws), float(p_any)


def _bounded(
    values: Array, asked: npt.NDArray[np.bool_] | None, limits: tuple[float, float] | None, weight: Array
) -> Bounds:
    """Bounds of each group's distance from weighted others, shape (groups, groups), with standard errors over sets."""
    answered = np.isfinite(values)
    requests = (answered if asked is None else asked | answered).sum(axis=2)
    lost = requests - answered.sum(axis=2)
    poles = limits or (float(values[answered].min()), float(values[answered].max()))
    sums = np.where(answered, np.clip(values, *poles), 0.0).sum(axis=2)
    whole = (requests > 0).all(axis=1)
    low, high = (ratio(sums + pole * lost, requests)[whole] for pole in poles)
    ends = low - high @ weight.T, high - low @ weight.T
    missing = ratio(lost.sum(axis=0), requests.sum(axis=0))
    few, sets = np.full(missing.shape, np.nan), int(whole.sum())
    if not sets:
        return Bounds(few, few, few, missing, few)
    se = np.max([end.std(axis=0, ddof=1) for end in ends], axis=0) / np.sqrt(sets) if sets > 1 else few
    return Bounds(few, ends[0].mean(axis=0), ends[1].mean(axis=0), (missing + weight @ missing) / 2, se)


def _no_bounds(value: Array) -> Bounds:
    return Bounds(value.copy(), *(np.full(value.shape, np.nan) for _ in range(4)))


def _plain(effects: GroupEffects) -> Estimates:
    """Effects without a test, with the reason."""
    none = np.full(effects.mean.shape, np.nan)
    how = np.full(none.shape, NONE, dtype=object)
    how[effects.sets > 1] = "no interval: no set differs from another"
    how[~np.isfinite(effects.mean)] = f"{NOT_MEASURABLE}: no set has this group beside the others"
    return Estimates(
        effects.mean.copy(), none, none.copy(), effects.n, effects.sets, how, none.copy(), none.copy()
    )  # fmt: skip


def _widened(estimates: Estimates, limits: tuple[float, float]) -> Estimates:
    """The same; where no set differs from another, with the interval of `unseen.widened`."""
    flat = np.isfinite(estimates.value) & (estimates.clusters > 1)
    if only_values() or not flat.any():
        return estimates
    low, high, p, method = (
        estimates.low.copy(),
        estimates.high.copy(),
        np.full(flat.shape, np.nan),
        estimates.method.copy(),
    )
    se, span = np.zeros(int(flat.sum())), limits[1] - limits[0]
    low[flat], high[flat], p[flat] = widened(
        estimates.value[flat], se, estimates.clusters[flat], estimates.value[flat], span, LEVEL
    )
    method[flat] = SAME
    return replace(estimates, low=low, high=high, p_zero=p, method=method)


class _Explained:
    """Explanations of effects, shape (worlds, groups): for each group the cheapest with it alike, and with it apart.

    Attributes
    ----------
    evidence:
        By how much the cheapest with the group apart is cheaper.
    centre, error:
        Mean of the groups that are alike, without the group itself, under the cheapest of all; and the standard error
        of the group's distance from it.
    spread:
        What it costs that all groups are alike, shape (worlds,).
    """

    def __init__(self, mean: Array, variance: Array) -> None:
        order = np.argsort(mean, axis=1, kind="stable")
        self._order, self._at = order, np.argsort(order, axis=1, kind="stable")
        z = np.take_along_axis(mean, order, axis=1)
        self._middle = z.mean(axis=1, keepdims=True)
        self._z = z - self._middle
        self._v = np.take_along_axis(np.broadcast_to(variance, mean.shape), order, axis=1)
        self._half = -(-mean.shape[1] // 2)
        right, left, self._apart, cheapest = (np.full(mean.shape, np.inf) for _ in range(4))
        centre, error, self._first, self._last = (np.zeros(mean.shape) for _ in range(4))
        for low, high, cost, middle, spread in self._windows():
            distance = self._z - middle
            alike = cost + distance**2 / spread
            np.minimum(right, np.where(distance > 0, alike, cost), out=right)
            np.minimum(left, np.where(distance < 0, alike, cost), out=left)
            best = alike
            if high[0] - low[0] - (low[0] <= 0 < high[0]) > mean.shape[1] // 2:
                np.minimum(self._apart, cost + _PRICE, out=self._apart)
                best = np.minimum(alike, cost + _PRICE)
            better = best < cheapest
            cheapest = np.where(better, best, cheapest)
            centre, error = np.where(better, middle, centre), np.where(better, spread, error)
            self._first, self._last = np.where(better, low, self._first), np.where(better, high, self._last)
        self.evidence = self._back(np.maximum(right, left) - self._apart)
        self.centre, self.error = self._back(centre + self._middle), self._back(np.sqrt(error))
        weight = 1 / self._v
        mean_of_all = (weight * self._z).sum(axis=1) / weight.sum(axis=1)
        self.spread = (weight * (self._z - mean_of_all[:, None]) ** 2).sum(axis=1)

    def _windows(self) -> Iterator[tuple[Places, Places, Array, Array, Array]]:
        """Neighbours among the others that may be alike with each group.

        Yields the places of the first and behind the last, by group; and, by world and group, what they cost, their
        mean and the variance of the group's distance from it.
        """
        w = 1 / self._v
        moments = np.stack([w, w * self._z, w * self._z**2])
        total = np.concatenate([np.zeros((*moments.shape[:2], 1)), moments.cumsum(axis=2)], axis=2)
        k = w.shape[1]
        place = np.arange(k)
        for size in range(self._half - 1, k):
            for start in range(k - size):
                low, high = start + (place <= start), start + size + (place < start + size)
                inside = (place >= low) & (place < high)
                weight, first, second = total[:, :, high] - total[:, :, low] - inside * moments
                cost = np.maximum(second - first**2 / weight, 0.0) + _PRICE * (k - 1 - size)
                yield low, high, cost, first / weight, self._v + 1 / weight

    def others(self) -> Array:
        """Of the first world, which groups each is held against: 1 or 0, shape (groups, groups)."""
        place, k = np.arange(self._z.shape[1]), self._z.shape[1]
        held = (place >= self._first[0][:, None]) & (place < self._last[0][:, None]) & ~np.eye(k, dtype=np.bool_)
        return held[np.ix_(self._at[0], self._at[0])].astype(np.float64)

    def ends(self, limit: float) -> tuple[Array, Array]:
        """From where to where each group could lie, the others as they are, with evidence of no more than a limit."""
        low, high = np.full(self._z.shape, np.inf), np.full(self._z.shape, -np.inf)
        for _, _, cost, middle, spread in self._windows():
            left = limit + self._apart - cost
            reach = np.sqrt(spread * np.maximum(left, 0.0))
            low = np.where(left >= 0, np.minimum(low, middle - reach), low)
            high = np.where(left >= 0, np.maximum(high, middle + reach), high)
        return self._back(low + self._middle), self._back(high + self._middle)

    def _back(self, values: Array) -> Array:
        return np.take_along_axis(values, self._at, axis=1)


def _rounded(variance: Array, df: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Relative variances, rounded and in order: worlds are drawn once for all that are nearly alike."""
    order = np.argsort(variance, kind="stable")
    relative = variance[order] / variance.mean()
    return tuple(max(round(float(v), 1), 0.1) for v in relative), tuple(float(min(d, 1000.0)) for d in df[order])


@lru_cache(maxsize=128)
def _worlds(variance: tuple[float, ...], df: tuple[float, ...], draws: int, seed: int) -> tuple[Array, Array, Array]:
    """Draw worlds in which all groups are alike, and worlds of two halves.

    Returns, sorted, how far groups lie apart in the first, their largest evidence, and in the second the largest of
    the half that stays where it is.
    """
    rng = np.random.default_rng(seed)
    v, freedom = np.array(variance), np.array(df)
    shape = (draws, v.size)
    noise = rng.normal(size=shape) * np.sqrt(v * freedom / rng.chisquare(freedom, size=shape))
    apart = np.argsort(rng.random(shape), axis=1) < v.size // 2
    alone, two = (_Explained(world, v[None, :]) for world in (noise, noise + _HALVES * np.sqrt(v.mean()) * apart))
    largest = np.where(apart, -np.inf, two.evidence).max(axis=1)
    return np.sort(alone.spread), np.sort(alone.evidence.max(axis=1)), np.sort(largest)
