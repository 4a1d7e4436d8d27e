"""Differences of groups without a direction: how far groups lie apart, and in how many questions they differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cells import Slicing
from facevalue.measures.cluster_bootstrap import Array, cell_means, jackknife_interval
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.findings import finding_bounds, group_findings, shift_findings, tally_bounds
from facevalue.measures.group_spread import Spreads, group_tests, variation_strength
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.majority import group_deviation
from facevalue.measures.missing_data_bounds import Replies, average_bounds, phi_bounds, spread_bounds, weigh_cells_alike
from facevalue.measures.shift import cell_sums, shift_cells
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.statistics.breakdown import DIMENSION, GROUP, Breakdown, Codes
from facevalue.statistics.rivals import PART, SIDE, UNIT, VALUE, answers_about, each_level, shifts_of, unit_means
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import Definitions, Forms, PairNames, Score, Unsigned, register, within_form

if TYPE_CHECKING:
    from facevalue.design import Design
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.power import PlannedTask
    from facevalue.statistics.precision import Precision
    from facevalue.statistics.scores import ModelScores

NOISE = name_method(IntervalKind.INVERSION, "permuted labels or each group's own errors, whichever is wider")


@register
@dataclass(frozen=True, kw_only=True)
class Spread(Unsigned):
    """Spread of the groups of a factor: the standard deviation of their means.

    Attributes
    ----------
    rank_test:
        Whether the test of Mann and Whitney, or of Kruskal and Wallis, stands beside its own, as papers print it.
    """

    rank_test: bool = False

    kind = "spread"
    phrase_form = "spreads of {}"
    title = "Spreads between groups"
    lead = "How far the groups lie apart. A spread is never zero, even without any difference: see its noise floor."
    definitions: ClassVar[Definitions] = {
        "spread": (
            "Spread between groups: {}",
            "standard deviation (ddof 1) of the groups' means over units, mean over questions",
        ),
        "spread_within": (
            "Spread between the levels that units have: {}",
            "standard deviation (ddof 1) of m_g; score(unit, g) = a_unit + m_g",
        ),
    }

    def is_within(self, breakdown: Breakdown) -> bool:
        """Return whether each unit has several of the levels, so that they are compared within units."""
        of_sets = self.factor in breakdown.sets.factors and self.factor not in breakdown.sets.cue
        return of_sets and breakdown.sets.varies(self.factor)

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse a factor in which units don't differ, and breakdowns by part of the questions."""
        is_within = self.is_within(breakdown)
        if self.factor not in breakdown.sets.dimensions and not is_within:
            raise DataError(
                f"A {self.kind} is between groups of units; {self.factor!r} is not a factor in which units differ."
            )
        if self.rank_test and is_within:
            raise DataError(f"A spread of {self.factor!r}, of which a unit has several levels, has no 'rank_test'.")
        if not is_within and set(by) not in (set(), set(breakdown.prompt_factors)):
            raise DataError("A spread is over all questions, or by all factors of the prompt.")
        if self.rank_test and set(by) != set(breakdown.prompt_factors):
            raise DataError("A 'rank_test' is of one question: break the spread down by all factors of the prompt.")

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the spread: between units, or within them."""
        return "spread_within" if self.is_within(breakdown) else self.kind

    def measure(self, name: str, breakdown: Breakdown, score: Score) -> Measure:
        """Definition of its measure."""
        return replace(super().measure(name, breakdown, score), norm=True)

    def estimate(self, table: EstimateTable, estimand: "Estimand", model: "ModelScores") -> None:
        """Add the spread of each cell within units; else that of each question, or its mean."""
        measure, breakdown = model.measures[model.name_of(estimand)], model.breakdown
        if self.is_within(breakdown):
            self._estimate_within(table, estimand, model)
            return
        scores, groups, spreads = model.spread(self.factor)
        at, items = breakdown.stimuli(estimand.factors), breakdown.columns(breakdown.prompt_factors)
        bounds = None
        if model.totals is not None:
            totals, unit = [total[at] for total in model.totals], breakdown.sets.identity[at]
            bounds = spread_bounds(group_bounds(totals, unit, groups, items, model.poles))
            bounds = bounds if estimand.by else average_bounds(bounds)
        add_spreads(
            table, measure, self.factor, scores, groups, items, spreads, mean=not estimand.by,
            family=estimand.family_name if estimand.tested else None, bounds=bounds,
            published=group_tests(scores, groups.codes, len(groups)) if self.rank_test else None,
        )  # fmt: skip

    def _estimate_within(self, table: EstimateTable, estimand: "Estimand", model: "ModelScores") -> None:
        """Add how far the levels that units have lie apart in each cell (`measures.majority`)."""
        for cell in model.levels_of_units(estimand):
            spread = group_deviation(cell.means)
            bounds = None
            if cell.replies is not None:
                ends, value = phi_bounds(cell.replies, model.poles), spread.value
                bounds = spread_bounds([ends.select_rows(np.array([level])) for level in np.flatnonzero(cell.is_shown)])
                is_open = bounds.missing > 0
                low, high = (np.where(is_open, end, value) for end in (bounds.low, bounds.high))
                bounds = replace(bounds, low=low, high=high)
            labels = {name: [level] for name, level in cell.labels.items()}
            about = {DIMENSION: self.factor, **model.breakdown.make_labels(labels)}
            model.add(table, estimand, about, replace(spread, bounds=bounds))

    def precision(self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design") -> None:
        """Return nothing: what a spread is without an effect follows from the answers themselves."""

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Each level beside all others."""
        means = answers_about(unit_means(answers, breakdown, score), estimand.factors, breakdown)
        return each_level(means, self.factor, breakdown, estimand.by).rename({GROUP: PART})


