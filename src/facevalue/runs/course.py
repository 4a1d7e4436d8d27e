"""Course of a run: whether the model drifted, seen while answers pass by."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.design import units
from facevalue.runs.stored import StoredRun, Tally, answers

if TYPE_CHECKING:
    from facevalue.measures.drift import Course


def course_of(runs: Sequence[StoredRun]) -> "Course":
    """What the runs of one model are followed by."""
    from facevalue.measures.drift import Course  # noqa: PLC0415 - scipy.stats takes a second to import

    prompts = [axis for run in runs for block in run.study.design.blocks for axis in block.prompt]
    return Course(runs[0].study.followed, list(dict.fromkeys(axis.columns()[0].name for axis in prompts)))


def followed(run: StoredRun, tally: Tally, course: "Course", part: int = 0) -> Iterator[pl.DataFrame]:
    """A run's answers, looked at as they pass."""
    design, together = run.study.design, run.study.asked_together
    for chunk in answers(run, tally, ("at",)):
        course.take(chunk, units(design, together, chunk["trial"].to_numpy().astype(np.int64)), part)
        yield chunk.drop("at")


def untimed(runs: Sequence[StoredRun]) -> str:
    """Why there are no times, where there are none."""
    if all(run.replayed for run in runs):
        return "these answers had been recorded before, and when each was given is not known"
    return "the run kept no times, as it is of an earlier version; base and variations were asked at different times"
