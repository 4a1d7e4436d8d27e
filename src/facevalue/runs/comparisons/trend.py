"""History of runs of any studies: what drifted, what changed at one date, all judged at one level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.measures.caveats import caveat_column
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable, stack_estimates
from facevalue.measures.judgment import judge
from facevalue.measures.paired_changes import estimate_keys, reduce_estimates
from facevalue.measures.run_comparison import contrast_estimates, drift_weights, splits_beside, step_weights
from facevalue.places import MAKING_FOLDER, is_url
from facevalue.protocol.kept_answers import KeptAnswers
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.study import Study
from facevalue.runs.audits.folder import AUDIT, is_audit, runs_of
from facevalue.runs.comparisons.cells import (
    cells_of,
    comparable,
    enter_cells,
    finest_cells,
    rows_compared,
    signed_measures,
)
from facevalue.runs.comparisons.comparison import differing_settings, run_names
from facevalue.runs.comparisons.models import adjusted_anew, kept_answers, model_estimates, taken_apart, with_first
from facevalue.runs.joined_runs import by_study, repeated
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import MANIFEST

# Runs of a history: those below a folder, or named one by one, put together by study in the order of their dates.


_DEEPEST = 5
"""Folders below each other that are looked through."""


def runs_below(place: Path | str) -> list[str]:
    """Runs in a folder: itself, an audit's, or all below it; not those that made pictures.

    Raises
    ------
    RunError
        There is none.
    """
    if is_url(place) or is_audit(place) or (Path(place) / MANIFEST).is_file():
        return runs_of(place)
    runs = [str(path) for path in _folders_with(MANIFEST, Path(place)) if path.name != MAKING_FOLDER]
    if not runs:
        raise RunError(f"{place} is no folder of runs or audits: there is no {MANIFEST} in it.")
    return runs


def audits_below(place: Path | str) -> list[Path | str]:
    """Audits whose runs are in a folder, as `runs_below` names these: itself, or all below it."""
    if is_audit(place):
        return [place]
    if is_url(place) or (Path(place) / MANIFEST).is_file():
        return []
    return [path for path in _folders_with(AUDIT, Path(place)) if is_audit(path)]


def _folders_with(name: str, place: Path) -> list[Path]:
    """Folders below one that hold a file, those that are hidden left out."""
    depths = ("/".join(["*"] * depth + [name]) for depth in range(1, _DEEPEST + 1))
    folders = {path.parent for pattern in depths for path in place.glob(pattern)}
    return sorted((path for path in folders if not _is_hidden(path, place)), key=str)


def _is_hidden(path: Path, below: Path) -> bool:
    return any(name.startswith(".") for name in path.relative_to(below).parts)


def dated_runs(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """Runs of each study, oldest first.

    Raises
    ------
    RunError
        No study has two, or one is named twice.
    """
    ordered = sorted(runs, key=lambda run: run.facts.start)
    if (again := repeated(ordered)) is not None:
        raise RunError(f"{again.place} is named twice.")
    out = by_study(ordered)
    if all(len(of_study) < 2 for of_study in out.values()):
        names = ", ".join(f"one of {study}" for study in out)
        raise RunError(f"A history takes two runs or more of one study; there is {names}.")
    return out


SINCE = "since"
"""Label of a step: the number of the first date after it."""
_LEAD = "history"
_EARLIER = "earlier runs"
DRIFT, STEP, STEADY = "drift", "step", "no change found"
_JUDGED = (
    *("value", "low", "high", "page_low", "page_high", "bound_low", "bound_high", "p", "q_page", "verdict", "why"),
)


@dataclass(frozen=True)
class StudyTrend:
    """History of one study."""

    study: Study
    runs: tuple[StoredRun, ...]
    """Oldest first."""
    names: tuple[str, ...]
    """What they are called."""
    dates: tuple[datetime, ...]
    """When each began."""
    settings: Mapping[str, Sequence[Any]]
    """Settings in which they differ, each with its value in every run."""
    measures: tuple[Measure, ...]
    labels: tuple[str, ...]
    """Labels that name a cell."""
    values: pl.DataFrame
    """A row per cell and run: its `measure` and labels, `at` (number of the run), `value`, `low`, `high`, `n`."""
    cells: pl.DataFrame
    """A row per cell: its `measure` and labels, `first` and `last` value, `became` ("drift", "step", "no change
    found"), `since` (number of the run from which a step lies), `since_first` and `since_last` (the first and last such
    number that is not ruled out at 95%, if there is one step; null where each is), `change` with `change_low`,
    `change_high`, its interval at the level of all, `page_low` and `page_high`, `p` and `q_page`: of the drift or step
    that fits best; `tested` says which of the two it is. `bound_low` and `bound_high`: the change had all missing
    answers gone one way or the other; `why`: the verdict in a sentence; `caveat`: what else could explain a change
    that is found, such as these; else empty."""
    units: str
    """On which units the runs are compared, as a sentence."""

    @property
    def changed(self) -> pl.DataFrame:
        """Cells that drifted or changed at a date."""
        return self.cells.filter(pl.col("became") != STEADY)


@dataclass(frozen=True)
class Trend:
    """History of runs of one or several studies."""

    studies: tuple[StudyTrend, ...]
    left_out: tuple[str, ...] = ()
    """Runs and studies without a history, and why, and studies of audits that wait to be asked, a sentence each."""

    @property
    def changed(self) -> int:
        """Number of cells of all studies that drifted, or changed at a date."""
        return sum(study.changed.height for study in self.studies)


@dataclass(frozen=True)
class _Contrasts:
    """Drifts and steps of one study, not judged yet."""

    study: Study
    measures: tuple[Measure, ...]
    compared: CellComparison
    tables: Sequence[pl.DataFrame]
    shared: pl.DataFrame
    """Labels of the cells that all have."""
    rows: pl.DataFrame
    norms: Mapping[int, float]
    """Root of the sum of squares of each contrast's weights: the drift is number 0, steps have that of their date."""
    units: str
    reduced: Sequence[pl.DataFrame]
    without: Sequence[Sequence[pl.DataFrame]]
    layers: Sequence[str]
    """Cells of each run with all of what was sampled, and without each group of it."""


