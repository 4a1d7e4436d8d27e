"""Audits of planted answers: a study in some size, its estimates with verdicts, and what they should have been."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from facevalue.answers.sorting import stand_in
from facevalue.calibration import rivals
from facevalue.calibration.planted import PlantedCondition, replies
from facevalue.calibration.trials import AuditTrials
from facevalue.errors import DataError
from facevalue.measures.estimates import TYPED_LABELS
from facevalue.measures.judgment import judge
from facevalue.protocol.calibration import Calibration
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.types import OptionValue

MODEL = "planted"
_FEW = 0.25
"""Share of the people of the first group that is asked where groups are unlike."""
SCORE = "score: planted/score"
"""Column of what is said of texts, where scorers read them."""


def sized(protocol: Protocol, calibration: Calibration, size: int, *, others: bool = False) -> Study:
    """A study of so many times the pictures of the smallest audit; `others`: of other people.

    Raises
    ------
    DataError
        Other people are wanted where pictures follow from settings.
    """
    if others and not calibration.units:
        raise DataError(f"{protocol.name} has one set of pictures of each size.")
    scaled = {name: _times(calibration.settings[name], size) for name in calibration.scaled}
    study = protocol.study({**calibration.settings, **scaled})
    if not calibration.units or (size == 1 and not others):
        return study
    return protocol.study(
        {**calibration.settings, **scaled}, copied(study.manifest, calibration.units, size, "~" if others else "")
    )


def _times(value: OptionValue, size: int) -> OptionValue:
    return str(int(value) * size) if isinstance(value, str) else int(str(value)) * size


def copied(manifest: pl.DataFrame, units: tuple[str, ...], size: int, mark: str = "") -> pl.DataFrame:
    """Each picture several times, as that of other people; `mark` follows all their names."""
    columns = [name for name in units if name in manifest.columns]
    marks = [mark, *(f"{mark}#{copy}" for copy in range(1, size))]
    return pl.concat(manifest.with_columns(pl.col(name) + text for name in columns) for text in marks)


class Audits:
    """Audits of a study in one size."""

    def __init__(self, protocol: Protocol, calibration: Calibration, size: int, *, others: bool = False) -> None:
        self.calibration, self.size = calibration, size
        study = sized(protocol, calibration, size, others=others)
        judged = study.reading.judged if study.reading.sortings else None
        self.study = study if judged is None else judged(stand_in)
        self._trials = AuditTrials(self.study, calibration)

    @cached_property
    def units(self) -> int:
        """Number of units that were sampled."""
        sides = [people for side, (people, _) in self._trials.units.items() if side != "_2"]
        return max(np.unique(people[people >= 0]).size for people in sides)

    @property
    def levels(self) -> Mapping[str, Sequence[str]]:
        """Levels of the factors that effects may be planted on."""
        return self._trials.levels

    def answers(self, condition: PlantedCondition, table: int, seed: int, *, exact: bool = False) -> pl.DataFrame:
        """Answers to everything once; `table` is the seed of what is planted."""
        rng = np.random.default_rng([seed, self.size])
        written = replies(self._trials, condition, table, rng, exact)
        if condition.sample < 1:
            size, repeats = round(condition.sample * written.height), self.study.repeats
            trials = pl.Series(self.study.sample(size, seed, repeats)).cast(pl.UInt64)
            written = written.filter(pl.col("trial").is_in(trials.implode()))
        if condition.unlike != 1:
            written = written.filter(pl.Series(self._trials.uneven(_FEW)))
        answers = self.study.answer(written.drop("planted score"))
        if self.study.reading.scored is None:
            return answers
        score = pl.when(pl.col("text").is_not_null()).then(written["planted score"].fill_nan(None))
        fills = self.study.reading.scored.fills
        if fills:
            return answers.with_columns(**{name: low + (high - low) * score for name, (low, high) in fills.items()})
        refused = pl.lit(None, pl.Float64).alias(f"refused {SCORE}")  # this scorer reads no refusal
        return answers.with_columns(score.alias(SCORE), refused, pl.lit(value=True).alias(f"unread: {MODEL}"))

    def judged(self, answers: pl.DataFrame, margins: Mapping[str, float] | None = None) -> pl.DataFrame:
        """Estimates with verdicts, and q of the rivals."""
        study = self.study
        declared = None if study.estimates.declared is None else study.estimates.declared()
        estimates = study.analyse({MODEL: iter([answers])})
        judged = judge(estimates, study.estimates.measures, declared, margins, study.estimates.lead)
        return rivals.beside(judged, self.calibration.rivals, answers)

    def truth(self, condition: PlantedCondition, table: int) -> pl.DataFrame:
        """A noise-free audit of the same: measure, labels, `true` with its interval."""
        even = replace(condition, missing=0.0, drift=0.0, wave=0.0, unlike=1.0, sample=1.0)
        estimates = self.study.analyse({MODEL: iter([self.answers(even, table, 0, exact=True)])})
        return estimates.select("measure", *self.keys, true="value", true_low="low", true_high="high")

    @property
    def keys(self) -> list[str]:
        """Labels that tell estimates of a measure apart."""
        return [*TYPED_LABELS, *self.study.estimates.labels]
