"""Noise floors: tests by shuffled labels, and distances that are positive without any effect.

A thousand shuffles give no p below .001, and the smallest of a thousand p-values has to be far smaller. So the largest
statistic of a whole family is compared with the largest of each shuffle, which needs no p of its own for each test;
and shuffling goes on where that is promising.

A divergence between distributions is, near zero, a sum of squares: it is chance alone where there is no effect, and
grows with the square of one. Symmetric intervals around its value are wrong there. Its noise floor says how it varies
(the same statistic where labels are dealt out anew), and that is all that is needed: the interval, the p-value and what
could have been missed come from one distribution. A spread (the root of such a distance) has an interval of that kind.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.multitest import adjust_p
from facevalue.measures.power import POWER
from facevalue.measures.uncertainty import Estimates, Floor, no_floor

FIRST_SHUFFLES, MOST_SHUFFLES = 1000, 10_000
"""Shuffles in the beginning, and in all where few of the first had anything as large as the largest that was found."""
ENOUGH_SHUFFLES = 20
"""Shuffles that reach it, after which more would change little (Besag and Clifford 1991, "Sequential Monte Carlo
p-values"): p is then .02 or more."""
LONE_EFFECT = 0.8
"""Share of a family's level for what finds a lone effect best; the rest is for the other of max-T and BH."""
_SLACK = 1e-9  # values that are closer are ties
_COUNTABLE = 30  # logarithm of a number of labelings up to which it is told


@dataclass(frozen=True, slots=True)
class Shuffled:
    """One family of tests by shuffled labels; arrays of shape (tests,)."""

    p: Array
    """Share of shuffles that reach the observed statistic, (1 + hits) / (1 + shuffles)."""
    p_family: Array
    """Share of shuffles in which any test of the family does that is not clearer: max-T, step-down."""
    q: Array
    """Adjusted within the family."""
    p_least: Array
    """Smallest p that would be found in this family: the smallest q there can be, divided by the number of tests."""
    size: Array
    """Each statistic in units of its own null, on which p_family rests."""
    floor: Floor
    """Mean and 95th percentile of the null, with p."""
    shuffles: int

    def attach_to(self, estimates: Estimates) -> Estimates:
        """Put the tests and the floor beside estimates."""
        return replace(estimates, q=self.q, p_least=self.p_least, floor=self.floor)

    def select_tests(self, rows: slice) -> "Shuffled":
        """Those of some tests of the family."""
        arrays = (self.p[rows], self.p_family[rows], self.q[rows], self.p_least[rows], self.size[rows])
        return Shuffled(*arrays, self.floor.select_rows(rows), self.shuffles)


def by_shuffles(
    observed: Array,
    draw: Callable[[int], Array],
    *,
    signed: bool | npt.NDArray[np.bool_],
    first: int = FIRST_SHUFFLES,
    most: int | None = None,
    block: int = FIRST_SHUFFLES,
    labelings: float = np.inf,
    test: npt.NDArray[np.int64] | None = None,
    exact: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Shuffled:
    """Test a family of statistics against shuffled labels.

    Parameters
    ----------
    observed:
        Shape (statistics,); NaN is no test.
    draw:
        From a number of shuffles to their statistics, of shape (shuffles, statistics); others with every call. All
        tests of a shuffle come from the same one.
    signed:
        Whether statistics, all or each, lie around zero and count by their size; else large ones count.
    first, most:
        Shuffles in the beginning and at most, `MOST_SHUFFLES` (or `first`, where that is more) by default.
    block:
        Shuffles that are held at once after the first.
    labelings:
        How many different labelings there are: with few units, shuffling on gives none that is new.
    test:
        Which test each statistic belongs to, from 0 upwards, those of one side by side: its size is the largest of
        theirs, and its floor that of its first. By default each statistic is a test.
    exact:
        From p-values by shuffles to exact ones and the smallest of these that there could be; NaN where not known.

    Equation
    --------
    Sizes t are put on one scale: |x| / rms(x*) for signed statistics, and ((x / m)^(1/3) - a) / s for others, which
    makes a scaled chi-squared nearly normal (Wilson and Hilferty 1931), with m, a and s the moments of the first
    shuffles. p_j = (1 + #{b: t*_bj >= t_j}) / (1 + B). p_family,j = max_{i: t_i >= t_j} (1 + #{b: max_{k: t_k <= t_i}
    t*_bk >= t_i}) / (1 + B) (Westfall and Young 1993, step-down). "There is nothing in this family" has
    P = min(min_j p_family,j / .8, min_j BH(p)_j / .2), since one finds a lone effect and the other many;
    q_j = min(1, max(P, min(p_family,j, BH(p)_j))). Where p are exact, BH has .8 and max-T .2. A single test has q = p.
    """
    observed = np.asarray(observed, dtype=np.float64)
    test = np.arange(observed.size) if test is None else test
    starts = np.flatnonzero(np.diff(test, prepend=-1))
    if only_values():
        none = np.full(starts.size, np.nan)
        return Shuffled(none, none, none, none, none, no_floor(starts.size), 0)
    if first < 1:
        raise ValueError("A test by shuffled labels needs at least one shuffle.")
    most = max(first, MOST_SHUFFLES) if most is None else most
    null = draw(first)
    scale = _Scale(observed, null, starts, signed=signed)
    zeroed = np.nan_to_num(null[:, starts])
    mean, high = zeroed.mean(axis=0), np.quantile(zeroed, 0.95, axis=0)
    tested_family = np.isfinite(observed[starts])
    size = scale.scale_sizes(observed[None, :])[0]
    hits, family, shuffles = np.zeros(size.size, dtype=np.int64), np.zeros(size.size, dtype=np.int64), 0
    while True:
        alone, among = scale.hits(null, size)
        hits, family, shuffles = hits + alone, family + among, shuffles + len(null)
        if shuffles >= most or not tested_family.any() or family[tested_family].min() >= ENOUGH_SHUFFLES:
            break
        null = draw(min(block, most - shuffles))
    p, p_family = (np.where(tested_family, (1.0 + h) / (1.0 + shuffles), np.nan) for h in (hits, family))
    surely = np.full(p.shape, np.nan)
    if exact is not None:
        better, surely = exact(p)
        p = np.where(np.isfinite(better), better, p)
    clearest = np.argsort(-size, kind="stable")
    p_family[clearest] = np.fmax.accumulate(p_family[clearest])
    tests, q, largest, many = int(tested_family.sum()), p, 1.0, 1.0
    if tests > 1:
        largest, many = (LONE_EFFECT, 1 - LONE_EFFECT) if exact is None else (1 - LONE_EFFECT, LONE_EFFECT)
        corrected = adjust_p(p, "bh")
        nothing = min(np.nanmin(p_family) / largest, np.nanmin(corrected) / many)
        q = np.minimum(np.maximum(np.fmin(corrected, p_family), nothing), 1.0)
    floor = Floor(*(np.where(tested_family, x, np.nan) for x in (mean, high, p)))
    smallest = max(1.0 / (1.0 + most), 1.0 / labelings) / largest / max(tests, 1)
    p_least = np.where(tested_family, np.where(np.isfinite(surely), surely / many, smallest), np.nan)
    return Shuffled(
        p, np.where(tested_family, p_family, np.nan), q, p_least, np.where(tested_family, size, np.nan), floor, shuffles
    )


class _Scale:
    """Puts statistics into units of their own null, and takes the largest of each test."""

    def __init__(
        self, observed: Array, null: Array, starts: npt.NDArray[np.int64], *, signed: bool | npt.NDArray[np.bool_]
    ) -> None:
        self._signed, self._starts = np.broadcast_to(signed, observed.shape), starts
        together = np.vstack([np.nan_to_num(observed)[None, :], np.nan_to_num(null)])  # so that all are treated alike
        self._unit = np.where(self._signed, np.sqrt((together**2).mean(axis=0)), together.mean(axis=0))
        self._middle, self._spread = np.zeros(observed.shape), np.ones(observed.shape)
        roots = self._roots(together[:, ~self._signed], self._unit[~self._signed])
        self._middle[~self._signed], self._spread[~self._signed] = roots.mean(axis=0), roots.std(axis=0)
        self._varies = np.isfinite(observed) & (self._unit > 0) & (self._spread > _SLACK)

    @staticmethod
    def _roots(values: Array, unit: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(unit > 0, np.cbrt(values / unit), 0.0)

    def scale_sizes(self, values: Array) -> Array:
        """Sizes of tests; minus infinity where one does not vary."""
        finite, unsigned = np.nan_to_num(values), ~self._signed
        with np.errstate(invalid="ignore", divide="ignore"):
            out = np.abs(finite) / self._unit
            roots = self._roots(finite[:, unsigned], self._unit[unsigned])
            out[:, unsigned] = (roots - self._middle[unsigned]) / self._spread[unsigned]
        out = np.where(self._varies, out, -np.inf)
        return np.maximum.reduceat(out, self._starts, axis=1) if self._starts.size < out.shape[1] else out

    def hits(self, null: Array, size: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Shuffles that reach each size by the same test, and by any that is not clearer."""
        null_values = self.scale_sizes(null)
        reached = size - _SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(size), size, 0.0)))
        upwards = np.argsort(size, kind="stable")
        largest = np.maximum.accumulate(null_values[:, upwards], axis=1)
        family = np.empty(size.size, dtype=np.int64)
        family[upwards] = (largest >= reached[upwards]).sum(axis=0)
        return (null_values >= reached).sum(axis=0), family


def count_labelings(labels: npt.NDArray[np.int64], stratum: npt.NDArray[np.int64]) -> float:
    """Number of different ways to deal labels out anew within strata; infinity for very many.

    Examples
    --------
    >>> count_labelings(np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 0, 0, 1, 1]))
    12.0
    """
    of_stratum, of_label = (
        np.unique(codes, return_counts=True)[1] for codes in (stratum, stratum * (labels.max(initial=0) + 1) + labels)
    )
    total = scipy.special.gammaln(of_stratum + 1).sum() - scipy.special.gammaln(of_label + 1).sum()
    return float(np.rint(np.exp(total))) if total < _COUNTABLE else float("inf")


Codes = npt.NDArray[np.int64]


class Deals:
    """Labels of items under the null that they mean nothing.

    People whose items are all of one group exchange labels with other such people of their stratum, all items of one
    person together. The items of a person who has several groups exchange labels with each other: what is special about
    the person is the same in all of them.

    Parameters
    ----------
    unit:
        Who it is about; by default each item is about somebody else.
    stratum:
        Labels move only within one. All are one by default.

    Examples
    --------
    >>> deals = Deals(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    >>> deals.distinct, deals.draw_labels(100, np.random.default_rng(0)).mean(axis=1).tolist() == [0.5] * 100
    (2.0, True)
    """

    def __init__(self, label: Codes, unit: Codes | None = None, stratum: Codes | None = None) -> None:
        label = np.asarray(label, dtype=np.int64)
        items = np.arange(label.size)
        unit = items if unit is None else np.unique(unit, return_inverse=True)[1]
        stratum = np.zeros(label.size, dtype=np.int64) if stratum is None else np.asarray(stratum, dtype=np.int64)
        people = int(unit.max(initial=-1)) + 1
        lowest, highest = np.full(people, np.iinfo(np.int64).max), np.full(people, -1)
        np.minimum.at(lowest, unit, label)
        np.maximum.at(highest, unit, label)
        crossed = (lowest != highest)[unit]
        # What is dealt to: a person, or one item of a person of several groups.
        element = np.where(crossed, people + items, unit)
        _, first, self._of_item = np.unique(element, return_index=True, return_inverse=True)
        block = np.where(crossed, int(stratum.max(initial=0)) + 1 + unit, stratum)[first]
        label, block = label[first], np.unique(block, return_inverse=True)[1]
        order = np.argsort(block, kind="stable")
        size = np.bincount(block)[block[order]]
        self._places = {int(of_block): order[size == of_block] for of_block in np.unique(size)}
        """Elements of all blocks of one size, block by block."""
        self._label, self.distinct = (
            label.astype(np.min_scalar_type(label.max(initial=0))),
            count_labelings(label, block),
        )

    def draw_labels(self, size: int, rng: np.random.Generator) -> npt.NDArray[np.integer[Any]]:
        """So many deals, shape (size, items)."""
        draws, out = rng.random((size, self._label.size)), np.empty((size, self._label.size), self._label.dtype)
        for of_block, places in self._places.items():
            order = draws.take(places, axis=1).reshape(size, -1, of_block).argsort(axis=2)
            order += np.arange(0, places.size, of_block)[:, None]
            out[:, places] = self._label[places].take(order.reshape(size, -1))
        return out.take(self._of_item, axis=1)


def sum_by_label(labels: npt.NDArray[np.integer[Any]], size: int, values: Array) -> Array:
    """Sums of the rows of values by label in each deal, shape (deals, labels, columns).

    `labels`: shape (deals, rows), below `size`.

    Examples
    --------
    >>> sum_by_label(np.array([[0, 1, 0]]), 2, np.array([[1.0], [2.0], [4.0]])).ravel().tolist()
    [5.0, 2.0]
    """
    deals, rows = labels.shape
    places = (labels.T + np.arange(0, size * deals, size)).astype(np.int32).ravel()  # row by row
    starts = np.arange(0, places.size + 1, deals, dtype=np.int32)
    members = scipy.sparse.csc_array((np.ones(places.size), places, starts), shape=(size * deals, rows))
    return np.asarray(members @ values).reshape(deals, size, -1)


def null_floor(null: Array, value: npt.ArrayLike, p: npt.ArrayLike) -> Floor:
    """Mean and 95th percentile of a null of shape (draws, estimates), with p of the values."""
    return Floor(null.mean(axis=0), np.quantile(null, 0.95, axis=0), np.broadcast_to(p, np.shape(value)))


def critical_value(null: Array) -> Array:
    """Value above which `share_beyond` is less than 1 - `LEVEL`; infinity where no value is.

    Examples
    --------
    >>> null = np.arange(100.0)
    >>> [share_beyond(null, critical_value(null) + more).round(3).tolist() for more in (0.0, 0.5)]
    [0.059, 0.05]
    """
    reaching = int(np.ceil((1 - LEVEL) * (1 + null.shape[0]))) - 2  # draws that may reach it, at most
    if reaching < 0:
        return np.full(null.shape[1:], np.inf)
    return np.asarray(np.sort(null, axis=0)[null.shape[0] - 1 - reaching] + _SLACK)


def share_beyond(null: Array, value: npt.ArrayLike) -> Array:
    """Share of a null of shape (draws, ...) that reaches a value, the value itself among them."""
    values = np.asarray(value, dtype=np.float64)
    hits = (null >= values - _SLACK).sum(axis=0)
    return np.where(np.isfinite(values), (1.0 + hits) / (1.0 + null.shape[0]), np.nan)


CHI_SQUARED_INVERSION = name_method(IntervalKind.INVERSION, "noncentral chi-squared from the noise floor")
_FLOOR = 0.95  # quantile of a noise floor that `Floor.high` is
_FEW, _MANY = 0.5, 1e4  # degrees of freedom that are told apart
_STEPS, _SPREAD_STEPS = 30, 40
_ABOVE_ZERO = 1e-6


class Noise(NamedTuple):
    """Distribution without any effect: `scale` times chi-squared with `df` degrees of freedom."""

    scale: Array
    df: Array


def noise_of_floor(mean: npt.ArrayLike, high: npt.ArrayLike) -> Noise:
    """Scaled chi-squared distribution with the mean and the 95th percentile of a noise floor.

    `mean` and `high`: of the floor; NaN or zero gives NaN.

    Equation
    --------
    high / mean = chi2_{.95; v} / v, scale = high / chi2_{.95; v} (Satterthwaite 1946, by a quantile in place of the
    variance, so that what lies above the floor is the same here and there).

    Examples
    --------
    >>> found = noise_of_floor([3.0], [7.8147])
    >>> found.scale.round(3).item(), found.df.round(2).item()
    (1.0, 3.0)
    """
    m, h = (np.asarray(x, dtype=np.float64) for x in (mean, high))
    is_known = (m > 0) & (h > 0)
    ratio = h[is_known] / m[is_known]
    low, top = np.full(ratio.shape, np.log(_FEW)), np.full(ratio.shape, np.log(_MANY))
    for _ in range(_STEPS):
        middle = (low + top) / 2
        wide = (
            scipy.special.chdtri(np.exp(middle), 1 - _FLOOR) / np.exp(middle) > ratio
        )  # falls with the degrees of freedom
        low, top = np.where(wide, middle, low), np.where(wide, top, middle)
    df = np.full(m.shape, np.nan)
    df[is_known] = np.exp((low + top) / 2)
    return Noise(np.where(is_known, h, np.nan) / scipy.special.chdtri(df, 1 - _FLOOR), df)


def distance_interval(value: Array, floor: Floor) -> tuple[Array, Array]:
    """Interval of the divergence that more of the same sample would show, at `LEVEL`.

    It leaves out zero exactly where the value lies above the floor's 95th percentile, so where p < .05. (Where values
    are tied, or the floor was known from fewer shuffles than p, p decides.)

    `value`: divergences as found, biased upwards by about the floor's mean.
    Returns low, high; the bias is taken off, and then the value taken in, where it lies above. NaN where there is no
    floor.

    Equation
    --------
    value ~ scale chi2'(df, delta / scale). A delta is in the interval if P(X >= value | delta) >= .05 - a and
    P(X <= value | delta) > a, a = .025 (1 - exp(-delta / (4 scale))): 2.5% on each side of a large divergence, and 5%
    above a divergence of zero, which cannot be missed on its other side. Any such split holds 95% (Neyman 1937).

    Examples
    --------
    >>> floor = Floor(np.array([3.0, 3.0]), np.array([7.8, 7.8]), np.array([0.6, 0.001]))
    >>> low, high = distance_interval(np.array([2.0, 40.0]), floor)
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([0.0, 17.5], [8.5, 66.2])
    """
    values = np.asarray(value, dtype=np.float64)
    ends = np.full((2, *values.shape), np.nan)
    if only_values():
        return ends[0], ends[1]
    law = noise_of_floor(floor.mean, floor.high)
    is_known = np.isfinite(values) & np.isfinite(law.df)
    scale, df = law.scale[is_known], law.df[is_known]
    seen = values[is_known] / scale
    is_found = floor.p[is_known] < 1 - LEVEL
    start = np.zeros(seen.shape)
    start[is_found] = np.clip(
        _end(seen[is_found], df[is_found], upper=False), _ABOVE_ZERO * seen[is_found], seen[is_found]
    )
    ends[0][is_known] = start * scale
    ends[1][is_known] = np.maximum(_end(seen, df, upper=True), seen) * scale
    return ends[0], ends[1]


def _end(seen: Array, df: Array, *, upper: bool) -> Array:
    """Smallest and largest noncentrality that goes with what was seen, by bisection."""
    low, high = np.zeros(seen.shape), seen + 40 + 12 * np.sqrt(seen + df)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = scipy.special.chndtr(seen, df, middle)
        tail = (1 - LEVEL) / 2 * -np.expm1(-middle / 4)
        is_inside = below <= tail if upper else 1 - below >= 1 - LEVEL - tail
        low, high = np.where(is_inside, low, middle), np.where(is_inside, middle, high)
    return high


def detectable_distance(mean: npt.ArrayLike, high: npt.ArrayLike, level: npt.ArrayLike, power: float = POWER) -> Array:
    """Smallest divergence that would be found, to stand beside a value.

    `level`: of the test; for a family, that of a single one.

    Equation
    --------
    delta with P(scale chi2'(df, delta / scale) > scale chi2_{1 - level; df}) = power.

    Examples
    --------
    >>> detectable_distance(3.0, 7.8147, 0.05).round(2).item()
    10.9
    """
    law = noise_of_floor(mean, high)
    df, alpha = np.broadcast_arrays(law.df, np.asarray(level, dtype=np.float64))
    critical = scipy.special.chdtri(df, alpha)
    return np.asarray(scipy.special.chndtrinc(critical, df, 1 - power) * law.scale)


def distance_equivalence_p(
    value: npt.ArrayLike, mean: npt.ArrayLike, high: npt.ArrayLike, margin: npt.ArrayLike
) -> Array:
    """P-value of a divergence of `margin` or more: below alpha, it is smaller.

    `margin`: largest divergence that would not matter; NaN gives NaN.

    Equation
    --------
    P(scale chi2'(df, margin / scale) <= value).

    Examples
    --------
    >>> distance_equivalence_p([1.0, 9.0], 3.0, 7.8147, 10.0).round(3).tolist()
    [0.003, 0.311]
    """
    law = noise_of_floor(mean, high)
    return np.asarray(scipy.special.chndtr(np.asarray(value) / law.scale, law.df, np.asarray(margin) / law.scale))


_SURE = 0.01  # p from which a thousand draws know it well


def spread_interval(value: float, null: Array, identities: int, df: float, p: float) -> tuple[float, float]:
    """Interval of the spread without what chance adds to it.

    Parameters
    ----------
    null:
        Spreads of answers without any preference.
    df:
        Degrees of freedom that the scatter of the null is known with.
    p:
        Of the test of the spread: how far out it lies among those that it is tested against.

    Returns
    -------
    low, high. Zero is in it exactly where p is 1 - `LEVEL` or more; the value itself always is, though near zero most
    of it may be chance.

    Equation
    --------
    spread²/m ~ F with ν and df degrees of freedom and noncentrality λ = ν τ²/m, τ the spread to be known; m and 2 m²/ν
    are mean and variance of null spreads², ν at most k - 1 (Patnaik 1949). f is the quantile 1 - p of the central F, so
    that test and interval have one pivot; where p is below .01, spread²/m if that is larger, as p may have reached its
    smallest step. Limits: τ with P(F >= f) = .05 - a and P(F <= f) = a, a = .025 (1 - exp(-λ / 4)): 2.5% on either side
    of a large spread, and 5% above a spread of zero, which cannot be missed on its other side
    (`distance_interval`).

    Examples
    --------
    >>> null = np.sqrt(np.random.default_rng(0).chisquare(11, 4000) / 11)
    >>> [[round(x, 1) for x in spread_interval(value, null, 12, 200, p)] for value, p in ((1.2, 0.2), (9.0, 0.00005))]
    [[0.0, 1.4], [7.9, 10.0]]
    """
    squares = null**2
    mean, variance = float(squares.mean()), float(squares.var())
    if not (mean > 0 and variance > 0 and np.isfinite(p)):
        return float("nan"), float("nan")
    nu = min(2 * mean**2 / variance, identities - 1.0)
    placed = float(scipy.special.fdtri(nu, df, 1 - max(p, _SURE)))
    f = placed if p >= _SURE else max(placed, value**2 / mean)

    def limit(*, upper: bool) -> float:
        low, high = 0.0, f * nu + 40 + 12 * np.sqrt(f * nu * (1 + f * nu / df) + nu)
        for _ in range(_SPREAD_STEPS):
            middle = (low + high) / 2
            tail = (1 - LEVEL) / 2 * -np.expm1(-middle / 4)
            below = scipy.special.ncfdtr(nu, df, middle, f)
            is_within = below > tail if upper else 1 - below < 1 - LEVEL - tail
            low, high = (middle, high) if is_within else (low, middle)
        return float(np.sqrt(mean / nu * (high if p < 1 - LEVEL or upper else 0.0)))

    return min(limit(upper=False), value), max(limit(upper=True), value)
