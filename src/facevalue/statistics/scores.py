"""Scores of one model's answers, which statistics add up by unit and cell: from arrays, and from sums by label."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.measures.cluster_bootstrap import Array, cell_means
from facevalue.measures.definitions import POOLED, Measure, is_wanted, key_of
from facevalue.measures.estimates import EstimateTable, Level, with_adjusted
from facevalue.measures.estimates import Labels as TableLabels
from facevalue.measures.estimators import PEOPLE_KEYS, CellEstimates, Sums, share_of_sums, share_over_pairs
from facevalue.measures.group_spread import Spreads, group_spreads
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, weigh_cells_alike
from facevalue.measures.pairs import DYADIC_WILSON
from facevalue.measures.shift import ShiftCells, shift_cells
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.statistics.answer_arrays import AnswerArrays
from facevalue.statistics.breakdown import Breakdown, Codes
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.shifts import SEED, Shifts
from facevalue.statistics.statistic import Score


@dataclass(frozen=True)
class LevelScores:
    """Scores of the levels that units have of a factor, in one cell.

    Attributes
    ----------
    labels:
        Of the cell.
    means:
        Mean scores of units by level, shape (units, levels, 1).
    replies:
        What was asked and came back, of that shape without the last axis; None where a score has no ends.
    is_shown:
        Whether each level is shown at all, shape (levels,).
    """

    labels: Mapping[str, str | None]
    means: Array
    replies: Replies | None
    is_shown: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LevelSplit:
    """A partition of pictures and questions into the levels of a factor and cells.

    Attributes
    ----------
    model:
        Whose scores are split.
    at:
        Rows of the pictures.
    levels:
        Of the factor.
    rows, columns:
        Of pictures and of questions, the factor outermost on its side.
    labels:
        Of the cells, without the factor.
    is_of_prompt:
        Whether the factor is one of the prompt.
    """

    model: "ModelScores"
    at: Codes
    levels: list[str]
    rows: Slicing
    columns: Slicing
    labels: dict[str, list[str | None]]
    is_of_prompt: bool

    def sum_levels(self, values: Array) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Sums and counts of shape (units, levels, cells) of values of these pictures, and which cells are shown."""
        cells = self.model.cells(values, self.at, self.rows, self.columns)
        return self._by_level(cells.sums), self._by_level(cells.counts), self._by_level(cells.shown > 0)

    def _by_level(self, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
        many = len(self.levels)
        if self.is_of_prompt:
            cut = flat.reshape(*flat.shape[:-1], len(self.rows), many, -1)
            return np.moveaxis(cut, -2, -3).reshape(*flat.shape[:-1], many, -1)
        return flat.reshape(*flat.shape[:-1], many, -1)


@dataclass(frozen=True)
class ModelScores:
    """One score of one model's answers, or its mean over several models.

    Attributes
    ----------
    breakdown:
        What the answers can be broken down by.
    measures:
        Definitions by name.
    score:
        Which score.
    values:
        Mean scores of pictures and questions, and their shifts.
    answers:
        What they are from; None for several models together, which have no replies.
    totals:
        Sum of scores, mass of valid answers and number asked, of shape (stimuli, items), from which bounds for missing
        answers are: per answer asked for, as means weigh stimuli and items alike, unless the score leaves answers out.
        Of several models those of all, where all were asked. None where a score has no ends.
    beside:
        Other scores of the same answers, by name.
    columns:
        All columns that were gathered of the answers, scores among them.
    collected:
        What else statistics need of the answers.
    """

    breakdown: Breakdown
    measures: Mapping[str, Measure]
    score: Score
    values: Shifts
    answers: AnswerArrays | None
    totals: tuple[Array, ...] | None
    beside: Mapping[str, "ModelScores"] = field(default_factory=dict)
    columns: Mapping[str, AnswerArrays] = field(default_factory=dict)
    collected: Mapping[Any, Any] = field(default_factory=dict)
    _spreads: dict[str, tuple[Array, Slicing, Spreads]] = field(default_factory=dict)

    def estimate(self, table: EstimateTable, estimand: Estimand) -> None:
        """Add the estimates of an estimand, if it is of this score and any of its measures is wanted."""
        if self.score.leaves_out and self.answers is None:  # of several models together no answers can be counted
            return
        if self.takes(estimand):
            estimand.statistic.estimate(table, estimand, self)

    def takes(self, estimand: Estimand) -> bool:
        """Return whether an estimand is of this score, and any of its measures is wanted."""
        return estimand.is_of(self.score) and is_wanted(estimand.names_of(self.breakdown))

    def name_of(self, estimand: Estimand) -> str:
        """Name of the measure of an estimand."""
        return estimand.name_of(self.breakdown)

    def enter(
        self,
        table: EstimateTable,
        estimand: Estimand,
        labels: SliceLabels,
        estimates: Estimates,
        keep: npt.NDArray[np.bool_],
    ) -> None:
        """Add estimates to the table, with tests where the estimand is tested; `keep`: which cells are shown at all."""
        keep = keep & estimand.holds(labels, estimates.value.size)
        self.add(table, estimand, self.breakdown.make_labels(labels), estimates, keep)

    def add(
        self,
        table: EstimateTable,
        estimand: Estimand,
        labels: TableLabels,
        estimates: Estimates,
        keep: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Add estimates under the labels of the table, with tests where the estimand is tested."""
        measure = self.measures[self.name_of(estimand)]
        if estimand.tested:
            table.add(measure, labels, estimates, estimand.family_name, keep=keep)
        else:
            table.add(measure, labels, estimates.without_tests(), keep=keep)

    @property
    def poles(self) -> tuple[float, float]:
        """Least and greatest value that a missing answer could have had."""
        return self.score.low, self.score.high

    def cells(self, values: Array, at: Codes, rows: Slicing, columns: Slicing) -> ShiftCells:
        """Gather a quantity of these stimuli, shape (stimuli, items), by unit and cell."""
        sets = self.breakdown.sets
        return shift_cells(values, sets.identity[at], rows, columns, len(sets.identities))

    def replies(self, at: Codes, rows: Slicing, columns: Slicing) -> Replies:
        """Requests and replies about these stimuli, by unit and cell."""
        assert self.totals is not None
        return Replies(*(self.cells(total[at], at, rows, columns).sums for total in self.totals))

    def cut(self, by: Sequence[str]) -> tuple[Slicing, Slicing]:
        """Partition what is varied, and the items, by factors."""
        return self.breakdown.rows(self.breakdown.sets.variation_rows, by), self.breakdown.columns(by)

    def sum_scores(self, estimand: Estimand) -> tuple[ShiftCells, Bounds | None]:
        """Sums and counts of mean scores by unit and cell, and bounds of the cells' means.

        Of a score that leaves answers out all answers are summed instead, as each stands for itself: a picture of whose
        answers one counts is not worth as much as one of whose all do.
        """
        at = self.breakdown.stimuli(estimand.factors)
        rows, columns = self.breakdown.rows(at, estimand.by), self.breakdown.columns(estimand.by)
        cells = self.cells(self.values.phi[at], at, rows, columns)
        if self.totals is None:
            return cells, None
        replies = self.replies(at, rows, columns)
        if self.score.leaves_out:
            cells = replace(cells, sums=replies.sums, counts=replies.valid)
        return cells, phi_bounds(replies, self.poles)

    def split(self, at: Codes, factor: str, by: Sequence[str]) -> LevelSplit:
        """Partition these pictures, and all questions, into the levels of a factor and cells."""
        levels, breakdown = self.breakdown.levels(factor), self.breakdown
        is_of_prompt = breakdown.is_of_prompt(factor)
        rows, columns = breakdown.rows(at, by), breakdown.columns(by)
        labels = rows.crossed(columns)
        if is_of_prompt:
            columns = breakdown.columns([factor, *by])
        else:
            rows = Slicing(breakdown.codes(at, factor), {factor: levels}) * rows
        return LevelSplit(self, at, levels, rows, columns, labels, is_of_prompt)

    def levels_of_units(self, estimand: Estimand) -> Iterator[LevelScores]:
        """Scores of the levels that units have of an estimand's factor, cell by cell."""
        at = self.breakdown.stimuli(estimand.factors)
        split = self.split(at, estimand.compared_factor, estimand.by)
        sums, counts, is_shown = split.sum_levels(self.values.phi[at])
        means, totals = cell_means(sums, counts), None
        if self.totals is not None:
            totals = weigh_cells_alike([split.sum_levels(total[at])[0] for total in self.totals])
        for cell in np.flatnonzero(is_shown.any(axis=0)):
            replies = None if totals is None else Replies(*(total[..., cell] for total in totals))
            labels = {name: of_cells[cell] for name, of_cells in split.labels.items()}
            yield LevelScores(labels, means[..., [cell]], replies, is_shown[:, cell])

    def by_unit(self, dimension: str) -> tuple[Array, Slicing]:
        """Scores of shape (units, items), and the units by group."""
        at = self.breakdown.stimuli([dimension])
        everything = Slicing.whole(at.size), self.breakdown.columns(self.breakdown.prompt_factors)
        cells = self.cells(self.values.phi[at], at, *everything)
        return cell_means(cells.sums, cells.counts), self.breakdown.groups(dimension)

    def spread(self, dimension: str) -> tuple[Array, Slicing, Spreads]:
        """Scores of shape (units, items), the units by group, and how far the groups lie apart."""
        if dimension not in self._spreads:
            scores, groups = self.by_unit(dimension)
            spreads = group_spreads(scores, groups.codes, len(groups), SEED)
            self._spreads[dimension] = scores, groups, spreads
        return self._spreads[dimension]


@dataclass(frozen=True)
class Program:
    """Estimands of the answers to a study, in the order of its estimates."""

    study: str
    labels: tuple[str, ...]
    breakdown: Breakdown
    scores: Sequence[Score]
    measures: Mapping[str, Measure]
    estimands: Sequence[Estimand]
    # Estimates of the instrument itself, of one model
    checks: Callable[[EstimateTable, Mapping[str, AnswerArrays]], None] | None = None

    def estimate(
        self,
        answers: Mapping[str, Mapping[str, AnswerArrays]],
        collected: Mapping[str, Mapping[Any, Any]] | None = None,
    ) -> pl.DataFrame:
        """Estimate everything, per model and, with several models, for their mean.

        `answers`, `collected`: of each model its columns, and what else its statistics need.
        """
        tables, answered = [], {}
        for model, by_score in answers.items():
            table = EstimateTable(self.study, model, self.labels)
            table.unit_names = self.breakdown.sets.identities
            arrays = [by_score[score.name] for score in self.scores]
            of_scores = [self.model(s, a.phi, a, a.totals) for s, a in zip(self.scores, arrays, strict=True)]
            needed = (collected or {}).get(model, {})
            of_scores = [replace(scores, columns=by_score, collected=needed) for scores in of_scores]
            self._estimate(table, of_scores)
            if self.checks is not None:
                self.checks(table, by_score)
            tables.append(table.frame())
            if any(scores.values.has_values for scores in of_scores):
                answered[model] = of_scores
        together = self._average_models(answered.values()) if len(answered) > 1 else []
        if any(scores.values.has_values for scores in together):
            table = EstimateTable(self.study, POOLED, self.labels)
            self._estimate(table, together)
            self._compare_models(table, answered)
            tables.append(table.frame())
        return with_adjusted(pl.concat(tables), "p_paper", "q_paper")

    def model(
        self,
        score: Score,
        means: Array,
        answers: AnswerArrays | None = None,
        totals: tuple[Array, ...] | None = None,
    ) -> ModelScores:
        """Scores of one model, or of several together; see `ModelScores`."""
        values = Shifts(self.breakdown.sets, means, largest=score.span)
        if score.span is None or not totals:
            totals = None
        elif not score.leaves_out:
            totals = weigh_cells_alike(totals)
        measures = {measure.name: measure for measure in self.measures.values() if measure.score in ("", score.label)}
        return ModelScores(self.breakdown, measures, score, values, answers, totals)

    def _average_models(self, models: Iterable[Sequence[ModelScores]]) -> list[ModelScores]:
        """Mean scores of several models, of what all of them answered."""
        out = []
        for score, *of_score in zip(self.scores, *models, strict=True):
            means = np.mean([scores.values.phi for scores in of_score], axis=0)
            totals = [scores.totals for scores in of_score if scores.totals is not None]
            was_asked = np.logical_and.reduce([requests > 0 for _, _, requests in totals])
            sums = tuple(np.where(was_asked, np.sum(of_models, axis=0), 0.0) for of_models in zip(*totals, strict=True))
            out.append(self.model(score, means, totals=sums))
        return out

    def _estimate(self, table: EstimateTable, models: Sequence[ModelScores]) -> None:
        beside = {model.score.name: model for model in models}
        for model in models:
            for estimand in self.estimands:
                replace(model, beside=beside).estimate(table, estimand)

    def _compare_models(self, table: EstimateTable, models: Mapping[str, Sequence[ModelScores]]) -> None:
        for of_models in zip(*models.values(), strict=True):  # of one score
            for estimand in filter(of_models[0].takes, self.estimands):
                estimand.statistic.compare_models(table, estimand, dict(zip(models, of_models, strict=True)))


def share_score(name: str, label: str = "") -> Score:
    """Make the score of answers that are shares; `label`: of its estimates in the column `score`."""
    return Score(name, name, "share", 0.0, 1.0, label)


@dataclass(frozen=True)
class SumScores:
    """One score of one model's answers, from sums by unit and labels.

    Its mean is `low + (high - low) s / n`, between the ends of the score.

    Attributes
    ----------
    score:
        The score, by whose name estimands say that they are of it.
    sums:
        Sums by unit, or by the people on either side of a pair.
    measures:
        Definitions of the study.
    s, n, requests:
        Columns of the sums: what counts, out of how many, and, for bounds, how many replies were asked for.
    labels:
        Labels of all its estimates.
    mean_over:
        A label over whose levels a share is the mean of shares, where it is not broken down by it.
    method:
        Method by which intervals over pairs are made, for people.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"unit": ["a", "b", "c"], "group": ["f", "m", "f"], "s": [1.0, 0.0, 1.0], "n": [1.0] * 3})
    >>> chosen = SumScores(share_score("chosen"), Sums.from_frame(rows, ["group"]), ())
    >>> chosen.shares(["group"])[1].value.tolist()
    [1.0, 0.0]
    """

    score: Score
    sums: Sums
    measures: Sequence[Measure]
    s: str = "s"
    n: str = "n"
    requests: str = ""
    labels: Mapping[str, Level] = field(default_factory=dict)
    mean_over: str = ""
    method: str = DYADIC_WILSON

    @cached_property
    def _shares(self) -> dict[tuple[str, ...], CellEstimates]:
        """Shares that were computed, by their breakdown."""
        return {}

    def shares(self, by: Sequence[str]) -> CellEstimates:
        """Shares s / n of each cell, with their intervals over units or people; computed once for each breakdown."""
        names = tuple(by)
        if names not in self._shares:
            self._shares[names] = self.estimate_shares(names)
        return self._shares[names]

    def estimate_shares(self, by: Sequence[str]) -> CellEstimates:
        """Shares of cells, computed anew."""
        columns = {"s": self.s, "n": self.n, **({"requests": self.requests} if self.requests else {})}
        sums = self.sums.counting(**{name: self.sums.numbers[column] for name, column in columns.items()})
        if self.mean_over and self.mean_over not in by:
            sums = replace(sums, units={**sums.units, "inner": sums.labels[self.mean_over][1]})
        if PEOPLE_KEYS[1] in sums.units:
            return share_over_pairs(sums, by, self.method)
        return share_of_sums(sums, by)

    def gaps(self, by: Sequence[str], factor: str) -> CellEstimates:
        """Difference of each level of a factor from each earlier one, where the sums are of what has any."""
        raise NotImplementedError

    def scale(self, shares: Estimates) -> Estimates:
        """Shares as means between the ends of the score."""
        low, high = self.score.low, self.score.high
        return shares if (low, high) == (0.0, 1.0) else shares.times(high - low).less(-low)

    def enter(
        self, table: EstimateTable, estimand: Estimand, labels: Mapping[str, Sequence[Level]], estimates: Estimates
    ) -> None:
        """Add estimates to the table, with tests where the estimand is tested."""
        size = estimates.value.size
        columns = {**{name: [level] * size for name, level in self.labels.items()}, **labels}
        key = key_of(estimand.measure, self.score.label)
        measure = next(measure for measure in self.measures if measure.key == key)
        keep = estimand.holds(columns, size)
        if estimand.tested:
            table.add(measure, columns, estimates, estimand.family_name, keep=keep)
        else:
            table.add(measure, columns, estimates.without_tests(), keep=keep)


def estimate_sums(table: EstimateTable, estimands: Iterable[Estimand], scores: Sequence[SumScores]) -> None:
    """Add the estimates of each estimand, of the scores that it is of."""
    for estimand in (estimand for estimand in estimands if is_wanted([estimand.measure])):
        for candidate in scores:
            if estimand.is_of(candidate.score):
                estimand.statistic.estimate_sums(table, estimand, candidate)
