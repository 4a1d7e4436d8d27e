"""Comparison of models' answers to one study on what they all were asked about."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue.errors import FaceValueError, RunError
from facevalue.measures.cells import unit_of
from facevalue.measures.definitions import FIRST_RUN, Measure, rows_of_any
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import describe_method, split_method
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.measures.multitest import leading_families
from facevalue.measures.run_comparison import source_correlation
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.kept_answers import MOST_ROWS, Codes, Groups, KeptAnswers, UnitNames, grouped, left_out
from facevalue.protocol.offers import Correlated, OfferedTable
from facevalue.protocol.study import Study
from facevalue.protocol.variants import add_missing_change
from facevalue.runs.compared_cells import (
    Differences,
    RunAgreement,
    SharedUnits,
    cell_differences,
    check_margin,
    compared_measures,
)
from facevalue.runs.course import Followed
from facevalue.runs.joined_runs import repeated
from facevalue.runs.judged_differences import judged_together
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers

# Two runs beside each other, cell by cell, such as a model that sees and a language model that is told.


def correlations(first: pl.DataFrame, second: pl.DataFrame, offered: Correlated | None) -> Sequence[OfferedTable]:
    """Correlations of two runs' estimates, a table for people; none where they have nothing of it in common."""
    if offered is None:
        return ()
    rows: list[tuple[str, ...]] = []
    plain = [table.filter(pl.col("intervention").is_null()) for table in (first, second)]
    for measure, of in offered.measures.items():
        named = [pl.col(name).is_not_null() for name in (*offered.about, offered.over[-1])]
        tables = [table.filter(pl.col("measure") == measure, *named) for table in plain]
        for about in tables[0].select(offered.about).unique(maintain_order=True).iter_rows():
            same_cell = [pl.col(name) == level for name, level in zip(offered.about, about, strict=True)]
            x, y = (table.filter(same_cell) for table in tables)
            try:
                estimate, p = source_correlation(x, y, measure, offered.over)
            except FaceValueError:  # no cell in both
                continue
            rows.append((*about, of, *_in_words(estimate), "–" if math.isnan(p) else f"{p:.0e}"))
    heads = (*offered.about, f"of {offered.over[-1]}s'", f"{offered.over[-1]}s", "r", "95% interval", "p")
    return (OfferedTable(offered.title, heads, rows, boxed=False),) if rows else ()


def _in_words(estimates: Estimates) -> tuple[str, str, str]:
    if math.isnan(estimates.value[0]):
        return str(int(estimates.n[0])), "–", describe_method(*split_method(str(estimates.method[0])))
    return str(int(estimates.n[0])), f"{estimates.value[0]:.2f}", f"{estimates.low[0]:.2f} to {estimates.high[0]:.2f}"


_FEWEST_SHARED = 0.5
"""Share of a block's units, of the run with fewer, that must be in both, for the comparison to be on these alone."""


def check_comparable(runs: Sequence[StoredRun]) -> None:
    """Refuse a run that is named twice, one run alone, and runs of which no two are of one study."""
    if (again := repeated(runs)) is not None:
        raise RunError(f"{again.place} would be compared with itself: name two runs.")
    studies = [run.study.name for run in runs]
    if len(set(studies)) < len(runs):
        return
    if len(runs) == 1:
        raise RunError(f"{runs[0].place} is one run: name another one of {studies[0]} to compare it with.")
    names = ", ".join(f"one of {study}" for study in studies)
    raise RunError(f"A comparison takes two runs or more of one study; there is {names}.")


def compare_answers(models: tuple[KeptAnswers, KeptAnswers]) -> RunAgreement:
    """Compare two models' answers to a study, on the units that they share if most are shared."""
    return compare_with_first(models)[0]


def compare_with_first(
    models: Sequence[KeptAnswers],
    margin: float | None = None,
    estimates: Sequence[pl.DataFrame] = (),
    *,
    any_time: bool = False,
) -> list[RunAgreement]:
    """Compare each model's answers with those of the first one, all at the level of one page; see `differences_of`.

    `any_time`: whether any of them stopped by its own rule (`judgment.judge`).
    """
    return judged_together(
        differences_of(models, with_first(len(models)), margin, estimates), margin, any_time=any_time
    )


Pairs = Sequence[tuple[int, int]]
"""Places of what is compared: the first of a pair, and what it is taken from."""


def with_first(count: int) -> Pairs:
    """Pairs of the first and each of the others.

    Examples
    --------
    >>> with_first(3)
    [(0, 1), (0, 2)]
    """
    return [(0, at) for at in range(1, count)]


def differences_of(
    models: Sequence[KeptAnswers], pairs: Pairs, margin: float | None = None, estimates: Sequence[pl.DataFrame] = ()
) -> list[Differences]:
    """Take the differences of pairs of models' answers to one study, not judged yet.

    Both are taken again without groups of what was sampled, the same from both (`measures.paired_changes`). Units are
    known by name (`protocol.kept_answers`).

    Parameters
    ----------
    models:
        Two or more. They are compared on the units that all of them share, if the first shares most with each.
    margin:
        As for `comparison.compare_all`.
    estimates:
        Of all answers of each model, if they have been taken already.
    """
    together = model_estimates(models, pairs, margin, estimates)
    study, out = models[0].study, []
    for first, second in pairs:
        pair = together.models[first], together.models[second]
        units = together.units(first, second)
        deletions = list(left_out(together.without[first], together.without[second], together.groups))
        tables = together.tables[first], together.tables[second]
        difference = cell_differences(study, tables, deletions, units, *_missing(pair, study, units))
        offered = correlations(*tables, difference.compared.correlated)
        unseen = any(model.unseen for model in (models[first], models[second]))
        out.append(replace(difference, offered=offered, without=deletions, unseen=unseen))
    return out


