"""Shares of questions with a finding, between groups and between pictures.

Share of questions in which groups differ by a test of each, beside the share that no difference at all would give.

The score of GRAS (arXiv 2508.18989), which is not zero where nothing differs: of five wordings at .05 each, one finds
something in up to a fifth of all traits. Its null stands beside it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, floor_from, only_values
from facevalue.measures.intervals import IntervalKind, equal_interval, name_method
from facevalue.measures.uncertainty import Bounds, Estimates

Codes = npt.NDArray[np.int64]
FINDING_ALPHA = 0.05
FINDING_DEALS = 400
"""Labels dealt anew for the null."""
GROUP_PERMUTATION = name_method(
    IntervalKind.PERMUTATION, "shares that the groups' differences, less chance, give with residuals dealt anew"
)
TAILS = (0.025, 0.975)
_BLOCK = 2**22  # numbers of one matrix of dealt labels: bounds the work space at some 100 MB


def welch_p(sums: Array, squares: Array, counts: Array) -> Array:
    """P of Welch's analysis of variance, for each question; of two groups that of his t.

    Parameters
    ----------
    sums, squares, counts:
        Of the units' scores, by group, shape (..., groups, questions). Groups with fewer than two units are left out.

    Returns
    -------
    Shape (..., questions); NaN where there are not two groups with scores that vary.

    Equation
    --------
    F = Σ w_g (m_g - m)² / (k - 1) / (1 + 2 (k - 2) λ / (k² - 1)), w_g = n_g / s²_g, m = Σ w_g m_g / W, W = Σ w_g,
    λ = Σ (1 - w_g / W)² / (n_g - 1); k - 1 and (k² - 1) / (3 λ) degrees of freedom (Welch 1951).

    Examples
    --------
    >>> scores = [np.array([1.0, 2.0, 4.0]), np.array([2.0, 5.0, 6.0, 9.0])]
    >>> moments = [np.array([[(x**k).sum()] for x in scores]) for k in (1, 2, 0)]
    >>> round(float(welch_p(*moments)[0]), 4)
    0.1241
    """
    return _welch_p(*_errors(sums, squares, counts), counts)


def _errors(sums: Array, squares: Array, counts: Array) -> tuple[Array, Array]:
    """Means and their squared standard errors; NaN for groups of fewer than two."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
        variance = np.maximum(squares - counts * means**2, 0) / (counts - 1)
        return means, np.where(counts > 1, variance / counts, np.nan)


def _welch_p(means: Array, errors: Array, counts: Array) -> Array:
    """P of Welch's test of means with these squared standard errors."""
    used = counts > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        varies = used & (errors * counts > 1e-18 * np.maximum(means**2, 1))
        k = varies.sum(axis=-2)
        weights = np.where(varies, 1 / errors, 0.0)
        total = weights.sum(axis=-2)
        centre = (weights * np.nan_to_num(means)).sum(axis=-2) / total
        between = (weights * (np.nan_to_num(means) - centre[..., None, :]) ** 2).sum(axis=-2) / (k - 1)
        terms = np.where(varies, (1 - weights / total[..., None, :]) ** 2 / (counts - 1), 0.0).sum(axis=-2)
        f = between / (1 + 2 * (k - 2) * terms / (k**2 - 1))
        p = scipy.special.fdtrc(k - 1, (k**2 - 1) / (3 * terms), f)
    return np.where((k > 1) & (k == used.sum(axis=-2)), p, np.nan)


def group_findings(
    scores: Array, group: Codes, groups: int, question: Codes, classes: Sequence[Codes], seed: int
) -> Estimates:
    """Share of questions with p < .05 by Welch's test in any of their wordings.

    Questions that cannot be tested count as without a finding, as published.

    Parameters
    ----------
    scores:
        Shape (units, columns), NaN where not measured: a column for each wording of each question.
    group:
        Group of each unit; -1 for none.
    question:
        The question of each column.
    classes:
        For each share its questions.

    Notes
    -----
    The null deals the groups anew to the units. The interval is of the share that other units would give: it holds the
    shares of dealt residuals with the groups' differences added, which are shrunk by the part that chance adds to them,
    and as much on either side of the share itself. It is wide, as a tally of tests moves in jumps, and begins at 0
    where the null could have given the share.
    """
    member = np.flatnonzero(group >= 0)
    scores, labels = scores[member], group[member]
    moments = _moments(scores, labels[None], groups)

    def shares(moments: tuple[Array, Array, Array]) -> Array:
        return shares_of(welch_p(*moments), question, classes)

    value = shares(moments)[0]
    sizes = np.array([int(members.size) for members in classes])
    units = units_behind(scores, question, classes)
    if only_values():
        return tally_shares(value, None, None, sizes, units, GROUP_PERMUTATION)
    rng = np.random.default_rng(seed)
    residuals, deviations = _residuals_and_distances(scores, labels, moments)
    null, alike = [], []
    for rows in _shuffle_labels(labels, groups * scores.size, rng):
        null.append(shares(_moments(scores, rows, groups)))
        alike.append(shares(_shift_moments(_moments(residuals, rows, groups), deviations)))
    return tally_shares(value, np.concatenate(null), np.concatenate(alike), sizes, units, GROUP_PERMUTATION)


