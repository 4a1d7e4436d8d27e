"""Groups of sets against a majority that is alike, and the spread between groups.

A group's difference from the mean of all groups moves with every other group: where two of ten are planted, the other
eight lie below that mean by a quarter of the shift, and are found. So each group is compared with a majority that is
alike, whichever it is. As few groups as explain the sets count as apart, as far as the data can tell which they are.
Spreads (Figures 5 and 7 of the paper of the counterfactual sets) are positive whatever the groups are, and larger where
sets are few: so they stand beside what chance gives.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, only_values
from facevalue.measures.intervals import (
    ALIKE_SHIFTS,
    EQUAL_WITHIN,
    ONE_CLUSTER_ONLY,
    IntervalKind,
    name_method,
    name_unmeasured,
    widen_interval,
)
from facevalue.measures.missing_data_bounds import Replies
from facevalue.measures.noise_floors import CHI_SQUARED_INVERSION, distance_interval
from facevalue.measures.uncertainty import Bounds, Estimates, Floor, no_floor

Places = npt.NDArray[np.int64]
_DRAWS, _DRAWS_OF_MANY, _MANY, _ENOUGH = (2_000, 10_000), (2_000, 4_000), 16, 20
"""Worlds without a difference, and as many of a minority apart, from which p is taken, at first and at most, for up to
so many groups and for more; and how many of the first must have as much evidence, so that no further ones are drawn."""
_PRICE = 2.0
"""Cost of each further group that stands apart, in squared standard errors."""
_MINORITY, _SHIFT = 0.4, 2.0
"""Share of groups that stand apart in the second kind of worlds, and how far in standard errors: there it errs most."""
_STEP = 1.5
"""By which factors variances differ that worlds tell apart."""
_SLACK, _TIE = 1e-12, 1e-9
"""Tolerance for rounding of equal numbers: which of two equal explanations holds must not hang on the processor."""


def draws_for(groups: int) -> tuple[int, ...]:
    """Number of worlds drawn, at first and at most."""
    return _DRAWS if groups <= _MANY else _DRAWS_OF_MANY


def tail_p(null: Array, evidence: Array) -> Array:
    """P-values of evidence among what was drawn, sorted."""
    return (1 + null.size - np.searchsorted(null, evidence - _SLACK)) / (1 + null.size)


class Explanations:
    """Explanations of effects, shape (worlds, groups): for each group the cheapest with it alike, and with it apart.

    At least half of `groups` are alike: of all, also of those that stand apart for sure and have no effect here.

    Attributes
    ----------
    evidence:
        By how much the cheapest with the group apart is cheaper.
    """

    def __init__(self, mean: Array, variance: Array, groups: int) -> None:
        order = np.argsort(np.round(mean / np.sqrt(variance.mean(axis=1, keepdims=True)), 9), axis=1, kind="stable")
        self._at = np.argsort(order, axis=1, kind="stable")
        z = np.take_along_axis(mean, order, axis=1)
        self._middle = z.mean(axis=1, keepdims=True)
        self._z = z - self._middle
        self._v = np.take_along_axis(np.broadcast_to(variance, mean.shape), order, axis=1)
        self._groups = groups
        right, left, self._apart = (np.full(mean.shape, np.inf) for _ in range(3))
        for low, high, cost, middle, spread in self._windows():
            distance = self._z - middle
            alike = cost + distance**2 / spread
            np.minimum(right, np.where(distance > 0, alike, cost), out=right)
            np.minimum(left, np.where(distance < 0, alike, cost), out=left)
            if self._has_majority_without(low, high):
                np.minimum(self._apart, cost + _PRICE, out=self._apart)
        self.evidence = self._back(np.maximum(right, left) - self._apart)

    def cheapest(self) -> tuple[Array, Array, Array]:
        """Reference mean that each group is compared with under the cheapest explanation of all.

        Returns the mean of the groups that are alike, without the group itself, and the standard error of the group's
        distance from it, both of shape (worlds, groups); and, of the first world, which groups these are: 1 or 0, shape
        (groups, groups).
        """
        lowest = np.full(self._z.shape, np.inf)
        centre, error, first, last = (np.zeros(lowest.shape) for _ in range(4))
        for low, high, cost, middle, spread in self._windows():
            best = cost + (self._z - middle) ** 2 / spread
            best = np.minimum(best, cost + _PRICE) if self._has_majority_without(low, high) else best
            better = best <= lowest * (1 + _TIE) + _TIE  # of equal ones the last: the most groups are alike
            lowest = np.where(better, best, lowest)
            centre, error = np.where(better, middle, centre), np.where(better, spread, error)
            first, last = np.where(better, low, first), np.where(better, high, last)
        k = lowest.shape[1]
        held = (np.arange(k) >= first[0][:, None]) & (np.arange(k) < last[0][:, None]) & ~np.eye(k, dtype=np.bool_)
        others = held[np.ix_(self._at[0], self._at[0])].astype(np.float64)
        return self._back(centre + self._middle), self._back(np.sqrt(error)), others

    def spread(self) -> Array:
        """Cost of the explanation that all groups are alike, shape (worlds,)."""
        weight = 1 / self._v
        mean = (weight * self._z).sum(axis=1) / weight.sum(axis=1)
        return np.asarray((weight * (self._z - mean[:, None]) ** 2).sum(axis=1))

    def _has_majority_without(self, low: Places, high: Places) -> bool:
        """Return whether more than half of the groups are alike without the group itself."""
        return 2 * int(high[-1] - low[-1]) > self._groups

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
        sums = np.empty_like(moments)
        for size in range((self._groups - 1) // 2, k):
            for start in range(k - size):
                low, high = start + (place <= start), start + size + (place < start + size)
                end = start + size
                sums[:, :, : start + 1] = (total[:, :, end + 1] - total[:, :, start + 1])[:, :, None]
                sums[:, :, end:] = (total[:, :, end] - total[:, :, start])[:, :, None]
                inside = slice(start + 1, end)  # these are among their neighbours, and left out
                sums[:, :, inside] = (total[:, :, end + 1] - total[:, :, start])[:, :, None] - moments[:, :, inside]
                weight, first, second = sums
                cost = np.maximum(second - first**2 / weight, 0.0) + _PRICE * (k - 1 - size)
                yield low, high, cost, first / weight, self._v + 1 / weight

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


@dataclass(frozen=True, slots=True)
class Worlds:
    """Evidence in drawn worlds, sorted: in those in which all groups are alike, and in those with a minority apart."""

    spread: Array
    """Spread of the groups in the first world."""
    single: Array
    """Of each group of the first."""
    largest: tuple[Array, Array]
    """The largest of all that are alike."""

    def p_of_largest(self, evidence: Array) -> Array:
        """The chance that any group that is alike has as much."""
        return np.fmax(*(tail_p(null, evidence) for null in self.largest))


def enough_worlds(evidence: float, variance: Array, df: Array, groups: int, seed: int) -> Worlds:
    """Draw worlds, more of them where few have so much evidence."""
    steps = np.rint(np.log(variance / variance.min()) / np.log(_STEP))  # so that many share the same worlds
    freedoms = np.round(np.minimum(df, 1000.0), 6)
    order = np.lexsort((freedoms, steps))
    v, freedom = (tuple(x.tolist()) for x in (_STEP ** steps[order], freedoms[order]))
    for draws in draws_for(variance.size):
        worlds = _worlds(v, freedom, groups, draws, seed)
        if worlds.p_of_largest(np.array([evidence]))[0] * (1 + draws) > _ENOUGH:
            break
    return worlds


@lru_cache(maxsize=128)
def _worlds(variance: tuple[float, ...], df: tuple[float, ...], groups: int, draws: int, seed: int) -> Worlds:
    """Draw worlds of the groups that do not stand apart for sure, of `groups`."""
    rng = np.random.default_rng(seed)
    v, freedom = np.array(variance), np.array(df)
    shape = (draws, v.size)
    noise = rng.normal(size=shape) * np.sqrt(v * freedom / rng.chisquare(freedom, size=shape))
    minority = max(int(_MINORITY * groups) - (groups - v.size), 0)
    apart = np.argsort(rng.random(shape), axis=1) < minority
    alone, two = (Explanations(x, v[None, :], groups) for x in (noise, noise + _SHIFT * np.sqrt(v.mean()) * apart))
    largest = np.where(apart, -np.inf, two.evidence).max(axis=1)
    return Worlds(
        np.sort(alone.spread()),
        np.sort(alone.evidence.ravel()),
        (np.sort(alone.evidence.max(axis=1)), np.sort(largest)),
    )


Codes = npt.NDArray[np.int64]
MAJORITY_INVERSION = name_method(IntervalKind.INVERSION, "contrast with a majority of alike groups, over sets")
T_OF_TWO_GROUPS = name_method(IntervalKind.T, "over sets, of one group against the other")
_WIDER = 2.0
"""By how many of its own standard errors a group's variance must exceed the pooled one to count instead of it."""
_VALUE_SLACK = 1e-12
_SINGULAR = 1e-10
"""Eigenvalues that are smaller, as parts of the largest, are zero but for rounding."""


