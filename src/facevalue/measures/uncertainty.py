"""Estimates with everything that stands beside them: interval, test, noise floor, bounds for missing answers.

Arrays of one length, an element per estimate. `EstimateTable` turns them into rows of the table of estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from facevalue.measures.intervals import name_unmeasured
from facevalue.measures.terms import Terms, change_terms

Array = npt.NDArray[np.float64]
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
        What each is made of, unit by unit; None unless that is kept (`measures.terms`).
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


_ARRAYS = tuple(field.name for field in fields(Estimates) if field.name not in ("terms", "floor", "bounds"))


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
