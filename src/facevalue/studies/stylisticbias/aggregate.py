"""Faces and answers as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.estimators import number_levels
from facevalue.prompts import ORDERINGS
from facevalue.statistics import answer_arrays
from facevalue.statistics.answer_arrays import AnswerArrays, Axes
from facevalue.statistics.sets import Sets
from facevalue.stimuli.drawn_portraits import CONTROL, FULL_BODY
from facevalue.studies.stylisticbias.folders import known_attribute
from facevalue.studies.stylisticbias.measures import UNIT

ORDERS = [ordering.name for ordering in ORDERINGS]
"""Levels of `ordering`."""


@dataclass(frozen=True)
class Faces(Sets):
    """The manifest as arrays: base faces, their variations, and controls."""

    unit: str = UNIT
    cue: tuple[str, ...] = ("attribute", "variation")
    control_cue: tuple[str, ...] | None = CONTROL

    def is_controlled(self, level: str) -> bool:
        """Return whether an attribute is shown full-body (`FULL_BODY`), however it is spelled."""
        return known_attribute(level) in FULL_BODY


def collect(chunks: Iterable[pl.DataFrame], faces: Faces, scenarios: list[str], repeats: int) -> AnswerArrays:
    """Scatter answers into arrays (`answer_arrays.collect`); scenarios in the order of the arrays."""

    def items(chunk: pl.DataFrame) -> npt.NDArray[np.int64]:
        return number_levels(chunk["scenario"], scenarios)

    axes = Axes(faces.manifest["image"].to_list(), items, ORDERS, repeats, len(scenarios))
    return answer_arrays.collect(chunks, axes)["weight"]
