"""Log-odds of being chosen in one activity against all others (VIGNETTE, section 5)."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from facevalue.measures.inference import LEVEL, Array
from facevalue.measures.proportions import effective_size

EFFECTIVE = "t, standard error from effective counts over picture pairs"


@dataclass(frozen=True, slots=True)
class Counts:
    """What was chosen on one side, and how well that is known; arrays of one length.

    Attributes
    ----------
    chosen, options:
        Expected number of times chosen, and of times it was an option.
    se:
        Standard error of chosen/options over clusters.
    clusters:
        Clusters behind it.
    """

    chosen: Array
    options: Array
    se: Array
    clusters: Array


def log_odds(inside: Counts, outside: Counts) -> tuple[Array, Array, Array, Array]:
    """Log-odds ratio with its interval.

    Parameters
    ----------
    inside, outside:
        The activity, and all others.

    Returns
    -------
    value, standard error, low, high; NaN where a side was not an option, no interval where one has a single cluster.

    Equation
    --------
    ln[(x_a + 1)/(n_a - x_a + 1)] - ln[(x_b + 1)/(n_b - x_b + 1)] (section 5: x = n_response, n = n_option). Its se²
    is Σ 1/(m p + 1) + 1/(m (1 - p) + 1) over both sides, with p = x/n and m = `proportions.effective_size`: the usual
    variance, of as many answers as the clusters are worth. Interval: ± t se, with clusters - 1 degrees of freedom of
    the smaller side.

    Examples
    --------
    >>> side = lambda x, n: Counts(*(np.array([v]) for v in (x, n, (x / n * (1 - x / n) / n) ** 0.5, n)))
    >>> value, se, low, high = log_odds(side(8.0, 10.0), side(5.0, 10.0))
    >>> [round(float(v[0]), 2) for v in (value, se, low, high)]
    [1.1, 0.88, -0.9, 3.09]
    """
    value = np.zeros_like(inside.chosen)
    variance = np.zeros_like(value)
    for side, sign in ((inside, 1), (outside, -1)):
        x, n = side.chosen, side.options
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.where(n > 0, x / n, np.nan)
        value = value + sign * np.where(n > 0, np.log((x + 1) / (np.maximum(n - x, 0) + 1)), np.nan)
        m = effective_size(np.clip(p, 0, 1), side.se, side.clusters)
        variance = variance + 1 / (m * p + 1) + 1 / (m * (1 - p) + 1)
    se = np.sqrt(variance)
    df = np.maximum(np.minimum(inside.clusters, outside.clusters) - 1, 1)
    reach = special.stdtrit(df, 0.5 + LEVEL / 2) * se
    return value, se, value - reach, value + reach
