"""Estimates with what stands beside them: interval, test, noise floor, bounds for missing answers; and their sums."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.intervals import name_unmeasured

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


def share_term(
    unit: npt.NDArray[np.int64], inner: npt.NDArray[np.int64] | None, s: Array, n: Array, names: Sequence[str]
) -> EstimateTerm:
    """Make the term of a share, which may be the mean over the levels of `inner` (`proportions.unit_shares`).

    A row per unit and level; a negative unit is no single one, and counts in the totals alone.
    """
    places, unit_of = np.unique(unit[unit >= 0], return_inverse=True)
    level = np.zeros_like(unit) if inner is None else np.unique(inner, return_inverse=True)[1]
    levels = int(level.max(initial=-1)) + 1
    at = unit_of * levels + level[unit >= 0]
    sums, counts = (
        np.bincount(at, x[unit >= 0], places.size * levels).astype(np.float64).reshape(-1, levels) for x in (s, n)
    )
    totals = np.bincount(level, s, levels).astype(np.float64), np.bincount(level, n, levels).astype(np.float64)
    called = [names[place] for place in places.tolist()] if names else ()
    return EstimateTerm(UnitSums(sums, counts, None if inner is None else _mean_of_shares, totals, called), 0)


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


Rows = slice | npt.NDArray[np.generic] | tuple[npt.NDArray[np.generic], ...]
"""Numbers of some of the estimates, or a mask of them."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Arrays of one length."""

    def select_rows(self, rows: Rows) -> Self:
        """Select some of them."""
        return type(self)(*(getattr(self, name)[rows] for name in _names(type(self))))

    @classmethod
    def concatenate(cls, several: Sequence[Self]) -> Self:
        """Join several, one after the other."""
        return cls(*(np.concatenate([getattr(one, name) for one in several]) for name in _names(cls)))


@dataclass(frozen=True, slots=True)
class Floor(_Columns):
    """Values of an unsigned quantity with no effect at all.

    Attributes
    ----------
    mean, high:
        Mean and 95th percentile of the permutation null.
    p:
        Share of the null that reaches the observed value, (1 + hits) / (1 + resamples).
    """

    mean: Array
    high: Array
    p: Array


