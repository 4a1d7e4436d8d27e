"""From scores to estimates: every table and figure of the paper that is about answers, with intervals and floors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import families, inference, shift, strength
from facevalue.measures.base import Measure
from facevalue.measures.bounds import Bounds, Replies, shift_bounds
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.inference import Array, Estimates, Statistic
from facevalue.measures.shift import Cells
from facevalue.measures.slicing import Labels, Slicing
from facevalue.prompts import ORDERINGS
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.scores import Faces, Scores
from facevalue.studies.stylisticbias.tables import scenarios as table_1

STUDY = "stylisticbias"
POOLED = "(all models)"
ALPHA = 0.05
SEED = 20260  # of all resampling: the same answers always give the same estimates


@dataclass(frozen=True)
class Shifts:
    """Base scores and shifts of one model, or their mean over models.

    Attributes
    ----------
    faces:
        The manifest.
    phi:
        Shape (images, scenarios).
    scenarios:
        Names of the scenarios asked.
    """

    faces: Faces
    phi: Array
    scenarios: list[str]

    @cached_property
    def base(self) -> Array:
        """Base faces' phi, shape (identities, scenarios); NaN for identities without a base image."""
        out = np.full((len(self.faces.identities), self.phi.shape[1]), np.nan)
        have = self.faces.base >= 0
        out[have] = self.phi[self.faces.base[have]]
        return out

    @cached_property
    def delta(self) -> Array:
        """Prediction shift Delta_i(x_v) = phi_i(x_v) - phi_i(x_b), shape (variations, scenarios)."""
        return self.phi[self.faces.varied] - self.base[self.cluster]

    @cached_property
    def cluster(self) -> npt.NDArray[np.int64]:
        """Identity of each variation."""
        return self.faces.identity[self.faces.varied]

    def cells(self, rows: Slicing, columns: Slicing | None = None, values: Array | None = None) -> Cells:
        """Gather the shifts (or another quantity per variation and scenario) by identity and cell."""
        values = self.delta if values is None else values
        columns = Slicing.whole(values.shape[1]) if columns is None else columns
        return shift.cells(values, self.cluster, rows, columns, len(self.faces.identities))

    def by(self, *names: str) -> Slicing:
        """Partition the variations by manifest columns."""
        return self.faces.slicing(self.faces.varied, *names) if names else Slicing.whole(self.faces.varied.size)

    @cached_property
    def by_scenario(self) -> Slicing:
        """Partition the scenarios one by one."""
        return Slicing(np.arange(len(self.scenarios)), {"scenario": list(self.scenarios)})

    @cached_property
    def by_category(self) -> Slicing:
        """Partition the scenarios by category."""
        category = {s.name: s.category for s in table_1()}
        names = list(dict.fromkeys(category[s] for s in self.scenarios))
        return Slicing(np.array([names.index(category[s]) for s in self.scenarios]), {"category": names})


def analyse(scores: Mapping[str, Scores], faces: Faces, scenarios: list[str], orderings: list[str]) -> pl.DataFrame:
    """Estimate everything, per model and, with several models, for their mean and between them.

    Parameters
    ----------
    scores:
        Per model.
    faces, scenarios, orderings:
        Axes of the arrays.
    """
    parts = []
    shifts = {model: Shifts(faces, s.phi, scenarios) for model, s in scores.items()}
    for model, own in shifts.items():
        table = EstimateTable(STUDY, model)
        _shifts(table, own, scores[model])
        _shares(table, own, scores[model])
        _strength(table, own)
        _instrument(table, own, scores[model], orderings)
        parts.append(_dimensions(table.frame()))
    if len(shifts) > 1:
        stack = np.stack([own.phi for own in shifts.values()])
        table = EstimateTable(STUDY, POOLED)
        pooled = Shifts(faces, stack.mean(axis=0), scenarios)  # NaN where a model has no answer: pairs all models share
        _shifts(table, pooled, None)
        _strength(table, pooled)
        _between(table, shifts)
        parts.append(_dimensions(table.frame()))
    return pl.concat(parts)


def _dimensions(estimates: pl.DataFrame) -> pl.DataFrame:
    """VS of the dimensions, judged together by their permutation p-values."""
    if not (estimates["measure"] == m.VS.name).any():
        return estimates
    return families.apply([families.Family("dimensions", "exploratory", m.VS.name, method="bh")], estimates)


def _labels(cells: Cells, size: int) -> Labels:
    return cells.labels or {"variation": [None] * size}


