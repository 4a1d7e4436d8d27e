"""Frames of estimates, as rows of the table of estimates."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import multiple_testing
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.selection import method, to_array


def record(
    table: EstimateTable,
    measure: Measure,
    frame: pl.DataFrame,
    how: str | npt.NDArray[np.object_],
    *,
    apart: Sequence[str] = (),
    within: Sequence[str] = (),
    p: Array | None = None,
    p_paper: Array | None = None,
    p_least: Array | None = None,
    family: str | pl.Expr | None = None,
    floor: Floor | None = None,
) -> None:
    """Add a row per row of the frame.

    Parameters
    ----------
    table, measure:
        Where to, and what it is.
    frame:
        Labels, `value`, `low`, `high`, `se`, `n`, `clusters`, and, if known, `bound_low` and `bound_high`.
    how:
        How intervals were made, for all rows with enough clusters or for each.
    apart, within:
        Columns of whose levels each is a family of its own: what is asked, and of which part of the study.
    p, p_paper, p_least:
        P-values of the estimate, of the published test, and the smallest that the first could be.
    family:
        Whose p-values are judged together, for people; no q without it.
    floor:
        What chance alone gives.
    """
    if not frame.height:
        return
    made = estimates_of(frame, method(frame, how) if isinstance(how, str) else how)
    bounds = None
    if "bound_low" in frame.columns:
        nothing = np.full(frame.height, np.nan)
        bounds = Bounds(made.value, to_array(frame["bound_low"]), to_array(frame["bound_high"]), nothing)
    q, names = None, None
    if family is not None and p is not None:
        named = family_names(frame, family, apart, within)
        names, q = named.to_list(), adjusted(p, named)
    table.add(
        measure, {name: frame[name].to_list() for name in table.labels if name in frame.columns},
        made, p=p, q=q, p_paper=p_paper, p_least=p_least, family=names, floor=floor, bounds=bounds,
    )  # fmt: skip


def estimates_of(frame: pl.DataFrame, how: npt.NDArray[np.object_]) -> Estimates:
    """The numbers of a frame, as of `selection.cells`, with the method of each row."""
    value, low, high, se = (to_array(frame[name]) for name in ("value", "low", "high", "se"))
    n, clusters = (np.rint(np.nan_to_num(to_array(frame[x]))).astype(np.int64) for x in ("n", "clusters"))
    return Estimates(value, low, high, n, clusters, how.astype(object), se)


def family_names(frame: pl.DataFrame, what: str | pl.Expr, apart: Sequence[str], within: Sequence[str]) -> pl.Series:
    """Name each row's family: what is tested, of which levels of `apart`, and within which of `within`.

    Examples
    --------
    >>> rows = pl.DataFrame({"paradigm": ["perception"], "question": ["struggle"], "dimension": ["age"]})
    >>> family_names(rows, "identities", ["paradigm", "question"], ["dimension"]).to_list()
    ['identities, perception, struggle (age)']
    """
    asked, inside = ([pl.col(name) for name in names if name in frame.columns] for names in (apart, within))
    tested = [pl.lit(what) if isinstance(what, str) else what, *asked]
    parts = (pl.concat_str(names, separator=", ", ignore_nulls=True) for names in (tested, inside))
    return frame.select(pl.format("{} ({})", *parts).alias("family"))["family"]


def adjusted(p: Array, family: pl.Series) -> Array:
    """Q-values by Benjamini and Hochberg within each family."""
    code = family.rank("dense").to_numpy()
    order = np.argsort(code, kind="stable")
    q = np.full(p.shape, np.nan)
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        q[rows] = multiple_testing.adjust(p[rows], "bh")
    return q
