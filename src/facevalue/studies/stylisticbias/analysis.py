"""Analysis: every table and figure of the paper that is about answers, with intervals and floors."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.measures import cluster_bootstrap, missing_data_bounds, shift
from facevalue.measures.adjustment import adjust
from facevalue.measures.cluster_bootstrap import Array, Estimates, standard_error
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds, averaged, size_bounds
from facevalue.measures.shift import Cells
from facevalue.measures.slicing import Labels, Slicing
from facevalue.measures.wanted import takes
from facevalue.prompts import ORDERINGS
from facevalue.protocol.aggregate import Aggregate, balanced
from facevalue.protocol.instrument import add_missing, add_overall
from facevalue.protocol.shifts import POOLED, SEED, add_levels, derived
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.across_models import compare_models
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.group_differences import compare_groups, judge_faces, judge_framing
from facevalue.studies.stylisticbias.shifts import ALPHA, STUDY, Shifts


def analyse(scores: Mapping[str, Aggregate], faces: Faces, scenarios: list[str], orderings: list[str]) -> pl.DataFrame:
    """Estimate everything, per model and, with several models, for their mean and between them."""
    parts = []
    shifts = {model: Shifts(faces, s.phi, scenarios) for model, s in scores.items()}
    for model, own in shifts.items():
        table = EstimateTable(STUDY, model, m.LABELS)
        _shifts(table, own, scores[model])
        _shares(table, own)
        judge_faces(table, own, scores[model])
        judge_framing(table, own, scores[model])
        compare_groups(table, own, scores[model])
        judge_sizes(table, [own], scores[model])
        judge_instrument(table, own, scores[model], orderings)
        parts.append(table.frame())
    shifts = {model: own for model, own in shifts.items() if np.isfinite(own.delta).any()}  # refusers have no share
    if len(shifts) > 1:
        stack = np.stack([own.phi for own in shifts.values()])
        table = EstimateTable(STUDY, POOLED, m.LABELS)
        pooled = Shifts(faces, stack.mean(axis=0), scenarios)  # NaN where a model has no answer: pairs all models share
        _shifts(table, pooled, None)
        judge_faces(table, pooled, None)
        judge_framing(table, pooled)
        compare_groups(table, pooled)
        judge_sizes(table, list(shifts.values()))
        judge_concentration(table, list(shifts.values()))
        compare_models(table, shifts)
        parts.append(table.frame())
    return pl.concat(parts)


def add_signed(
    table: EstimateTable,
    cells: Cells,
    estimates: Estimates,
    family: str | None,
    bounds: Bounds | None = None,
    *,
    published: bool = False,
) -> None:
    """Add SBS of these cells; p and q only where a family is named, and Table 12's own test where it was published."""
    own = own_q = None
    p = None if family is None else estimates.p_zero
    if published:
        own = cluster_bootstrap.wilcoxon(cells.sums, cells.counts)
        own_q = adjust(own, "bh")
    keep = cells.shown > 0
    table.add(
        m.SBS, cells.labels, estimates, p=p, p_paper=own, q_paper=own_q, family=family, bounds=bounds, keep=keep
    )  # fmt: skip


@takes(m.ABS_SBS, m.ABS_CORRECTED)
def _unsigned(table: EstimateTable, cells: Cells, signed: Estimates, bounds: Bounds | None) -> None:
    labels, keep = cells.labels, cells.shown > 0
    size, ends = shift.magnitude(signed), None if bounds is None else size_bounds(bounds)
    table.add(m.ABS_SBS, labels, size, p=signed.p_zero, floor=shift.floor(signed), keep=keep, bounds=ends)
    table.add(m.ABS_CORRECTED, labels, shift.corrected(size, standard_error(cells.sums, cells.counts)), keep=keep)


