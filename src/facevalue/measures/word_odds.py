"""Intervals of words' log-odds ratios between groups, over units of texts."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.annotations.counts import WordCounts
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.selection import to_array
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.DELTA, "over images, zero by shuffled labels")
_ABOVE_ZERO = 1e-6


def estimates(marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None]) -> Estimates:
    """Log-odds ratios with intervals.

    `marked`: rows of `marked_words.strict`.
    """
    se, units = _errors(counts, groups, marked)
    value = to_array(marked["log_odds"])
    low, high = _interval(value, float(scipy.special.ndtri(0.5 + LEVEL / 2)) * se, to_array(marked["p"]))
    tokens = (marked["tokens"] + marked["tokens_against"]).to_numpy()
    return Estimates(value, low, high, tokens, units, np.full(value.size, METHOD, dtype=object), se)


def _interval(value: Array, reach: Array, p: Array) -> tuple[Array, Array]:
    """Interval of so much on either side, which leaves zero out exactly where the test does.

    Labels dealt out anew keep their level for rare words, where the delta method is too certain.
    """
    is_found = p < 1 - LEVEL
    inner = np.where(is_found, np.minimum(reach, (1 - _ABOVE_ZERO) * np.abs(value)), np.fmax(reach, np.abs(value)))
    up = value >= 0
    return value - np.where(up, inner, reach), value + np.where(up, reach, inner)


def _errors(
    counts: WordCounts, groups: Sequence[str | None], marked: pl.DataFrame
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Standard error of each log-odds ratio over units, the prior taken as fixed; and how many units there were.

    Equation
    --------
    se² = sum over both groups of G/(G-1) sum_i (y_i - p n_i)² / ((n + a_0) p (1 - p))², p = (y + a)/(n + a_0): each
    logit is linear in its units' counts to first order.
    """
    label = np.array(groups, dtype=object)
    places = dict(zip(counts.words, range(len(counts.words)), strict=True))
    at = np.array([places[word] for word in marked["word"]], dtype=np.int64)
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    variance, images = np.zeros(at.size), np.zeros(at.size, dtype=np.int64)
    for side in ("group", "against"):
        names = marked[side].to_numpy()
        for group in np.unique(names):
            rows = np.flatnonzero(names == group)
            units = np.flatnonzero(label == group)
            y = scipy.sparse.csc_array(counts.tokens[units].astype(np.float64))[:, at[rows]]
            n = counts.sizes[units].astype(np.float64)
            total = n.sum() + prior.sum()
            p = (np.asarray(y.sum(axis=0)).ravel() + prior[at[rows]]) / total
            share = np.asarray(y.sum(axis=0)).ravel() / max(n.sum(), 1.0)  # so that residuals sum to zero
            squares = np.asarray(y.multiply(y).sum(axis=0)).ravel()
            squares += share**2 * (n**2).sum() - 2 * share * np.asarray(y.T @ n).ravel()
            with np.errstate(invalid="ignore", divide="ignore"):
                factor = units.size / (units.size - 1) if units.size > 1 else np.nan
                variance[rows] += factor * np.maximum(squares, 0) / (total * p * (1 - p)) ** 2
            images[rows] += units.size
    return np.sqrt(variance), images