@dataclass(frozen=True, slots=True)
class GroupEffects:
    """Groups of sets beside each other, whatever the sets have in common taken off; arrays of shape (groups,)."""

    mean: Array
    """Effects, of sum zero; NaN for a group that cannot be compared."""
    variance: Array
    """Contribution of each group's own replies to the variance of differences."""
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
    v_g is clearly larger (by two of its standard errors), and at least what one further set like these could change. It
    is pooled over groups that are in half as many sets as the most frequent one: few sets follow their group's effect,
    so that they leave too small residuals, and would weigh most. Of a group that was in two of 20 sets on average, it
    stood apart by chance in .25 of 200 audits, and now in .02.

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
    inverse = np.linalg.pinv(normal, rcond=_SINGULAR, hermitian=True)  # what all have in common is no effect
    centred = sums - counts * sums.sum(axis=1, keepdims=True) / size
    effect = inverse @ centred.sum(axis=0)
    effect[np.abs(effect) <= EQUAL_WITHIN * max(1.0, float(np.abs(values[answered]).max()))] = (
        0.0  # rounding is no effect
    )
    explained = counts * (effect - (counts * effect).sum(axis=1, keepdims=True) / size)
    mean[seen] = effect
    many = counts.shape[0]
    if many < 2:
        return GroupEffects(mean, variance, df, n, sets)
    influence = (centred - explained) @ inverse
    robust = _shares((influence**2).sum(axis=0) * many / (many - 1))
    weight = np.maximum(_shares(np.diag(inverse)), _VALUE_SLACK)
    further = ((centred @ inverse) ** 2).sum(axis=0) / many
    wider = np.zeros(k, dtype=np.bool_)
    often = 2 * sets[seen] >= sets.max()
    for _ in range(k):  # without those that vary more, others may, too
        alike = often & ~wider if (often & ~wider).any() else ~wider
        pooled = weight * max(robust[alike].sum(), 0.0) / weight[alike].sum()
        limit = pooled * (1 + _WIDER * np.sqrt(2 / (many - 1))) + _SINGULAR * robust.max()  # rounding is no variance
        before, wider = wider, robust > limit
        if (before == wider).all():
            break
    variance[seen] = np.maximum(np.where(wider, robust, pooled), further.mean())
    df[seen] = np.where(wider, many - 1.0, (many - 1.0) * max(k - 1.0 - wider.sum(), 1.0))
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
    """Of each group by itself."""
    q: Array
    """P-values for all groups together: the chance that any group of the majority has one below .05 is .05."""
    bounds: Bounds
    """Bounds of each had all missing values gone one way or the other."""
    p_any: float
    """P-value of all groups being alike. Where it is small and no group stands apart, as many could be affected as
    not, or too little is known to say which are."""
    p_least: float
    """Smallest p that could have come; the smallest q is as many times that as there are groups. NaN: any could."""