@takes(m.SBS, m.ABS_SBS, m.ABS_CORRECTED, m.COHENS_D, m.SBS_GROUPS, m.REVERSAL, m.STEPS_80)
def _shifts(table: EstimateTable, s: Shifts, scores: Aggregate | None) -> None:
    everything, variation, attribute = s.by(), s.by("attribute", "variation"), s.by("attribute")
    for rows, columns, family in (
        (everything, None, "overall"),
        (variation, None, "variations"),
        (attribute, None, "attributes"),
        (everything, s.by_scenario, "scenarios"),
        (everything, s.by_category, "scenario categories"),
        (attribute, s.by_category, "attributes x scenario categories"),
        (variation, s.by_scenario, "variations x scenarios"),
    ):
        cells = s.cells(rows, columns)
        bounds = s.bounds(scores, rows, columns) if scores is not None else None
        signed = s.estimates(cells, rows, columns)
        add_signed(table, cells, signed, family, bounds, published=family == "variations")
        _unsigned(table, cells, signed, bounds)
        if columns is None:
            _cohens_d(table, cells)
    _grid(table, s, scores, variation)
    for dimension in s.faces.dimensions:
        groups = s.faces.groups(s.faces.varied, dimension)
        for rows, columns in ((groups, None), (groups, s.by_scenario), (attribute * groups, None)):
            cells = s.cells(rows, columns)
            add_signed(table, cells, s.estimates(cells, rows, columns), None)
        by_attribute = s.cells(attribute * groups)
        _over_groups(table, by_attribute, len(attribute), attribute, dimension)
        _reversal(table, s.cells(variation * groups), variation, dimension)
    if scores is not None:  # over several models |SBS| is averaged first
        _concentration(table, s.cells(variation))


@takes(m.SBS)
def _grid(table: EstimateTable, s: Shifts, scores: Aggregate | None, variation: Slicing) -> None:
    """Table 12: variation x demographic group; one family over all dimensions' cells."""
    parts = [variation * s.faces.groups(s.faces.varied, d) for d in s.faces.dimensions]
    if not parts:
        return
    cells = shift.joined([s.cells(part) for part in parts])
    bounds = None
    if scores is not None:
        bounds = missing_data_bounds.joined([s.bounds(scores, part) for part in parts])
    family = "variations x groups (Table 12)"
    estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, largest=s.largest)
    add_signed(table, cells, estimates, family, bounds, published=True)


@takes(m.COHENS_D)
def _cohens_d(table: EstimateTable, cells: Cells) -> None:
    means = cluster_bootstrap.ratio(cells.sums, cells.counts)
    n = np.isfinite(means).sum(axis=0)
    d = shift.cohens_d(means)
    low, high = shift.cohens_d_interval(d, n)
    method = np.full(d.size, "large-sample standard error over face means", dtype=object)
    table.add(m.COHENS_D, cells.labels, Estimates(d, low, high, n, n, method), keep=cells.shown > 0)


@takes(m.SBS_GROUPS)
def _over_groups(table: EstimateTable, cells: Cells, size: int, attribute: Slicing, dimension: str) -> None:
    """Table 3: each group weighs the same, whatever its number of faces."""

    def statistic(sums: Array, counts: Array) -> Array:
        return _mean(cluster_bootstrap.ratio(sums, counts).reshape(*sums.shape[:-1], size, -1))

    labels = {**attribute.labels, "dimension": [dimension] * size}
    derived(table, m.SBS_GROUPS, labels, cells, statistic, cells.counts.sum(axis=0).reshape(size, -1).sum(axis=1))


@takes(m.REVERSAL)
def _reversal(table: EstimateTable, cells: Cells, variation: Slicing, dimension: str) -> None:
    size = len(variation)

    def statistic(sums: Array, counts: Array) -> Array:
        by_group = cluster_bootstrap.ratio(sums, counts).reshape(*sums.shape[:-1], size, -1)
        seen = np.isfinite(by_group)
        top = np.where(seen, by_group, -np.inf).max(axis=-1)
        bottom = np.where(seen, by_group, np.inf).min(axis=-1)
        return np.where(seen.sum(axis=-1) > 1, np.minimum(top, -bottom), np.nan)

    labels = {**variation.labels, "dimension": [dimension] * size}
    n = cells.counts.sum(axis=0).reshape(size, -1).sum(axis=1)
    floor = cluster_bootstrap.sign_flip_floor(cells.sums, cells.counts, statistic, SEED)
    derived(table, m.REVERSAL, labels, cells, statistic, n, floor=floor)


@takes(m.STEPS_80)
def _concentration(table: EstimateTable, cells: Cells) -> None:
    floor = cluster_bootstrap.sign_flip_floor(cells.sums, cells.counts, shift.steps_to_share, SEED)
    n = np.array([cells.counts.sum()])
    found = {"variation": [None]}
    derived(table, m.STEPS_80, found, cells, shift.steps_to_share, n, floor=floor, bootstrapped=True)


