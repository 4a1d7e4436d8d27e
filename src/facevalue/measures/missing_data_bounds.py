"""Worst-case bounds: what the missing answers could have changed.

Refusals and unparsed replies are outcomes, not gaps to be filled in. These bounds make no assumption about them: they
say what a preference score or a shift would have been had all missing answers gone to one pole or to the other. If a
shift keeps its sign between its bounds, no story about the missing answers can explain it away.

Where answers were withheld at one pole alone, an end of the bounds is the truth, and what was computed is the
truth plus the sampling error of that end (Imbens and Manski 2004, "Confidence intervals for partially identified
parameters"). So bounds carry their standard error, and `family_tests` judges by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array, cell_means
from facevalue.measures.uncertainty import Bounds

_SLACK = 1e-9
_ABOVE = 0.01  # probabilities are stored in single precision, and may sum to as much more than 1


@dataclass(frozen=True, slots=True)
class Replies:
    """Requests and replies, by cluster and cell.

    Attributes
    ----------
    sums:
        Total weight of the pole in the valid answers (expected selections, each in [0, 1]).
    valid:
        Mass of valid answers: their number, or the summed probability of the valid options.
    asked:
        How many answers were asked for.

    All of shape (clusters, cells). NaN makes the cell NaN.

    Raises
    ------
    ValueError
        If shapes differ, or not 0 <= valid <= asked but for rounding.
    """

    sums: Array
    valid: Array
    asked: Array

    def select_clusters(self, clusters: npt.NDArray[np.bool_]) -> "Replies":
        """Those of some clusters; the others were asked nothing."""
        return Replies(*(np.where(clusters[:, None], x, 0.0) for x in (self.sums, self.valid, self.asked)))

    def __post_init__(self) -> None:
        if not self.sums.shape == self.valid.shape == self.asked.shape or self.sums.ndim != 2:
            raise ValueError("sums, valid and asked must have one shape, (clusters, cells).")
        if (self.valid < -_SLACK).any() or (self.valid > self.asked * (1 + _ABOVE) + _SLACK).any():
            raise ValueError("The valid mass must lie between zero and the number of answers asked for.")


def weigh_cells_alike(totals: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Sums of scores, valid answers and number asked of each cell, per answer asked for, so that cells weigh alike.

    Examples
    --------
    >>> totals = np.array([3.0, 0.0]), np.array([4.0, 0.0]), np.array([10.0, 0.0])
    >>> [part.tolist() for part in weigh_cells_alike(totals)]
    [[0.3, 0.0], [0.4, 0.0], [1.0, 0.0]]
    """
    sums, valid, requests = totals
    size = np.where(requests > 0, requests, 1.0)
    return sums / size, valid / size, np.where(requests > 0, 1.0, requests)


def size_bounds(bounds: Bounds) -> Bounds:
    """Bounds of the size of values of either sign.

    Equation
    --------
    low = max(0, low, -high), high = max(-low, high).

    Examples
    --------
    >>> none = np.zeros(2)
    >>> size = size_bounds(Bounds(np.array([0.1, -0.3]), np.array([-0.1, -0.4]), np.array([0.2, -0.1]), none, none))
    >>> size.low.tolist(), size.high.tolist()
    ([0.0, 0.1], [0.2, 0.4])
    """
    low, high = bounds.low, bounds.high
    return Bounds(
        np.abs(bounds.value), np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high), bounds.missing, bounds.se
    )


def average_bounds(bounds: Bounds) -> Bounds:
    """Bounds of the mean over cells, each of which may be at its own end; cells without any are left out."""

    def mean(values: Array) -> Array:
        finite = np.isfinite(values)
        return np.array([values[finite].mean() if finite.any() else np.nan])

    return Bounds(*(mean(x) for x in (bounds.value, bounds.low, bounds.high, bounds.missing, bounds.se)))


