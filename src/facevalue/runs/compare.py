"""Comparison of two runs of one study, cell by cell, such as real against synthetic pictures (VIGNETTE, A.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from facevalue.errors import RunError
from facevalue.measures.base import Measure
from facevalue.measures.estimates import label_columns
from facevalue.measures.page_error import leads
from facevalue.measures.run_comparison import Matched, Scale, match, summarise
from facevalue.protocol.offers import Compared, Table
from facevalue.protocol.study import Study
from facevalue.runs.joined import estimate
from facevalue.runs.stored import StoredRun

_NUMBERS = ("value", "se", "n", "clusters")
_PERCENT = ("%", "pp")


@dataclass(frozen=True)
class Agreement:
    """How far two runs lie apart."""

    measure: Measure
    """What is compared."""
    compared: Compared
    """How, with the labels that name a cell."""
    matched: Matched
    """Cells that both measured, and those that one did."""
    overall: pl.DataFrame
    """The numbers of Table 12, by the labels that cells are compared within."""
    beside: pl.DataFrame
    """Those of Table 13, by one label more; none where no cell has it."""
    notes: tuple[str, ...] = ()
    """What else differs between the runs, for people."""
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The wording of levels for people, where it isn't the level itself."""
    further: Sequence[Table] = ()
    """What the study compares besides."""

    @property
    def unit(self) -> str:
        """Unit of the deltas, for people."""
        return "percentage points" if self.measure.unit in _PERCENT else self.measure.unit

    def json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "measure": self.measure.name,
            "unit": self.measure.unit,
            "notes": list(self.notes),
            "cells_matched": self.matched.cells.height,
            "only_first": self.matched.only_first.to_dicts(),
            "only_second": self.matched.only_second.to_dicts(),
            "overall": self.overall.to_dicts(),
            **({f"by_{self.compared.beside}": self.beside.to_dicts()} if self.compared.beside else {}),
            "cells": self.matched.cells.to_dicts(),
            **({"further": [asdict(table) for table in self.further]} if self.further else {}),
        }


def compare_runs(first: StoredRun, second: StoredRun, seed: int = 0) -> Agreement:
    """Compare two runs cell by cell, second minus first, by the measure that their study declares."""
    if first.folder.resolve() == second.folder.resolve():
        raise RunError(f"{first.folder} would be compared with itself: name two runs.")
    if first.study.name != second.study.name:
        raise RunError(
            f"{first.folder} is a run of {first.study.name}, {second.folder} one of {second.study.name}: compare runs "
            "of one study."
        )
    tables = []
    for run in (first, second):
        found, tallies = estimate([run.plain()])
        if not any(tally.valid for tally in tallies.values()):
            raise RunError(f"{run.folder} has no valid answer to compare.")
        tables.append(found)
    measure, compared = comparable(first.study, (tables[0], tables[1]))
    notes = differences(first, second)
    agreed = compare_estimates(tables[0], tables[1], measure, compared, seed, notes, first.study.titles)
    return replace(agreed, further=compared.further(tables[0], tables[1])) if compared.further else agreed


