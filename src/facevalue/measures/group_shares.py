"""Shares by group of things that belong to units: how many pictures of whom were refused, or are fine."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import cluster_sums
from facevalue.measures.estimators import shares
from facevalue.measures.interval_method import with_details
from facevalue.measures.selection import numbered


def group_shares(rows: pl.DataFrame, flag: str, by: Sequence[str], unit: str) -> pl.DataFrame:
    """Share of the things of each group of which something is true, with its interval over units.

    Parameters
    ----------
    rows:
        One row per thing, with the columns below.
    flag:
        Whether it is true of the thing; null where nobody knows, which counts in no share.
    by:
        Columns that make the groups, in which null is a group, too; none for all things together.
    unit:
        Column of what was sampled: things of one unit are not independent.

    Returns
    -------
    DataFrame
        The columns of `by`, then `share`, `low`, `high` (null where all things are of one unit), `n` (things of which
        it is known), `units`, `method` and `detail`; in the order of the groups' names.

    Raises
    ------
    UnknownNameError
        No such column.

    Equation
    --------
    share = Σ_u s_u / Σ_u n_u over units u, of n_u things of which it is true of s_u; Wilson's interval with the
    effective sample size of its cluster-robust standard error (`cluster_bootstrap.standard_error`,
    `proportions.wilson`).

    Examples
    --------
    >>> columns = {"face": ["a", "b", "c", "d"], "gender": ["m", "m", "f", "f"], "refused": [True, False] * 2}
    >>> shares = group_shares(pl.DataFrame(columns), "refused", ["gender"], "face")
    >>> shares.select("gender", "share", "n", "units").rows()
    [('f', 0.5, 2, 2), ('m', 0.5, 2, 2)]
    """
    for name in (flag, unit, *by):
        if name not in rows.columns:
            raise UnknownNameError("column", name, rows.columns)
    things = rows.drop_nulls(flag).sort(by, nulls_last=True) if by else rows.drop_nulls(flag)
    groups, cell = numbered(things, by) if by else (pl.DataFrame({"all": [None]}), np.zeros(things.height, np.int64))
    place = things[unit].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    flags = things[flag].cast(pl.Float64).to_numpy()
    units = int(place.max(initial=0)) + 1
    estimates = shares(*cluster_sums(flags, place, cell, units, groups.height))
    numbers = (("share", estimates.value), ("low", estimates.low), ("high", estimates.high))
    columns = [
        *(pl.Series(name, column, pl.Float64).fill_nan(None) for name, column in numbers),
        pl.Series("n", estimates.n, pl.Int64),
        pl.Series("units", estimates.clusters, pl.Int64),
        pl.Series("method", estimates.method.tolist(), pl.String),
    ]
    return with_details(pl.DataFrame([*groups.select(by).get_columns(), *columns]))
