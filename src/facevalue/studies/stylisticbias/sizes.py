"""Sizes of shifts regardless of sign: by kind of scenario (Figures 4 and 5), and their concentration (Figure 2)."""

from collections.abc import Sequence

import numpy as np

from facevalue.measures import cluster_bootstrap, shift
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.slicing import Labels
from facevalue.protocol.shifts import SEED, derived
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import Shifts


def judge_sizes(table: EstimateTable, models: Sequence[Shifts]) -> None:
    """Add mean |SBS| of single cues: overall, by scenario category and by scenario.

    Parameters
    ----------
    table:
        Of the model, or of all of them.
    models:
        One, or those over which |SBS| is averaged.
    """
    s = models[0]
    variation, scenarios, categories = s.by("attribute", "variation"), s.by_scenario, s.by_category
    cells = shift.joined([own.cells(variation, scenarios) for own in models])
    shape = (len(models), len(variation), len(scenarios))

    def sizes(sums: Array, counts: Array) -> Array:
        each = np.abs(cluster_bootstrap.ratio(sums, counts)).reshape(*sums.shape[:-1], *shape).mean(axis=-3)
        by_scenario = [each[..., i] for i in range(len(scenarios))]
        by_category = [each[..., categories.codes == i] for i in range(len(categories))]
        parts = [each, *by_category, *by_scenario]
        return np.stack([_mean(part.reshape(*sums.shape[:-1], -1)) for part in parts], axis=-1)

    floor = cluster_bootstrap.sign_flip_floor(cells.sums, cells.counts, sizes, SEED)
    n = cells.counts.sum(axis=0).reshape(shape).sum(axis=(0, 1))
    counted = np.array([n.sum(), *(n[categories.codes == i].sum() for i in range(len(categories))), *n])
    labels: Labels = {
        "category": [None, *categories.labels["category"], *[None] * len(scenarios)],
        "scenario": [None, *[None] * len(categories), *scenarios.labels["scenario"]],
    }
    derived(table, m.MEAN_ABS, labels, cells, sizes, counted, floor=floor)


def judge_concentration(table: EstimateTable, models: Sequence[Shifts]) -> None:
    """Add |SBS| of each cue averaged over models, and how many cues reach 80% of its total (Figure 2)."""
    variation = models[0].by("attribute", "variation")
    cells = shift.joined([own.cells(variation) for own in models])

    def sizes(sums: Array, counts: Array) -> Array:
        each = np.abs(cluster_bootstrap.ratio(sums, counts))
        return each.reshape(*sums.shape[:-1], len(models), len(variation)).mean(axis=-2)

    def steps(sums: Array, counts: Array) -> Array:
        found = sizes(sums, counts)
        return shift.steps_to_share(found, np.where(np.isfinite(found), 1.0, 0.0))

    n = cells.counts.sum(axis=0).reshape(len(models), -1).sum(axis=0)
    for measure, labels, statistic, counted in (
        (m.ABS_MODELS, variation.labels, sizes, n),
        (m.STEPS_80, {"variation": [None]}, steps, np.array([n.sum()])),
    ):
        floor = cluster_bootstrap.sign_flip_floor(cells.sums, cells.counts, statistic, SEED)
        counts_steps = measure is m.STEPS_80
        derived(table, measure, labels, cells, statistic, counted, floor=floor, bootstrapped=counts_steps)


def _mean(values: Array) -> Array:
    """Mean over the last axis of what is known; NaN where nothing is."""
    seen = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen, values, 0).sum(axis=-1) / seen.sum(axis=-1)
