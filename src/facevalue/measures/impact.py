"""Impact ratios: how often somebody is chosen relative to whoever is chosen most."""

import numpy as np
from scipy import special

from facevalue.measures.inference import LEVEL, Array

DELTA = "delta method on the log scale over picture pairs"
REFERENCE = "no interval: the identity that all others are compared with"
NEVER = "no interval: never chosen"


def impact_ratios(selected: Array, se: Array, related: Array, df: Array) -> tuple[Array, Array, Array, Array]:
    """Ratios to the largest selection frequency, with intervals.

    Parameters
    ----------
    selected, se:
        Selection frequencies of all identities with their standard errors, in one unit.
    related:
        Correlation of their errors, shape (identities, identities): pairs that two identities share count for one and
        against the other.
    df:
        Degrees of freedom of each se.

    Returns
    -------
    ratio, standard error of its logarithm, low, high. The reference itself is 1 and has no interval, nor has an
    identity that is never chosen. All NaN if nobody is chosen.

    Equation
    --------
    r_i = S_i / S_m, m the largest; var ln r_i = (se_i/S_i)² + (se_m/S_m)² - 2 ρ_im se_i se_m / (S_i S_m); interval
    r_i exp(± t se). The largest is taken as if it had been named beforehand: with many identities and few pairs it is
    too large by luck, which the floor of the shortfall shows.

    Examples
    --------
    >>> out = impact_ratios(np.array([40.0, 60.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.eye(3), np.full(3, 100.0))
    >>> [x.round(2).tolist() for x in out]
    [[0.67, 1.0, 0.0], [0.06, nan, nan], [0.59, nan, nan], [0.75, nan, nan]]
    """
    none = np.full(selected.shape, np.nan)
    if not selected.size or not np.nanmax(selected) > 0:
        return none, none, none, none
    top = int(np.nanargmax(selected))
    ratio = selected / selected[top]
    with np.errstate(invalid="ignore", divide="ignore"):
        own, best = se / selected, se[top] / selected[top]
    variance = np.maximum(own**2 + best**2 - 2 * related[top] * own * best, 0.0)
    error = np.where((selected > 0) & (np.arange(selected.size) != top), np.sqrt(variance), np.nan)
    reach = special.stdtrit(np.maximum(np.minimum(df, df[top]), 1), 0.5 + LEVEL / 2) * error
    return ratio, error, ratio * np.exp(-reach), ratio * np.exp(reach)


def shortfalls(selected: Array) -> Array:
    """1 - S_i / max S over the last axis; NaN where nobody is chosen.

    Examples
    --------
    >>> shortfalls(np.array([40.0, 50.0])).round(2).tolist()
    [0.2, 0.0]
    """
    top = selected.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(top > 0, 1 - selected / top, np.nan)
