"""Course of a run: whether the model drifted, and whom it left without an answer, seen while answers pass by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.design import units
from facevalue.runs.stored import ReplyTally, StoredRun, answers

if TYPE_CHECKING:
    from facevalue.measures.drift import Course
    from facevalue.measures.missing_answers import MissingAnswers


@dataclass(frozen=True)
class Followed:
    """Course and missing answers of the runs of a model."""

    course: "Course"
    missing: "MissingAnswers"

    @classmethod
    def of(cls, runs: Sequence[StoredRun]) -> "Followed":
        """Return both for runs of which no answer has been seen yet."""
        from facevalue.measures.drift import Course  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.measures.missing_answers import MissingAnswers  # noqa: PLC0415

        study = runs[0].study
        prompts = [axis for run in runs for block in run.study.design.blocks for axis in block.prompt]
        questions = dict.fromkeys(axis.columns()[0].name for axis in prompts)
        return cls(Course(study.watched.followed, list(questions)), MissingAnswers(study.watched.missing_by))

    def passing(self, run: StoredRun, tally: ReplyTally, run_number: int = 0) -> Iterator[pl.DataFrame]:
        """A run's answers, looked at as they pass."""
        design, together = run.study.design, run.study.asked_together
        for chunk in answers(run, tally, ("at",)):
            unit = units(design, together, chunk["trial"].to_numpy().astype(np.int64))
            self.course.take(chunk, unit, run_number)
            self.missing.take(chunk, unit)
            yield chunk.drop("at")

    def estimates(self, study: str, model: str, untimed: str) -> list[pl.DataFrame]:
        """Drift, and missing answers by group and prompt; `untimed` as in `Course.estimates`."""
        return [self.course.estimates(study, model, untimed), self.missing.estimates(study, model)]


def untimed(runs: Sequence[StoredRun]) -> str:
    """The reason that answers have no times, where they have none."""
    if all(run.replayed for run in runs):
        return "these answers had been recorded before, and when each was given is not known"
    return "the run kept no times, as it is of an earlier version; base and variations were asked at different times"
