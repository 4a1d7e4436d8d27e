"""Gaps cell by cell, such as job by job: how large they are, and how they go with a number of each cell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan, prod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import polars as pl
import scipy

from facevalue.errors import DataError
from facevalue.measures.cell_gaps import BY_UNITS, cell_values, correlate_cells, deal_levels, leave_out_units
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, floor_from, only_values
from facevalue.measures.definitions import Measure
from facevalue.measures.missing_data_bounds import average_bounds, phi_bounds, size_bounds
from facevalue.measures.power import POWER
from facevalue.measures.set_ranges import beyond_chance
from facevalue.measures.uncertainty import Bounds, Estimates, Floor
from facevalue.statistics.breakdown import DIMENSION, Breakdown, Codes
from facevalue.statistics.contrasts import Gap, Shift
from facevalue.statistics.rivals import PART, SIDE, UNIT, VALUE, answers_about, gap_rows, shifts_of, unit_means
from facevalue.statistics.shifts import SEED, bound_difference
from facevalue.statistics.statistic import (
    MOST_LEVELS,
    Definitions,
    Forms,
    PairNames,
    Score,
    Statistic,
    Unsigned,
    companion_measures,
    form_of,
    phrase_of,
    register,
)

if TYPE_CHECKING:
    from facevalue.design import Design
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.power import PlannedTask
    from facevalue.statistics.precision import Precision
    from facevalue.statistics.scores import ModelScores

FEWEST_CELLS = 4
"""Cells of a correlation at least, as Fisher's z has none of fewer."""
_WITH_CHANCE = f"{BY_UNITS}; above, with what chance takes off"


class CellScores(NamedTuple):
    """Sums of scores, and counts, of shape (units, levels, cells); of two levels compared the rival stands first.

    `strata`: units among which levels may be dealt out anew, by number.
    """

    labels: Mapping[str, Sequence[str | None]]
    sums: Array
    counts: Array
    bounds: Bounds | None
    strata: Codes

    def keys(self, names: Sequence[str]) -> list[tuple[str | None, ...]]:
        """Levels of some factors in each cell."""
        return list(zip(*(self.labels[name] for name in names), strict=True)) or [()] * self.sums.shape[-1]

    def parts(self, by: Sequence[str]) -> Iterator[tuple[dict[str, list[str | None]], Codes]]:
        """Labels of each part of a breakdown in which any cell has a value, and its cells."""
        keys, values = self.keys(by), cell_values(self.sums.sum(axis=0), self.counts.sum(axis=0))
        for key in dict.fromkeys(keys):
            at = np.array([place for place, of_cell in enumerate(keys) if of_cell == key], dtype=np.int64)
            if np.isfinite(values[at]).any():
                yield {name: [level] for name, level in zip(by, key, strict=True)}, at


def product_bounds(accuracy: Bounds, size: Bounds) -> Bounds:
    """Bounds of the mean over cells of accuracy times one less the size of the gap."""
    value, low, high = (
        share * (1 - gap)
        for share, gap in ((accuracy.value, size.value), (accuracy.low, size.high), (accuracy.high, size.low))
    )
    missing, none = (accuracy.missing + size.missing) / 2, np.full(size.value.size, np.nan)
    return average_bounds(Bounds(value, low, high, missing, none))


def judge_size(size: Estimates, null: Array, smallest: float) -> Estimates:
    """A size with its test, noise floor and interval, from sizes by chance; `smallest`: p that there can be."""
    floor = floor_from(null, size.value)
    excess, df = float(size.value[0] - floor.mean[0]), int(size.clusters[0]) - 1
    return replace(beyond_chance(size, excess, floor, df, "gaps"), floor=floor, p_least=np.array([smallest]))