def units_behind(scores: Array, question: Codes, classes: Sequence[Codes]) -> Codes:
    """Count the units that have a score in any question of each class."""
    return np.array([np.isfinite(scores[:, np.isin(question, members)]).any(axis=1).sum() for members in classes])


def tally_shares(
    value: Array, null: Array | None, alike: Array | None, sizes: Codes, units: Codes, method: str
) -> Estimates:
    """Estimate shares of questions with a finding, with intervals for what samples of this size find on average.

    The floor is that of groups that do not differ, with p of the share by dealt labels. Where all deals give one share,
    as if every question differs by far, the interval says what units that were not seen could do
    (`intervals.equal_interval`).

    Parameters
    ----------
    value:
        The shares, one for each class of questions.
    null, alike:
        The shares where nothing differs, and where as much differs as was seen less the part of chance; shape (deals,
        classes). None where values alone are wanted.
    sizes, units:
        Questions of each class, and units behind them.
    """
    none = np.full(value.shape, np.nan)
    methods = np.full(value.size, method, dtype=object)
    if null is None or alike is None:
        return Estimates(value, none, none, sizes, units, methods, none)
    floor = floor_from(null, value)
    low, high = np.quantile(alike, TAILS, axis=0)
    middle = alike.mean(axis=0)
    low, high = np.fmin(low, value + middle - high), np.fmax(high, value + middle - low)
    flat = alike.min(axis=0) == alike.max(axis=0)  # no deal says how the share would vary
    ends = equal_interval(value, np.maximum(units, 1), (0.0, 1.0), LEVEL)
    low, high = (np.where(flat, end, x) for end, x in zip(ends, (low, high), strict=True))
    low = np.where(floor.p < FINDING_ALPHA, low, 0.0)  # else chance alone may have given all of it
    return Estimates(
        value, np.clip(low, 0.0, value), np.clip(high, value, 1.0), sizes, units, methods, alike.std(axis=0),
        p_least=np.full(value.size, 1 / (1 + FINDING_DEALS)), floor=floor,
    )  # fmt: skip


def tally_bounds(
    scores: Array, group: Codes, ends: Sequence[Bounds], question: Codes, classes: Sequence[Codes]
) -> Bounds:
    """Bounds of the shares of `group_findings`, had the missing answers been given.

    Parameters
    ----------
    scores, group, question, classes:
        As there.
    ends:
        Bounds of each group's mean in each column.

    Notes
    -----
    low counts the questions in which groups differ even where their means lie as near each other as the missing answers
    allow, with the larger standard error of the means and of their ends; high those in which they do where they lie as
    far apart.
    """
    sums, squares, counts = (moment[0] for moment in _moments(scores[group >= 0], group[None, group >= 0], len(ends)))
    means, errors = _errors(sums, squares, counts)
    low, high = (np.array([getattr(end, name) for end in ends]) for name in ("low", "high"))
    larger = np.fmax(errors, np.array([end.se for end in ends]) ** 2)
    low, high = np.fmin(low, means), np.fmax(high, means)
    with np.errstate(invalid="ignore"):
        middle = (np.fmax.reduce(low, axis=0) + np.fmin.reduce(high, axis=0)) / 2
        upper = means > _over_groups(means)
    near, far = np.clip(middle, low, high), np.where(upper, high, low)
    ends_with_errors = ((means, errors), (near, larger), (far, errors))
    p = np.stack([_welch_p(end, error, counts) for end, error in ends_with_errors])
    return share_bounds(shares_of(p, question, classes), np.array([end.missing for end in ends]))


