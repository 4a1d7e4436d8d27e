"""Several models: do they agree on which scenarios move, and how far (Figures 7 and 8)?"""

from collections.abc import Mapping

import numpy as np

from facevalue.measures import inference
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.inference import Array
from facevalue.measures.shift import Cells
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import SEED, Shifts, derived


def compare_models(table: EstimateTable, shifts: Mapping[str, Shifts]) -> None:
    """Figures 7 and 8: do models agree on which scenarios move, and how far?"""
    names = list(shifts)
    parts = [own.cells(own.by(), own.by_scenario) for own in shifts.values()]
    scenarios = next(iter(shifts.values())).by_scenario
    size = len(scenarios)
    cells = Cells(
        np.concatenate([p.sums for p in parts], axis=1),
        np.concatenate([p.counts for p in parts], axis=1),
        {},
        np.concatenate([p.shown for p in parts]),
    )

    def by_model(sums: Array, counts: Array) -> Array:
        return inference.ratio(sums, counts).reshape(*sums.shape[:-1], len(names), size)

    def variance(sums: Array, counts: Array) -> Array:
        return by_model(sums, counts).var(axis=-2, ddof=1)

    floor = inference.sign_flip_floor(cells.sums, cells.counts, variance, SEED)
    n = cells.counts.sum(axis=0).reshape(len(names), size)
    derived(table, m.MODEL_VARIANCE, scenarios.labels, cells, variance, n.sum(axis=0), floor=floor)
    if size < 3:
        return
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            if i == j:
                continue
            pair = {"model": [one], "other_model": [other]}

            def slope(sums: Array, counts: Array, i: int = i, j: int = j) -> Array:
                x, y = _centred(by_model(sums, counts), j, i)
                return ((x * y).sum(axis=-1) / (x * x).sum(axis=-1))[..., None]

            def correlation(sums: Array, counts: Array, i: int = i, j: int = j) -> Array:
                x, y = _centred(by_model(sums, counts), j, i)
                with np.errstate(invalid="ignore", divide="ignore"):
                    return ((x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))[..., None]

            both = np.array([n[[i, j]].sum()])
            derived(table, m.SLOPE, pair, cells, slope, both)
            if i < j:
                derived(table, m.CORRELATION, pair, cells, correlation, both)


def _centred(values: Array, i: int, j: int) -> tuple[Array, Array]:
    x, y = values[..., i, :], values[..., j, :]
    return x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