def from_majority(
    values: Array, seed: int, limits: tuple[float, float] | None = None, replies: Replies | None = None
) -> Contrasts:
    """Estimate each group's distance from the groups that are alike, with tests and intervals for all groups together.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none. Any set of which two groups have a value counts.
    limits:
        Smallest and largest value that a missing one could have; by default those of the values that are there.
    replies:
        What was asked and came back, by set and group (`replies_of`); by default there is all that was asked for.

    Equation
    --------
    With m_g, v_g of `group_effects`: an explanation is a set A of groups that stand apart, at most half of all; the
    rest S are alike. It costs Q_S + 2 |A|, Q_S = sum_S (m_g - m_S)² / v_g. The value is m_g - m_{S without g} under the
    cheapest. The evidence T_g is how much more the cheapest explanation costs in which g is alike than the cheapest in
    which g stands apart, with fewer than half. p is the chance that one group has as much where all are alike; the
    interval holds all shifts of g at which p is .05 or more. q is the chance that any group has that is alike: where
    all are, or where four in ten lie two standard errors above the others, whichever is larger. It is stepped down
    (Romano and Wolf 2005, "Stepwise multiple testing as formalized data snooping") from the largest evidence on: groups
    with q below .05 are taken to stand apart when the next is judged, whose q is never smaller than theirs.
    Of two groups one is compared with the other, by t.

    Where no set differs from another at all, and limits are given, intervals are those of `intervals.widen_interval`.

    Bounds compare the mean of g, all its missing values at one limit, with the mean of the groups of S, all of theirs
    at the other (Manski 1989); S is that of the values that are there, and all groups where no set differs from
    another.

    Notes
    -----
    S is sought among groups that are neighbours in the order of their effects, which are the cheapest for equal v. Of
    groups of which exactly half stand apart nobody can say which half: then none is named once the halves are clearly
    apart, and while they are not, a group of the "wrong" half has q below .05 in about a tenth of all audits at most.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(50, 6, 3))
    >>> values[:, :2] += 1
    >>> found = from_majority(values, seed=0)
    >>> (found.q < 0.05).tolist()
    [True, True, False, False, False, False]
    """
    effects = group_effects(values)
    measurable = np.flatnonzero(np.isfinite(effects.variance) & (effects.variance > _VALUE_SLACK))
    out = _plain(effects)
    q = np.full(out.value.shape, np.nan)
    if measurable.size < 2:
        if limits is not None:
            out = _widen_flat_intervals(out, limits)
            q = q if out.p is None else out.p
        return Contrasts(out, q, _from_mean(values, out.value, replies, limits), np.nan, np.nan)
    mean, variance, df = effects.mean[measurable], effects.variance[measurable], effects.df[measurable]
    if measurable.size == 2:
        value, low, high, se, p, p_any = _pair(mean, variance, float(df.min()))
        others, q[measurable] = 1 - np.eye(2), p
    else:
        explained = Explanations(mean[None, :], variance[None, :], mean.size)
        centre, error, others = explained.cheapest()
        value, se = mean - centre[0], error[0]
        low, high, p, q[measurable], p_any = _test_explanations(explained, variance, df, seed)
        low, high = mean - high, mean - low
    weight = others / variance
    weight /= weight.sum(axis=1, keepdims=True)
    ends = _bound_distances(values[:, measurable], replies, measurable, limits, weight)
    bounds = _no_bounds(out.value)
    bounds.low[measurable], bounds.high[measurable] = np.fmin(ends.low, value), np.fmax(ends.high, value)
    bounds.missing[measurable], bounds.se[measurable] = ends.missing, ends.se
    targets = (out.value, out.low, out.high, out.se, out.p, bounds.value)
    for target, result in zip(targets, (value, low, high, se, p, value), strict=True):
        assert target is not None
        target[measurable] = result
    out.method[measurable] = T_OF_TWO_GROUPS if measurable.size == 2 else MAJORITY_INVERSION
    count = measurable.size * (1 + draws_for(measurable.size)[-1])
    return Contrasts(out, q, bounds, p_any, 1 / count if measurable.size > 2 else np.nan)


