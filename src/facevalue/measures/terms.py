"""Terms of estimates: the sums of each unit that was sampled, kept while estimates are taken where somebody asks.

An estimate that follows from totals over units says what it is made of by the very sums that its estimator added up,
and what it would be without any one of them. Nothing is kept unless `terms_kept` is entered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[np.float64]
_NOTHING = 1e-9  # of an answer
MOST_BYTES = 100_000_000
"""Sums that are kept of all estimates together; of more, those that come later have none."""


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums by unit and cell, from whose totals estimates follow.

    Attributes
    ----------
    sums, counts:
        Shape (units, cells).
    statistic:
        From totals, shape (..., cells), to estimates, shape (..., estimates); None for the ratio of each cell.
    totals:
        Totals of sums and counts where these are not the sums over units, as an answer may be of two of them.
    names:
        What the units are called; empty where the estimator knows only numbers.
    plural:
        What they are, where that is not what the measure says was sampled, as the people of pairs.
    """

    sums: Array
    counts: Array
    statistic: Callable[[Array, Array], Array] | None = None
    totals: tuple[Array, Array] | None = None
    names: Sequence[str] = ()
    plural: str = ""

    @property
    def total(self) -> tuple[Array, Array]:
        """Totals of sums and counts, each of shape (cells,)."""
        return self.totals or (self.sums.sum(axis=0), self.counts.sum(axis=0))

    @cached_property
    def without_each(self) -> Array:
        """Estimates without each unit, shape (units, estimates)."""
        total_sums, total_counts = self.total
        return self.estimate(total_sums - self.sums, total_counts - self.counts)

    def estimate(self, sums: Array, counts: Array) -> Array:
        """Estimates of such totals."""
        if self.statistic is not None:
            return self.statistic(sums, counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, sums / counts, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class EstimateTerm:
    """What one estimate is made of: a column of sums, times `factor`, less `less`, perhaps without its sign."""

    of: UnitSums
    column: int
    factor: float = 1.0
    less: float = 0.0
    unsigned: bool = False

    def value(self) -> float:
        """The estimate, from the totals."""
        return float(self._scaled(self.of.estimate(*self.of.total)[self.column]))

    def without_each(self) -> Array:
        """The estimate without each unit, shape (units,)."""
        return self._scaled(self.of.without_each[:, self.column])

    def sums(self) -> tuple[Array, Array] | None:
        """Sums and counts of each unit; None where the estimate takes several columns."""
        if self.of.statistic is not None:
            return None
        return self.of.sums[:, self.column], self.of.counts[:, self.column]

    def used(self) -> npt.NDArray[np.bool_]:
        """Which units have any answer behind the estimate."""
        if self.of.statistic is not None:
            return np.asarray((self.of.counts > 0).any(axis=1))
        return self.of.counts[:, self.column] > 0

    def _scaled(self, values: Array) -> Array:
        out = np.asarray(values) * self.factor - self.less
        return np.abs(out) if self.unsigned else out


Terms = tuple[EstimateTerm | None, ...]
"""Terms of several estimates; None where one has none."""


@dataclass
class TermRecord:
    """Terms of what was entered into tables of estimates, by measure, intervention and labels."""

    terms: dict[tuple[str, str | None, frozenset[tuple[str, str]]], EstimateTerm] = field(default_factory=dict)
    bytes: int = 0
    is_full: bool = False
    """Whether there was no room for some of them."""
    _kept: dict[int, tuple[UnitSums, UnitSums]] = field(default_factory=dict, repr=False)
    """Sums as they came, held so that nothing else has their place, and as they are kept, with the names of units."""

    def enter(
        self,
        measure: str,
        intervention: str | None,
        labels: Mapping[str, Sequence[str | None] | pl.Series],
        terms: "Terms | None",
        names: Sequence[str] = (),
    ) -> None:
        """Enter the terms of some estimates, of which the first stay; `names`: of units, where sums do not say."""
        for place, term in enumerate(terms or ()):
            if term is None:
                continue
            levels = {name: column[place] for name, column in labels.items() if name != "model"}
            change = levels.pop("intervention", None) or intervention
            key = (measure, change, frozenset((name, level) for name, level in levels.items() if level is not None))
            if key not in self.terms and (of := self._sums(term.of, names)) is not None:
                self.terms[key] = replace(term, of=of)  # all answers come first, then what a jackknife leaves

    def _sums(self, of: UnitSums, names: Sequence[str]) -> UnitSums | None:
        """Sums as they are kept; None where there is no room for them."""
        if id(of) not in self._kept:
            size = of.sums.nbytes + of.counts.nbytes
            if self.bytes + size > MOST_BYTES:
                self.is_full = True
                return None
            has_names = bool(of.names) or len(names) != of.sums.shape[0]
            self._kept[id(of)] = of, of if has_names else replace(of, names=names)
            self.bytes += size
        return self._kept[id(of)][1]


_RECORD: ContextVar[TermRecord | None] = ContextVar("terms", default=None)


@contextmanager
def terms_kept() -> Iterator[TermRecord]:
    """Keep the terms of all estimates that are entered into tables meanwhile."""
    record = TermRecord()
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


def record() -> TermRecord | None:
    """Where terms are kept; None where nobody asked."""
    return _RECORD.get()


def terms_of(
    sums: Array,
    counts: Array,
    statistic: Callable[[Array, Array], Array] | None = None,
    *,
    estimates: int | None = None,
    totals: tuple[Array, Array] | None = None,
    names: Sequence[str] = (),
    plural: str = "",
) -> Terms | None:
    """Terms of estimates that follow from these sums; None where nobody asked for them.

    `estimates`: how many there are, where that is not a cell each.
    """
    if _RECORD.get() is None:
        return None
    of = UnitSums(sums, counts, statistic, totals, names, plural)
    return tuple(EstimateTerm(of, column) for column in range(sums.shape[1] if estimates is None else estimates))


def terms_by_cell(
    sums: pl.DataFrame, by: Sequence[str], factor: float, less: float
) -> tuple[dict[str, list[str]], Terms]:
    """Labels and terms of shares that are means over activities, a cell at a time (`selection.cells`).

    `sums`: a row per unit and activity: `by`, `stratum`, `unit` (null for what is of no single one), `activity`, `n`,
    `s`. The estimate is `factor` times the share, less `less`.
    """
    labels: dict[str, list[str]] = {name: [] for name in by}
    out: list[EstimateTerm] = []
    activities = pl.col("activity").cast(pl.String).fill_null("") if "activity" in sums.columns else pl.lit("")
    rows = sums.select(
        *(pl.col(name).cast(pl.String) for name in by),
        pl.concat_str(pl.col("stratum").cast(pl.String).fill_null(""), pl.col("unit").cast(pl.String), separator=" ")
        .str.strip_chars()
        .alias("(unit)"),
        activities.alias("(activity)"),
        pl.col("n", "s").cast(pl.Float64),
    )
    for levels, cell in rows.group_by(by, maintain_order=True):
        activity = cell["(activity)"].rank("dense").to_numpy().astype(np.int64) - 1
        unit = cell["(unit)"]
        names = unit.drop_nulls().unique(maintain_order=True).to_list()
        places = unit.replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64).to_numpy()
        shape = (len(names), int(activity.max()) + 1)
        s, n = np.zeros(shape), np.zeros(shape)
        has_unit = places >= 0
        totals = []
        for matrix, column in ((s, "s"), (n, "n")):
            values = cell[column].to_numpy()
            np.add.at(matrix, (places[has_unit], activity[has_unit]), values[has_unit])
            totals.append(np.bincount(activity, values, shape[1]).astype(np.float64))
        of = UnitSums(s, n, _mean_of_shares, (totals[0], totals[1]), names)
        out.append(EstimateTerm(of, 0, factor, less))
        for name, level in zip(by, levels, strict=True):
            labels[name].append(level)
    return labels, tuple(out)


