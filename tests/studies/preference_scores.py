"""StylisticBias's estimands of models of which the preference scores are known."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.statistics import Estimand
from facevalue.statistics.answer_arrays import AnswerArrays, Axes, collect
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.scores import ModelScores, Program
from facevalue.statistics.sets import Sets
from facevalue.statistics.statistic import Statistic
from facevalue.studies.stylisticbias.measures import LABELS, MEASURES
from facevalue.studies.stylisticbias.pictures import FacePictures
from facevalue.studies.stylisticbias.study import DECLARATION, SCORE, estimands


def sets_of(manifest: pl.DataFrame) -> Sets:
    """Faces and their variations."""
    return FacePictures().sets(manifest)


def breakdown_of(faces: Sets, scenarios: Sequence[str]) -> Breakdown:
    """Faces by their cues and groups, questions by scenario and category."""
    return Breakdown(faces, DECLARATION["ask"].narrow({"scenario": scenarios}).question_factors, shared=True)


def estimator(faces: Sets, phi: npt.NDArray[np.float64], scenarios: Sequence[str]) -> ModelScores:
    """Of scores of shape (pictures, scenarios)."""
    measures = {measure.key: measure for measure in MEASURES}
    breakdown = breakdown_of(faces, scenarios)
    return Program("stylisticbias", LABELS, breakdown, (SCORE,), measures, tuple(estimands(faces))).model(SCORE, phi)


def answered(chunks: Iterable[pl.DataFrame], faces: Sets, scenarios: Sequence[str], repeats: int) -> AnswerArrays:
    """Answers as arrays of shape (pictures, scenarios, orderings x repeats)."""
    ask = DECLARATION["ask"].narrow({"scenario": scenarios})
    images = faces.manifest["image"].to_list()
    axes = Axes(images, ask.question_codes, list(ask.reply.orderings), repeats, len(scenarios))
    return collect(chunks, axes, [SCORE.name])[SCORE.name]


def estimands_with(faces: Sets, statistic: type[Statistic]) -> list[Estimand]:
    """Estimands of a kind of statistic."""
    return [estimand for estimand in estimands(faces) if isinstance(estimand.statistic, statistic)]


def estimates_of(model: ModelScores, *statistics: type[Statistic]) -> pl.DataFrame:
    """Estimates of one model."""
    table = EstimateTable("stylisticbias", "m", LABELS)
    for statistic in statistics:
        for estimand in estimands_with(model.breakdown.sets, statistic):
            model.estimate(table, estimand)
    return table.frame()


def compared(models: Mapping[str, ModelScores], *statistics: type[Statistic]) -> pl.DataFrame:
    """Estimates of several models beside each other."""
    table = EstimateTable("stylisticbias", "(all models)", LABELS)
    for statistic in statistics:
        for estimand in estimands_with(next(iter(models.values())).breakdown.sets, statistic):
            estimand.statistic.compare_models(table, estimand, models)
    return table.frame()