def fill_missing(replies: Replies, pole: float) -> Array:
    """Sums had all missing answers gone to one pole, shape (clusters, cells); divide by `asked`.

    `pole`: value of each missing answer, for a preference 0 or 1.

    Examples
    --------
    >>> replies = Replies(np.array([[3.0]]), np.array([[4.0]]), np.array([[10.0]]))
    >>> fill_missing(replies, 0.0).item(), fill_missing(replies, 1.0).item()
    (3.0, 9.0)
    """
    return replies.sums + pole * np.maximum(replies.asked - replies.valid, 0.0)


def phi_bounds(replies: Replies, poles: tuple[float, float] = (0.0, 1.0)) -> Bounds:
    """Bounds of the mean of each cell.

    `poles`: smallest and largest value of an answer.

    Equation
    --------
    low = (S + a M)/A, high = (S + b M)/A, M = A - V; S sum of weights, V valid mass, A asked, a and b the poles
    (Manski 1989, "Anatomy of the selection problem"). The observed S/V lies between.

    Examples
    --------
    >>> bounds = phi_bounds(Replies(np.array([[3.0]]), np.array([[4.0]]), np.array([[10.0]])))
    >>> bounds.value.item(), bounds.low.item(), bounds.high.item(), bounds.missing.item()
    (0.75, 0.3, 0.9, 0.6)
    """
    return _contrast([replies], np.ones(1), poles)


def shift_bounds(
    base: Replies, variant: Replies, poles: tuple[float, float] = (0.0, 1.0), *, paired: bool = True
) -> Bounds:
    """Bounds of the shift from base to variant: missing variant answers up and base answers down, and vice versa.

    Parameters
    ----------
    base, variant:
        One column per comparison, clusters in the same rows. Repeat a base's columns for each of its variants.
    paired:
        Compare within clusters: those asked on one side only are left out, and a cluster's base weighs as much as its
        variant. Else all answers of either side count alike.

    Equation
    --------
    low = low(phi_v) - high(phi_b), high = high(phi_v) - low(phi_b), with phi_v = Σ_g S_vg / Σ_g A_vg and, if paired,
    phi_b = Σ_g r_g S_bg / Σ_g r_g A_bg, r_g = A_vg / A_bg. Sharp (attained) for each comparison on its own.

    Notes
    -----
    `value` compares all valid answers of either side and always lies between the bounds. A paired shift that drops
    clusters with a side missing can lie outside, where answers went missing in some clusters more than in others.

    Examples
    --------
    >>> base = Replies(np.array([[2.0], [3.0]]), np.array([[10.0], [10.0]]), np.array([[10.0], [10.0]]))
    >>> variant = Replies(np.array([[7.0], [8.0]]), np.array([[9.0], [10.0]]), np.array([[10.0], [10.0]]))
    >>> bounds = shift_bounds(base, variant)
    >>> round(bounds.low.item(), 3), round(bounds.high.item(), 3)
    (0.5, 0.55)
    """
    if base.sums.shape != variant.sums.shape:
        raise ValueError("base and variant must have one shape: the same clusters and one column per comparison.")
    weight = None
    if paired:
        have_both = (base.asked > 0) & (variant.asked > 0) | np.isnan(base.asked) | np.isnan(variant.asked)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = [np.where(have_both, variant.asked / base.asked, 0.0), have_both.astype(np.float64)]
    out = _contrast([base, variant], np.array([-1.0, 1.0]), poles, weight)
    return Bounds(out.value, out.low, out.high, out.missing / 2, out.se)


