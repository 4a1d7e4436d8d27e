"""Contrasts of several conditions of the same sampled units, such as dates: a drift, or a step at one of them.

A contrast Σ c_t x_t with Σ c_t = 0 is a difference of two sums, and is taken like any paired change.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.paired_changes import ChangeSet, Deletion, estimate_keys

_VALUES = ("value", "bound_low", "bound_high")


def drift_weights(times: Array) -> Array:
    """Weights of the change from the first time to the last by the straight line of least squares.

    Equation
    --------
    c_t = (t - mean t) (t_last - t_first) / Σ (t - mean t)².

    Examples
    --------
    >>> drift_weights(np.array([0.0, 1.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    apart = times - times.mean()
    return np.asarray(apart * (times[-1] - times[0]) / (apart**2).sum())


def step_weights(count: int, since: int) -> Array:
    """Weights of the mean from one of so many times on, less the mean of those before it.

    Examples
    --------
    >>> step_weights(4, 3).round(2).tolist()
    [-0.33, -0.33, -0.33, 1.0]
    """
    later = np.arange(count) >= since
    return np.where(later, 1 / later.sum(), -1 / (~later).sum())


def splits_beside(count: int, since: int) -> Iterator[Array]:
    """Weights of every contrast that is zero where nothing changes but at one time: a split of either side of it.

    The set of times of which none of these contrasts is found, at a level shared by all count - 2 of them, holds the
    time of a single step in at least as many histories as the level says.

    Examples
    --------
    >>> [weights.tolist() for weights in splits_beside(4, 2)]
    [[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
    """
    for first, last in ((0, since), (since, count)):
        for split in range(first + 1, last):
            weights = np.zeros(count)
            weights[first:split], weights[split:last] = -1 / (split - first), 1 / (last - split)
            yield weights


def contrast(
    tables: Sequence[pl.DataFrame], without: Sequence[Sequence[pl.DataFrame]], layers: Sequence[str], weights: Array
) -> ChangeSet:
    """Take a contrast of estimates, with its errors by the delete-a-group jackknife.

    Parameters
    ----------
    tables:
        Estimates of each time, as `paired_changes.reduced` gives them, all of the same cells.
    without:
        The same without each group of what was sampled.
    layers:
        What each group is of.
    weights:
        One of each time; they sum to zero.
    """
    deletions = [
        Deletion(layer, _summed(rest, -weights), _summed(rest, weights))
        for layer, rest in zip(layers, zip(*without, strict=True), strict=True)
    ]
    return ChangeSet(_summed(tables, -weights), _summed(tables, weights), deletions)


def _summed(tables: Sequence[pl.DataFrame], weights: Array) -> pl.DataFrame:
    """Sum of the estimates that have a positive weight, cell by cell; not measurable where one of them is not."""
    weighted = [
        table.with_columns((pl.col(name).cast(pl.Float64) * float(weight)).alias(name) for name in _VALUES)
        for table, weight in zip(tables, weights, strict=True)
        if weight > 0
    ]
    sums = [pl.when(pl.col(name).count() == len(weighted)).then(pl.col(name).sum()).alias(name) for name in _VALUES]
    return (
        pl.concat(weighted)
        .group_by(estimate_keys(tables[0]), maintain_order=True)
        .agg(*sums, pl.col("n").sum(), pl.col("clusters").max(), pl.col("(bare)", "(floored)").any())
    )