def _mean_of_shares(sums: Array, counts: Array) -> Array:
    """Mean of the shares of the activities that have any answer, shape (..., 1)."""
    seen = counts > _NOTHING
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(seen, sums / counts, 0.0)
        return np.asarray((shares.sum(axis=-1) / seen.sum(axis=-1))[..., None])


def named(terms: Terms | None, names: Sequence[str]) -> Terms | None:
    """The terms with names of their units, in the order of their numbers; there may be more than there are units."""
    if terms is None or not names:
        return terms
    of = {id(term.of): replace(term.of, names=names[: term.of.sums.shape[0]]) for term in terms if term}
    return tuple(None if term is None else replace(term, of=of[id(term.of)]) for term in terms)


def changed(
    terms: Terms | None, *, factor: float = 1.0, less: Array | float = 0.0, unsigned: bool = False
) -> Terms | None:
    """Terms of the estimates times a factor, less a constant each, or without their signs."""
    if terms is None:
        return None
    constants = np.broadcast_to(np.asarray(less, dtype=np.float64), len(terms))
    return tuple(
        None
        if term is None or term.unsigned
        else replace(
            term,
            factor=term.factor * factor,
            less=term.less * factor + float(constant),
            unsigned=unsigned,
        )
        for term, constant in zip(terms, constants, strict=True)
    )
