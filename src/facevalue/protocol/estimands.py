"""Estimands: what is estimated of sums of answers, declared in the order of the estimates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from facevalue.measures.definitions import Measure, is_wanted
from facevalue.measures.estimates import Labels, Level
from facevalue.measures.estimators import CellEstimates, Estimator, Sums, share_of_sums
from facevalue.measures.uncertainty import Estimates

Row = tuple[Measure, Labels, Estimates, str | None]
"""A measure, labels, estimates and their family: the arguments of `EstimateTable.add`."""


@dataclass(frozen=True)
class Derived:
    """A measure that follows from the estimates of another, such as gaps from shares; `of` gives it."""

    measure: Measure
    of: Callable[[Mapping[str, Sequence[Level]], Estimates], CellEstimates]
    family: str | None = None


@dataclass(frozen=True)
class SumEstimand:
    """Quantity that is estimated: a measure of sums, broken down by labels.

    Attributes
    ----------
    of:
        Name of the table of sums.
    by:
        Labels that it is broken down by.
    s, n, requests, tested:
        Columns that are added up, that it is a share of, for its bounds, of the replies that were asked for, and for
        its test, where that is of another share.
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
    requests: str = ""
    tested: str = ""
    total: str = ""
    factor: float = 1.0
    family: str | None = None
    estimator: Estimator = share_of_sums
    constant: Mapping[str, str] = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()

    def estimates(self, sums: Sums) -> Iterator[Row]:
        """Its estimates and what follows from them."""
        columns = {"s": self.s, "n": self.n, "requests": self.requests, "tested": self.tested}
        rows = sums.counting(**{name: sums.numbers[column] for name, column in columns.items() if column})
        rows = rows.with_total(self.total) if self.total else rows
        labels, tested = self.estimator(rows, self.by)
        tested = tested.times(self.factor)
        yield self.measure, {**self.constant, **labels}, tested, self.family
        for derived in self.derived:
            labels_of_derived, following = derived.of(labels, tested)
            if following.value.size:
                yield derived.measure, {**self.constant, **labels_of_derived}, following, derived.family


def estimate_rows(
    estimands: Iterable[SumEstimand], tables: Mapping[str, Sums], labels: Labels | None = None
) -> Iterator[Row]:
    """Estimate all that is wanted, in the order of the estimands; `labels` are those of all estimates."""
    for estimand in estimands:
        names = (estimand.measure.name, *(derived.measure.name for derived in estimand.derived))
        if estimand.of in tables and is_wanted(names):
            for measure, of_cells, tested, family in estimand.estimates(tables[estimand.of]):
                yield measure, {**(labels or {}), **of_cells}, tested, family
