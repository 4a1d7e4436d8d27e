"""Statistics of counterfactual sets: ranges and tails within sets, groups beside the others of their sets, occupations.

Figures 2 and 6 of the paper of the counterfactual sets show whose image has the largest score among the sets whose
range is in the tail; Table 9 shows each group's own tail. What we add is each group beside a majority that is alike.

Each reply counts alike: a mean is over replies, and `n` counts them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable, Labels
from facevalue.measures.estimators import Sums, code_levels, column_shares, share_of_sums
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.majority import from_majority, group_deviation, replies_of
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, spread_bounds
from facevalue.measures.set_ranges import TAIL_QUANTILE, Codes, range_summary, summary_bounds
from facevalue.measures.uncertainty import Bounds, Estimates, name_units
from facevalue.protocol.open_answers import NOTE, REASON
from facevalue.protocol.outside_scores import REFUSED, UNREAD
from facevalue.statistics.answer_arrays import NOT_ASKED, AnswerArrays, Values, reason_code
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.scores import ModelScores
from facevalue.statistics.statistic import PaperStatistic, Score
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.formulas import (
    deviations,
    from_set_mean,
    group_levels,
    group_quantiles,
    tail_shares,
)

if TYPE_CHECKING:
    from facevalue.design import Design
    from facevalue.statistics.power import PlannedTask
    from facevalue.statistics.precision import Precision

SEED = 20260
QUANTILES = (0.5, 0.75, TAIL_QUANTILE, 0.95, 0.99, 1.0)
"""Of set ranges: the whole tail."""
BY_OCCUPATION = "characteristics"
"""The prompt that occupations are told for (section 4.3, Figures 5 and 7); the first where it was not asked."""
MOST_OCCUPATIONS = 200
"""Occupations of a subset whose scores are told, those of the most sets: never chosen by their scores."""
UNREAD_REFUSALS = "refused replies were not scored; run annotate again"
_COUNTED = name_method(IntervalKind.NONE, "a number of groups, by contrast with a majority of alike groups, over sets")
_PLACE = name_method(IntervalKind.NONE, "a place among the means of groups")
_LEVEL = 0.05
Mask = npt.NDArray[np.bool_]
Row = tuple[Measure, Labels, Estimates]


# Pictures of a subset, its groups and its whole sets.


@dataclass(frozen=True)
class Subset:
    """Pictures that are measured by themselves.

    Attributes
    ----------
    labels:
        Their levels of what they are told apart by.
    rows:
        Places in the table of pictures.
    groups, group:
        Groups, and that of each picture.
    names, unit:
        Sets, and that of each picture.
    sets:
        Pictures of the sets that have each group once, shape (sets, groups).
    """

    manifest: pl.DataFrame
    labels: Mapping[str, str | None]
    rows: Codes
    groups: tuple[str, ...]
    group: Codes
    names: tuple[str, ...]
    unit: Codes
    sets: Codes

    @cached_property
    def occupations(self) -> tuple[tuple[str, ...], Codes]:
        """Occupations, and that of each whole set; -1 where its pictures do not agree, or it is not known."""
        names, codes = code_levels(self.manifest["occupation"].cast(pl.String)[self.rows])
        of_sets = codes[self.sets]
        if not of_sets.size:
            return names, np.zeros(0, dtype=np.int64)
        return names, np.where((of_sets == of_sets[:, :1]).all(axis=1), of_sets[:, 0], -1)

    def by_unit(self, values: Array) -> Array:
        """Values of pictures added up, shape (units, groups)."""
        many = len(self.groups)
        size = len(self.names) * many
        return np.bincount(self.unit * many + self.group, values, size).astype(np.float64).reshape(-1, many)


def subsets_of(breakdown: Breakdown, by: tuple[str, ...] = ("subset",)) -> list[Subset]:
    """The pictures, by factors of theirs."""
    manifest = breakdown.sets.manifest
    slicing = breakdown.rows(np.arange(manifest.height), [name for name in by if not breakdown.is_of_prompt(name)])
    out = []
    for number in range(len(slicing)):
        rows = np.flatnonzero(slicing.codes == number)
        groups, group = code_levels(manifest["group"].cast(pl.String)[rows])
        names, unit = code_levels(manifest[breakdown.sets.key].cast(pl.String)[rows])
        labels = {name: levels[number] for name, levels in slicing.labels.items()}
        sets = _whole_sets(unit, group, len(groups))
        out.append(Subset(manifest, labels, rows, groups, group, names, unit, sets))
    return out


def _whole_sets(unit: Codes, group: Codes, groups: int) -> Codes:
    """Pictures of sets that have each group once."""
    count = int(unit.max(initial=-1)) + 1
    size = np.bincount(unit, minlength=count)
    distinct = np.bincount(np.unique(unit * groups + group) // groups, minlength=count)
    is_whole = (size == groups) & (distinct == groups) & (groups > 1)
    pictures = np.flatnonzero(is_whole[unit])
    return pictures[np.lexsort((group[pictures], unit[pictures]))].reshape(-1, groups)


@dataclass(frozen=True)
class SubsetCell:
    """Replies to one prompt about the pictures of a subset: values and whether they were asked for, by picture."""

    subset: Subset
    labels: Mapping[str, str | None]
    values: Array
    requests: Mask
    is_read: bool = True  # whether a scorer has read all that refusals say

    @property
    def in_sets(self) -> Array:
        """Values of whole sets, shape (sets, groups, replies)."""
        return self.values[self.subset.sets]

    @property
    def requests_in_sets(self) -> Mask:
        """Flags of those that were asked for."""
        return self.requests[self.subset.sets]

    @property
    def group_labels(self) -> Labels:
        """Labels of estimates of each group."""
        return {**self.labels, "group": self.subset.groups}


def cells_of(
    breakdown: Breakdown, answers: AnswerArrays, by: tuple[str, ...], values: Values | None = None
) -> Iterator[SubsetCell]:
    """Cells of which anything was asked; `values`: of each reply, its score by default."""
    columns = breakdown.columns(by)
    names = {name: levels for name, levels in columns.labels.items() if name in by}
    scores, is_asked = answers.weights if values is None else values, answers.reasons != NOT_ASKED
    for subset in subsets_of(breakdown, by):
        for column in range(len(columns)):
            at = np.ix_(subset.rows, np.flatnonzero(columns.codes == column))
            requests = is_asked[at].reshape(subset.rows.size, -1)
            if requests.any():
                labels = {**subset.labels, **{name: levels[column] for name, levels in names.items()}}
                yield SubsetCell(subset, labels, scores[at].reshape(requests.shape).astype(np.float64), requests)


# Statistics: each adds its rows for each cell.


class SetStatistic(PaperStatistic):
    """A statistic that adds its rows for each cell."""

    @property
    def families(self) -> Mapping[str, str]:
        """Families of its measures that say that things differ, by key: the estimand's where empty."""
        return {}

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the first of its measures."""
        return self.paper_measures[0].name

    @property
    def further_labels(self) -> tuple[str, ...]:
        """Labels of its estimates that are no factors of pictures or prompts."""
        return m.LABELS

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Accept every score."""

    def precision(self, estimand: Estimand, task: "PlannedTask", score: Score, design: "Design") -> "Precision | None":
        """Return nothing: ratings alone are planned for."""
        return None

    def add(self, table: EstimateTable, estimand: Estimand, model: ModelScores, row: Row) -> None:
        """Add estimates of a measure to the table, with their tests where it has any."""
        measure, labels, estimates = row
        is_tested = estimand.tested and measure.key in self.families
        family = (self.families[measure.key] or estimand.family_name) if is_tested else None
        table.add(measure, {**model.score.labels, **labels}, estimates, family)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the estimates of each cell."""
        if model.answers is None:  # of several models together there is no reply
            return
        for cell in self.cells(estimand, model, model.answers):
            for row in self.rows(cell):
                self.add(table, estimand, model, row)

    def cells(self, estimand: Estimand, model: ModelScores, answers: AnswerArrays) -> Iterator[SubsetCell]:
        """Cells that it is of."""
        yield from cells_of(model.breakdown, answers, estimand.by)

    def rows(self, cell: SubsetCell) -> Iterator[Row]:
        """Estimates of a cell."""
        raise NotImplementedError


def _mean_rows(cell: SubsetCell) -> tuple[Labels, Estimates]:
    """Mean of each group, whose intervals know how all of them vary, and of all groups together, by itself."""
    subset, finite = cell.subset, np.isfinite(cell.values)
    sums = np.where(finite, cell.values, 0.0).sum(axis=1)
    return mean_rows(cell.labels, subset, subset.by_unit(sums), subset.by_unit(finite.sum(axis=1)))


def mean_rows(labels: Mapping[str, str | None], subset: Subset, sums: Array, counts: Array) -> tuple[Labels, Estimates]:
    """The same from sums and counts by unit and group."""
    of_all = [total.sum(axis=1, keepdims=True) for total in (sums, counts)]
    families = (group_levels(sums, counts, SEED), group_levels(of_all[0], of_all[1], SEED))
    estimates = Estimates.concatenate(families)
    estimates = replace(estimates, terms=name_units(estimates.terms, subset.names))
    return {**labels, "group": [*subset.groups, None]}, estimates


@dataclass(frozen=True, kw_only=True)
class GroupQuantity(SetStatistic):
    """Mean of each group, and each beside the groups of the same sets that are alike and, untested, the mean of all.

    Means of ratings and salaries have a place among those of all groups; means of scores and refusals stand elsewhere.

    Attributes
    ----------
    of:
        What is compared; of refusals 1 for a reply that declines, and 0 for any other.
    longest:
        Most that a missing value could be where its scale has no upper end, such as tokens that were allowed.
    """

    of: m.GroupMeasures
    longest: int = 0

    kind = "group_quantity"
    says_difference = True
    is_effect = True
    paired = True

    @property
    def families(self) -> Mapping[str, str]:
        """Contrasts with groups that are alike."""
        return {self.of.gap.key: ""}

    @property
    def paper_measures(self) -> tuple[Measure, ...]:
        """Mean and place, distance from a majority and from the mean, and how many groups stand apart."""
        levels = () if self.of in (m.SCORES, m.REFUSALS) else (self.of.level,)
        places = [m.DEVIATIONS[self.of.level.score]] if self.of.level.score in m.DEVIATIONS else []
        return (*levels, *places, self.of.gap, self.of.from_mean, self.of.apart)

    @property
    def corrects_itself(self) -> bool:
        """True: q is adjusted over all groups of a cell."""
        return True

    def cells(self, estimand: Estimand, model: ModelScores, answers: AnswerArrays) -> Iterator[SubsetCell]:
        """Cells of scores, or of refusals."""
        if self.of is not m.REFUSALS:
            yield from cells_of(model.breakdown, answers, estimand.by)
            return
        refused = (answers.reasons == reason_code(NA.REFUSED)).astype(np.float64)
        refused[answers.reasons == NOT_ASKED] = np.nan
        yield from cells_of(model.breakdown, answers, estimand.by, refused)

    def precision(self, estimand: Estimand, task: "PlannedTask", score: Score, design: "Design") -> "Precision | None":
        """Description of a gap between ratings for a planner; of other quantities nothing is said."""
        from facevalue.studies.counterfactuals.rating_precision import precision_of_ratings  # noqa: PLC0415 - only plans need it

        return precision_of_ratings(task, score, design) if self.of is m.RATINGS else None

    def rows(self, cell: SubsetCell) -> Iterator[Row]:
        """Means and places, then contrasts of a cell that has whole sets."""
        if self.of not in (m.SCORES, m.REFUSALS):
            labels, means = _mean_rows(cell)
            yield self.of.level, labels, means
            if place := m.DEVIATIONS.get(self.of.level.score):
                of_groups = means.at(slice(0, len(cell.subset.groups)))
                places = deviations(of_groups.value)
                estimates = Estimates.without_intervals(places, of_groups.n, of_groups.clusters, _PLACE)
                yield place, cell.group_labels, estimates
        if not len(cell.subset.sets):
            return
        values = cell.in_sets
        yield from contrast_rows(self.of, cell, values, cell.requests_in_sets, self._limits(cell.values, values))

    def _limits(self, replies: Array, values: Array) -> tuple[float, float] | None:
        """Between what a missing value lies; None for between those that are there."""
        if self.of is m.SCORES:
            return m.score_limits(values)
        if self.of is not m.SALARIES and all(map(isfinite, self.of.level.limits)):
            return self.of.level.limits
        return (0.0, max(float(self.longest), float(np.nanmax(replies, initial=0.0)))) if self.longest else None


def contrast_rows(
    quantity: m.GroupMeasures, cell: SubsetCell, values: Array, requests: Mask, limits: tuple[float, float] | None
) -> Iterator[Row]:
    """Each group against the groups that are alike, and, untested, against the mean of all.

    `values`, `requests`: of whole sets, shape (sets, groups, replies); `limits`: of a missing value; see
    `majority.from_majority`. Each prompt is a family by itself, since q holds for all its groups together.
    """
    groups = len(cell.subset.groups)
    contrast = from_majority(values, SEED, limits, replies_of(values, requests, limits))
    p_least = np.full(groups, contrast.p_least)
    gaps = replace(contrast.estimates, bounds=contrast.bounds, q=contrast.q, p_least=p_least)
    yield quantity.gap, cell.group_labels, gaps
    yield quantity.from_mean, cell.group_labels, from_set_mean(values).without_tests()
    if only_values() or not np.isfinite(contrast.p_any):
        return
    count, sets = float((contrast.q < _LEVEL).sum()), int(contrast.estimates.clusters.max())
    apart = Estimates.single(count, np.nan, np.nan, np.nan, groups, sets, _COUNTED)
    yield quantity.apart, cell.labels, replace(apart, p=np.array([contrast.p_any]))


@dataclass(frozen=True, kw_only=True)
class DescriptionScores(SetStatistic):
    """Scores that scorers give texts: means, each group's own tail (Table 9), ranges within sets, who is in the tail.

    Attributes
    ----------
    released:
        Whether what refusals say is scored, too, as the paper's code does.
    fewest:
        Sets of an occupation from which its scores are told; 0 for none.
    """

    released: bool = False
    fewest: int = 0

    kind = "description_scores"
    says_difference = True

    @property
    def families(self) -> Mapping[str, str]:
        """Ranges, and shares of the largest scores."""
        ranges, tails = m.family(m.RANGES, "{score}"), m.family(m.TAILS, "{subset}", "{score}")
        return {m.MAX_SCORE.key: ranges, m.TAIL_SHARE.key: tails}

    @property
    def paper_measures(self) -> tuple[Measure, ...]:
        """Its measures, of the scores that are meant."""
        if self.released:
            return tuple(m.RELEASED.values())
        return (*m.RELEASED, m.MAX_SCORE_QUANTILE, m.LEFT_OUT, m.SCORE_BY_OCCUPATION, m.SPREAD_BY_OCCUPATION)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the estimates of each cell, then those of occupations."""
        super().estimate(table, estimand, model)
        if self.fewest and model.answers is not None:
            for cell in _occupation_cells(cells_of(model.breakdown, model.answers, estimand.by)):
                for row in _occupation_rows(cell, self.fewest):
                    self.add(table, estimand, model, row)

    def cells(self, estimand: Estimand, model: ModelScores, answers: AnswerArrays) -> Iterator[SubsetCell]:
        """Cells in which any text has a score; of refusals those in which any says something."""
        if not self.released:
            cells = cells_of(model.breakdown, answers, estimand.by)
            yield from (cell for cell in cells if np.isfinite(cell.values).any())
            return
        names = [f"{prefix}{model.score.name}" for prefix in (REFUSED, UNREAD)]
        if not {*names} <= {*model.columns}:
            return
        refused, unread = (model.columns[name].weights for name in names)
        scores = np.where(np.isfinite(unread), refused, answers.weights)
        of_unread = cells_of(model.breakdown, answers, estimand.by, unread)
        for cell, unread_of_cell in zip(
            cells_of(model.breakdown, answers, estimand.by, scores), of_unread, strict=True
        ):
            if np.isfinite(unread_of_cell.values).any() and np.isfinite(cell.values).any():
                yield replace(cell, is_read=not (unread_of_cell.values == 1).any())

    def rows(self, cell: SubsetCell) -> Iterator[Row]:
        """Estimates of a cell; of refusals without bounds and tests, and none where any was not read."""
        if not self.released:
            yield from _score_rows(cell, is_bounded=True)
        elif cell.is_read:
            for measure, labels, estimates in _score_rows(cell, is_bounded=False):
                if measure in m.RELEASED:
                    yield m.RELEASED[measure], labels, estimates.without_tests()
        else:
            unknown = Estimates.make_unmeasured(UNREAD_REFUSALS)
            yield from ((measure, cell.labels, unknown) for measure in self.paper_measures)


