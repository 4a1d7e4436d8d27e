"""How far flags agree with what people say: precision, recall and F1."""

import numpy as np

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.uncertainty import Estimates

_BCA = name_method(IntervalKind.BOOTSTRAP, "BCa over words")
_FEW = name_method(IntervalKind.NONE, "fewer than two words")


def flag_accuracy(flagged: Array, gold: Array, seed: int) -> Estimates:
    """Precision, recall and F1 of flags, with bootstrap intervals over items.

    Parameters
    ----------
    flagged, gold:
        1 or 0 for each item; shape (items,). Items without either are to be left out before.
    seed:
        Of the bootstrap.

    Returns
    -------
    Arrays of shape (3,): precision, recall, F1. NaN where nothing is flagged, or nothing should be. `n` is the number
    of items that each rests on.

    Raises
    ------
    ValueError
        The shapes differ.

    Equation
    --------
    TP / (TP + FP), TP / (TP + FN), 2 TP / (2 TP + FP + FN) (section D.2, which prints .82 and .29 for 300 words; F1 is
    ours).

    Examples
    --------
    >>> found = flag_accuracy(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0]), seed=1)
    >>> found.value.tolist(), found.n.tolist()
    ([0.5, 0.5, 0.5], [2, 2, 3])
    """
    if flagged.shape != gold.shape or flagged.ndim != 1:
        raise ValueError("flags and what they should be need the same shape (items,).")
    hits = flagged * gold
    tops = np.stack([hits, hits, 2 * hits], axis=1)
    bottoms = np.stack([flagged, gold, flagged + gold], axis=1)

    def ratio(top: Array, bottom: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(top / bottom)

    n = (bottoms > 0).sum(axis=0)
    if len(flagged) < 2:
        value = ratio(tops.sum(axis=0), bottoms.sum(axis=0))
        none = np.full(3, np.nan)
        return Estimates(value, none, none, n, n, np.full(3, _FEW, dtype=object), none)
    value, low, high, se = cluster_bootstrap.bca(tops, bottoms, ratio, seed)
    method = np.full(3, _BCA, dtype=object)
    return Estimates(value, np.clip(low, 0, 1), np.clip(high, 0, 1), n, n, method, se)
