"""Cells of two runs compared: which they are, how far they lie apart, and what they amount to on one page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.measures.adjustment import within
from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable, label_columns, stacked
from facevalue.measures.judgment import judge
from facevalue.measures.page_error import leads
from facevalue.measures.paired_changes import ChangeSet, Deletion, reduced
from facevalue.measures.run_differences import MEAN, RMS, as_row, difference_of, mean_of, size_of, summaries
from facevalue.measures.selection import to_array
from facevalue.measures.table_entries import family_names
from facevalue.measures.value_limits import check_margins
from facevalue.protocol.offers import CellComparison, OfferedTable
from facevalue.protocol.study import Study

_NUMBERS = ("n", "clusters")
_JUDGED = (
    *(
        "low",
        "high",
        "page_low",
        "page_high",
        "page_level",
        "se",
        "p",
        "q",
        "q_page",
        "bound_low",
        "bound_high",
        "margin",
        "mde",
    ),
    *("verdict", "why", "method"),
)
_VERDICTS = ("page_low", "page_high", "q_page", "verdict", "why")


@dataclass(frozen=True, slots=True)
class SharedUnits:
    """Numbers of units in two runs, and of those in both."""

    unit: str
    """What was sampled ("identity")."""
    shared: int
    only_first: int
    only_second: int
    paired: bool
    """Whether they are compared on what they share alone; else each run is taken with its own units."""

    @property
    def sentence(self) -> str:
        """The numbers of units as a sentence."""
        if not self.paired:
            in_both = f", {self.shared:,} in both" if self.shared else ""
            first_units, second_units = (f"{alone + self.shared:,}" for alone in (self.only_first, self.only_second))
            return f"Each run with its own units ({self.unit}): {first_units} and {second_units}{in_both}."
        alone = self.only_first + self.only_second
        rest = f"; {alone:,} that only one run has are left out" if alone else ""
        return f"Compared on the {self.shared:,} units ({self.unit}) that both runs were asked about{rest}."


@dataclass(frozen=True)
class RunAgreement:
    """Differences between two runs, judged."""

    measure: Measure
    """What is compared."""
    compared: CellComparison
    """How, with the labels that name a cell."""
    units: SharedUnits
    cells: pl.DataFrame
    """A row per cell that both measured: its labels, `first`, `second`, `delta` (second - first) with `low` and `high`,
    the page's interval, `p`, `q`, `q_page`, `verdict` and `why`, `bound_low` and `bound_high`, and the numbers of
    answers and units of either run."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Labels of the cells that only one of the two has a value for."""
    overall: pl.DataFrame
    """Statistics of all cells (`measures.run_differences`), by the labels that cells are compared within."""
    beside: pl.DataFrame
    """The same by one label more; none where no cell has it."""
    also: pl.DataFrame
    """Differences of what the study compares besides, and of missing answers: a table of estimates."""
    notes: tuple[str, ...] = ()
    """What else differs between the runs, for people."""
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The wording of levels for people, where it isn't the level itself."""
    further: Sequence[OfferedTable] = ()
    """What the study compares besides, as tables for people."""

    @property
    def unit(self) -> str:
        """Unit of the deltas, for people."""
        return "percentage points" if self.measure.unit in ("%", "pp") else self.measure.unit

    @property
    def differing(self) -> pl.DataFrame:
        """Cells of which a difference was found."""
        return self.cells.filter(pl.col("verdict") == "difference found")

    def json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "measure": self.measure.name,
            "unit": self.measure.unit,
            "units": asdict(self.units),
            "notes": list(self.notes),
            "cells_matched": self.cells.height,
            "cells_that_differ": self.differing.height,
            "only_first": self.only_first.to_dicts(),
            "only_second": self.only_second.to_dicts(),
            "overall": self.overall.to_dicts(),
            **({f"by_{self.compared.beside}": self.beside.to_dicts()} if self.compared.beside else {}),
            "cells": self.cells.to_dicts(),
            "also": self.also.drop("study", "model", "level", "source").to_dicts(),
            **({"further": [asdict(table) for table in self.further]} if self.further else {}),
        }


