"""Intervals of listed words by the test of their labels, which knows that the words were chosen.

The test (`word_association.label_tests`) asks whether a group's texts have a word more often than dealt labels would
give. Here the same is asked of every other ratio of rates, so that interval and p-value cannot contradict each other.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.word_association import Places, Presence, among_all, label_tests, within_sets

METHOD = name_method(IntervalKind.INVERSION, "of the test by dealt labels, adjusted for the choice of words")
BELOW = 0.8
"""Share of an interval's errors on the side of zero, as only words above it are listed."""
_STEPS = 50
_FARTHEST = 60.0  # tilt of log odds that no word comes near
_LEAST = 1e-12


class Limits(NamedTuple):
    """Limits of words' scores, and p-values; shape (groups, words), NaN where a word is not listed."""

    low: Array
    high: Array
    p: Array


def listed_limits(presence: Presence, listed: npt.NDArray[np.bool_], tests: int) -> Limits:
    """Intervals at `LEVEL` of the log2 ratio of a word's rate in a group's texts to that in all others.

    Parameters
    ----------
    listed:
        Words that were chosen for being above zero, shape (groups, words), R in all.
    tests:
        From how many pairs of group and word they were chosen, m.

    Equation
    --------
    A rate 2^θ times that of the others multiplies the odds of the group's images by e^t = (exp(2^θ r) - 1) / (exp(r) -
    1), r = -ln(1 - k / (n + 1)) where k of the n images of other groups have the word: the logit of each probability of
    `label_tests` grows by t. Limits: t with P_t(X >= observed) = .8 a and P_t(X <= observed) = .2 a, where
    a = (1 - LEVEL) R / m (Benjamini and Yekutieli 2005, "False discovery rate-adjusted multiple confidence intervals
    for selected parameters"). p = P_0(X >= observed) m / (.8 R): below 1 - LEVEL exactly where low > 0; Benjamini and
    Hochberg's q over the listed is that over all m at .8 of their level. Where all images that could be another
    group's are the group's, the upper limit is as if one more had been another's.

    Examples
    --------
    >>> word, one = np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.uint64)
    >>> ten = Presence(word, np.arange(10), one, 1, np.full((10, 2), 50.0), in_sets=True)
    >>> limits = listed_limits(ten, np.array([[True], [False]]), 2)
    >>> limits.low[0].round(2).tolist(), limits.high[0].round(2).tolist(), limits.p[0].round(4).tolist()
    ([1.06], [10.72], [0.0024])
    """
    chosen = max(int(listed.sum()), 1)
    tail = (1 - LEVEL) * chosen / max(tests, chosen)
    low, high = np.full(listed.shape, np.nan), np.full(listed.shape, np.nan)
    tilts = _within_sets if presence.in_sets else _among_all
    for group, words, lowest, highest in tilts(presence, listed, BELOW * tail, (1 - BELOW) * tail):
        low[group, words], high[group, words] = lowest, highest
    images, described = presence.images, (presence.lengths > 0).sum(axis=0)
    rate = -np.log1p(-(images.sum(axis=0) - images) / (described.sum() - described + 1)[:, None])
    p = np.minimum(label_tests(presence, listed) * max(tests, chosen) / (BELOW * chosen), 1.0)
    return Limits(_ratio(low, rate), _ratio(high, rate), p)