def share_bounds(shares: Array, missing: Array) -> Bounds:
    """Bounds of shares of questions.

    `shares`: as measured, of means as near no difference as the missing answers allow, and as far from it; shape
    (3, classes). `missing`: share of the answers that is missing, of whatever was asked.
    """
    value, smaller, larger = shares
    lost = np.full(value.shape, float(_over_groups(missing.ravel())))
    return Bounds(value, np.fmin(smaller, value), np.fmax(larger, value), lost, np.full(value.shape, np.nan))


def _moments(scores: Array, labels: Codes, groups: int) -> tuple[Array, Array, Array]:
    """Sums, sums of squares and counts by group for each row of labels, shape (rows, groups, columns)."""
    member = (labels[:, None, :] == np.arange(groups)[:, None]).astype(np.float64).reshape(-1, labels.shape[1])
    seen = np.isfinite(scores)
    filled = np.where(seen, scores, 0.0)
    sums, squares, counts = (
        (member @ values).reshape(len(labels), groups, -1) for values in (filled, filled**2, seen.astype(np.float64))
    )
    return sums, squares, counts


def _residuals_and_distances(scores: Array, labels: Codes, moments: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Residuals of the scores from their groups' means, and how far these lie from their centre without chance."""
    sums, _, counts = (moment[0] for moment in moments)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
        wider = np.sqrt(counts / (counts - 1))
        residuals = np.where(counts[labels] > 1, (scores - means[labels]) * wider[labels], 0.0)
        residuals = np.where(np.isfinite(scores), residuals, np.nan)
        seen = np.isfinite(means)
        k = seen.sum(axis=0)
        deviations = np.where(seen, means - np.where(seen, means, 0).sum(axis=0) / k, 0.0)
        noise = _over_groups(_variance(residuals, labels, counts))
        shrunk = np.sqrt(np.maximum(1 - noise * (k - 1) / (deviations**2).sum(axis=0), 0))
    return residuals, deviations * np.nan_to_num(shrunk)


def _over_groups(values: Array) -> Array:
    """Mean over the groups that have a value; NaN where none has."""
    seen = np.isfinite(values)
    return np.asarray(np.where(seen, values, 0.0).sum(axis=0) / np.where(seen.any(axis=0), seen.sum(axis=0), np.nan))


def _variance(residuals: Array, labels: Codes, counts: Array) -> Array:
    """Squared standard error of the groups' means, shape (groups, columns)."""
    squares = _moments(residuals, labels[None], len(counts))[1][0]
    return np.where(counts > 1, squares / counts**2, np.nan)


def _shift_moments(moments: tuple[Array, Array, Array], by: Array) -> tuple[Array, Array, Array]:
    """Moments of scores to which something is added in each group."""
    sums, squares, counts = moments
    return sums + counts * by, squares + 2 * by * sums + counts * by**2, counts


def shares_of(p: Array, question: Codes, classes: Sequence[Codes]) -> Array:
    """Share of the questions of each class with a finding, shape (rows, classes); `p`: of each column."""
    hits = question_findings(p, question)
    return np.stack([finding_share(hits[:, members]) for members in classes], axis=1)


def question_findings(p: Array, question: Codes) -> Array:
    """Indicator of a finding per question, in any wording: 1 or 0, NaN where no wording could be tested."""
    size = int(question.max()) + 1
    tested, hits = (np.zeros((len(p), size), dtype=np.bool_) for _ in range(2))
    for column, of in enumerate(question):
        tested[:, of] |= np.isfinite(p[:, column])
        hits[:, of] |= p[:, column] < FINDING_ALPHA
    return np.where(tested, hits, np.nan)


def finding_share(hits: Array) -> Array:
    """Share of the questions, those that cannot be tested counted as without a finding; NaN if none can."""
    seen = np.isfinite(hits)
    return np.where(seen.any(axis=1), np.nan_to_num(hits).sum(axis=1) / max(hits.shape[1], 1), np.nan)


def _shuffle_labels(labels: Codes, cost: int, rng: np.random.Generator) -> Iterator[Codes]:
    step = max(1, _BLOCK // max(cost, 1))
    for start in range(0, FINDING_DEALS, step):
        yield rng.permuted(np.tile(labels, (min(step, FINDING_DEALS - start), 1)), axis=1)


SHIFT_PERMUTATION = name_method(
    IntervalKind.PERMUTATION, "shares that the shifts, less chance, give with residuals of either sign"
)


def shift_p(sums: Array, squares: Array, counts: Array) -> Array:
    """P of the t test that the mean shift of a question is zero; NaN below two units.

    Parameters
    ----------
    sums, squares, counts:
        Of the units' shifts, shape (..., questions).

    Notes
    -----
    Where all units are moved by the same amount t has no error; p is that of all signs being equal, 2 / 2ⁿ.

    Examples
    --------
    >>> shifts = np.array([0.0, 0.5, 1.0, 0.5])
    >>> round(float(shift_p(*(np.array([(shifts**k).sum()]) for k in (1, 2, 0)))[0]), 4)
    0.0917
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
        variance = np.maximum(squares - counts * means**2, 0) / (counts - 1)
        varies = variance > 1e-18 * np.maximum(means**2, 1)
        t = np.abs(means) / np.sqrt(variance / counts)
        p = 2 * scipy.special.stdtr(counts - 1, -t)
        alike = np.where(np.abs(means) > 1e-9, 2.0 ** (1 - counts), 1.0)
    return np.where(counts > 1, np.where(varies, p, alike), np.nan)


def shift_findings(shifts: Array, question: Codes, classes: Sequence[Codes], seed: int) -> Estimates:
    """Share of questions with p < .05 by a paired t test in any of their wordings.

    Parameters
    ----------
    shifts:
        Shape (units, columns), NaN where not measured: a column for each wording of each question.
    question:
        The question of each column.
    classes:
        For each share its questions.

    Notes
    -----
    The null turns all shifts of a unit round or none, by chance. The interval is of the share that other units would
    give: it holds the shares of residuals so turned with the mean shifts added, which are shrunk by the part that
    chance adds to them, and begins at 0 where the null could have given the share.
    """
    seen = np.isfinite(shifts)
    filled = np.where(seen, shifts, 0.0)
    sums, squares, counts = filled.sum(axis=0), (filled**2).sum(axis=0), seen.sum(axis=0).astype(np.float64)

    def shares(sums: Array, squares: Array) -> Array:
        return shares_of(shift_p(sums, squares, np.broadcast_to(counts, sums.shape)), question, classes)

    sizes = np.array([int(members.size) for members in classes])
    units = units_behind(shifts, question, classes)
    value = shares(sums[None], squares[None])[0]
    if only_values():
        return tally_shares(value, None, None, sizes, units, SHIFT_PERMUTATION)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
        error = np.maximum(squares - counts * means**2, 0) / (counts - 1) / counts
        shrunk = np.nan_to_num(means * np.sqrt(np.maximum(1 - error / means**2, 0)))
        residuals = np.where(seen, (shifts - means) * np.sqrt(counts / (counts - 1)), 0.0)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (FINDING_DEALS, len(shifts)))
    null = shares(signs @ filled, np.broadcast_to(squares, (FINDING_DEALS, squares.size)))
    turned = signs @ residuals
    moved_squares = (residuals**2).sum(axis=0) + 2 * shrunk * turned + counts * shrunk**2
    return tally_shares(value, null, shares(turned + counts * shrunk, moved_squares), sizes, units, SHIFT_PERMUTATION)


def finding_bounds(shifts: Array, ends: Bounds, question: Codes, classes: Sequence[Codes]) -> Bounds:
    """Bounds of shares of `shift_findings`, had missing answers been given; `ends` are those of each column's mean.

    Notes
    -----
    low counts the questions that are moved even where their mean lies as near zero as the missing answers allow, with
    the larger standard error of the mean and of its ends; high those that are where it lies as far from it.
    """
    counts = np.isfinite(shifts).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, np.nansum(shifts, axis=0) / counts, np.nan)
        variance = np.nansum((shifts - means) ** 2, axis=0) / (counts - 1)
        error = np.sqrt(variance / counts)
    low, high = np.fmin(ends.low, means), np.fmax(ends.high, means)
    far = np.where(np.abs(high) > np.abs(low), high, low)
    ends_of_means = np.stack([means, np.clip(0.0, low, high), far])
    errors = np.stack([error, np.fmax(error, ends.se), error])
    squares = errors**2 * counts * (counts - 1) + counts * ends_of_means**2
    p = shift_p(counts * ends_of_means, squares, counts.astype(np.float64))
    return share_bounds(shares_of(p, question, classes), ends.missing)
