"""How frames of estimates go into the table of estimates."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import multiple_testing
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.selection import method, to_array

APART = ("paradigm", "question")
WITHIN = ("dimension", "contrast", "gender")


def record(
    table: EstimateTable,
    measure: Measure,
    frame: pl.DataFrame,
    how: str | npt.NDArray[np.object_],
    *,
    p: Array | None = None,
    p_paper: Array | None = None,
    p_least: Array | None = None,
    family: str | pl.Expr | None = None,
    apart: Sequence[str] = APART,
    within: Sequence[str] = WITHIN,
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
        How intervals were made, for all rows with two clusters or for each.
    p, p_paper, p_least:
        P-values of the estimate, of the published test, and the smallest that the first could be.
    family:
        Whose p-values are judged together, for people; no q without it.
    apart, within:
        Columns of whose levels each is a family of its own: what is asked, and of which part of the study.
    floor:
        What chance alone gives.
    """
    if not frame.height:
        return
    number = {name: to_array(frame[name]) for name in ("value", "low", "high", "se")}
    n, clusters = (np.rint(np.nan_to_num(to_array(frame[x]))).astype(np.int64) for x in ("n", "clusters"))
    methods = method(frame, how) if isinstance(how, str) else how
    bounds = None
    if "bound_low" in frame.columns:
        nothing = np.full(frame.height, np.nan)
        bounds = Bounds(number["value"], to_array(frame["bound_low"]), to_array(frame["bound_high"]), nothing)
    q, names = None, None
    if family is not None and p is not None:
        named = family_names(frame, family, apart, within)
        names, q = named.to_list(), adjusted(p, named)
    table.add(
        measure,
        {name: frame[name].to_list() for name in table.labels if name in frame.columns},
        Estimates(number["value"], number["low"], number["high"], n, clusters, methods, number["se"]),
        p=p,
        q=q,
        p_paper=p_paper,
        p_least=p_least,
        family=names,
        floor=floor,
        bounds=bounds,
    )


def family_names(
    frame: pl.DataFrame, what: str | pl.Expr, apart: Sequence[str] = APART, within: Sequence[str] = WITHIN
) -> pl.Series:
    """Name each row's family: what is tested, of which paradigm and question, and within what.

    Examples
    --------
    >>> rows = pl.DataFrame({"paradigm": ["perception"], "question": ["struggle"], "dimension": ["age"],
    ...                      "contrast": ["identity"], "gender": [None]}, schema_overrides={"gender": pl.String})
    >>> family_names(rows, "identities").to_list()
    ['identities, perception, struggle (age, identity)']
    """
    tested = pl.concat_str(
        [pl.lit(what) if isinstance(what, str) else what, *_present(frame, apart)], separator=", ", ignore_nulls=True
    )
    inside = pl.concat_str(_present(frame, within), separator=", ", ignore_nulls=True)
    return frame.select(pl.format("{} ({})", tested, inside).alias("family"))["family"]


def _present(frame: pl.DataFrame, names: Sequence[str]) -> list[pl.Expr]:
    return [pl.col(name) for name in names if name in frame.columns]


def adjusted(p: Array, family: pl.Series) -> Array:
    """Q-values by Benjamini and Hochberg within each family."""
    code = family.rank("dense").to_numpy()
    order = np.argsort(code, kind="stable")
    q = np.full(p.shape, np.nan)
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        q[rows] = multiple_testing.adjust(p[rows], "bh")
    return q


def both_and_each_gender(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with gender null, for both together, and, in dimensions with two genders, as they are."""
    two = frame.filter(pl.col("gender").n_unique().over("dimension") > 1)
    return pl.concat([frame.with_columns(pl.lit(None, pl.String).alias("gender")), two])


def with_trait(frame: pl.DataFrame, terms: pl.DataFrame) -> pl.DataFrame:
    """Add the trait of each question."""
    traits: Mapping[str, str] = {
        f"{row['paradigm']}\t{row['question']}": row["trait"] for row in terms.iter_rows(named=True) if row["trait"]
    }
    key = pl.concat_str("paradigm", "question", separator="\t")
    return frame.with_columns(key.replace_strict(traits, default=None, return_dtype=pl.String).alias("trait"))
