"""Printed comparisons, cell by cell: real against synthetic pictures (VIGNETTE, Tables 12 and 13), two sources of text.

Works on plain tables of values without uncertainty, as papers print them. Runs are compared on what was sampled instead
(`measures.run_differences`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.selection import to_array

STATISTICS = ("mean_signed_delta", "mean_absolute_error", "rmse", "max_absolute_delta")
"""What Tables 12 and 13 print, in their order."""
PERCENT = (0.0, 100.0)
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Matched:
    """Cells that were measured twice, and those that were not."""

    keys: tuple[str, ...]
    cells: pl.DataFrame
    """Keys, `first`, `second`, `delta` (second - first)."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Keys of the cells that only one of the two has a value for."""


def match(
    first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str], limits: tuple[float, float] = PERCENT
) -> Matched:
    """Bring two tables of values together, cell by cell.

    Parameters
    ----------
    first, second:
        Columns `keys` (null is a level like any other: "over all") and `value`. A null value is none. One row per cell.
    limits:
        Smallest and largest possible value.

    Equation
    --------
    delta = second - first.

    Raises
    ------
    UnknownNameError
        A table lacks a column.
    DataError
        A table has two rows for one cell or an impossible value, or the two share no cell.

    Examples
    --------
    >>> real = pl.DataFrame({"identity": ["old", "young", "adult"], "value": [40.0, 55.0, 60.0]})
    >>> drawn = pl.DataFrame({"identity": ["old", "young", "child"], "value": [45.0, 50.0, 50.0]})
    >>> both = match(real, drawn, ["identity"])
    >>> both.cells.select("identity", "delta").rows()
    [('old', 5.0), ('young', -5.0)]
    >>> both.only_first.rows(), both.only_second.rows()
    ([('adult',)], [('child',)])
    """
    a, b = (_table(frame, keys, limits) for frame in (first, second))
    joined = a.join(b, on=list(keys), nulls_equal=True, suffix="_second", maintain_order="left")
    if not joined.height:
        raise DataError(
            f"The two have no cell in common: {_example(a, keys)} in the first, {_example(b, keys)} in the second."
        )
    alone = (
        table.join(rival, on=list(keys), how="anti", nulls_equal=True, maintain_order="left").select(keys)
        for table, rival in ((a, b), (b, a))
    )
    cells = joined.rename({"value": "first", "value_second": "second"})
    return Matched(tuple(keys), cells.with_columns(delta=pl.col("second") - pl.col("first")), next(alone), next(alone))


def _table(frame: pl.DataFrame, keys: Sequence[str], limits: tuple[float, float]) -> pl.DataFrame:
    for name in (*keys, "value"):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    value = pl.col("value").cast(pl.Float64).fill_nan(None)
    out = frame.select(*(pl.col(name).cast(pl.String) for name in keys), value).filter(pl.col("value").is_not_null())
    wrong = out.filter(~pl.col("value").is_between(limits[0] - _SLACK, limits[1] + _SLACK))
    if wrong.height:
        problem = "no percentage" if limits == PERCENT else f"not between {limits[0]:g} and {limits[1]:g}"
        raise DataError(f"{wrong['value'][0]:g} is {problem}: {_example(wrong, keys)}.")
    twice = out.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(f"Two rows for one cell: {_example(twice, keys)}.")
    return out


def _example(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    if not frame.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in zip(keys, frame.row(0), strict=False) if level is not None)


def summarise(matched: Matched, by: Sequence[str] = ()) -> pl.DataFrame:
    """Take the four numbers of Tables 12 and 13.

    `by`: keys to summarise by (activity); all cells together by default.
    Returns a row per level of `by` and statistic: `by`, `statistic`, `value`, `n` (cells).

    Equation
    --------
    mean signed delta Σ d_i / N; mean absolute error Σ |d_i| / N; RMSE sqrt(Σ d_i² / N); maximum max |d_i| (VIGNETTE,
    section A.6, Tables 12 and 13), d_i = second - first.
    """
    for name in by:
        if name not in matched.keys:
            raise UnknownNameError("key", name, matched.keys)
    groups = [((), matched.cells)] if not by else matched.cells.group_by(list(by), maintain_order=True)
    tables = []
    for levels, cells in groups:
        delta = to_array(cells["delta"])
        values = (delta.mean(), np.abs(delta).mean(), np.sqrt((delta**2).mean()), np.abs(delta).max())
        rows = pl.DataFrame({"statistic": STATISTICS, "value": [float(x) for x in values], "n": [delta.size] * 4})
        tables.append(
            rows.select(*(pl.lit(lv, pl.String).alias(k) for k, lv in zip(by, levels, strict=True)), pl.all())
        )
    return pl.concat(tables)
