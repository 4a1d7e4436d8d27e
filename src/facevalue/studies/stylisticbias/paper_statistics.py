"""The paper's own arithmetic: statistics of shifts and of spreads that are no mean of cells."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from facevalue.measures import group_spread, shift
from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.measures.cluster_bootstrap import (
    Array,
    cell_means,
    cluster_means,
    jackknife_interval,
    sign_flip_floor,
    standard_error,
)
from facevalue.measures.definitions import takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_spread import group_tests, with_squares
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import average_bounds, shift_bounds, size_bounds
from facevalue.measures.multitest import adjust_p
from facevalue.measures.shift import CLOSE_SHIFTS, base_pair_share, cohens_d_interval, join_cells, steps_to_share
from facevalue.measures.uncertainty import Bounds, Estimates, Floor
from facevalue.statistics.model_scores import ModelScores
from facevalue.statistics.shifts import SEED, add_derived
from facevalue.statistics.spreads import NOISE
from facevalue.studies.stylisticbias import measures as m

ALPHA = 0.05
_LARGE = name_method(IntervalKind.DELTA, "large-sample standard error over face means")
CUE = ("attribute", "variation")


@takes(m.COHENS_D)
def cohens_d(table: EstimateTable, model: ModelScores, by: tuple[str, ...]) -> None:
    """Cohen's d of the faces' mean shifts (Table 7)."""
    cells = model.values.cells(*model.cut(by))
    means = cell_means(cells.sums, cells.counts)
    n = np.isfinite(means).sum(axis=0)
    d = shift.cohens_d(means)
    low, high = cohens_d_interval(d, n)
    method = np.full(d.size, _LARGE, dtype=object)
    table.add(m.COHENS_D, cells.labels, Estimates(d, low, high, n, n, method), keep=cells.shown > 0)


@takes(m.SBS_GROUPS)
def over_groups(table: EstimateTable, model: ModelScores, dimension: str) -> None:
    """Mean of the groups' SBS, so that each weighs the same, whatever its number of faces (Table 3)."""
    attribute, groups = (model.cut([name])[0] for name in ("attribute", dimension))

    def statistic(sums: Array, counts: Array) -> Array:
        return _mean(_by_row(cell_means(sums, counts), attribute))

    cells = model.values.cells(attribute * groups)
    labels = {**attribute.labels, "dimension": [dimension] * len(attribute)}
    n = _by_row(cells.counts.sum(axis=0), attribute).sum(axis=1)
    add_derived(table, m.SBS_GROUPS, labels, cells, statistic, n)


@takes(m.REVERSAL)
def reversal(table: EstimateTable, model: ModelScores, dimension: str) -> None:
    """Add the size of reversals: the least distance by which SBS is positive in one group and negative in another."""
    variation, groups = (model.cut(names)[0] for names in (CUE, [dimension]))

    def statistic(sums: Array, counts: Array) -> Array:
        by_group = _by_row(cell_means(sums, counts), variation)
        seen = np.isfinite(by_group)
        top = np.where(seen, by_group, -np.inf).max(axis=-1)
        bottom = np.where(seen, by_group, np.inf).min(axis=-1)
        return np.where(seen.sum(axis=-1) > 1, np.minimum(top, -bottom), np.nan)

    cells = model.values.cells(variation * groups)
    labels = {**variation.labels, "dimension": [dimension] * len(variation)}
    n = _by_row(cells.counts.sum(axis=0), variation).sum(axis=1)
    floor = sign_flip_floor(cells.sums, cells.counts, statistic, SEED)
    add_derived(table, m.REVERSAL, labels, cells, statistic, n, floor=floor)


@takes(m.STEPS_80)
def concentration(table: EstimateTable, model: ModelScores) -> None:
    """Add the number of cues that make up 80% of the total |SBS|; over several models |SBS| is averaged first."""
    if model.answers is None:
        return
    cells = model.values.cells(*model.cut(CUE))
    floor = sign_flip_floor(cells.sums, cells.counts, steps_to_share, SEED)
    n = np.array([cells.counts.sum()])
    labels = {"variation": [None]}
    add_derived(table, m.STEPS_80, labels, cells, steps_to_share, n, floor=floor, bootstrapped=True)


