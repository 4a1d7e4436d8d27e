"""Estimators: from sums of answers by unit and label to estimates, each with its interval, test, floor and bounds.

Sums are a row per unit and cell: `unit` (of pairs `person_1` and `person_2`, too), labels, `s` (what is added up), `n`
(of how much of valid answers) and `asked` (of how many replies). Estimators of several studies are here; a paper's own
arithmetic is beside its study, and says what it estimates in the same form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import cluster_bootstrap, dyads, missing_data_bounds
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, Floor, no_floor, only_values, ratio
from facevalue.measures.estimates import NOT_MEASURABLE, EstimateTable
from facevalue.measures.missing_data_bounds import Bounds, Replies, filled, phi_bounds, unbounded
from facevalue.measures.proportions import effective_size, score_p, wilson
from facevalue.measures.selection import to_array

WILSON = "Wilson, effective sample size over units"
NO_ANSWER = f"{NOT_MEASURABLE}: no valid answer"
UNIT = ("unit",)
PEOPLE = ("unit", "person_1", "person_2")
"""Columns that say what was sampled; of pairs, who is on either side."""
Level = str | None
Labels = Mapping[str, Level | Sequence[Level]]


@dataclass(frozen=True)
class Tested:
    """Estimates with all that stands beside them; arrays of one length."""

    estimates: Estimates
    floor: Floor | None = None
    bounds: Bounds | None = None
    p: Array | None = None
    q: Array | None = None
    p_least: Array | None = None
    p_paper: Array | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """What `EstimateTable.add` takes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def at(self, rows: npt.NDArray[np.int64]) -> "Tested":
        """Some of them."""
        some: list[Any] = [part and part.at(rows) for part in (self.estimates, self.floor, self.bounds)]
        tests = (self.p, self.q, self.p_least, self.p_paper)
        return Tested(*some, *(None if test is None else test[rows] for test in tests))

    def less(self, null: Array | float) -> "Tested":
        """The same less a constant, as a share against one half."""
        e = self.estimates
        bounds = None if self.bounds is None else self.bounds.less(null)
        apart = replace(e, value=e.value - null, low=e.low - null, high=e.high - null)
        return replace(self, estimates=apart, bounds=bounds)

    def times(self, factor: float) -> "Tested":
        """The same in another unit, as in percent; `factor` above zero."""
        e = self.estimates
        scaled = replace(e, **{name: factor * getattr(e, name) for name in ("value", "low", "high")})
        se = None if e.se is None else factor * e.se
        bounds = None if self.bounds is None else self.bounds.scaled(factor)
        return replace(self, estimates=replace(scaled, se=se), bounds=bounds)


Estimator = Callable[[pl.DataFrame, Sequence[str], pl.DataFrame | None], tuple[pl.DataFrame, Tested]]
"""From sums, labels by which they are broken down, and the cells in their order (by default those that occur), to the
cells' labels and estimates."""


