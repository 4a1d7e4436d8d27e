"""Estimands in the order of the paper: every table and figure that is about answers."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from facevalue.design import Factor
from facevalue.measures.estimates import EstimateTable
from facevalue.prompts import ORDERINGS
from facevalue.protocol.instrument import add_missing, add_overall, add_rates
from facevalue.statistics.answer_arrays import AnswerArrays, balanced_means
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.contrasts import Gap, Shift
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.model_scores import PaperStatistic, Program
from facevalue.statistics.spreads import Spread
from facevalue.statistics.statistic import Score
from facevalue.stimuli.portraits import SKIN_TONES
from facevalue.studies.stylisticbias import across_models
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias import paper_statistics as paper
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.paper_statistics import CUE
from facevalue.studies.stylisticbias.settings import NAME
from facevalue.studies.stylisticbias.tables import scenarios as table_1

GAPS = "gaps between groups (Tables 4 to 6)"
ORDERS: Mapping[str, tuple[str, ...]] = {
    "age": ("young", "middle-aged", "elderly"),
    "build": ("thin", "normal", "obese"),
    "gender": ("male", "female"),
    "skin_tone": SKIN_TONES,
}
"""Dimensions of which the paper compares the ends: elderly with young, obese with thin, female with male."""
SCORE = Score("weight", "Preference score", "probability", 0.0, 1.0)

_phi = partial(Estimand, Mean(), measure=m.PHI.name)


def _sbs(by: tuple[str, ...], *, size: bool = False, rank_test: bool = False, **facts: Any) -> Estimand:
    return Estimand(Shift(size=size, rank_test=rank_test), by, measure=m.SBS.name, **facts)


def estimands(faces: Faces) -> Iterator[Estimand | PaperStatistic]:
    """Measures in the order of their estimates."""
    for by, family in (
        ((), "overall"),
        (CUE, "variations"),
        (("attribute",), "attributes"),
        (("scenario",), "scenarios"),
        (("category",), "scenario categories"),
        (("attribute", "category"), "attributes x scenario categories"),
        ((*CUE, "scenario"), "variations x scenarios"),
    ):
        yield _sbs(by, family=family, size=True, rank_test=by == CUE)
        if family in ("overall", "variations", "attributes"):
            yield partial(paper.cohens_d, by=by)  # Table 7
    for dimension in faces.dimensions:
        yield _sbs((*CUE, dimension), family="variations x groups (Table 12)", rank_test=True)
    for dimension in faces.dimensions:
        for by in ((dimension,), (dimension, "scenario"), ("attribute", dimension)):
            yield _sbs(by, tested=False)
        yield partial(paper.over_groups, dimension=dimension)  # Table 3
        yield partial(paper.reversal, dimension=dimension)  # Table 5
    yield paper.concentration  # Figure 2
    yield paper.shares  # Table 7
    for by in ((), ("category",), ("scenario",)):
        yield _phi(by)
    for dimension in faces.dimensions:
        yield _phi((dimension, "scenario"))
        yield Estimand(
            Spread(factor=dimension, rank_test=True), ("scenario",), measure=m.VS.name,
            family=f"scenarios, {dimension} (Table 11)",
        )  # fmt: skip
        yield Estimand(Spread(factor=dimension), measure=m.VS.name, family="dimensions (Table 2)")
        yield partial(paper.corrected_strength, dimension=dimension)
        yield partial(paper.significant_share, dimension=dimension)  # Table 11
    yield paper.framing
    for dimension in faces.dimensions:
        gap = Gap(factor=dimension, of_shifts=True, ends=_ends(dimension, faces), welch=True)
        yield Estimand(gap, CUE, measure=m.GAP.name, family=GAPS)
    yield paper.sizes  # Figures 4 and 5


def _ends(dimension: str, faces: Faces) -> tuple[str, ...]:
    """Levels of a dimension whose order is known; else none, and each level is compared with others."""
    order = ORDERS.get(dimension, ())
    return order if set(faces.manifest[dimension].drop_nulls()) <= set(order) else ()


def broken_down(faces: Faces, scenarios: Sequence[str]) -> Breakdown:
    """Faces by their cues and groups, questions by scenario and category."""
    category = {scenario.name: scenario.category for scenario in table_1()}
    prompts = Factor("scenario", tuple(scenarios), {"category": tuple(category[name] for name in scenarios)})
    return Breakdown(faces, (prompts,), shared=True)


def program(faces: Faces, scenarios: Sequence[str]) -> Program:
    """Estimates of each model, of several together, and between them (Figures 7 and 8)."""
    breakdown = broken_down(faces, scenarios)
    return Program(
        NAME, m.LABELS, breakdown, (SCORE,), {measure.key: measure for measure in m.MEASURES}, tuple(estimands(faces)),
        partial(judge_instrument, breakdown=breakdown), across_models.compare,
    )  # fmt: skip


def analyse(answers: Mapping[str, AnswerArrays], faces: Faces, scenarios: Sequence[str]) -> pl.DataFrame:
    """Estimate everything."""
    return program(faces, scenarios).estimate({name: {SCORE.name: a} for name, a in answers.items()})


def judge_instrument(table: EstimateTable, answers: Mapping[str, AnswerArrays], breakdown: Breakdown) -> None:
    """Estimate the biases of the instrument itself: position and letter bias, replies without an answer."""
    scores, faces = answers[SCORE.name], breakdown.sets
    per = scores.weights.shape[2] // len(ORDERINGS)
    first = np.array([ordering.first == 0 for ordering in ORDERINGS]).repeat(per)
    letter = np.array([ordering.labels[ordering.first] == "(a)" for ordering in ORDERINGS]).repeat(per)
    for measure, favourable in ((m.POSITION, first), (m.LETTER, letter)):
        place = np.where(favourable, scores.weights, 1 - scores.weights)
        add_overall(table, faces, measure, balanced_means(place, np.where(favourable, 0, 1)) - 0.5)
    groups = {dimension: breakdown.groups(dimension) for dimension in faces.dimensions}
    add_missing(table, faces, m.NA_SPREAD, scores.na_rate, groups, family="dimensions, missing answers")
    cuts = ((), ("attribute",), *((dimension,) for dimension in faces.dimensions))
    add_rates(table, breakdown, m.NA_RATE, scores.na_rate, cuts)
    add_rates(table, breakdown, m.REFUSAL_RATE, scores.refusal_rate, cuts)
