"""Analysis of a declared study: all takes and checks of each model, and of several models together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.protocol.aggregate import Aggregate
from facevalue.protocol.estimation import Estimator
from facevalue.protocol.instrument import judge_instrument
from facevalue.protocol.shifts import POOLED, Shifts

if TYPE_CHECKING:
    from facevalue.protocol.compiled import Analysis


def analyse(what: "Analysis", answers: Mapping[str, Mapping[str, Aggregate]]) -> pl.DataFrame:
    """Estimate everything, per model and, with several models, for their mean."""
    parts, reply = what.parts, what.ask.reply
    measures = what.measures
    out, answered = [], {}
    for model, own in answers.items():
        table = EstimateTable(what.protocol.name, model, what.labels)
        _takes(table, what, {name: one.phi for name, one in own.items()}, own)
        judge_instrument(table, parts, reply, own, measures, what.axes.repeats)
        out.append(table.frame())
        if any(np.isfinite(own[score.name].phi).any() for score in reply.scores):
            answered[model] = own
    if len(answered) > 1:
        table = EstimateTable(what.protocol.name, POOLED, what.labels)
        means = {s.name: np.mean([own[s.name].phi for own in answered.values()], axis=0) for s in reply.scores}
        _takes(table, what, means, None)
        out.append(table.frame())
    return pl.concat(out)


def _takes(
    table: EstimateTable,
    what: "Analysis",
    means: Mapping[str, np.ndarray],
    answers: Mapping[str, Aggregate] | None,
) -> None:
    scores = what.ask.reply.scores
    for score in scores:
        values = Shifts(what.parts.sets, means[score.name], largest=score.span)
        own = None if answers is None else answers[score.name]
        estimator = Estimator(what.parts, what.measures, scores, score, values, own)
        for take in what.protocol.takes:
            estimator.add(table, take)