def sum_cells(model: "ModelScores", names: Sequence[str], factor: str, versus: str = "") -> CellScores:
    """Sum scores by cell: of either level of a factor, of pictures less their base, or, without a factor, all."""
    breakdown = model.breakdown
    strata = np.zeros(len(breakdown.sets.identities), dtype=np.int64)
    if factor in breakdown.sets.cue:
        rows, columns = model.cut(names)
        cells = model.values.cells(rows, columns)
        ends = None if model.totals is None else model.values.bounds(model.totals, rows, columns, model.poles)
        sides = np.stack([np.zeros_like(cells.sums), cells.sums], axis=1)
        return CellScores(cells.labels, sides, np.stack([cells.counts] * 2, axis=1), ends, strata)
    at = breakdown.stimuli((*names, factor))
    rows, columns = breakdown.rows(at, names), breakdown.columns(names)
    if not factor:
        cells = model.cells(model.values.phi[at], at, rows, columns)
        bounds = None if model.totals is None else phi_bounds(model.replies(at, rows, columns), model.poles)
        return CellScores(cells.labels, cells.sums[:, None], cells.counts[:, None], bounds, strata)
    split = model.split(at, factor, names)
    ((level, rival),) = Gap(factor=factor, versus=versus).contrasts(breakdown)
    pair = [split.levels.index(rival), split.levels.index(level)]
    sums, counts = (of_levels[:, pair] for of_levels in split.sum_levels(model.values.phi[at])[:2])
    is_within, bounds = breakdown.varies_within_units(factor), None
    if is_within:  # as of a gap within units: each unit that has both levels counts alike
        means, has_both = cell_means(sums, counts), (counts > 0).all(axis=1, keepdims=True)
        sums, counts = np.where(has_both, means, 0.0), np.repeat(has_both, 2, axis=1).astype(np.float64)
    else:
        is_shown = np.zeros((strata.size, len(rows)), dtype=np.bool_)
        is_shown[breakdown.sets.identity[at[rows.codes >= 0]], rows.codes[rows.codes >= 0]] = True
        strata = np.unique(np.packbits(is_shown, axis=1), axis=0, return_inverse=True)[1].ravel()
    if model.totals is not None:
        replies = [split.sum_levels(total[at])[0] for total in model.totals]
        bounds = bound_difference(replies, None, ([pair[1]], [pair[0]]), model.poles, paired=is_within)
    return CellScores(split.labels, sums, counts, bounds, strata)


@dataclass(frozen=True, kw_only=True)
class CellStatistic(Statistic):
    """A statistic of several cells, each with a gap between two levels or a mean."""

    over: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.over:
            raise DataError(
                f"A {self.kind} is of several cells: name the factors that make them with `over`, as in ['job']."
            )

    @property
    def factors(self) -> tuple[str, ...]:
        """The factor of gaps, if there is one, and those of the cells."""
        return (*super().factors, *self.over)

    def needs_levels(self, breakdown: Breakdown) -> bool:
        """Return whether the factor of gaps must have two levels or more: a cue has one beside the base."""
        return not {*super().factors} & {*breakdown.sets.cue}

    def check_cells(self, breakdown: Breakdown, factor: str, versus: str = "") -> None:
        """Refuse cells that there aren't, and a factor of which other than two levels are compared."""
        if factor in breakdown.sets.cue:
            many = len(breakdown.levels(factor)) - (breakdown.sets.base_level is not None)
            if many != 1:
                raise DataError(f"A {self.kind} of {factor!r} needs one level beside the base, and there are {many}.")
        elif factor:
            if (many := len(breakdown.levels(factor))) != 2:
                raise DataError(f"A {self.kind} is of gaps between two levels, and {factor!r} has {many}.")
            Gap(factor=factor, versus=versus).check_levels(breakdown, "A gap is between two levels")
            if finer := next((name for name in self.over if breakdown.nests(factor, name)), ""):
                raise DataError(f"Each {finer!r} has one level of {factor!r}, and so no gap: leave it out of `over`.")
        if (many := prod(len(breakdown.levels(name)) for name in self.over)) > MOST_LEVELS:
            raise DataError(
                f"A {self.kind} is over {MOST_LEVELS:,} cells at most; {', '.join(self.over)} make {many:,}."
            )


