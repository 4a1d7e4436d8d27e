"""Entries of the table of estimates: shares by label, frames as estimates, and what could not be measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import proportions
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import Inference, Labels, Level, label_columns, nothing
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.selection import method, to_array


def enter(
    table: EstimateTable,
    measure: Measure,
    labels: Labels,
    estimates: Estimates | Inference,
    family: Any = None,
    **more: Any,
) -> None:
    """Add estimates (`EstimateTable.add`); a label that is one level, or None, is that of all of them."""
    inference = estimates if isinstance(estimates, Inference) else Inference(estimates)
    columns = label_columns(labels, inference.estimates.value.size)
    table.add(measure, columns, family=family, **{**inference.columns, **more})


def not_measurable(table: EstimateTable, measure: Measure, labels: Mapping[str, Level], reason: str) -> None:
    """Enter one estimate that could not be taken, with the reason."""
    enter(table, measure, labels, nothing(reason))


def record(
    table: EstimateTable,
    measure: Measure,
    frame: pl.DataFrame,
    how: str | npt.NDArray[np.object_] = proportions.WILSON,
    *,
    apart: Sequence[str] = (),
    within: Sequence[str] = (),
    p: Array | None = None,
    p_least: Array | None = None,
    family: str | pl.Expr | None = None,
    floor: Floor | None = None,
) -> None:
    """Add a row per row of the frame.

    Parameters
    ----------
    frame:
        Labels, `value`, `low`, `high`, `se`, `n`, `clusters`, and, if known, `bound_low`, `bound_high` and `bound_se`,
        `p`, `p_paper` and `p_least`, `floor` and `floor_high`.
    how:
        How intervals were made, for all rows with enough clusters or for each.
    apart, within:
        Columns of whose levels each is a family of its own: what is asked, and of which part of the study.
    p, p_least, floor:
        Those that the frame does not have.
    family:
        Whose p-values are judged together, for people; no q without it.
    """
    if not frame.height:
        return
    entries = estimates(frame, method(frame, how) if isinstance(how, str) else how)
    bounds = bounds_of(frame) if "bound_low" in frame.columns else None
    families = None if family is None else family_names(frame, family, apart, within)
    names = ("p", "p_paper", "p_least", "floor", "floor_high")
    tests: dict[str, Any] = {name: to_array(frame[name]) for name in names if name in frame.columns}
    if "floor" in tests:
        floor = Floor(tests.pop("floor"), tests.pop("floor_high"), tests["p"])
    tests |= {name: test for name, test in {"p": p, "p_least": p_least}.items() if test is not None}
    labels = {name: frame[name] for name in table.labels if name in frame.columns}
    table.add(measure, labels, entries, **tests, family=families, floor=floor, bounds=bounds)


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


def estimates(frame: pl.DataFrame, how: npt.NDArray[np.object_] | None = None) -> Estimates:
    """A frame's columns as estimates, with its own `method` unless another is given; null is NaN."""
    numbers = {c: to_array(frame[c]) for c in ("value", "low", "high", "se") if c in frame.columns}
    none = np.full(frame.height, np.nan)
    n, clusters = (np.rint(np.nan_to_num(to_array(frame[c]))).astype(np.int64) for c in ("n", "clusters"))
    method = np.array(frame["method"].to_list(), object) if how is None else how.astype(object)
    low, high = numbers.get("low", none), numbers.get("high", none)
    return Estimates(numbers["value"], low, high, n, clusters, method, numbers.get("se"))


def values(value: Array, n: npt.NDArray[Any], clusters: npt.NDArray[Any], method: str) -> Estimates:
    """Estimates without an interval, with the reason."""
    none, methods = np.full(value.size, np.nan), np.full(value.size, method, dtype=object)
    return Estimates(value, none, none, n.astype(np.int64), clusters.astype(np.int64), methods)


def codes(column: pl.Series) -> npt.NDArray[np.int64]:
    """A column's levels as numbers from 0, in their order.

    Examples
    --------
    >>> codes(pl.Series(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """
    return column.rank("dense").cast(pl.Int64).to_numpy() - 1
