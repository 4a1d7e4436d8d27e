"""Ranges of a score over the levels that a unit shows, beside what as many replies to one picture have."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.set_ranges import Codes, summary, summary_bounds
from facevalue.measures.slicing import Labels
from facevalue.protocol.aggregate import NOT_ASKED, Aggregate
from facevalue.protocol.shifts import SEED
from facevalue.protocol.takes import DIMENSION, Breakdown, Take


def add_ranges(
    table: EstimateTable,
    take: Take,
    measures: tuple[Measure, Measure],
    breakdown: Breakdown,
    answers: Aggregate,
    poles: tuple[float, float] | None,
) -> None:
    """Add the mean range within units, and the range that one in ten exceeds (`measures.set_ranges`).

    Units that lack a level that others of their cell show have no range, as a range of fewer pictures is smaller.

    Parameters
    ----------
    measures:
        Of the mean and of the 90th percentile.
    poles:
        Least and greatest possible score; None where there are none, so that there are no bounds.
    """
    for cell in ranged_cells(take, breakdown, answers):
        if cell.were_asked.any():
            _add(table, take, measures, breakdown, cell, poles)


class RangedCell(NamedTuple):
    """Answers of a cell whose ranges are taken."""

    labels: Labels
    scores: npt.NDArray[np.float64]
    """Shape (units x questions x orderings, levels, repeats)."""
    were_asked: npt.NDArray[np.bool_]
    clusters: Codes
    """Unit of each row."""


def ranged_cells(take: Take, breakdown: Breakdown, answers: Aggregate) -> Iterator[RangedCell]:
    """Answers of each cell of a range."""
    at = breakdown.shown(take)
    rows, columns = breakdown.rows(at, take.by), breakdown.columns(take.by)
    level = breakdown.codes(at, take.of)
    is_asked = answers.reasons != NOT_ASKED
    crossed = rows.crossed(columns)
    for row in range(len(rows)):
        of_row = np.flatnonzero((rows.codes == row) & (level >= 0))
        levels_of_row, place = np.unique(level[of_row], return_inverse=True)
        if levels_of_row.size < 2:
            continue
        units, unit = np.unique(breakdown.sets.identity[at[of_row]], return_inverse=True)
        shape = (units.size, levels_of_row.size, *answers.weights.shape[1:])
        scores, were_asked = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
        scores[unit, place], were_asked[unit, place] = answers.weights[at[of_row]], is_asked[at[of_row]]
        for column in range(len(columns)):
            items = np.flatnonzero(columns.codes == column)
            cell = row * len(columns) + column
            labels = {name: [names[cell]] for name, names in crossed.items()}
            of_cell = _by_set(scores[:, :, items], answers.repeats), _by_set(were_asked[:, :, items], answers.repeats)
            yield RangedCell(
                {**labels, DIMENSION: [take.of]}, *of_cell, np.repeat(units, len(of_cell[0]) // units.size)
            )


def _by_set(values: npt.NDArray[np.generic], repeats: int) -> npt.NDArray[Any]:
    """From (units, levels, items, orderings x repeats) to (units x items x orderings, levels, repeats).

    Only repeats differ by chance: an order of the options that moves all answers is no floor.
    """
    of_orderings = values.reshape(*values.shape[:3], -1, repeats)
    return np.moveaxis(of_orderings, 1, 3).reshape(-1, values.shape[1], repeats)


def _add(
    table: EstimateTable,
    take: Take,
    measures: tuple[Measure, Measure],
    breakdown: Breakdown,
    cell: RangedCell,
    poles: tuple[float, float] | None,
) -> None:
    ranges = summary(cell.scores, SEED, clusters=cell.clusters)
    bounds: tuple[Bounds | None, Bounds | None] = (None, None)
    if poles is not None:
        bounds = summary_bounds(cell.scores, cell.were_asked, poles, clusters=cell.clusters)
    labels, family = breakdown.labelled(cell.labels), take.named() if take.tested else None
    floor = ranges.floor if take.tested else replace(ranges.floor, p=np.full(1, np.nan))
    table.add(measures[0], labels, ranges.mean, floor=floor, bounds=bounds[0], family=family)
    table.add(measures[1], labels, ranges.tail, floor=ranges.tail_floor, bounds=bounds[1])
