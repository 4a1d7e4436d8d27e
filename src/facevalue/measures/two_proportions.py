"""z test of two proportions, as published: it treats answers as independent."""

import numpy as np
import scipy

from facevalue.measures.cluster_bootstrap import Array


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
