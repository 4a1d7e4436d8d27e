"""Cells of two runs compared: which they are, how far they lie apart, and what they amount to on one page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from facevalue.errors import DataError, NothingComparedError
from facevalue.measures.definitions import (
    FIRST_RUN,
    Measure,
    change_of,
    count_units,
    definition_of,
    rows_of_any,
    value_by_measure,
)
from facevalue.measures.estimates import EstimateTable, label_columns, stack_estimates
from facevalue.measures.family_tests import check_margins
from facevalue.measures.judges import JUDGED_BY
from facevalue.measures.multitest import in_family, leading_families
from facevalue.measures.paired_changes import ChangeSet, Deletion, reduce_estimates
from facevalue.measures.run_comparison import MEAN, RMS, as_row, difference_summaries, mean_of, size_of
from facevalue.protocol.offers import CellComparison, OfferedTable
from facevalue.protocol.study import Study

# Choice of what two runs are compared by: which measures both have, and which of their cells.


def comparable(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[tuple[Measure, ...], CellComparison]:
    """Measures by which two runs are compared, and labels that name their cells.

    Of several, each by the labels that it has, `measure` is then one of the labels.
    """
    measures, compared = {measure.key: measure for measure in study.estimates.measures}, study.extras.compare

    def shared_keys(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(key for key in names if all(table.select(measures[key].rows.any()).item() for table in tables))

    besides = shared_keys(compared.also)
    names, families = shared_keys(compared.measures), compared.families
    if not names:
        names, families = _leading(study, measures, tables)
    names = names or besides
    if not names:
        alike = _sentences_on_equal_answers(study, tables)
        raise NothingComparedError(
            f"{alike}The two runs of {study.name} have no measure with a direction and a standard error in common: "
            "there is nothing to compare."
        )
    also = tuple(name for name in besides if name not in names)  # what leads is not compared besides, too
    chosen = tuple(measures[name] for name in names)
    return chosen, _name_cells(replace(compared, measures=names, families=families, also=also), chosen, tables)


def signed_measures(measures: Sequence[Measure], tables: Sequence[pl.DataFrame]) -> tuple[Measure, ...]:
    """Measures that can rise and fall: no spreads, nor those that noise raises, which stand beside a floor."""
    floored = [table.filter(pl.col("floor").is_not_null()) for table in tables]
    return tuple(
        m for m in measures
        if not m.norm and (m.signed or not any(table.select(m.rows.any()).item() for table in floored))
    )  # fmt: skip


def _leading(
    study: Study, measures: dict[str, Measure], tables: tuple[pl.DataFrame, pl.DataFrame]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Signed measures of the first family that leads the page and has any in both tables, and names of its families."""
    with_errors = [table.filter(pl.col("se").is_not_null() & pl.col("value").is_not_null()) for table in tables]
    for name in study.estimates.lead:
        first, second = (table.filter(leading_families(pl.col("family"), (name,), table)) for table in with_errors)
        keys = value_by_measure({key: key if measure.signed else "" for key, measure in measures.items()})
        of_first, of_second = (table.select(keys).to_series().unique(maintain_order=True) for table in (first, second))
        names = [key for key in of_first.drop_nulls() if key and key in of_second]
        if names:
            families = first.filter(rows_of_any(measures[key] for key in names))["family"].unique(maintain_order=True)
            return tuple(names), tuple(families)
    return (), ()


