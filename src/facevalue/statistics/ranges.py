"""Ranges of a score over the levels that a unit shows, beside what as many replies to one picture have."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.cells import SliceLabels
from facevalue.measures.definitions import Measure
from facevalue.measures.set_ranges import Codes, range_summary, summary_bounds
from facevalue.measures.uncertainty import Bounds
from facevalue.statistics.answer_arrays import NOT_ASKED, AnswerArrays
from facevalue.statistics.breakdown import DIMENSION, Breakdown
from facevalue.statistics.rivals import UNIT, VALUE
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import Definitions, Score, Unsigned, companion_measures, phrase_of, register

if TYPE_CHECKING:
    from facevalue.design import Design
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.power import PlannedTask
    from facevalue.statistics.precision import Precision
    from facevalue.statistics.scores import ModelScores

ORDERING = "ordering"
"""Column of answers that says in which order the options stood."""


@register
class Range(Unsigned):
    """Range of the levels of a factor within a unit: the highest score less the lowest.

    Units that lack a level that others of their cell show have no range, as a range of fewer pictures is smaller.
    """

    kind = "range"
    phrase_form = "ranges of {}"
    difference = "versions of one unit differ by {size} in "
    title = "Ranges within units"
    lead = (
        "How far the levels lie apart within a unit: the highest score less the lowest. A range is never zero, even "
        "without any difference, and grows with the number of levels: see its noise floor, of as many replies to one "
        "picture. Any other picture would move some answers: this says how far they hang on the picture, not why."
    )
    definitions: ClassVar[Definitions] = {
        "range": (
            "Range within units: {}",
            "mean over units, questions and draws of max - min over the unit's levels; floor: of as many replies to "
            "one",
        )
    }
    companion_titles = ("Ranges that one in ten exceeds",)

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse levels that no unit has several of, or has in several pictures."""
        sets = breakdown.sets
        if breakdown.is_of_prompt(self.factor) or not sets.varies(self.factor):
            raise DataError(
                f"A range is over the levels that the pictures of one unit have; no unit has several of "
                f"{self.factor!r}."
            )
        cell = [sets.key, *(name for name in by if not breakdown.is_of_prompt(name)), self.factor]
        counted = sets.manifest[breakdown.stimuli([*by, self.factor])].drop_nulls(cell)
        if counted.select(cell).is_duplicated().any():
            raise DataError(
                f"A unit shows a level of {self.factor!r} in several pictures, so that a range would be of more of "
                "them in some units than in others: break the range down by what tells these pictures apart."
            )

    def names_by_size(self, name: str) -> tuple[str, ...]:
        """That of the quantile, which probabilities do not have."""
        return self.companions(name)

    def companions(self, name: str) -> tuple[str, ...]:
        """Name of the range that one in ten exceeds, beside the mean range."""
        return (f"{name}_q90",)

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of the mean range and of the one that one in ten exceeds."""
        out = super().measures(name, breakdown, score)
        title = f"Range within units that one in ten exceeds: {phrase_of(score, out[name].title)}"
        (tail,) = self.companions(name)
        return out | companion_measures(
            out[name], {tail: (title, "90th percentile, linear, of max - min")}, comparison=False
        )

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the mean range of each cell, and the one that one in ten exceeds (`measures.set_ranges`)."""
        if model.answers is None:  # of several models together there is no reply
            return
        name = model.name_of(estimand)
        measure, tail = (model.measures[label] for label in (name, *self.companions(name)))
        for levels, scores, were_asked, clusters in ranged_cells(estimand, model.breakdown, model.answers):
            if not were_asked.any():
                continue
            ranges = range_summary(scores, SEED, clusters=clusters)
            bounds: tuple[Bounds | None, Bounds | None] = (None, None)
            if model.totals is not None:
                bounds = summary_bounds(scores, were_asked, model.poles, clusters=clusters)
            labels, family = model.breakdown.make_labels(levels), estimand.family_name if estimand.tested else None
            mean = ranges.mean if estimand.tested else ranges.mean.without_tests()
            table.add(measure, labels, replace(mean, bounds=bounds[0]), family)
            table.add(tail, labels, replace(ranges.tail, bounds=bounds[1]))

    def precision(
        self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design"
    ) -> "Precision | None":
        """Description of a range beyond what chance gives; None where replies say nothing of chance."""
        from facevalue.statistics.power import precision_of_range  # noqa: PLC0415 - only plans need it

        return precision_of_range(estimand, task, score, design)

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """By how much the variance between a unit's levels exceeds what replies to one of them give: 0 by chance."""
        unit = pl.col(breakdown.sets.key).alias(UNIT)
        question = [*dict.fromkeys([*estimand.by, *breakdown.prompt_factors]), ORDERING]
        reply = pl.col(score.name)
        levels = answers.group_by(unit, *question, self.factor).agg(
            mean=reply.mean(), within=reply.var(), n=reply.count()
        )
        excess = pl.col("mean").var() - (pl.col("within") / pl.col("n")).mean()
        rows = levels.group_by(UNIT, *question).agg(excess.alias(VALUE))
        return rows.select(*estimand.by, UNIT, VALUE, pl.lit(self.factor).alias(DIMENSION))


RangedCell = tuple[SliceLabels, npt.NDArray[np.float64], npt.NDArray[np.bool_], Codes]
"""Labels of a cell; scores, shape (units x questions x orderings, levels, repeats); which were asked; units by row."""


def ranged_cells(estimand: "Estimand", breakdown: Breakdown, answers: AnswerArrays) -> Iterator[RangedCell]:
    """Answers of each cell of a range."""
    factor = estimand.compared_factor
    at = breakdown.stimuli(estimand.factors)
    rows, columns = breakdown.rows(at, estimand.by), breakdown.columns(estimand.by)
    level = breakdown.codes(at, factor)
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
        for column in np.unique(columns.codes[columns.codes >= 0]):
            items = np.flatnonzero(columns.codes == column)
            cell = row * len(columns) + column
            labels = {name: [names[cell]] for name, names in crossed.items()}
            of_cell = _by_set(scores[:, :, items], answers.repeats), _by_set(were_asked[:, :, items], answers.repeats)
            yield {**labels, DIMENSION: [factor]}, *of_cell, np.repeat(units, len(of_cell[0]) // units.size)


def _by_set(values: npt.NDArray[np.generic], repeats: int) -> npt.NDArray[Any]:
    """From (units, levels, items, orderings x repeats) to (units x items x orderings, levels, repeats).

    Only repeats differ by chance: an order of the options that moves all answers is no floor.
    """
    of_orderings = values.reshape(*values.shape[:3], -1, repeats)
    return np.moveaxis(of_orderings, 1, 3).reshape(-1, values.shape[1], repeats)
