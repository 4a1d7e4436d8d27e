"""Skew of a training corpus: how unevenly words of two genders stand beside an instance."""

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.proportions import wilson


def corpus_skew(
    male: npt.ArrayLike, female: npt.ArrayLike, level: float = LEVEL
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Share of male words, and how far it is from one half.

    Parameters
    ----------
    male, female:
        Words of each gender in the texts that name an instance, at least 0; arrays of one shape.
    level:
        Of the intervals.

    Returns
    -------
    Share with its low and high end, then skew with its low and high end: arrays of that shape, the share in [0, 1] and
    the skew in [0, 1/2]. NaN where there are no words at all.

    Equation
    --------
    S = |m / (m + f) - 1/2| (ModSCAN, section 6 and Table 7). Intervals are ours: Wilson's
    of m / (m + f), and what |p - 1/2| takes over it, from 0 where it holds 1/2.

    Notes
    -----
    Wilson's interval takes words as independent. Words of one text are not, so that the true interval is wider.

    Examples
    --------
    Nurse, therapist and software developer of Table 7:

    >>> share, skew = corpus_skew([43, 3, 0], [104, 1, 0])
    >>> skew[0].round(4).tolist()
    [0.2075, 0.25, nan]
    >>> skew[1].round(4).tolist(), skew[2].round(4).tolist()
    ([0.1294, 0.0, nan], [0.275, 0.4544, nan])
    """
    m, f = (np.asarray(count, dtype=np.float64) for count in (male, female))
    size = m + f
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(size > 0, m / size, np.nan)
    low, high = wilson(share, np.where(size > 0, size, np.nan), np.full(size.shape, np.inf), level)
    ends = np.abs(low - 0.5), np.abs(high - 0.5)
    nearest = np.where((low <= 0.5) & (high >= 0.5), 0.0, np.minimum(*ends))
    return (share, low, high), (np.abs(share - 0.5), nearest + 0 * share, np.maximum(*ends))
