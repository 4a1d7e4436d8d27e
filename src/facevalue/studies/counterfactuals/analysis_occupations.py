"""Analysis of scores by occupation: groups' means, and how far they lie apart (section C.3, Figures 5 and 7)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from facevalue.measures import missing_data_bounds
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import Inference, joined
from facevalue.measures.group_levels import group_levels
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, spread_bounds
from facevalue.measures.set_spread import group_deviation
from facevalue.protocol.estimands import Row
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import REFUSED, SCORE, SetAnswers
from facevalue.studies.counterfactuals.contrasts import SEED
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part

BY_OCCUPATION = "characteristics"
"""The prompt that occupations are told for (section 4.3, Figures 5 and 7); the first where it was not asked."""
MOST_OCCUPATIONS = 200
"""Occupations of a subset whose scores are told, those of the most sets: never chosen by their scores."""


def told_prompt(block: Part, answered: Sequence[int]) -> int:
    """Number of the prompt that occupations are told for, of those with an answer."""
    return next((at for at in answered if block.prompts[at] == BY_OCCUPATION), answered[0])


def of_occupations(block: Part, gathered: SetAnswers, least_sets: int) -> Iterator[Row]:
    """Each score of each group in each occupation of enough sets, and the spread between groups there.

    Nothing is tested: occupations are told, and groups are judged over all of them together.
    """
    requested = [np.isfinite(gathered.number(block, REFUSED, at)) for at in range(len(block.prompts))]
    answered = [at for at, replies in enumerate(requested) if replies.any()]
    if block.task != OPEN or not len(block.sets) or not answered:
        return
    prompt = told_prompt(block, answered)
    for name in gathered.scores:
        scores = block.in_sets(gathered.number(block, f"{SCORE}{name}", prompt))
        scorer, _, label = name.partition("/")
        about = {"subset": block.subset, "prompt": block.prompts[prompt], "scorer": scorer, "score": label}
        yield from _of_score(block, scores, block.in_sets(requested[prompt]), about, least_sets)


def _of_score(
    block: Part, scores: Array, are_asked: npt.NDArray[np.bool_], about: Mapping[str, str], least_sets: int
) -> Iterator[Row]:
    comparable = np.isfinite(scores).any(axis=2).sum(axis=1) > 1
    occupation = np.where(comparable, block.set_occupation, -1)
    sizes = np.bincount(occupation[occupation >= 0], minlength=len(block.occupations))
    order = np.argsort(-sizes, kind="stable")[:MOST_OCCUPATIONS]
    reported = order[sizes[order] >= least_sets]
    if not reported.size:
        return
    low, high = m.score_limits(scores) or (float(np.nanmin(scores)), float(np.nanmax(scores)))
    limits = low, max(high, float(np.nextafter(low, np.inf)))  # all scores may be one
    spreads, bounds = [], []
    for number in reported:
        of_occupation = block.set_occupation == number  # sets without any score are missing, too
        values, answered = scores[of_occupation], np.isfinite(scores[of_occupation])
        counts = (count.sum(axis=2).astype(np.float64) for count in (answered, are_asked[of_occupation] | answered))
        replies = Replies(np.where(answered, values, 0.0).sum(axis=2), *counts)
        bounds.append(phi_bounds(replies, limits))
        means = Inference(group_levels(replies.sums, replies.valid, SEED), bounds=bounds[-1])
        labels = {**about, "occupation": block.occupations[number], "group": block.groups}
        yield m.SCORE_BY_OCCUPATION, labels, means, None
        spreads.append(Inference(*group_deviation(values)))
    spread, of_groups = joined(spreads), missing_data_bounds.joined(bounds)
    ends = spread_bounds([of_groups.at(slice(group, None, len(block.groups))) for group in range(len(block.groups))])
    value = spread.estimates.value
    ends.low[:], ends.high[:] = np.fmin(ends.low, value), np.fmax(ends.high, value)
    occupations = [block.occupations[number] for number in reported]
    yield m.SPREAD_BY_OCCUPATION, {**about, "occupation": occupations}, replace(spread.untested(), bounds=ends), None