@register
@dataclass(frozen=True, kw_only=True)
class Tally(Unsigned):
    """Share of questions in which groups of a factor differ, or in which the cue moves the answer.

    Attributes
    ----------
    any_of:
        Factors of the prompt of whose levels one with a finding is enough, such as "wording".
    """

    any_of: tuple[str, ...] = ()

    kind = "tally"
    plural = "tallies"
    phrase_form = "shares of questions"
    told_in = "of 100 questions", 100.0
    of_whole = True
    title = "Questions in which groups differ"
    lead = (
        "In how many questions the groups differ, or the picture moves the answer, by a test of each. Never zero, even "
        "without any difference: see its noise floor."
    )
    definitions: ClassVar[Definitions] = {
        "tally": (
            "Share of questions in which groups differ: {}",
            "questions with p < .05 by Welch's test of the groups' means, in any of their wordings / questions",
        ),
        "moved_share": (
            "Share of questions in which the picture moves the answer: {}",
            "questions with p < .05 by a paired t test of the units' shifts, in any of their wordings / questions",
        ),
    }

    def names_by_size(self, name: str) -> tuple[str, ...]:
        """Its own: of more units more questions differ."""
        return (name,)

    @property
    def factors(self) -> tuple[str, ...]:
        """Its factor, and those of which one level is enough."""
        return (*super().factors, *self.any_of)

    def is_of_cue(self, breakdown: Breakdown) -> bool:
        """Return whether it is of questions in which the cue moves the answer, within units."""
        return self.factor in breakdown.sets.cue

    def needs_levels(self, breakdown: Breakdown) -> bool:
        """Return whether its factor must have two levels or more: a cue has one beside the base."""
        return not self.is_of_cue(breakdown)

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse a factor in which units don't differ, and breakdowns by what is no factor of the questions."""
        if self.is_of_cue(breakdown):
            many = len(breakdown.levels(self.factor)) - (breakdown.sets.base_level is not None)
            if many != 1:
                raise DataError(f"A tally of {self.factor!r} needs one level beside the base, and there are {many}.")
        elif self.factor not in breakdown.sets.dimensions:
            raise DataError(
                f"A {self.kind} is between groups of units; {self.factor!r} is not a factor in which units differ."
            )
        if stray := next((name for name in by if not breakdown.is_of_prompt(name)), ""):
            raise DataError(f"A tally is a share of questions, and {stray!r} is no factor of the questions.")
        if stray := next((name for name in self.any_of if name not in breakdown.prompt_factors), ""):
            raise UnknownNameError("factor of the questions", stray, breakdown.prompt_factors)

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the tally: of groups, or of the cue."""
        return "moved_share" if self.is_of_cue(breakdown) else self.kind

    def is_paired(self, breakdown: Breakdown) -> bool:
        """Return whether pictures of one unit are compared."""
        return self.is_of_cue(breakdown)

    def estimate(self, table: EstimateTable, estimand: "Estimand", model: "ModelScores") -> None:
        """Add the share of questions of each cell."""
        breakdown = model.breakdown
        questions = breakdown.columns([name for name in breakdown.prompt_factors if name not in self.any_of])
        cells = breakdown.columns(estimand.by)
        classes = [np.unique(questions.codes[cells.codes == cell]) for cell in range(len(cells))]
        count = self._shares_moved if self.is_of_cue(breakdown) else self._shares_of_groups
        shares, bounds = count(model, questions.codes, classes)
        about = {DIMENSION: self.factor, **cells.labels}
        has_question = np.array([members.size > 0 for members in classes])
        model.add(table, estimand, about, replace(shares, bounds=bounds), has_question)

    def _shares_of_groups(
        self, model: "ModelScores", question: Codes, classes: Sequence[Codes]
    ) -> tuple[Estimates, Bounds | None]:
        """Shares of questions in which groups differ, and their bounds for missing answers."""
        breakdown = model.breakdown
        scores, groups = model.by_unit(self.factor)
        shares = group_findings(scores, groups.codes, len(groups), question, classes, SEED)
        if model.totals is None:
            return shares, None
        at, items = breakdown.stimuli([self.factor]), breakdown.columns(breakdown.prompt_factors)
        totals, unit = [total[at] for total in model.totals], breakdown.sets.identity[at]
        ends = group_bounds(totals, unit, groups, items, model.poles)
        return shares, tally_bounds(scores, groups.codes, ends, question, classes)

    def _shares_moved(
        self, model: "ModelScores", question: Codes, classes: Sequence[Codes]
    ) -> tuple[Estimates, Bounds | None]:
        """Shares of questions in which the cue moves the answer, and their bounds for missing answers."""
        breakdown = model.breakdown
        rows, columns = Slicing.whole(breakdown.sets.variation_rows.size), breakdown.columns(breakdown.prompt_factors)
        cells = model.values.cells(rows, columns)
        shifts = cell_means(cells.sums, cells.counts)
        shares = shift_findings(shifts, question, classes, SEED)
        if model.totals is None:
            return shares, None
        ends = model.values.bounds(model.totals, rows, columns, model.poles)
        return shares, finding_bounds(shifts, ends, question, classes)

    def precision(
        self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design"
    ) -> "Precision | None":
        """Description of one question: from which difference on it counts."""
        from facevalue.statistics.power import precision_of_question  # noqa: PLC0415 - only plans need it

        return precision_of_question(estimand, task, score, design, is_of_cue=self.is_of_cue(task.breakdown))

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Values that differ in each question: the smallest p of all says whether any does."""
        means = unit_means(answers, breakdown, score)
        question = [name for name in breakdown.prompt_factors if name not in (*self.any_of, *estimand.by)]
        if self.is_of_cue(breakdown):
            rows = shifts_of(means, breakdown).with_columns(
                pl.lit(self.factor).alias(DIMENSION), pl.lit("").alias(GROUP)
            )
        else:
            looked_at = answers_about(means, estimand.factors, breakdown)
            rows = each_level(looked_at, self.factor, breakdown, [*estimand.by, *question])
        part = pl.concat_str(GROUP, *question, separator="|").alias(PART)
        sides = [SIDE] if SIDE in rows.columns else []
        return rows.select(*estimand.by, DIMENSION, part, UNIT, *sides, VALUE)

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Form of how many questions differ."""
        return (f"groups differ in {{size}}{within_form(by)}",) * 2


def add_spreads(
    table: EstimateTable,
    measure: Measure,
    dimension: str,
    scores: Array,
    groups: Slicing,
    items: Slicing,
    spreads: Spreads,
    *,
    mean: bool,
    family: str | None,
    n: npt.NDArray[np.int64] | None = None,
    published: Array | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Add the spread between groups in each item, or its mean; scores are of shape (units, items)."""
    size = scores.shape[1]
    which = slice(size, None) if mean else slice(0, size)
    if n is None:
        n = np.isfinite(scores[groups.codes >= 0]).sum(axis=0)
        n = np.array([n.sum()]) if mean else n
    cells = shift_cells(scores, np.arange(len(scores)), groups, items, len(scores))
    statistic = variation_strength(len(groups), size, mean=mean)
    se = jackknife_interval(cells.sums, cells.counts, statistic)[3]
    has_score = cells.counts.reshape(len(scores), len(groups), size).sum(axis=1) > 0
    clusters = np.array([has_score.any(axis=1).sum()]) if mean else has_score.sum(axis=0)
    keep = None if mean else cells.shown.reshape(len(groups), size).sum(axis=0) > 0
    method = np.full(n.size, NOISE, dtype=object)
    estimates = Estimates(
        spreads.value[which], spreads.low[which], spreads.high[which], n, clusters, method, se,
        p_least=spreads.least[which], p_paper=published, floor=spreads.floor.select_rows(which), bounds=bounds,
    )  # fmt: skip
    labels = {DIMENSION: dimension, **({} if mean else items.labels)}
    table.add(measure, labels, estimates.without_tests() if family is None else estimates, family, keep=keep)


def group_bounds(
    totals: Sequence[Array],
    unit: npt.NDArray[np.int64],
    groups: Slicing,
    items: Slicing,
    poles: tuple[float, float] = (0.0, 1.0),
) -> list[Bounds]:
    """Bounds of each group's mean in each item, in which units weigh alike.

    Parameters
    ----------
    totals:
        Sums of scores, mass of valid answers and number asked, of shape (stimuli, items).
    unit:
        Unit of each stimulus.
    groups, items:
        As in `add_spreads`.
    """
    rows, units = Slicing(groups.codes[unit], groups.labels), len(groups.codes)
    replies = Replies(*weigh_cells_alike(cell_sums(totals, unit, rows, items, units)))
    cells = phi_bounds(replies, poles)
    return [cells.select_rows(at) for at in np.arange(len(groups) * len(items)).reshape(len(groups), -1)]
