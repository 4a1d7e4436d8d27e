"""Planning: how far the units of a study differ in the effect that leads."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.aggregate import collect
from facevalue.protocol.definitions import measure_name
from facevalue.protocol.expected_precision import Precision, Spread
from facevalue.protocol.replies import Score
from facevalue.protocol.respondents import Respondents
from facevalue.protocol.stimuli import NOUNS
from facevalue.protocol.takes import GAP, SHIFT, Breakdown, Take
from facevalue.protocol.tasks import Task
from facevalue.protocol.unit_spreads import pooled_spread, units_asked, variation_spread

Array = npt.NDArray[np.float64]
SHARE = 0.2
"""SD between units that is assumed without a pilot, as a share of the scale's span; shifts are simulated instead."""
STEPS = 4
"""Of a scale that is no share: a reply to one question has an SD of up to a quarter of it."""


def of_direction(task: Task, take: Take, score: Score, design: Design) -> Precision | None:
    """Describe a test of a difference in one direction to the planner; None of a score without ends."""
    if score.span is None:
        return None
    breakdown, axes, sets = task.breakdown, task.axes, task.breakdown.sets
    between = take.measure == GAP and not breakdown.paired(take.of)
    cells = breakdown.rows(sets.varied if take.measure == SHIFT else breakdown.shown(take), take.by)
    columns = len(breakdown.columns(take.by))
    crossed = len(cells) * columns
    held = int(take.holds(cells.crossed(breakdown.columns(take.by)), crossed).sum())
    tests = held * (len(breakdown.contrasts(take)) if take.of else 1)
    items = len(breakdown.columns(breakdown.asked)) / columns

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        phi = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name].phi
        return _spread(phi, breakdown, take, source, between)

    factor = 2.0 if between else 1.0
    assumed = f"assumed: {factor * SHARE:g} of the scale; a pilot of your own model is better: --pilot RUN"
    default: Spread | Respondents = Spread(factor * SHARE * score.span, np.nan, 1.0, assumed)
    if take.measure == SHIFT:
        default = Respondents(
            len(axes.orderings) * axes.repeats, 1 if score.unit == "probability" else STEPS, score.span
        )
    measure = measure_name(take, breakdown, score)
    return Precision(
        what=f"the {measure.replace('_', ' ')} ({score.title[:1].lower()}{score.title[1:]})",
        tests=max(tests, 1),
        clusters=len(sets.identities),
        items=items,
        cluster=NOUNS[sets.unit],
        item="questions" if columns == 1 else "questions in each test",
        units=units_asked(design, [sets.key, *breakdown.asked], columns, task.rows),
        spread=spread,
        default=default,
        largest=task.measures[measure].limits[1],
    )


def _spread(phi: Array, breakdown: Breakdown, take: Take, source: str, between: bool) -> Spread:
    """Spread between units of what the take tests; of two groups, that of a mean over as many units as both have."""
    sets = breakdown.sets
    if take.measure == SHIFT:
        return variation_spread(phi, sets, source)
    at = breakdown.shown(take)
    scores = np.full((len(sets.identities), phi.shape[1], max(1, int(np.bincount(sets.identity[at]).max()))), np.nan)
    place = np.zeros(len(sets.identities), dtype=np.int64)
    for row in at:
        unit = sets.identity[row]
        scores[unit, :, place[unit]] = phi[row]
        place[unit] += 1
    seen = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit_means = np.where(seen, scores, 0).sum(axis=2) / seen.sum(axis=2)
    if not between:
        return pooled_spread([unit_means], source)
    level = sets.level(take.of)
    groups = [unit_means[[name == of_unit for of_unit in level]] for name in breakdown.levels(take.of)]
    pooled = pooled_spread(groups, source)
    return Spread(2 * pooled.mean, 2 * pooled.within, pooled.items, pooled.source)