@dataclass(frozen=True, slots=True)
class Bounds(_Columns):
    """Observed values between their worst-case bounds; see `missing_data_bounds`.

    Attributes
    ----------
    value:
        From the valid answers alone; NaN where there was none.
    low, high:
        With all missing answers at one pole or the other; NaN where nothing was asked.
    missing:
        Share of the asked answers that are missing; for a shift, the mean of both sides.
    se:
        Standard error over clusters of the end that varies more; NaN where it is not known.
    """

    value: Array
    low: Array
    high: Array
    missing: Array
    se: Array

    def subtract(self, middle: npt.ArrayLike) -> "Bounds":
        """Subtract a constant, as from a share against one half.

        Examples
        --------
        >>> one = np.ones(1)
        >>> Bounds(one, one * 0.5, one * 2, one * 0, one).subtract(0.5).low.item()
        0.0
        """
        taken = np.asarray(middle, dtype=np.float64)
        return Bounds(self.value - taken, self.low - taken, self.high - taken, self.missing, self.se)

    def times(self, factor: float | Array) -> "Bounds":
        """Express them in another unit, as in percent; `factor` above zero."""
        return Bounds(factor * self.value, factor * self.low, factor * self.high, self.missing, factor * self.se)

    def widen_to(self, value: Array) -> "Bounds":
        """Widen them to hold a value, which may weigh answers otherwise than the bounds do.

        Examples
        --------
        >>> one = np.ones(1)
        >>> Bounds(one * 0.75, one * 0.75, one * 0.75, one * 0, one).widen_to(np.array([0.7])).low.item()
        0.7
        """
        low, high = (
            np.where(np.isfinite(value), nearest(end, value), end)
            for nearest, end in ((np.minimum, self.low), (np.maximum, self.high))
        )
        return replace(self, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates with all that stands beside them; arrays of one length, None where there is no such column.

    Attributes
    ----------
    value, low, high:
        Estimate and its interval at `cluster_bootstrap.LEVEL`; NaN is not measurable, never zero.
    n, clusters:
        Observations, and units that were sampled, behind it.
    method:
        How the interval was made: kind and detail in one text (`intervals.name_method`).
    se:
        Standard error over clusters.
    p:
        P-value of a two-sided test that agrees with the interval: below .05 exactly where it leaves out what is tested.
    terms:
        What each is made of, unit by unit; None unless that is kept (`terms_kept`).
    q, p_least, p_paper:
        P-value adjusted by a test's own correction, smallest one that the test could have given, and that of the
        paper's own test.
    floor, bounds:
        Noise floor, whose p stands where there is no other, and bounds for missing answers.

    Examples
    --------
    >>> half = Estimates.single(0.5, 0.4, 0.6, 0.05, 90, 30, "t: over cluster means")
    >>> percent = half.times(100)
    >>> percent.low.item(), percent.less(50).value.item()
    (40.0, 0.0)
    """

    value: Array
    low: Array
    high: Array
    n: npt.NDArray[np.int64]
    clusters: npt.NDArray[np.int64]
    method: npt.NDArray[np.object_]
    se: Array | None = None
    p: Array | None = None
    terms: Terms | None = None
    q: Array | None = None
    p_least: Array | None = None
    p_paper: Array | None = None
    floor: Floor | None = None
    bounds: Bounds | None = None

    @classmethod
    def single(
        cls, value: float, low: float, high: float, se: float, n: int, clusters: int, method: str
    ) -> "Estimates":
        """Make one estimate, as arrays of shape (1,)."""
        at = [np.array([x]) for x in (value, low, high, se)]
        methods = np.array([method], dtype=object)
        return Estimates(at[0], at[1], at[2], np.array([n]), np.array([clusters]), methods, at[3])

    @classmethod
    def make_unmeasured(cls, reason: str) -> "Estimates":
        """Make one estimate that could not be taken, with the reason."""
        none = float("nan")
        return cls.single(none, none, none, none, 0, 0, name_unmeasured(reason))

    @classmethod
    def without_intervals(
        cls, value: Array, n: npt.NDArray[Any], clusters: npt.NDArray[Any], method: str
    ) -> "Estimates":
        """Make estimates that have no interval, with the reason."""
        none, methods = np.full(value.size, np.nan), np.full(value.size, method, dtype=object)
        return Estimates(value, none, none, n.astype(np.int64), clusters.astype(np.int64), methods)

    @classmethod
    def concatenate(cls, several: "Sequence[Estimates]") -> "Estimates":
        """Join several, one after the other; NaN for what only others have."""
        columns: dict[str, Any] = {
            name: _side_by_side([e.test if name == "p" else getattr(e, name) for e in several], several)
            for name in _ARRAYS
        }
        if any(e.floor is not None for e in several):
            columns["floor"] = Floor.concatenate([e.floor or no_floor(e.value.size) for e in several])
        if any(e.bounds is not None for e in several):
            columns["bounds"] = Bounds.concatenate([e.bounds or unknown_bounds(e.value) for e in several])
        if any(e.terms is not None for e in several):
            columns["terms"] = tuple(term for e in several for term in e.terms or (None,) * e.value.size)
        return Estimates(**columns)

    @property
    def test(self) -> Array | None:
        """P-values: those of the test or, without one, of the noise floor."""
        return self.p if self.p is not None or self.floor is None else self.floor.p

    def at(self, rows: Rows) -> "Estimates":
        """Select some of them."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in (*_ARRAYS, "floor", "bounds")}
        some: dict[str, Any] = {
            name: column.select_rows(rows) if isinstance(column, _Columns) else column[rows]
            for name, column in columns.items() if column is not None
        }  # fmt: skip
        terms = None if self.terms is None else tuple(np.array([*self.terms, None], dtype=object)[:-1][rows])
        return Estimates(**some, terms=terms)

    def without_tests(self) -> "Estimates":
        """Drop all tests but the paper's; a floor stays, without its p."""
        floor = self.floor and replace(self.floor, p=np.full(self.value.size, np.nan))
        return replace(self, p=None, q=None, p_least=None, floor=floor)

    def less(self, null: Array | float) -> "Estimates":
        """Subtract a constant from each, as from a share against one half; tests stay what they are."""
        return replace(
            self, value=self.value - null, low=self.low - null, high=self.high - null,
            terms=change_terms(self.terms, less=null),
            bounds=None if self.bounds is None else self.bounds.subtract(null),
        )  # fmt: skip

    def times(self, factor: float) -> "Estimates":
        """Express them in another unit, as in percent; `factor` above zero."""
        floor = self.floor and Floor(factor * self.floor.mean, factor * self.floor.high, self.floor.p)
        return replace(
            self, value=factor * self.value, low=factor * self.low, high=factor * self.high,
            se=None if self.se is None else factor * self.se, terms=change_terms(self.terms, factor=factor),
            floor=floor, bounds=None if self.bounds is None else self.bounds.times(factor),
        )  # fmt: skip


def _names(columns: type[_Columns]) -> list[str]:
    return [field.name for field in fields(columns)]


_ARRAYS = tuple(column.name for column in fields(Estimates) if column.name not in ("terms", "floor", "bounds"))


def _side_by_side(columns: Sequence[Any], several: Sequence[Estimates]) -> npt.NDArray[Any] | None:
    """One column of several; None where all lack it."""
    if all(column is None for column in columns):
        return None
    return np.concatenate([
        np.full(e.value.size, np.nan) if column is None else column for e, column in zip(several, columns, strict=True)
    ])  # fmt: skip


def no_floor(estimates: int) -> Floor:
    """Make a floor of nothing, in place of floors that are not taken."""
    none = np.full(estimates, np.nan)
    return Floor(none, none, none)


def unknown_bounds(value: npt.ArrayLike) -> Bounds:
    """Make bounds where nobody knows what the missing answers could change."""
    values = np.asarray(value, dtype=np.float64)
    none = np.full(values.shape, np.nan)
    return Bounds(values, none, none, none, none)
