"""Estimates of variants: those of the plain study in each condition, and their paired changes."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue.measures import paired_changes
from facevalue.measures.cells import unit_of
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.estimates import EstimateTable, stack_estimates
from facevalue.measures.estimators import SumTable
from facevalue.measures.paired_changes import ChangeSet, add_readings, reduce_estimates
from facevalue.prompts import caesar
from facevalue.protocol.conditions import READING, Conditions
from facevalue.protocol.kept_answers import MOST_ROWS, KeptAnswers, grouped, left_out
from facevalue.protocol.sampled_units import COLUMNS, Groups, UnitNames

_UNIT = COLUMNS[0]


def analyse(conditions: Conditions, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything in every condition, and the changes.

    Returns the plain study's estimates from the plain answers; then, for each model and variant, its estimates and
    their changes, with the label `intervention`. A condition without answers has none.
    """
    study = conditions.study
    with TemporaryDirectory(prefix="facevalue-") as folder:
        by_model = {
            model: _split(conditions, model, chunks, Path(folder) / str(at))
            for at, (model, chunks) in enumerate(answers.items())
        }
        tables = [study.analyse({model: conditions_of[0].chunks() for model, conditions_of in by_model.items()})]
        for model, conditions_of in by_model.items():
            plain = tables[0].filter(pl.col("model") == model) if tables[0].height else tables[0]
            tables += _model(conditions, model, conditions_of, plain)
    return stack_estimates([table for table in tables if table.height] or tables[:1])


def _split(conditions: Conditions, model: str, chunks: Iterator[pl.DataFrame], folder: Path) -> list[KeptAnswers]:
    """One model's answers by condition."""
    units = UnitNames().of(conditions.study)
    count = 1 + len(conditions.variants)
    out = [KeptAnswers(conditions.study, model, units, folder / str(condition)) for condition in range(count)]
    for chunk in chunks:
        plain = conditions.plain(chunk)
        condition = pl.Series(conditions.of(chunk))
        for c, answers in enumerate(out):
            of_condition = plain.filter(condition == c)
            if of_condition.height:
                answers.add(of_condition, to_disk=sum(a.rows for a in out) > MOST_ROWS)
    return out


def _model(
    conditions: Conditions, model: str, by_condition: Sequence[KeptAnswers], plain: pl.DataFrame
) -> list[pl.DataFrame]:
    """Estimates and changes of one model in every variant."""
    study, unit = conditions.study, unit_of(conditions.study.estimates.measures)
    base = by_condition[0]
    groups = grouped(by_condition, paired=True)
    plain_taken: dict[bytes, tuple[pl.DataFrame, list[pl.DataFrame]]] = {}
    tables = []
    for variant, changed in zip(conditions.variants, by_condition[1:], strict=True):
        if not changed.rows:
            continue
        name = variant.name
        estimates = changed.estimates()
        tables.append(estimates.with_columns(pl.lit(name).alias("intervention")))
        table = EstimateTable(study.name, model, (READING,) if variant.cipher else (), name)
        if variant.cipher:
            _add_readings(table, changed, unit)
        if base.rows:
            shared = np.intersect1d(base.trials(), changed.trials())
            is_whole = shared.size == base.trials().size == changed.trials().size
            first, second = (base, changed) if is_whole else (base.of_trials(shared), changed.of_trials(shared))
            if shared.tobytes() not in plain_taken:
                plain_taken[shared.tobytes()] = _taken(first, groups, plain if is_whole else None)
            before, after = plain_taken[shared.tobytes()], _taken(second, groups, estimates if is_whole else None)
            changes = ChangeSet(before[0], after[0], left_out(before[1], after[1], groups))
            tables.append(changes.table(study.estimates.measures, study.name, model, name))
            add_missing_change(table, first, second, unit, NO_INTERVENTION)
            if study.changes.alike is not None:
                tables.append(study.changes.alike(model, name, first.chunks(), second.chunks()))
        tables.append(table.frame())
    return tables


def _taken(answers: KeptAnswers, groups: Groups, ready: pl.DataFrame | None) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """The estimates of one condition, and their values without each group."""
    estimates = answers.estimates() if ready is None else ready
    return reduce_estimates(estimates), list(answers.without(groups))


def add_missing_change(table: EstimateTable, first: KeptAnswers, second: KeptAnswers, unit: str, versus: str) -> None:
    """Add the change in the share of replies without a valid answer, over the units on either side of each pair."""
    totals = _totals(first).join(_totals(second), on=["unit_1", "unit_2"], how="full", coalesce=True, suffix="_other")
    paired_changes.add_missing_change(table, totals.fill_null(0.0), unit, versus)


def _totals(answers: KeptAnswers) -> pl.DataFrame:
    """Replies and those without a valid answer, by pair of units."""
    ranks, totals = answers.units.names.ranks(), SumTable(("unit_1", "unit_2"), ("replies", "missing"))
    for rows in answers.raw():
        valid = pl.col("mass").cast(pl.Float64) if "mass" in rows.columns else pl.lit(1.0)
        mass = pl.when(pl.col("na").is_null()).then(valid).fill_null(0.0)
        first, second = (pl.Series(ranks[rows[name].to_numpy()]) for name in COLUMNS)
        totals.add(
            rows.select(
                unit_1=pl.min_horizontal(first, second), unit_2=pl.max_horizontal(first, second),
                replies=pl.lit(1.0), missing=1 - mass,
            )
        )  # fmt: skip
    return totals.frame().sort("unit_1", "unit_2")


def _add_readings(table: EstimateTable, answers: KeptAnswers, unit: str) -> None:
    counts_of = [chunk.filter(pl.col(READING).is_not_null()).group_by(_UNIT, READING).len() for chunk in answers.raw()]
    counted = pl.concat(counts_of).group_by(_UNIT, READING).agg(pl.col("len").sum()).sort(_UNIT)
    if not counted.height:
        return
    kinds = [kind.value for kind in caesar.CipherKind]
    cluster = counted[_UNIT].rank("dense").to_numpy().astype(np.int64) - 1
    kind = counted[READING].cast(pl.Enum(kinds)).to_physical().to_numpy().astype(np.int64)
    counts = np.zeros((int(cluster.max()) + 1, len(kinds)))
    np.add.at(counts, (cluster, kind), counted["len"].to_numpy())
    add_readings(table, counts, kinds, unit)