def contrast_bounds(
    replies: Sequence[Replies], factors: npt.ArrayLike, poles: tuple[float, float] = (0.0, 1.0)
) -> Bounds:
    """Bounds of a weighted sum of means: a group against the mean of the others, or of all groups.

    Parameters
    ----------
    replies:
        Replies of each group, clusters in the same rows; what a cluster was not asked about a group has `asked` 0.
    factors:
        What each group's mean counts, of either sign: 1 and -1/2 twice for one group against two others.

    Equation
    --------
    value = Σ_k f_k S_k/V_k; low = Σ_k min(f_k low_k, f_k high_k), with the ends of `phi_bounds`; high with max. Sharp,
    as each group's missing answers may go where they like. Missing: Σ |f_k| missing_k / Σ |f_k|.

    se² = G/(G-1) Σ_g (Σ_k f_k (F_kg - r_k A_kg) / A_k)² over the G clusters with any answer asked, F the filled sums of
    that end, r_k = F_k / A_k (linearised difference of ratios: Cochran, Sampling Techniques, 1977, section 6.13).

    Examples
    --------
    >>> asked = np.full((2, 1), 10.0)
    >>> whole = Replies(np.array([[5.0], [5.0]]), asked, asked)
    >>> partly = Replies(np.array([[5.0], [5.0]]), np.array([[8.0], [6.0]]), asked)
    >>> bounds = contrast_bounds([partly, whole, whole], [1, -0.5, -0.5])
    >>> bounds.low.round(3).tolist(), bounds.high.round(3).tolist()
    ([0.0], [0.3])
    """
    out = _contrast(replies, np.asarray(factors, dtype=np.float64), poles)
    return Bounds(out.value, out.low, out.high, out.missing / np.abs(factors).sum(), out.se)


def range_bounds(bounds: Sequence[Bounds]) -> Bounds:
    """Bounds of the range of groups' means: the largest less the smallest.

    Equation
    --------
    low = max(0, max_k low_k - min_k high_k); high = max_{j != k} (high_j - low_k). Groups without any answer asked are
    left out. se: of the group's bounds that vary most, twice, as two ends meet: sqrt(2) max_k se_k.
    """
    low, high = _ends(bounds)
    values = np.array([b.value for b in bounds])
    with np.errstate(invalid="ignore"):
        smallest = np.maximum(_largest_known(low) + _largest_known(-high), 0.0)
    largest = np.full(smallest.shape, -np.inf)
    for k in range(len(bounds)):
        others = np.delete(low, k, axis=0)
        largest = np.fmax(largest, high[k] + _largest_known(-others))
    largest = np.where(np.isfinite(largest), np.maximum(largest, 0.0), np.nan)
    return Bounds(_largest_known(values) + _largest_known(-values), smallest, largest, *_worst(bounds))


def spread_bounds(bounds: Sequence[Bounds]) -> Bounds:
    """Bounds of the standard deviation (ddof 1) of groups' means.

    Equation
    --------
    low² = min_c Σ_k d(c, [low_k, high_k])² / (K - 1), as a variance is the smallest mean square about any point; c by
    bisection, the sum being convex. high²: the largest variance with the groups whose middles are highest at their
    upper end and all others at their lower; of equal middles the narrower, or the wider, count as higher. se: of the
    group's bounds that vary most.
    """
    low, high = _ends(bounds)
    k, has_ends = np.isfinite(low).sum(axis=0), ~np.isnan(low + high)
    values = np.array([b.value for b in bounds])
    left, right = -_largest_known(-high), _largest_known(low)  # between the lowest upper and the highest lower end
    left, right = np.fmin(left, right), np.fmax(left, right)
    for _ in range(60):
        c = (left + right) / 2
        slope = (np.maximum(c - high, 0) - np.maximum(low - c, 0)).sum(axis=0, where=has_ends)
        left, right = np.where(slope < 0, c, left), np.where(slope < 0, right, c)
    point = (left + right) / 2
    apart = np.maximum(np.maximum(low - point, point - high), 0.0)
    smallest = _root(np.where(k > 1, np.nansum(apart**2, axis=0), np.nan), k)
    middle = (low + high) / 2
    largest = np.full(smallest.shape, np.nan)
    cuts = np.arange(len(bounds))[:, None]
    for width in (high - low, low - high):
        rank = np.argsort(np.lexsort((width, middle), axis=0), axis=0)
        ends = np.where(rank[:, None] >= cuts, high[:, None], low[:, None])  # shape (groups, cuts, estimates)
        largest = np.fmax(largest, np.fmax.reduce(_deviation(ends), axis=0))
    return Bounds(_deviation(values), smallest, np.fmax(largest, smallest), *_worst(bounds))