@dataclass(frozen=True)
class Differences:
    """Differences between two runs, not judged yet."""

    study: Study
    measure: Measure
    compared: CellComparison
    units: SharedUnits
    changes: ChangeSet
    alone: tuple[pl.DataFrame, pl.DataFrame]
    rows: pl.DataFrame
    """Table of estimates: differences of cells, their mean and size, and further rows of the page."""
    overall: pl.DataFrame
    further: tuple[Measure, ...]
    """Definitions of what is compared besides."""

    @property
    def definitions(self) -> tuple[Measure, ...]:
        """Definitions of the measures of all rows."""
        return difference_of(self.measure), mean_of(self.measure), size_of(self.measure), *self.further


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


def compared_measures(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[str, ...]:
    """Name what two tables of estimates are compared by, and what besides."""
    measure, compared = comparable(study, tables)
    return measure.name, *(name for name in compared.also if all((table["measure"] == name).any() for table in tables))


def check_margin(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame], margin: float | None) -> None:
    """Refuse a margin that no difference can lie beyond."""
    if margin is not None:
        measure = comparable(study, tables)[0]
        check_margins({measure.name: margin}, [replace(difference_of(measure), name=measure.name)])


def cell_differences(
    study: Study,
    tables: tuple[pl.DataFrame, pl.DataFrame],
    without: Iterable[Deletion],
    units: SharedUnits,
    besides: pl.DataFrame | None = None,
    definitions: Sequence[Measure] = (),
) -> Differences:
    """Take the differences of two tables of estimates; see `compare_estimates`."""
    measure, compared = comparable(study, tables)
    cells = _finest(_cells(tables[0], compared), _cells(tables[1], compared), compared)
    definition_of = {definition.name: definition for definition in study.estimates.measures}
    also = compared_measures(study, tables)[1:]
    estimates = [
        pl.concat([reduced(_of(table, compared, rows)), *(reduced(table.filter(measure=name)) for name in also)])
        for table, rows in zip(tables, cells, strict=True)
    ]
    alone = [
        present.join(others, on=[*compared.cells], how="anti", nulls_equal=True)
        for present, others in (cells, cells[::-1])
    ]
    keys = ["measure", *(name for name in label_columns(tables[0]) if name != "intervention")]
    rows_of_first = estimates[0].join(estimates[1], on=keys, how="semi", nulls_equal=True, maintain_order="left")
    if not (rows_of_first["measure"] == measure.name).any():
        first_cell, second_cell = (_example(rows, compared.cells) for rows in cells)
        raise DataError(f"The two have no cell in common: {first_cell} in the first, {second_cell} in the second.")
    changes = ChangeSet(rows_of_first, estimates[1], without)
    table = EstimateTable(study.name, tables[1]["model"][0], study.estimates.labels)
    for name in (measure.name, *also):
        _enter_cells(table, changes, definition_of[name], compared.within if name == measure.name else ())
    overall = _overall(table, changes, measure, compared.within)
    rows = table.frame() if besides is None else stacked([table.frame(), besides])
    further = (*(difference_of(definition_of[name]) for name in also), *definitions)
    return Differences(study, measure, compared, units, changes, (alone[0], alone[1]), rows, overall, further)


def judged_together(differences: Sequence[Differences], margin: float | None = None) -> list[RunAgreement]:
    """Judge the differences of one or several pairs of runs at the level of one page.

    Cells of all pairs are one family, and so are their means, and their sizes.
    """
    definitions = {definition.name: definition for difference in differences for definition in difference.definitions}
    rows = stacked([difference.rows for difference in differences])
    if len(differences) > 1:
        code = rows.select(pl.struct("measure", "family").rank("dense").cast(pl.Int64))["measure"].to_numpy() - 1
        q = within(to_array(rows["p"]), np.where(rows["family"].is_not_null().to_numpy(), code, -1))
        rows = rows.with_columns(pl.Series("q", q).fill_nan(None), model=pl.lit("(differences)"))
    compared = [
        definition.name
        for difference in differences
        for definition in (difference_of(difference.measure), mean_of(difference.measure))
    ]
    margins = {} if margin is None else dict.fromkeys(compared, margin)
    lead = tuple(dict.fromkeys(_family(difference.measure) for difference in differences))
    judged = judge(rows, tuple(definitions.values()), margins=margins, lead=lead)
    out, start = [], 0
    for difference in differences:
        out.append(_agreement(difference, judged[start : start + difference.rows.height]))
        start += difference.rows.height
    return out