@register
@dataclass(frozen=True, kw_only=True)
class GapSize(CellStatistic, Unsigned):
    """Mean absolute value of the gaps of several cells.

    Attributes
    ----------
    over:
        Factors whose levels make the cells, such as "job".
    accuracy:
        Score, a share, whose mean in each cell times one less the size of its gap stands beside it.

    Notes
    -----
    *Floor and test.* Sizes are positive by chance. Where units have both levels these are swapped, unit by unit, in all
    cells at once; where they have one, levels are dealt out anew among units that are shown in the same cells. If no
    cell has a gap, that changes nothing, and p is exact.

    *Interval.* Of the size of the true gaps: what is observed is on average at least that (Jensen), and at most that
    and the floor (triangle inequality). Above by the jackknife over units, below what lies beyond the floor.
    """

    accuracy: str = ""

    kind = "gap_size"
    plural = "sizes of gaps"
    title = "Sizes of gaps"
    lead = (
        "How large the gaps of single cells are, whichever way each goes. A size is never zero, even without any "
        "difference: see its noise floor."
    )
    phrase_form = "sizes of gaps in {}"
    difference = "gaps of single cells have a mean size of {size} in "
    definitions: ClassVar[Definitions] = {"gap_size": ("Mean size of the gaps: {}", "mean over cells of |gap|")}

    @property
    def companion_titles(self) -> tuple[str, ...]:  # type: ignore[override]
        """Title of the table of accuracies, if there is any."""
        return ("Accuracy times one less the size of the gap",) if self.accuracy else ()

    @property
    def scores_beside(self) -> tuple[str, ...]:
        """The score of accuracy."""
        return (self.accuracy,) if self.accuracy else ()

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse cells without a gap."""
        self.check_cells(breakdown, self.factor)

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse a score that is no share where one less its gap is taken."""
        super().check_score(score, sides=sides)
        if self.accuracy and not score.is_share:
            raise DataError(f"`accuracy` goes with gaps of shares, and the score {score.name!r} is none.")

    def companions(self, name: str) -> tuple[str, ...]:
        """Name of the accuracy times one less the size of the gap."""
        return (f"{name}_accuracy",) if self.accuracy else ()

    def is_paired(self, breakdown: Breakdown) -> bool:
        """Return whether pictures or questions of one unit are compared."""
        return self.factor in breakdown.sets.cue or breakdown.varies_within_units(self.factor)

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of the size, and of the accuracy beside it."""
        out = super().measures(name, breakdown, score)
        title = f"Accuracy times one less the size of the gap: {phrase_of(score, '')}"
        texts = dict.fromkeys(self.companions(name), (title, "mean over cells of accuracy × (1 - |gap|)"))
        return out | companion_measures(out[name], texts, comparison=False, unit="share", limits=(0.0, 1.0))

    def reduce(self, sizes: Array) -> Array:
        """From the sizes of the cells, the last axis, to one; NaN where there is none."""
        seen = np.isfinite(sizes)
        return cell_means(np.where(seen, sizes, 0.0).sum(axis=-1), seen.sum(axis=-1))

    def size_of_totals(self, sums: Array, counts: Array) -> Array:
        """Size from totals of shape (..., levels, cells)."""
        return self.reduce(np.abs(cell_values(sums, counts)))

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the size of each part of the breakdown, and the accuracy beside it."""
        cells, name = sum_cells(model, (*estimand.by, *self.over), self.factor), model.name_of(estimand)
        right = self._sum_accuracy(model, estimand, cells) if self.accuracy else None
        for levels, at in cells.parts(estimand.by):
            seen = at[np.isfinite(cell_values(cells.sums[..., at].sum(axis=0), cells.counts[..., at].sum(axis=0)))]
            sums, counts = cells.sums[..., seen], cells.counts[..., seen]
            size = leave_out_units(sums, counts, self.size_of_totals)
            if not only_values():
                size = judge_size(size, *deal_levels(sums, counts, cells.strata, self.size_of_totals, SEED))
            ends = None if cells.bounds is None else size_bounds(cells.bounds.select_rows(at))
            bounds = None if ends is None else self._reduce_bounds(ends)
            labels = {DIMENSION: [self.factor], **model.breakdown.make_labels(levels)}
            model.add(table, estimand, labels, replace(size, bounds=bounds))
            if right is not None:
                product = self._accuracy(
                    np.concatenate([sums, right.sums[..., seen]], axis=1),
                    np.concatenate([counts, right.counts[..., seen]], axis=1),
                    size.floor,
                )
                share = None if right.bounds is None else right.bounds.select_rows(at)
                bounds = None if ends is None or share is None else product_bounds(share, ends)
                table.add(model.measures[self.companions(name)[0]], labels, replace(product, bounds=bounds))

    def _reduce_bounds(self, ends: Bounds) -> Bounds:
        """Bounds of one number from those of the cells' sizes; its error is at most that of them together."""
        value, low, high, se = (self.reduce(x)[None] for x in (ends.value, ends.low, ends.high, ends.se))
        return Bounds(value, low, high, average_bounds(ends).missing, se)

    def _sum_accuracy(self, model: "ModelScores", estimand: "Estimand", cells: CellScores) -> CellScores:
        """Sums of the other score in the same cells, over base pictures if there are any."""
        names = (*estimand.by, *self.over)
        right = sum_cells(model.beside[self.accuracy], names, "")
        place = {key: number for number, key in enumerate(right.keys(names))}
        at = np.array([place.get(key, -1) for key in cells.keys(names)])
        counts = np.where(at >= 0, right.counts[..., at], 0.0)
        bounds = None if right.bounds is None else right.bounds.select_rows(at)
        return right._replace(sums=right.sums[..., at], counts=counts, bounds=bounds)

    def _accuracy(self, sums: Array, counts: Array, floor: Floor | None) -> Estimates:
        """Accuracy times one less the size of the gap, its mean over cells; the last level is that of the accuracy."""

        def product(sums: Array, counts: Array) -> Array:
            accuracy = cell_means(sums[..., 2, :], counts[..., 2, :])
            return self.reduce(accuracy * (1 - np.abs(cell_values(sums[..., :2, :], counts[..., :2, :]))))

        out = leave_out_units(sums, counts, product)
        accuracy = self.reduce(cell_means(sums[:, 2].sum(axis=0), counts[:, 2].sum(axis=0)))
        by_chance = 0.0 if floor is None else floor.mean * accuracy
        n, method = np.array([counts[:, 2].sum()], dtype=np.int64), np.array([_WITH_CHANCE], dtype=object)
        return replace(out, high=np.fmin(out.high + by_chance, 1.0), n=n, method=method)

    def precision(
        self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design"
    ) -> "Precision | None":
        """Description of one cell: which gap would be found in it."""
        from facevalue.statistics.power import precision_of_difference  # noqa: PLC0415 - only plans need it

        gap = Shift() if self.factor in task.breakdown.sets.cue else Gap(factor=self.factor)
        names = dict.fromkeys((*estimand.by, *self.over, *([self.factor] if gap.from_base else [])))
        of_cell = replace(estimand, statistic=gap, by=tuple(names), measure=estimand.name_of(task.breakdown), only={})
        plan = precision_of_difference(of_cell, task, score, design)
        return plan and replace(plan, what=f"the gap in one cell of {', '.join(self.over)} ({phrase_of(score, '')})")

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """The gap of each cell: the smallest p of all says whether there is any."""
        rows = gaps_by_unit(unit_means(answers, breakdown, score), estimand, self.over, self.factor, breakdown)
        cell, sides = pl.concat_str(*self.over, separator="|").alias(PART), [SIDE] if SIDE in rows.columns else []
        return rows.select(*estimand.by, pl.lit(self.factor).alias(DIMENSION), cell, UNIT, *sides, VALUE)