def change_bounds(before: Bounds, after: Bounds) -> Bounds:
    """Bounds of a change from the bounds of both conditions, whatever is measured.

    low = low_after - high_before, high = high_after - low_before: sharp where both conditions' missing answers may go
    where they like. Its standard error is not known from theirs, as both are of the same clusters.
    """
    missing = (before.missing + after.missing) / 2
    none = np.full(missing.shape, np.nan)
    return Bounds(after.value - before.value, after.low - before.high, after.high - before.low, missing, none)


def _ends(bounds: Sequence[Bounds]) -> tuple[Array, Array]:
    return np.array([b.low for b in bounds]), np.array([b.high for b in bounds])


def _worst(bounds: Sequence[Bounds]) -> tuple[Array, Array]:
    """The mean share missing, and the standard error of a difference of the two ends that vary most."""
    missing = np.array([b.missing for b in bounds])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(missing, axis=0) / np.isfinite(missing).sum(axis=0)
    return mean, np.sqrt(2) * _largest_known(np.array([b.se for b in bounds]))


def _largest_known(values: Array) -> Array:
    """The largest over groups of those that are known; NaN where none is."""
    largest = np.where(np.isfinite(values), values, -np.inf).max(axis=0)
    return np.where(np.isfinite(largest), largest, np.nan)


def _deviation(values: Array) -> Array:
    seen = np.isfinite(values)
    k = seen.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.nansum(values, axis=0) / k
    return _root(np.where(k > 1, np.nansum((values - centre) ** 2, axis=0), np.nan), k)


def _root(squares: Array, k: npt.NDArray[np.intp]) -> Array:
    return np.sqrt(squares / np.maximum(k - 1, 1))


def _check(replies: Replies, poles: tuple[float, float]) -> None:
    low, high = poles
    slack = _SLACK * (1 + replies.valid)
    if not low < high or (replies.sums < low * replies.valid - slack).any():
        raise ValueError("Sums lie below what the valid answers can give; see `poles`.")
    if (replies.sums > high * replies.valid + slack).any():
        raise ValueError("Sums lie above what the valid answers can give; see `poles`.")


def _contrast(
    terms: Sequence[Replies], factors: Array, poles: tuple[float, float], weight: Sequence[Array] | None = None
) -> Bounds:
    """Bounds of a weighted sum of means; `missing` is summed over parts by the size of their factors."""
    cells = terms[0].sums.shape[1]
    value, missing = np.zeros(cells), np.zeros(cells)
    ends, apart = np.zeros((2, cells)), np.zeros((2, *terms[0].sums.shape))
    counted = np.zeros(terms[0].sums.shape, dtype=np.bool_)
    for place, (replies, factor) in enumerate(zip(terms, factors, strict=True)):
        if replies.sums.shape != terms[0].sums.shape:
            raise ValueError("All groups must have the same clusters and cells.")
        _check(replies, poles)
        w = np.ones_like(replies.asked) if weight is None else weight[place]
        asked, valid = w * replies.asked, w * replies.valid
        total = asked.sum(axis=0)
        value += factor * cell_means((w * replies.sums).sum(axis=0), valid.sum(axis=0))
        missing += abs(factor) * cell_means(total - np.minimum(valid.sum(axis=0), total), total)
        counted |= asked > 0
        for end, pole in enumerate(poles if factor >= 0 else poles[::-1]):
            full = w * fill_missing(replies, pole)
            mean = cell_means(full.sum(axis=0), total)
            ends[end] += factor * mean
            with np.errstate(invalid="ignore", divide="ignore"):
                apart[end] += factor * np.where(asked > 0, (full - mean * asked) / total, 0.0)
    many = counted.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(many / (many - 1) * (apart**2).sum(axis=1).max(axis=0))
    return Bounds(value, ends[0], ends[1], missing, np.where(many > 1, error, np.nan))
