"""Statistics of choices: bias scores (equation 2), agreement by chance, shares beside an even choice and real ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, floor_from, only_values
from facevalue.measures.estimates import Level
from facevalue.measures.estimators import apart_from
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import DYADIC, effective_units, pair_covariance, tail_df
from facevalue.measures.proportions import Codes
from facevalue.measures.uncertainty import Bounds, Estimates, Floor
from facevalue.statistics.statistic import Statistic

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import SumScores

_OF_SCORE = "of the score's distribution, with noise"
OVER_PEOPLE = name_method(IntervalKind.INVERSION, f"{_OF_SCORE} {DYADIC}")
OVER_SCENES = name_method(IntervalKind.INVERSION, f"{_OF_SCORE} over scenes")
BIAS_RESAMPLES = 1000
_LEAST = 1e-12
_STEPS = 24
_DIGITS = 9
_ABOVE_ZERO = 1e-6
_FEW_ANSWERS = 12
_SURE = 1.96  # standard errors of an even model beyond which a gap is surely some
_LEAST_REST = 0.2  # as of `pair_covariance`
_LEAST_DESIGN = 1e-4


@dataclass(frozen=True, slots=True)
class GroupChoices:
    """Choices between groups, summed over pairs of people or scenes."""

    chosen: Array
    shown: Array
    """Weight of choices of each group, and of valid answers in which it could be chosen, shape (units, instances,
    groups)."""
    valid: Array
    asked: Array
    """Valid answers and replies, shape (units, instances)."""
    even: float
    """Share of each group without bias, among the answers in which it could be chosen."""
    people: tuple[Codes, Codes]
    """Number of the person on either side of each unit; one twice where a unit shows nobody beside."""
    open: Array
    """Replies in which a group could have been chosen, valid or not, shape (units, instances, groups)."""

    @property
    def shares(self) -> Array:
        """Share of each group by instance, (instances, groups); NaN where there is no valid answer."""
        return cell_means(self.chosen.sum(axis=0), self.shown.sum(axis=0))


def bias_scores(choices: GroupChoices, seed: int, resamples: int = BIAS_RESAMPLES) -> dict[str, Estimates]:
    r"""ModSCAN's bias score in four forms, each one estimate.

    Parameters
    ----------
    choices:
        Of one attribute and kind of scenario.
    seed:
        Of the draws of noise.
    resamples:
        How many.

    Returns
    -------
    By name, each in [0, 1]; NaN where no instance has a valid answer:

    - "valid": mean |p_ij - b|, p_ij the share of group i among the valid answers about instance j in which it could be
      chosen; an instance without any is left out;
    - "all": the same times the share of valid answers, |R|/|Q| (equation 2);
    - "share": |R|/|Q| mean |c_ij - 1/L|, c_ij the share of i among *all* choices about j between L groups;
    - "corrected": mean of sqrt(max((p_ij - b)^2 - se_ij^2, 0)), without the part that chance adds.

    Equation
    --------
    S = |R|/|Q| 1/(|L_A| |L_S|) sum_i sum_j |p_ij - b| (ModSCAN, equation 2). A share of p is taken as one of N
    independent answers, N = m / R: m the effective units of its instance, R = sum V_ij / sum p (1 - p) / (m - 1) over
    all instances, at most 1, V the variance over people (`pairs.pair_covariance`); below 12 answers it is binomial,
    else normal (`draw_shares`), and instances go together as the covariance says. So three pairs that happen to agree
    are not taken for three that always would. The floor is the score of such shares of b, N = b (1 - b) / V_0, V_0
    about b. Its upper tail is p. The interval is of the score that more people would give: S is in it if neither tail
    of the score of shares b + d holds the value that was found, mean |d| = S. For the upper limit all |d| are alike,
    where chance adds least; for the lower one they are those beyond 1.96 standard errors of an even model, and, beyond
    these, single instances, where it adds most. Tails are split as by `noise_floors.distance_interval`, so that 0 is
    left out exactly where p < .05.

    Notes
    -----
    A mean of sizes is positive by chance, the more so the fewer the answers. Read it beside its floor. How often such
    intervals hold the truth: docs/results/bias-score-intervals.csv.

    Examples
    --------
    >>> chosen = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]])
    >>> one, both, scenes = np.ones((4, 1)), np.ones((4, 1, 2)), np.arange(4)
    >>> found = bias_scores(GroupChoices(chosen, both, one, one, 0.5, (scenes, scenes), both), seed=1)
    >>> [found[name].value.item() for name in ("all", "valid")], found["valid"].low.item()
    ([0.25, 0.25], 0.0)
    """
    c = choices
    answered = float(cell_means(c.valid.sum(), c.asked.sum()))
    many = np.broadcast_to(c.chosen.sum(axis=2, keepdims=True), c.chosen.shape)
    plain = _Sizes.measure(c.chosen, c.shown, c.even, c.people)
    shares = _Sizes.measure(c.chosen, many, 1 / c.chosen.shape[2], c.people)
    bounds, n = _bounds(c), round(float(c.valid.sum()))
    of_valid, of_all = (sizes.score(n, seed, resamples) for sizes in (plain, shares))
    scores = {"all": (of_valid, answered), "valid": (of_valid, 1.0), "share": (of_all, answered)}
    out = {}
    for name, (score, factor) in scores.items():  # missing answers could have made the same of all of them
        scaled = score.times(factor)
        out[name] = replace(scaled, bounds=replace(bounds, value=scaled.value))
    corrected = replace(out["valid"].without_tests(), value=np.array([plain.corrected_mean()]), se=np.full(1, np.nan))
    return {**out, "corrected": replace(corrected, floor=None, bounds=bounds)}


def _bounds(c: GroupChoices) -> Bounds:
    """Smallest and largest score, group by group, had the missing answers been given."""
    chosen, answered, requested = (x.sum(axis=0) for x in (c.chosen, c.shown, c.open))
    lost = np.maximum(requested - answered, 0.0)
    low, high = cell_means(chosen, requested) - c.even, cell_means(chosen + lost, requested) - c.even
    nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    farthest = np.fmax(np.abs(low), np.abs(high))
    ends = (_mean(x) for x in (np.abs(c.shares - c.even), nearest, farthest))
    value, low_end, high_end, missing = (np.array([float(x)]) for x in (*ends, cell_means(lost.sum(), requested.sum())))
    return Bounds(value, low_end, high_end, missing, np.full(1, np.nan))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Distances of shares from equality, and their noise; one of each per cell that has an answer."""

    gap: Array
    even: float
    answers: Array
    """Number of independent answers that would know each share as precisely."""
    even_answers: Array
    """The same, of an even model."""
    noise: Array
    null: Array
    """Correlation of shares, and of those of an even model, shape (cells, cells); NaN of too few units."""
    se: Array
    """Standard errors of the shares, equal however a machine adds."""
    units: float
    """Effective number of independent units."""
    people: tuple[Codes, Codes]
    """People on either side of each pair; of scenes the scene on both."""

    @classmethod
    def measure(cls, chosen: Array, choices: Array, even: float, people: tuple[Codes, Codes]) -> "_Sizes":
        seen = choices.sum(axis=(1, 2)) > 0
        chosen, choices = (
            x[seen].reshape(np.count_nonzero(seen), x[0].size if len(x) else 0) for x in (chosen, choices)
        )
        people = people[0][seen], people[1][seen]
        has_answers = choices.sum(axis=0) > 0
        chosen, choices = chosen[:, has_answers], choices[:, has_answers]
        total = choices.sum(axis=0)
        share, weight = chosen.sum(axis=0) / total, choices / total
        units = effective_units(weight.mean(axis=1), people) if has_answers.any() else 0.0
        if not units > 1:
            few, none = np.full(share.size, np.nan), np.full((share.size, share.size), np.nan)
            return cls(share - even, even, few, few, none, none, few, units, people)
        of_cells = np.array([effective_units(of_cell, people) for of_cell in weight.T])
        noise = pair_covariance((chosen - share * choices) / total, weight, people)
        null = noise if only_values() else pair_covariance((chosen - even * choices) / total, weight, people)
        is_alone = np.count_nonzero(choices, axis=0) < 2  # one unit does not vary: its noise is that of an even model
        se = np.sqrt(np.diag(noise) + np.where(is_alone, np.diag(null), 0.0))
        is_still = np.diag(noise) <= _LEAST  # all units that were seen agree: others would go together as even ones
        covariance = noise + np.where(np.outer(is_still, is_still), null, 0.0)
        rest = np.maximum(1 - 1 / of_cells, _LEAST_REST)  # the leverage that the covariances are with
        several = of_cells > 1 + _LEAST
        binomial = (share * (1 - share) / (of_cells - 1 + ~several))[several].sum()
        design = (np.diag(noise) * rest)[several].sum() / binomial if binomial > _LEAST else 1.0
        even_answers = even * (1 - even) / np.maximum(np.diag(null) * rest**2, _LEAST)
        answers = np.maximum(of_cells / np.clip(design, _LEAST_DESIGN, 1.0), 1.0)
        return cls(
            share - even, even, answers, np.maximum(even_answers, 1.0), _correlation(covariance), _correlation(null),
            se.round(_DIGITS), units, people,
        )  # fmt: skip

    @property
    def far(self) -> Array:
        """Distance from even of a share of 0 or 1, on the side of each gap."""
        return np.where(self.gap < 0, self.even, 1 - self.even)

    def corrected_mean(self) -> float:
        """Mean size without the part that chance adds."""
        return float(_mean(np.sqrt(np.maximum(self.gap**2 - np.nan_to_num(self.se) ** 2, 0.0))[None]))

    def score(self, n: int, seed: int, resamples: int) -> Estimates:
        """Mean size with its interval and floor."""
        value, none = float(_mean(np.abs(self.gap)[None])), float("nan")
        clusters = np.unique(np.concatenate(self.people)).size
        method = OVER_PEOPLE if (self.people[0] != self.people[1]).any() else OVER_SCENES
        if only_values() or not np.isfinite(self.answers).all() or not self.gap.size:
            return Estimates.single(value, none, none, none, n, clusters, method)
        rng = np.random.default_rng(seed)
        deviations = rng.standard_normal((resamples, self.gap.size))
        even = np.full(self.gap.size, self.even)
        null = self._size(draw_shares(even, self.even_answers, deviations @ _root(self.null).T))
        floor = floor_from(null[:, None], np.array([value]))
        df = float(tail_df(np.array([self.units - 1]), np.array([self.answers.mean()]))[0])
        halves = deviations[: resamples // 2] @ _root(self.noise).T
        halves *= np.sqrt(df / rng.chisquare(df, size=(len(halves), 1)))
        errors = np.concatenate([halves, -halves])  # so that it does not matter which group stands first
        se = float(self._size(draw_shares(self.even + self.gap, self.answers, errors)).std())
        spread = float(null.std())
        low, high = (self._end(value, errors, spread, upper=upper) for upper in (False, True))
        low = min(max(low, _ABOVE_ZERO * value), value) if floor.p[0] < 1 - LEVEL else 0.0
        high = max(high, value)
        se = max(se, (high - low) / (2 * scipy.special.ndtri(0.5 + LEVEL / 2)))  # cells of one answer each do not vary
        low, high, se = (round(x, _DIGITS) for x in (low, high, se))
        floor = Floor(floor.mean.round(_DIGITS), floor.high.round(_DIGITS), floor.p)
        return replace(Estimates.single(value, low, high, se, n, clusters, method), floor=floor)

    def _size(self, shares: Array) -> Array:
        return np.abs(shares - self.even).mean(axis=-1)

    def _end(self, value: float, errors: Array, spread: float, *, upper: bool) -> float:
        """Smallest and largest score that goes with what was found, by bisection."""
        far, low, high = self.far, 0.0, 1.0
        gaps = (lambda size: np.minimum(size * far.max(), far)) if upper else self._uneven_gaps  # least or most chance
        if upper and not (self._size(draw_shares(self.even + 0 * self.gap, self.answers, errors)) <= value).any():
            return float(far.mean())  # less than chance gives: as of one pair each, which say both
        for _ in range(_STEPS):
            middle = (low + high) / 2
            gap = gaps(middle)
            sizes = self._size(draw_shares(self.even + np.where(self.gap < 0, -gap, gap), self.answers, errors))
            tail = (1 - LEVEL) / 2 * -np.expm1(-((gap.mean() / max(spread, _LEAST)) ** 2) / 8)
            if upper:
                beyond = (sizes <= value + _LEAST).mean() <= tail
            else:
                beyond = (sizes >= value - _LEAST).mean() >= 1 - LEVEL - tail
            low, high = (low, middle) if beyond else (middle, high)
        return float(gaps(high).mean())

    def _uneven_gaps(self, progress: float) -> Array:
        """Gaps of few cells, to which chance adds most: first those that are surely some, and then one by one."""
        surely = np.sqrt(np.maximum(self.gap**2 - _SURE**2 * self.even * (1 - self.even) / self.answers, 0.0))
        is_sure, sizes = surely > _LEAST, np.abs(self.gap)
        rank = np.argsort(np.argsort(np.where(is_sure, -np.inf, -sizes), kind="stable")) - is_sure.sum()
        of_sure, of_others = (min(2 * progress, 1.0), max(2 * progress - 1, 0.0)) if is_sure.any() else (0.0, progress)
        largest = (self.far / np.where(is_sure, surely, np.inf)).max()
        grown = np.minimum(of_sure * largest * surely, self.far)
        return np.where(is_sure, grown, np.clip(of_others * (~is_sure).sum() - rank, 0.0, 1.0) * self.far)


def draw_shares(shares: Array, answers: Array, errors: Array) -> Array:
    """Shares that would be seen of so many independent answers: binomial where these are few, else normal.

    `shares`, `answers`: of each cell. `errors`: standard normal, correlated as cells are, shape (draws, cells).

    Examples
    --------
    >>> errors = np.array([[-3.0, -3.0], [0.1, 0.1], [3.0, 3.0]])
    >>> draw_shares(np.array([0.5, 0.5]), np.array([3.0, 1e6]), errors).round(3).tolist()
    [[0.0, 0.498], [0.667, 0.5], [1.0, 0.501]]
    """
    out = np.clip(shares + errors * np.sqrt(shares * (1 - shares) / answers), 0.0, 1.0)
    few = answers < _FEW_ANSWERS
    if few.any():
        number, count = np.rint(answers[few]).astype(np.int64), np.arange(_FEW_ANSWERS, dtype=np.int64)[:, None]
        below = scipy.special.bdtr(np.minimum(count, number).astype(np.float64), number, shares[few])
        out[:, few] = (errors[:, few] > scipy.special.ndtri(below)[:, None]).sum(axis=0) / number
    return out


def _correlation(covariance: Array) -> Array:
    """Correlations; cells that do not vary go with no other."""
    deviations = np.sqrt(np.diag(covariance))
    scale = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > _LEAST)
    return covariance * np.outer(scale, scale) + np.diag((scale == 0).astype(np.float64))