def _pair(mean: Array, variance: Array, df: float) -> tuple[Array, Array, Array, Array, Array, float]:
    """Two groups, each against the other: value, low, high, standard error, p, and p of both."""
    value, se = mean - mean[::-1], np.full(2, np.sqrt(variance.sum()))
    p = 2 * scipy.special.stdtr(df, -np.abs(value) / se)
    reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    return value, value - reach, value + reach, se, p, float(p[0])


def _test_explanations(
    explained: Explanations, variance: Array, df: Array, seed: int
) -> tuple[Array, Array, Array, Array, float]:
    """Between what each group could lie, the others as they are; its p and q; and p of all groups being alike."""
    none, groups = np.full(variance.shape, np.nan), variance.size
    if only_values():
        return none, none, none, none, np.nan
    evidence = explained.evidence[0]
    worlds = enough_worlds(float(evidence.max()), variance, df, groups, seed)
    p = tail_p(worlds.single, evidence)
    low, high = explained.ends(float(worlds.single[int(np.ceil(LEVEL * (worlds.single.size + 1))) - 1]))
    p_any = float(tail_p(worlds.spread, explained.spread())[0])
    q, before = np.fmax(p, worlds.p_of_largest(evidence)), 0.0
    order = np.argsort(-np.round(evidence, 9), kind="stable")
    for rank, group in enumerate(order):
        if rank and before < q[group] and before < 1 - LEVEL and 2 * (rank + 1) < groups:
            left = order[rank:]
            worlds = enough_worlds(float(evidence[group]), variance[left], df[left], groups, seed)
            q[left] = np.fmax(p[left], worlds.p_of_largest(evidence[left]))
        before = q[group] = max(q[group], before)
    return low[0], high[0], p, q, p_any


