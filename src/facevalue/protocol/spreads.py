"""Spreads between groups as estimates: with their permutation floor, and the published test beside their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from facevalue.measures import cluster_bootstrap, group_spread, shift
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds, Replies, averaged, phi_bounds, spread_bounds
from facevalue.measures.set_spread import group_deviation
from facevalue.measures.slicing import Slicing
from facevalue.protocol.takes import DIMENSION, Breakdown, Take

LevelsOfUnits = tuple[Mapping[str, str | None], Array, Replies | None, npt.NDArray[np.bool_]]
"""Labels of a cell; mean scores of units by level, shape (units, levels, 1); what was asked; which levels are shown."""
DEALT = "true spreads that dealt labels could have made into this one"


def add_spreads(
    table: EstimateTable,
    measure: Measure,
    dimension: str,
    scores: Array,
    groups: Slicing,
    items: Slicing,
    spreads: group_spread.Spreads,
    *,
    mean: bool,
    family: str | None,
    n: npt.NDArray[np.int64] | None = None,
    published: Array | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Add the spread between groups in each item, or its mean; scores are of shape (units, items)."""
    size = scores.shape[1]
    which = slice(size, None) if mean else slice(0, size)
    if n is None:
        n = np.isfinite(scores[groups.codes >= 0]).sum(axis=0)
        n = np.array([n.sum()]) if mean else n
    cells = shift.cells(scores, np.arange(len(scores)), groups, items, len(scores))
    statistic = group_spread.variation_strength(len(groups), size, mean=mean)
    se = cluster_bootstrap.jackknife(cells.sums, cells.counts, statistic)[3]
    clusters = np.full(n.size, int((cells.counts.sum(axis=1) > 0).sum()))
    method = np.full(n.size, DEALT, dtype=object)
    estimates = Estimates(spreads.value[which], spreads.low[which], spreads.high[which], n, clusters, method, se)
    floor, p_least = spreads.floor.at(which), spreads.least[which]
    if family is None:
        floor, p_least = replace(floor, p=np.full(n.size, np.nan)), np.full(n.size, np.nan)
    table.add(
        measure, {DIMENSION: [dimension] * n.size, **({} if mean else items.labels)}, estimates,
        p_least=p_least, family=family, floor=floor, bounds=bounds, p_paper=published,
    )  # fmt: skip


def add_spread_within(
    table: EstimateTable,
    measure: Measure,
    take: Take,
    breakdown: Breakdown,
    cell: LevelsOfUnits,
    poles: tuple[float, float] | None,
) -> None:
    """Add how far the levels that units have lie apart in one cell (`measures.set_spread`)."""
    about, means, replies, is_shown = cell
    spread, floor = group_deviation(means)
    bounds = None
    if replies is not None and poles is not None:
        ends, value = phi_bounds(replies, poles), spread.value
        bounds = spread_bounds([ends.at(np.array([level])) for level in np.flatnonzero(is_shown)])
        bounds = replace(bounds, low=np.fmin(bounds.low, value), high=np.fmax(bounds.high, value))
    if not take.tested:
        floor = replace(floor, p=np.full(1, np.nan))
    labels = {name: [level] for name, level in about.items()}
    table.add(
        measure, {DIMENSION: [take.of], **breakdown.labelled(labels)}, spread,
        floor=floor, bounds=bounds, family=take.named() if take.tested else None,
    )  # fmt: skip


def limits(
    totals: Sequence[Array],
    unit: npt.NDArray[np.int64],
    groups: Slicing,
    items: Slicing,
    poles: tuple[float, float] = (0.0, 1.0),
    *,
    mean: bool,
) -> Bounds:
    """Bounds of the spread between groups in each item, or of its mean.

    Parameters
    ----------
    totals:
        Sums of scores, mass of valid answers and number asked, of shape (stimuli, items).
    unit:
        Unit of each stimulus.
    groups, items:
        As in `add_spreads`.
    """
    out = spread_bounds(group_bounds(totals, unit, groups, items, poles))
    return averaged(out) if mean else out


def group_bounds(
    totals: Sequence[Array],
    unit: npt.NDArray[np.int64],
    groups: Slicing,
    items: Slicing,
    poles: tuple[float, float] = (0.0, 1.0),
) -> list[Bounds]:
    """Bounds of each group's mean in each item; parameters as in `limits`."""
    rows, units = Slicing(groups.codes[unit], groups.labels), len(groups.codes)
    replies = Replies(*(shift.cells(total, unit, rows, items, units).sums for total in totals))
    cells = phi_bounds(replies, poles)
    return [cells.at(at) for at in np.arange(len(groups) * len(items)).reshape(len(groups), -1)]