def comparable(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[Measure, Compared]:
    """Say which measure two runs are compared by, and which labels name its cells."""
    measures, compared = {one.name: one for one in study.measures}, study.extras.compare
    if compared.measure and all((table["measure"] == compared.measure).any() for table in tables):
        return measures[compared.measure], _named(compared, tables)
    known = [table.filter(pl.col("se").is_not_null() & pl.col("value").is_not_null()) for table in tables]
    for name in study.lead:
        own = [table.filter(leads(pl.col("family"), (name,), table)) for table in known]
        for measure in own[0]["measure"].unique(maintain_order=True):
            if measures[measure].signed and (own[1]["measure"] == measure).any():
                families = tuple(own[0].filter(pl.col("measure") == measure)["family"].unique(maintain_order=True))
                return measures[measure], _named(Compared(measure, families=families), tables)
    raise RunError(
        f"The two runs of {study.name} have no measure with a direction and a standard error in common: there is "
        "nothing to compare."
    )


def _named(compared: Compared, tables: Sequence[pl.DataFrame]) -> Compared:
    """The same with the labels that name a cell: those declared, or all that a cell has."""
    if compared.cells:
        return compared
    compared = replace(compared, deepest=True)
    own = pl.concat([_own(table, compared) for table in tables], how="diagonal")
    cells = tuple(name for name in label_columns(own) if own[name].null_count() < own.height)
    return replace(compared, cells=cells or ("measure",))


def _own(table: pl.DataFrame, compared: Compared) -> pl.DataFrame:
    """The rows of what is compared."""
    own = table.filter(pl.col("measure") == compared.measure, *(pl.col(name).is_not_null() for name in compared.needs))
    own = own.filter(pl.col("family").is_in(compared.families)) if compared.families else own
    if not compared.deepest:
        return own
    depth = pl.sum_horizontal(pl.col(name).is_not_null() for name in label_columns(own))
    return own.filter(depth == depth.max())


def differences(first: StoredRun, second: StoredRun) -> tuple[str, ...]:
    """What else differs between two runs, one sentence each; such differences are part of the deltas."""
    notes = []
    one, two = first.facts.model, second.facts.model
    if one != two:
        notes.append(f"The models differ: {one} and {two}. The deltas are those of models, too.")
    settings: list[Mapping[str, Any]] = [
        {**run.study.options, "sample": run.facts.sample, "sample seed": run.facts.seed, "version": run.study.version}
        for run in (first, second)
    ]
    names = dict.fromkeys([*settings[0], *settings[1]])
    differing = [name for name in names if settings[0].get(name) != settings[1].get(name)]
    if differing:
        notes.append(f"Settings that differ: {', '.join(differing)}.")
    return tuple(notes)


def compare_estimates(
    first: pl.DataFrame,
    second: pl.DataFrame,
    measure: Measure,
    compared: Compared,
    seed: int = 0,
    notes: Sequence[str] = (),
    titles: Mapping[str, Mapping[str, str]] | None = None,
) -> Agreement:
    """Compare a measure in two tables of estimates."""
    one, two = _finest(_cells(first, compared), _cells(second, compared), compared)
    matched = match(one, two, compared.cells, compared.within, _scale(measure))
    unit = compared.unit or compared.cells
    overall = summarise(matched, unit, compared.within, seed)
    beside = overall.clear()
    if compared.beside:
        done = matched.cells.filter(pl.col(compared.beside).is_not_null())
        if done.height:
            part = replace(matched, cells=done)
            beside = summarise(part, unit, [*compared.within, compared.beside], seed)
    return Agreement(measure, compared, matched, overall, beside, tuple(notes), titles or {})


def _scale(measure: Measure) -> Scale:
    low, high = measure.limits
    return Scale(low, high, share=low == 0.0 and high in (1.0, 100.0))


def _finest(first: pl.DataFrame, second: pl.DataFrame, compared: Compared) -> tuple[pl.DataFrame, pl.DataFrame]:
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
    for table, own in zip((first, second), kinds, strict=True):
        alone = _first(own.join(shared, on=kind, how="anti", nulls_equal=True), compared)
        out.append(table.join(pl.concat([shared, alone]), on=[*kind, *flags], how="semi", nulls_equal=True))
    return out[0], out[1]


def _first(kinds: pl.DataFrame, compared: Compared) -> pl.DataFrame:
    finest = [pl.col(f"by_{name}") for name in compared.finer] + [~pl.col(f"by_{name}") for name in compared.pooled]
    ordered = kinds.sort(*finest, descending=True)
    return ordered.unique(list(compared.kinds), keep="first", maintain_order=True)


def _cells(estimates: pl.DataFrame, compared: Compared) -> pl.DataFrame:
    flags = (pl.col(name).is_not_null().alias(f"by_{name}") for name in (*compared.finer, *compared.pooled))
    return _own(estimates, compared).select(*compared.cells, *_NUMBERS).with_columns(*flags)
