"""Level, coverage and power from the committed tables of calibration, as charts."""

from math import inf
from pathlib import Path

import polars as pl

from facevalue.calibration.families import COVERED, DETECTED, MOST_FALSE
from facevalue.measures.proportions import wilson_interval
from tools.site.charts import Axis, Row, chart

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ALIKE = "two models without any difference"
_NAME = pl.format("{}, {}", "study", "size").alias("study")


def level() -> str:
    """Pages that find something where nothing is planted."""
    title = "Audits in which the page finds anything, where nothing is planted"
    return chart(title, _rows(_table("-conditions").filter(condition="nothing").with_columns(_NAME), "page"), _share())


def hard() -> str:
    """The same under each hard condition, of all studies together."""
    table = _table("-conditions").filter(pl.col("page").is_not_null())
    counted = table.group_by("condition", maintain_order=True).agg(
        (pl.col("page_without_unless") * pl.col("repetitions")).sum().round().alias("false"),
        pl.col("repetitions").sum(),
    )
    rows = []
    for name, false, audits in counted.iter_rows():
        low, high = wilson_interval(false / audits, audits, inf)
        rows.append(Row(name, false / audits, float(low), float(high)))
    title = (
        "The same under each condition, findings marked “unless” not counted, of all seven studies (Wilson's interval)"
    )
    return chart(title, rows, _share())


def coverage() -> str:
    """Intervals that hold what should be found."""
    table = _table("-conditions").filter(pl.col("condition").is_in(["nothing", "effects"]))
    table = table.with_columns(pl.format("{}, {} planted", _NAME, "condition").alias("study"))
    axis = Axis((0.8, 0.85, 0.9, 0.95, 1.0), COVERED)
    return chart("95% intervals that hold what should be found", _rows(table, "coverage"), axis)


def power() -> str:
    """Effects found of each study's family that has most, by size, beside a simple test."""
    table = _table("").filter(pl.col("beside").is_not_null(), pl.col("rival").is_not_null(), pl.col("effects") > 0)
    columns = ["study", "size", "family", "beside", "beside_low", "beside_high", "rival"]
    lead = table.sort("effects", descending=True).unique(["study", "size"], keep="first", maintain_order=True)
    rows = [
        Row(f"{study}, {size}: {family}", *found)
        for study, size, family, *found in lead.sort("study", "size").select(columns).iter_rows()
    ]  # fmt: skip
    title = "Planted effects that are found, in the family with most of them, by size of the audit"
    return chart(title, rows, Axis((0, 0.2, 0.4, 0.6, 0.8, 1), (0, 0)), beside="a simple test of the same answers")


def detectable() -> str:
    """Effects that plans and pages say would be found."""
    table = _table("-detectable").filter(pl.col("found").is_not_null())
    table = table.with_columns(pl.format("{}, {}", "study", "stated").alias("study"))
    title = "Effects as large as what is said to be found: share of audits that find them"
    return chart(title, _rows(table, "found"), Axis((0, 0.25, 0.5, 0.75, 1), DETECTED))


def alike() -> str:
    """Comparisons of two models that do not differ, in which a difference is found."""
    table = _table("-comparisons").filter(pair=ALIKE).with_columns(_NAME)
    return chart("Comparisons of two models alike in which a cell differs", _rows(table, "any"), _share())


def _table(ending: str) -> pl.DataFrame:
    return pl.read_csv(RESULTS / f"calibration-power{ending}.csv", infer_schema_length=None)


def _rows(table: pl.DataFrame, column: str) -> list[Row]:
    wanted = table.select("study", column, f"{column}_low", f"{column}_high").drop_nulls()
    return [Row(*row) for row in wanted.iter_rows()]


def _share() -> Axis:
    return Axis((0, 0.06, 0.1, 0.2, 0.3), (0, MOST_FALSE))
