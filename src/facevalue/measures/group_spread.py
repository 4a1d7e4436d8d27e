"""Variation strength: how far judgments of different people lie apart, by demographic dimension.

Equations of StylisticBias, sections 4.4 and 5.1, and the tests of Table 11.

Impact ratios set selection frequencies against the largest of them. Who is chosen most is not known, but estimated:
intervals and tests allow for that (Hsu 1984).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import (
    Array,
    CellStatistic,
    average_ranks,
    cell_means,
    floor_from,
    only_values,
)
from facevalue.measures.noise_floors import critical_value, share_beyond, sum_by_label
from facevalue.measures.uncertainty import Bounds, Floor, no_floor

Codes = npt.NDArray[np.int64]
ONE_SIDED, UPPER = 0.05, 0.01
"""Tails of an interval of a spread: below, where it decides between a difference and none; and above."""
_FARTHEST = 64.0  # times the observed spread
_BLOCK = 2**21  # elements of one matrix of draws: bounds the work space at 16 MB
_MANY = 100  # faces from which numbers are drawn for scenarios in place of faces
_FEW_RANKED = 8  # of the smaller of two samples, up to which the test is exact
_QUANTILES = 1024  # of chi-squared, from which factors of the errors are drawn


def variation_strength(groups: int, scenarios: int, *, mean: bool) -> CellStatistic:
    """VS as a statistic of cell totals.

    `groups` and `scenarios`: cells are groups x scenarios, groups outermost. `mean`: average over scenarios (the
    paper's VS), or one value per scenario.

    Equation
    --------
    VS_{m,d} = 1/|S| Σ_i std_g(phi_{i,g,m}), the standard deviation (ddof 1) across the groups of dimension d of the
    groups' mean preference scores (section 4.4). Groups that were not observed are left out; fewer than two give NaN.
    """

    def statistic(sums: Array, counts: Array) -> Array:
        phi = cell_means(sums, counts).reshape(*sums.shape[:-1], groups, scenarios)
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


def group_spreads(
    face_phi: Array, group: Codes, groups: int, seed: int, resamples: int = 1000, most_draws: int = 40_000
) -> Spreads:
    """Spread between groups in each scenario and their mean (VS), beside what groups that don't differ would show.

    A spread is positive whatever the groups are, so that intervals around it leave a true zero out. This one holds the
    true spreads that could have given the one observed: noise, with true differences added to it. What is noise is
    taken in two ways, and the wider of both holds: labels dealt out anew among all faces (exact where groups are alike,
    also where answers are rare), and errors of each group's own size (where groups vary unlike each other: dealt labels
    then find a difference in equal means, the more often the smaller the group that varies most).

    Parameters
    ----------
    face_phi:
        Shape (faces, scenarios), NaN where not measured.
    group:
        Group of each face; -1 for none.
    most_draws:
        Draws where fewer than ten of the first `resamples` reach the spread, so that p has steps as small as families
        of a hundred tests ask for (Besag and Clifford 1991, "Sequential Monte Carlo p-values").

    Equation
    --------
    low: the l V with P(V(l D + D*) >= V) = .05; high: the h V with P(V(h D + D*) <= V) = .01, or V if that is
    larger. D are the observed deviations of the groups' means from their centre, D* those of noise: of dealt labels,
    after l D (or h D) has been taken off the scores; or of normal errors with each group's own covariance S_g / n_g
    over the scenarios, times sqrt(f / chi²_f), f = (Σ v_g)² / Σ (v_g² / (n_g - 1)), v_g = s²_g / n_g, so that of two
    groups it is Welch's t, and of more Box's approximation for their unweighted means (Box 1954; Brown and Forsythe
    1974); where s²_g is below s² = Σ (n_g - 1) s²_g / Σ (n_g - 1), s² stands in for it, and at most 2 n_g + 1 for n_g -
    1. At l = 0 these are tests; p is the larger. Together the tails leave .94, and .95 where there is no
    difference.

    How the true differences lie over the scenarios is not known. E(V(D + D*)) is convex in each of them: of patterns of
    one mean, noise lifts the mean of a concentrated one the most, and that of an even one the least. So l of the mean
    takes the differences to lie only where there is something beyond noise, and h the same in all scenarios: the
    interval holds however they lie, and is wider than it would be if that were known.
    """
    rng = np.random.default_rng(seed)
    member = np.flatnonzero(group >= 0)
    scores, groups_of = face_phi[member], group[member]
    observed = _deviations(scores, groups_of[None], groups)
    value = _with_mean(_spread(observed))[0]
    none = np.full(value.shape, np.nan)
    if only_values():
        return Spreads(value, none, none, no_floor(value.size), none)
    kinds = _DealtLabels(scores, groups_of, groups), _OwnErrors(scores, groups_of, groups)
    floors, lows, highs = zip(
        *(_floor_and_interval(noise, observed, value, rng, resamples, most_draws) for noise in kinds), strict=True
    )
    floor = Floor(*(np.fmax(*(getattr(floor, name) for floor in floors)) for name in ("mean", "high", "p")))
    return Spreads(value, np.minimum(*lows), np.maximum(*highs), floor, np.full(value.shape, 1 / (1 + most_draws)))


class _DealtLabels:
    """Noise of labels that are dealt out anew."""

    def __init__(self, scores: Array, group: Codes, groups: int) -> None:
        self._scores, self._group, self._groups = scores, group, groups
        self._observed = _deviations(scores, group[None], groups)
        # What is taken off with the difference supposed.
        self._means = np.where(np.isfinite(scores), self._observed[0][group], np.nan)
        self.cost = groups * (group.size + scores.shape[1])

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        return self._deal(self._scores, rng, draws)

    def with_differences(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        size = self._scores.shape[1]
        values = self._deal(np.concatenate([self._scores, self._means], axis=1), rng, draws)
        return values[..., :size], self._observed - values[..., size:]

    def _deal(self, scores: Array, rng: np.random.Generator, draws: int) -> Array:
        return np.concatenate([
            _deviations(scores, rng.permuted(np.tile(self._group, (many, 1)), axis=1), self._groups)
            for many in _steps(draws, self._groups * (self._group.size + scores.shape[1]))
        ])  # fmt: skip


class _OwnErrors:
    """Noise of normal errors with the variance of each group's own mean.

    A group that varies less than all do on average is taken to vary as they do: of a few faces that happen to be alike
    nobody knows how far others would lie, and one face has no variance at all. How far others vary says little of a
    small group: of n faces it counts as 2 n + 1 degrees of freedom at most. Of shares of two, eight and thirteen faces
    with equal means, some of which vary three times as much, 5% of p lie below .05; of own variances alone 18%.
    """

    def __init__(self, scores: Array, group: Codes, groups: int) -> None:
        seen = np.isfinite(scores)
        member = (group == np.arange(groups)[:, None]).astype(np.float64)
        n = member @ seen
        self._observed = _deviations(scores, group[None], groups)
        residuals = np.where(seen, scores - cell_means(member @ np.nan_to_num(scores), n)[group], 0.0)
        squares, free = member @ residuals**2, np.maximum(n - 1, 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            own_scale = np.where(n > 1, 1 / np.sqrt(n * (n - 1)), 0.0)
            common_scale = np.where((n > 0) & (free > 0), 1 / np.sqrt(n * free), 0.0)
            own, common = squares * own_scale**2, squares.sum(axis=0) * common_scale**2
            is_common = own < common
            variance = np.where(is_common, common, own)
            of_others = np.clip(free, 1, 2 * n + 1)
            terms = variance**2 / np.where(is_common, of_others, np.maximum(n - 1, 1))
            df = variance.sum(axis=0) ** 2 / terms.sum(axis=0)
        places = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        df = np.where(np.isfinite(df), df, 1.0)
        self._widening = np.sqrt(df / (2 * scipy.special.gammaincinv(df / 2, places[:, None])))
        self._by_group = [
            (
                _root(residuals[group == g]), np.where(is_common[g], 0.0, own_scale[g]),
                np.where(is_common[g], common_scale[g], 0.0), n[g] > 0,
            )
            for g in range(groups)
        ]  # fmt: skip
        self._root_of_all, self._groups = _root(residuals), groups
        self.cost = groups * (group.size + scores.shape[1])

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        return np.concatenate([self._errors(rng, many) for many in _steps(draws, self.cost)])

    def with_differences(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        errors = self.draw(rng, draws)
        return errors, np.broadcast_to(self._observed, errors.shape)

    def _errors(self, rng: np.random.Generator, draws: int) -> Array:
        out = np.empty((draws, self._groups, self._observed.shape[2]))
        for g, (root, own_scale, common_scale, is_seen) in enumerate(self._by_group):
            errors = rng.standard_normal((draws, len(root))) @ root * own_scale
            if common_scale.any():
                errors += rng.standard_normal((draws, len(self._root_of_all))) @ self._root_of_all * common_scale
            out[:, g] = np.where(is_seen, errors, np.nan)
        return _centre_means(out) * self._widening[rng.integers(_QUANTILES, size=draws), None, :]


def _root(residuals: Array) -> Array:
    """Matrix by which normal numbers become sums of faces' residuals: of many faces, as many rows as scenarios."""
    return residuals if len(residuals) <= max(_MANY, residuals.shape[1]) else np.linalg.qr(residuals).R


