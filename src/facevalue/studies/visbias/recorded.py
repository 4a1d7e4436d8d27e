"""Entering estimates into the table: means by labels, and what could not be measured."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.measures import inference
from facevalue.measures.base import Measure
from facevalue.measures.estimates import NOT_MEASURABLE, EstimateTable
from facevalue.measures.inference import Array, Estimates

SEED = 0


def means(
    frame: pl.DataFrame, value: str, by: Sequence[str], unit: str
) -> tuple[dict[str, list[str | None]], Estimates]:
    """Mean of a column in each combination of labels, with intervals over units.

    Parameters
    ----------
    frame:
        One row per observation.
    value:
        Its value; null where there is none.
    by, unit:
        Columns of the labels and of what was sampled.

    Returns
    -------
    The labels and an estimate for each.
    """
    keys = frame.select(pl.col(c).cast(pl.String) for c in by) if by else pl.DataFrame({"_": [""] * frame.height})
    cells = keys.unique(maintain_order=True)
    cell = keys.join(
        cells.with_row_index("_cell"), on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    units = frame[unit].cast(pl.String)
    cluster = units.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    sums, counts = inference.cluster_sums(
        frame[value].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        np.maximum(cluster, 0),
        cell["_cell"].cast(pl.Int64).to_numpy(),
        units.n_unique(),
        cells.height,
    )
    return cells.select(by).to_dict(as_series=False), inference.means(sums, counts, SEED, level=True)


def columns(names: Sequence[str], rows: Sequence[tuple[str | None, ...]]) -> dict[str, list[str | None]]:
    """Label rows as columns.

    Examples
    --------
    >>> columns(("dimension", "group"), [("race", "asian"), ("race", None)])
    {'dimension': ['race', 'race'], 'group': ['asian', None]}
    """
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def estimates(found: pl.DataFrame) -> Estimates:
    """A frame's columns as estimates; null is NaN."""
    numbers = {c: to_array(found[c]) for c in ("value", "low", "high", "se") if c in found.columns}
    none = np.full(found.height, np.nan)
    return Estimates(
        numbers["value"],
        numbers.get("low", none),
        numbers.get("high", none),
        found["n"].cast(pl.Int64).to_numpy(),
        found["clusters"].cast(pl.Int64).to_numpy(),
        np.array(found["method"].to_list(), dtype=object),
        numbers.get("se"),
    )


def to_array(column: pl.Series) -> Array:
    """A column as floats; null is NaN."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def not_measurable(table: EstimateTable, measure: Measure, labels: Mapping[str, str | None], why: str) -> None:
    """Enter one estimate that could not be taken, with the reason."""
    nothing = np.full(1, np.nan)
    none = np.zeros(1, dtype=np.int64)
    method = np.array([f"{NOT_MEASURABLE}: {why}"], dtype=object)
    table.add(
        measure,
        {name: [level] for name, level in labels.items()},
        Estimates(nothing, nothing, nothing, none, none, method),
    )
