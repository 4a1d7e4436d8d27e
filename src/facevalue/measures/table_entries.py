"""Frames of estimates: their columns as estimates, their rows in the table, and names of their families."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable, Level
from facevalue.measures.selection import method, to_array
from facevalue.measures.shares import WILSON
from facevalue.measures.uncertainty import Bounds, Estimates, Floor


def record(
    table: EstimateTable,
    measure: Measure,
    frame: pl.DataFrame,
    how: str | npt.NDArray[np.object_] = WILSON,
    *,
    apart: Sequence[str] = (),
    within: Sequence[str] = (),
    family: str | pl.Expr | None = None,
) -> None:
    """Add a row per row of the frame.

    Parameters
    ----------
    frame:
        Labels, and the columns of `frame_estimates`.
    how:
        How intervals were made, for all rows with enough clusters or for each.
    apart, within:
        Columns of whose levels each is a family of its own: what is asked, and of which part of the study.
    family:
        Whose p-values are judged together, for people; no q without it.
    """
    if not frame.height:
        return
    families = None if family is None else family_names(frame, family, apart, within)
    labels = {name: frame[name] for name in table.labels if name in frame.columns}
    table.add(measure, labels, frame_estimates(frame, method(frame, how) if isinstance(how, str) else how),
              family=families)  # fmt: skip


def bounds_of(frame: pl.DataFrame) -> Bounds:
    """Columns `value`, `bound_low`, `bound_high` and, if known, `bound_se` as bounds."""
    nothing = np.full(frame.height, np.nan)
    error = to_array(frame["bound_se"]) if "bound_se" in frame.columns else nothing
    value, low, high = (to_array(frame[name]) for name in ("value", "bound_low", "bound_high"))
    return Bounds(value, low, high, nothing, error)


def family_names(frame: pl.DataFrame, test: str | pl.Expr, apart: Sequence[str], within: Sequence[str]) -> pl.Series:
    """Name each row's family: what is tested, of which levels of `apart`, and within which of `within`.

    Examples
    --------
    >>> rows = pl.DataFrame({"paradigm": ["perception"], "question": ["struggle"], "dimension": ["age"]})
    >>> family_names(rows, "identities", ["paradigm", "question"], ["dimension"]).to_list()
    ['identities, perception, struggle (age)']
    """
    columns, inside = ([pl.col(name) for name in names if name in frame.columns] for names in (apart, within))
    tested = [pl.lit(test) if isinstance(test, str) else test, *columns]
    texts = (pl.concat_str(names, separator=", ", ignore_nulls=True) for names in (tested, inside))
    return frame.select(pl.format("{} ({})", *texts).alias("family"))["family"]


def columns(names: Sequence[str], rows: Sequence[tuple[Level, ...]]) -> dict[str, list[Level]]:
    """Label rows as columns.

    Examples
    --------
    >>> columns(("dimension", "group"), [("race", "asian"), ("race", None)])
    {'dimension': ['race', 'race'], 'group': ['asian', None]}
    """
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def frame_estimates(frame: pl.DataFrame, how: npt.NDArray[np.object_] | None = None) -> Estimates:
    """Read a frame's columns as estimates, with its own `method` unless another is given; null is NaN.

    `frame`: `value`, `n`, `clusters` and, if known, `low`, `high`, `se`, `p`, `p_paper`, `p_least`, `floor` and
    `floor_high`, and `bound_low`, `bound_high` and `bound_se`.
    """
    names = ("value", "low", "high", "se", "p", "p_paper", "p_least", "floor", "floor_high")
    columns: dict[str, Any] = {name: to_array(frame[name]) for name in names if name in frame.columns}
    none = np.full(frame.height, np.nan)
    n, clusters = (np.rint(np.nan_to_num(to_array(frame[c]))).astype(np.int64) for c in ("n", "clusters"))
    if "floor" in columns:
        columns["floor"] = Floor(columns["floor"], columns.pop("floor_high"), columns["p"])
    if "bound_low" in frame.columns:
        columns["bounds"] = bounds_of(frame)
    method = np.array(frame["method"].to_list(), object) if how is None else how.astype(object)
    return Estimates(**{"low": none, "high": none, **columns}, n=n, clusters=clusters, method=method)


def codes(column: pl.Series) -> npt.NDArray[np.int64]:
    """A column's levels as numbers from 0, in their order.

    Examples
    --------
    >>> codes(pl.Series(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """
    return column.rank("dense").cast(pl.Int64).to_numpy() - 1