def _agreement(differences: Differences, judged: pl.DataFrame) -> RunAgreement:
    """Two runs' agreement from their differences, and these as they were judged."""
    measure, compared = differences.measure, differences.compared
    summary = [mean_of(measure).name, size_of(measure).name]
    without_level = differences.overall.clear()
    if compared.beside:
        without_level = _overall(None, differences.changes, measure, (*compared.within, compared.beside))
    return RunAgreement(
        measure=measure,
        compared=compared,
        units=differences.units,
        cells=_with_sides(judged.filter(measure=difference_of(measure).name), differences.changes, measure, compared),
        only_first=differences.alone[0].select(compared.cells),
        only_second=differences.alone[1].select(compared.cells),
        overall=_with_verdicts(
            differences.overall, judged.filter(pl.col("measure").is_in(summary)), measure, compared.within
        ),
        beside=without_level,
        also=judged.filter(pl.col("measure").is_in([definition.name for definition in differences.further])),
        titles=differences.study.about.titles,
    )


def _family(measure: Measure) -> str:
    """Name of the family of all cells: it leads the page."""
    return f"differences in {measure.name}"


def _enter_cells(table: EstimateTable, changes: ChangeSet, measure: Measure, within: Sequence[str]) -> None:
    rows = np.flatnonzero((changes.frame["measure"] == measure.name).to_numpy())
    definition = difference_of(measure)
    estimates, p = changes.estimates(rows, definition)
    frame = changes.frame[rows]
    levels = {name: frame[name].to_list() for name in table.labels if name in frame.columns}
    levels |= {name: frame[name].to_list() for name in ("word", "score") if name in frame.columns}
    family = family_names(frame, _family(measure), (), within).to_list() if within else _family(measure)
    untested = frame["(floored)"].to_numpy() & (not measure.signed)
    table.add(
        definition, levels, estimates, p=np.where(untested, np.nan, p), family=family, bounds=changes.bounds(rows)
    )


def _overall(table: EstimateTable | None, changes: ChangeSet, measure: Measure, within: Sequence[str]) -> pl.DataFrame:
    """Statistics of all cells by level; the mean and the root mean square are entered into the table, to be judged."""
    usable = (changes.frame["measure"] == measure.name).to_numpy() & np.isfinite(changes.value) & ~changes.bare
    frame = changes.frame.with_row_index("row").filter(usable)
    records = []
    for levels, cells in frame.group_by(list(within), maintain_order=True) if within else [((), frame)]:
        if not cells.height or (table is None and levels[-1] is None):
            continue
        labels = dict(zip(within, levels, strict=True))
        for summary in summaries(changes, cells["row"].to_numpy().astype(np.int64), measure):
            records.append({**labels, **as_row(summary), "cells": cells.height})
            kind = {MEAN: mean_of(measure), RMS: size_of(measure)}.get(summary.name)
            if table is not None and kind is not None:
                columns = {name: [level] for name, level in labels.items()}
                p = np.array([summary.p])
                table.add(
                    kind, columns, summary.estimate, p=p, floor=summary.floor, family=f"{kind.title} ({measure.name})"
                )
    schema = {**dict.fromkeys(within, pl.String()), **_OVERALL}
    return pl.DataFrame(records, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


_OVERALL: dict[str, pl.DataType] = {
    "statistic": pl.String(), "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "n": pl.Int64(),
    "clusters": pl.Int64(), "p": pl.Float64(), "floor": pl.Float64(), "floor_high": pl.Float64(),
    "method": pl.String(), "cells": pl.Int64(),
}  # fmt: skip


def _with_verdicts(
    overall: pl.DataFrame, judged: pl.DataFrame, measure: Measure, within: Sequence[str]
) -> pl.DataFrame:
    """Statistics with the verdicts of those that were judged."""
    names = {mean_of(measure).name: MEAN, size_of(measure).name: RMS}
    verdicts = judged.select(pl.col("measure").replace(names).alias("statistic"), *within, *_VERDICTS)
    return overall.join(verdicts, on=["statistic", *within], how="left", nulls_equal=True, maintain_order="left")


def _with_sides(judged: pl.DataFrame, changes: ChangeSet, measure: Measure, compared: CellComparison) -> pl.DataFrame:
    """The cells with what either run measured."""
    sides = changes.frame.filter(measure=measure.name).select(
        *compared.cells,
        pl.col("value").alias("first"), pl.col("value (other)").alias("second"),
        *(pl.col(f"{name}{end}").alias(f"{name}_{side}") for name in _NUMBERS
          for end, side in (("", "first"), (" (other)", "second"))),
    )  # fmt: skip
    rows = judged.select(pl.col("value").alias("delta"), *_JUDGED)
    return pl.concat([sides, rows], how="horizontal")


def _of(table: pl.DataFrame, compared: CellComparison, rows: pl.DataFrame) -> pl.DataFrame:
    """Estimates of some cells of a table."""
    return _rows(table, compared).join(rows, on=list(compared.cells), how="semi", nulls_equal=True)


def _example(rows: pl.DataFrame, keys: Sequence[str]) -> str:
    if not rows.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in rows.select(keys).row(0, named=True).items() if level)


