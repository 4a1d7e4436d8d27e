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
    """Terms of one estimate: a column of sums, times `factor`, less `less`, perhaps without its sign."""

    of: UnitSums
    column: int
    factor: float = 1.0
    less: float = 0.0
    unsigned: bool = False

    def value(self) -> float:
        """The estimate, from the totals."""
        return float(self._scale_values(self.of.estimate(*self.of.total)[self.column]))

    def without_each(self) -> Array:
        """The estimate without each unit, shape (units,)."""
        return self._scale_values(self.of.without_each[:, self.column])

    def sums(self) -> tuple[Array, Array] | None:
        """Sums and counts of each unit; None where the estimate takes several columns."""
        if self.of.statistic is not None:
            return None
        return self.of.sums[:, self.column], self.of.counts[:, self.column]

    def answered_units(self) -> npt.NDArray[np.bool_]:
        """Mask of the units with any answer behind the estimate."""
        if self.of.statistic is not None:
            return np.asarray((self.of.counts > 0).any(axis=1))
        return self.of.counts[:, self.column] > 0

    def _scale_values(self, values: Array) -> Array:
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
    """True if there was no room for some of them."""
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


def term_record() -> TermRecord | None:
    """Record that terms are kept in; None where nobody asked."""
    return _RECORD.get()


def terms_of(
    sums: Array,
    counts: Array,
    statistic: Callable[[Array, Array], Array] | None = None,
    *,
    estimates: int | None = None,
    totals: tuple[Array, Array] | None = None,
    plural: str = "",
) -> Terms | None:
    """Terms of estimates that follow from these sums; None where nobody asked for them.

    `estimates`: how many there are, where that is not a cell each.
    """
    if _RECORD.get() is None:
        return None
    of = UnitSums(sums, counts, statistic, totals, plural=plural)
    return tuple(EstimateTerm(of, column) for column in range(sums.shape[1] if estimates is None else estimates))


def mean_share_term(
    unit: npt.NDArray[np.int64], inner: npt.NDArray[np.int64], s: Array, n: Array, names: Sequence[str]
) -> EstimateTerm:
    """Make the term of a share that is the mean over the levels of `inner` (`proportions.unit_shares`).

    A row per unit and level; a negative unit is no single one, and counts in the totals alone.
    """
    places, unit_of = np.unique(unit[unit >= 0], return_inverse=True)
    level = np.unique(inner, return_inverse=True)[1]
    levels = int(level.max(initial=-1)) + 1
    at = unit_of * levels + level[unit >= 0]
    sums, counts = (
        np.bincount(at, x[unit >= 0], places.size * levels).astype(np.float64).reshape(-1, levels) for x in (s, n)
    )
    totals = np.bincount(level, s, levels).astype(np.float64), np.bincount(level, n, levels).astype(np.float64)
    called = [names[place] for place in places.tolist()] if names else ()
    return EstimateTerm(UnitSums(sums, counts, _mean_of_shares, totals, called), 0)


def _mean_of_shares(sums: Array, counts: Array) -> Array:
    """Mean of the shares of the activities that have any answer, shape (..., 1)."""
    seen = counts > _NOTHING
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(seen, sums / counts, 0.0)
        return np.asarray((shares.sum(axis=-1) / seen.sum(axis=-1))[..., None])


def name_units(terms: Terms | None, names: Sequence[str]) -> Terms | None:
    """The terms with names of their units, in the order of their numbers; there may be more than there are units."""
    if terms is None or not names:
        return terms
    of = {id(term.of): replace(term.of, names=names[: term.of.sums.shape[0]]) for term in terms if term}
    return tuple(None if term is None else replace(term, of=of[id(term.of)]) for term in terms)


def change_terms(
    terms: Terms | None, *, factor: float = 1.0, less: Array | float = 0.0, unsigned: bool = False
) -> Terms | None:
    """Terms of the estimates times a factor, less a constant each, or without their signs."""
    if terms is None:
        return None
    constants = np.broadcast_to(np.asarray(less, dtype=np.float64), len(terms))
    return tuple(
        None
        if term is None or term.unsigned
        else replace(term, factor=term.factor * factor, less=term.less * factor + float(constant), unsigned=unsigned)
        for term, constant in zip(terms, constants, strict=True)
    )
