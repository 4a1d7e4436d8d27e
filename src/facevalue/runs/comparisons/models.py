"""Comparison of models' answers to one study, and differences between runs judged together at one level."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue.errors import FaceValueError, RunError
from facevalue.measures.caveats import caveat_column
from facevalue.measures.cells import MISSING_SHARE, unit_of
from facevalue.measures.definitions import FIRST_RUN, Measure, key_of, rows_of, rows_of_any, value_by_measure
from facevalue.measures.estimates import EstimateTable, stack_estimates, with_adjusted
from facevalue.measures.instrument import UNSEEN_PICTURES, without_equivalence
from facevalue.measures.intervals import describe_method, split_method
from facevalue.measures.judgment import judge
from facevalue.measures.multitest import leading_families
from facevalue.measures.paired_changes import Deletion
from facevalue.measures.run_comparison import MEAN, RMS, mean_of, size_of, source_correlation
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.kept_answers import MOST_ROWS, Codes, Groups, KeptAnswers, UnitNames, grouped, left_out
from facevalue.protocol.offers import Correlated, OfferedTable
from facevalue.protocol.study import Study
from facevalue.protocol.variants import add_missing_change
from facevalue.runs.comparisons.cells import (
    GONE,
    HIGHER,
    LARGER,
    LOWER,
    SMALLER,
    TURNED,
    Differences,
    RunAgreement,
    SharedUnits,
    cell_differences,
    check_margin,
    compared_measures,
    family_of,
    statistics_of,
    told_apart_by,
)
from facevalue.runs.joined_runs import Followed, repeated
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers

_NUMBERS = ("n", "clusters")
_JUDGED = (
    "low", "high", "page_low", "page_high", "page_level", "se", "p", "q", "q_page", "bound_low", "bound_high", "margin",
    "mde", "verdict", "why", "method", "detail",
)  # fmt: skip
_VERDICTS = ("page_low", "page_high", "q_page", "verdict", "why")


def compare_estimates(
    study: Study,
    tables: tuple[pl.DataFrame, pl.DataFrame],
    without: Iterable[Deletion],
    units: SharedUnits,
    margin: float | None = None,
    besides: pl.DataFrame | None = None,
    definitions: Sequence[Measure] = (),
) -> RunAgreement:
    """Compare two tables of estimates, and the same without groups of what was sampled.

    `besides`: further rows for the page, and their `definitions`.
    """
    check_margin(study, tables, margin)  # before everything is taken again
    return judged_together([cell_differences(study, tables, without, units, besides, definitions)], margin)[0]


def judged_together(
    differences: Sequence[Differences], margin: float | None = None, *, any_time: bool = False
) -> list[RunAgreement]:
    """Judge the differences of one or several pairs of runs, of any studies, at the level of one page.

    Cells of all pairs of a study are one family, and so are their means, and their sizes. Cells of all studies lead.
    `any_time`: whether any of the runs stopped by its own rule (`judgment.judge`).
    """
    names = [_names_apart(differences, difference) for difference in differences]
    of_all = [
        replace(definition, name=apart[definition.name])
        for difference, apart in zip(differences, names, strict=True)
        for definition in difference.definitions
    ]
    definitions = {definition.key: definition for definition in of_all}
    leading = dict.fromkeys(family_of(difference.measures) for difference in differences)
    lead = tuple(leading) if len(leading) == 1 else (_ALL,)
    rows = stack_estimates(
        [
            difference.rows.with_columns(
                pl.col("measure").replace_strict(apart),
                pl.when(_leads(difference) & (len(leading) > 1)).then(_ALL + " (" + pl.col("family") + ")")
                .otherwise("family").alias("family"),
            )
            for difference, apart in zip(differences, names, strict=True)
        ]
    )  # fmt: skip
    if len(differences) > 1:
        rows = adjusted_anew(rows.with_columns(model=pl.lit("(differences)")))
    margins = {
        key_of(apart[name], measure.score): margin
        for difference, apart in zip(differences, names, strict=True)
        for measure in difference.measures
        for name in (measure.name, mean_of(measure).name)
        if margin is not None
    }
    judged = judge(rows, tuple(definitions.values()), margins=margins, lead=lead, any_time=any_time)
    rows_of_each = taken_apart(judged, [difference.rows for difference in differences])
    return [_agreement(difference, rows) for difference, rows in zip(differences, rows_of_each, strict=True)]


def adjusted_anew(rows: pl.DataFrame) -> pl.DataFrame:
    """Tables of estimates of one model below each other, with `q` over the families of all of them."""
    return with_adjusted(rows.with_columns(q=pl.lit(None, pl.Float64)), "p", "q")


def taken_apart(judged: pl.DataFrame, tables: Sequence[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Rows of each of the tables that were judged together, in their order, with its own measures and families."""
    start = 0
    for table in tables:
        rows = judged[start : start + table.height].select(table.columns)
        yield rows.with_columns(table["measure"], table["family"])
        start += table.height


_ALL = "differences"
"""What leads where families of several measures do."""


def _names_apart(differences: Sequence[Differences], difference: Differences) -> dict[str, str]:
    """Names of measures by which those of several studies are told apart."""
    several = len({of_pair.study.name for of_pair in differences}) > 1
    return {m.name: f"{difference.study.name}: {m.name}" if several else m.name for m in difference.definitions}


def _leads(difference: Differences) -> pl.Expr:
    """Expression for whether a row is of the cells that are compared."""
    return pl.col("family").str.starts_with(family_of(difference.measures)).fill_null(value=False)