def comparable(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[Measure, CellComparison]:
    """Say which measure two runs are compared by, and which labels name its cells."""
    measures, compared = {measure.name: measure for measure in study.estimates.measures}, study.extras.compare
    if compared.measure and all((table["measure"] == compared.measure).any() for table in tables):
        return measures[compared.measure], _named(compared, tables)
    with_errors = [table.filter(pl.col("se").is_not_null() & pl.col("value").is_not_null()) for table in tables]
    for name in study.estimates.lead:
        leading = [table.filter(leads(pl.col("family"), (name,), table)) for table in with_errors]
        for measure in leading[0]["measure"].unique(maintain_order=True):
            if measures[measure].signed and (leading[1]["measure"] == measure).any():
                families = tuple(leading[0].filter(pl.col("measure") == measure)["family"].unique(maintain_order=True))
                return measures[measure], _named(CellComparison(measure, families=families), tables)
    raise RunError(
        f"The two runs of {study.name} have no measure with a direction and a standard error in common: there is "
        "nothing to compare."
    )


def _named(compared: CellComparison, tables: Sequence[pl.DataFrame]) -> CellComparison:
    """The same with the labels that name a cell: those declared, or all that a cell has."""
    if compared.cells:
        return compared
    compared = replace(compared, deepest=True)
    rows = pl.concat([_rows(table, compared) for table in tables], how="diagonal")
    cells = tuple(name for name in label_columns(rows) if rows[name].null_count() < rows.height)
    return replace(compared, cells=cells or ("measure",))


def _rows(table: pl.DataFrame, compared: CellComparison) -> pl.DataFrame:
    """Rows of the measure that is compared."""
    rows = table.filter(pl.col("measure") == compared.measure, *(pl.col(name).is_not_null() for name in compared.needs))
    rows = rows.filter(pl.col("family").is_in(compared.families)) if compared.families else rows
    if not compared.deepest:
        return rows
    depth = pl.sum_horizontal(pl.col(name).is_not_null() for name in label_columns(rows))
    return rows.filter(depth == depth.max())


def _finest(first: pl.DataFrame, second: pl.DataFrame, compared: CellComparison) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of the cells of each kind the finest that both tables have, each answer in one cell only.

    What only one of the tables has stays in, to be named as such.
    """
    flags = [f"by_{name}" for name in (*compared.finer, *compared.pooled)]
    if not flags:
        return first, second
    kind = list(compared.kinds)
    kinds = [table.select(*kind, *flags).unique() for table in (first, second)]
    shared = _first(kinds[0].join(kinds[1], on=[*kind, *flags], nulls_equal=True), compared)
    out = []
    for table, present in zip((first, second), kinds, strict=True):
        alone = _first(present.join(shared, on=kind, how="anti", nulls_equal=True), compared)
        out.append(table.join(pl.concat([shared, alone]), on=[*kind, *flags], how="semi", nulls_equal=True))
    return out[0], out[1]


def _first(kinds: pl.DataFrame, compared: CellComparison) -> pl.DataFrame:
    finest = [pl.col(f"by_{name}") for name in compared.finer] + [~pl.col(f"by_{name}") for name in compared.pooled]
    ordered = kinds.sort(*finest, descending=True)
    return ordered.unique(list(compared.kinds), keep="first", maintain_order=True)


def _cells(estimates: pl.DataFrame, compared: CellComparison) -> pl.DataFrame:
    flags = (pl.col(name).is_not_null().alias(f"by_{name}") for name in (*compared.finer, *compared.pooled))
    rows = _rows(estimates, compared).filter(pl.col("value").is_not_null())
    return rows.select(*compared.cells).with_columns(*flags)
