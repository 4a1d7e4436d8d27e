"""Estimators: from sums of answers by unit and label to estimates, each with its interval, test, floor and bounds.

Of the numbers that were added up, `s` is a share of `n`, and `requests` the number of replies asked for. Estimators of
several studies are here; a paper's own arithmetic is beside its study, and says what it estimates in the same form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import cluster_bootstrap, dyads, terms
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import Level
from facevalue.measures.interval_method import name_unmeasured
from facevalue.measures.missing_data_bounds import Replies, filled, phi_bounds
from facevalue.measures.proportions import score_p
from facevalue.measures.selection import to_array
from facevalue.measures.shares import Shares, unit_shares
from facevalue.measures.terms import Terms, named, terms_of
from facevalue.measures.uncertainty import Estimates

NO_ANSWER = name_unmeasured("no valid answer")
UNIT = ("unit",)
PEOPLE = ("unit", "person_1", "person_2")
"""Columns that say what was sampled; of pairs, who is on either side."""
Codes = npt.NDArray[np.int64]


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
    def of(cls, frame: pl.DataFrame, labels: Sequence[str], units: Sequence[str] = UNIT) -> "Sums":
        """Columns of a frame; those that are no label and no unit are numbers. Levels are in the order of an Enum's.

        Examples
        --------
        >>> Sums.of(pl.DataFrame({"unit": ["a", "b"], "group": ["f", None], "n": [1.0, 2.0]}), ["group"]).labels
        {'group': (('f',), array([ 0, -1]))}
        """
        numbers = [name for name in frame.columns if name not in (*labels, *units)]
        return cls(
            {name: to_array(frame[name]) for name in numbers if frame[name].dtype.is_numeric()},
            {name: coded(frame[name])[1] for name in units},
            {name: coded(frame[name]) for name in labels},
            *(
                (() if frame[name].dtype.is_numeric() else coded(frame[name])[0]) if name in units else ()
                for name in PEOPLE[:2]
            ),
        )

    def counting(self, **numbers: Array) -> "Sums":
        """The same rows with other numbers."""
        return replace(self, numbers=numbers)

    def with_total(self, label: str) -> "Sums":
        """The rows, and once more with one label null: all its levels taken together."""
        levels, codes = self.labels[label]
        twice = {name: (of_name, np.concatenate([at, at])) for name, (of_name, at) in self.labels.items()}
        twice[label] = levels, np.concatenate([codes, np.full(codes.size, -1)])
        numbers = {name: np.concatenate([values, values]) for name, values in self.numbers.items()}
        units = {name: np.concatenate([unit, unit]) for name, unit in self.units.items()}
        return Sums(numbers, units, twice, self.names, self.people)


def coded(column: pl.Series) -> tuple[tuple[str, ...], Codes]:
    """Levels of a column in their order, that of first appearance but for an Enum's, and the number of each; -1: null.

    Examples
    --------
    >>> coded(pl.Series(["b", None, "a", "b"]))
    (('b', 'a'), array([ 0, -1,  1,  0]))
    """
    text = column if isinstance(column.dtype, pl.Enum) else column.cast(pl.String)
    if not isinstance(text.dtype, pl.Enum):
        text = text.cast(pl.Enum(text.drop_nulls().unique(maintain_order=True)))
    assert isinstance(text.dtype, pl.Enum)
    return tuple(text.dtype.categories), text.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def _named(units: pl.Series) -> tuple[str, ...]:
    """What units are called; nothing where they are numbers."""
    return () if units.dtype.is_numeric() else coded(units)[0]


Cells = tuple[Mapping[str, Sequence[Level]], Estimates]
"""Labels of estimates, and these."""
Estimator = Callable[[Sums, Sequence[str]], Cells]
"""From sums, and labels by which they are broken down, to cells."""


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


def share(sums: Sums, by: Sequence[str] = ()) -> Cells:
    """Share s / n of each cell, with Wilson's interval over units.

    Examples
    --------
    >>> rows = pl.DataFrame({"unit": ["a", "b", "c"], "group": ["f", "m", "f"], "s": [1.0, 0.0, 1.0], "n": [1.0] * 3})
    >>> cells, tested = share(Sums.of(rows, ["group"]), ["group"])
    >>> cells, tested.value.tolist(), tested.clusters.tolist()
    ({'group': ['f', 'm']}, [1.0, 0.0], [2, 1])
    """
    labels, cell, count = cells_of(sums, by)
    requests = None if cluster_bootstrap.only_values() else sums.numbers.get("requests")
    estimates = unit_shares(
        cell, count, sums.units["unit"], sums.numbers["n"], sums.numbers["s"], stratum=sums.units.get("stratum"),
        inner=sums.units.get("inner"), requests=requests,
    )  # fmt: skip
    return labels, replace(estimates, terms=_share_terms(sums, cell, count))


def _share_terms(sums: Sums, cell: Codes, cells: int) -> Terms | None:
    """Terms of shares, whose units are those of the whole table or, where shares are means, those of the cell."""
    if terms.record() is None:
        return None
    unit, inner = sums.units["unit"], sums.units.get("inner")
    if inner is None:
        s, n = (by_unit(unit, cell, cells, sums.numbers[name]) for name in "sn")
        return named(terms_of(s, n), sums.names)
    return tuple(
        terms.mean_share_term(unit[rows], inner[rows], sums.numbers["s"][rows], sums.numbers["n"][rows], sums.names)
        for rows in (np.flatnonzero(cell == at) for at in range(cells))
    )


def by_unit(unit: Codes, cell: Codes, cells: int, values: Array) -> Array:
    """Values added up, shape (units, cells)."""
    units = int(unit.max(initial=-1)) + 1
    return np.bincount(unit * cells + cell, values, units * cells).astype(np.float64).reshape(units, cells)


def shares(hits: Array, size: Array, names: Sequence[str] = ()) -> Shares:
    """Shares of columns, of arrays by unit (`shares.unit_shares`), which say something of shares of 0 and 1, too."""
    units, cells = hits.shape
    cell, unit = (code.ravel() for code in np.indices((cells, units)))
    of_columns = unit_shares(cell, cells, unit, size.T.ravel(), hits.T.ravel())
    return replace(of_columns, terms=named(terms_of(hits, size), names))


def pair_share(sums: Sums, by: Sequence[str] = (), method: str = dyads.METHOD) -> Cells:
    """Share s / n of each cell of pairs of people, with an interval over people (`dyads.shares`).

    Where the sums have `requests`, its bounds are what the share could have been, had the missing answers been given;
    their standard error is over people, too.
    """
    labels, cell, count = cells_of(sums, by)
    n, requests = sums.numbers["n"], sums.numbers.get("requests")
    s = np.minimum(sums.numbers["s"], n)
    estimates = _pair_shares(sums, s, n, cell, count)
    estimates.method[estimates.method == dyads.METHOD] = method
    if requests is None:
        return labels, estimates
    replies = Replies(s[:, None], n[:, None], requests[:, None])
    ends = [_pair_shares(sums, filled(replies, pole)[:, 0], requests, cell, count).se for pole in (0.0, 1.0)]
    totals = (_totals(column, cell, count)[None] for column in (s, n, requests))
    return labels, replace(estimates, bounds=replace(phi_bounds(Replies(*totals)), se=np.fmax(*ends)))


def _totals(values: npt.NDArray[Any], cell: Codes, cells: int) -> Array:
    return np.bincount(cell, values, cells).astype(np.float64)


def _pair_shares(sums: Sums, hits: Array, size: Array, cell: Codes, cells: int) -> Shares:
    total = _totals(size, cell, cells)
    pair_shares = dyads.shares(hits, size, (sums.units["person_1"], sums.units["person_2"]), cell, cells)
    terms = named(pair_shares.terms, sums.people)
    return replace(pair_shares, method=np.where(total > 0, pair_shares.method, NO_ANSWER), terms=terms)


def apart_from(tested: Estimates, null: Array | float) -> Estimates:
    """Shares of pairs less a share that they are compared with, and p of no difference."""
    assert isinstance(tested, Shares)
    return replace(tested.less(null), p=score_p(tested.value, tested.size, tested.df, null))