@takes(m.ZERO_SHARE, m.LARGE_SHARE)
def _shares(table: EstimateTable, s: Shifts) -> None:
    """Zero and large shifts, and by chance: of any two pictures of a face that are not known to differ.

    A variation is known to differ in a scenario if t says so at .05; the floor would otherwise grow with the effects.
    """
    everything, variation = s.by(), s.by("attribute", "variation")
    cells = s.cells(variation, s.by_scenario)
    p = cluster_bootstrap.means(cells.sums, cells.counts, SEED).p_zero
    differs = np.zeros((len(variation), len(s.scenarios)), dtype=np.bool_)
    if p is not None:
        differs = (p < ALPHA).reshape(differs.shape)
    left = np.where(differs[variation.codes], np.nan, s.phi[s.faces.varied])
    units, pictures, unit, _ = s.pictures(np.arange(s.faces.varied.size), left)
    seen, size = np.isfinite(s.delta), np.abs(s.delta)
    for measure, threshold in ((m.ZERO_SHARE, None), (m.LARGE_SHARE, 0.25)):
        counted = size < shift.CLOSE if threshold is None else size >= threshold - shift.CLOSE
        hit = np.where(seen, counted, np.nan).astype(np.float64)
        chance = np.full(hit.shape, np.nan)
        if units.size:
            chance[unit >= 0] = shift.pair_share(pictures, threshold)[unit[unit >= 0]]
        for rows in (everything, variation):
            cells, expected = s.cells(rows, values=hit), s.cells(rows, values=np.where(seen, chance, np.nan))
            estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, level=True)
            mean = cluster_bootstrap.ratio(expected.sums.sum(axis=0), expected.counts.sum(axis=0))
            high = mean + 1.645 * cluster_bootstrap.standard_error(cells.sums, cells.counts)
            floor = cluster_bootstrap.Floor(mean, high, np.full(mean.size, np.nan))
            table.add(measure, cells.labels, estimates, floor=floor, keep=cells.shown > 0)


@takes(m.MEAN_ABS)
def judge_sizes(table: EstimateTable, models: Sequence[Shifts], scores: Aggregate | None = None) -> None:
    """Add mean |SBS| of single cues, averaged over models: overall, by scenario category and by scenario.

    `scores`: of the model, where it is one; then with bounds for missing answers.
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
    bounds = None
    if scores is not None:
        each = size_bounds(s.bounds(scores, variation, scenarios))
        place = np.tile(np.arange(len(scenarios)), len(variation))
        of_category = (np.isin(place, np.flatnonzero(categories.codes == i)) for i in range(len(categories)))
        parts = (np.full(place.size, True), *of_category, *(place == i for i in range(len(scenarios))))
        bounds = missing_data_bounds.joined([averaged(each.at(part)) for part in parts])
    derived(table, m.MEAN_ABS, labels, cells, sizes, counted, floor=floor, bounds=bounds)


@takes(m.ABS_MODELS, m.STEPS_80)
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


@takes(m.POSITION, m.LETTER, m.NA_SPREAD, m.NA_RATE, m.REFUSAL_RATE)
def judge_instrument(table: EstimateTable, s: Shifts, scores: Aggregate, orderings: list[str]) -> None:
    """How far the instrument itself can be trusted: position and letter bias, replies without an answer."""
    faces = s.faces
    per = scores.weights.shape[2] // len(orderings)
    known = {o.name: o for o in ORDERINGS}
    first = np.array([known[name].first == 0 for name in orderings]).repeat(per)
    letter = np.array([known[name].labels[known[name].first] == "(a)" for name in orderings]).repeat(per)
    for measure, favourable in ((m.POSITION, first), (m.LETTER, letter)):
        own = balanced(np.where(favourable, scores.weights, 1 - scores.weights), np.where(favourable, 0, 1)) - 0.5
        add_overall(table, faces, measure, own)
    groups = {dimension: faces.by_base(dimension) for dimension in faces.dimensions}
    add_missing(table, faces, m.NA_SPREAD, scores.na_rate, groups, family=f"dimensions, {m.NA_SPREAD.name}")
    rows = np.arange(faces.manifest.height)
    whole, columns = Slicing.whole(rows.size), Slicing.whole(len(s.scenarios))
    slicings = [whole, faces.slicing(rows, "attribute"), *(faces.groups(rows, d) for d in faces.dimensions)]
    for measure, rate in ((m.NA_RATE, scores.na_rate), (m.REFUSAL_RATE, scores.refusal_rate)):
        for part in slicings:
            add_levels(table, measure, shift.cells(rate, faces.identity, part, columns, len(faces.identities)))
