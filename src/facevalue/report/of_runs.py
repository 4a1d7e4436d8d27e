"""Reports of stored runs, for commands and notebooks alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from facevalue.report.blocks.as_json import page_json
from facevalue.report.built import built
from facevalue.report.collect import gather
from facevalue.report.data import ReportData
from facevalue.report.html import write, write_json
from facevalue.runs.kept_estimates import taken
from facevalue.runs.model_differences import answer, model_differences
from facevalue.runs.rated_estimates import with_ratings
from facevalue.runs.stored import ReplyTally, StoredRun


class WrittenReport(NamedTuple):
    """A report that was written: tallies of its runs, and lines to print."""

    tallies: Mapping[str, ReplyTally]
    """Tally of the replies of each run, by its folder."""
    lines: Sequence[str]
    """Lines to print for people."""
    data: ReportData
    """Everything that it shows."""

    def page(self) -> dict[str, Any]:
        """Everything that it shows of estimates, as JSON has it; see docs/reference/report.md."""
        return page_json(built(self.data))


def gathered(runs: Sequence[StoredRun], margins: Mapping[str, float] | None = None) -> WrittenReport:
    """Take the estimates, or read those that the folder of a single run keeps, and gather what a report shows."""
    return collected(runs, *taken(runs, margins))


def collected(
    runs: Sequence[StoredRun],
    estimates: pl.DataFrame,
    tallies: Mapping[str, ReplyTally],
    *,
    with_answers: bool = True,
) -> WrittenReport:
    """Gather what a report shows of estimates that were taken.

    `with_answers`: whether stored answers are shown, which takes reading some.
    """
    rated, notes = with_ratings(estimates, runs)
    between = model_differences(runs, estimates, tallies)
    answers = [answer(agreement, (between.first, model)) for model, agreement in (between.others or {}).items()]
    data = gather(runs, rated, tallies, between, with_answers=with_answers)
    return WrittenReport(tallies, [*notes, *answers], data)


def report(
    runs: Sequence[StoredRun],
    out: Path,
    margins: Mapping[str, float] | None = None,
    data: Path | None = None,
) -> WrittenReport:
    """Gather what a report shows, and write it."""
    gathered_report = gathered(runs, margins)
    write(out, gathered_report.data)
    if data is not None:
        write_json(data, gathered_report.data)
    return gathered_report
