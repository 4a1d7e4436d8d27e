"""From answers to estimates: sums that stream by, estimators of sums, and entries of the table.

Estimators: from sums of answers by unit and label to estimates, each with its interval, test, floor and bounds.

Of the numbers that were added up, `s` is a share of `n`, and `requests` the number of replies asked for. Estimators of
several studies are here; a paper's own arithmetic is beside its study, and says what it estimates in the same form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable, Level
from facevalue.measures.intervals import name_unmeasured
from facevalue.measures.missing_data_bounds import Replies, fill_missing, phi_bounds
from facevalue.measures.pairs import DYADIC_WILSON, frequency_methods, pair_shares, to_array
from facevalue.measures.proportions import WILSON_OVER_UNITS, Shares, score_p, unit_shares
from facevalue.measures.uncertainty import (
    Bounds,
    Estimates,
    Floor,
    Terms,
    name_units,
    share_term,
    term_record,
    terms_of,
)

Codes = npt.NDArray[np.int64]
PILE_ROWS = 250_000
"""Rows that pile up before they are added together, or about as many as there are sums, if these are more."""
MOST_ROWS = 2_000_000
"""Cells of units that are kept."""
GRAIN = 2.0**-32
"""Unit of rounding of what is added up, finer than the single precision that probabilities have: so sums are exact,
up to two million, whatever the order."""
PART_BY_HASH = "of a part drawn by hash"
"""Ending of the detail of an estimate's method where some units were left out, as there are too many."""