def _agreement(differences: Differences, judged: pl.DataFrame) -> RunAgreement:
    """Two runs' agreement from their differences, and these as they were judged."""
    judged = without_equivalence(judged, pl.lit(differences.unseen))
    measures, compared = differences.measures, differences.compared
    of_cells = rows_of_any(measures)
    of_summaries = rows_of([kind(measure).key for measure in measures for kind in (mean_of, size_of)])
    without_level = differences.overall.clear()
    if compared.beside:
        without_level = statistics_of(None, differences.changes, measures, (*compared.within, compared.beside))
    statistics = judged.filter(of_summaries)
    return RunAgreement(
        measures=measures, compared=compared, units=differences.units,
        cells=_with_sides(judged.filter(of_cells), differences), only_first=differences.alone[0].select(compared.cells),
        only_second=differences.alone[1].select(compared.cells),
        overall=_with_verdicts(differences.overall, statistics, measures, compared.within), beside=without_level,
        also=judged.filter(rows_of_any(differences.further)),
        notes=(
            *_describe_untested(judged, (*measures, *differences.beside)),
            *([UNSEEN_PICTURES] if differences.unseen else []),
        ),
        titles=differences.study.about.titles, further=differences.offered,
    )  # fmt: skip


def _describe_untested(judged: pl.DataFrame, measures: Sequence[Measure]) -> tuple[str, ...]:
    """Sentence on the differences that have an interval and no test, with the reason."""
    tested = judged.filter(pl.col("p").is_not_null())
    names = [
        measure.key
        for measure in measures
        if not (measure.signed or measure.norm or tested.select(measure.rows.any()).item())
        and judged.select(measure.rows.any()).item()
    ]
    if not names:
        return ()
    return (
        f"Not tested: {', '.join(names)}. Noise moves such a number, and may be more in one run than in the other: the "
        "interval is of the difference as it is.",
    )


def _with_verdicts(
    overall: pl.DataFrame, judged: pl.DataFrame, measures: Sequence[Measure], within: Sequence[str]
) -> pl.DataFrame:
    """Statistics with the verdicts of those that were judged."""
    kinds = {kind(m).name: (name, m.name) for m in measures for name, kind in ((MEAN, mean_of), (RMS, size_of))}
    of = [pl.col("measure").replace_strict({n: kinds[n][at] for n in kinds}, return_dtype=pl.String) for at in (0, 1)]
    keys = list(dict.fromkeys(["statistic", *told_apart_by(measures), *within]))
    verdicts = judged.with_columns(of[0].alias("statistic"), of[1].alias("measure"))
    return overall.join(
        verdicts.select(*keys, *_VERDICTS), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )


def _with_sides(judged: pl.DataFrame, differences: Differences) -> pl.DataFrame:
    """The cells with what either run measured."""
    measures, compared = differences.measures, differences.compared
    frame = pl.concat([differences.changes.frame.filter(measure.rows) for measure in measures])
    for ends, side in zip(differences.ends, ("first", "second"), strict=True):
        of_side = ends.rename({"low": f"low_{side}", "high": f"high_{side}"})
        keys = [name for name in ends.columns if name not in ("low", "high")]
        frame = frame.join(of_side, on=keys, how="left", nulls_equal=True, maintain_order="left")
    units = {measure.key: measure.unit for measure in measures}
    sides = frame.select(
        *compared.cells,
        pl.col("value").alias("first"), pl.col("value (other)").alias("second"),
        *([value_by_measure(units).alias("unit")] if len(measures) > 1 else []),
        *(pl.col(f"{name}{end}").alias(f"{name}_{side}") for name in _NUMBERS
          for end, side in (("", "first"), (" (other)", "second"))),
        "low_first", "high_first", "low_second", "high_second",
    )  # fmt: skip
    rows = judged.select(pl.col("value").alias("delta"), *_JUDGED)
    marks = {
        "(effect)": {measure.key: measure.is_distance for measure in measures},
        "(signed)": {measure.key: measure.signed for measure in measures},
    }
    marked = frame.select(value_by_measure(facts, default=False).alias(mark) for mark, facts in marks.items())
    cells = pl.concat([sides, rows, marked], how="horizontal").with_columns(caveat=caveat_column().fill_null(""))
    return cells.with_columns(became=pl.when(verdict="difference found").then(_became())).drop(*marks)


def _became() -> pl.Expr:
    """Expression for the change of a number that differs; see `BECAME`."""
    first, second = pl.col("first"), pl.col("second")
    level = pl.when(second > first).then(pl.lit(HIGHER)).otherwise(pl.lit(LOWER))
    is_smaller = second.abs() < first.abs()
    size = pl.when(is_smaller).then(pl.lit(SMALLER)).otherwise(pl.lit(LARGER))
    clear_before, clear_now = (
        (pl.col(f"low_{side}") * pl.col(f"high_{side}") > 0).fill_null(value=False) for side in ("first", "second")
    )
    is_opposite = first * second < 0
    effect = (
        pl.when("(signed)", is_opposite, clear_before, clear_now).then(pl.lit(TURNED))
        .when("(signed)", is_opposite | is_smaller, clear_before, ~clear_now, pl.col("low_second").is_not_null())
        .then(pl.lit(GONE))
        .otherwise(size)
    )  # fmt: skip
    return pl.when("(effect)").then(effect).otherwise(level)


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
            run_answers = KeptAnswers(run.study, run.model, names.study_units(run.study), Path(folder) / str(at))
            seen = None if run.facts.sight is None else Followed.from_runs([run])
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