def _signed(table: EstimateTable, cells: Cells, family: str | None, bounds: Bounds | None = None) -> Estimates:
    """Add SBS of these cells; p and q only where a family is named."""
    estimates = inference.means(cells.sums, cells.counts, SEED)
    labels = _labels(cells, estimates.value.size)
    p = q = None
    if family is not None:
        p = inference.wilcoxon(cells.sums, cells.counts)
        q = inference.adjust(p)
    table.add(m.SBS, labels, estimates, p=p, q=q, family=family, bounds=bounds, keep=cells.shown > 0)
    return estimates


def _unsigned(table: EstimateTable, cells: Cells, signed: Estimates) -> None:
    floor = inference.sign_flip_floor(cells.sums, cells.counts, shift.absolute, SEED)
    labels, keep = _labels(cells, signed.value.size), cells.shown > 0
    size = shift.magnitude(signed)
    table.add(m.ABS_SBS, labels, size, floor=floor, keep=keep)
    if signed.se is not None:
        table.add(m.ABS_CORRECTED, labels, shift.corrected(size), keep=keep)


def _bounds(s: Shifts, scores: Scores, rows: Slicing) -> Bounds:
    """Worst cases: all missing answers about the variants went one way, all about their bases the other."""
    weight, valid, asked = scores.totals
    base = s.faces.base[s.cluster]

    def replies(at: npt.NDArray[np.int64]) -> Replies:
        parts = [np.where(base >= 0, x[at].sum(axis=1), np.nan)[:, None] for x in (weight, valid, asked)]
        return Replies(*(s.cells(rows, values=part).sums for part in parts))

    return shift_bounds(replies(base), replies(s.faces.varied))


def _shifts(table: EstimateTable, s: Shifts, scores: Scores | None) -> None:
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
        bounds = _bounds(s, scores, rows) if columns is None and scores is not None else None
        signed = _signed(table, cells, family, bounds)
        _unsigned(table, cells, signed)
        if columns is None:
            _cohens_d(table, cells)
    _grid(table, s, variation)
    for dimension in s.faces.dimensions:
        groups = s.faces.groups(s.faces.varied, dimension)
        _signed(table, s.cells(groups), None)
        _signed(table, s.cells(groups, s.by_scenario), None)
        by_attribute = s.cells(attribute * groups)
        _signed(table, by_attribute, None)
        _over_groups(table, by_attribute, len(attribute), attribute, dimension)
        _reversal(table, s.cells(variation * groups), variation, dimension)
    _concentration(table, s.cells(variation))


def _grid(table: EstimateTable, s: Shifts, variation: Slicing) -> None:
    """Table 12: variation x demographic group; one family over all dimensions' cells."""
    parts = [s.cells(variation * s.faces.groups(s.faces.varied, d)) for d in s.faces.dimensions]
    if not parts:
        return
    names = list(dict.fromkeys(name for part in parts for name in part.labels))
    cells = Cells(
        np.concatenate([part.sums for part in parts], axis=1),
        np.concatenate([part.counts for part in parts], axis=1),
        {name: [value for part in parts for value in part.labels[name]] for name in names},
        np.concatenate([part.shown for part in parts]),
    )
    _signed(table, cells, "variations x groups (Table 12)")


def _cohens_d(table: EstimateTable, cells: Cells) -> None:
    means = inference.ratio(cells.sums, cells.counts)
    n = np.isfinite(means).sum(axis=0)
    d = shift.cohens_d(means)
    low, high = shift.cohens_d_interval(d, n)
    method = np.full(d.size, "large-sample standard error over face means", dtype=object)
    table.add(m.COHENS_D, _labels(cells, d.size), Estimates(d, low, high, n, n, method), keep=cells.shown > 0)


def _derived(
    table: EstimateTable,
    measure: Measure,
    labels: Labels,
    cells: Cells,
    statistic: inference.Statistic,
    n: Array,
    *,
    floor: inference.Floor | None = None,
    p: Array | None = None,
    q: Array | None = None,
    family: str | None = None,
) -> None:
    """Add a statistic that is no mean of cells: signed ones with a BCa interval, spreads with a jackknife one."""
    if measure.signed or measure is m.STEPS_80:
        value, low, high, se = inference.bca(cells.sums, cells.counts, statistic, SEED)
        how = "BCa cluster bootstrap"
    else:
        value, low, high, se = inference.jackknife(cells.sums, cells.counts, statistic)
        how = "cluster jackknife"
    clusters = np.full(value.size, int((cells.counts.sum(axis=1) > 0).sum()))
    result = Estimates(value, low, high, n.astype(np.int64), clusters, np.full(value.size, how, dtype=object), se)
    table.add(measure, labels, result, floor=floor, p=p, q=q, family=family)


