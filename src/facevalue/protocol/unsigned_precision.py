"""Precision that is to be expected of what has no direction: ranges beside their floor, tallies of questions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.aggregate import collect
from facevalue.protocol.expected_precision import Precision, Spread
from facevalue.protocol.planning import SHARE, STEPS
from facevalue.protocol.replies import Score
from facevalue.protocol.respondents import Respondents
from facevalue.protocol.shifts import SEED
from facevalue.protocol.stimuli import NOUNS
from facevalue.protocol.takes import Breakdown, Take
from facevalue.protocol.tasks import Task
from facevalue.protocol.unit_spreads import pooled_spread, units_asked, variation_spread

Array = npt.NDArray[np.float64]
_UNITS = 400
"""Units whose replies are simulated: enough for the noise of a range to be that of its linearisation."""
_PERSON, _QUESTION = 1.0, 0.4
"""SD on the logit scale between units, and between questions about one."""


@dataclass(frozen=True, slots=True)
class SimulatedRanges(Spread):
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

    def at(self, items: float, effect: float = 0.0) -> float:
        """SD between units of their mean range less its floor, over so many questions."""
        rng = np.random.default_rng(SEED)
        rows = max(round(items), 1) * self.orderings
        logits = rng.normal(0, _PERSON, (_UNITS, 1)) + rng.normal(0, _QUESTION, (_UNITS, rows))
        chance = (1 / (1 + np.exp(-logits))).reshape(-1, 1, 1)
        scores = rng.binomial(self.steps, chance, (chance.size, self.levels, self.replies)) * self.span / self.steps
        return beyond_chance(scores, np.repeat(np.arange(_UNITS), rows))


def beyond_chance(scores: Array, clusters: npt.NDArray[np.int64]) -> float:
    """SD between units of ranges less their floor, by the floor's 95th percentile; NaN where there is no floor.

    `scores`, `clusters`: as of `measures.set_ranges.summary`.
    """
    from scipy import special  # noqa: PLC0415 - slow to import

    from facevalue.measures.set_ranges import SHUFFLED, summary  # noqa: PLC0415

    floor, units = summary(scores, SEED, clusters=clusters).floor, np.unique(clusters).size
    quantile = special.ndtri(0.95) if units <= SHUFFLED else special.stdtrit(units - 1, 0.95)
    return float((floor.high[0] - floor.mean[0]) / quantile * np.sqrt(units))


def of_range(task: Task, take: Take, score: Score, design: Design) -> Precision | None:
    """Describe a range to the planner; None where replies say nothing of chance."""
    from facevalue.protocol.ranges import ranged_cells  # noqa: PLC0415 - scipy.stats takes a second to import

    breakdown, axes = task.breakdown, task.axes
    if score.span is None or axes.repeats < 2:
        return None
    at, columns = breakdown.shown(take), len(breakdown.columns(take.by))
    tests = max(len(breakdown.rows(at, take.by)) * columns, 1)
    items = len(breakdown.columns(breakdown.asked)) / columns

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        answers = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name]
        cells = [beyond_chance(cell.scores, cell.clusters) for cell in ranged_cells(take, breakdown, answers)]
        finite = [sd for sd in cells if np.isfinite(sd)]
        return Spread(float(np.sqrt(np.mean(np.square(finite)))) if finite else np.nan, np.nan, items, source)

    steps = 1 if score.unit == "probability" else STEPS
    assumed = "simulated respondents; a pilot of your own model is better: --pilot RUN"
    return Precision(
        what=f"a range of {take.of} beyond what chance gives ({score.title[:1].lower()}{score.title[1:]})",
        tests=tests,
        clusters=len(breakdown.sets.identities),
        items=items,
        cluster=NOUNS[breakdown.sets.unit],
        item="questions" if columns == 1 else "questions in each test",
        units=units_asked(design, [breakdown.sets.key, *breakdown.asked], columns, task.rows),
        spread=spread,
        default=SimulatedRanges(
            np.nan, np.nan, items, assumed, levels=len(breakdown.levels(take.of)), replies=axes.repeats,
            orderings=len(axes.orderings), steps=steps, span=score.span,
        ),
        largest=score.span,
        one_sided=True,
        of_replies=True,
    )  # fmt: skip


def of_tally(task: Task, take: Take, score: Score, design: Design) -> Precision | None:
    """Describe one question of a tally to the planner: from which difference on it counts."""
    breakdown, axes = task.breakdown, task.axes
    if score.span is None:
        return None
    of_cue, sets = breakdown.is_of_cue(take), breakdown.sets
    replies = len(axes.orderings) * axes.repeats
    steps = 1 if score.unit == "probability" else STEPS

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        phi = collect(map(task.rows, chunks), axes, [score.name], np.float64)[score.name].phi
        return variation_spread(phi, sets, source) if of_cue else _between(phi, breakdown, take, source)

    default: Spread | Respondents = Respondents(replies, steps, score.span)
    if not of_cue:
        sd = 2 * score.span * np.sqrt(SHARE**2 + 0.25 / (replies * steps))
        default = Spread(float(sd), np.nan, 1.0, "assumed; a pilot of your own model is better: --pilot RUN")
    moved = "a shift" if of_cue else f"a difference between two halves of {take.of}"
    return Precision(
        what=f"{moved} in one question, so that a tally counts it ({score.title[:1].lower()}{score.title[1:]})",
        tests=1,
        clusters=len(sets.identities),
        items=1.0,
        cluster=NOUNS[sets.unit],
        item="question",
        units=units_asked(design, [sets.key], 1, task.rows),
        spread=spread,
        default=default,
        largest=score.span,
        of_question=True,
    )


def _between(phi: Array, breakdown: Breakdown, take: Take, source: str) -> Spread:
    """Spread between units of one group in their answers to one question, twice: two halves are compared."""
    at, groups = breakdown.shown(take), breakdown.codes(breakdown.shown(take), take.of)
    pooled = pooled_spread([phi[at[groups == group]] for group in np.unique(groups[groups >= 0])], source)
    return replace(pooled, mean=2 * pooled.mean, within=2 * pooled.within)
