"""Share of questions in which a picture moves the answer by a paired test of each, beside what chance alone gives."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.group_findings import DEALS, share_bounds, shares_of, tally, units_behind
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.uncertainty import Bounds, Estimates

Codes = npt.NDArray[np.int64]
METHOD = name_method(
    IntervalKind.PERMUTATION, "shares that the shifts, less chance, give with residuals of either sign"
)


def moved(sums: Array, squares: Array, counts: Array) -> Array:
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
    >>> round(float(moved(*(np.array([(shifts**k).sum()]) for k in (1, 2, 0)))[0]), 4)
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


def findings(shifts: Array, question: Codes, classes: Sequence[Codes], seed: int) -> Estimates:
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
        return shares_of(moved(sums, squares, np.broadcast_to(counts, sums.shape)), question, classes)

    sizes = np.array([int(members.size) for members in classes])
    units = units_behind(shifts, question, classes)
    value = shares(sums[None], squares[None])[0]
    if cluster_bootstrap.only_values():
        return tally(value, None, None, sizes, units, METHOD)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
        error = np.maximum(squares - counts * means**2, 0) / (counts - 1) / counts
        shrunk = np.nan_to_num(means * np.sqrt(np.maximum(1 - error / means**2, 0)))
        residuals = np.where(seen, (shifts - means) * np.sqrt(counts / (counts - 1)), 0.0)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (DEALS, len(shifts)))
    null = shares(signs @ filled, np.broadcast_to(squares, (DEALS, squares.size)))
    turned = signs @ residuals
    moved_squares = (residuals**2).sum(axis=0) + 2 * shrunk * turned + counts * shrunk**2
    return tally(value, null, shares(turned + counts * shrunk, moved_squares), sizes, units, METHOD)


def finding_bounds(shifts: Array, ends: Bounds, question: Codes, classes: Sequence[Codes]) -> Bounds:
    """Bounds of the shares of `findings`, had the missing answers been given; `ends` are those of each column's mean.

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
    p = moved(counts * ends_of_means, squares, counts.astype(np.float64))
    return share_bounds(shares_of(p, question, classes), ends.missing)