def replies_of(
    values: Array, asked: npt.NDArray[np.bool_] | None = None, limits: tuple[float, float] | None = None
) -> Replies:
    """Return what was asked and came back, by set and group.

    `values`: shape (sets, groups, draws); NaN where there is none. `asked`: which were asked for, of the same shape;
    all that there are by default. `limits`: between which values are cut.
    """
    answered = np.isfinite(values)
    requests = answered if asked is None else asked | answered
    sums = np.where(answered, values if limits is None else np.clip(values, *limits), 0.0).sum(axis=2)
    return Replies(sums, *(count.sum(axis=2).astype(np.float64) for count in (answered, requests)))


def _bound_distances(
    values: Array, replies: Replies | None, groups: Codes, limits: tuple[float, float] | None, weight: Array
) -> Bounds:
    """Bounds of each group's distance from weighted others, shape (groups, groups), with standard errors over sets."""
    finite = values[np.isfinite(values)]
    poles = limits or (float(finite.min()), float(finite.max()))
    totals = replies_of(values) if replies is None else replies
    sums, valid, requests = (x if replies is None else x[:, groups] for x in (totals.sums, totals.valid, totals.asked))
    lost = requests - valid
    is_whole = (requests > 0).all(axis=1)
    low, high = (cell_means(sums + pole * lost, requests)[is_whole] for pole in poles)
    ends = low - high @ weight.T, high - low @ weight.T
    missing = cell_means(lost.sum(axis=0), requests.sum(axis=0))
    few, sets = np.full(missing.shape, np.nan), int(is_whole.sum())
    if not sets:
        return Bounds(few, few, few, missing, few)
    se = np.max([end.std(axis=0, ddof=1) for end in ends], axis=0) / np.sqrt(sets) if sets > 1 else few
    return Bounds(few, ends[0].mean(axis=0), ends[1].mean(axis=0), (missing + weight @ missing) / 2, se)


def _from_mean(values: Array, effect: Array, replies: Replies | None, limits: tuple[float, float] | None) -> Bounds:
    """Bounds of effects of groups that stand beside all groups, where no set differs from another."""
    bounds, finite = _no_bounds(effect), np.flatnonzero(np.isfinite(effect))
    if finite.size > 1 and limits is not None:
        others = (1 - np.eye(finite.size)) / (finite.size - 1)
        ends = _bound_distances(values[:, finite], replies, finite, limits, others).times(
            (finite.size - 1) / finite.size
        )
        bounds.low[finite], bounds.high[finite] = np.fmin(ends.low, effect[finite]), np.fmax(ends.high, effect[finite])
        bounds.missing[finite], bounds.se[finite] = ends.missing, ends.se
    return bounds


def _no_bounds(value: Array) -> Bounds:
    return Bounds(value.copy(), *(np.full(value.shape, np.nan) for _ in range(4)))


