"""Comparisons of two models whose bias is the same: whatever is found between them is false."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from facevalue.calibration.audits import Audits
from facevalue.calibration.planted import PlantedCondition
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.kept_answers import KeptAnswers
from facevalue.protocol.sampled_units import UnitNames
from facevalue.runs.compare import compare_answers
from facevalue.runs.compared_cells import RunAgreement


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models that are compared."""

    name: str
    first: PlantedCondition
    second: PlantedCondition
    others: bool = False
    """Whether the second is asked about other people, in a study of the same design."""
    places: bool = False
    """Whether they like other places among options, which cancels only where all orders are asked."""


_SAME = PlantedCondition("same", effect=0.5)
PAIRS = (
    Pair("two models without any difference", _SAME, _SAME),
    Pair("one likes the first, one the last", replace(_SAME, position=1.5), replace(_SAME, position=-1.5), places=True),
    Pair("one drifts", _SAME, replace(_SAME, drift=0.5)),
    Pair("other pictures of the same design", _SAME, _SAME, others=True),
)
"""Both have the same effects, and each likes people and pictures of its own."""


def compared(models_audits: tuple[Audits, Audits], pair: Pair, table: int, seed: int) -> RunAgreement:
    """Compare one audit of each of two models."""
    names = UnitNames()
    models = []
    for number, (audits, condition) in enumerate(zip(models_audits, (pair.first, pair.second), strict=True)):
        answers = KeptAnswers(audits.study, f"planted {number}", names.of(audits.study), Path())
        answers.add(audits.answers(condition, table, 2 * seed + number))
        models.append(answers)
    return compare_answers((models[0], models[1]))


def cells(agreement: RunAgreement) -> pl.DataFrame:
    """Make a row per cell: whether its interval holds zero, and its p; and whether the comparison finds anything.

    `mean`: whether a mean over the cells of a score is beyond zero, each at its part of .05.
    """
    means = agreement.overall.filter(statistic="mean_signed_delta")
    holds = (pl.col("low") <= 0) & (pl.col("high") >= 0)
    return agreement.cells.select(
        "p", holds=pl.when(pl.col("low").is_not_null()).then(holds),
        any=(pl.col("verdict") == Verdict.DIFFERENCE.value).fill_null(value=False).any(),
        mean=pl.lit((means["p"] < 0.05 / len(agreement.measures)).any()),
    )  # fmt: skip