class SumTable:
    """Adds up chunks; rows are in the order in which they came first.

    Parameters
    ----------
    keys:
        Columns that name a row: labels, and the unit that was sampled.
    sums:
        Columns that are added up.

    Examples
    --------
    >>> table = SumTable(["question", "unit"], ["n"])
    >>> for n in (1.0, 2.0):
    ...     table.add(pl.DataFrame({"unit": ["ann"], "question": ["a"], "n": [n]}))
    >>> table.frame()["n"].to_list()
    [3.0]
    """

    def __init__(self, keys: Sequence[str], sums: Sequence[str]) -> None:
        self._keys, self._sums = list(keys), list(sums)
        self._pile: list[pl.DataFrame] = []
        self._limit = PILE_ROWS

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that have the keys and the sums; several may be of one cell."""
        sums = ((pl.col(name).cast(pl.Float64) / GRAIN).round() * GRAIN for name in self._sums)
        cells = rows.select(*self._keys, *sums).group_by(self._keys, maintain_order=True).agg(pl.col(self._sums).sum())
        self._pile.append(cells.with_columns((pl.selectors.enum() | pl.selectors.string()).cast(pl.Categorical)))
        if sum(chunk.height for chunk in self._pile) > self._limit:
            self._limit = max(PILE_ROWS, 2 * self.frame().height)

    def frame(self) -> pl.DataFrame:
        """Sums so far; without columns where nothing was added."""
        if not self._pile:
            return pl.DataFrame()
        rows = pl.concat(self._pile).group_by(self._keys, maintain_order=True)
        self._pile = [rows.agg(pl.col(self._sums).sum())]
        return self._pile[0].with_columns(pl.selectors.categorical().cast(pl.String))


class UnitTable:
    """Adds up chunks by a few labels and very many units, of which some are left out where there are too many.

    Parameters
    ----------
    labels:
        Columns with few levels; null is a level.
    sums:
        Columns that are added up.

    Examples
    --------
    >>> table = UnitTable(["question"], ["n"])
    >>> questions = pl.DataFrame({"question": ["b", "a"]})
    >>> table.add(questions, np.array([0, 1, 0]), np.array([7, 7, 7], dtype=np.uint64), np.ones((1, 3)))
    >>> table.frame().rows()
    [('a', 7, 1.0), ('b', 7, 2.0)]
    """

    def __init__(self, labels: Sequence[str], sums: Sequence[str]) -> None:
        self._names, self._sums = list(labels), list(sums)
        self._labels: dict[tuple[str | None, ...], int] = {}
        self._pile: list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[Any]]] = []
        """Numbers of labels, units, and sums of shape (sums, rows); what was added up comes first."""
        self._limit = PILE_ROWS
        self.one_of = 1
        """One in how many units is kept."""

    def add(self, labels: pl.DataFrame, label: Codes, unit: npt.NDArray[np.uint64], sums: npt.NDArray[Any]) -> None:
        """Add rows; several may be of one cell.

        `labels`: labels, and `label`: which row of them each row has. `unit`: a number drawn by hash. `sums`: multiples
        of `GRAIN`, shape (sums, rows).
        """
        used = np.flatnonzero(np.bincount(label))
        numbers = np.zeros(labels.height, dtype=np.uint32)
        texts = labels.select(self._names)[used].cast(pl.String).iter_rows()
        numbers[used] = [self._labels.setdefault(levels, len(self._labels)) for levels in texts]
        if self.one_of > 1:
            some = self._is_kept(unit)
            label, unit, sums = label[some], unit[some], sums[:, some]
        self._pile.append((numbers[label], unit, sums))
        if sum(unit.size for _, unit, _ in self._pile) > self._limit:
            self._add_up(np.arange(len(self._labels)))

    def frame(self) -> pl.DataFrame:
        """Sums so far, in the order of labels and units; without columns where nothing was added."""
        if not self._labels:
            return pl.DataFrame()
        names = pl.DataFrame(list(self._labels), dict.fromkeys(self._names, pl.String()), orient="row")
        order = names.with_row_index("(number)").sort(self._names, nulls_last=True)["(number)"].to_numpy()
        self._add_up(np.argsort(order))
        self._labels = {labels: number for number, labels in enumerate(names[order].iter_rows())}
        levels = {column.name: pl.Enum(column.drop_nulls().unique().sort()) for column in names}
        label, unit, sums = self._pile[0]
        columns = names[order].cast(levels)[label]  # type: ignore[arg-type]
        return columns.with_columns(pl.Series("unit", unit), *map(pl.Series, self._sums, sums))

    def _add_up(self, place: Codes) -> None:
        """Add the pile to the sums, and leave units out where there are too many; labels get these numbers."""
        label, unit = (np.concatenate([piece[part] for piece in self._pile]) for part in (0, 1))
        label = place.astype(np.min_scalar_type(len(self._labels)))[label]
        order = pl.Series(unit).arg_sort().to_numpy()  # in less than half of NumPy's time
        order = order[np.argsort(label[order], kind="stable")].astype(np.int64)  # of small numbers by radix
        label, unit = label[order], unit[order]
        is_first = np.ones(label.size, dtype=np.bool_)
        is_first[1:] = (label[1:] != label[:-1]) | (unit[1:] != unit[:-1])
        while np.count_nonzero(is_first) > MOST_ROWS:
            self.one_of *= 2
            some = self._is_kept(unit)
            label, unit, order, is_first = label[some], unit[some], order[some], is_first[some]
        start = np.flatnonzero(is_first)
        sums = np.empty((len(self._sums), start.size))
        for number, total in enumerate(sums):  # one after the other: of millions of cells every copy counts
            if start.size:
                np.add.reduceat(np.concatenate([piece[2][number] for piece in self._pile])[order], start, out=total)
        self._pile = [(label[start].astype(np.uint32), unit[start], sums)]
        self._limit = start.size + min(max(start.size, PILE_ROWS), MOST_ROWS // 4)

    def _is_kept(self, unit: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        return unit % np.uint64(self.one_of) == 0


def in_grains(values: Array) -> Array:
    """Round values to multiples of `GRAIN`.

    Examples
    --------
    >>> values = in_grains(np.array([0.1, 0.2, 0.3]))
    >>> bool(sum(values) == sum(values[::-1])), sum([0.1, 0.2, 0.3]) == sum([0.3, 0.2, 0.1])
    (True, False)
    """
    return np.asarray(np.rint(values / GRAIN) * GRAIN)


NO_ANSWER = name_unmeasured("no valid answer")
UNIT_KEY = ("unit",)
PEOPLE_KEYS = ("unit", "person_1", "person_2")
"""Columns that say what was sampled; of pairs, who is on either side."""


@dataclass(frozen=True)
class Sums:
    """Sums of answers by unit and labels, a row each.

    Attributes
    ----------
    numbers:
        Columns that were added up.
    units:
        What was sampled, as numbers: `unit`, -1 for no single one, and, of pairs, `person_1` and `person_2`. `stratum`,
        if any: the part of the sample that a unit is from; `inner`: what a cell's share is the mean over.
    labels:
        Levels of each label, and the number of each row's; -1 is null.
    names, people:
        What the units, and the people of pairs, are called, in the order of their numbers; empty where they are numbers
        alone.
    """

    numbers: Mapping[str, Array]
    units: Mapping[str, Codes]
    labels: Mapping[str, tuple[Sequence[str], Codes]]
    names: Sequence[str] = ()
    people: Sequence[str] = ()

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, labels: Sequence[str], units: Sequence[str] = UNIT_KEY) -> "Sums":
        """Columns of a frame; those that are no label and no unit are numbers. Levels are in the order of an Enum's.

        Examples
        --------
        >>> Sums.from_frame(pl.DataFrame({"unit": ["a", "b"], "group": ["f", None], "n": [1.0, 2.0]}), ["group"]).labels
        {'group': (('f',), array([ 0, -1]))}
        """
        numbers = [name for name in frame.columns if name not in (*labels, *units)]
        return cls(
            {name: to_array(frame[name]) for name in numbers if frame[name].dtype.is_numeric()},
            {name: code_levels(frame[name])[1] for name in units},
            {name: code_levels(frame[name]) for name in labels},
            *(
                (() if frame[name].dtype.is_numeric() else code_levels(frame[name])[0]) if name in units else ()
                for name in PEOPLE_KEYS[:2]
            ),
        )

    def counting(self, **numbers: Array) -> "Sums":
        """The same rows with other numbers."""
        return replace(self, numbers=numbers)


def code_levels(column: pl.Series) -> tuple[tuple[str, ...], Codes]:
    """Levels of a column in their order, that of first appearance but for an Enum's, and the number of each; -1: null.

    Examples
    --------
    >>> code_levels(pl.Series(["b", None, "a", "b"]))
    (('b', 'a'), array([ 0, -1,  1,  0]))
    """
    text = column if isinstance(column.dtype, pl.Enum) else column.cast(pl.String)
    if not isinstance(text.dtype, pl.Enum):
        text = text.cast(pl.Enum(text.drop_nulls().unique(maintain_order=True)))
    assert isinstance(text.dtype, pl.Enum)
    return tuple(text.dtype.categories), text.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def number_levels(column: pl.Series, levels: Sequence[str]) -> Codes:
    """Place of each value of a column among levels; -1 for others and null.

    Examples
    --------
    >>> number_levels(pl.Series(["b", None, "a", "c"]), ["a", "b"]).tolist()
    [1, -1, 0, -1]
    """
    present, codes = code_levels(column)
    places = {level: place for place, level in enumerate(levels)}
    return np.array([*(places.get(level, -1) for level in present), -1])[codes]


CellEstimates = tuple[Mapping[str, Sequence[Level]], Estimates]
"""Labels of estimates, and these."""


def cells_of(sums: Sums, by: Sequence[str]) -> tuple[dict[str, list[Level]], Codes, int]:
    """Cells of sums broken down by labels, in the order of levels, null last; each row's cell; the number of cells.

    Examples
    --------
    >>> cells_of(Sums({}, {}, {"group": (("f", "m"), np.array([1, -1, 0]))}), ["group"])
    ({'group': ['f', 'm', None]}, array([1, 2, 0]), 3)
    """
    rows = next((codes.size for _, codes in sums.labels.values()), 0) or next(x.size for x in sums.units.values())
    code, sizes = np.zeros(rows, dtype=np.int64), []
    for name in by:
        levels, codes = sums.labels[name]
        sizes.append(len(levels) + 1)
        code = code * sizes[-1] + np.where(codes < 0, len(levels), codes)
    present, at = np.unique(code, return_inverse=True)
    digits = np.unravel_index(present, sizes) if by else ()
    labels = {name: [*sums.labels[name][0], None] for name in by}
    return {n: [labels[n][x] for x in digit.tolist()] for n, digit in zip(by, digits, strict=True)}, at, present.size


def share_of_sums(sums: Sums, by: Sequence[str] = ()) -> CellEstimates:
    """Share s / n of each cell, with Wilson's interval over units.

    Examples
    --------
    >>> rows = pl.DataFrame({"unit": ["a", "b", "c"], "group": ["f", "m", "f"], "s": [1.0, 0.0, 1.0], "n": [1.0] * 3})
    >>> cells, tested = share_of_sums(Sums.from_frame(rows, ["group"]), ["group"])
    >>> cells, tested.value.tolist(), tested.clusters.tolist()
    ({'group': ['f', 'm']}, [1.0, 0.0], [2, 1])
    """
    labels, cell, count = cells_of(sums, by)
    requests = None if only_values() else sums.numbers.get("requests")
    estimates = unit_shares(
        cell, count, sums.units["unit"], sums.numbers["n"], sums.numbers["s"], stratum=sums.units.get("stratum"),
        inner=sums.units.get("inner"), requests=requests,
    )  # fmt: skip
    return labels, replace(estimates, terms=_share_terms(sums, cell, count))


def _share_terms(sums: Sums, cell: Codes, cells: int) -> Terms | None:
    """Terms of shares, whose units are those of the cell."""
    if term_record() is None:
        return None
    unit, inner, (s, n) = sums.units["unit"], sums.units.get("inner"), (sums.numbers[name] for name in "sn")
    ends = np.cumsum(np.bincount(cell, minlength=cells))[:-1]
    return tuple(
        share_term(unit[rows], None if inner is None else inner[rows], s[rows], n[rows], sums.names)
        for rows in np.split(np.argsort(cell, kind="stable"), ends)
    )


def column_shares(hits: Array, size: Array, names: Sequence[str] = ()) -> Shares:
    """Shares of columns, of arrays by unit (`unit_shares`), which say something of shares of 0 and 1, too."""
    units, cells = hits.shape
    cell, unit = (code.ravel() for code in np.indices((cells, units)))
    of_columns = unit_shares(cell, cells, unit, size.T.ravel(), hits.T.ravel())
    return replace(of_columns, terms=name_units(terms_of(hits, size), names))


def share_over_pairs(sums: Sums, by: Sequence[str] = (), method: str = DYADIC_WILSON) -> CellEstimates:
    """Share s / n of each cell of pairs of people, with an interval over people (`pairs.pair_shares`).

    Where the sums have `requests`, its bounds are what the share could have been, had the missing answers been given;
    their standard error is over people, too.
    """
    labels, cell, count = cells_of(sums, by)
    n, requests = sums.numbers["n"], sums.numbers.get("requests")
    s = np.minimum(sums.numbers["s"], n)
    estimates = _pair_shares(sums, s, n, cell, count)
    estimates.method[estimates.method == DYADIC_WILSON] = method
    if requests is None:
        return labels, estimates
    replies = Replies(s[:, None], n[:, None], requests[:, None])
    ends = [_pair_shares(sums, fill_missing(replies, pole)[:, 0], requests, cell, count).se for pole in (0.0, 1.0)]
    totals = (_totals(column, cell, count)[None] for column in (s, n, requests))
    return labels, replace(estimates, bounds=replace(phi_bounds(Replies(*totals)), se=np.fmax(*ends)))


def _totals(values: npt.NDArray[Any], cell: Codes, cells: int) -> Array:
    return np.bincount(cell, values, cells).astype(np.float64)


def _pair_shares(sums: Sums, hits: Array, size: Array, cell: Codes, cells: int) -> Shares:
    total = _totals(size, cell, cells)
    shares = pair_shares(hits, size, (sums.units["person_1"], sums.units["person_2"]), cell, cells)
    terms = name_units(shares.terms, sums.people)
    return replace(shares, method=np.where(total > 0, shares.method, NO_ANSWER), terms=terms)


def apart_from(tested: Estimates, null: Array | float) -> Estimates:
    """Shares of pairs less a share that they are compared with, and p of no difference."""
    assert isinstance(tested, Shares)
    return replace(tested.less(null), p=score_p(tested.value, tested.size, tested.df, null))


def enter_frame(
    table: EstimateTable,
    measure: Measure,
    frame: pl.DataFrame,
    method: str | npt.NDArray[np.object_] = WILSON_OVER_UNITS,
    family: str | None = None,
) -> None:
    """Add a row per row of the frame.

    Parameters
    ----------
    frame:
        Labels, and the columns of `frame_estimates`.
    method:
        How intervals were made, for all rows with enough clusters or for each.
    family:
        As in `EstimateTable.add`.
    """
    if frame.height:
        labels = {name: frame[name] for name in table.labels if name in frame.columns}
        methods = frequency_methods(frame, method) if isinstance(method, str) else method
        table.add(measure, labels, frame_estimates(frame, methods), family)


def row_labels(names: Sequence[str], rows: Sequence[tuple[Level, ...]]) -> dict[str, list[Level]]:
    """Label rows as columns.

    Examples
    --------
    >>> row_labels(("dimension", "group"), [("race", "asian"), ("race", None)])
    {'dimension': ['race', 'race'], 'group': ['asian', None]}
    """
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def frame_estimates(frame: pl.DataFrame, methods: npt.NDArray[np.object_] | None = None) -> Estimates:
    """Read a frame's columns as estimates, with its own `method` unless another is given; null is NaN.

    `frame`: `value`, `n`, `clusters` and, if known, `low`, `high`, `se`, `p`, `p_paper`, `p_least`, `floor` and
    `floor_high`, and `bound_low`, `bound_high` and `bound_se`.
    """
    names = ("value", "low", "high", "se", "p", "p_paper", "p_least", "floor", "floor_high")
    columns: dict[str, Any] = {name: to_array(frame[name]) for name in names if name in frame.columns}
    none = np.full(frame.height, np.nan)
    n, clusters = (np.rint(np.nan_to_num(to_array(frame[c]))).astype(np.int64) for c in ("n", "clusters"))
    if "floor" in columns:
        columns["floor"] = Floor(columns["floor"], columns.pop("floor_high"), columns["p"])
    if "bound_low" in frame.columns:
        low, high = (to_array(frame[name]) for name in ("bound_low", "bound_high"))
        error = to_array(frame["bound_se"]) if "bound_se" in frame.columns else none
        columns["bounds"] = Bounds(columns["value"], low, high, none, error)
    method = np.array(frame["method"].to_list(), object) if methods is None else methods.astype(object)
    return Estimates(**{"low": none, "high": none, **columns}, n=n, clusters=clusters, method=method)


def level_ranks(column: pl.Series) -> npt.NDArray[np.int64]:
    """A column's levels as numbers from 0, in their order.

    Examples
    --------
    >>> level_ranks(pl.Series(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """
    return column.rank("dense").cast(pl.Int64).to_numpy() - 1
