"""Answers about pictures that pass their checks, beside all answers: what a study finds with and without the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.protocol.checked_pictures import ACCEPTED, read_verdicts
from facevalue.protocol.making import IMAGE
from facevalue.runs.stored import StoredRun

if TYPE_CHECKING:  # scipy.stats takes a second to import
    from facevalue.protocol.kept_answers import KeptAnswers
    from facevalue.runs.compared_cells import Differences, RunAgreement

PICTURES = (IMAGE, "image_1", "image_2")
"""Columns of answers that say which pictures were shown."""


@dataclass(frozen=True)
class PassingAnswers:
    """Results of models on the pictures that pass, less those on all pictures.

    Attributes
    ----------
    pictures, failing:
        Pictures that were asked about, and those of them that fail.
    answers, about_failing:
        Answers of all models, and those of them that are about a picture that fails.
    by_model:
        Differences by model; none where nothing fails, or nothing can be compared.
    why_none:
        Why there are none, as a sentence; empty if there are.
    by:
        What pictures fail.
    """

    pictures: int = 0
    failing: int = 0
    answers: int = 0
    about_failing: int = 0
    by_model: "Mapping[str, RunAgreement]" = field(default_factory=dict)
    why_none: str = ""
    by: str = "their checks"

    @property
    def sentence(self) -> str:
        """How many pictures and answers fall away.

        Examples
        --------
        >>> PassingAnswers(40, 4, 800, 80).sentence
        '4 of 40 pictures fail their checks; 80 of 800 answers are about them.'
        """
        return (
            f"{self.failing:,} of {self.pictures:,} pictures fail {self.by}; {self.about_failing:,} of "
            f"{self.answers:,} answers are about them."
        )


def passing_answers(runs: Sequence[StoredRun], checks: Path | str) -> PassingAnswers:
    """Take the results of each run again without answers about pictures that fail, and the paired differences.

    Both are taken on the same sampled units, and again without groups of these, so that whatever a unit brings to both
    cancels (`measures.paired_changes`); all models and cells are judged together. A trial counts if all the pictures
    that it shows pass.

    Raises
    ------
    DataError
        The checks cannot be read, or are not of all these pictures.
    """
    verdicts = read_verdicts(checks)
    checked = set(verdicts[IMAGE])
    return answers_without(
        runs,
        set(verdicts.filter(~pl.col(ACCEPTED))[IMAGE]),
        check=lambda images: _check_covered(images, checked, checks),
    )


def answers_without(
    runs: Sequence[StoredRun],
    failing: set[str],
    by: str = "their checks",
    check: Callable[[set[str]], None] | None = None,
) -> PassingAnswers:
    """Take the results of each run again without answers about these pictures, as `passing_answers` does.

    `by`: what they fail. `check`: raises where the pictures of a run, by name, won't do, before anything is taken.
    """
    pictures: set[str] = set()
    counts = np.zeros(2, dtype=np.int64)
    differences: dict[str, Differences] = {}
    from facevalue.runs.compare import differences_of, kept_answers, with_first  # noqa: PLC0415
    from facevalue.runs.judged_differences import judged_together  # noqa: PLC0415

    failures: list[str] = []
    for run in runs:
        with kept_answers([run.plain()]) as (everything,):
            images, trials, of_run = _passing_trials(everything, failing)
            if check is not None:
                check(images)
            pictures |= images
            counts += of_run
            if not of_run[1] or of_run[0] == of_run[1]:
                continue
            try:
                pair = everything, everything.of_trials(trials)
                differences[run.model] = differences_of(pair, with_first(2))[0]
            except (DataError, RunError) as error:
                failures.append(str(error))
    agreements = judged_together(list(differences.values())) if differences else []
    return PassingAnswers(
        len(pictures), len(pictures & failing), int(counts[0]), int(counts[1]),
        dict(zip(differences, agreements, strict=True)), _why_none(counts, failures) if not differences else "", by,
    )  # fmt: skip


def _passing_trials(
    answers: "KeptAnswers", failing: set[str]
) -> tuple[set[str], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Pictures that were shown, trials all of whose pictures pass, and counts of answers and of those left out."""
    images: set[str] = set()
    trials, counts = [np.zeros(0, dtype=np.uint64)], np.zeros(2, dtype=np.int64)
    for chunk in answers.raw():
        columns = [name for name in PICTURES if name in chunk.columns]
        texts = chunk.select(pl.col(name).cast(pl.String) for name in columns)
        for name in columns:
            images |= set(texts[name].drop_nulls().unique())
        passes = pl.all_horizontal(~pl.col(name).is_in(list(failing)).fill_null(value=False) for name in columns)
        rows = texts.select(passes.alias("passes"))["passes"] if columns else pl.Series([True] * chunk.height)
        trials.append(chunk.filter(rows)["trial"].unique().to_numpy())
        counts += (chunk.height, int((~rows).sum()))
    return images, np.unique(np.concatenate(trials)), counts


def _check_covered(images: set[str], checked: set[str], checks: Path | str) -> None:
    if missing := sorted(images - checked):
        raise DataError(
            f"{checks}: {len(missing):,} of {len(images):,} pictures of the run were not checked, such as "
            f"{missing[0]!r}. Check its list: facevalue inspect-pictures."
        )


def _why_none(counts: npt.NDArray[np.int64], failures: Sequence[str]) -> str:
    if failures:
        return failures[0]
    return (
        "No answer is about a picture that passes: there is nothing left to compare."
        if counts[1]
        else "Every picture passes: there is nothing to leave out."
    )