def trend(runs: Sequence[StoredRun], waiting: Sequence[str] = ()) -> Trend:
    """Find drifts over the dates of runs, and changes at one of them.

    Parameters
    ----------
    runs:
        Of one model, or versions of it; two or more of one study at least.
    waiting:
        What audits among them have not begun, a sentence for each (`audit_folder.describe_unasked`).

    Raises
    ------
    RunError, DataError
        No study has two runs, or none of them can be compared.

    Notes
    -----
    Each cell that all runs of a study have gives a drift (by the line of least squares) and a step at each date after
    the first (mean from it on less mean before); with two runs, one step. Their errors are those of a delete-a-group
    jackknife that takes the same units from all runs. All cells, dates and studies are judged at the level of one page.
    """
    left_out, refusals = [], []
    comparable_runs: list[Sequence[StoredRun]] = []
    contrasts: list[_Contrasts] = []
    for study, of_study in dated_runs(runs).items():
        if len(of_study) < 2:
            left_out.append(f"{of_study[0].place} is the only run of {study}: it has no history.")
            continue
        try:
            with kept_answers([run.plain() for run in of_study]) as models:
                contrasts.append(contrasts_of(models, _days(of_study)))
                comparable_runs.append(of_study)
        except (DataError, RunError) as error:
            refusals.append(error)
            left_out.append(f"{study} has no history. {error}")
    if not contrasts:
        raise refusals[0]
    judged, names = judged_histories(contrasts), run_names(runs)
    studies = [_study_trend(*of_study, names) for of_study in zip(comparable_runs, contrasts, judged, strict=True)]
    return Trend(tuple(studies), (*left_out, *waiting))


def _study_trend(
    runs: Sequence[StoredRun], history: _Contrasts, judged: pl.DataFrame, names: Mapping[Path, str]
) -> StudyTrend:
    values = _values(history)
    return StudyTrend(
        history.study, tuple(runs), tuple(names[run.folder] for run in runs), tuple(run.facts.start for run in runs),
        differing_settings(runs), history.measures, history.compared.cells, values, _cells(history, values, judged),
        history.units,
    )  # fmt: skip


