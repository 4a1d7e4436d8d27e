"""Variation strength: how far judgments of different people lie apart, by demographic dimension.

Equations of StylisticBias, sections 4.4 and 5.1, and the tests of Table 11.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array, Floor

Codes = npt.NDArray[np.int64]
ONE_SIDED, UPPER = 0.05, 0.01
"""Tails of an interval of a spread: below, where it decides between a difference and none; and above."""
_FARTHEST = 64.0  # times the observed spread
_BLOCK = 2**21  # elements of one matrix of dealt labels: bounds the work space at 16 MB


def variation_strength(groups: int, scenarios: int, *, mean: bool) -> cluster_bootstrap.Statistic:
    """VS as a statistic of cell totals.

    `groups` and `scenarios`: cells are groups x scenarios, groups outermost. `mean`: average over scenarios (the
    paper's VS), or one value per scenario.

    Equation
    --------
    VS_{m,d} = 1/|S| Σ_i std_g(phi_{i,g,m}), the standard deviation (ddof 1) across the groups of dimension d of the
    groups' mean preference scores (section 4.4). Groups that were not observed are left out; fewer than two give NaN.
    """

    def statistic(sums: Array, counts: Array) -> Array:
        phi = cluster_bootstrap.ratio(sums, counts).reshape(*sums.shape[:-1], groups, scenarios)
        seen = np.isfinite(phi)
        k = seen.sum(axis=-2)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = np.where(seen, phi, 0).sum(axis=-2) / k
            squares = np.where(seen, (phi - centre[..., None, :]) ** 2, 0).sum(axis=-2)
            spread = np.where(k > 1, np.sqrt(squares / (k - 1)), np.nan)
        if not mean:
            return spread
        measured = np.isfinite(spread)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.where(measured, spread, 0).sum(axis=-1) / measured.sum(axis=-1))[..., None]

    return statistic


@dataclass(frozen=True, slots=True)
class Spreads:
    """Spreads between groups with interval and noise floor; one for each scenario, and their mean last."""

    value: Array
    """VS as published."""
    low: Array
    high: Array
    """Interval of the spread between the groups' true means, which may be zero."""
    floor: Floor
    """Of groups that don't differ; its p is below .05 exactly where `low` is above zero."""
    least: Array
    """Smallest p that each could have had."""


def spreads(
    face_phi: Array, group: Codes, groups: int, seed: int, resamples: int = 1000, most: int = 40_000
) -> Spreads:
    """Spread between groups in each scenario and their mean (VS), against labels that are dealt out anew.

    A spread is positive whatever the groups are, so that intervals around it leave a true zero out. This one holds the
    true spreads that could have given the one observed: what is dealt is noise, and true differences are added to it.

    Parameters
    ----------
    face_phi:
        Shape (faces, scenarios), NaN where not measured.
    group:
        Group of each face; -1 for none.
    most:
        Deals where fewer than ten of the first `resamples` reach the spread, so that p has steps as small as families
        of a hundred tests ask for (Besag and Clifford 1991, "Sequential Monte Carlo p-values").

    Equation
    --------
    low: the l V with P(V(l D + D*) >= V) = .05; high: the h V with P(V(h D + D*) <= V) = .01, or V if that is
    larger. D are the observed deviations of the groups' means from their centre, D* those of dealt labels, after l D
    (or h D) has been taken off the scores. At l = 0 this is the permutation test. Together the tails leave .94, and .95
    where there is no difference.

    How the true differences lie over the scenarios is not known. E(V(D + D*)) is convex in each of them: of patterns of
    one mean, noise lifts the mean of a concentrated one the most, and that of an even one the least. So l of the mean
    takes the differences to lie only where there is something beyond noise, and h the same in all scenarios: the
    interval holds however they lie, and is wider than it would be if that were known.
    """
    rng = np.random.default_rng(seed)
    member = np.flatnonzero(group >= 0)
    scores, groups_of = face_phi[member], group[member]
    observed = _deviations(scores, groups_of[None], groups)
    sizes = _spread(observed)
    value = _with_mean(sizes)[0]
    none = np.full(value.shape, np.nan)
    if cluster_bootstrap.only_values():
        return Spreads(value, none, none, cluster_bootstrap.no_floor(value.size), none)
    group_means = np.where(
        np.isfinite(scores), observed[0][groups_of], np.nan
    )  # what is taken off with the difference supposed
    size = scores.shape[1]
    spreads_of_both = _dealt(np.concatenate([scores, group_means], axis=1), groups_of, groups, rng, resamples)
    dealt, added = spreads_of_both[..., :size], observed - spreads_of_both[..., size:]
    noise = _with_mean(_spread(dealt))
    floor = cluster_bootstrap.floor_from(noise, value)
    p, p_least = floor.p.copy(), np.full(value.shape, 1 / (1 + most))
    rare = np.flatnonzero(p * (1 + resamples) <= 10)
    if rare.size:
        left = most - resamples
        step = max(1, _BLOCK // max(1, groups * (groups_of.size + scores.shape[1])))
        hits = p[rare] * (1 + resamples)
        for start in range(0, left, step):
            more = _with_mean(_spread(_dealt(scores, groups_of, groups, rng, min(step, left - start))))
            hits += np.nansum(more[:, rare] >= value[rare] - 1e-12, axis=0)
        p[rare] = hits / (1 + most)
    plain = _spread(dealt) ** 2
    # For the mean the supposed differences stay in the noise: its pattern over scenarios is noisy itself.
    gains = [(_spread(x) ** 2, _covariance(x, dealt)) for x in (added, np.broadcast_to(observed, dealt.shape))]

    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.sqrt(np.maximum(1 - plain.mean(axis=0) / sizes[0] ** 2, 0))
        # Differences that vanish beside the mean (shares near zero) have no pattern to scale up.
        even = np.where(sizes[0] > 1e-12 * value[-1], value[-1] / sizes[0], 0.0)
    clear = np.where(sizes[0] > floor.high[:-1], excess, 0.0)
    beyond = next((x for x in (clear, excess) if np.nansum(x) > 0), np.ones(excess.shape))

    def scale(shares: Array) -> Array:
        """Observed spreads, and the mean of them by `shares`."""
        return np.append(sizes[0], np.nanmean(shares * sizes[0]) if np.isfinite(sizes).any() else np.nan)

    def null(factor: Array, shares: Array) -> Array:
        """Spreads of noise with `factor` times the observed differences, one per estimate, by `shares` in the mean."""
        factors = (factor[:-1], factor[-1] * shares)
        with np.errstate(invalid="ignore"):  # an infinite factor of a spread of zero is none
            squares = [s * f**2 + 2 * f * shared + plain for f, (s, shared) in zip(factors, gains, strict=True)]
        alone, together = (np.sqrt(np.maximum(x, 0)) for x in squares)
        return np.concatenate([alone, _with_mean(together)[:, -1:]], axis=1)

    low = _crossing(
        lambda f: (1 + (null(f, beyond) >= value - 1e-12).sum(axis=0)) / (1 + resamples) < ONE_SIDED, value.size
    )
    high = _crossing(lambda f: (null(f, even) <= value + 1e-12).mean(axis=0) > UPPER, value.size)
    low = np.where(p < ONE_SIDED, low * scale(beyond), 0.0)
    high = np.where(value > 0, np.fmax(high * scale(even), value), floor.high)
    is_known = np.isfinite(value) & np.isfinite(p)
    low, high = (np.where(is_known, end, np.nan) for end in (low, high))
    return Spreads(value, low, high, Floor(floor.mean, floor.high, p), p_least)


def _dealt(scores: Array, group: Codes, groups: int, rng: np.random.Generator, deals: int) -> Array:
    step = max(1, _BLOCK // max(1, groups * (group.size + scores.shape[1])))
    blocks = (min(step, deals - start) for start in range(0, deals, step))
    return np.concatenate(
        [_deviations(scores, rng.permuted(np.tile(group, (many, 1)), axis=1), groups) for many in blocks]
    )


def _deviations(scores: Array, labels: Codes, groups: int) -> Array:
    """Deviations of the groups' means from their centre for each row of labels, shape (rows, groups, scenarios)."""
    one_hot = (labels[:, None, :] == np.arange(groups)[:, None]).astype(np.float64).reshape(-1, labels.shape[1])
    has_score = np.isfinite(scores)
    alike = (has_score == has_score[:, :1]).all()  # all scenarios have the same clusters, so that they are counted once
    sums, counts = one_hot @ np.nan_to_num(scores), one_hot @ has_score[:, : 1 if alike else None].astype(np.float64)
    means = cluster_bootstrap.ratio(sums, counts).reshape(len(labels), groups, -1)
    seen = np.isfinite(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        return means - (np.where(seen, means, 0).sum(axis=1) / seen.sum(axis=1))[:, None]


def _spread(deviations: Array) -> Array:
    """Standard deviation (ddof 1) over groups; NaN for fewer than two."""
    seen = np.isfinite(deviations)
    k = seen.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(k > 1, np.sqrt(np.where(seen, deviations**2, 0).sum(axis=1) / (k - 1)), np.nan)


def _covariance(first: Array, second: Array) -> Array:
    """Covariance (ddof 1) over groups of deviations from their centres."""
    product = first * second
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nansum(product, axis=1) / (np.isfinite(product).sum(axis=1) - 1)


def _with_mean(spreads: Array) -> Array:
    measured = np.isfinite(spreads)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(measured, spreads, 0).sum(axis=1) / measured.sum(axis=1)
    return np.concatenate([spreads, mean[:, None]], axis=1)


def _crossing(holds: Callable[[Array], npt.NDArray[np.bool_]], size: int) -> Array:
    """Largest factor at which something holds that does up to there, from 0 to `_FARTHEST`; 0 where it never does."""
    low, high = np.zeros(size), np.full(size, _FARTHEST)
    for _ in range(40):
        middle = (low + high) / 2
        inside = holds(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def group_tests(face_phi: Array, group: Codes, groups: int) -> Array:
    """Two-sided p-value per scenario: Mann-Whitney U for two groups, Kruskal-Wallis for more (Table 11).

    NaN where fewer than two groups have faces or all values are equal: nothing can be ranked.
    """
    out = np.full(face_phi.shape[1], np.nan)
    for scenario in range(face_phi.shape[1]):
        column = face_phi[:, scenario]
        samples = [column[(group == g) & np.isfinite(column)] for g in range(groups)]
        samples = [sample for sample in samples if sample.size]
        if len(samples) < 2 or np.ptp(np.concatenate(samples)) == 0:
            continue
        if groups == 2:
            out[scenario] = scipy.stats.mannwhitneyu(samples[0], samples[1], alternative="two-sided").pvalue
        else:
            out[scenario] = scipy.stats.kruskal(*samples).pvalue
    return out


def with_squares(face_phi: Array, group: Codes, groups: int) -> tuple[Array, Array]:
    """Cells for `corrected_strength`: each face's scores, then their squares, by group and scenario.

    Returns sums, counts of shape (faces, 2 x groups x scenarios).
    """
    member = (group[:, None] == np.arange(groups)).astype(np.float64)
    seen = np.isfinite(face_phi).astype(np.float64)
    values = np.nan_to_num(face_phi)
    counts = (member[:, :, None] * seen[:, None, :]).reshape(len(group), -1)
    sums = [(member[:, :, None] * x[:, None, :]).reshape(len(group), -1) for x in (values, values**2)]
    return np.concatenate(sums, axis=1), np.concatenate([counts, counts], axis=1)


def corrected_strength(groups: int, scenarios: int) -> cluster_bootstrap.Statistic:
    """VS without the spread that the sampling of faces adds by itself.

    Equation
    --------
    mean over scenarios of sqrt(max(0, s²_g(phi_ig) - mean_g s²_ig / n_ig)), with s²_ig the variance between the n_ig
    faces of group g: the expected square of a spread of means is the true one plus the mean squared error (ours).
    """

    def statistic(sums: Array, counts: Array) -> Array:
        shape = (*sums.shape[:-1], 2, groups, scenarios)
        total, n = sums.reshape(shape), counts.reshape(shape)[..., 0, :, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total[..., 0, :, :] / n
            variance = (total[..., 1, :, :] - n * mean**2) / (n - 1)
            error = np.where(n > 1, np.maximum(variance, 0) / n, np.nan)
            seen = np.isfinite(error)
            k = seen.sum(axis=-2)
            centre = np.where(seen, mean, 0).sum(axis=-2) / k
            spread = np.where(seen, (mean - centre[..., None, :]) ** 2, 0).sum(axis=-2) / (k - 1)
            excess = spread - np.where(seen, error, 0).sum(axis=-2) / k
            sizes = np.where(k > 1, np.sqrt(np.maximum(excess, 0)), np.nan)
            measured = np.isfinite(sizes)
            return (np.where(measured, sizes, 0).sum(axis=-1) / measured.sum(axis=-1))[..., None]

    return statistic