@takes(m.ZERO_SHARE, m.LARGE_SHARE)
def shares(table: EstimateTable, model: ModelScores) -> None:
    """Zero and large shifts, and by chance: of any two pictures of a face that are not known to differ.

    A variation is known to differ in a scenario if t says so at .05; the floor would otherwise grow with the effects.
    """
    if model.answers is None:
        return
    s, varied = model.values, model.breakdown.sets.variation_rows
    variation, scenarios = model.cut([*CUE, "scenario"])
    cells = s.cells(variation, scenarios)
    p = cluster_means(cells.sums, cells.counts, SEED).p
    differs = np.zeros((len(variation), len(scenarios)), dtype=np.bool_)
    if p is not None:
        differs = (p < ALPHA).reshape(differs.shape)
    left = np.where(differs[variation.codes], np.nan, s.phi[varied])
    units, pictures, unit, _ = s.pictures(np.arange(varied.size), left)
    seen, size = np.isfinite(s.delta), np.abs(s.delta)
    for measure, threshold in ((m.ZERO_SHARE, None), (m.LARGE_SHARE, 0.25)):
        counted = size < CLOSE_SHIFTS if threshold is None else size >= threshold - CLOSE_SHIFTS
        hit = np.where(seen, counted, np.nan).astype(np.float64)
        chance = np.full(hit.shape, np.nan)
        if units.size:
            chance[unit >= 0] = base_pair_share(pictures, threshold)[unit[unit >= 0]]
        for rows in (Slicing.whole(varied.size), variation):
            cells, expected = s.cells(rows, values=hit), s.cells(rows, values=np.where(seen, chance, np.nan))
            estimates = cluster_means(cells.sums, cells.counts, SEED, level=True)
            mean = cell_means(expected.sums.sum(axis=0), expected.counts.sum(axis=0))
            high = mean + 1.645 * standard_error(cells.sums, cells.counts)
            floor = Floor(mean, high, np.full(mean.size, np.nan))
            table.add(measure, cells.labels, replace(estimates, floor=floor), keep=cells.shown > 0)


@takes(m.VS_CORRECTED)
def corrected_strength(table: EstimateTable, model: ModelScores, dimension: str) -> None:
    """VS without what chance adds: the same true spread, so the same interval."""
    base, groups, spreads = model.spread(dimension)
    sums, counts = with_squares(base, groups.codes, len(groups))
    statistic = group_spread.corrected_strength(len(groups), base.shape[1])
    value, _, _, se = jackknife_interval(sums, counts, statistic)
    n = np.array([np.isfinite(base[groups.codes >= 0]).sum()])
    clusters = np.array([int((counts.sum(axis=1) > 0).sum())])
    low, high = np.fmin(spreads.low[-1:], value), np.fmax(spreads.high[-1:], value)
    low, high = (np.where(np.isfinite(spreads.low[-1:] + value), end, np.nan) for end in (low, high))
    estimates = Estimates(value, low, high, n, clusters, np.array([NOISE], dtype=object), se)
    table.add(m.VS_CORRECTED, {"dimension": [dimension]}, estimates)


@takes(m.SIGNIFICANT)
def significant_share(table: EstimateTable, model: ModelScores, dimension: str) -> None:
    """In how many scenarios the groups differ by the paper's tests (Table 11)."""
    base, groups, _ = model.spread(dimension)
    q = adjust_p(group_tests(base, groups.codes, len(groups)), "bh")
    tested = np.isfinite(q)
    share = np.array([np.mean(q[tested] < ALPHA) if tested.any() else np.nan])
    method = name_method(IntervalKind.NONE, f"count of q < {ALPHA:g}, and a tally of tests has none")
    clusters = np.array([int(((groups.codes >= 0) & (model.breakdown.sets.base >= 0)).sum())])
    tally = Estimates.without_intervals(share, np.array([tested.sum()]), clusters, method)
    table.add(m.SIGNIFICANT, {"dimension": [dimension]}, tally)


@takes(m.FRAMING)
def framing(table: EstimateTable, model: ModelScores) -> None:
    """Add the shift of the judgment by the full-body view alone, where people are shown so in plain clothes."""
    sets, phi = model.breakdown.sets, model.values.phi
    at = np.flatnonzero((sets.control >= 0) & (sets.base >= 0))
    if not at.size:
        return
    base, control = sets.base[at], sets.control[at]
    everything = Slicing.whole(at.size), Slicing.whole(phi.shape[1])
    cells = model.cells(phi[control] - phi[base], base, *everything)
    bounds = None
    if model.totals is not None:
        bounds = shift_bounds(model.replies(base, *everything), model.replies(control, *everything))
    estimates = cluster_means(cells.sums, cells.counts, SEED, largest=model.values.largest)
    table.add(m.FRAMING, cells.labels, replace(estimates, p=estimates.p, bounds=bounds), family="framing")