def _over_groups(table: EstimateTable, cells: Cells, size: int, attribute: Slicing, dimension: str) -> None:
    """Table 3: each group weighs the same, whatever its number of faces."""

    def statistic(sums: Array, counts: Array) -> Array:
        by_group = inference.ratio(sums, counts).reshape(*sums.shape[:-1], size, -1)
        seen = np.isfinite(by_group)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(seen, by_group, 0).sum(axis=-1) / seen.sum(axis=-1)

    labels = {**attribute.labels, "dimension": [dimension] * size}
    _derived(table, m.SBS_GROUPS, labels, cells, statistic, cells.counts.sum(axis=0).reshape(size, -1).sum(axis=1))


def _reversal(table: EstimateTable, cells: Cells, variation: Slicing, dimension: str) -> None:
    size = len(variation)

    def statistic(sums: Array, counts: Array) -> Array:
        by_group = inference.ratio(sums, counts).reshape(*sums.shape[:-1], size, -1)
        seen = np.isfinite(by_group)
        top = np.where(seen, by_group, -np.inf).max(axis=-1)
        bottom = np.where(seen, by_group, np.inf).min(axis=-1)
        return np.where(seen.sum(axis=-1) > 1, np.minimum(top, -bottom), np.nan)

    labels = {**variation.labels, "dimension": [dimension] * size}
    _derived(table, m.REVERSAL, labels, cells, statistic, cells.counts.sum(axis=0).reshape(size, -1).sum(axis=1))


def _concentration(table: EstimateTable, cells: Cells) -> None:
    floor = inference.sign_flip_floor(cells.sums, cells.counts, shift.steps_to_share, SEED)
    n = np.array([cells.counts.sum()])
    _derived(table, m.STEPS_80, {"variation": [None]}, cells, shift.steps_to_share, n, floor=floor)