def _ratio(tilt: Array, rate: Array) -> Array:
    """Log2 of the ratio of rates that multiplies odds by exp(tilt)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        larger = np.logaddexp(0.0, tilt + np.log(np.expm1(rate)))  # ln(1 + e^t (e^r - 1))
        return np.where(rate > 0, np.log2(larger / rate), tilt / np.log(2))


def _within_sets(
    presence: Presence, listed: npt.NDArray[np.bool_], below: float, above: float
) -> Iterator[tuple[int, Places, Array, Array]]:
    """Limits of the tilts of listed words, of one group at a time."""
    share = 1 / presence.lengths.shape[1]
    for group, (observed, chance, word) in enumerate(within_sets(presence, listed)):
        words = np.flatnonzero(listed[group])
        if words.size:
            place = np.searchsorted(words, word)
            others = np.bincount(place, minlength=words.size) - observed[words]
            low = _lower(observed[words], chance, place, below, share)
            yield group, words, low, -_lower(others, 1 - chance, place, above, 1 - share)


def _lower(observed: Array, chance: Array, word: Places, tail: float, more: float) -> Array:
    """Tilt t with P_t(X >= observed) = `tail` of sums X of Bernoulli variables, by the saddlepoint of the test.

    `chance` and `word`: of each variable, before it is tilted. Where none was observed, as if one more had been, of
    probability `more`.
    """
    none = np.flatnonzero(observed == 0)
    word, chance = np.append(word, none), np.append(chance, np.full(none.size, more))
    observed = np.maximum(observed, 1.0)
    logit = scipy.special.logit(np.clip(chance, _LEAST, 1 - _LEAST))

    def total(values: Array) -> Array:
        return np.bincount(word, values, observed.size).astype(np.float64)

    def cumulant(t: Array) -> Array:
        return total(np.logaddexp(0.0, logit + t[word]))

    is_every = observed >= total(np.ones(word.size))
    goal = np.where(is_every, observed / 2, observed - 0.5)
    far = np.full(observed.shape, _FARTHEST)
    top = _solved(lambda t: total(scipy.special.expit(logit + t[word])) < goal, -far, far)
    p = scipy.special.expit(logit + top[word])
    scale, end = np.sqrt(total(p * (1 - p))), cumulant(top)

    def is_less(tilt: Array) -> npt.NDArray[np.bool_]:
        t = np.maximum(top - tilt, _LEAST)
        w = np.sqrt(np.maximum(2 * (t * goal - end + cumulant(tilt)), _LEAST))
        density = np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi)
        beyond = scipy.special.ndtr(-w) + density * (1 / (2 * np.sinh(t / 2) * scale) - 1 / w)
        chance_of_all = np.exp(-total(np.logaddexp(0.0, -logit - tilt[word])))
        return np.asarray(np.where(is_every, chance_of_all, beyond) < tail)

    return _solved(is_less, np.where(is_every, -far, top - far), np.where(is_every, far, top))


def _among_all(
    presence: Presence, listed: npt.NDArray[np.bool_], below: float, above: float
) -> Iterator[tuple[int, Places, Array, Array]]:
    """The same of words of images in no sets, one at a time."""
    for group, word, observed, (total, has, images), odds in among_all(presence, listed):
        low = _hypergeometric(observed, total, has, images, odds, below)
        high = -_hypergeometric(has - observed, total, has, total - images, 1 / odds, above)
        yield group, np.array([word]), np.array([low]), np.array([high])


def _hypergeometric(observed: int, total: int, has: int, images: int, odds: float, tail: float) -> float:
    """Tilt t with P_t(X >= observed) = `tail`, X how many of so many images are among those that have a word."""
    if observed == max(0, has + images - total):  # as if one more had, and one more of the rest had not
        observed, total, has, images = observed + 1, total + 2, has + 1, images + 1
    x = np.arange(max(0, has + images - total), min(has, images) + 1)
    law = (
        x * np.log(odds)
        - scipy.special.betaln(has - x + 1, x + 1)
        - scipy.special.betaln(total - has - images + x + 1, images - x + 1)
    )

    above, low, high = x >= observed, -_FARTHEST, _FARTHEST
    for _ in range(_STEPS):
        tilt = (low + high) / 2
        tilted = law + tilt * x
        weight = np.exp(tilted - tilted.max())
        low, high = (tilt, high) if weight[above].sum() < tail * weight.sum() else (low, tilt)
    return (low + high) / 2


def _solved(is_less: Callable[[Array], npt.NDArray[np.bool_]], low: Array, high: Array) -> Array:
    """Where something that holds at first ceases to."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = is_less(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
