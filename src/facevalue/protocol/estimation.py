"""Estimation of takes: from answers as arrays to estimates with intervals, floors, bounds and tests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.answers.lists import SEPARATOR
from facevalue.measures import (
    cluster_bootstrap,
    comparison,
    estimators,
    flips,
    group_findings,
    group_spread,
    missing_data_bounds,
    set_similarity,
    shift,
    shift_findings,
    unit_ratios,
)
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, standard_error
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.majority import from_majority
from facevalue.measures.missing_data_bounds import (
    Bounds,
    Replies,
    contrast_bounds,
    phi_bounds,
    shift_bounds,
    size_bounds,
)
from facevalue.measures.ratio_differences import ratio_differences
from facevalue.measures.slicing import Labels, Slicing
from facevalue.measures.wanted import wanted
from facevalue.protocol.aggregate import NOT_ASKED, Aggregate
from facevalue.protocol.definitions import companions, floor_names, measure_name, range_names, size_names
from facevalue.protocol.instrument import by_group
from facevalue.protocol.ranges import add_ranges
from facevalue.protocol.replies import Score
from facevalue.protocol.shifts import SEED, Shifts
from facevalue.protocol.side_by_side import pairs_compared
from facevalue.protocol.spreads import LevelsOfUnits, add_spread_within, add_spreads, group_bounds, limits
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    DIMENSION,
    FLIP,
    GAP,
    LEAN,
    LEVELS_MEAN,
    MEAN,
    OTHERS,
    PREFERENCE,
    RANGE,
    SHIFT,
    SIMILARITY,
    SPREAD,
    TALLY,
    Breakdown,
    Take,
)

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Estimator:
    """Takes the measures of one score of one model."""

    breakdown: Breakdown
    measures: Mapping[str, Measure]
    score: Score
    values: Shifts  # mean scores and shifts
    answers: Aggregate | None  # where they are from; None for several models together
    _spreads: dict[str, tuple[Array, Slicing, group_spread.Spreads]] = field(default_factory=dict)

    def add(self, table: EstimateTable, take: Take) -> None:
        """Add the estimates of a take."""
        if take.scores and self.score.name not in take.scores:
            return
        if self.score.leaves_out and self.answers is None:  # of several models together no answers can be counted
            return
        measure = self.measures[measure_name(take, self.breakdown, self.score)]
        if not wanted([measure.name, *companions(take, measure.name)]):
            return
        takers = {
            SHIFT: self._shift, MEAN: self._mean, GAP: self._gap, SPREAD: self._spread,
            PREFERENCE: self._preference, LEAN: self._lean, TALLY: self._tally, FLIP: self._flip, RANGE: self._range,
            SIMILARITY: self._similarity,
        }  # fmt: skip
        takers[take.measure](table, take, measure)

    def _enter(
        self, table: EstimateTable, take: Take, measure: Measure, labels: Labels, estimates: Estimates, **columns: Any
    ) -> None:
        """Add rows, with tests where the take is tested."""
        p, family = (estimates.p_zero, take.named()) if take.tested else (None, None)
        columns["keep"] = columns["keep"] & take.holds(labels, estimates.value.size)
        table.add(measure, self.breakdown.labelled(labels), estimates, p=p, family=family, **columns)

    @property
    def _poles(self) -> tuple[float, float] | None:
        return (self.score.low, self.score.high) if self.score.span is not None and self.answers is not None else None

    def cells(self, values: Array, at: Codes, rows: Slicing, columns: Slicing) -> shift.Cells:
        """Gather a quantity of these stimuli, shape (stimuli, items), by unit and cell."""
        sets = self.breakdown.sets
        return shift.cells(values, sets.identity[at], rows, columns, len(sets.identities))

    def replies(self, at: Codes, rows: Slicing, columns: Slicing) -> Replies:
        """What was asked about these stimuli and came back, by unit and cell."""
        assert self.answers is not None
        return Replies(*(self.cells(total[at], at, rows, columns).sums for total in self.answers.totals))

    def cut(self, by: Sequence[str]) -> tuple[Slicing, Slicing]:
        """Partition what is varied, and the items, by factors."""
        return self.breakdown.rows(self.breakdown.sets.varied, by), self.breakdown.columns(by)

    def _shift(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        rows, columns = self.cut(take.by)
        cells = self.values.cells(rows, columns)
        signed = self.values.estimates(cells, rows, columns)
        bounds = None
        if self._poles is not None and self.answers is not None:
            bounds = self.values.bounds(self.answers, rows, columns, self._poles)
        keep = (cells.shown > 0) & take.holds(cells.labels, cells.shown.size)
        ranked = cluster_bootstrap.wilcoxon(cells.sums, cells.counts) if take.rank_test else None
        self._enter(table, take, measure, cells.labels, signed, bounds=bounds, keep=keep, p_paper=ranked)
        if take.size:
            labels = self.breakdown.labelled(cells.labels)
            plain, corrected = (self.measures[name] for name in size_names(measure.name))
            size, ends = shift.magnitude(signed), None if bounds is None else size_bounds(bounds)
            table.add(plain, labels, size, p=signed.p_zero, floor=shift.floor(signed), keep=keep, bounds=ends)
            without_noise = shift.corrected(size, standard_error(cells.sums, cells.counts))
            table.add(corrected, labels, without_noise, keep=keep)

    def _flip(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        if self.answers is None:  # of several models together there is no reply
            return
        answers, sets = self.answers, self.breakdown.sets
        is_asked = answers.by_prompt(answers.reasons != NOT_ASKED)
        weights, mass = answers.by_prompt(answers.weights), answers.by_prompt(answers.mass)
        of = flips.flips(weights.astype(np.float64), mass, is_asked, sets.base_of, sets.varied)
        rate, floor = (self.measures[name] for name in floor_names(take, measure.name))
        self._beside_floor(table, take, of, (measure, rate, floor), sets.varied)

    def _similarity(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        if self.answers is None:  # of several models together there is no reply
            return
        answers, sets = self.answers, self.breakdown.sets
        lists = np.nan_to_num(answers.weights, nan=-1).astype(np.int64)
        lists[~(answers.mass > 0)] = -1
        sets_of_texts = [frozenset(text.split(SEPARATOR) if text else ()) for text in answers.texts]
        first, second = self.breakdown.pairs(take.of) if take.of else (sets.base_of, sets.varied)
        of = set_similarity.similarities(lists, sets_of_texts, answers.reasons != NOT_ASKED, first, second)
        lost, floor = (self.measures[name] for name in floor_names(take, measure.name))
        self._beside_floor(table, take, of, (lost, measure, floor), second)

    def _beside_floor(
        self, table: EstimateTable, take: Take, of: flips.Flips | set_similarity.Similarities,
        measures: tuple[Measure, Measure, Measure], at: Codes,
    ) -> None:  # fmt: skip
        """Add what lies beyond the floor, the rate and the floor; `at`: the second picture of each pair."""
        rows, columns = self.breakdown.rows(at, take.by), self.breakdown.columns(take.by)

        def cells(values: Array) -> shift.Cells:
            return self.cells(values, at, rows, columns)

        beyond, rate, floor = measures
        difference = cells(of.beyond)
        keep = (cells(of.rate).shown > 0) & take.holds(difference.labels, difference.shown.size)
        means = cluster_bootstrap.means(difference.sums, difference.counts, SEED, largest=1.0)
        self._enter(table, take, beyond, difference.labels, means, keep=keep)
        bounds = phi_bounds(Replies(*(cells(total).sums for total in of[3:])))  # what was chosen, valid, asked
        for share_measure, values, ends in ((rate, of.rate, bounds), (floor, of.floor, None)):
            share = cells(values)
            shares = estimators.shares(share.sums, share.counts)
            table.add(share_measure, self.breakdown.labelled(share.labels), shares, bounds=ends, keep=keep)

    def _mean(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        cells, bounds = self._scored(take)
        if self.score.is_share:
            of_shares = unit_ratios.shares if self.score.leaves_out else estimators.shares
            means = of_shares(cells.sums, cells.counts)
        else:
            means = self._means(cells.sums, cells.counts, SEED, level=True)
        self._enter(table, take, measure, cells.labels, means, bounds=bounds, keep=cells.shown > 0)

    @property
    def _means(self) -> Callable[..., Estimates]:
        """Estimator of means; of a score that leaves answers out they are ratios."""
        return unit_ratios.ratios if self.score.leaves_out else cluster_bootstrap.means

    def _lean(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        cells, bounds = self._scored(take)
        middle = (self.score.low + self.score.high) / 2
        largest = None if self.score.span is None else self.score.span / 2
        means = self._means(cells.sums - middle * cells.counts, cells.counts, SEED, largest=largest)
        bounds = None if bounds is None else bounds.less(middle)
        self._enter(table, take, measure, cells.labels, means, bounds=bounds, keep=cells.shown > 0)

    def _preference(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        columns, both_ends = self.breakdown.columns(take.by), self.score.low + self.score.high
        largest = None if self.score.span is None else self.score.span / 2
        for labels, at, is_turned in pairs_compared(self.breakdown, take):
            rows = self.breakdown.rows(at, take.by)
            phi = self.values.phi[at]
            cells = self.cells(np.where(is_turned, both_ends - phi, phi) - both_ends / 2, at, rows, columns)
            means = unit_ratios.ratios(cells.sums, cells.counts, SEED, largest=largest)
            bounds = None
            if self._poles is not None and self.answers is not None:
                total, valid, requested = (of_pair[at] for of_pair in self.answers.totals)
                turned = np.where(is_turned, both_ends * valid - total, total)
                replies = Replies(*(self.cells(x, at, rows, columns).sums for x in (turned, valid, requested)))
                bounds = phi_bounds(replies, self._poles).less(both_ends / 2)
            labelled = {**cells.labels, **{name: [level] * means.value.size for name, level in labels.items()}}
            self._enter(table, take, measure, labelled, means, bounds=bounds, keep=cells.shown > 0)

    def _scored(self, take: Take) -> tuple[shift.Cells, Bounds | None]:
        """Sums and counts of mean scores by unit and cell, and bounds of the cells' means.

        Of a score that leaves answers out all answers are summed instead, as each stands for itself: a picture of whose
        answers one counts is not worth as much as one of whose all do.
        """
        at = self.breakdown.shown(take)
        rows, columns = self.breakdown.rows(at, take.by), self.breakdown.columns(take.by)
        cells = self.cells(self.values.phi[at], at, rows, columns)
        if self._poles is None:
            return cells, None
        replies = self.replies(at, rows, columns)
        if self.score.leaves_out:
            cells = replace(cells, sums=replies.sums, counts=replies.valid)
        return cells, phi_bounds(replies, self._poles)

    def _alike(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        """Each level beside the unit's levels that are alike; q is of all levels of a cell, which is a family."""
        levels = self.breakdown.levels(take.of)
        for about, means, replies, is_shown in self._levels_of_units(take):
            contrast = from_majority(means, SEED, self._poles, replies)
            cells = {name: [level] * len(levels) for name, level in {**about, CONTRAST: ALIKE}.items()}
            tests: dict[str, Any] = {
                "p": contrast.estimates.p_zero, "q": contrast.q, "p_least": np.full(len(levels), contrast.p_least),
                "family": f"{take.named()} ({', '.join(map(str, about.values()))})" if about else take.named(),
            }  # fmt: skip
            table.add(
                measure, self.breakdown.labelled({**cells, take.of: levels}), contrast.estimates,
                bounds=None if replies is None else contrast.bounds,
                keep=is_shown & take.holds(cells, len(levels)),
                **(tests if take.tested else {}),
            )  # fmt: skip

    def _levels_of_units(self, take: Take) -> Iterator[LevelsOfUnits]:
        at = self.breakdown.shown(take)
        levels, rows, columns, labels = self._sides(take, at)
        sums, counts, is_shown = self._split(self.values.phi[at], at, rows, columns, levels, take)
        means, totals = cluster_bootstrap.ratio(sums, counts), None
        if self._poles is not None and self.answers is not None:
            totals = [self._split(total[at], at, rows, columns, levels, take)[0] for total in self.answers.totals]
        for cell in range(means.shape[-1]):
            replies = None if totals is None else Replies(*(total[..., cell] for total in totals))
            about = {name: of_cells[cell] for name, of_cells in labels.items()}
            yield about, means[..., [cell]], replies, is_shown[:, cell]

    def _gap(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        if take.versus == ALIKE:
            self._alike(table, take, measure)
            return
        on_shift = take.on == SHIFT
        at = self.breakdown.sets.varied if on_shift else self.breakdown.shown(take)
        values = self.values.delta if on_shift else self.values.phi[at]
        levels, rows, columns, labels = self._sides(take, at)
        sums, counts, is_shown = self._split(values, at, rows, columns, levels, take)
        poles, replies, base = self._poles, None, None
        if poles is not None and self.answers is not None:
            totals = [total[at] for total in self.answers.totals]
            replies = [self._split(total, at, rows, columns, levels, take)[0] for total in totals]
            if on_shift:
                of = self.breakdown.sets.base_of
                bases = [np.where(of[:, None] >= 0, total[of], 0.0) for total in self.answers.totals]
                base = [self._split(total, at, rows, columns, levels, take)[0] for total in bases]
        if self.score.leaves_out and replies is not None:  # each answer stands for itself, as in a mean
            sums, counts = replies[0], replies[1]
        gaps, keep, bounds, gap_labels = [], [], [], {name: list[str | None]() for name in (*labels, take.of, CONTRAST)}
        rest = (OTHERS, LEVELS_MEAN)
        scale = 1 - 1 / len(levels) if take.versus == LEVELS_MEAN else 1.0  # x less (x + (k - 1) y) / k
        for level, contrast in self.breakdown.contrasts(take):
            level_index = [levels.index(level)]
            two = [i for i, name in enumerate(levels) if name == contrast or (contrast in rest and name != level)]
            sides = [(sums[:, side].sum(axis=1), counts[:, side].sum(axis=1)) for side in (two, level_index)]
            if self.score.leaves_out:
                gaps.append(ratio_differences(sides[0], sides[1], self.score.span or np.inf))
            else:
                gaps.append(_difference(sides, self.score.span, scale, pooled=not take.welch))
            keep.append(is_shown[level_index].any(axis=0) & is_shown[two].any(axis=0))
            if replies is not None and poles is not None:
                within = measure.paired and not self.score.leaves_out
                bounds.append(_gap_bounds(replies, base, (level_index, two), poles, paired=within).scaled(scale))
            for name, own_labels in labels.items():
                gap_labels[name] += own_labels
            gap_labels[take.of] += [level] * sums.shape[-1]
            gap_labels[CONTRAST] += [contrast] * sums.shape[-1]
        joined = cluster_bootstrap.joined(gaps)
        joined_bounds = missing_data_bounds.joined(bounds) if bounds else None
        self._enter(table, take, measure, gap_labels, joined, bounds=joined_bounds, keep=np.concatenate(keep))

    def _sides(self, take: Take, at: Codes) -> tuple[list[str], Slicing, Slicing, dict[str, list[str | None]]]:
        """Levels of a gap's factor; rows and columns with it outermost on its side; labels of the cells without it."""
        levels = self.breakdown.levels(take.of)
        if take.of in self.breakdown.of_prompt:
            rows, columns = self.breakdown.rows(at, take.by), self.breakdown.columns([take.of, *take.by])
        else:
            rows = Slicing(self.breakdown.codes(at, take.of), {take.of: levels}) * self.breakdown.rows(at, take.by)
            columns = self.breakdown.columns(take.by)
        return levels, rows, columns, self.breakdown.rows(at, take.by).crossed(self.breakdown.columns(take.by))

    def _split(
        self, values: Array, at: Codes, rows: Slicing, columns: Slicing, levels: list[str], take: Take
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Sums and counts of shape (units, levels, cells), and which cells are shown, (levels, cells)."""
        cells = self.cells(values, at, rows, columns)
        many = len(levels)

        def by_level(flat: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            if take.of in self.breakdown.of_prompt:
                cut = flat.reshape(*flat.shape[:-1], len(rows), many, -1)
                return np.moveaxis(cut, -2, -3).reshape(*flat.shape[:-1], many, -1)
            return flat.reshape(*flat.shape[:-1], many, -1)

        return by_level(cells.sums), by_level(cells.counts), by_level(cells.shown > 0)  # type: ignore[return-value]

    def _spread(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        if self.breakdown.is_within(take):
            for cell in self._levels_of_units(take):
                add_spread_within(table, measure, take, self.breakdown, cell, self._poles)
            return
        scores, groups, spreads = self.spread(take.of)
        at, items = self.breakdown.shown(take), self.breakdown.columns(self.breakdown.asked)
        bounds = None
        if self._poles is not None and self.answers is not None:
            totals, unit = [total[at] for total in self.answers.totals], self.breakdown.sets.identity[at]
            bounds = limits(totals, unit, groups, items, self._poles, mean=not take.by)
        add_spreads(
            table, measure, take.of, scores, groups, items, spreads, mean=not take.by,
            family=take.named() if take.tested else None, bounds=bounds,
            published=group_spread.group_tests(scores, groups.codes, len(groups)) if take.rank_test else None,
        )  # fmt: skip

    def _tally(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        factors = [name for name in self.breakdown.asked if name not in take.any]
        questions, cells = self.breakdown.columns(factors), self.breakdown.columns(take.by)
        cell_of = np.zeros(len(questions), dtype=np.int64)
        cell_of[questions.codes] = cells.codes
        classes = [np.flatnonzero(cell_of == cell) for cell in range(len(cells))]
        counted = self._moved if self.breakdown.is_of_cue(take) else self._apart
        shares, bounds = counted(take, questions.codes, classes)
        labels = {DIMENSION: [take.of] * len(cells), **cells.labels}
        floor, p_least, family = shares.floor, shares.least, take.named() if take.tested else None
        if family is None:
            floor, p_least = replace(floor, p=np.full(len(cells), np.nan)), np.full(len(cells), np.nan)
        table.add(
            measure, labels, shares.estimates,
            p_least=p_least, family=family, floor=floor, bounds=bounds,
        )  # fmt: skip

    def _range(self, table: EstimateTable, take: Take, measure: Measure) -> None:
        if self.answers is not None:  # of several models together there is no reply
            tail = self.measures[range_names(measure.name)[0]]
            add_ranges(table, take, (measure, tail), self.breakdown, self.answers, self._poles)

    def _apart(
        self, take: Take, question: Codes, classes: Sequence[Codes]
    ) -> tuple[group_findings.TallyShares, Bounds | None]:
        """Shares of questions in which groups differ, and their bounds for missing answers."""
        scores, groups = self.by_unit(take.of)
        shares = group_findings.findings(scores, groups.codes, len(groups), question, classes, SEED)
        if self._poles is None or self.answers is None:
            return shares, None
        at, items = self.breakdown.shown(take), self.breakdown.columns(self.breakdown.asked)
        totals, unit = [total[at] for total in self.answers.totals], self.breakdown.sets.identity[at]
        ends = group_bounds(totals, unit, groups, items, self._poles)
        return shares, group_findings.tally_bounds(scores, groups.codes, ends, question, classes)

    def _moved(
        self, _: Take, question: Codes, classes: Sequence[Codes]
    ) -> tuple[group_findings.TallyShares, Bounds | None]:
        """Shares of questions in which the cue moves the answer, and their bounds for missing answers."""
        rows, columns = Slicing.whole(self.breakdown.sets.varied.size), self.breakdown.columns(self.breakdown.asked)
        cells = self.values.cells(rows, columns)
        shifts = cluster_bootstrap.ratio(cells.sums, cells.counts)
        shares = shift_findings.findings(shifts, question, classes, SEED)
        if self._poles is None or self.answers is None:
            return shares, None
        ends = self.values.bounds(self.answers, rows, columns, self._poles)
        return shares, shift_findings.finding_bounds(shifts, ends, question, classes)

    def by_unit(self, dimension: str) -> tuple[Array, Slicing]:
        """Scores of shape (units, items), and the units by group."""
        at = self.breakdown.shown(Take(SPREAD, of=dimension))
        cells = self.cells(
            self.values.phi[at], at, Slicing.whole(at.size), self.breakdown.columns(self.breakdown.asked)
        )
        return cluster_bootstrap.ratio(cells.sums, cells.counts), by_group(self.breakdown, dimension)

    def spread(self, dimension: str) -> tuple[Array, Slicing, group_spread.Spreads]:
        """Scores of shape (units, items), the units by group, and how far the groups lie apart."""
        if dimension not in self._spreads:
            scores, groups = self.by_unit(dimension)
            spreads = group_spread.spreads(scores, groups.codes, len(groups), SEED)
            self._spreads[dimension] = scores, groups, spreads
        return self._spreads[dimension]


def _gap_bounds(
    varied: Sequence[Array],
    base: Sequence[Array] | None,
    sides: tuple[list[int], list[int]],
    poles: tuple[float, float],
    *,
    paired: bool,
) -> Bounds:
    """Bounds of a gap between means, or, with bases, between shifts from them."""

    def replies(totals: Sequence[Array], of_side: list[int]) -> Replies:
        return Replies(*(total[:, of_side].sum(axis=1) for total in totals))

    level, contrast = (replies(varied, of_side) for of_side in sides)
    if base is None:
        return shift_bounds(contrast, level, poles, paired=paired)
    return contrast_bounds([level, replies(base, sides[0]), contrast, replies(base, sides[1])], [1, -1, -1, 1], poles)


def _difference(sides: Sequence[tuple[Array, Array]], span: float | None, scale: float, *, pooled: bool) -> Estimates:
    """The second side's mean less the first's: between units, or within where any has both, there times `scale`."""
    (low_sums, low_counts), (high_sums, high_counts) = sides
    have_both = (low_counts > 0) & (high_counts > 0)
    if have_both.any():
        apart = cluster_bootstrap.ratio(high_sums, high_counts) - cluster_bootstrap.ratio(low_sums, low_counts)
        largest = None if span is None else span * scale
        return cluster_bootstrap.means(
            np.where(have_both, apart * scale, 0.0), have_both.astype(np.float64), SEED, largest=largest
        )
    code = np.where((high_counts > 0).any(axis=1), 1, np.where((low_counts > 0).any(axis=1), 0, -1))
    is_high = (code == 1)[:, None]
    sums, counts = np.where(is_high, high_sums, low_sums), np.where(is_high, high_counts, low_counts)
    return comparison.compare(sums, counts, code, SEED, pooled=pooled, largest=span)