@register
class LargestGap(GapSize):
    """Largest absolute value of the gaps of several cells."""

    kind = "largest_gap"
    plural = "largest gaps"
    title = "Largest gaps"
    lead = (
        "How large the largest gap of single cells is, whichever way it goes. It is never zero, even without any "
        "difference, and grows with the number of cells: see its noise floor."
    )
    phrase_form = "largest gaps in {}"
    difference = "the largest gap of a cell is {size} in "
    definitions: ClassVar[Definitions] = {"largest_gap": ("Largest gap of a cell: {}", "max over cells of |gap|")}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accuracy:
            raise DataError("`accuracy` goes with the mean size of gaps (`gap_size`), and not with the largest.")

    def reduce(self, sizes: Array) -> Array:
        """The largest of the sizes."""
        seen = np.isfinite(sizes)
        return np.where(seen.any(axis=-1), np.where(seen, sizes, -np.inf).max(axis=-1), np.nan)


def gaps_by_unit(
    means: pl.DataFrame, estimand: "Estimand", over: Sequence[str], factor: str, breakdown: Breakdown, versus: str = ""
) -> pl.DataFrame:
    """Rows of units in each cell: what they differ by, or, where each has one level, either side."""
    names = [*dict.fromkeys([*estimand.by, *over])]
    if factor in breakdown.sets.cue:
        return shifts_of(means, breakdown)
    rows = answers_about(means, estimand.factors, breakdown)
    if not factor:
        return rows
    ((level, rival),) = Gap(factor=factor, versus=versus).contrasts(breakdown)
    return gap_rows(rows, factor, breakdown, rival, names).filter(pl.col(factor) == level)


