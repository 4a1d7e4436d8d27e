"""Intervals and tests of proportions, and of differences between them, from samples of clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.interval_method import IntervalKind, name_method

PAIRED = name_method(IntervalKind.T, "over pictures, of paired differences")
_FLAT = 1e-7  # standard errors below this are rounding


def effective_size(share: npt.ArrayLike, se: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """How many independent answers would know the share as precisely.

    `share` and `se`: shares in [0, 1] with their standard errors over clusters.

    Equation
    --------
    n_eff = p (1 - p) / se² (Kish; Korn and Graubard 1998). Where no cluster differs from another there is no variance
    to go by, and each counts as one answer: n_eff = clusters.

    Examples
    --------
    >>> effective_size([0.5, 1.0, 0.3], [0.05, 0.0, np.nan], [40, 4, 1]).round(3).tolist()
    [100.0, 4.0, nan]
    """
    p, error, size = (np.asarray(x, dtype=np.float64) for x in (share, se, clusters))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.where((error > _FLAT) & (p > 0) & (p < 1), p * (1 - p) / error**2, size)
    return np.where(np.isfinite(p) & np.isfinite(error) & (size > 1), out, np.nan)


def wilson(
    share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, level: npt.ArrayLike = LEVEL
) -> tuple[Array, Array]:
    """Wilson's interval of shares known from an effective number of answers.

    `size`: effective number of answers, see `effective_size`; NaN gives no interval. `df`: degrees of freedom of the
    standard error behind it.
    Returns low, high within [0, 1].

    Equation
    --------
    (p + k/2 ± sqrt(k p (1 - p) + k²/4)) / (1 + k), k = t²_{df} / n_eff (Wilson 1927, with the effective sample size of
    Korn and Graubard 1998; Franco, Little, Louis and Slud 2019, "Comparative study of confidence intervals for
    proportions in complex sample surveys").

    Examples
    --------
    >>> low, high = wilson([0.5, 1.0], [100, 4], [99, 3])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.403, 0.283], [0.597, 1.0])
    """
    p, n, freedom = (np.asarray(x, dtype=np.float64) for x in (share, size, df))
    with np.errstate(invalid="ignore", divide="ignore"):
        k = scipy.special.stdtrit(np.maximum(freedom, 1), 0.5 + np.asarray(level) / 2) ** 2 / n
        spread = np.sqrt(k * p * (1 - p) + k**2 / 4)
        low, high = (p + k / 2 - spread) / (1 + k), (p + k / 2 + spread) / (1 + k)
    return np.clip(low, 0.0, p), np.clip(high, p, 1.0)


def ends_of_agreement(
    value: Array, low: Array, high: Array, largest_fall: Array | float, units: npt.ArrayLike
) -> tuple[Array, Array]:
    """Ends of the interval of an agreement beyond chance, no narrower than Wilson's of disagreement.

    Few items on which nearly all agree give resamples without a disagreement, so that a bootstrap alone says "certain".

    Parameters
    ----------
    value, low, high:
        The coefficient, 1 - largest_fall * w with w the share of disagreement, and its interval.
    largest_fall:
        By how much the coefficient falls from agreement of all to none: 1 over the disagreement that chance gives.
    units:
        Number of items, or of units of these.

    Examples
    --------
    >>> one = np.ones(1)
    >>> [end.round(2).tolist() for end in ends_of_agreement(one, one, one, 2.0, [40])]
    [[0.81], [1.0]]
    """
    size = np.asarray(units)
    fewest, largest = wilson((1 - value) / largest_fall, size, size - 1)
    return np.fmax(np.fmin(low, 1 - largest_fall * largest), -1.0), np.fmax(high, 1 - largest_fall * fewest)


def score_p(share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, null: npt.ArrayLike = 0.5) -> Array:
    """Two-sided p-values of shares against a null share: below 0.05 exactly where the 95% interval leaves it out.

    `share`, `size`, `df`: as in `wilson`. `null`: what is tested against, in (0, 1).

    Equation
    --------
    t = (p - p0) / sqrt(p0 (1 - p0) / n_eff), two tails of t with df degrees of freedom: `wilson` turned round.

    Examples
    --------
    >>> score_p([0.5, 0.6, 1.0], [100, 100, 4], [99, 99, 3]).round(3).tolist()
    [1.0, 0.048, 0.139]
    """
    p, n, freedom, p0 = (np.asarray(x, dtype=np.float64) for x in (share, size, df, null))
    statistic = np.abs(p - p0) * np.sqrt(n / (p0 * (1 - p0)))
    return np.minimum(2 * scipy.special.stdtr(np.maximum(freedom, 1), -statistic), 1.0)


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


def difference(
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
    >>> [float(x[0].round(3)) for x in difference(one, other)]
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
