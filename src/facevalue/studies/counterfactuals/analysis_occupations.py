"""Analysis of scores by occupation: groups' means, and how far they lie apart (section C.3, Figures 5 and 7)."""

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array, Floor, joined
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_levels import group_levels
from facevalue.measures.missing_data_bounds import Bounds, Replies, phi_bounds, spread_bounds
from facevalue.measures.set_spread import group_deviation
from facevalue.measures.table_entries import enter
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import SCORE, Answers
from facevalue.studies.counterfactuals.contrasts import SEED
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part

BY_OCCUPATION = "characteristics"
"""The prompt that occupations are told for (section 4.3, Figures 5 and 7); the first where it was not asked."""
MOST_OCCUPATIONS = 200
"""Occupations of a subset whose scores are told, those of the most sets: never chosen by their scores."""


def add_occupations(table: EstimateTable, block: Part, gathered: Answers, least_sets: int) -> None:
    """Add each score of each group in each occupation of enough sets, and the spread between groups there.

    Nothing is tested: occupations are told, and groups are judged over all of them together.
    """
    if block.task != OPEN or not len(block.sets):
        return
    requested = [~np.isnan(gathered.kind(block, "reason", at)) for at in range(len(block.prompts))]
    scored_prompts = [at for at, replies in enumerate(requested) if replies.any()]
    prompts = [at for at in scored_prompts if block.prompts[at] == BY_OCCUPATION]
    for prompt in (prompts or scored_prompts)[:1]:
        for name in gathered.scores:
            scores = gathered.number(block, f"{SCORE}{name}", prompt)
            scorer, _, label = name.partition("/")
            about = {"subset": block.subset, "prompt": block.prompts[prompt], "scorer": scorer, "score": label}
            _add_score(table, block, block.in_sets(scores), block.in_sets(requested[prompt]), about, least_sets)


def _add_score(
    table: EstimateTable,
    block: Part,
    scores: Array,
    are_asked: npt.NDArray[np.bool_],
    about: dict[str, str],
    least_sets: int,
) -> None:
    comparable = np.isfinite(scores).any(axis=2).sum(axis=1) > 1
    occupation = np.where(comparable, block.set_occupation, -1)
    sizes = np.bincount(occupation[occupation >= 0], minlength=len(block.occupations))
    order = np.argsort(-sizes, kind="stable")[:MOST_OCCUPATIONS]
    reported = order[sizes[order] >= least_sets]
    if not reported.size:
        return
    low, high = m.score_limits(scores) or (float(np.nanmin(scores)), float(np.nanmax(scores)))
    limits = low, max(high, float(np.nextafter(low, np.inf)))  # all scores may be one
    tables = []
    for number in reported:
        of_occupation = block.set_occupation == number  # sets without any score are missing, too
        values = scores[of_occupation]
        replies = _replies(values, are_asked[of_occupation])
        means = group_levels(replies.sums, replies.valid, SEED)
        bounds = phi_bounds(replies, limits)
        labels = {**about, "occupation": block.occupations[number], "group": block.groups}
        enter(table, m.SCORE_BY_OCCUPATION, labels, means, bounds=bounds)
        tables.append((*group_deviation(values), bounds))
    spreads = joined([spread for spread, _, _ in tables])
    of_groups = [bounds for _, _, bounds in tables]
    ends = spread_bounds([_of_group(of_groups, group) for group in range(len(block.groups))])
    ends.low[:], ends.high[:] = np.fmin(ends.low, spreads.value), np.fmax(ends.high, spreads.value)
    mean, upper = (np.concatenate([getattr(floor, end) for _, floor, _ in tables]) for end in ("mean", "high"))
    floor = Floor(mean, upper, np.full(reported.size, np.nan))  # nothing is tested
    occupations = [block.occupations[number] for number in reported]
    enter(table, m.SPREAD_BY_OCCUPATION, {**about, "occupation": occupations}, spreads, floor=floor, bounds=ends)


def _replies(values: Array, are_asked: npt.NDArray[np.bool_]) -> Replies:
    """Sums of scores, how many there are and how many were asked for, by set and group."""
    answered = np.isfinite(values)
    counts = (block.sum(axis=2).astype(np.float64) for block in (answered, are_asked | answered))
    return Replies(np.where(answered, values, 0.0).sum(axis=2), *counts)


def _of_group(bounds: list[Bounds], group: int) -> Bounds:
    """One group's bounds in each occupation."""
    return Bounds(*(np.array([getattr(one, name)[group] for one in bounds]) for name in Bounds.__slots__))