@register
@dataclass(frozen=True, kw_only=True)
class Correlation(CellStatistic):
    """Correlation of the gaps of several cells, or of their means, with a number that each cell has.

    Attributes
    ----------
    over:
        Factors whose levels make the cells, such as "job".
    column:
        Column of the list of pictures, or of the items, with the number; it is the same in all of a cell.
    factor, versus:
        The factor whose gap is taken in each cell, and the level that the other one is compared with; without a
        factor, means are taken.

    Notes
    -----
    *Test.* The numbers are dealt out anew among the cells: all orders of few cells, 4,000 of more. That is exact where
    they have nothing to do with the gaps, however far these differ, and whether or not cells share units.

    *Interval.* Fisher's z, with the standard error over cells or that over units (the jackknife, all cells at once),
    whichever is larger; it leaves out zero exactly where p is below .05. It is of the correlation of gaps as they are
    measured: their noise draws it to zero.
    """

    column: str = ""
    factor: str = ""
    versus: str = ""

    kind = "correlation"
    title = "Correlations with a number of each cell"
    lead = (
        "Whether cells with a larger number have higher gaps, or means, as these are measured: their noise draws a "
        "correlation to zero."
    )
    definitions: ClassVar[Definitions] = {
        "correlation": ("Correlation of {}", "Pearson's r over cells of the mean, and the number of the cell"),
        "gap_correlation": ("Correlation of gaps: {}", "Pearson's r over cells of the gap, and the number of the cell"),
    }
    effect = "correlation"
    phrase_form = "correlations of {}"
    told_in = "of 1", 1.0
    of_whole = True
    unbounded = "gaps that move only a little can be in any order"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.column:
            raise DataError("A correlation is with the numbers of a column: name it with `column`.")
        if self.versus and not self.factor:
            raise DataError("`versus` is a level of the factor of gaps: name that with `factor`.")

    @property
    def factors(self) -> tuple[str, ...]:
        """The factor of gaps, those of the cells, and the column."""
        return (*super().factors, self.column)

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse cells without a gap, and a column that is no number of each cell."""
        self.check_cells(breakdown, self.factor, self.versus)
        self.numbers(by, breakdown)

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the correlation: of gaps, or of means."""
        return "gap_correlation" if self.factor else self.kind

    def measure(self, name: str, breakdown: Breakdown, score: Score) -> Measure:
        """Definition of its measure."""
        return replace(super().measure(name, breakdown, score), unit="1")

    def numbers(self, by: Sequence[str], breakdown: Breakdown) -> Callable[[Mapping[str, str | None]], float]:
        """Number of each cell, by the levels that make it.

        Raises
        ------
        DataError
            The column holds no number for a cell, or several.
        """
        is_of_prompt = breakdown.is_of_prompt(self.column)
        names = [name for name in self.over if breakdown.is_of_prompt(name) == is_of_prompt]
        cut = breakdown.columns if is_of_prompt else partial(breakdown.rows, breakdown.stimuli((*by, *self.factors)))
        columns = cut([*names, self.column]).present().labels
        out: dict[tuple[str | None, ...], float] = {}
        for *key, text in zip(*(columns[name] for name in (*names, self.column)), strict=True):
            cell = ", ".join(map(str, key)) or "all cells"
            try:
                number = nan if "_" in str(text) else float(str(text))  # Python alone takes 1_000 for a number
            except ValueError:
                number = nan
            if not isfinite(number):
                raise DataError(f"A correlation needs numbers, and {self.column!r} of {cell} is {text!r}.")
            if out.setdefault(tuple(key), number) != number:
                raise DataError(
                    f"The column {self.column!r} has several numbers for {cell} ({out[tuple(key)]:g} and {number:g}): "
                    "a correlation needs one for each cell."
                )
        if not names or len({*out.values()}) < 2:
            raise DataError(f"The column {self.column!r} has one number for all cells: nothing goes with it.")
        return lambda levels: out.get(tuple(levels[name] for name in names), nan)

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the correlation of each part of the breakdown."""
        cells = sum_cells(model, (*estimand.by, *self.over), self.factor, self.versus)
        number_of = self.numbers(estimand.by, model.breakdown)
        numbers = np.array([number_of(dict(zip(self.over, key, strict=True))) for key in cells.keys(self.over)])
        for levels, at in cells.parts(estimand.by):
            model.add(
                table, estimand, model.breakdown.make_labels(levels),
                correlate_cells(cells.sums[..., at], cells.counts[..., at], numbers[at], SEED),
                estimand.holds(levels, 1),
            )  # fmt: skip

    def precision(self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design") -> None:
        """Return nothing: what is found depends on how many cells there are, which no sample changes."""

    def plan_sentence(self, breakdown: Breakdown) -> str:
        """Size of a correlation over so many cells that is found in .8 of audits, by Fisher's z."""
        cells = prod(len(breakdown.levels(name)) for name in self.over)
        if cells < FEWEST_CELLS:
            return f"A correlation needs {FEWEST_CELLS} cells, and there are {cells}: more levels of {self.over[0]!r}."
        size = np.tanh(scipy.special.ndtri([0.5 + LEVEL / 2, POWER]).sum() / np.sqrt(cells - 3))
        return (
            f"A correlation over {cells} cells is found in {POWER:g} of audits from r = {size:.2f} on, of values as "
            "they are measured: more units measure these better, and only more cells find smaller ones."
        )

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Each unit's value in a cell, times how far the cell's number lies from the mean."""
        means, cells = unit_means(answers, breakdown, score), [*self.over, self.column]
        rows = gaps_by_unit(means, estimand, cells, self.factor, breakdown, self.versus)
        number = pl.col(self.column).cast(pl.Float64)
        sides = [SIDE] if SIDE in rows.columns else []
        value = (number - number.mean()) * (pl.col(VALUE) - pl.col(VALUE).mean().over(sides or pl.lit(1)))
        return rows.select(*estimand.by, UNIT, *sides, value.alias(VALUE))

    def noun(self, by: Sequence[str]) -> tuple[str, str]:
        """Name of a comparison, in the singular and the plural."""
        return "correlation", "correlations"

    def row(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of a row."""
        return form_of(by) or "Overall"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of what goes with a larger number."""
        values = f"gaps of {self.factor} in {quantity}" if self.factor else quantity
        number, over = (text.replace("_", " ") for text in (self.column, ", ".join(self.over)))
        return tuple(f"{values} {verb} with {number} from {over} to {over} (r {{size}})" for verb in ("rise", "fall"))  # type: ignore[return-value]