def _floor_and_interval(
    noise: _DealtLabels | _OwnErrors,
    observed: Array,
    value: Array,
    rng: np.random.Generator,
    resamples: int,
    most_draws: int,
) -> tuple[Floor, Array, Array]:
    """Floor and interval of spreads and their mean beside one kind of noise; parameters as in `group_spreads`."""
    sizes = _spread(observed)
    noise_draws, added = noise.with_differences(rng, resamples)
    null_spreads = _with_mean(_spread(noise_draws))
    floor = floor_from(null_spreads, value)
    p = floor.p.copy()
    rare = np.flatnonzero(p * (1 + resamples) <= 10)
    if rare.size:
        hits = p[rare] * (1 + resamples)
        for many in _steps(most_draws - resamples, noise.cost):
            more = _with_mean(_spread(noise.draw(rng, many)))
            hits += np.nansum(more[:, rare] >= value[rare] - 1e-12, axis=0)
        p[rare] = hits / (1 + most_draws)
    plain = _spread(noise_draws) ** 2
    # For the mean the supposed differences stay in the noise: its pattern over scenarios is noisy itself.
    gains = [
        (_spread(x) ** 2, _covariance(x, noise_draws)) for x in (added, np.broadcast_to(observed, noise_draws.shape))
    ]

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
    return Floor(floor.mean, floor.high, p), low, high


