"""Flips: how often the answer about a changed picture is another one than that about its base.

A model that draws its replies changes its answer about one and the same picture, too. So flips stand beside those of a
picture asked twice. What lies beyond is due to the other picture, and not by itself to what was changed in it: any
other picture would flip some answers. So it is described, and not tested.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array

Codes = npt.NDArray[np.int64]


class Flips(NamedTuple):
    """Flips of each changed picture and question, shape (pictures, questions); NaN where not measured.

    `rate`: of the answer from base to change. `floor`: of the answers to either asked twice, which takes two valid
    replies to it. `beyond`: the one less the other. `chosen`, `valid`, `asked`: sums of flips, valid pairs of answers,
    and pairs asked for.
    """

    rate: Array
    floor: Array
    beyond: Array
    chosen: Array
    valid: Array
    asked: Array


def flips(weights: Array, mass: Array, asked: npt.NDArray[np.bool_], base: Codes, varied: Codes) -> Flips:
    """Compare answers about changed pictures with those about their bases.

    Parameters
    ----------
    weights:
        How much of each answer counts, 0 to 1, shape (stimuli, questions, orderings, repeats); NaN without one.
    mass, asked:
        Same shape: probability of a valid answer, and whether one was asked for.
    base, varied:
        Rows of the bases (-1 for none) and of the changed pictures.

    Equation
    --------
    rate = p (1 - p') + p' (1 - p), of p and p' the shares of the answers about base and change; floor the mean of
    2 p (1 - p) n / (n - 1) and the same of p', n valid replies (n / (n - 1) = 1 for exact probabilities); by order of
    the options, then averaged. Both are unbiased, and beyond is (p - p')² on average: 0 where the change does nothing.

    Examples
    --------
    >>> answers = np.array([[[[1.0, 0.0, 1.0, 0.0]]], [[[1.0, 1.0, 1.0, 1.0]]]])
    >>> out = flips(answers, np.ones_like(answers), answers >= 0, np.array([0]), np.array([1]))
    >>> [round(x.item(), 3) for x in out[:3]]
    [0.5, 0.333, 0.167]
    """
    seen = np.isfinite(weights) & (mass > 0)
    weight = np.where(seen, mass, 0.0)
    n = weight.sum(axis=-1)
    exact = bool((seen & (weights > 0) & (weights < 1)).any())
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(seen, weights * weight, 0.0).sum(axis=-1) / n
        again = 1.0 if exact else np.where(n > 1, n / (n - 1), np.nan)
        twice = 2 * p * (1 - p) * again
        share = n / asked.sum(axis=-1)  # NaN where nothing was asked
    before, after = (p[rows] for rows in (base, varied))
    rate = before * (1 - after) + after * (1 - before)
    rate[base < 0] = np.nan
    floor = (twice[base] + twice[varied]) / 2
    valid = np.where(np.isfinite(rate), share[base] * share[varied], 0.0)
    pairs = (np.isfinite(share[base]) & np.isfinite(share[varied]) & (base >= 0)[:, None, None]).sum(axis=-1)
    return Flips(
        _mean(rate), _mean(np.where(np.isfinite(rate), floor, np.nan)), _mean(rate - floor),
        (np.nan_to_num(rate) * valid).sum(axis=-1), valid.sum(axis=-1), pairs.astype(np.float64),
    )  # fmt: skip


def _mean(values: Array) -> Array:
    """Mean over the orders of the options."""
    seen = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen, values, 0.0).sum(axis=-1) / np.where(seen.any(axis=-1), seen.sum(axis=-1), np.nan)