def _score_rows(cell: SubsetCell, *, is_bounded: bool) -> Iterator[Row]:
    """Means and tails of groups; of whole sets their ranges, the tail of these, and who has the largest scores."""
    yield m.SCORE, *_mean_rows(cell)
    subset, replies = cell.subset, cell.values.shape[1]
    unit, group = np.repeat(subset.unit, replies), np.repeat(subset.group, replies)
    yield m.SCORE_Q90, cell.group_labels, group_quantiles(cell.values.ravel(), unit, group, len(subset.groups))
    if not len(subset.sets):
        return
    values = cell.in_sets
    ranges, bounds, tail_bounds = range_summary(values, SEED, QUANTILES), None, None
    if is_bounded:
        bounds, tail_bounds = summary_bounds(values, cell.requests_in_sets, m.score_limits(cell.values), QUANTILES)
    yield m.MAX_SCORE, cell.labels, replace(ranges.mean, bounds=bounds)
    tail, q90 = replace(ranges.tail, bounds=tail_bounds), QUANTILES.index(TAIL_QUANTILE)
    yield m.MAX_SCORE_Q90, cell.labels, tail.at(slice(q90, q90 + 1))
    places = [f"{100 * quantile:g}" for quantile in QUANTILES]
    yield m.MAX_SCORE_QUANTILE, {**cell.labels, "quantile": places}, tail
    is_whole, some = np.isfinite(values).all(axis=1), np.isfinite(values).any(axis=1)
    left_out, scored = (x.sum(axis=1, keepdims=True).astype(np.float64) for x in (some & ~is_whole, some))
    yield m.LEFT_OUT, cell.labels, column_shares(left_out, scored)
    share, chance, p_least = tail_shares(values, SEED)
    yield m.TAIL_SHARE, cell.group_labels, replace(share, p_least=p_least, floor=chance)