def _steps(draws: int, cost: int) -> Iterator[int]:
    """Numbers of draws that are made together."""
    step = max(1, _BLOCK // max(1, cost))
    return (min(step, draws - start) for start in range(0, draws, step))


def _deviations(scores: Array, labels: npt.NDArray[np.integer], groups: int) -> Array:
    """Deviations of the groups' means from their centre, shape (rows, groups, scenarios).

    `labels`: shape (rows, clusters), each row the same labels in another order.
    """
    has_score, size = np.isfinite(scores), scores.shape[1]
    alike = (has_score == has_score[:, :1]).all()  # all scenarios have the same clusters, so that they are counted once
    summed = np.concatenate([np.nan_to_num(scores), has_score[:, : 1 if alike else None]], axis=1)
    totals = sum_by_label(labels, groups, summed)
    return _centre_means(cell_means(totals[..., :size], totals[..., size:]))


def _centre_means(means: Array) -> Array:
    """Means less their centre over the groups that have one, shape (rows, groups, scenarios)."""
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
        out[scenario] = rank_test_p(samples, two=groups == 2)
    return out


def rank_test_p(samples: Sequence[Array], *, two: bool) -> float:
    """P by the normal approximation of U with continuity, exact for few faces, or by chi-squared; ties count."""
    ranks = average_ranks(np.concatenate(samples)[:, None])[:, 0]
    n, total, tied = np.array([x.size for x in samples]), ranks.size, np.unique(ranks, return_counts=True)[1]
    sums, ties = np.add.reduceat(ranks, np.cumsum(n) - n), 1 - float((tied**3 - tied).sum()) / (total**3 - total)
    if not two:
        statistic = 12 / (total * (total + 1)) * (sums**2 / n).sum() - 3 * (total + 1)
        return float(scipy.special.chdtrc(len(samples) - 1, statistic / ties))
    if n.min() <= _FEW_RANKED and ties == 1:  # takes a second to import
        return float(scipy.stats.mannwhitneyu(samples[0], samples[1], method="exact").pvalue)
    beyond = abs(sums[0] - n[0] * (total + 1) / 2) - 0.5
    return min(2 * float(scipy.special.ndtr(-beyond / np.sqrt(n.prod() * (total + 1) / 12 * ties))), 1.0)


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


def corrected_strength(groups: int, scenarios: int) -> CellStatistic:
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


class Impact(NamedTuple):
    """Ratios to the largest selection frequency; arrays of one length."""

    ratio: Array
    error: Array
    """Standard error of its logarithm."""
    low: Array
    high: Array
    p: Array
    """Of no shortfall: below 1 - `LEVEL` exactly where `high` is below 1, where there is an interval."""


def impact_ratios(
    selected: Array, se: Array, related: Array, df: Array, null: Array | None = None, smallest_p: float = 0.0
) -> Impact:
    """Ratios to the largest selection frequency, with intervals and tests.

    Parameters
    ----------
    selected, se:
        Selection frequencies of all identities with their standard errors, in one unit.
    related:
        Correlation of their errors, shape (identities, identities): pairs that two identities share count for one and
        against the other.
    df:
        Degrees of freedom of each standard error.
    null:
        Selection frequencies had nobody been preferred, shape (draws, identities); without it there is no p.
    smallest_p:
        Smallest p that these can give.

    Returns
    -------
    The reference itself is 1 and has no interval, nor has an identity that is never chosen. All NaN if nobody is
    chosen.

    Equation
    --------
    r_i = S_i / max_j S_j = min_j r_ij, r_ij = S_i / S_j; var ln r_ij = e_ij² = (se_i/S_i)² + (se_j/S_j)² -
    2 ρ_ij se_i se_j / (S_i S_j). Who is largest is not known: high = min(1, min_j r_ij exp(c_i e_ij)), low =
    min_j r_ij exp(-t_{.99} e_ij) (Hsu 1984, "Constrained simultaneous confidence intervals for multiple comparisons
    with the best"). p is the share of the null in which T_i = max_j -ln(r_ij) / e_ij is as large, the e_ij being those
    observed, and c_i the value that T_i exceeds in 5% of it; t_{1 - .05/(k-1)}, k identities, where there is no null.
    The p of an identity that is never chosen is the share of the null that falls as short.

    Examples
    --------
    >>> out = impact_ratios(np.array([40.0, 60.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.eye(3), np.full(3, 100.0))
    >>> [x.round(2).tolist() for x in out]
    [[0.67, 1.0, 0.0], [0.06, nan, nan], [0.58, nan, nan], [0.75, nan, nan], [nan, nan, nan]]
    """
    none = np.full(selected.shape, np.nan)
    if not selected.size or not np.nanmax(selected) > 0:
        return Impact(none, none, none, none, none)
    top = int(np.nanargmax(selected))
    ratio = selected / selected[top]
    chosen = (selected > 0) & np.isfinite(se)
    relative_se = np.divide(se, selected, out=np.full(se.shape, np.nan), where=chosen)
    variance = relative_se[:, None] ** 2 + relative_se[None] ** 2 - 2 * related * np.outer(relative_se, relative_se)
    error = np.sqrt(np.maximum(variance, 0.0))
    np.fill_diagonal(error, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = selected[:, None] / selected[None]
    freedom = np.maximum(np.minimum(df[:, None], df[None]), 1)
    reach = scipy.special.stdtrit(freedom, 1 - ONE_SIDED / max(selected.size - 1, 1))
    p = none
    if null is not None:
        apart = _farthest(null, error)
        reach = np.where(smallest_p < ONE_SIDED, critical_value(apart), np.inf)[:, None]
        beyond = share_beyond(apart, _farthest(selected, error))
        p = np.maximum(np.where(chosen, beyond, share_beyond(shortfalls(null), 1 - ratio)), smallest_p)
    with np.errstate(invalid="ignore"):  # zero times infinity, of whoever is never chosen
        low, high = ratios * np.exp(-scipy.special.stdtrit(freedom, 1 - UPPER) * error), ratios * np.exp(reach * error)
    stated = chosen & (np.arange(selected.size) != top) & np.isfinite(error[:, top])
    lowest, highest = (np.where(np.isfinite(x), x, np.inf).min(axis=1) for x in (low, high))
    return Impact(
        ratio,
        np.where(stated, error[:, top], np.nan),
        np.where(stated, np.minimum(lowest, ratio), np.nan),
        np.where(stated, np.minimum(np.maximum(highest, ratio), 1.0), np.nan),
        p,
    )


def _farthest(selected: Array, error: Array) -> Array:
    """Largest -ln r_ij in units of its error, over the last axis of frequencies."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.log(selected)
        out = np.full(selected.shape, -np.inf)
        for reference in range(selected.shape[-1]):
            out = np.fmax(out, (size[..., reference, None] - size) / error[:, reference])
    return out


def shortfall_bounds(shares: Bounds, related: Array) -> Bounds:
    """Bounds of shortfalls (`shortfalls`) from those of the selection frequencies.

    Equation
    --------
    low = max(0, 1 - high_i / max_{j != i} low_j), high = 1 - min(1, low_i / max_{j != i} high_j). se: of the lower end
    by the delta method, r² (a² + b² - 2 ρ a b) with a and b the relative errors of high_i and of the largest low_j, r
    their ratio.

    Examples
    --------
    >>> value, none = np.array([40.0, 60.0]), np.zeros(2)
    >>> bounds = shortfall_bounds(Bounds(value, value - 5, value + 5, none, none), np.eye(2))
    >>> bounds.low.round(2).tolist(), bounds.high.round(2).tolist()
    ([0.18, 0.0], [0.46, 0.0])
    """
    size = shares.low.size
    apart = np.where(np.eye(size, dtype=np.bool_), -np.inf, 0.0)
    compared = apart + shares.low
    top, place = compared.max(axis=1), compared.argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(top > 0, np.maximum(1 - shares.high / top, 0.0), 0.0)
        highest = (apart + shares.high).max(axis=1)
        high = np.where(highest > 0, 1 - np.minimum(shares.low / highest, 1.0), 0.0)
        a, b = shares.se / shares.high, shares.se[place] / top
        variance = a**2 + b**2 - 2 * related[np.arange(size), place] * a * b
        error = shares.high / top * np.sqrt(np.maximum(variance, 0.0))
    return Bounds(shortfalls(shares.value), low, high, shares.missing, np.where(top > 0, error, np.nan))


def shortfalls(selected: Array) -> Array:
    """1 - S_i / max S over the last axis; NaN where nobody is chosen.

    Examples
    --------
    >>> shortfalls(np.array([40.0, 50.0])).round(2).tolist()
    [0.2, 0.0]
    """
    top = selected.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(top > 0, 1 - selected / top, np.nan)
