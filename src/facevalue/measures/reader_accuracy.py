"""Precision and recall of a reader of replies, such as a parser or a judge, against the majority of people."""

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.JEFFREYS, "by stratum, items as units")
_DRAWS = 4_000
_PRIOR = 0.5


def reader_accuracy(
    flagged: npt.NDArray[np.bool_], gold: npt.NDArray[np.bool_], stratum: npt.NDArray[np.int64], sizes: Array, seed: int
) -> Estimates:
    r"""Precision and recall of one label, from a sample drawn by strata.

    Parameters
    ----------
    flagged, gold:
        Whether the reader, and most people, give an item the label; shape (items,). Items of which people have no
        majority are to be left out before.
    stratum:
        Place of each item's stratum in `sizes`.
    sizes:
        How many items each stratum has, those that were not drawn included; shape (strata,).

    Returns
    -------
    Arrays of shape (2,): precision, recall. NaN where the reader, or people, give no item the label. `n` is the number
    of items that bear on each: those with the label of the reader, or of people.

    Equation
    --------
    With N_h items in stratum h and p_h(c) the share of its drawn items in cell c of reader x people, precision is
    sum_h N_h p_h(both) / sum_h N_h p_h(reader), recall sum_h N_h p_h(both) / sum_h N_h p_h(people) (Horvitz and
    Thompson 1952). The ends of the interval are quantiles of the same with p_h drawn from Dirichlet(counts + 1/2).

    Notes
    -----
    Where no error was seen, resampled items show none either, and a bootstrap says "certain". Here a stratum of many
    items of which few were drawn leaves room for errors among those that were not: recall of a rare label is wide
    where most items were read as something else and few of these were looked at. Cells that a stratum cannot have, as
    where it holds what the reader read alike, get no draw.

    Examples
    --------
    >>> reader, people = np.array([1, 1, 1, 0, 0, 0], dtype=bool), np.array([1, 1, 0, 0, 0, 0], dtype=bool)
    >>> accuracy = reader_accuracy(reader, people, np.array([0, 0, 0, 1, 1, 1]), np.array([3.0, 300.0]), seed=1)
    >>> accuracy.value.round(2).tolist(), (accuracy.low[1] < 0.1).item()
    ([0.67, 1.0], True)
    """
    if not flagged.shape == gold.shape == stratum.shape or flagged.ndim != 1:
        raise ValueError("reader, people and strata need the same shape (items,).")
    cell = 2 * flagged.astype(np.int64) + gold  # 0 neither, 1 people alone, 2 the reader alone, 3 both
    counts = np.zeros((sizes.size, 4))
    np.add.at(counts, (stratum, cell), 1.0)
    sampled = counts.sum(axis=1)
    counts, weight = counts[sampled > 0], sizes[sampled > 0]
    value = _rates(counts / counts.sum(axis=1, keepdims=True), weight)
    n = np.array([int(flagged.sum()), int(gold.sum())])
    none = np.full(2, np.nan)
    methods = np.array([METHOD if size else name_unmeasured("no item has the label") for size in n], dtype=object)
    if not n.any():
        return Estimates(none, none, none, n, n, methods, none)
    rng = np.random.default_rng(seed)
    read_alike = np.stack([counts[:, :2].sum(axis=1) > 0, counts[:, 2:].sum(axis=1) > 0], axis=1)
    prior = _PRIOR * np.repeat(read_alike, 2, axis=1)
    gamma = np.zeros((_DRAWS, *counts.shape))
    possible = prior > 0
    gamma[:, possible] = rng.standard_gamma((counts + prior)[possible], size=(_DRAWS, int(possible.sum())))
    rates = _rates(gamma / gamma.sum(axis=-1, keepdims=True), weight)
    tail = (1 - LEVEL) / 2
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
    measurable = n > 0
    low, high = np.fmin(low, value), np.fmax(high, value)
    ends = (np.where(measurable, end, np.nan) for end in (value, low, high, rates.std(axis=0)))
    middle, lowest, highest, se = ends
    return Estimates(middle, lowest, highest, n, n, methods, se)


def _rates(shares: Array, weight: Array) -> Array:
    """Precision and recall of shares of cells, shape (..., strata, cells)."""
    totals = (shares * weight[:, None]).sum(axis=-2)
    hits = totals[..., 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([hits / (totals[..., 2] + hits), hits / (totals[..., 1] + hits)], axis=-1)