def _sentences_on_equal_answers(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> str:
    """Sentences on the runs of which every effect that leads the page is exactly zero; empty where there is none."""
    signed = value_by_measure({measure.key: measure.signed for measure in study.estimates.measures}, default=False)
    sentences = []
    for which, table in zip(("first", "second"), tables, strict=True):
        rows = table.filter(pl.col("value").is_not_null() & signed)
        rows = rows.filter(leading_families(pl.col("family"), study.estimates.lead, rows))
        if rows.height and (rows["value"] == 0.0).all() and (rows["se"].fill_null(0.0) == 0.0).all():
            run = f"the {which} run ({rows['model'][0]})"
            sentences.append(f"All units of {run} were answered alike, so that nothing differs between them. ")
    return "".join(sentences)


def _name_cells(
    compared: CellComparison, measures: Sequence[Measure], tables: Sequence[pl.DataFrame]
) -> CellComparison:
    """The same with the labels that name a cell: those declared, or all that a cell has."""
    if compared.cells:
        return compared
    compared = replace(compared, deepest=True)
    rows = pl.concat([rows_compared(table, compared, measures) for table in tables], how="diagonal")
    cells = tuple(name for name in label_columns(rows) if rows[name].null_count() < rows.height)
    several = len(compared.measures) > 1
    return replace(compared, cells=("measure", *cells) if several or not cells else cells)


def rows_compared(table: pl.DataFrame, compared: CellComparison, measures: Iterable[Measure]) -> pl.DataFrame:
    """Rows of the measures that are compared."""
    rows = table.filter(rows_of_any(measures), *(pl.col(name).is_not_null() for name in compared.needs))
    if compared.families:
        return rows.filter(pl.any_horizontal(in_family(pl.col("family"), name) for name in compared.families))
    return deepest_breakdowns(rows) if compared.deepest else rows


def deepest_breakdowns(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of each measure with the largest number of labels."""
    if JUDGED_BY in rows.columns:  # what people alone say of texts stands beside what is compared
        rows = rows.filter(pl.col(JUDGED_BY).is_null())
    depth = pl.sum_horizontal(pl.col(name).is_not_null() for name in label_columns(rows))
    return rows.filter(depth == depth.max().over("measure", "score"))


def finest_cells(
    first: pl.DataFrame, second: pl.DataFrame, compared: CellComparison
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Finest cells of each kind that both tables have, each answer in one cell only.

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


def cells_of(estimates: pl.DataFrame, compared: CellComparison, measures: Iterable[Measure]) -> pl.DataFrame:
    """Labels of the cells that have a value, and by which of `finer` and `pooled` they are."""
    flags = (pl.col(name).is_not_null().alias(f"by_{name}") for name in (*compared.finer, *compared.pooled))
    rows = rows_compared(estimates, compared, measures).filter(pl.col("value").is_not_null())
    return rows.select(*compared.cells).with_columns(*flags)


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
            second_units = count_units(self.only_second + self.shared, self.unit)
            return f"Each run with its own: {self.only_first + self.shared:,} and {second_units}{in_both}."
        alone = self.only_first + self.only_second
        rest = f"; {alone:,} that only one run has are left out" if alone else ""
        return f"Compared on the {count_units(self.shared, self.unit)} that both runs were asked about{rest}."


GONE, SMALLER, LARGER, TURNED = "gone", "smaller effect", "larger effect", "turned round"
"""What may become of an effect, which is zero where there is none.

An effect with a direction is turned round where the 95% intervals of both runs are clear of zero, on opposite sides; it
is gone where that of the first run is clear of zero and that of the second holds it.
"""
HIGHER, LOWER = "higher", "lower"
"""What may become of any other number."""
BECAME = (GONE, SMALLER, LARGER, TURNED, HIGHER, LOWER)
"""What may become of a cell that differs."""


@dataclass(frozen=True)
class RunAgreement:
    """Differences between two runs, judged."""

    measures: tuple[Measure, ...]
    """What is compared: one measure, or one of each score."""
    compared: CellComparison
    """How, with the labels that name a cell."""
    units: SharedUnits
    cells: pl.DataFrame
    """A row per cell that both measured: its labels, `first`, `second`, `delta` (second - first) with `low` and `high`,
    the page's interval, `p`, `q`, `q_page`, `verdict`, `why` and `caveat` (what else could explain the verdict),
    `bound_low` and `bound_high`, the interval and the numbers of answers and units of either run, and `became` (of
    `BECAME`) where a difference was found."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Labels of the cells that only one of the two has a value for."""
    overall: pl.DataFrame
    """Statistics of all cells (`measures.run_comparison`), by the labels that cells are compared within."""
    beside: pl.DataFrame
    """The same by one label more; none where no cell has it."""
    also: pl.DataFrame
    """Differences of what the study compares besides, and of missing answers: a table of estimates."""
    notes: tuple[str, ...] = ()
    """What else differs between the runs, and what is not tested, for people."""
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The wording of levels for people, where it isn't the level itself."""
    further: Sequence[OfferedTable] = ()
    """What the study compares besides, as tables for people."""

    @property
    def several(self) -> bool:
        """True if cells are of several measures, each in its own unit; `measure` is then one of their labels."""
        return len(self.measures) > 1

    def measure_of(self, row: Mapping[str, Any]) -> Measure:
        """The measure that a row of `cells` or `overall` is of."""
        by_key = {measure.key: measure for measure in self.measures}
        measure = definition_of(by_key, row["measure"], row.get("score")) if self.several else self.measures[0]
        assert measure is not None
        return measure

    def cells_of(self, measure: Measure) -> pl.DataFrame:
        """Cells of one of the measures."""
        return self.cells.filter(measure.rows) if self.several else self.cells

    @property
    def labels_within(self) -> tuple[str, ...]:
        """Labels that statistics of cells are taken within."""
        return tuple(dict.fromkeys([*told_apart_by(self.measures), *self.compared.within]))

    @property
    def differing(self) -> pl.DataFrame:
        """Cells of which a difference was found."""
        return self.cells.filter(pl.col("verdict") == "difference found")

    @property
    def became(self) -> dict[str, int]:
        """Numbers of differing cells by the change they underwent (`BECAME`)."""
        counts = dict(self.differing["became"].value_counts().iter_rows())
        return {name: counts[name] for name in BECAME if name in counts}

    def json(self) -> dict[str, Any]:
        """Comparison as JSON, for machines."""
        return {
            "measures": {measure.key: measure.unit for measure in self.measures}, "units": asdict(self.units),
            "notes": list(self.notes), "cells_matched": self.cells.height, "cells_that_differ": self.differing.height,
            "became": self.became, "only_first": self.only_first.to_dicts(), "only_second": self.only_second.to_dicts(),
            "overall": self.overall.to_dicts(),
            **({f"by_{self.compared.beside}": self.beside.to_dicts()} if self.compared.beside else {}),
            "cells": self.cells.to_dicts(), "also": self.also.drop("study", "model", "level", "source").to_dicts(),
            **({"further": [asdict(table) for table in self.further]} if self.further else {}),
        }  # fmt: skip


@dataclass(frozen=True)
class Differences:
    """Differences between two runs, not judged yet."""

    study: Study
    measures: tuple[Measure, ...]
    compared: CellComparison
    units: SharedUnits
    changes: ChangeSet
    alone: tuple[pl.DataFrame, pl.DataFrame]
    rows: pl.DataFrame
    """Table of estimates: differences of cells, their mean and size, and further rows of the page."""
    overall: pl.DataFrame
    beside: tuple[Measure, ...]
    """Measures that are compared besides."""
    further: tuple[Measure, ...]
    """Their definitions, and those of other rows."""
    ends: tuple[pl.DataFrame, pl.DataFrame]
    """Intervals of either run's estimates, by measure and labels."""
    without: Sequence[Deletion] = ()
    """Estimates of both runs without each group of what was sampled."""
    offered: Sequence[OfferedTable] = ()
    """What the study compares besides, as tables for people."""
    unseen: bool = False
    """Whether nothing shows that either model sees the pictures."""

    @property
    def definitions(self) -> tuple[Measure, ...]:
        """Definitions of the measures of all rows."""
        of_all = (kind(measure) for measure in self.measures for kind in (mean_of, size_of))
        return *self.measures, *of_all, *self.further


def compared_measures(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[str, ...]:
    """Name what two tables of estimates are compared by, and what besides."""
    measures, compared = comparable(study, tables)
    return *(measure.key for measure in measures), *compared.also


def check_margin(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame], margin: float | None) -> None:
    """Refuse a margin that no difference can lie beyond."""
    if margin is not None:
        measures = comparable(study, tables)[0]
        if len({measure.unit for measure in measures}) > 1:
            units = ", ".join(f"{measure.key} ({measure.unit})" for measure in measures)
            raise DataError(f"A margin is in one unit, and the scores have several: {units}.")
        check_margins({measure.key: margin for measure in measures}, [*map(change_of, measures)])


def cell_differences(
    study: Study, tables: tuple[pl.DataFrame, pl.DataFrame], without: Iterable[Deletion], units: SharedUnits,
    besides: pl.DataFrame | None = None, definitions: Sequence[Measure] = (),
) -> Differences:  # fmt: skip
    """Take the differences of two tables of estimates; see `compare_estimates`."""
    measures, compared = comparable(study, tables)
    first_cells, second_cells = (cells_of(table, compared, measures) for table in tables)
    cells = finest_cells(first_cells, second_cells, compared)
    definitions_by_key = {definition.key: definition for definition in study.estimates.measures}
    further_measures = tuple(definitions_by_key[name] for name in compared.also)
    estimates = [
        pl.concat(
            [
                reduce_estimates(_select_cells(table, compared, measures, rows)),
                *(reduce_estimates(_companion_rows(table, compared, measure)) for measure in further_measures),
            ]
        )
        for table, rows in zip(tables, cells, strict=True)
    ]
    alone = [
        present.join(others, on=[*compared.cells], how="anti", nulls_equal=True)
        for present, others in (cells, cells[::-1])
    ]
    keys = ["measure", *(name for name in label_columns(tables[0]) if name != "intervention")]
    rows_of_first = estimates[0].join(estimates[1], on=keys, how="semi", nulls_equal=True, maintain_order="left")
    if not rows_of_first.select(rows_of_any(measures).any()).item():
        first_cell, second_cell = (_example(rows, compared.cells) for rows in cells)
        raise DataError(f"The two have no cell in common: {first_cell} in the first, {second_cell} in the second.")
    norms = [measure for measure in (*measures, *further_measures) if measure.norm]
    changes = ChangeSet(rows_of_first, estimates[1], without, norms)
    table = EstimateTable(study.name, tables[1]["model"][0], study.estimates.labels)
    braced = ", ".join(f"{{{name}}}" for name in compared.within)
    family = f"{family_of(measures)} ({braced})" if braced else family_of(measures)
    for measure in measures:
        enter_cells(table, changes, measure, FIRST_RUN, family)
    for measure in further_measures:
        enter_cells(table, changes, measure, FIRST_RUN, family_of([measure]))
    overall = statistics_of(table, changes, measures, compared.within)
    rows = table.frame() if besides is None else stack_estimates([table.frame(), besides])
    further = (*further_measures, *definitions)
    first_ends, second_ends = (table.select(*keys, "low", "high").unique(keys, keep="first") for table in tables)
    return Differences(
        study, measures, compared, units, changes, (alone[0], alone[1]), rows, overall, further_measures, further,
        (first_ends, second_ends),
    )  # fmt: skip


def family_of(measures: Sequence[Measure]) -> str:
    """Name of the families of all cells: they lead the page together, one for each measure."""
    return f"differences in {measures[0].key if len(measures) == 1 else 'all scores'}"


def enter_cells(
    table: EstimateTable, changes: ChangeSet, measure: Measure, versus: str, family: str,
    *, added: Mapping[str, str] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Enter the changes of all cells of a measure into a table of estimates.

    Parameters
    ----------
    versus:
        What the changes are differences from.
    family:
        With what they are judged, as in `EstimateTable.add`.
    added:
        Labels of all of them that cells do not have.
    """
    rows = np.flatnonzero(changes.frame.select(measure.rows).to_series().to_numpy())
    definition = change_of(measure)
    estimates, p = changes.estimates(rows, definition)
    frame = changes.frame[rows]
    labels = [name for name in (*table.labels, "word", "score") if name in frame.columns]
    levels = {name: frame[name].to_list() for name in labels}
    levels |= {name: [level] * rows.size for name, level in {"versus": versus, **added}.items()}
    untested = frame["(floored)"].to_numpy() & (not (measure.signed or measure.norm))
    table.add(
        definition,
        levels,
        replace(estimates, p=np.where(untested, np.nan, p), bounds=changes.bounds(rows)),
        family=family,
    )


def statistics_of(
    table: EstimateTable | None, changes: ChangeSet, measures: Sequence[Measure], within: Sequence[str]
) -> pl.DataFrame:
    """Statistics of all cells of each measure by level; means and root mean squares are entered into the table."""
    records = []
    for measure in measures:
        usable = changes.frame.select(measure.rows).to_series().to_numpy() & np.isfinite(changes.value) & ~changes.bare
        frame = changes.frame.with_row_index("row").filter(usable)
        for levels, cells in frame.group_by(list(within), maintain_order=True) if within else [((), frame)]:
            if not cells.height or (table is None and levels[-1] is None):
                continue
            labels = dict(zip(within, levels, strict=True))
            for summary in difference_summaries(changes, cells["row"].to_numpy().astype(np.int64), measure):
                of = {"measure": measure.name, "score": measure.score or None}
                records.append({**of, **labels, **as_row(summary), "cells": cells.height})
                kind = {MEAN: mean_of(measure), RMS: size_of(measure)}.get(summary.name)
                if table is not None and kind is not None:
                    columns = {name: [level] for name, level in labels.items()}
                    p = np.array([summary.p])
                    family = f"{kind.title} ({measure.key})"
                    table.add(kind, columns, replace(summary.estimate, p=p, floor=summary.floor), family)
    names = tuple(dict.fromkeys([*told_apart_by(measures), *within]))
    schema = {**dict.fromkeys(names, pl.String()), **_OVERALL}
    return pl.DataFrame(records, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def told_apart_by(measures: Sequence[Measure]) -> tuple[str, ...]:
    """Labels by which several measures are told apart."""
    if len(measures) == 1:
        return ()
    return ("measure", "score") if any(measure.score for measure in measures) else ("measure",)


_OVERALL: dict[str, pl.DataType] = {
    "statistic": pl.String(), "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "n": pl.Int64(),
    "clusters": pl.Int64(), "p": pl.Float64(), "floor": pl.Float64(), "floor_high": pl.Float64(),
    "method": pl.String(), "detail": pl.String(), "cells": pl.Int64(),
}  # fmt: skip


def _select_cells(
    table: pl.DataFrame, compared: CellComparison, measures: Sequence[Measure], rows: pl.DataFrame
) -> pl.DataFrame:
    """Estimates of some cells of a table."""
    return rows_compared(table, compared, measures).join(rows, on=list(compared.cells), how="semi", nulls_equal=True)


def _companion_rows(table: pl.DataFrame, compared: CellComparison, measure: Measure) -> pl.DataFrame:
    """Estimates of a measure that is compared besides."""
    rows = table.filter(measure.rows)
    return deepest_breakdowns(rows) if compared.deepest else rows


def _example(rows: pl.DataFrame, keys: Sequence[str]) -> str:
    if not rows.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in rows.select(keys).row(0, named=True).items() if level)
