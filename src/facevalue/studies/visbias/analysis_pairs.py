"""Estimates of the comparisons: pairs that are ranked, not ranked or contradicted, and which group is ranked above."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import consistency as pairs
from facevalue.measures import dyads
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.multiple_testing import adjust
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import Aggregate
from facevalue.studies.visbias.design import ORDERS, PLAIN, SPECIES, SWAPPED
from facevalue.studies.visbias.dimensions import PERSON, Dimension
from facevalue.studies.visbias.recorded import to_array

TASK = "yesno"


def add_pairs(table: EstimateTable, gathered: Aggregate) -> None:
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
    found = pairs.consistency(first, second, at.cast(pl.Int64).to_numpy(), cells.height, _people(keyed))
    labels = {
        "task": [TASK] * cells.height,
        "question": cells["question"].to_list(),
        "dimension": [dimension] * cells.height,
        "group": cells["_group"].to_list(),
    }
    table.add(m.RANKED, labels, found.ranked)
    table.add(m.UNRANKED, labels, found.unranked)
    table.add(m.CONTRADICTED, labels, found.contradicted)
    table.add(m.DIFFERING, labels, _answered(found.published, found.ranked.n > 0))


def _people(paired: pl.DataFrame) -> tuple[dyads.Codes, dyads.Codes]:
    """Number of the person on either side of each pair."""
    names = pl.concat([paired[f"{PERSON}_1"], paired[f"{PERSON}_2"]])
    codes = names.cast(pl.String).rank("dense").cast(pl.Int64).to_numpy() - 1
    return codes[: paired.height], codes[paired.height :]


def _answered(found: Estimates, there: npt.NDArray[np.bool_]) -> Estimates:
    """Not measurable where no pair has both answers; as published, a pair without one counts as not differing."""
    value, low, high = (np.where(there, numbers, np.nan) for numbers in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


def _add_ranking(table: EstimateTable, paired: pl.DataFrame, one: Dimension) -> None:
    """Among ranked pairs of two groups, how often each group's member is ranked above."""
    name = one.factors[0]
    mixed = paired.filter(pl.col(f"{name}_1") != pl.col(f"{name}_2"))
    levels = sorted(set(paired[f"{name}_1"].drop_nulls()) | set(paired[f"{name}_2"].drop_nulls()))
    questions = paired["question"].unique(maintain_order=True).to_list()
    if not levels:
        return
    wins = _Wins.of(to_array(mixed[PLAIN]), to_array(mixed[SWAPPED]))
    left, right = (np.array(mixed[f"{name}_{side}"].to_list(), dtype=object) for side in (1, 2))
    asked = mixed["question"].replace_strict(questions, range(len(questions)), return_dtype=pl.Int64).to_numpy()
    parts = [wins.seen_from(left == level, right == level) for level in levels]
    above, below, most, least = (np.concatenate([part[at] for part in parts]) for at in range(4))
    cell = np.concatenate([asked * len(levels) + at for at in range(len(levels))])
    cells = len(questions) * len(levels)
    whose = tuple(np.tile(side, len(levels)) for side in _people(mixed))
    found = dyads.shares(above, above + below, (whose[0], whose[1]), cell, cells)
    totals = [np.bincount(cell, weights=x, minlength=cells).astype(np.float64) for x in (above, below, most, least)]
    bounds = _bounds(*totals)
    p = found.p(0.5)
    centred = replace(found, value=found.value - 0.5, low=found.low - 0.5, high=found.high - 0.5)
    columns = {
        "task": [TASK] * cells,
        "question": [question for question in questions for _ in levels],
        "dimension": [one.name] * cells,
        "group": levels * len(questions),
    }
    family = f"comparisons by {one.name}"
    table.add(
        m.ABOVE, columns, centred, p=p, q=adjust(p, "bh"), p_least=found.p_least(0.5), family=family, bounds=bounds
    )


def _bounds(above: Array, below: Array, most: Array, least: Array) -> Bounds:
    """Gap to an even chance if all missing answers had ranked the group's members above, and if none had."""
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = above / (above + below)
        low, high = above / (above + below + least), (above + most) / (above + most + below)
    return Bounds(middle - 0.5, low - 0.5, high - 0.5, np.maximum(most, least))


@dataclass(frozen=True, slots=True)
class _Wins:
    """How far each pair's first and second person is ranked above the other.

    Attributes
    ----------
    first, second:
        As answered; zero where an answer is missing.
    open_first, open_second:
        How far the missing answers could still rank that person above, and nobody else.
    """

    first: Array
    second: Array
    open_first: Array
    open_second: Array

    @classmethod
    def of(cls, plain: Array, swapped: Array) -> "_Wins":
        """From the probabilities of yes: to whether the first is above, and, of its negation, whether the second is."""
        known = np.isfinite(plain) & np.isfinite(swapped)
        a, b = np.where(np.isfinite(plain), plain, 1.0), np.where(np.isfinite(swapped), swapped, 1.0)
        no_a, no_b = np.where(np.isfinite(plain), 1 - plain, 1.0), np.where(np.isfinite(swapped), 1 - swapped, 1.0)
        first, second = a * no_b, no_a * b
        nothing = np.zeros(known.shape)
        return cls(
            np.where(known, first, nothing), np.where(known, second, nothing),
            np.where(known, nothing, first), np.where(known, nothing, second),
        )  # fmt: skip

    def seen_from(self, left: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
        """How far a group's member is above, below, and could still be either, by the sides on which it has members."""
        one, two = left.astype(np.float64), right.astype(np.float64)
        return (
            self.first * one + self.second * two, self.second * one + self.first * two,
            self.open_first * one + self.open_second * two, self.open_second * one + self.open_first * two,
        )  # fmt: skip
