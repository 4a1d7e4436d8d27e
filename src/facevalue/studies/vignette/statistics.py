"""Statistics of choices: selection frequencies against an even choice, differences of two proportions, exact test."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values, values_only
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.proportions import Shares, score_p
from facevalue.statistics.statistic import Statistic

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import SumScores

PAIRED_T = name_method(IntervalKind.T, "over pictures, of paired differences")
_FLAT = 1e-7  # standard errors below this are rounding


@dataclass(frozen=True, slots=True)
class Portion:
    """A share and how well it is known; arrays of one length."""

    share: Array
    """In [0, 1]."""
    se: Array
    """Standard error over clusters."""
    clusters: Array

    def variance_of_answers(self) -> Array:
        """Variance of the share if each cluster were one answer."""
        with np.errstate(invalid="ignore", divide="ignore"):
            p = (self.clusters * self.share + 0.5) / (self.clusters + 1)
            return p * (1 - p) / self.clusters


def difference_of_shares(
    first: Portion, second: Portion, covariance: npt.ArrayLike = 0.0
) -> tuple[Array, Array, Array, Array, Array]:
    """Difference of two shares over the same clusters, with its interval and the test that agrees with it.

    `covariance`: of their errors: clusters that add to one may add to the other.
    Returns value, standard error, low, high, p. NaN where a share is; no more than the value where a standard error is
    missing.

    Equation
    --------
    d ± t se, se² = se_1² + se_2² - 2 cov, with G - 1 degrees of freedom, G the clusters of the side with fewer. Where
    no cluster differs from another in it, each side has the variance of G answers, one per cluster, p (1 - p)/G with
    p = (G share + 1/2)/(G + 1).

    Notes
    -----
    Limits of the two shares put together (square-and-add with their correlation) fail with few clusters: of three or
    four, what is left of two correlated shares is nothing in one case of fifty.

    Examples
    --------
    >>> one, other = (Portion(*(np.array([x]) for x in (p, 0.05, 100.0))) for p in (0.6, 0.45))
    >>> [float(x[0].round(3)) for x in difference_of_shares(one, other)]
    [0.15, 0.071, 0.01, 0.29, 0.036]
    """
    value = first.share - second.share
    variance = first.se**2 + second.se**2 - 2 * np.asarray(covariance, dtype=np.float64)
    flat = first.variance_of_answers() + second.variance_of_answers()
    se = np.where(variance > _FLAT**2, np.sqrt(np.maximum(variance, 0.0)), np.sqrt(flat) + 0 * variance)
    df = np.maximum(np.minimum(first.clusters, second.clusters) - 1, 1)
    return value, se, *t_limits(value, se, df)


def t_limits(value: Array, se: Array, df: Array) -> tuple[Array, Array, Array]:
    """Low, high and two-sided p of no difference, by t."""
    reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        return value - reach, value + reach, 2 * scipy.special.stdtr(df, -np.abs(value / se))


def pooled_z(chosen: Array, n: Array, other_chosen: Array, other_n: Array) -> tuple[Array, Array]:
    """Test whether two proportions are equal.

    `chosen` and `n`: counts of one side; any shape.
    Returns z, and its two-sided p. NaN where a side has no answer, or where nobody or everybody is chosen on both.

    Equation
    --------
    z = (p1 - p2) / sqrt(p (1 - p) (1/n1 + 1/n2)), p the proportion of both sides together (VIGNETTE, section 7.4,
    footnote 4, "statistically significant as determined by z-scores"; the formula is that of the authors' code,
    src/visualization/textcompare.py).

    Examples
    --------
    >>> z, p = pooled_z(np.array([60.0]), np.array([100.0]), np.array([45.0]), np.array([100.0]))
    >>> z.round(3).tolist(), p.round(4).tolist()
    ([2.124], [0.0337])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = (chosen + other_chosen) / (n + other_n)
        se = np.sqrt(np.clip(pooled * (1 - pooled), 0.0, None) * (1 / n + 1 / other_n))
        z = np.where(se > 0, (chosen / n - other_chosen / other_n) / se, np.nan)
    return z, 2 * scipy.special.ndtr(-np.abs(z))


Counts = npt.NDArray[np.int64]
_BLOCK = 2**21  # probabilities held at once: bounds the work space at about 100 MB
_REACH = 40.0  # standard deviations beyond which a table's probability is below 1e-300
_SLACK = 1e-7  # relative: tables as probable as the observed one count as such despite rounding


