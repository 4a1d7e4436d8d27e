"""Entering estimates into the table: means by labels, and what could not be measured."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import cluster_bootstrap, proportions
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import NOT_MEASURABLE, EstimateTable

SEED = 0
WILSON = "Wilson, effective sample size over units"


def shares(
    frame: pl.DataFrame, value: str, by: Sequence[str], unit: str
) -> tuple[dict[str, list[str | None]], Estimates]:
    """Mean of values in [0, 1] in each combination of labels, with intervals of shares over units.

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
    numbered = cells.with_row_index("_cell")
    cell = keys.join(numbered, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")["_cell"]
    units = frame[unit].cast(pl.String).fill_null("")
    sums, counts = cluster_bootstrap.cluster_sums(
        to_array(frame[value]),
        units.rank("dense").cast(pl.Int64).to_numpy() - 1,
        cell.cast(pl.Int64).to_numpy(),
        units.n_unique(),
        cells.height,
    )
    total, clusters = counts.sum(axis=0), (counts > 0).sum(axis=0)
    share, se = cluster_bootstrap.ratio(sums.sum(axis=0), total), cluster_bootstrap.standard_error(sums, counts)
    low, high, method = _wilson(share, se, clusters)
    found = Estimates(share, low, high, total.astype(np.int64), clusters.astype(np.int64), method, se)
    return cells.select(by).to_dict(as_series=False), found


def as_shares(found: Estimates) -> Estimates:
    """Shares with Wilson's interval, which says something of shares of 0 and 1, too, where no unit differs."""
    assert found.se is not None
    low, high, method = _wilson(found.value, found.se, found.clusters)
    return replace(found, low=low, high=high, method=method)


def _wilson(share: Array, se: Array, clusters: npt.NDArray[np.int64]) -> tuple[Array, Array, npt.NDArray[np.object_]]:
    low, high = proportions.wilson(share, proportions.effective_size(share, se, clusters), clusters - 1)
    return low, high, np.full(share.size, WILSON, dtype=object)


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
