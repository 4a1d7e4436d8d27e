"""Reduction: answers added up by unit and labels, chunk by chunk, and what is estimated of these sums."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.estimators import UNIT, Estimator, Labels, Tested, share
from facevalue.measures.sum_table import SumTable
from facevalue.measures.wanted import wanted


@dataclass(frozen=True)
class Reduce:
    """What of each answer is added up.

    Attributes
    ----------
    rows:
        From a chunk of answers to a row for everything that is counted, with the columns below.
    labels, sums, units:
        Columns that estimates are broken down by, that are added up, and that say what was sampled.
    """

    rows: Callable[[pl.DataFrame], pl.DataFrame]
    labels: tuple[str, ...]
    sums: tuple[str, ...] = ("n", "s")
    units: tuple[str, ...] = UNIT

    def table(self) -> SumTable:
        """A table that adds its rows up."""
        return SumTable([*self.units, *self.labels], self.sums)


def reduced(chunks: Iterable[pl.DataFrame], declared: Mapping[str, Reduce]) -> dict[str, pl.DataFrame]:
    """Reduce all chunks to tables of sums; those of nothing have no columns.

    Examples
    --------
    >>> said = Reduce(lambda chunk: chunk.select("unit", "group", n=1.0, s="yes"), ("group",))
    >>> answers = pl.DataFrame({"unit": ["a", "a"], "group": ["f", "f"], "yes": [1.0, 0.0]})
    >>> reduced([answers, answers], {"said": said})["said"].rows()
    [('a', 'f', 4.0, 2.0)]
    """
    tables = {name: reduce.table() for name, reduce in declared.items()}
    for chunk in chunks:
        for name, reduce in declared.items():
            tables[name].add(reduce.rows(chunk))
    return {name: table.frame() for name, table in tables.items()}


@dataclass(frozen=True)
class Estimand:
    """What is estimated: a measure of sums, broken down by labels.

    Attributes
    ----------
    of:
        Name of the table of sums.
    by:
        Labels that it is broken down by.
    s, n, asked:
        Columns that are added up, that it is a share of, and, for its bounds, of the replies that were asked for.
    level:
        A label of which each level counts by itself, as a share of all: a reason, a route. Null is none.
    where:
        Which rows count.
    factor:
        By what estimates are multiplied: 100 for percent.
    constant:
        Labels of all its estimates.
    """

    measure: Measure
    of: str
    by: tuple[str, ...] = ()
    s: str = "s"
    n: str = "n"
    asked: str = ""
    level: str = ""
    where: pl.Expr | None = None
    factor: float = 1.0
    family: str | None = None
    estimator: Estimator = share
    constant: Mapping[str, str] | None = None

    def rows(self, sums: pl.DataFrame) -> pl.DataFrame:
        """The sums that count, under the names that estimators know."""
        rows = sums if self.where is None else sums.filter(self.where)
        names = {"s": self.s, "n": self.n, **({"asked": self.asked} if self.asked else {})}
        return rows.with_columns(pl.col(column).alias(name) for name, column in names.items())


class Table(Protocol):
    """What estimates are entered into."""

    def add(self, measure: Measure, labels: Labels, estimates: Tested, *, family: str | None) -> None:
        """Add estimates."""


def estimate(
    entries: Table, estimands: Sequence[Estimand], tables: Mapping[str, pl.DataFrame], labels: Labels | None = None
) -> None:
    """Estimate all that is wanted, in the order of the estimands; `labels` are those of all estimates."""
    for one in estimands:
        sums = tables.get(one.of, pl.DataFrame())
        if not sums.height or not wanted([one.measure.name]):
            continue
        rows = one.rows(sums)
        for level in sorted(rows[one.level].drop_nulls().unique()) if one.level else (None,):
            counted = (
                rows
                if level is None
                else rows.with_columns(s=pl.when(pl.col(one.level) == level).then("s").otherwise(0.0))
            )
            if counted.height:
                cells, tested = one.estimator(counted, one.by, None)
                about = {**(labels or {}), **(one.constant or {}), **cells.to_dict(as_series=False)}
                if level is not None:
                    about[one.level] = level
                entries.add(one.measure, about, tested.times(one.factor), family=one.family)