def _days(runs: Sequence[StoredRun]) -> Array:
    """Days since the first run; their order where all began at once."""
    seconds = np.array([(run.facts.start - runs[0].facts.start).total_seconds() for run in runs])
    return seconds / 86_400 if np.ptp(seconds) > 0 else np.arange(len(runs), dtype=np.float64)


def contrasts_of(models: Sequence[KeptAnswers], days: Array) -> _Contrasts:
    """Take drifts and steps of models' answers to one study, in the order of their dates."""
    together = model_estimates(models, with_first(len(models)))
    study, tables = models[0].study, together.tables
    measures, compared = comparable(study, (tables[0], tables[-1]))
    measures = signed_measures(measures, tables)
    first_cells, last_cells = (cells_of(tables[at], compared, measures) for at in (0, -1))
    cells, _ = finest_cells(first_cells, last_cells, compared)
    reduced_tables = [reduce_estimates(rows_compared(table, compared, measures)) for table in tables]
    keys = list(compared.cells)
    for table in reduced_tables:
        cells = cells.join(table.filter(pl.col("value").is_not_null()), on=keys, how="semi", nulls_equal=True)
    if not (measures and cells.height):
        raise DataError(f"The runs of {study.name} have no cell with a direction in common: there is no history.")
    rows = reduced_tables[0].join(cells, on=keys, how="semi", nulls_equal=True, maintain_order="left")
    aligned = [_align_rows(table, rows) for table in reduced_tables]
    without = [[_align_rows(table, rows) for table in of_model] for of_model in together.without]
    layers = [layer for layer, _ in together.groups.layers]
    count = len(models)
    weights = {at: step_weights(count, at) for at in range(1, count)}
    if count > 2:
        weights = {0: drift_weights(days), **weights}
    entries = EstimateTable(study.name, "(history)", (*study.estimates.labels, SINCE))
    for at, weights_of_runs in weights.items():
        changes = contrast_estimates(aligned, without, layers, weights_of_runs)
        for measure in measures:
            family = f"{STEP if at else DRIFT} ({measure.key})"
            enter_cells(entries, changes, measure, _EARLIER, family, added={SINCE: str(at)})
    norms = {at: float(np.linalg.norm(weights_of_runs)) for at, weights_of_runs in weights.items()}
    units = together.units(0, count - 1).sentence.replace("both runs", "all runs" if count > 2 else "both runs")
    return _Contrasts(
        study, measures, compared, tables, cells.select(keys), entries.frame(), norms, units,
        aligned, without, layers,
    )  # fmt: skip


