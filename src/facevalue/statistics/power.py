"""Power: what a study can detect of a difference, a range or a tally, described for a planner."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.design import Design
from facevalue.measures.definitions import Measure, key_of, sampled_units
from facevalue.measures.set_ranges import SHUFFLED, range_summary
from facevalue.measures.uncertainty import no_floor
from facevalue.statistics.answer_arrays import Axes, collect
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.precision import (
    Precision,
    Respondents,
    UnitSpread,
    pooled_spread,
    units_asked,
    variation_spread,
)
from facevalue.statistics.ranges import ranged_cells
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import Score

Array = npt.NDArray[np.float64]
SHARE = 0.22
"""SD between units that is assumed without a pilot, as a share of the scale's span, beside that of drawn replies:
that of respondents near even (`respondents.Respondents`), by whom what is compared within units is simulated."""
STEPS = 4
"""Of a scale that is no share: a reply to one question has an SD of up to a quarter of it."""
GROWTH = 0.265
"""SD of a shift between units, as a share of the shift, where a pilot gives their SD in small ones, of a score that is
a share.

A shift of .3 is not the same for all faces: those that a model likes anyway have less room to rise. With an SD between
faces of 1 on the logit scale, common to all questions, the shifts' own SD is .10, .21, .23, .26 of a shift of .05, .1,
.2, .3; with one drawn anew for each question it hardly grows. The larger is assumed, so that a plan asks for enough
faces.
"""

_UNITS = 400
"""Units whose replies are simulated: enough for the noise of a range to be that of its linearisation."""
_PERSON, _QUESTION = 1.0, 0.4
"""SD on the logit scale between units, and between questions about one."""


class PlannedTask(Protocol):
    """A task of a study, as plans need it."""

    @property
    def breakdown(self) -> Breakdown:
        """Factors that its answers can be broken down by."""

    @property
    def axes(self) -> Axes:
        """The arrays that its answers fill."""

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Definitions by name."""

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that are about it."""


def precision_of_difference(estimand: Estimand, task: PlannedTask, score: Score, design: Design) -> Precision | None:
    """Describe a test of a difference in one direction to the planner; None of a score without ends."""
    if score.span is None:
        return None
    breakdown, axes, sets = task.breakdown, task.axes, task.breakdown.sets
    statistic, by = estimand.statistic, estimand.by
    between, at = statistic.is_between_units(breakdown), breakdown.stimuli(estimand.factors)
    cells = breakdown.rows(sets.variation_rows if statistic.from_base else at, by)
    columns = len(breakdown.columns(by))
    is_held = estimand.holds(cells.crossed(breakdown.columns(by)), len(cells) * columns)
    shares: tuple[float, ...] = ()
    if statistic.from_base:
        shown = shares_shown(cells.codes, sets.identity[sets.variation_rows], len(sets.identities))
        shares = tuple(np.repeat(shown, columns)[is_held].tolist())
    tests = int(is_held.sum()) * (len(statistic.contrasts(breakdown)) if statistic.compares else 1)
    items = len(breakdown.columns(breakdown.prompt_factors)) / columns

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        phi = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name].phi
        return _spread(phi, breakdown, estimand, score, source)

    steps = 1 if score.unit == "probability" else STEPS
    replies = len(axes.orderings) * axes.repeats
    default: UnitSpread | Respondents
    if statistic.is_within_units(breakdown):
        default = Respondents(replies, steps, score.span)
    else:
        pictures = max(len(at) / len(sets.identities) / max(len(cells), 1), 1.0)
        of_shift = 2.0 if isinstance(statistic, Gap) and statistic.of_shifts else 1.0  # replies to base and picture
        default = assumed_spread(replies * pictures * steps / of_shift, items, score.span, 2.0 if between else 1.0)
    measure = estimand.name_of(breakdown)
    return Precision(
        what=f"the {measure.replace('_', ' ')} ({score.title[:1].lower()}{score.title[1:]})", tests=max(tests, 1),
        clusters=len(sets.identities), items=items, cluster=sampled_units(sets.unit),
        item="questions" if columns == 1 else "questions in each test",
        units=units_asked(design, [sets.key, *breakdown.prompt_factors], columns, task.rows), spread=spread,
        default=default, shares=shares, largest=task.measures[key_of(measure, score.label)].limits[1],
    )  # fmt: skip


def shares_shown(cells: npt.NDArray[np.int64], unit: npt.NDArray[np.int64], units: int) -> Array:
    """Share of all units that each cell is shown on; a half where an odd number is split as evenly as it can be.

    `cells`, `unit`: of each picture; -1 for no cell.

    Examples
    --------
    >>> shares_shown(np.array([0, 0, 1, -1]), np.array([0, 1, 0, 2]), 4).tolist()
    [0.5, 0.25]
    """
    counts = np.array([np.unique(unit[cells == code]).size for code in range(cells.max(initial=-1) + 1)])
    return np.where(abs(2 * counts - units) == 1, 0.5, counts / units)


def assumed_spread(draws: float, items: float, span: float, factor: float = 1.0) -> UnitSpread:
    """Spread between units that is assumed where no pilot says it.

    Parameters
    ----------
    draws:
        Replies about a unit to each question, times the steps of their scale.
    items, span:
        Questions, and the length of the scale.
    factor:
        2 for the difference between two groups, each of half of the units; 1 for a mean of all.

    Equation
    --------
    sd² = factor² span² (.22² + (.25 - .22²) / (draws items)): units differ by .22 of the scale (SD), in all questions
    alike, and a reply to one is 1 or 0 with the unit's own chance. Of replies near even: rarer ones vary less.

    Examples
    --------
    >>> [round(assumed_spread(draws, 1, 1.0).mean, 3) for draws in (1, 8)]
    [0.5, 0.271]
    """
    chance = factor * span * float(np.sqrt((0.25 - SHARE**2) / draws))
    mean = float(np.hypot(factor * SHARE * span, chance / np.sqrt(items)))
    source = (
        f"assumed: units differ by {SHARE:g} of the scale (SD) about even answers, and replies are drawn; a pilot of "
        "your own model is better: --pilot RUN"
    )
    return UnitSpread(mean, chance, items, source, chance=chance)


def _spread(phi: Array, breakdown: Breakdown, estimand: Estimand, score: Score, source: str) -> UnitSpread:
    """Spread between units of what is tested; of two groups, that of a mean over as many units as both have."""
    sets = breakdown.sets
    if estimand.statistic.from_base:
        return variation_spread(phi, sets, source, GROWTH if score.is_share else 0.0)
    at = breakdown.stimuli(estimand.factors)
    scores = np.full((len(sets.identities), phi.shape[1], max(1, int(np.bincount(sets.identity[at]).max()))), np.nan)
    place = np.zeros(len(sets.identities), dtype=np.int64)
    for row in at:
        unit = sets.identity[row]
        scores[unit, :, place[unit]] = phi[row]
        place[unit] += 1
    seen = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit_means = np.where(seen, scores, 0).sum(axis=2) / seen.sum(axis=2)
    if not estimand.statistic.is_between_units(breakdown):
        return pooled_spread([unit_means], source)
    factor = estimand.compared_factor
    level = sets.level(factor)
    groups = [unit_means[[name == of_unit for of_unit in level]] for name in breakdown.levels(factor)]
    pooled = pooled_spread(groups, source)
    return UnitSpread(2 * pooled.mean, 2 * pooled.within, pooled.items, pooled.source)


@dataclass(frozen=True, slots=True)
class SimulatedRanges(UnitSpread):
    """Spread of ranges beyond chance, of simulated replies to pictures that are alike.

    Attributes
    ----------
    levels, replies, orderings:
        Pictures of a unit, replies to each question about each in one order of the options, and orders.
    steps, span:
        Of the scale: 1 step for a share; from its lower to its upper end.
    """

    levels: int = 2
    replies: int = 2
    orderings: int = 1
    steps: int = 1
    span: float = 1.0

    def sd(self, items: float, effect: float = 0.0) -> float:
        """SD between units of their mean range less its floor, over so many questions."""
        rng = np.random.default_rng(SEED)
        rows = max(round(items), 1) * self.orderings
        logits = rng.normal(0, _PERSON, (_UNITS, 1)) + rng.normal(0, _QUESTION, (_UNITS, rows))
        chance = (1 / (1 + np.exp(-logits))).reshape(-1, 1, 1)
        scores = rng.binomial(self.steps, chance, (chance.size, self.levels, self.replies)) * self.span / self.steps
        return beyond_chance(scores, np.repeat(np.arange(_UNITS), rows))


def beyond_chance(scores: Array, clusters: npt.NDArray[np.int64]) -> float:
    """SD between units of ranges less their floor, by the floor's 95th percentile; NaN where there is no floor.

    `scores`, `clusters`: as of `measures.set_ranges.range_summary`.
    """
    floor, units = range_summary(scores, SEED, clusters=clusters).mean.floor or no_floor(1), np.unique(clusters).size
    quantile = scipy.special.ndtri(0.95) if units <= SHUFFLED else scipy.special.stdtrit(units - 1, 0.95)
    return float((floor.high[0] - floor.mean[0]) / quantile * np.sqrt(units))


def precision_of_range(estimand: Estimand, task: PlannedTask, score: Score, design: Design) -> Precision | None:
    """Describe a range to the planner; None where replies say nothing of chance."""
    breakdown, axes = task.breakdown, task.axes
    if score.span is None or axes.repeats < 2:
        return None
    at, factor = breakdown.stimuli(estimand.factors), estimand.compared_factor
    columns = len(breakdown.columns(estimand.by))
    tests = max(len(breakdown.rows(at, estimand.by)) * columns, 1)
    items = len(breakdown.columns(breakdown.prompt_factors)) / columns

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        answers = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name]
        cells = [beyond_chance(scores, units) for _, scores, _, units in ranged_cells(estimand, breakdown, answers)]
        finite = [sd for sd in cells if np.isfinite(sd)]
        return UnitSpread(float(np.sqrt(np.mean(np.square(finite)))) if finite else np.nan, np.nan, items, source)

    steps = 1 if score.unit == "probability" else STEPS
    assumed = "simulated respondents; a pilot of your own model is better: --pilot RUN"
    return Precision(
        what=f"a range of {factor} beyond what chance gives ({score.title[:1].lower()}{score.title[1:]})",
        tests=tests,
        clusters=len(breakdown.sets.identities),
        items=items,
        cluster=sampled_units(breakdown.sets.unit),
        item="questions" if columns == 1 else "questions in each test",
        units=units_asked(design, [breakdown.sets.key, *breakdown.prompt_factors], columns, task.rows),
        spread=spread,
        default=SimulatedRanges(
            np.nan, np.nan, items, assumed, levels=len(breakdown.levels(factor)), replies=axes.repeats,
            orderings=len(axes.orderings), steps=steps, span=score.span,
        ),
        largest=score.span,
        one_sided=True,
        of_replies=True,
    )  # fmt: skip


def precision_of_question(
    estimand: Estimand, task: PlannedTask, score: Score, design: Design, *, is_of_cue: bool
) -> Precision | None:
    """Describe one question of a tally to the planner: from which difference on it counts."""
    breakdown, axes = task.breakdown, task.axes
    if score.span is None:
        return None
    sets, factor = breakdown.sets, estimand.compared_factor
    replies = len(axes.orderings) * axes.repeats
    steps = 1 if score.unit == "probability" else STEPS

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        phi = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name].phi
        return variation_spread(phi, sets, source) if is_of_cue else _spread_of_halves(phi, breakdown, factor, source)

    default: UnitSpread | Respondents = Respondents(replies, steps, score.span)
    if not is_of_cue:
        default = assumed_spread(replies * steps, 1.0, score.span, 2.0)
    moved = "a shift" if is_of_cue else f"a difference between two halves of {factor}"
    return Precision(
        what=f"{moved} in one question, so that a tally counts it ({score.title[:1].lower()}{score.title[1:]})",
        tests=1, clusters=len(sets.identities), items=1.0, cluster=sampled_units(sets.unit), item="question",
        units=units_asked(design, [sets.key], 1, task.rows), spread=spread, default=default, largest=score.span,
        of_question=True,
    )  # fmt: skip


def _spread_of_halves(phi: Array, breakdown: Breakdown, factor: str, source: str) -> UnitSpread:
    """Spread between units of one group in their answers to one question, twice: two halves are compared."""
    at = breakdown.stimuli([factor])
    groups = breakdown.codes(at, factor)
    pooled = pooled_spread([phi[at[groups == group]] for group in np.unique(groups[groups >= 0])], source)
    return replace(pooled, mean=2 * pooled.mean, within=2 * pooled.within)
