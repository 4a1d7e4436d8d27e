"""Reduction: answers added up by unit and labels, chunk by chunk, and what is estimated of these sums."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import UNIT, Cells, Estimator, Inference, Labels, Level, Sums, share
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


def reduced(chunks: Iterable[pl.DataFrame], declared: Mapping[str, Reduce]) -> dict[str, Sums]:
    """Reduce all chunks to tables of sums; there is none of what no row was added to.

    Examples
    --------
    >>> said = Reduce(lambda chunk: chunk.select("unit", "group", n=1.0, s="yes"), ("group",))
    >>> answers = pl.DataFrame({"unit": ["a", "a"], "group": ["f", "f"], "yes": [1.0, 0.0]})
    >>> reduced([answers, answers], {"said": said})["said"].numbers
    {'n': array([4.]), 's': array([2.])}
    """
    tables = {name: reduce.table() for name, reduce in declared.items()}
    for chunk in chunks:
        for name, reduce in declared.items():
            tables[name].add(reduce.rows(chunk))
    frames = {name: table.frame() for name, table in tables.items()}
    return {
        name: Sums.of(frame, declared[name].labels, declared[name].units)
        for name, frame in frames.items()
        if frame.height
    }


Row = tuple[Measure, Labels, Inference, str | None]
"""A measure, labels, estimates and their family: what `table_entries.enter` and `Entries.add` take."""


@dataclass(frozen=True)
class Derived:
    """A measure that follows from the estimates of another, such as gaps from shares; `of` gives it."""

    measure: Measure
    of: Callable[[Mapping[str, Sequence[Level]], Inference], Cells]
    family: str | None = None


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
    total:
        A label of `by` over which all levels are taken together, too, last and as null.
    factor:
        By what estimates are multiplied: 100 for percent.
    constant:
        Labels of all its estimates.
    derived:
        Measures that follow from its estimates.
    """

    measure: Measure
    of: str
    by: tuple[str, ...] = ()
    s: str = "s"
    n: str = "n"
    asked: str = ""
    level: str = ""
    total: str = ""
    factor: float = 1.0
    family: str | None = None
    estimator: Estimator = share
    constant: Mapping[str, str] = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()

    def estimates(self, sums: Sums) -> Iterator[Row]:
        """Its estimates and what follows from them, for each level where it has any."""
        columns = {"s": self.s, "n": self.n, **({"asked": self.asked} if self.asked else {})}
        rows = sums.counting(**{name: sums.numbers[column] for name, column in columns.items()})
        rows = rows.with_total(self.total) if self.total else rows
        levels, codes = rows.labels[self.level] if self.level else ((None,), None)
        for level, number in sorted(zip(levels, range(len(levels)), strict=True)) if self.level else ((None, 0),):
            counted = rows
            if codes is not None:
                counted = rows.counting(**{**rows.numbers, "s": rows.numbers["s"] * (codes == number)})
            labels, tested = self.estimator(counted, self.by)
            tested = tested.times(self.factor)
            about = {**self.constant, **({} if level is None else {self.level: level})}
            yield self.measure, {**about, **labels}, tested, self.family
            for derived in self.derived:
                labels_of_derived, following = derived.of(labels, tested)
                if following.estimates.value.size:
                    yield derived.measure, {**about, **labels_of_derived}, following, derived.family


def estimated(estimands: Iterable[Estimand], tables: Mapping[str, Sums], labels: Labels | None = None) -> Iterator[Row]:
    """Estimate all that is wanted, in the order of the estimands; `labels` are those of all estimates."""
    for estimand in estimands:
        names = (estimand.measure.name, *(derived.measure.name for derived in estimand.derived))
        if estimand.of in tables and wanted(names):
            for measure, of_cells, tested, family in estimand.estimates(tables[estimand.of]):
                yield measure, {**(labels or {}), **of_cells}, tested, family


class TrialSums:
    """Sums of columns by trial, in arrays as long as the design: for what needs each trial's answers again.

    Examples
    --------
    >>> sums = TrialSums(3)
    >>> sums.add(np.array([2, 2]), valid=np.array([1.0, 0.5]))
    >>> sums["valid"].tolist(), sums["never"].tolist()
    ([0.0, 0.0, 1.5], [0.0, 0.0, 0.0])
    """

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self._sums: dict[str, Array] = {}

    def add(self, trial: npt.NDArray[np.int64], **columns: Array) -> None:
        """Add values of a chunk's trials."""
        low = int(trial.min(initial=0))
        span = slice(low, int(trial.max(initial=-1)) + 1)
        for name, values in columns.items():
            total = self._sums.setdefault(name, np.zeros(self._trials))
            total[span] += np.bincount(trial - low, values, span.stop - low)

    def __getitem__(self, name: str) -> Array:
        """Sums of a column; zero where nothing was added."""
        return self._sums.get(name, np.zeros(self._trials))

    @property
    def names(self) -> list[str]:
        """Columns that were added up."""
        return list(self._sums)