def fisher_exact(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, d: npt.ArrayLike) -> Array:
    """Two-sided p-values of the tables [[a, b], [c, d]].

    `a`, `b`, `c`, `d`: counts, arrays of one shape, at least zero. Expected counts (of exact probabilities) are rounded
    to integers: the test is one of counts. NaN gives NaN.
    Returns the shape of the input. 1 where a margin is empty: such a table cannot speak against independence.

    Equation
    --------
    p = Σ P(x) over the tables x with the same margins and P(x) <= P(observed), P hypergeometric (Upton 1992, "Fisher's
    exact test", J. R. Statist. Soc. A 155, 395-402: the test of VIGNETTE, section 6).

    Raises
    ------
    ValueError
        For a count below zero.

    Notes
    -----
    Equal tables are tested once, and the sums run over all the others together. The test takes the answers as
    independent. Answers about one picture pair are not, so that its p-values are too small where pairs answered
    several questions or seeds.

    Examples
    --------
    >>> fisher_exact([8, 1], [2, 5], [1, 0], [5, 0]).round(4).tolist()
    [0.035, 1.0]
    """
    cells = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c, d)))
    shape = cells[0].shape
    tables = np.stack([np.rint(x).ravel() for x in cells], axis=1)
    out = np.full(tables.shape[0], np.nan)
    finite = np.isfinite(tables).all(axis=1)
    if (tables[finite] < 0).any():
        raise ValueError("Counts of a 2x2 table are not below zero.")
    if finite.any() and not only_values():
        distinct, place = np.unique(tables[finite].astype(np.int64), axis=0, return_inverse=True)
        out[finite] = _distinct(distinct)[place.ravel()]
    return out.reshape(shape)


def _distinct(tables: Counts) -> Array:
    a, b, c, d = tables.T
    draws, chosen, total = a + b, a + c, a + b + c + d
    first = np.maximum(0, chosen - (c + d))
    last = np.minimum(draws, chosen)
    safe = np.maximum(total, 1).astype(np.float64)
    centre = draws * (chosen / safe)
    spread = np.sqrt(centre * (1 - draws / safe) * (1 - chosen / safe) * (safe / np.maximum(safe - 1, 1)))
    low = np.maximum(first, np.floor(centre - _REACH * spread - 2).astype(np.int64))
    high = np.minimum(last, np.ceil(centre + _REACH * spread + 2).astype(np.int64))
    low, high = np.minimum(low, last), np.maximum(high, first)
    factorial = scipy.special.gammaln(np.arange(int(total.max()) + 1, dtype=np.float64) + 1)
    fixed = factorial[draws] + factorial[total - draws] + factorial[chosen] + factorial[total - chosen]
    fixed -= factorial[total]
    observed = fixed - factorial[a] - factorial[b] - factorial[c] - factorial[d]
    size = high - low + 1
    out = np.empty(a.size)
    start = 0
    ends = np.cumsum(size)
    while start < a.size:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - size[start] + _BLOCK, side="right")))
        block = slice(start, stop)
        which = np.repeat(np.arange(start, stop), size[block])
        offset = ends[block] - size[block] - (ends[start] - size[start])
        x = np.arange(which.size) - offset[which - start] + low[which]
        log = fixed[which] - factorial[x] - factorial[draws[which] - x]
        log -= factorial[chosen[which] - x] + factorial[(d - a)[which] + x]
        as_rare = log <= observed[which] + _SLACK
        p = np.where(as_rare, np.exp(log), 0.0)
        out[block] = np.bincount(which - start, weights=p, minlength=stop - start)
        start = stop
    outside = (a < low) | (a > high)
    out[outside] += np.exp(observed[outside])
    return np.minimum(out, 1.0)


EVEN = "even"
"""Column of sums: choices, where answers that name both or none count half for each of the two."""


class SelectionFrequency(Statistic):
    """Share of answers that choose somebody, tested against an even choice unless answers are right or wrong."""

    kind = "selection_frequency"

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the shares of cells, and p of an even choice between the two people who are shown."""
        labels, shares = scores.shares(estimand.by)
        with values_only():
            _, even = replace(scores, s=EVEN, requests="").shares(estimand.by)
        assert isinstance(even, Shares)
        is_choice = np.array([paradigm != "factuality" for paradigm in labels["paradigm"]], dtype=np.bool_)
        p = np.where(is_choice, score_p(even.value, even.size, even.df), np.nan)
        scores.enter(table, estimand, labels, replace(scores.scale(shares), p=p))