def _occupation_cells(cells: Iterator[SubsetCell]) -> Iterator[SubsetCell]:
    """Cells of the prompt that occupations are told for, of subsets with whole sets."""
    of_subsets: dict[str | None, dict[str | None, SubsetCell]] = {}
    for cell in cells:
        of_subsets.setdefault(cell.labels["subset"], {})[cell.labels["prompt"]] = cell
    for by_prompt in of_subsets.values():
        cell = by_prompt.get(BY_OCCUPATION, next(iter(by_prompt.values())))
        if len(cell.subset.sets):
            yield cell


def _occupation_rows(cell: SubsetCell, fewest: int) -> Iterator[Row]:
    """Scores of groups in occupations of so many sets, those of the most first, and the spread between groups there.

    Nothing is tested: occupations are told, and groups are judged over all of them together.
    """
    scores, requests = cell.in_sets, cell.requests_in_sets
    names, of_sets = cell.subset.occupations
    occupation = np.where(np.isfinite(scores).any(axis=2).sum(axis=1) > 1, of_sets, -1)
    sizes = np.bincount(occupation[occupation >= 0], minlength=len(names))
    order = np.argsort(-sizes, kind="stable")[:MOST_OCCUPATIONS]
    reported = order[sizes[order] >= fewest]
    if not reported.size:
        return
    low, high = m.score_limits(scores) or (float(np.nanmin(scores)), float(np.nanmax(scores)))
    limits = low, max(high, float(np.nextafter(low, np.inf)))  # all scores may be one
    spreads, bounds, groups = [], [], cell.subset.groups
    for number in reported:
        is_here = of_sets == number  # sets without any score are missing, too
        values, answered = scores[is_here], np.isfinite(scores[is_here])
        counts = (count.sum(axis=2).astype(np.float64) for count in (answered, requests[is_here] | answered))
        replies = Replies(np.where(answered, values, 0.0).sum(axis=2), *counts)
        bounds.append(phi_bounds(replies, limits))
        means = replace(group_levels(replies.sums, replies.valid, SEED), bounds=bounds[-1])
        yield m.SCORE_BY_OCCUPATION, {**cell.group_labels, "occupation": names[number]}, means
        spreads.append(group_deviation(values))
    spread, of_groups = Estimates.concatenate(spreads), Bounds.concatenate(bounds)
    ends = spread_bounds([of_groups.select_rows(slice(group, None, len(groups))) for group in range(len(groups))])
    ends.low[:], ends.high[:] = np.fmin(ends.low, spread.value), np.fmax(ends.high, spread.value)
    labels = {**cell.labels, "occupation": [names[number] for number in reported]}
    yield m.SPREAD_BY_OCCUPATION, labels, replace(spread.without_tests(), bounds=ends)