def _align_rows(table: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table in the order of another one's cells; nulls where it lacks one."""
    keys = estimate_keys(like)
    return (
        like.select(keys)
        .join(table, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col("(bare)", "(floored)").fill_null(value=False))
    )


def judged_histories(histories: Sequence[_Contrasts]) -> list[pl.DataFrame]:
    """Judge drifts and steps of all studies at the level of one page: each kind of each measure is a family."""
    prefixes = [f"{history.study.name}: " for history in histories]
    rows = stack_estimates(
        [
            history.rows.with_columns(
                (prefix + pl.col("measure")).alias("measure"),
                (f"{_LEAD} ({prefix}" + pl.col("family") + ")").alias("family"),
            )
            for history, prefix in zip(histories, prefixes, strict=True)
        ]
    )  # fmt: skip
    definitions = [
        replace(measure, name=prefix + measure.name)
        for history, prefix in zip(histories, prefixes, strict=True)
        for measure in history.measures
    ]
    judged = judge(adjusted_anew(rows), definitions, lead=(_LEAD,))
    return list(taken_apart(judged, [history.rows for history in histories]))


def _values(history: _Contrasts) -> pl.DataFrame:
    """Estimates of each cell at each date."""
    labels = history.compared.cells
    tables = [
        rows_compared(table, history.compared, history.measures)
        .join(history.shared, on=list(labels), how="semi", nulls_equal=True, maintain_order="left")
        .select("measure", *(name for name in labels if name != "measure"), pl.lit(at).alias("at"), "value", "low",
                "high", "n")
        for at, table in enumerate(history.tables)
    ]  # fmt: skip
    return pl.concat(tables)


def _cells(history: _Contrasts, values: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Change of each cell: of its drift and steps that are found, the one that fits its values best.

    A contrast with weights w explains (Σ w x)² / Σ w² of the sum of squares of the values x over dates.
    """
    labels = [name for name in history.compared.cells if name != "measure"]
    rows = judged.select("measure", *labels, pl.col(SINCE).cast(pl.Int64).alias(SINCE), *_JUDGED)
    is_found = (pl.col("verdict") == "difference found").fill_null(value=False)
    fits = (pl.col("value") / pl.col(SINCE).replace_strict(history.norms, return_dtype=pl.Float64)).abs().fill_null(0.0)
    ordered = rows.with_columns(is_found=is_found, fit=fits).sort(
        "is_found", "fit", descending=True, maintain_order=True
    )
    best = ordered.unique(["measure", *labels], keep="first", maintain_order=True)
    last = len(history.tables) - 1
    ends = [
        values.filter(pl.col("at") == at).select("measure", *labels, pl.col("value").alias(name))
        for name, at in (("first", 0), ("last", last))
    ]
    for end in ends:
        best = best.join(end, on=["measure", *labels], how="left", nulls_equal=True, maintain_order="left")
    steps = best.filter(pl.col("is_found") & (pl.col(SINCE) > 0)).select("measure", *labels)
    best = best.join(
        _dates(history, steps), on=["measure", *labels], how="left", nulls_equal=True, maintain_order="left"
    )
    kind = pl.when(~pl.col("is_found")).then(pl.lit(STEADY)).when(pl.col(SINCE) == 0).then(pl.lit(DRIFT))
    return best.select(
        "measure", *labels, "first", "last", kind.otherwise(pl.lit(STEP)).alias("became"),
        pl.when(pl.col("is_found") & (pl.col(SINCE) > 0)).then(SINCE).alias(SINCE), "since_first", "since_last",
        pl.col("value").alias("change"),
        pl.col("low").alias("change_low"), pl.col("high").alias("change_high"), "page_low", "page_high",
        "bound_low", "bound_high", "p", "q_page", "why",
        pl.when("is_found").then(caveat_column()).fill_null("").alias("caveat"),
        tested=pl.when(pl.col(SINCE) == 0).then(pl.lit(DRIFT)).otherwise(pl.lit(STEP)),
    )  # fmt: skip


def _dates(history: _Contrasts, steps: pl.DataFrame) -> pl.DataFrame:
    """Range of dates of each cell's step: the first and last at which it may lie; null where no date fits.

    A date is ruled out where values before it, or from it on, differ among themselves (`run_comparison.splits_beside`):
    at .05 shared by all these contrasts, of this cell alone.
    """
    labels, count = steps.columns[1:], len(history.tables)
    if not steps.height or count == 2:
        return steps.with_columns(since_first=pl.lit(1, pl.Int64), since_last=pl.lit(1, pl.Int64))
    keys = history.reduced[0].join(steps, on=steps.columns, how="semi", nulls_equal=True, maintain_order="left")
    tables = [_align_rows(table, keys) for table in history.reduced]
    without = [[_align_rows(table, keys) for table in of_model] for of_model in history.without]
    splits = []
    for since in range(1, count):
        for weights in splits_beside(count, since):
            entries = EstimateTable(history.study.name, "(dates)", (*history.study.estimates.labels, SINCE))
            changes = contrast_estimates(tables, without, history.layers, weights)
            for measure in history.measures:
                enter_cells(entries, changes, measure, _EARLIER, "date", added={SINCE: str(since)})
            splits.append(entries.frame())
    is_ruled_out = (pl.col("p") < (1 - LEVEL) / (count - 2)).fill_null(value=False)
    dates = stack_estimates(splits).select("measure", *labels, SINCE, ruled_out=is_ruled_out)
    open_dates = dates.group_by("measure", *labels, SINCE).agg(pl.col("ruled_out").any()).filter(~pl.col("ruled_out"))
    number = pl.col(SINCE).cast(pl.Int64)
    ends = open_dates.group_by("measure", *labels).agg(since_first=number.min(), since_last=number.max())
    return steps.join(ends, on=steps.columns, how="left", nulls_equal=True, maintain_order="left")