def cells_of(sums: pl.DataFrame, by: Sequence[str], cells: pl.DataFrame | None = None) -> tuple[pl.DataFrame, Array]:
    """Cells of sums broken down by labels, and the number of each row's cell.

    Examples
    --------
    >>> cells, at = cells_of(pl.DataFrame({"group": ["f", "m", "f"]}), ["group"])
    >>> cells["group"].to_list(), at.tolist()
    (['f', 'm'], [0, 1, 0])
    """
    keys = sums.select(by) if by else pl.DataFrame({"": [""] * sums.height})
    if cells is None:
        cells = keys.unique(maintain_order=True)
    numbered = cells.select(by) if by else pl.DataFrame({"": [""]})
    at = keys.join(
        numbered.with_row_index("_cell"), on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return cells.select(by), at["_cell"].cast(pl.Int64).to_numpy()


def by_unit(sums: pl.DataFrame, cell: npt.NDArray[Any], cells: int, *names: str) -> list[Array]:
    """Columns of sums as arrays of shape (units, cells)."""
    unit = (sums["unit"].rank("dense").cast(pl.Int64) - 1).to_numpy()
    units = int(unit.max(initial=-1)) + 1
    at = unit * cells + cell
    flat = (np.bincount(at, to_array(sums[name]), units * cells) for name in names)
    return [column.astype(np.float64).reshape(units, cells) for column in flat]


def share(sums: pl.DataFrame, by: Sequence[str] = (), cells: pl.DataFrame | None = None) -> tuple[pl.DataFrame, Tested]:
    """Share s / n of each cell, with Wilson's interval over units.

    Examples
    --------
    >>> sums = pl.DataFrame({"unit": ["a", "b", "c"], "group": ["f", "m", "f"], "s": [1.0, 0.0, 1.0], "n": [1.0] * 3})
    >>> cells, tested = share(sums, ["group"])
    >>> cells["group"].to_list(), tested.estimates.value.tolist(), tested.estimates.clusters.tolist()
    (['f', 'm'], [1.0, 0.0], [2, 1])
    """
    cells, at = cells_of(sums, by, cells)
    return cells, Tested(shares(*by_unit(sums, at, cells.height if by else 1, "s", "n")))


def shares(hits: Array, size: Array) -> Estimates:
    """Shares of columns, of arrays by unit, with Wilson's intervals, which say something of shares of 0 and 1, too."""
    total, clusters = size.sum(axis=0), (size > 0).sum(axis=0)
    value, se = ratio(hits.sum(axis=0), total), cluster_bootstrap.standard_error(hits, size)
    low, high = wilson(value, effective_size(value, se, clusters), clusters - 1)
    method = np.full(value.size, WILSON, dtype=object)
    return Estimates(value, low, high, np.rint(total).astype(np.int64), clusters.astype(np.int64), method, se)


def pair_share(
    sums: pl.DataFrame, by: Sequence[str] = (), cells: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, Tested]:
    """Share s / n of each cell of pairs of people, with an interval over people (`dyads.shares`).

    Where the sums have `asked`, its bounds are what the share could have been, had the missing answers been given;
    their standard error is over people, too.
    """
    cells, at = cells_of(sums, by, cells)
    count = cells.height if by else 1
    names = [name for name in ("s", "n", "asked") if name in sums.columns]
    keyed = sums.select(*PEOPLE, *names).with_columns(pl.Series("_cell", at))
    added = keyed.group_by("_cell", *PEOPLE, maintain_order=True).agg(pl.col(names).sum())
    person = pl.concat([added[side] for side in PEOPLE[1:]]).rank("dense").cast(pl.Int64).to_numpy()
    people, cell = (person[: added.height], person[added.height :]), added["_cell"].to_numpy()
    s, n, *asked = (to_array(added[name]) for name in names)
    s = np.minimum(s, n)
    estimates = _pair_shares(s, n, people, cell, count)
    if not asked:
        return cells, Tested(estimates)
    replies = Replies(*(column[:, None] for column in (s, n, asked[0])))
    ends = [_pair_shares(filled(replies, pole)[:, 0], asked[0], people, cell, count).se for pole in (0.0, 1.0)]
    totals = (_totals(column, cell, count)[None] for column in (s, n, asked[0]))
    return cells, Tested(estimates, bounds=replace(phi_bounds(Replies(*totals)), se=np.fmax(*ends)))


def _totals(values: npt.NDArray[Any], cell: npt.NDArray[np.int64], cells: int) -> Array:
    return np.bincount(cell, values, cells).astype(np.float64)


def _pair_shares(
    hits: Array, size: Array, people: tuple[dyads.Codes, dyads.Codes], cell: npt.NDArray[np.int64], cells: int
) -> dyads.PairShares:
    total = _totals(size, cell, cells)
    if only_values():
        none, how = np.full(cells, np.nan), np.full(cells, dyads.FEW, dtype=object)
        return dyads.PairShares(
            value=ratio(_totals(hits, cell, cells), total), low=none, high=none, n=np.rint(total).astype(np.int64),
            clusters=_totals(size > 0, cell, cells).astype(np.int64), method=how, se=none, size=none, df=none,
            most=none,
        )  # fmt: skip
    pair_shares = dyads.shares(hits, size, people, cell, cells)
    return replace(pair_shares, method=np.where(total > 0, pair_shares.method, NO_ANSWER))


def apart_from(tested: Tested, null: Array | float) -> Tested:
    """Shares of pairs less a share that they are compared with, and p of no difference."""
    assert isinstance(tested.estimates, dyads.PairShares)
    return replace(
        tested.less(null), p=score_p(tested.estimates.value, tested.estimates.size, tested.estimates.df, null)
    )


class Entries:
    """Estimates that are entered into a table measure by measure: a jackknife takes all of them many times."""

    def __init__(self) -> None:
        self._rows: dict[Measure, list[tuple[dict[str, Sequence[Level]], Tested, str | None]]] = {}

    def add(self, measure: Measure, labels: Labels, estimates: Tested | Estimates, family: str | None = None) -> None:
        """Add estimates; a label that is one level, or None, is that of all of them."""
        tested = estimates if isinstance(estimates, Tested) else Tested(estimates)
        spread = label_columns(labels, tested.estimates.value.size)
        self._rows.setdefault(measure, []).append((spread, tested, family))

    def enter(self, table: EstimateTable) -> None:
        """Enter all of them."""
        for measure, rows in self._rows.items():
            sizes = [tested.estimates.value.size for _, tested, _ in rows]
            names = dict.fromkeys(name for labels, _, _ in rows for name in labels)
            labels = {
                name: [level for (own, _, _), n in zip(rows, sizes, strict=True) for level in own.get(name, [None] * n)]
                for name in names
            }
            families = [family for (_, _, family), n in zip(rows, sizes, strict=True) for _ in range(n)]
            table.add(measure, labels, family=families, **joined([tested for _, tested, _ in rows]).columns)  # type: ignore[arg-type]


def joined(several: Sequence[Tested]) -> Tested:
    """Estimates one after the other; NaN for what only others have."""
    sizes = [tested.estimates.value.size for tested in several]
    nothing = [np.full(size, np.nan) for size in sizes]
    floors = [tested.floor or no_floor(size) for tested, size in zip(several, sizes, strict=True)]
    floor = Floor(*(np.concatenate([getattr(floor, name) for floor in floors]) for name in ("mean", "high", "p")))
    tests = [
        [nothing[at] if (column := getattr(tested, name)) is None else column for at, tested in enumerate(several)]
        for name in ("p", "q", "p_least", "p_paper")
    ]
    tests[0] = [floors[at].p if tested.p is None else tests[0][at] for at, tested in enumerate(several)]
    bounds = [tested.bounds or unbounded(tested.estimates.value) for tested in several]
    return Tested(
        cluster_bootstrap.joined([tested.estimates for tested in several]), floor, missing_data_bounds.joined(bounds),
        *(np.concatenate(column) for column in tests),
    )  # fmt: skip


def label_columns(labels: Labels, size: int) -> dict[str, Sequence[Level]]:
    """Labels as columns; one that is a single level, or None, is that of all rows."""
    return {n: [level] * size if level is None or isinstance(level, str) else level for n, level in labels.items()}