class MissingReplies(SetStatistic):
    """Shares of replies without a valid answer, by reason, of numbers taken with a note, and of refusals."""

    kind = "missing_replies"

    @property
    def paper_measures(self) -> tuple[Measure, ...]:
        """Replies that do not count, those with a note, and refusals."""
        return m.NA_RATE, m.NOTED, m.REFUSAL

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the shares of each cell, by group and over all."""
        if model.answers is None:
            return
        reasons = model.answers.reasons
        flags: dict[tuple[Measure, str | None], Mask] = {
            (m.NA_RATE, None): (reasons > 0) & (reasons != NOT_ASKED),
            (m.REFUSAL, None): reasons == reason_code(NA.REFUSED),
        }
        if REASON not in model.columns:
            flags |= {(m.NA_RATE, reason.value): reasons == reason_code(reason) for reason in NA}
        for measure, column in ((m.NA_RATE, REASON), (m.NOTED, NOTE)):
            texts = model.columns.get(column)
            if texts is not None:
                flags |= {(measure, text): texts.weights == code for code, text in enumerate(texts.texts)}
        for (measure, reason), flag in flags.items():
            for cell in cells_of(model.breakdown, model.answers, estimand.by, flag.astype(np.float64)):
                if reason is None or cell.values.any():
                    for row in _share_rows(measure, cell, {} if reason is None else {"reason": reason}):
                        self.add(table, estimand, model, row)


def _share_rows(measure: Measure, cell: SubsetCell, labels: Labels) -> Iterator[Row]:
    subset = cell.subset
    numbers = {"s": (cell.values * cell.requests).sum(axis=1), "n": cell.requests.sum(axis=1).astype(np.float64)}
    sums = Sums(numbers, {"unit": subset.unit}, {"group": (subset.groups, subset.group)}, subset.names)
    for by in (("group",), ()):
        of_by, shares = share_of_sums(sums, by)
        yield measure, {**cell.labels, **labels, **of_by}, shares
