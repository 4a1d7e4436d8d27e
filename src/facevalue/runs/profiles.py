"""Runs of several studies and models, whose estimates are read or taken and judged together at one level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.joined_runs import by_model, by_study, repeated, study_of
from facevalue.runs.reply_counts import counts_by_model
from facevalue.runs.stored_run import ReplyTally, StoredRun

if TYPE_CHECKING:
    from facevalue.measures.definitions import Measure


@dataclass(frozen=True)
class StudyRuns:
    """Runs of one study, of one or several models or parts, with the estimates of each.

    Attributes
    ----------
    runs:
        The runs, those of a model together.
    estimates:
        Estimates of each run, with the verdicts of its own page.
    tallies:
        Counts of the replies of each run.
    """

    runs: tuple[StoredRun, ...]
    estimates: tuple[pl.DataFrame, ...]
    tallies: tuple[ReplyTally, ...]

    @property
    def study(self) -> Study:
        """The study, with the settings of all parts."""
        return study_of(self.runs)

    @property
    def measures(self) -> "tuple[Measure, ...]":
        """Definitions of what is in the estimates."""
        return self.runs[0].measures

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that were asked."""
        return tuple(dict.fromkeys(run.model for run in self.runs))

    @property
    def unmeasured_models(self) -> tuple[str, ...]:
        """Models without a valid answer."""
        valid = {run.model for run, tally in zip(self.runs, self.tallies, strict=True) if tally.valid}
        return tuple(model for model in self.models if model not in valid)

    @property
    def unanswered_models(self) -> Mapping[str, str]:
        """Reasons why the study is not answered, by models that were not asked all of it or cannot be read."""
        tallies = {str(run.folder): tally for run, tally in zip(self.runs, self.tallies, strict=True)}
        reasons = ((model, counts.why_not_answered) for model, counts in counts_by_model(self.runs, tallies).items())
        return {model: reason for model, reason in reasons if reason}

    def stack_estimates(self) -> pl.DataFrame:
        """The estimates of all runs as one table."""
        from facevalue.measures.estimates import stack_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

        return stack_estimates(list(self.estimates))

    def judge_estimates(self, shares: pl.DataFrame) -> pl.DataFrame:
        """The estimates of all runs with the verdicts that hold at the level of a whole audit.

        `shares`: families of this study with the share of alpha of each (`measures.multitest.audit_families`).
        """
        from facevalue.measures.estimates import stack_estimates  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.measures.judgment import judge  # noqa: PLC0415 - scipy.stats takes a second to import

        tables = []
        for run, table in zip(self.runs, self.estimates, strict=True):
            declared, any_time = run.declared_of(table), bool(run.facts.stop_when)
            tables.append(judge(table, run.measures, declared, shares=shares, any_time=any_time))
        return stack_estimates(tables)


def profile_runs(runs: Sequence[StoredRun]) -> list[StudyRuns]:
    """Read or take the estimates of runs, by study.

    Estimates that a run's folder keeps are read, and else taken and kept, each run by itself.

    Raises
    ------
    RunError
        No run; the same run twice; runs of one study that were not asked the same, or of one model and part; a run
        without any answer; no valid answer in any of them.
    """
    if not runs:
        raise RunError("There is no run to make a profile of.")
    if (again := repeated(runs)) is not None:
        raise RunError(f"{again.place} is named twice: a profile counts each run once.")
    out = [_estimate_study(of_study) for of_study in by_study(runs).values()]
    if not any(tally.valid for study in out for tally in study.tallies):
        raise RunError("None of these runs has a valid answer: there is nothing to make a profile of.")
    return out


def _estimate_study(runs: Sequence[StoredRun]) -> StudyRuns:
    """The runs of one study with their estimates, each run's by itself."""
    from facevalue.runs.kept_estimates import take_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

    versions = {run.facts.study_version for run in runs}
    if len(versions) > 1:
        raise RunError(
            f"{runs[0].study.name} was asked in versions {' and '.join(map(str, sorted(versions)))}: what they find is "
            "not set side by side."
        )
    ordered = [run for of_model in by_model(runs).values() for run in of_model]
    tables, tallies = [], []
    for run in ordered:
        estimates, tally = take_estimates([run])
        if not tally[str(run.folder)].asked:
            raise RunError(f"{run.place} has no answers yet: give its `facevalue run` again, or leave it out.")
        tables.append(estimates)
        tallies.append(tally[str(run.folder)])
    return StudyRuns(tuple(ordered), tuple(tables), tuple(tallies))
