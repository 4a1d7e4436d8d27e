"""Estimates of the comparisons: pairs that are ranked, not ranked or contradicted, and which group is ranked above."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from facevalue.measures import consistency as pairs
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.families import adjust
from facevalue.measures.inference import Array, Estimates
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.dimensions import Dimension
from facevalue.studies.visbias.gathered import Gathered
from facevalue.studies.visbias.layout import ORDERS, PLAIN, SPECIES, SWAPPED
from facevalue.studies.visbias.recorded import to_array

TASK = "yesno"


def add_pairs(table: EstimateTable, gathered: Gathered) -> None:
    """Add the shares of pairs, over all people, within each occupation and of species; and rankings by group."""
    rows = gathered.part("pairs")
    if rows.is_empty():
        return
    paired = both_orders(rows)
    being = pl.col(f"{SPECIES}_1").is_not_null() if f"{SPECIES}_1" in paired.columns else pl.lit(value=False)
    for part, dimension, own in ((paired.filter(~being), "occupation", None), (paired.filter(being), SPECIES, SPECIES)):
        if part.height:
            _add_shares(table, part, own, pl.lit(None, pl.String))
        if part["within"].null_count() < part.height:
            _add_shares(table, part.drop_nulls("within"), dimension, pl.col("within"))
    for name in gathered.asked.groups:
        if f"{name}_1" in paired.columns:
            _add_ranking(table, paired, Dimension((name,)))


def both_orders(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per pair and question, with the probability of yes to the question (`plain`) and to its swapped negation.

    Replies of several seeds are averaged; null where none is valid.
    """
    about = [c for c in rows.columns if c not in ("order", "yes")]
    mean = rows.group_by(*about, "order", maintain_order=True).agg(pl.col("yes").mean())
    out = mean.select(about).unique(maintain_order=True)
    for order in ORDERS:
        own = mean.filter(pl.col("order") == order).select("pair", "question", pl.col("yes").alias(order))
        out = out.join(own, on=["pair", "question"], how="left", maintain_order="left")
    return out


def _add_shares(table: EstimateTable, paired: pl.DataFrame, dimension: str | None, group: pl.Expr) -> None:
    keyed = paired.with_columns(group.alias("_group"))
    cells = keyed.select("question", "_group").unique(maintain_order=True).with_row_index("_cell")
    at = keyed.join(cells, on=["question", "_group"], how="left", nulls_equal=True, maintain_order="left")["_cell"]
    first, second = (to_array(keyed[order]) for order in ORDERS)
    found = pairs.consistency(first, second, at.cast(pl.Int64).to_numpy(), cells.height)
    labels = {
        "paradigm": [TASK] * cells.height,
        "question": cells["question"].to_list(),
        "dimension": [dimension] * cells.height,
        "group": cells["_group"].to_list(),
    }
    table.add(m.RANKED, labels, found.ranked)
    table.add(m.UNRANKED, labels, found.unranked)
    table.add(m.CONTRADICTED, labels, found.contradicted)
    table.add(m.DIFFERING, labels, _answered(found.published, found.ranked.n > 0))


def _answered(found: Estimates, there: npt.NDArray[np.bool_]) -> Estimates:
    """Not measurable where no pair has both answers; as published, a pair without one counts as not differing."""
    value, low, high = (np.where(there, numbers, np.nan) for numbers in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


def _add_ranking(table: EstimateTable, paired: pl.DataFrame, one: Dimension) -> None:
    """Among ranked pairs of two groups, how often each group's member is ranked above."""
    name = one.factors[0]
    mixed = paired.filter(pl.col(f"{name}_1") != pl.col(f"{name}_2"))
    levels = sorted(set(paired[f"{name}_1"].drop_nulls()) | set(paired[f"{name}_2"].drop_nulls()))
    labels: list[tuple[str, str]] = []
    hits, sizes = [], []
    for question in paired["question"].unique(maintain_order=True):
        rows = mixed.filter(pl.col("question") == question)
        plain, swapped = to_array(rows[PLAIN]), to_array(rows[SWAPPED])
        # Both questions ask whether the one who is shown first is above; swapped, that is the pair's second.
        first, second = plain * (1 - swapped), (1 - plain) * swapped
        for level in levels:
            mine = np.array(rows[f"{name}_1"] == level), np.array(rows[f"{name}_2"] == level)
            above, below = (
                _total(first, mine[0]) + _total(second, mine[1]),
                _total(first, mine[1]) + _total(second, mine[0]),
            )
            labels.append((question, level))
            hits.append(above)
            sizes.append(above + below)
    if not labels:
        return
    found = pairs.wilson(np.array(hits), np.array(sizes))
    centred = Estimates(
        found.value - 0.5, found.low - 0.5, found.high - 0.5, found.n, found.clusters, found.method, found.se
    )
    p = np.array([_even(h, n) for h, n in zip(hits, sizes, strict=True)])
    size = len(labels)
    columns = {
        "paradigm": [TASK] * size,
        "question": [question for question, _ in labels],
        "dimension": [one.name] * size,
        "group": [level for _, level in labels],
    }
    table.add(m.ABOVE, columns, centred, p=p, q=adjust(p, "bh"), family=f"comparisons by {one.name}")


def _total(values: Array, rows: npt.NDArray[np.bool_]) -> float:
    return float(np.nansum(values[rows]))


def _even(hits: float, n: float) -> float:
    """Two-sided exact binomial test against one half; expected numbers are rounded."""
    size = round(n)
    return float(stats.binomtest(min(round(hits), size), size).pvalue) if size else float("nan")
