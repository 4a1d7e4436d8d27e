"""Scores and shifts of one model as arrays, differences between their levels, and how their cells become estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.measures.cluster_bootstrap import (
    Array,
    CellStatistic,
    bca_interval,
    cell_means,
    cluster_means,
    jackknife_interval,
    only_values,
)
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_means import compare_groups
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import Replies, contrast_bounds, shift_bounds, weigh_cells_alike
from facevalue.measures.shift import ShiftCells, average_shifts, cell_sums, shift_cells
from facevalue.measures.uncertainty import Bounds, Estimates, Floor, terms_of
from facevalue.statistics.sets import Sets

SEED = 20260  # of all resampling: the same answers always give the same estimates


@dataclass(frozen=True)
class Shifts:
    """Base scores and shifts of one model, or their mean over models."""

    sets: Sets
    phi: Array  # shape (stimuli, items)
    # Largest possible shift of a score; None where there is no such
    largest: float | None = field(default=1.0, kw_only=True)

    @cached_property
    def base(self) -> Array:
        """Bases' phi, shape (units, items); NaN for units without one."""
        out = np.full((len(self.sets.identities), self.phi.shape[1]), np.nan)
        have = self.sets.base >= 0
        out[have] = self.phi[self.sets.base[have]]
        return out

    @cached_property
    def delta(self) -> Array:
        """Prediction shift Delta_i(x_v) = phi_i(x_v) - phi_i(x_b), shape (varied, items)."""
        base = self.sets.base_of
        return self.phi[self.sets.variation_rows] - np.where((base >= 0)[:, None], self.phi[base], np.nan)

    @property
    def has_values(self) -> bool:
        """True if there is any shift, or, where stimuli have no base, any score."""
        return bool(np.isfinite(self.delta if (self.sets.base >= 0).any() else self.phi).any())

    @cached_property
    def cluster(self) -> npt.NDArray[np.int64]:
        """Unit of each varied stimulus."""
        return self.sets.identity[self.sets.variation_rows]

    def cells(self, rows: Slicing, columns: Slicing | None = None, values: Array | None = None) -> ShiftCells:
        """Gather the shifts (or another quantity per varied stimulus and item) by unit and cell."""
        values = self.delta if values is None else values
        columns = Slicing.whole(values.shape[1]) if columns is None else columns
        return shift_cells(values, self.cluster, rows, columns, len(self.sets.identities))

    def estimates(self, cells: ShiftCells, rows: Slicing, columns: Slicing | None = None) -> Estimates:
        """Mean shifts with intervals and p-values.

        Where a unit has one picture in a cell its shifts are as good as symmetric, and t holds; where several share
        their base, `shift.average_shifts`.
        """
        out = cluster_means(cells.sums, cells.counts, SEED, largest=self.largest)
        if only_values():
            return out
        columns = Slicing.whole(self.delta.shape[1]) if columns is None else columns
        variation = self.slice_by(*self.sets.cue).codes
        varied = self.phi[self.sets.variation_rows]
        corrected = []
        for row in range(len(rows)):
            at = np.flatnonzero(rows.codes == row)
            _, pictures, unit, place = self.pictures(at, varied)
            if pictures.shape[1] < 3:
                continue
            codes = np.full(pictures.shape[:2], -1)
            has_base = unit >= 0
            codes[unit[has_base], place[has_base]] = variation[at[has_base]]
            columns_of_row = slice(row * len(columns), (row + 1) * len(columns))
            sums, counts = cells.sums[:, columns_of_row], cells.counts[:, columns_of_row]
            corrected.append(
                (columns_of_row, average_shifts(sums, counts, pictures, codes, columns.codes, self.largest))
            )
        for columns_of_row, estimates in corrected:
            for name in ("low", "high", "method", "se", "p"):
                if getattr(out, name) is not None:
                    getattr(out, name)[columns_of_row] = getattr(estimates, name)
        return out

    def bounds(
        self,
        totals: Sequence[Array],
        rows: Slicing,
        columns: Slicing | None = None,
        poles: tuple[float, float] = (0.0, 1.0),
    ) -> Bounds:
        """Worst cases: all missing answers about the varied went one way, all about their bases the other."""
        return shift_bounds(*self.replies(totals, rows, columns), poles)

    def replies(
        self, totals: Sequence[Array], rows: Slicing, columns: Slicing | None = None
    ) -> tuple[Replies, Replies]:
        """Requests and replies about bases and about the varied, where both were asked; `totals`: see `ModelScores`."""
        base, varied, has_requests = self.sets.base_of, self.sets.variation_rows, totals[2] > 0
        of_both = (base >= 0)[:, None] & has_requests[base] & has_requests[varied]
        columns = Slicing.whole(of_both.shape[1]) if columns is None else columns
        pictures = [np.where(of_both, total[at], 0.0) for at in (base, varied) for total in totals]
        sums = cell_sums(pictures, self.cluster, rows, columns, len(self.sets.identities))
        return Replies(*sums[:3]), Replies(*sums[3:])

    def pictures(
        self, at: npt.NDArray[np.int64], varied: Array
    ) -> tuple[npt.NDArray[np.int64], Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Scores by base: what was compared with one and the same picture, side by side."""
        base = self.sets.base_of[at]
        unit, place = np.full(at.size, -1), np.zeros(at.size, dtype=np.int64)
        have = np.flatnonzero(base >= 0)
        units, code, many = np.unique(base[have], return_inverse=True, return_counts=True)
        order = np.argsort(code, kind="stable")
        unit[have] = code
        place[have[order]] = np.arange(have.size) - np.repeat(np.cumsum(many) - many, many) + 1
        scores = np.full((units.size, many.max(initial=0) + 1, varied.shape[1]), np.nan)
        scores[:, 0] = self.phi[units]
        scores[code, place[have]] = varied[at[have]]
        return units, scores, unit, place

    def slice_by(self, *names: str) -> Slicing:
        """Partition what is varied by columns of the table."""
        return (
            self.sets.slicing(self.sets.variation_rows, *names)
            if names
            else Slicing.whole(self.sets.variation_rows.size)
        )


def add_levels(table: EstimateTable, measure: Measure, cells: ShiftCells) -> None:
    """Add means of cells that are levels, not shifts; those of cells that nothing belongs to are left out."""
    means = cluster_means(cells.sums, cells.counts, SEED, level=True)
    table.add(measure, cells.labels, means, keep=cells.shown > 0)


def add_derived(
    table: EstimateTable,
    measure: Measure,
    labels: SliceLabels,
    cells: ShiftCells,
    statistic: CellStatistic,
    n: Array,
    *,
    floor: Floor | None = None,
    bounds: Bounds | None = None,
    bootstrapped: bool = False,
) -> None:
    """Add a statistic that is no mean of cells: signed ones with a BCa interval, spreads with a jackknife one."""
    if measure.signed or bootstrapped:
        value, low, high, se = bca_interval(cells.sums, cells.counts, statistic, SEED)
        method = name_method(IntervalKind.BOOTSTRAP, "BCa over clusters")
    else:
        value, low, high, se = jackknife_interval(cells.sums, cells.counts, statistic)
        method = name_method(IntervalKind.JACKKNIFE, "over clusters")
    clusters = np.full(value.size, int((cells.counts.sum(axis=1) > 0).sum()))
    terms = terms_of(cells.sums, cells.counts, statistic, estimates=value.size)
    methods = np.full(value.size, method, dtype=object)
    result = Estimates(value, low, high, n.astype(np.int64), clusters, methods, se, terms=terms)
    table.add(measure, labels, replace(result, floor=floor, bounds=bounds))


def bound_difference(
    varied: Sequence[Array],
    base: Sequence[Array] | None,
    sides: tuple[list[int], list[int]],
    poles: tuple[float, float],
    *,
    paired: bool,
) -> Bounds:
    """Bounds of a gap between means, or, with bases, between shifts from them."""

    def replies(totals: Sequence[Array], of_side: list[int]) -> Replies:
        summed = [total[:, of_side].sum(axis=1) for total in totals]
        return Replies(*(weigh_cells_alike(summed) if paired else summed))

    level, contrast = (replies(varied, of_side) for of_side in sides)
    if base is None:
        return shift_bounds(contrast, level, poles, paired=paired)
    compared = [level, replies(base, sides[0]), contrast, replies(base, sides[1])]
    if paired:
        of_both = (level.asked > 0) & (contrast.asked > 0)
        compared = [Replies(r.sums * of_both, r.valid * of_both, r.asked * of_both) for r in compared]
    return contrast_bounds(compared, [1, -1, -1, 1], poles)


def estimate_difference_from_mean(sums: Array, counts: Array, level: int, span: float | None) -> Estimates:
    """Estimate the difference of a level from the unit's mean; sums and counts have shape (units, levels, cells)."""
    means = cell_means(sums, counts)
    has_level = np.isfinite(means)
    size = has_level.sum(axis=1)
    average = cell_means(np.where(has_level, means, 0.0).sum(axis=1), size.astype(np.float64))
    is_compared = has_level[:, level] & (size > 1)
    apart = np.where(is_compared, means[:, level] - average, 0.0)
    largest = None if span is None else span * (1 - 1 / means.shape[1])
    return cluster_means(apart, is_compared.astype(np.float64), SEED, largest=largest)


def bound_difference_from_mean(totals: Sequence[Array], level: int, poles: tuple[float, float]) -> Bounds:
    """Bounds of how far a level lies from the mean: (1 - 1/k) (level - mean of the unit's other k - 1 levels)."""
    of_levels = weigh_cells_alike(totals)
    size = of_levels[2].sum(axis=1)
    weight = np.where((of_levels[2][:, level] > 0) & (size > 1), 1 - 1 / np.maximum(size, 1), 0.0)
    rest = weigh_cells_alike([total.sum(axis=1) - total[:, level] for total in of_levels])
    others = Replies(*(total * weight for total in rest))
    single = Replies(*(total[:, level] * weight for total in of_levels))
    return shift_bounds(others, single, poles).times(cell_means(weight.sum(axis=0), (weight > 0).sum(axis=0)))


def estimate_difference(
    sides: Sequence[tuple[Array, Array]], span: float | None, *, pooled: bool, within: bool
) -> Estimates:
    """The second side's mean less the first's: between units, or within where units have both."""
    (low_sums, low_counts), (high_sums, high_counts) = sides
    if within:
        have_both = (low_counts > 0) & (high_counts > 0)
        apart = cell_means(high_sums, high_counts) - cell_means(low_sums, low_counts)
        return cluster_means(np.where(have_both, apart, 0.0), have_both.astype(np.float64), SEED, largest=span)
    code = np.where((high_counts > 0).any(axis=1), 1, np.where((low_counts > 0).any(axis=1), 0, -1))
    is_high = (code == 1)[:, None]
    sums, counts = np.where(is_high, high_sums, low_sums), np.where(is_high, high_counts, low_counts)
    return compare_groups(sums, counts, code, SEED, pooled=pooled, largest=span)
