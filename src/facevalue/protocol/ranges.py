"""Ranges of a score over the levels that a unit shows, beside what as many replies to one picture have."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable
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
            labels: dict[str, list[str | None]] = {name: [names[cell]] for name, names in crossed.items()}
            labels[DIMENSION] = [take.of]
            of_cell = _by_set(scores[:, :, items], answers.repeats), _by_set(were_asked[:, :, items], answers.repeats)
            clusters = np.repeat(units, len(of_cell[0]) // units.size)
            _add(table, take, measures, breakdown.labelled(labels), of_cell, clusters, poles)


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
    labels: Labels,
    answers: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]],
    clusters: Codes,
    poles: tuple[float, float] | None,
) -> None:
    scores, were_asked = answers
    if not were_asked.any():
        return
    ranges = summary(scores, SEED, clusters=clusters)
    bounds = (None, None) if poles is None else summary_bounds(scores, were_asked, poles, clusters=clusters)
    family = take.named() if take.tested else None
    floor = ranges.floor if take.tested else replace(ranges.floor, p=np.full(1, np.nan))
    table.add(measures[0], labels, ranges.mean, floor=floor, bounds=bounds[0], family=family)
    table.add(measures[1], labels, ranges.tail, floor=ranges.tail_floor, bounds=bounds[1])