def _plain(effects: GroupEffects) -> Estimates:
    """Effects without a test, with the reason."""
    none = np.full(effects.mean.shape, np.nan)
    method = np.full(none.shape, ONE_CLUSTER_ONLY, dtype=object)
    method[effects.sets > 1] = name_method(IntervalKind.NONE, "no set differs from another")
    method[~np.isfinite(effects.mean)] = name_unmeasured("no set has this group beside the others")
    return Estimates(
        effects.mean.copy(), none, none.copy(), effects.n, effects.sets, method, none.copy(), none.copy()
    )  # fmt: skip


def _widen_flat_intervals(estimates: Estimates, limits: tuple[float, float]) -> Estimates:
    """The same; where no set differs from another, with the interval of `intervals.widen_interval`."""
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
    low[flat], high[flat], p[flat] = widen_interval(
        estimates.value[flat], se, estimates.clusters[flat], estimates.value[flat], span, LEVEL
    )
    method[flat] = ALIKE_SHIFTS
    return replace(estimates, low=low, high=high, p=p, method=method)


SET_SPREAD_INVERSION = f"{CHI_SQUARED_INVERSION}, of squares, over sets"


def group_deviation(values: Array) -> Estimates:
    """Standard deviation between the groups' means within sets, and what groups without any difference give.

    Parameters
    ----------
    values:
        Shape (sets, groups, draws); NaN where there is none. Any set of which two groups have a value counts.

    Returns
    -------
    One estimate with its floor, whose p is one-sided, of groups that are alike.

    Equation
    --------
    s² = sum_g m_g² / (k - 1), m_g the effects of `group_effects`: with whole sets the variance of the groups'
    means (Figures 5 and 7); where values are missing, groups are still compared within sets. Without any difference s²
    / v̄ is F distributed, v̄ the mean of the effects' variances v_g: k - 1 degrees of freedom, fewer where these differ
    ((k - 1)/k (sum v)² / sum v², Box 1954), and those of v. Its mean and 95th percentile are the floor of s²; the
    interval of the true variance is `noise_floors.distance_interval`'s, and roots are taken of all. It begins at zero
    where p is .05 or more.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(50, 6, 3))
    >>> values[:, :2] += 1
    >>> spread = group_deviation(values)
    >>> spread.value.round(2).tolist(), spread.floor.high.round(2).tolist(), (spread.floor.p < 0.001).tolist()
    ([0.53], [0.12], [True])
    """
    effects = group_effects(values)
    answered = np.isfinite(values).any(axis=2)
    used = answered.sum(axis=1) > 1
    n, sets = int(np.isfinite(values[used]).sum()), int(used.sum())
    mean = effects.mean[np.isfinite(effects.mean)]
    k = mean.size
    if k < 2:
        method = name_unmeasured("no set has two groups to compare")
        return replace(Estimates.single(np.nan, np.nan, np.nan, np.nan, n, sets, method), floor=no_floor(1))
    square = np.array([float((mean**2).sum()) / (k - 1)])
    value = float(np.sqrt(square[0]))
    variance = effects.variance[np.isfinite(effects.mean)]
    if only_values() or not variance.sum() > 0:
        method = name_method(IntervalKind.NONE, "no set differs from another, or there is one alone")
        return replace(Estimates.single(value, np.nan, np.nan, np.nan, n, sets, method), floor=no_floor(1))
    floor = _floor(square, variance, float(np.nanmin(effects.df)))
    low, high = (float(np.sqrt(end[0])) for end in distance_interval(square, floor))
    floor_of_root = Floor(np.sqrt(floor.mean), np.sqrt(floor.high), floor.p)
    return replace(Estimates.single(value, low, high, np.nan, n, sets, SET_SPREAD_INVERSION), floor=floor_of_root)


def _floor(square: Array, variance: Array, df: float) -> Floor:
    """Of the variance between groups, where they are alike."""
    size, mean = variance.size, float(variance.mean())
    between = (size - 1) / size * float(variance.sum()) ** 2 / float((variance**2).sum())
    expected = mean * df / (df - 2) if df > 2 else mean
    high = mean * float(scipy.special.fdtri(between, df, LEVEL))
    p = scipy.special.fdtrc(between, df, square / mean)
    return Floor(np.array([expected]), np.array([high]), p)
