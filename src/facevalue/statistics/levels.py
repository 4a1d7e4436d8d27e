"""Levels of a score: its mean, and how far the mean leans from the middle of the scale."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import cluster_means
from facevalue.measures.definitions import Measure
from facevalue.measures.estimators import column_shares
from facevalue.measures.group_means import unit_ratios
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.rivals import UNIT, VALUE, answers_about, unit_means
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import (
    SUM_OF_SCORES,
    Definitions,
    Forms,
    PairNames,
    Score,
    Statistic,
    form_of,
    register,
)

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import ModelScores, SumScores


@register
class Mean(Statistic):
    """Mean score over units; of a score that is a share, with Wilson's interval."""

    kind = "mean"
    title = "Scores"
    lead = "The answers themselves, before anything is compared."
    definitions: ClassVar[Definitions] = {
        "mean": ("{}", "mean over pictures and questions of the mean score of the answers to each")
    }
    says_difference = False
    is_level = True

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Accept every score."""

    def limits(self, score: Score, breakdown: Breakdown) -> tuple[float, float]:
        """Ends of the scale."""
        return score.low, score.high

    def definition(self, breakdown: Breakdown, score: Score) -> tuple[str, str]:
        """Title and equation; of a score that leaves answers out the mean is a ratio of sums."""
        title, equation = super().definition(breakdown, score)
        return title, SUM_OF_SCORES if score.leaves_out else equation

    def measure(self, name: str, breakdown: Breakdown, score: Score) -> Measure:
        """Definition of its measure; shares of people who are chosen have impact ratios."""
        return replace(super().measure(name, breakdown, score), selection=score.is_share)

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the means of cells."""
        cells, bounds = model.sum_scores(estimand)
        if model.score.is_share:
            means: Estimates = column_shares(cells.sums, cells.counts)
        elif model.score.leaves_out:
            means = unit_ratios(cells.sums, cells.counts, SEED, level=True)
        else:
            means = cluster_means(cells.sums, cells.counts, SEED, level=True)
        model.enter(table, estimand, cells.labels, replace(means, bounds=bounds), cells.shown > 0)

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the means of cells: shares of sums, between the ends of the score."""
        labels, shares = scores.shares(estimand.by)
        scores.enter(table, estimand, labels, scores.scale(shares))


@register
class Lean(Statistic):
    """Difference of the mean score from the middle of its scale."""

    kind = "lean"
    title = "Leans"
    lead = "How far the answers lean to either end of their scale, from its middle."
    definitions: ClassVar[Definitions] = {
        "lean": ("Lean of the answers: {}", "mean score over pictures and questions - middle of the scale")
    }
    facet_title = "Leans of {}"
    effect = "lean"
    reach = 0.5
    is_effect = True

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse a score without ends, and pairs, which have a preference."""
        if score.span is None:
            raise DataError("A lean is from the middle of a scale: it needs answers with a lowest and a highest value.")
        if sides:
            raise DataError("Pairs side by side have a preference, for the picture beside the base, and no lean.")

    def definition(self, breakdown: Breakdown, score: Score) -> tuple[str, str]:
        """Title and equation; of a score that leaves answers out the mean is a ratio of sums."""
        title, equation = super().definition(breakdown, score)
        return title, f"{SUM_OF_SCORES} - middle of the scale" if score.leaves_out else equation

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the leans of cells."""
        score = model.score
        cells, bounds = model.sum_scores(estimand)
        largest = None if score.span is None else score.span / 2
        means = unit_ratios if score.leaves_out else cluster_means
        leans = means(cells.sums - score.middle * cells.counts, cells.counts, SEED, largest=largest)
        bounds = None if bounds is None else bounds.subtract(score.middle)
        model.enter(table, estimand, cells.labels, replace(leans, bounds=bounds), cells.shown > 0)

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Each unit's mean less the middle of the scale."""
        means = answers_about(unit_means(answers, breakdown, score), estimand.factors, breakdown)
        return means.select(*estimand.by, UNIT, (pl.col(VALUE) - score.middle).alias(VALUE))

    def quantity_words(self, measure: str, score: Score) -> str:
        """Name of the quantity that leans: as the estimand calls it, or the score."""
        return measure.replace("_", " ") if measure else score.words

    def subject(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of whose answers lean."""
        return form_of(by) or "All answers"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of a lean to either end."""
        return f"{quantity} up by {{size}}", f"{quantity} down by {{size}}"