def _shares(table: EstimateTable, s: Shifts, scores: Scores) -> None:
    """Zero and large shifts, with what chance alone would show."""
    seen = np.isfinite(s.delta)
    base = scores.weights[s.faces.base[s.cluster]]
    differences = (scores.weights[s.faces.varied] - base).reshape(-1, base.shape[-1]).astype(np.float64)
    everything, variation = s.by(), s.by("attribute", "variation")
    for measure, threshold in ((m.ZERO_SHARE, None), (m.LARGE_SHARE, 0.25)):
        size = np.abs(s.delta)
        hit = np.where(seen, size < 1e-6 if threshold is None else size >= threshold - 1e-6, np.nan).astype(np.float64)
        chance = shift.exchange_probability(differences, threshold).reshape(s.delta.shape)
        for rows in (everything, variation):
            cells, expected = s.cells(rows, values=hit), s.cells(rows, values=chance)
            estimates = inference.means(cells.sums, cells.counts, SEED)
            mean = inference.ratio(expected.sums.sum(axis=0), expected.counts.sum(axis=0))
            variance = s.cells(rows, values=chance * (1 - chance)).sums.sum(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                high = mean + 1.645 * np.sqrt(variance) / expected.counts.sum(axis=0)
            floor = inference.Floor(mean, high, np.full(mean.size, np.nan))
            table.add(measure, _labels(cells, mean.size), estimates, floor=floor, keep=cells.shown > 0)


def _strength(table: EstimateTable, s: Shifts) -> None:
    """Base faces: phi by scenario and group, VS and the tests of Table 11."""
    identities = len(s.faces.identities)
    who = np.arange(identities)
    whole = Slicing.whole(identities)
    have = s.faces.base >= 0
    for columns in (Slicing.whole(len(s.scenarios)), s.by_category, s.by_scenario):
        cells = shift.cells(s.base, who, whole, columns, identities)
        estimates = inference.means(cells.sums, cells.counts, SEED)
        table.add(m.PHI, _labels(cells, estimates.value.size), estimates)
    for dimension in s.faces.dimensions:
        part = s.faces.groups(s.faces.base[have], dimension)
        codes = np.full(identities, -1, dtype=np.int64)
        codes[have] = part.codes
        groups = Slicing(codes, part.labels)
        cells = shift.cells(s.base, who, groups, s.by_scenario, identities)
        estimates = inference.means(cells.sums, cells.counts, SEED)
        table.add(m.PHI, cells.labels, estimates)
        labels: Labels = {"dimension": [dimension] * len(s.scenarios), **s.by_scenario.labels}
        n = np.isfinite(s.base[codes >= 0]).sum(axis=0).astype(np.float64)
        p = strength.group_tests(s.base, codes, len(groups))
        q = inference.adjust(p)
        family = f"scenarios, {dimension} (Table 11)"
        each, average = (
            strength.variation_strength(len(groups), len(s.scenarios), mean=whole) for whole in (False, True)
        )

        def both(sums: Array, counts: Array, each: Statistic = each, average: Statistic = average) -> Array:
            return np.concatenate([each(sums, counts), average(sums, counts)], axis=-1)

        floor = strength.label_permutation_floor(s.base, codes, len(groups), both, SEED)
        own, mean = floor.split(len(s.scenarios))
        _derived(table, m.VS_SCENARIO, labels, cells, each, n, floor=own, p=p, q=q, family=family)
        _derived(table, m.VS, {"dimension": [dimension]}, cells, average, np.array([n.sum()]), floor=mean)
        _corrected_strength(table, s.base, codes, len(groups), dimension)
        _significant(table, dimension, q, int((codes >= 0).sum()))


def _corrected_strength(
    table: EstimateTable, base: Array, codes: npt.NDArray[np.int64], groups: int, dimension: str
) -> None:
    size = base.shape[1]
    sums, counts = strength.with_squares(base, codes, groups)
    cells = Cells(sums, counts, {}, np.ones(sums.shape[1], dtype=np.int64))
    n = np.array([np.isfinite(base[codes >= 0]).sum()], dtype=np.float64)
    _derived(table, m.VS_CORRECTED, {"dimension": [dimension]}, cells, strength.corrected_strength(groups, size), n)


def _significant(table: EstimateTable, dimension: str, q: Array, clusters: int) -> None:
    tested = np.isfinite(q)
    share = np.array([np.mean(q[tested] < ALPHA) if tested.any() else np.nan])
    none = np.array([np.nan])
    method = np.array([f"count of q < {ALPHA:g}; a tally of tests has no interval"], dtype=object)
    n = np.array([int(tested.sum())])
    estimates = Estimates(share, none, none, n, np.array([clusters]), method)
    table.add(m.SIGNIFICANT, {"dimension": [dimension]}, estimates)


def _instrument(table: EstimateTable, s: Shifts, scores: Scores, orderings: list[str]) -> None:
    """How far the instrument itself can be trusted: position and letter bias, replies without an answer."""
    faces = s.faces
    identities = len(faces.identities)
    whole, columns = Slicing.whole(faces.manifest.height), Slicing.whole(len(s.scenarios))
    per = scores.weights.shape[2] // len(orderings)
    known = {o.name: o for o in ORDERINGS}
    first = np.array([known[name].first == 0 for name in orderings]).repeat(per)
    letter = np.array([known[name].labels[known[name].first] == "(a)" for name in orderings]).repeat(per)
    for measure, favourable in ((m.POSITION, first), (m.LETTER, letter)):
        own = _balanced(np.where(favourable, scores.weights, 1 - scores.weights), favourable) - 0.5
        cells = shift.cells(own, faces.identity, whole, columns, identities)
        estimates = inference.means(cells.sums, cells.counts, SEED)
        table.add(measure, _labels(cells, 1), estimates)
    rows = np.arange(faces.manifest.height)
    attribute = faces.slicing(rows, "attribute")
    slicings = [whole, attribute, *(faces.groups(rows, d) for d in faces.dimensions)]
    for measure, rate in ((m.NA_RATE, scores.na_rate), (m.REFUSAL_RATE, scores.refusal_rate)):
        for part in slicings:
            cells = shift.cells(rate, faces.identity, part, columns, identities)
            estimates = inference.means(cells.sums, cells.counts, SEED)
            table.add(measure, _labels(cells, estimates.value.size), estimates)


def _balanced(weights: npt.NDArray[np.float32], favourable: npt.NDArray[np.bool_]) -> Array:
    """Mean over prompts, the favourable pole counting half: preference for a pole cancels, for a place it doesn't."""
    halves = []
    for side in (favourable, ~favourable):
        part = weights[:, :, side].astype(np.float64)
        seen = np.isfinite(part)
        with np.errstate(invalid="ignore", divide="ignore"):
            halves.append(np.where(seen, part, 0).sum(axis=2) / seen.sum(axis=2))
    return (halves[0] + halves[1]) / 2


def _between(table: EstimateTable, shifts: Mapping[str, Shifts]) -> None:
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
    _derived(table, m.MODEL_VARIANCE, scenarios.labels, cells, variance, n.sum(axis=0), floor=floor)
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
            _derived(table, m.SLOPE, pair, cells, slope, both)
            if i < j:
                _derived(table, m.CORRELATION, pair, cells, correlation, both)


def _centred(values: Array, i: int, j: int) -> tuple[Array, Array]:
    x, y = values[..., i, :], values[..., j, :]
    return x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