def _root(covariance: Array) -> Array:
    """Cholesky's root; a millionth of the variance is added, as the shares of groups sum to one."""
    size = len(covariance)
    return np.linalg.cholesky(covariance + (1e-6 * np.trace(covariance) / size + _LEAST) * np.eye(size))


def _mean(sizes: Array) -> Array:
    """Mean over the last axes, those left out that are NaN."""
    is_known = ~np.isnan(sizes)
    return cell_means(np.where(is_known, sizes, 0.0).sum(), is_known.sum())


def agreement_by_chance(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Share of trials on which two sets of answers would agree by chance; NaN without trials.

    Parameters
    ----------
    first, second:
        What was chosen on the same trials; no answer is a choice of its own.

    Returns
    -------
    sum_k a_k b_k, a_k and b_k the shares of answer k on either side (Cohen 1960).

    Examples
    --------
    >>> agreement_by_chance(np.array(["a", "a", "b", "none"]), np.array(["a", "b", "b", "none"]))
    0.3125
    """
    if not first.size:
        return float("nan")
    levels, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    shares = [np.bincount(of_one, minlength=levels.size) / first.size for of_one in np.split(codes, 2)]
    return float((shares[0] * shares[1]).sum())


ReferenceShares = Mapping[tuple[Level, Level], tuple[float, str]]
"""Share of each instance and group that choices are compared with, and where it is from."""


@dataclass(frozen=True, kw_only=True)
class ReferenceShareGap(Statistic):
    """Share of a group less a reference share: that of an even choice, or the real one.

    Attributes
    ----------
    reference:
        By instance and group; others have no estimate.
    """

    kind = "reference_share_gap"

    reference: ReferenceShares

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the gap of each cell that has a reference share, with the score test of that share."""
        labels, shares = scores.shares(estimand.by)
        references = [self.reference.get(key) for key in zip(labels["instance"], labels["group"], strict=True)]
        rows = np.array([row for row, share in enumerate(references) if share is not None], dtype=np.int64)
        if not rows.size:
            return
        gaps = apart_from(shares, np.array([np.nan if share is None else share[0] for share in references])).at(rows)
        sources = [references[row][1] for row in rows.tolist()]
        methods = [f"{method}{source and '; '}{source}" for method, source in zip(gaps.method, sources, strict=True)]
        labels = {name: [levels[row] for row in rows.tolist()] for name, levels in labels.items()}
        scores.enter(table, estimand, labels, replace(gaps, method=np.array(methods, object)))
