"""Tests by shuffled labels, as fine as their family needs.

A thousand shuffles give no p below .001, and the smallest of a thousand p-values has to be far smaller. So the largest
statistic of a whole family is compared with the largest of each shuffle, which needs no p of its own for each test;
and shuffling goes on where that is promising.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from facevalue.measures.adjustment import adjust
from facevalue.measures.cluster_bootstrap import Array, Floor, no_floor, only_values

FIRST, MOST = 1000, 10_000
"""Shuffles in the beginning, and in all where few of the first had anything as large as the largest that was found."""
ENOUGH = 20
"""Shuffles that reach it, after which more would change little (Besag and Clifford 1991, "Sequential Monte Carlo
p-values"): p is then .02 or more."""
_SLACK = 1e-9
_COUNTABLE = 30  # logarithm of a number of labelings up to which it is told


@dataclass(frozen=True, slots=True)
class Shuffled:
    """One family of tests by shuffled labels; arrays of shape (tests,)."""

    p: Array
    """Share of shuffles that reach the observed statistic, (1 + hits) / (1 + shuffles)."""
    p_family: Array
    """Share of shuffles in which any test of the family does: max-T."""
    q: Array
    """Adjusted within the family."""
    p_least: Array
    """Smallest p that would be found in this family: the smallest q there can be, divided by the number of tests."""
    size: Array
    """Each statistic in units of its own null, on which p_family rests."""
    floor: Floor
    """Mean and 95th percentile of the null, with p."""
    shuffles: int


def by_shuffles(
    observed: Array,
    draw: Callable[[int], Array],
    *,
    signed: bool,
    first: int = FIRST,
    most: int | None = None,
    block: int = FIRST,
    labelings: float = np.inf,
) -> Shuffled:
    """Test a family of statistics against shuffled labels.

    Parameters
    ----------
    observed:
        Shape (tests,); NaN is no test.
    draw:
        From a number of shuffles to their statistics, of shape (shuffles, tests); others with every call. All tests of
        a shuffle come from the same one.
    signed:
        Whether statistics lie around zero and count by their size; else large ones count.
    first, most:
        Shuffles in the beginning and at most, `MOST` (or `first`, where that is more) by default.
    block:
        Shuffles that are held at once after the first.
    labelings:
        How many different labelings there are: with few units, shuffling on gives none that is new.

    Equation
    --------
    p_j = (1 + #{b: |x*_bj| >= |x_j|}) / (1 + B). Sizes are put on one scale: |x| / rms(x*) for signed statistics, and
    ((x / m)^(1/3) - a) / s for others, which makes a scaled chi-squared nearly normal (Wilson and Hilferty 1931), with
    m, a and s the moments of the first shuffles. p_family,j = (1 + #{b: max_k t*_bk >= t_j}) / (1 + B) (Westfall and
    Young 1993). q = min(1, 2 min(BH(p), p_family)): each of the two at half the level, since one finds a lone effect
    and the other many. A single test has q = p.
    """
    observed = np.asarray(observed, dtype=np.float64)
    if only_values():
        none = np.full(observed.shape, np.nan)
        return Shuffled(none, none, none, none, none, no_floor(observed.size), 0)
    if first < 1:
        raise ValueError("A test by shuffled labels needs at least one shuffle.")
    most = max(first, MOST) if most is None else most
    null = draw(first)
    scale = _Scale(observed, null, signed=signed)
    mean, high = (np.nan_to_num(null).mean(axis=0), np.quantile(np.nan_to_num(null), 0.95, axis=0))
    known = np.isfinite(observed)
    size = scale.of(observed[None, :])[0]
    hits, family, drawn = np.zeros(observed.size, dtype=np.int64), np.zeros(observed.size, dtype=np.int64), 0
    while True:
        own, largest = scale.hits(null, size)
        hits, family, drawn = hits + own, family + largest, drawn + len(null)
        if drawn >= most or not known.any() or family[known].min() >= ENOUGH:
            break
        null = draw(min(block, most - drawn))
    p, p_family = (np.where(known, (1.0 + h) / (1.0 + drawn), np.nan) for h in (hits, family))
    tests = int(known.sum())
    least = max(1.0 / (1.0 + most), 1.0 / labelings)
    if tests > 1:
        q, least = np.minimum(2 * np.fmin(adjust(p, "bh"), p_family), 1.0), 2 * least
    else:
        q = p
    floor = Floor(*(np.where(known, x, np.nan) for x in (mean, high, p)))
    p_least = np.where(known, least / max(tests, 1), np.nan)
    return Shuffled(p, p_family, q, p_least, np.where(known, size, np.nan), floor, drawn)


class _Scale:
    """Puts statistics into units of their own null."""

    def __init__(self, observed: Array, null: Array, *, signed: bool) -> None:
        self._signed = signed
        together = np.vstack([np.nan_to_num(observed)[None, :], np.nan_to_num(null)])  # so that all are treated alike
        if signed:
            self._unit = np.sqrt((together**2).mean(axis=0))
            return
        self._unit = together.mean(axis=0)
        roots = self._roots(together)
        self._middle, self._spread = roots.mean(axis=0), roots.std(axis=0)

    def _roots(self, values: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self._unit > 0, np.cbrt(np.nan_to_num(values) / self._unit), 0.0)

    def of(self, values: Array) -> Array:
        """Sizes; minus infinity where a test does not vary."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self._signed:
                out = np.abs(np.nan_to_num(values)) / self._unit
                return np.where(self._unit > 0, out, -np.inf)
            out = (self._roots(values) - self._middle) / self._spread
            return np.where(self._spread > _SLACK, out, -np.inf)

    def hits(self, null: Array, size: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Shuffles that reach each size by the same test, and by any."""
        drawn = self.of(null)
        slack = _SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(size), size, 0.0)))
        own = (drawn >= size - slack).sum(axis=0)
        largest = np.sort(drawn.max(axis=1, initial=-np.inf))
        return own, len(largest) - np.searchsorted(largest, size - slack, side="left")


def distinct(labels: npt.NDArray[np.int64], stratum: npt.NDArray[np.int64]) -> float:
    """How many different ways there are to deal labels out anew within strata; infinity for very many.

    Examples
    --------
    >>> distinct(np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 0, 0, 1, 1]))
    12.0
    """
    total = 0.0
    for at in np.unique(stratum):
        sizes = np.unique(labels[stratum == at], return_counts=True)[1]
        total += special.gammaln(sizes.sum() + 1) - special.gammaln(sizes + 1).sum()
    return float(np.rint(np.exp(total))) if total < _COUNTABLE else float("inf")
