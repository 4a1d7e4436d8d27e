"""Correction over all pages of an audit, so that an audit without any effect finds one in at most alpha of cases.

Each page holds a level of its own (`page_error`): five studies of three models that show no effect would together find
something in half of all audits. So what the pages' leads compare is judged again, all families of all pages together.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.page_error import LEAD_SHARE, leads

FAMILY = ("model", "intervention", "measure", "score", "family")
"""Columns that tell the families of a study's table apart."""


def family_shares(smallest: Array, page: npt.NDArray[np.int64], lead: npt.NDArray[np.bool_], alpha: float) -> Array:
    """Share of alpha at which each family is judged among all families of all pages.

    Parameters
    ----------
    smallest:
        Smallest q of each family, adjusted within it so that it is a p-value of "there is nothing in this family".
    page:
        Page of each family, whole numbers.
    lead:
        Which families lead their page.

    Equation
    --------
    Holm's (1979) procedure with weights. Each of S pages weighs 1 / S; its leading families share .8 of that evenly and
    the others .2, or either kind all of it where the other lacks: so small pages do not pay for large ones. In the
    order of P_f / w_f families are found while P_f < alpha w_f / W, W the weights of all that are not found before it.
    The share of f is w_f / W_f, W_f its own weight and those of all that would not be found without it. The chance that
    any family without an effect is said to hold one is at most alpha, whatever the others hold and however the families
    depend on each other.

    Examples
    --------
    >>> every = np.ones(3, dtype=bool)
    >>> family_shares(np.array([0.001, 0.2, 0.03]), np.array([0, 1, 1]), every, 0.05).round(3).tolist()
    [0.5, 0.5, 0.5]
    """
    if not smallest.size:
        return np.zeros(0)
    pages, of_page = np.unique(page, return_inverse=True)
    counts = np.stack([np.bincount(of_page, kind, pages.size) for kind in (~lead, lead)])
    tier = np.where(counts.min(axis=0) > 0, np.array([[1 - LEAD_SHARE], [LEAD_SHARE]]), 1.0)
    kind = lead.astype(np.int64)
    weight = tier[kind, of_page] / (counts[kind, of_page] * pages.size)
    order = np.argsort(smallest / weight, kind="stable")
    remaining = _never_found(smallest[order], weight[order], alpha)
    with np.errstate(divide="ignore"):
        out = weight / remaining
    for place in np.flatnonzero(smallest[order] * remaining < alpha * weight[order]):
        others = np.delete(order, place)  # what would be found without it
        weight_of_it = weight[order[place]]
        out[order[place]] = weight_of_it / _never_found(smallest[others], weight[others], alpha, weight_of_it)
    return np.asarray(out)


def _never_found(smallest: Array, weight: Array, alpha: float, besides: float = 0.0) -> float:
    """Weights of all families that are not found, and `besides`; families in the order of P / w."""
    remaining = np.append(np.cumsum(weight[::-1])[::-1], 0.0) + besides
    passing = smallest * remaining[:-1] < alpha * weight
    return float(remaining[int(passing.argmin()) if not passing.all() else passing.size])


def audit_families(tables: Sequence[tuple[pl.DataFrame, Sequence[str]]], alpha: float) -> list[pl.DataFrame]:
    """Families that the pages of an audit test, each with the share of alpha at which it is judged.

    `tables`: of each study the estimates that its page leads with, of one or several models and interventions, each of
    which is a page; and the names of families that lead most (`Estimated.lead`). Returns `FAMILY` and `share` for each.
    """
    tested = pl.col("q").is_not_null() & pl.col("p").is_not_null() & pl.col("family").is_not_null()
    families = [
        table.filter(tested)
        .group_by(FAMILY, maintain_order=True)
        .agg(pl.col("q").min())
        .with_columns(study=pl.lit(number, pl.Int64))
        for number, (table, _) in enumerate(tables)
    ]
    families = [rows.with_columns(lead=leads(pl.col("family"), lead, rows))
                for rows, (_, lead) in zip(families, tables, strict=True)]  # fmt: skip
    rows = pl.concat(families)
    page = rows.select(pl.struct("study", "model", "intervention").rank("dense").cast(pl.Int64)).to_series().to_numpy()
    shares = family_shares(rows["q"].to_numpy(), page, rows["lead"].to_numpy(), alpha)
    rows = rows.with_columns(share=pl.Series(shares, dtype=pl.Float64))
    return [rows.filter(study=number).select(*FAMILY, "share") for number in range(len(tables))]
