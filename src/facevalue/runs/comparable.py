"""Choice of what two runs are compared by: which measures both have, and which of their cells."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from facevalue.errors import NothingComparedError
from facevalue.measures.definitions import Measure, rows_of_any, value_by_measure
from facevalue.measures.estimates import label_columns
from facevalue.measures.judges import JUDGED_BY
from facevalue.measures.multitest import in_family, leading_families
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.study import Study


def comparable(study: Study, tables: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[tuple[Measure, ...], CellComparison]:
    """Say which measures two runs are compared by, and which labels name their cells.

    Of several, each by the labels that it has, `measure` is then one of the labels.
    """
    measures, compared = {measure.key: measure for measure in study.estimates.measures}, study.extras.compare

    def shared(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(key for key in names if all(table.select(measures[key].rows.any()).item() for table in tables))

    besides = shared(compared.also)
    names, families = shared(compared.measures), compared.families
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
    return chosen, _named(replace(compared, measures=names, families=families, also=also), chosen, tables)


def directed(measures: Sequence[Measure], tables: Sequence[pl.DataFrame]) -> tuple[Measure, ...]:
    """Those of these measures that can rise and fall: no spreads, nor what stands beside a floor as noise makes it."""
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


def _named(compared: CellComparison, measures: Sequence[Measure], tables: Sequence[pl.DataFrame]) -> CellComparison:
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
    return deepest(rows) if compared.deepest else rows


def deepest(rows: pl.DataFrame) -> pl.DataFrame:
    """Of the rows of each measure those that are broken down by as many labels as any."""
    if JUDGED_BY in rows.columns:  # what people alone say of texts stands beside what is compared
        rows = rows.filter(pl.col(JUDGED_BY).is_null())
    depth = pl.sum_horizontal(pl.col(name).is_not_null() for name in label_columns(rows))
    return rows.filter(depth == depth.max().over("measure", "score"))


def finest(first: pl.DataFrame, second: pl.DataFrame, compared: CellComparison) -> tuple[pl.DataFrame, pl.DataFrame]:
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


def cells_of(estimates: pl.DataFrame, compared: CellComparison, measures: Iterable[Measure]) -> pl.DataFrame:
    """Labels of the cells that have a value, and by which of `finer` and `pooled` they are."""
    flags = (pl.col(name).is_not_null().alias(f"by_{name}") for name in (*compared.finer, *compared.pooled))
    rows = rows_compared(estimates, compared, measures).filter(pl.col("value").is_not_null())
    return rows.select(*compared.cells).with_columns(*flags)