@dataclass(frozen=True)
class ModelEstimates:
    """Estimates of several models, all on the same units where they share most, and without groups of these."""

    models: Sequence[KeptAnswers]
    tables: Sequence[pl.DataFrame]
    """Estimates of each."""
    without: Sequence[Sequence[pl.DataFrame]]
    """Of each, what they are compared by without each group, as `paired_changes.reduce_estimates` gives it."""
    groups: Groups
    used: Sequence[Codes]
    """Units that each was asked about."""
    shared: Codes
    """Units that all were asked about."""
    paired: bool
    """Whether estimates are of these alone."""

    def units(self, first: int, second: int) -> SharedUnits:
        """Numbers of units of two of the models."""
        in_both = self.shared.size
        if not self.paired:
            in_both = np.intersect1d(self.used[first], self.used[second]).size
        only_first, only_second = (self.used[side].size - in_both for side in (first, second))
        unit = unit_of(self.models[0].study.estimates.measures)
        return SharedUnits(unit, in_both, only_first, only_second, self.paired)


def model_estimates(
    models: Sequence[KeptAnswers], pairs: Pairs, margin: float | None = None, estimates: Sequence[pl.DataFrame] = ()
) -> ModelEstimates:
    """Take estimates of models that are compared, and the same without groups of units; see `differences_of`."""
    used = [np.unique(model.pairs()) for model in models]
    shared = reduce(np.intersect1d, used)
    paired = shared.size > 1 and all(_share_units(models[0], model) for model in models[1:])
    study = models[0].study
    if paired and any(units.size > shared.size for units in used):
        flags = np.zeros(int(max(units.max() for units in used)) + 1, dtype=np.bool_)
        flags[shared] = True
        models, estimates = [model.of_units(flags) for model in models], ()
    tables = list(estimates) or _estimates(models)
    for first, second in pairs:
        check_margin(study, (tables[first], tables[second]), margin)
    groups = grouped(models, paired=paired)
    measures = {name for first, second in pairs for name in compared_measures(study, (tables[first], tables[second]))}
    without = [list(model.without(groups, measures)) for model in models]
    return ModelEstimates(models, tables, without, groups, used, shared, paired)


def _estimates(models: Sequence[KeptAnswers]) -> list[pl.DataFrame]:
    """Estimates of each, of what they may be compared by (`compared_cells.comparable`) at least."""
    study = models[0].study
    compared = study.extras.compare
    declared = {*compared.measures, *compared.also}
    if compared.correlated:
        return [model.estimates() for model in models]
    if compared.measures:
        tables = [model.estimates(declared) for model in models]
        rows = rows_of_any(measure for measure in study.estimates.measures if measure.key in compared.measures)
        if all(table.select(rows.any()).item() for table in tables):
            return tables
    first = models[0].estimates()
    leading = {
        measure
        for name in study.estimates.lead
        for measure in first.filter(leading_families(pl.col("family"), (name,), first))["measure"]
    }
    return [first, *(model.estimates(declared | leading) for model in models[1:])]


def _share_units(first: KeptAnswers, second: KeptAnswers) -> bool:
    """Return whether both are about the same units in each block that both were asked: faces, not forms or scenes."""
    first_units, second_units = first.units_by_block(), second.units_by_block()
    return all(
        np.intersect1d(first_units[block], second_units[block]).size
        >= _FEWEST_SHARED * min(first_units[block].size, second_units[block].size)
        for block in first_units.keys() & second_units.keys()
    )


@contextmanager
def kept_answers(runs: Sequence[StoredRun]) -> Iterator[list[KeptAnswers]]:
    """Answers of runs to what they are compared on."""
    names = UnitNames()
    with TemporaryDirectory(prefix="facevalue-") as folder:
        out = []
        for at, run in enumerate(runs):
            tally = ReplyTally()
            run_answers = KeptAnswers(run.study, run.model, names.of(run.study), Path(folder) / str(at))
            seen = None if run.facts.sight is None else Followed.of([run])
            for chunk in answers(run, tally) if seen is None else seen.passing(run, tally):
                run_answers.add(chunk, to_disk=run_answers.rows > MOST_ROWS // len(runs))
            if not tally.valid:
                raise RunError(f"{run.folder} has no valid answer to compare.")
            run_answers.unseen = seen is not None and seen.unseen(run.study.name)
            out.append(run_answers)
        yield out


def _missing(
    models: tuple[KeptAnswers, KeptAnswers], study: Study, units: SharedUnits
) -> tuple[pl.DataFrame, Sequence[Measure]]:
    """The difference in the share of replies without a valid answer, where both are about the same units."""
    table = EstimateTable(study.name, models[1].model, study.estimates.labels)
    if units.paired:
        add_missing_change(table, *models, units.unit, FIRST_RUN)
    return table.frame(), (MISSING_SHARE,)
