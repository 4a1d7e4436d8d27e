"""Course of a run: drift, missing answers and signs of sight, seen while answers pass by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.design import units
from facevalue.hashing import question_hash
from facevalue.protocol.conditions import FACTOR
from facevalue.runs.requests import stimulus_columns
from facevalue.runs.stored_run import SAID, ReplyTally, StoredRun, answers
from facevalue.stimuli.pair_source import TEXT
from facevalue.store.sight import Sight

if TYPE_CHECKING:
    from facevalue.measures.instrument import Course, PictureDependence
    from facevalue.measures.missing_answers import MissingAnswers


@dataclass(frozen=True)
class Followed:
    """Course, missing answers and signs of sight of the runs of a model."""

    course: "Course"
    missing: "MissingAnswers"
    pictures: "PictureDependence | None"
    """Answers to the same texts beside different pictures; None where it is no question if the model sees."""
    sight: Sight
    """What was known of that before the runs."""

    @classmethod
    def of(cls, runs: Sequence[StoredRun]) -> "Followed":
        """Return both for runs of which no answer has been seen yet."""
        from facevalue.measures.instrument import Course, PictureDependence  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.measures.missing_answers import MissingAnswers  # noqa: PLC0415 - scipy.stats takes a second to import

        study = runs[0].study
        prompts = [axis for run in runs for block in run.study.design.blocks for axis in block.prompt]
        questions = dict.fromkeys(axis.columns()[0].name for axis in prompts)
        sights = [run.facts.sight for run in runs if run.facts.sight is not None]
        sight = max(sights, key=lambda of_run: (of_run.right, of_run.tokens or 0.0), default=None)
        return cls(
            Course(study.watched.followed, list(questions)),
            MissingAnswers(study.watched.missing_by),
            None if sight is None else PictureDependence(study.watched.followed),
            sight or Sight(),
        )

    def passing(self, run: StoredRun, tally: ReplyTally, run_number: int = 0) -> Iterator[pl.DataFrame]:
        """A run's answers, looked at as they pass."""
        design, together = run.study.design, run.study.asked_together
        more = () if self.pictures is None else ("prompt_tokens", SAID)
        for chunk in answers(run, tally, ("at", *more)):
            unit = units(design, together, chunk["trial"].to_numpy().astype(np.int64))
            self.course.take(chunk, unit, run_number)
            self.missing.take(chunk, unit)
            if self.pictures is not None:
                self._look(self.pictures, run, chunk.with_columns(unit.hash(2 * run_number).alias("(unit)")))
            yield chunk.drop("at", *more)

    def _look(self, pictures: "PictureDependence", run: StoredRun, chunk: pl.DataFrame) -> None:
        """Look at some of the answers of a chunk, with what the model was told and whether it was shown anything."""
        study = run.study
        numbers = study.design.stimulus_numbers(chunk["trial"].to_numpy().astype(np.int64))
        rows = pictures.thinned(chunk.with_columns(pl.Series("(stimulus)", numbers.astype(np.int64))))
        frame = study.design.trials(rows["trial"].to_numpy().astype(np.int64))
        questions = study.ask(frame)
        distinct = {id(question): question for question in questions}  # equal ones are mostly one object
        codes = {identity: question_hash(question) for identity, question in distinct.items()}
        bare = pl.lit(value=False)
        if "shown" in frame.columns:
            bare |= pl.col("shown").cast(pl.String).eq_missing(TEXT)
        if FACTOR in frame.columns:
            taken = [variant.name for variant in study.changes.variants if variant.picture == "none"]
            bare |= pl.col(FACTOR).cast(pl.String).is_in(taken).fill_null(value=False)
        texts = pl.Series("(text)", [codes[id(question)] for question in questions], pl.UInt64)
        rows = rows.with_columns(texts, frame.select("trial", bare.alias("(bare)"))["(bare)"])
        pictures.take(rows, [name for name in stimulus_columns(study) if name in rows.columns])

    def unseen(self, study: str) -> bool:
        """Return whether nothing shows that the model sees the pictures."""
        from facevalue.measures.instrument import sightless  # noqa: PLC0415 - scipy.stats takes a second to import

        if self.pictures is None:
            return False
        counts = self.sight.asked, self.sight.right
        return bool(sightless(self.pictures.estimates(study, "", counts, self.sight.tokens)))

    def estimates(self, study: str, model: str) -> list[pl.DataFrame]:
        """Drift, missing answers by group and prompt, signs of sight."""
        out = [self.course.estimates(study, model), self.missing.estimates(study, model)]
        if self.pictures is not None:
            counts = self.sight.asked, self.sight.right
            out.append(self.pictures.estimates(study, model, counts, self.sight.tokens))
        return out
