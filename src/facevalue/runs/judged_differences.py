"""Differences between runs, of any studies, judged together at the level of one page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from facevalue.measures.caveats import caveat_column
from facevalue.measures.definitions import Measure, key_of, rows_of, rows_of_any, value_by_measure
from facevalue.measures.estimates import stack_estimates, with_adjusted
from facevalue.measures.instrument import UNSEEN_PICTURES, without_equivalence
from facevalue.measures.judgment import judge
from facevalue.measures.paired_changes import Deletion
from facevalue.measures.run_comparison import MEAN, RMS, mean_of, size_of
from facevalue.protocol.study import Study
from facevalue.runs.compared_cells import (
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
    family_of,
    statistics_of,
    told_apart_by,
)

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
