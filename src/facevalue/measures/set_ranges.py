"""Ranges of scores within counterfactual sets, and what chance alone gives.

MaxToxicity and its kin (equations 1 to 4 of the paper of the counterfactual sets): the largest score of a set's images
less the smallest, for one draw of replies. A range is positive without any difference between images, and grows with
their number, so that values of sets of 10, 12 and 30 images cannot be compared with each other without their floors.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import (
    LEVEL,
    Array,
    cell_means,
    cluster_means,
    cluster_sums,
    only_values,
    standard_error,
)
from facevalue.measures.intervals import ONE_CLUSTER_ONLY, IntervalKind, name_method, name_unmeasured
from facevalue.measures.missing_data_bounds import range_bounds
from facevalue.measures.proportions import effective_size, wilson_interval
from facevalue.measures.uncertainty import Bounds, Estimates, Floor, no_floor

TAIL_QUANTILE = 0.9
"""The published tail: the 90th percentile, linear between ranks."""
SHUFFLED, SHUFFLES, ENOUGH = 100, (1000, 10_000), 20
"""Sets up to which replies are shuffled for p; how often at first and at most; hits after which p is known well."""
_REPLICATES = 20_000  # ranges from which the distribution without any difference is taken
_BLOCK = 2**20  # replies that are shuffled at once: bounds the work space at some 100 MB
_SLACK = 1e-12
Codes = npt.NDArray[np.int64]
_WOODRUFF = name_method(IntervalKind.WOODRUFF, "over sets")
_BEYOND = "above; below, what the test of the {} leaves beyond chance"


def set_ranges(scores: Array) -> Array:
    """Range of scores of each set and draw.

    Parameters
    ----------
    scores:
        Shape (sets, images, draws), images in the same order in all sets; NaN where there is none.

    Returns
    -------
    Shape (sets, draws); NaN where an image has no score, and for sets of one image.

    Equation
    --------
    MaxX_c = max_i X(x_ci) - min_i X(x_ci) over the images i of set c, for one draw (equations 1 to 4).

    Examples
    --------
    >>> set_ranges(np.array([[[0.1, 0.2], [0.4, np.nan]]])).round(3).tolist()
    [[0.3, nan]]
    """
    if scores.shape[1] < 2:
        return np.full((scores.shape[0], scores.shape[2]), np.nan)
    return np.asarray(scores.max(axis=1) - scores.min(axis=1))


@dataclass(frozen=True, slots=True)
class SetRanges:
    """Mean and tail of set ranges; floors are of as many replies to one image.

    Attributes
    ----------
    mean:
        Mean range, of shape (1,); the p of its floor is one-sided.
    tail:
        Quantiles of the ranges, a value for each that was asked for. No p.
    """

    mean: Estimates
    tail: Estimates


def range_summary(
    scores: Array, seed: int, quantiles: tuple[float, ...] = (TAIL_QUANTILE,), clusters: Codes | None = None
) -> SetRanges:
    """Mean and quantiles of set ranges, with the range that chance alone gives.

    Parameters
    ----------
    scores:
        As in `set_ranges`. The set is the cluster, with all its draws.
    quantiles:
        Which; `TAIL_QUANTILE` is the published one.
    clusters:
        Number of the cluster of each row of `scores`, where several rows are of one set: its answers to several
        questions. By default each row is a cluster.

    Notes
    -----
    *Floor.* The range of n replies to one image, of which there are s. W, the range of the s replies, is measured; how
    it grows from s to n replies is taken from the set's own replies: U_k is the mean range of k replies drawn from all
    n s of them without replacement. floor = W U_n / U_s, sums over sets. Where a set's images are alike, all replies
    are exchangeable, and W = U_s and the range U_n on average, whatever their distribution: the floor is then right for
    10, 12 and 30 images, for rare and skewed scores, and for sets of different spread. (Deviations from each image's
    mean, times sqrt(s / (s - 1)) and pooled, are right for normal scores of one spread alone: for scores of which 2%
    are not zero their range is 1.5 times too large, and twice where sets differ in spread.) Replies that do not differ
    give zero. Where rare scores are more frequent for some images, the floor is too large, so that too little is said.
    With one draw the floor is not measurable.

    *Test.* That a set's images are alike: value - floor against its standard error over sets, by linearisation, or
    against replies shuffled within sets where there are few of these (`SHUFFLED`). One-sided.

    *Interval.* Of the range of the images' own mean scores, which is zero where they are alike. It is at least value -
    floor (triangle inequality), whose lower limit at 5% is that of the test, and at most what is observed (Jensen),
    whose upper limit is that of t. So it leaves out zero exactly where p is below .05.

    *Tail.* Intervals of quantiles are the quantiles at the ends of Wilson's interval of the share of ranges below
    (Woodruff 1952), with the effective number of ranges, as draws of a set belong together. Their floors are quantiles
    of ranges of n replies drawn from all of a set's, times W / U_s.

    Examples
    --------
    >>> alike = np.random.default_rng(1).normal(size=(400, 10, 3))
    >>> found = range_summary(alike, seed=0)
    >>> found.mean.value.round(1).tolist(), found.mean.floor.mean.round(1).tolist()
    ([3.1], [3.1])
    """
    ranges = set_ranges(scores)
    sets, draws = np.nonzero(np.isfinite(ranges))
    values = ranges[sets, draws]
    size = scores.shape[0]
    if not values.size:
        images = scores.shape[1]
        reason = "a set of one image has no range" if images == 1 else "no set has a score of each image"
        nothing = Estimates.single(np.nan, np.nan, np.nan, np.nan, 0, 0, name_unmeasured(reason))
        tail = nothing.at(np.zeros(len(quantiles), dtype=np.int64))
        return SetRanges(nothing, tail)
    of = np.arange(size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sums, counts = cluster_sums(values, of[sets], np.zeros_like(sets), size, 1)
    mean = cluster_means(sums, counts, seed, level=True)
    tail = set_quantiles(values, of[sets], np.array(quantiles))
    if only_values():
        return SetRanges(mean, tail)
    replies = _Replies(scores, ranges, of)
    floor = replies.floor(seed)
    df = replies.clusters - 1
    mean = beyond_chance(mean, replies.excess, floor, df, "range of the images' own means")
    high = wilson_interval(np.array(quantiles), tail_size(values, of[sets], np.array(quantiles)), df, 2 * LEVEL - 1)[1]
    null = replies.null(seed)
    none = np.full(len(quantiles), np.nan)
    tail_floor = Floor(_quantiles_at(null, np.array(quantiles)), _quantiles_at(null, high), none)
    return SetRanges(replace(mean, floor=floor), replace(tail, floor=tail_floor))


def beyond_chance(mean: Estimates, excess: float, floor: Floor, df: int, what: str) -> Estimates:
    """The mean with an interval that begins at zero exactly where the test finds nothing; see `range_summary`.

    `what`: what is tested to be zero.
    """
    p = float(floor.p[0])
    if not np.isfinite(p):
        return mean
    low = 0.0
    if p < 1 - LEVEL:
        low = excess * (1 - float(scipy.special.stdtrit(df, 1 - LEVEL) / scipy.special.stdtrit(df, p)))
    method = np.array([f"{mean.method[0]}, {_BEYOND.format(what)}"], dtype=object)
    return replace(mean, low=np.fmin(np.array([low]), mean.value), method=method)


def summary_bounds(
    scores: Array,
    asked: npt.NDArray[np.bool_],
    limits: tuple[float, float] | None = None,
    quantiles: tuple[float, ...] = (TAIL_QUANTILE,),
    clusters: Codes | None = None,
) -> tuple[Bounds, Bounds]:
    """Between what the mean and the quantiles of set ranges would lie, whatever the missing scores are.

    Parameters
    ----------
    scores, quantiles, clusters:
        As in `range_summary`.
    asked:
        Which scores were asked for, of the same shape; sets and draws in which all were count.
    limits:
        Smallest and largest possible score; by default those that are there.

    Equation
    --------
    Mean, and quantiles, over sets and draws of the ends of their ranges (`range_bounds`), each missing score anywhere
    within the limits: of one set's the range of the scores that are there is the least, and one that is missing may lie
    farthest from them. Standard error of the mean over sets, by linearisation.

    Examples
    --------
    >>> known = np.array([[[0.1], [0.4]], [[0.2], [np.nan]]])
    >>> mean, _ = summary_bounds(known, np.ones(known.shape, dtype=bool), (0.0, 1.0))
    >>> mean.value.round(3).tolist(), mean.low.round(3).tolist(), mean.high.round(3).tolist()
    ([0.3], [0.15], [0.55])
    """
    is_whole = (asked | np.isfinite(scores)).all(axis=1)
    sets, draws = np.nonzero(is_whole)
    none = np.full(sets.size, np.nan)
    finite = scores[np.isfinite(scores)]
    low, high = limits or (finite.min(initial=np.inf), finite.max(initial=-np.inf))
    tables = []
    for image in scores[sets, :, draws].T:
        lost = np.isnan(image)
        tables.append(Bounds(image, np.where(lost, low, image), np.where(lost, high, image), lost * 1.0, none))
    of_draw = range_bounds(tables)
    ranges = set_ranges(scores)
    values = ranges[np.isfinite(ranges)]
    missing = float(of_draw.missing.mean()) if sets.size else np.nan
    of = sets if clusters is None else np.unique(clusters, return_inverse=True)[1][sets]
    totals = [cluster_sums(end, of, np.zeros_like(of), scores.shape[0], 1) for end in (of_draw.low, of_draw.high)]
    means = [cell_means(sums.sum(axis=0), counts.sum(axis=0)) for sums, counts in totals]
    error = np.max([standard_error(*pair) for pair in totals], axis=0)
    tails = [_quantiles_at(end, np.array(quantiles)) for end in (of_draw.low, of_draw.high)]
    unknown, lost = np.full(len(quantiles), np.nan), np.full(len(quantiles), missing)
    return (
        _around(np.array([values.mean() if values.size else np.nan]), means, lost[:1], error),
        _around(_quantiles_at(values, np.array(quantiles)), tails, lost, unknown),
    )


def _around(value: Array, ends: list[Array], missing: Array, se: Array) -> Bounds:
    """Bounds that hold what is there, too: its sets and draws are only those with all scores."""
    return Bounds(value, np.fmin(ends[0], value), np.fmax(ends[1], value), missing, se)


def _quantiles_at(values: Array, places: Array) -> Array:
    if not values.size:
        return np.full(places.shape, np.nan)
    return np.where(np.isfinite(places), np.quantile(values, np.nan_to_num(places)), np.nan)


def tail_size(values: Array, sets: npt.NDArray[np.int64], quantiles: Array) -> Array:
    """Effective number of ranges behind each quantile, as draws of a set belong together.

    Equation
    --------
    q (1 - q) / se², with se that of the share of ranges below the quantile, over sets; never more than there are.

    Examples
    --------
    >>> tail_size(np.arange(100.0), np.arange(100), np.array([0.9])).round(3).tolist()
    [99.0]
    """
    code = np.unique(sets, return_inverse=True)[1]
    count = int(code.max(initial=-1)) + 1
    edges = np.quantile(values, quantiles)
    below = np.where(values[:, None] == edges, 0.5, (values[:, None] < edges).astype(np.float64))
    size = np.bincount(code, minlength=count).astype(np.float64)
    sums = np.stack([np.bincount(code, hits, count).astype(np.float64) for hits in below.T], axis=1)
    se = standard_error(sums, np.stack([size] * quantiles.size, axis=1))
    return np.minimum(effective_size(quantiles, se, count), values.size)


def set_quantiles(values: Array, sets: npt.NDArray[np.int64], quantiles: Array) -> Estimates:
    """Quantiles of values of which those of one set belong together.

    Parameters
    ----------
    values, sets:
        Flat arrays of one length: values without NaN, and the set (or other unit) of each.

    Equation
    --------
    Linear between ranks. The interval holds the quantiles at the ends of Wilson's interval of a share of q among the
    effective number of values (`tail_size`; Woodruff 1952, "Confidence intervals for medians and other position
    measures").

    Examples
    --------
    >>> found = set_quantiles(np.arange(101.0), np.arange(101), np.array([0.9]))
    >>> found.value.tolist(), found.low.round(1).tolist()
    ([90.0], [82.4])
    """
    count = np.unique(sets).size
    none = np.full(quantiles.size, np.nan)
    n, clusters = np.full(quantiles.size, values.size), np.full(quantiles.size, count)
    if not values.size:
        methods = np.full(quantiles.size, name_unmeasured(), dtype=object)
        return Estimates(none, none, none, n, clusters, methods)
    low, high = wilson_interval(quantiles, tail_size(values, sets, quantiles), count - 1)
    methods = np.full(quantiles.size, _WOODRUFF if count > 1 else ONE_CLUSTER_ONLY, dtype=object)
    return Estimates(
        np.quantile(values, quantiles), _quantiles_at(values, low), _quantiles_at(values, high), n, clusters, methods
    )


class _Replies:
    """The replies of sets that have at least two whole draws: ranges of each image's own, and of any of a set's."""

    def __init__(self, scores: Array, ranges: Array, clusters: Codes) -> None:
        is_whole = np.isfinite(ranges)
        self._draws = is_whole.sum(axis=1)
        self._images = scores.shape[1]
        self._pools: list[Array] = []
        pools, of = [], [np.zeros(0, dtype=np.int64)]
        for count in range(2, scores.shape[2] + 1):
            at = np.flatnonzero(self._draws == count)
            if not at.size:
                continue
            first = np.argsort(~is_whole[at], axis=1, kind="stable")[:, None, :count]
            scores_of_set = np.take_along_axis(scores[at], first, axis=2)
            pool = np.sort(scores_of_set.reshape(at.size, -1), axis=1)
            total = pool.shape[1]
            self._pools.append(scores_of_set)
            of.append(clusters[at])
            within = (scores_of_set.max(axis=2) - scores_of_set.min(axis=2)).mean(axis=1)
            expected = (pool @ _range_weights(total, size) for size in (count, self._images))
            pools.append(np.stack([np.nanmean(ranges[at], axis=1), within, *expected]) * count)
        self._weight = np.concatenate([np.full(p.shape[0], float(p.shape[2])) for p in self._pools] or [np.zeros(0)])
        self._found = np.concatenate(pools, axis=1) if pools else np.zeros((4, 0))
        self.sets = self._found.shape[1]
        self._cluster = np.unique(np.concatenate(of), return_inverse=True)[1]
        self.clusters = int(self._cluster.max(initial=-1)) + 1

    @property
    def excess(self) -> float:
        """Mean range less its floor."""
        observed, within, short, full = self._found.sum(axis=1)
        return float((observed - _ratio_or_one(full, short) * within) / self._weight.sum()) if self.sets else np.nan

    def floor(self, seed: int) -> Floor:
        """Floor of the mean, its 95th percentile without any difference, and p."""
        if not self.sets:
            return no_floor(1)
        observed, within, short, full = self._found
        weight = self._weight
        total = weight.sum()
        growth = _ratio_or_one(full.sum(), short.sum())
        floor = growth * within.sum() / total
        # One set leaves value and floor by so much (the ratio's linearisation), in units of a set's draws.
        moved = _ratio_or_one(within.sum(), short.sum()) * (full - growth * short)
        apart = observed - growth * within - moved
        value = self.excess
        if self.clusters < 2:
            return Floor(np.array([floor]), np.full(1, np.nan), np.full(1, np.nan))
        if self.clusters <= SHUFFLED:
            return self._shuffle_floor(seed, floor, growth, value, float(total))
        off = np.bincount(self._cluster, apart - apart.sum() / total * weight, self.clusters)
        se = float(np.sqrt((off**2).sum() * self.clusters / (self.clusters - 1)) / total)
        high = floor + float(scipy.special.stdtrit(self.clusters - 1, LEVEL)) * se
        p = float(scipy.special.stdtr(self.clusters - 1, -value / se)) if se > _SLACK else np.nan
        return Floor(np.array([floor]), np.array([high]), np.array([p]))

    def _shuffle_floor(self, seed: int, floor: float, growth: float, value: float, total: float) -> Floor:
        rng = np.random.default_rng(seed)
        null = np.zeros(0)
        for upto in SHUFFLES:
            null = np.concatenate([null, self._draw_null(upto - null.size, growth, total, rng)])
            hits = int((null >= value - _SLACK).sum())
            if hits >= ENOUGH:
                break
        p = (1 + hits) / (1 + null.size) if np.ptp(null) > _SLACK else np.nan
        return Floor(np.array([floor]), np.array([floor + float(np.quantile(null, LEVEL))]), np.array([p]))

    def _draw_null(self, shuffles: int, growth: float, total: float, rng: np.random.Generator) -> Array:
        """Value less floor where all replies of a set are dealt out anew."""
        out = np.zeros(shuffles)
        for pool in self._pools:
            sets, images, draws = pool.shape
            flat = pool.reshape(sets, -1)
            step = max(1, _BLOCK // flat.size)
            for start in range(0, shuffles, step):
                stop = min(start + step, shuffles)
                order = np.argsort(rng.random((stop - start, *flat.shape), dtype=np.float32), axis=2)
                dealt = np.take_along_axis(flat[None], order, axis=2).reshape(stop - start, sets, draws, images)
                ranges = (dealt.max(axis=3) - dealt.min(axis=3)).mean(axis=2)
                within = (dealt.max(axis=2) - dealt.min(axis=2)).mean(axis=2)
                out[start:stop] += (ranges - growth * within).sum(axis=1) * draws / total
        return out

    def null(self, seed: int) -> Array:
        """Ranges of n replies to one image, sampled."""
        if not self.sets or self._images < 2:
            return np.zeros(0)
        rng = np.random.default_rng(seed)
        _, within, short, _ = self._found
        ratio = _ratio_or_one(within.sum(), short.sum())
        return np.concatenate([min(ratio, 1.0) * ranges for ranges in self._ranges_drawn(rng)])

    def _ranges_drawn(self, rng: np.random.Generator) -> Iterator[Array]:
        times = max(1, -(-_REPLICATES // self.sets))
        for pool in self._pools:
            flat = pool.reshape(pool.shape[0], -1)
            step = max(1, _BLOCK // flat.size)
            for start in range(0, times, step):
                keys = rng.random((min(step, times - start), *flat.shape), dtype=np.float32)
                order = np.argpartition(keys, self._images - 1, axis=2)[:, :, : self._images]
                draws = np.take_along_axis(flat[None], order, axis=2)
                yield (draws.max(axis=2) - draws.min(axis=2)).ravel()


def _ratio_or_one(x: float, y: float) -> float:
    """A ratio; one where there is no spread at all, and so nothing that could grow."""
    return float(x / y) if y > _SLACK else 1.0


@lru_cache(maxsize=32)
def _range_weights(total: int, size: int) -> Array:
    """Weights of ordered values in the mean range of so many of them drawn without replacement.

    The k-th of N is the largest of n with probability C(k - 1, n - 1) / C(N, n), and the smallest likewise from above.
    """
    k = np.arange(size, total + 1)

    def log_binomial(n: npt.ArrayLike, m: int) -> Array:
        return np.asarray(-scipy.special.betaln(np.asarray(n) - m + 1.0, m + 1.0) - np.log(np.asarray(n) + 1.0))

    largest = np.zeros(total)
    largest[size - 1 :] = np.exp(log_binomial(k - 1, size - 1) - log_binomial(total, size))
    out = largest - largest[::-1]
    out.setflags(write=False)
    return out
