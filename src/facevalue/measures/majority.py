"""Contrasts with the groups that are alike: which groups of sets without a base stand apart from the others.

A group's difference from the mean of all groups moves with every other group: where two of ten are planted, the other
eight lie below that mean by a quarter of the shift, and are found. So each group is compared with a majority that is
alike, whichever it is. As few groups as explain the sets count as apart, as far as the data can tell which they are.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values, ratio
from facevalue.measures.group_explanations import Explanations, draws_for, enough_worlds, tail
from facevalue.measures.interval_method import NONE, IntervalKind, name_method, name_unmeasured
from facevalue.measures.missing_data_bounds import Replies
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.measures.unseen import EQUAL, SAME, widened

Codes = npt.NDArray[np.int64]
METHOD = name_method(IntervalKind.INVERSION, "contrast with a majority of alike groups, over sets")
PAIR = name_method(IntervalKind.T, "over sets, of one group against the other")
_WIDER = 2.0
"""By how many of its own standard errors a group's variance must exceed the pooled one to count instead of it."""
_SLACK = 1e-12
_SINGULAR = 1e-10
"""Eigenvalues that are smaller, as parts of the largest, are zero but for rounding."""


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
    effect[np.abs(effect) <= EQUAL * max(1.0, float(np.abs(values[answered]).max()))] = 0.0  # rounding is no effect
    explained = counts * (effect - (counts * effect).sum(axis=1, keepdims=True) / size)
    mean[seen] = effect
    many = counts.shape[0]
    if many < 2:
        return GroupEffects(mean, variance, df, n, sets)
    influence = (centred - explained) @ inverse
    robust = _shares((influence**2).sum(axis=0) * many / (many - 1))
    weight = np.maximum(_shares(np.diag(inverse)), _SLACK)
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
    """What each would be had all missing values gone one way or the other."""
    p_any: float
    """P-value of all groups being alike. Where it is small and no group stands apart, as many could be affected as
    not, or too little is known to say which are."""
    p_least: float
    """Smallest p that could have come; the smallest q is as many times that as there are groups. NaN: any could."""


def from_majority(
    values: Array, seed: int, limits: tuple[float, float] | None = None, replies: Replies | None = None
) -> Contrasts:
    """How far each group lies from the groups that are alike, with tests and intervals for all groups together.

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

    Where no set differs from another at all, and limits are given, intervals are those of `unseen.widened`.

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
    measurable = np.flatnonzero(np.isfinite(effects.variance) & (effects.variance > _SLACK))
    out = _plain(effects)
    q = np.full(out.value.shape, np.nan)
    if measurable.size < 2:
        if limits is not None:
            out = _widened(out, limits)
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
        low, high, p, q[measurable], p_any = _tested(explained, variance, df, seed)
        low, high = mean - high, mean - low
    weight = others / variance
    weight /= weight.sum(axis=1, keepdims=True)
    ends = _bounded(values[:, measurable], replies, measurable, limits, weight)
    bounds = _no_bounds(out.value)
    bounds.low[measurable], bounds.high[measurable] = np.fmin(ends.low, value), np.fmax(ends.high, value)
    bounds.missing[measurable], bounds.se[measurable] = ends.missing, ends.se
    targets = (out.value, out.low, out.high, out.se, out.p, bounds.value)
    for target, result in zip(targets, (value, low, high, se, p, value), strict=True):
        assert target is not None
        target[measurable] = result
    out.method[measurable] = PAIR if measurable.size == 2 else METHOD
    count = measurable.size * (1 + draws_for(measurable.size)[-1])
    return Contrasts(out, q, bounds, p_any, 1 / count if measurable.size > 2 else np.nan)


def _pair(mean: Array, variance: Array, df: float) -> tuple[Array, Array, Array, Array, Array, float]:
    """Two groups, each against the other: value, low, high, standard error, p, and p of both."""
    value, se = mean - mean[::-1], np.full(2, np.sqrt(variance.sum()))
    p = 2 * scipy.special.stdtr(df, -np.abs(value) / se)
    reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    return value, value - reach, value + reach, se, p, float(p[0])


def _tested(explained: Explanations, variance: Array, df: Array, seed: int) -> tuple[Array, Array, Array, Array, float]:
    """Between what each group could lie, the others as they are; its p and q; and p of all groups being alike."""
    none, groups = np.full(variance.shape, np.nan), variance.size
    if only_values():
        return none, none, none, none, np.nan
    evidence = explained.evidence[0]
    worlds = enough_worlds(float(evidence.max()), variance, df, groups, seed)
    p = tail(worlds.single, evidence)
    low, high = explained.ends(float(worlds.single[int(np.ceil(LEVEL * (worlds.single.size + 1))) - 1]))
    p_any = float(tail(worlds.spread, explained.spread())[0])
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


def _bounded(
    values: Array, replies: Replies | None, groups: Codes, limits: tuple[float, float] | None, weight: Array
) -> Bounds:
    """Bounds of each group's distance from weighted others, shape (groups, groups), with standard errors over sets."""
    finite = values[np.isfinite(values)]
    poles = limits or (float(finite.min()), float(finite.max()))
    totals = replies_of(values) if replies is None else replies
    sums, valid, requests = (x if replies is None else x[:, groups] for x in (totals.sums, totals.valid, totals.asked))
    lost = requests - valid
    is_whole = (requests > 0).all(axis=1)
    low, high = (ratio(sums + pole * lost, requests)[is_whole] for pole in poles)
    ends = low - high @ weight.T, high - low @ weight.T
    missing = ratio(lost.sum(axis=0), requests.sum(axis=0))
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
        ends = _bounded(values[:, finite], replies, finite, limits, others).times((finite.size - 1) / finite.size)
        bounds.low[finite], bounds.high[finite] = np.fmin(ends.low, effect[finite]), np.fmax(ends.high, effect[finite])
        bounds.missing[finite], bounds.se[finite] = ends.missing, ends.se
    return bounds


def _no_bounds(value: Array) -> Bounds:
    return Bounds(value.copy(), *(np.full(value.shape, np.nan) for _ in range(4)))


def _plain(effects: GroupEffects) -> Estimates:
    """Effects without a test, with the reason."""
    none = np.full(effects.mean.shape, np.nan)
    method = np.full(none.shape, NONE, dtype=object)
    method[effects.sets > 1] = name_method(IntervalKind.NONE, "no set differs from another")
    method[~np.isfinite(effects.mean)] = name_unmeasured("no set has this group beside the others")
    return Estimates(
        effects.mean.copy(), none, none.copy(), effects.n, effects.sets, method, none.copy(), none.copy()
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
    return replace(estimates, low=low, high=high, p=p, method=method)