def sizes(table: EstimateTable, model: ModelScores) -> None:
    """Mean |SBS| of single cues of one model; over several models it is averaged first (`add_sizes`)."""
    if model.answers is not None:
        add_sizes(table, [model])


@takes(m.MEAN_ABS)
def add_sizes(table: EstimateTable, models: Sequence[ModelScores]) -> None:
    """Add mean |SBS| of single cues, averaged over models: overall, by scenario category and by scenario."""
    model = models[0]
    variation, scenarios = model.cut([*CUE, "scenario"])
    categories = model.breakdown.columns(["category"])
    cells = join_cells([model.values.cells(variation, scenarios) for model in models])
    shape = (len(models), len(variation), len(scenarios))
    of_category = [categories.codes == i for i in range(len(categories))]

    def statistic(sums: Array, counts: Array) -> Array:
        sizes = np.abs(cell_means(sums, counts)).reshape(*sums.shape[:-1], *shape).mean(axis=-3)
        scopes = [sizes, *(sizes[..., scope] for scope in of_category), *np.moveaxis(sizes, -1, 0)]
        return np.stack([_mean(scope.reshape(*sums.shape[:-1], -1)) for scope in scopes], axis=-1)

    floor = sign_flip_floor(cells.sums, cells.counts, statistic, SEED)
    n = cells.counts.sum(axis=0).reshape(shape).sum(axis=(0, 1))
    counted = np.array([n.sum(), *(n[mask].sum() for mask in of_category), *n])
    labels: SliceLabels = {
        "category": [None, *categories.labels["category"], *[None] * len(scenarios)],
        "scenario": [None, *[None] * len(categories), *scenarios.labels["scenario"]],
    }
    bounds = None
    if len(models) == 1 and model.totals is not None:
        ends = size_bounds(model.values.bounds(model.totals, variation, scenarios))
        single = np.eye(len(scenarios), dtype=np.bool_)
        masks = [np.tile(mask, len(variation)) for mask in (single.any(axis=0), *of_category, *single)]
        bounds = Bounds.concatenate([average_bounds(ends.select_rows(mask)) for mask in masks])
    add_derived(table, m.MEAN_ABS, labels, cells, statistic, counted, floor=floor, bounds=bounds)


@takes(m.ABS_MODELS, m.STEPS_80)
def add_concentration(table: EstimateTable, models: Sequence[ModelScores]) -> None:
    """Add |SBS| of each cue averaged over models, and how many cues reach 80% of its total (Figure 2)."""
    variation, _ = models[0].cut(CUE)
    cells = join_cells([model.values.cells(variation) for model in models])

    def averages(sums: Array, counts: Array) -> Array:
        sizes = np.abs(cell_means(sums, counts))
        return sizes.reshape(*sums.shape[:-1], len(models), len(variation)).mean(axis=-2)

    def steps(sums: Array, counts: Array) -> Array:
        average = averages(sums, counts)
        return steps_to_share(average, np.where(np.isfinite(average), 1.0, 0.0))

    n = cells.counts.sum(axis=0).reshape(len(models), -1).sum(axis=0)
    for measure, labels, statistic, counted in (
        (m.ABS_MODELS, variation.labels, averages, n),
        (m.STEPS_80, {"variation": [None]}, steps, np.array([n.sum()])),
    ):
        floor = sign_flip_floor(cells.sums, cells.counts, statistic, SEED)
        counts_steps = measure is m.STEPS_80
        add_derived(table, measure, labels, cells, statistic, counted, floor=floor, bootstrapped=counts_steps)


def _by_row(flat: Array, rows: Slicing) -> Array:
    """Cells of rows crossed with groups, shape (..., rows, groups)."""
    return flat.reshape(*flat.shape[:-1], len(rows), -1)


def _mean(cells: Array) -> Array:
    """Mean over the last axis of what is known; NaN where nothing is."""
    seen = np.isfinite(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen, cells, 0).sum(axis=-1) / seen.sum(axis=-1)
