"""Which groups stand apart from a majority that is alike: what each explanation costs, and what it costs by chance."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array

Places = npt.NDArray[np.int64]
_DRAWS, _DRAWS_OF_MANY, _MANY, _ENOUGH = (2_000, 10_000), (2_000, 4_000), 16, 20
"""Worlds without a difference, and as many of a minority apart, from which p is taken, at first and at most, for up to
so many groups and for more; and how many of the first must have as much evidence, so that no further ones are drawn."""
_PRICE = 2.0
"""What each further group that stands apart costs, in squared standard errors."""
_MINORITY, _SHIFT = 0.4, 2.0
"""Share of groups that stand apart in the second kind of worlds, and how far in standard errors: there it errs most."""
_STEP = 1.5
"""By which factors variances differ that worlds tell apart."""
_SLACK, _TIE = 1e-12, 1e-9
"""What rounding makes of equal numbers: which of two equal explanations holds must not hang on the processor."""


def draws_for(groups: int) -> tuple[int, ...]:
    """How many worlds are drawn, at first and at most."""
    return _DRAWS if groups <= _MANY else _DRAWS_OF_MANY


def tail(null: Array, evidence: Array) -> Array:
    """P-values of evidence among what was drawn, sorted."""
    return (1 + null.size - np.searchsorted(null, evidence - _SLACK)) / (1 + null.size)


class Explanations:
    """Explanations of effects, shape (worlds, groups): for each group the cheapest with it alike, and with it apart.

    At least half of `groups` are alike: of all, also of those that stand apart for sure and have no effect here.

    Attributes
    ----------
    evidence:
        By how much the cheapest with the group apart is cheaper.
    """

    def __init__(self, mean: Array, variance: Array, groups: int) -> None:
        order = np.argsort(np.round(mean / np.sqrt(variance.mean(axis=1, keepdims=True)), 9), axis=1, kind="stable")
        self._at = np.argsort(order, axis=1, kind="stable")
        z = np.take_along_axis(mean, order, axis=1)
        self._middle = z.mean(axis=1, keepdims=True)
        self._z = z - self._middle
        self._v = np.take_along_axis(np.broadcast_to(variance, mean.shape), order, axis=1)
        self._groups = groups
        right, left, self._apart = (np.full(mean.shape, np.inf) for _ in range(3))
        for low, high, cost, middle, spread in self._windows():
            distance = self._z - middle
            alike = cost + distance**2 / spread
            np.minimum(right, np.where(distance > 0, alike, cost), out=right)
            np.minimum(left, np.where(distance < 0, alike, cost), out=left)
            if self._without(low, high):
                np.minimum(self._apart, cost + _PRICE, out=self._apart)
        self.evidence = self._back(np.maximum(right, left) - self._apart)

    def cheapest(self) -> tuple[Array, Array, Array]:
        """What each group is held against under the cheapest explanation of all.

        Returns the mean of the groups that are alike, without the group itself, and the standard error of the group's
        distance from it, both of shape (worlds, groups); and, of the first world, which groups these are: 1 or 0, shape
        (groups, groups).
        """
        lowest = np.full(self._z.shape, np.inf)
        centre, error, first, last = (np.zeros(lowest.shape) for _ in range(4))
        for low, high, cost, middle, spread in self._windows():
            best = cost + (self._z - middle) ** 2 / spread
            best = np.minimum(best, cost + _PRICE) if self._without(low, high) else best
            better = best <= lowest * (1 + _TIE) + _TIE  # of equal ones the last: the most groups are alike
            lowest = np.where(better, best, lowest)
            centre, error = np.where(better, middle, centre), np.where(better, spread, error)
            first, last = np.where(better, low, first), np.where(better, high, last)
        k = lowest.shape[1]
        held = (np.arange(k) >= first[0][:, None]) & (np.arange(k) < last[0][:, None]) & ~np.eye(k, dtype=np.bool_)
        others = held[np.ix_(self._at[0], self._at[0])].astype(np.float64)
        return self._back(centre + self._middle), self._back(np.sqrt(error)), others

    def spread(self) -> Array:
        """What it costs that all groups are alike, shape (worlds,)."""
        weight = 1 / self._v
        mean = (weight * self._z).sum(axis=1) / weight.sum(axis=1)
        return np.asarray((weight * (self._z - mean[:, None]) ** 2).sum(axis=1))

    def _without(self, low: Places, high: Places) -> bool:
        """Whether more than half of the groups are alike without the group itself."""
        return 2 * int(high[-1] - low[-1]) > self._groups

    def _windows(self) -> Iterator[tuple[Places, Places, Array, Array, Array]]:
        """Neighbours among the others that may be alike with each group.

        Yields the places of the first and behind the last, by group; and, by world and group, what they cost, their
        mean and the variance of the group's distance from it.
        """
        w = 1 / self._v
        moments = np.stack([w, w * self._z, w * self._z**2])
        total = np.concatenate([np.zeros((*moments.shape[:2], 1)), moments.cumsum(axis=2)], axis=2)
        k = w.shape[1]
        place = np.arange(k)
        sums = np.empty_like(moments)
        for size in range((self._groups - 1) // 2, k):
            for start in range(k - size):
                low, high = start + (place <= start), start + size + (place < start + size)
                end = start + size
                sums[:, :, : start + 1] = (total[:, :, end + 1] - total[:, :, start + 1])[:, :, None]
                sums[:, :, end:] = (total[:, :, end] - total[:, :, start])[:, :, None]
                inside = slice(start + 1, end)  # these are among their neighbours, and left out
                sums[:, :, inside] = (total[:, :, end + 1] - total[:, :, start])[:, :, None] - moments[:, :, inside]
                weight, first, second = sums
                cost = np.maximum(second - first**2 / weight, 0.0) + _PRICE * (k - 1 - size)
                yield low, high, cost, first / weight, self._v + 1 / weight

    def ends(self, limit: float) -> tuple[Array, Array]:
        """From where to where each group could lie, the others as they are, with evidence of no more than a limit."""
        low, high = np.full(self._z.shape, np.inf), np.full(self._z.shape, -np.inf)
        for _, _, cost, middle, spread in self._windows():
            left = limit + self._apart - cost
            reach = np.sqrt(spread * np.maximum(left, 0.0))
            low = np.where(left >= 0, np.minimum(low, middle - reach), low)
            high = np.where(left >= 0, np.maximum(high, middle + reach), high)
        return self._back(low + self._middle), self._back(high + self._middle)

    def _back(self, values: Array) -> Array:
        return np.take_along_axis(values, self._at, axis=1)


@dataclass(frozen=True, slots=True)
class Worlds:
    """Evidence in drawn worlds, sorted: in those in which all groups are alike, and in those with a minority apart."""

    spread: Array
    """How far groups lie apart in the first."""
    single: Array
    """Of each group of the first."""
    largest: tuple[Array, Array]
    """The largest of all that are alike."""

    def p_of_largest(self, evidence: Array) -> Array:
        """The chance that any group that is alike has as much."""
        return np.fmax(*(tail(null, evidence) for null in self.largest))


def enough_worlds(evidence: float, variance: Array, df: Array, groups: int, seed: int) -> Worlds:
    """Draw worlds, more of them where few have so much evidence."""
    steps = np.rint(np.log(variance / variance.min()) / np.log(_STEP))  # so that many share the same worlds
    freedoms = np.round(np.minimum(df, 1000.0), 6)
    order = np.lexsort((freedoms, steps))
    v, freedom = (tuple(x.tolist()) for x in (_STEP ** steps[order], freedoms[order]))
    for draws in draws_for(variance.size):
        worlds = _worlds(v, freedom, groups, draws, seed)
        if worlds.p_of_largest(np.array([evidence]))[0] * (1 + draws) > _ENOUGH:
            break
    return worlds


@lru_cache(maxsize=128)
def _worlds(variance: tuple[float, ...], df: tuple[float, ...], groups: int, draws: int, seed: int) -> Worlds:
    """Draw worlds of the groups that do not stand apart for sure, of `groups`."""
    rng = np.random.default_rng(seed)
    v, freedom = np.array(variance), np.array(df)
    shape = (draws, v.size)
    noise = rng.normal(size=shape) * np.sqrt(v * freedom / rng.chisquare(freedom, size=shape))
    minority = max(int(_MINORITY * groups) - (groups - v.size), 0)
    apart = np.argsort(rng.random(shape), axis=1) < minority
    alone, two = (Explanations(x, v[None, :], groups) for x in (noise, noise + _SHIFT * np.sqrt(v.mean()) * apart))
    largest = np.where(apart, -np.inf, two.evidence).max(axis=1)
    return Worlds(
        np.sort(alone.spread()),
        np.sort(alone.evidence.ravel()),
        (np.sort(alone.evidence.max(axis=1)), np.sort(largest)),
    )
