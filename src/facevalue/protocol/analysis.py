"""Analysis of a declared study: all takes and checks of each model, and of several models together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable, with_adjusted
from facevalue.protocol.aggregate import Aggregate
from facevalue.protocol.estimation import Estimator
from facevalue.protocol.replies import Score
from facevalue.protocol.shifts import POOLED, Shifts
from facevalue.protocol.takes import Breakdown, Take

Statistic = Callable[[EstimateTable, Estimator], None]
"""A paper's own arithmetic: it adds estimates that are no take."""


@dataclass(frozen=True)
class Program:
    """What is estimated of the answers to a study, in the order of its estimates."""

    study: str
    labels: tuple[str, ...]
    breakdown: Breakdown
    scores: Sequence[Score]
    measures: Mapping[str, Measure]
    takes: Sequence[Take | Statistic]
    checks: Callable[[EstimateTable, Mapping[str, Aggregate]], None]  # of the instrument, with one model
    across: Callable[[EstimateTable, Mapping[str, Estimator]], None] | None = None  # models, by name

    def estimate(self, answers: Mapping[str, Mapping[str, Aggregate]]) -> pl.DataFrame:
        """Estimate everything, per model and, with several models, for their mean."""
        tables, answered = [], {}
        for model, by_score in answers.items():
            table = EstimateTable(self.study, model, self.labels)
            table.unit_names = self.breakdown.sets.identities
            estimators = [
                self.estimator(score, by_score[score.name].phi, by_score[score.name]) for score in self.scores
            ]
            self._take(table, estimators)
            self.checks(table, by_score)
            tables.append(table.frame())
            if any(estimator.values.known for estimator in estimators):
                answered[model] = estimators
        if len(answered) > 1:
            table = EstimateTable(self.study, POOLED, self.labels)
            together = zip(self.scores, *answered.values(), strict=True)
            self._take(table, [self.estimator(s, np.mean([e.values.phi for e in es], axis=0)) for s, *es in together])
            if self.across is not None:
                self.across(table, {model: first for model, (first, *_) in answered.items()})
            tables.append(table.frame())
        return with_adjusted(pl.concat(tables), "p_paper", "q_paper")

    def estimator(self, score: Score, means: Array, answers: Aggregate | None = None) -> Estimator:
        """Estimator of one score of a model, or of the mean over models."""
        values = Shifts(self.breakdown.sets, means, largest=score.span)
        return Estimator(self.breakdown, self.measures, score, values, answers)

    def _take(self, table: EstimateTable, estimators: Sequence[Estimator]) -> None:
        for estimator in estimators:
            for take in self.takes:
                if isinstance(take, Take):
                    estimator.add(table, take)
                else:
                    take(table, estimator)
