"""Comparison across models: which scenarios move, and how far (Figures 7 and 8).

Figure 8 lays the scenarios' shifts of two models side by side. These are 25 points, but not 25 observations: all of
them rest on the same faces and on the same base pictures. What the choice of faces does to one scenario it does to
others, and what a picture does to one model it may do to the other, so that two models without any effect can correlate
at -.5 or at .9. Therefore

- nothing is said of a pair of models unless the scenarios' shifts of both differ by more than chance explains;
- the published correlation and slope have no interval, but a floor: how large they are where the same faces show no
  effect; beside them stand values from which that part is taken off, with an interval over faces.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cells import SliceLabels
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, only_values, sign_flip_floor
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import IntervalKind, name_method, name_unmeasured
from facevalue.measures.paired_changes import deal_units
from facevalue.measures.shift import join_cells
from facevalue.measures.uncertainty import Estimates, Floor
from facevalue.statistics.model_scores import ModelScores
from facevalue.statistics.shifts import SEED, add_derived
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.paper_statistics import ALPHA, CUE, add_concentration, add_sizes

LEAST = 3
"""Scenarios from which there is a correlation."""
GROUPS = 40
"""Groups of faces that the jackknife leaves out in turn, at most."""
FEWEST = 5
"""Faces from which it makes an interval."""
_FLIPS = 1000
_MOST = 0.9999  # of a correlation: beyond, Fisher's z has no end
_NO_INTERVAL = name_method(IntervalKind.NONE, "all scenarios rest on the same faces; the corrected value has one")
_NO_RATIO = name_method(IntervalKind.NONE, "chance makes both sizes larger; the corrected value has one")
_UNKNOWN = name_method(IntervalKind.NONE, "cannot be measured without some of the faces")
_BY_FACES = name_method(IntervalKind.JACKKNIFE, "over groups of faces")


def compare(table: EstimateTable, models: Mapping[str, ModelScores]) -> None:
    """Sizes averaged over models, and Figures 7 and 8: do models agree on which scenarios move, and how far?"""
    add_sizes(table, list(models.values()))
    add_concentration(table, list(models.values()))
    _variance(table, list(models.values()))
    for i, (name, model) in enumerate(models.items()):
        for j, (other_name, rival) in enumerate(models.items()):
            if i != j:
                _agreement(table, (name, other_name), (model, rival), once=i < j)
                _attenuation(table, (name, other_name), (model, rival))


def _variance(table: EstimateTable, models: Sequence[ModelScores]) -> None:
    by_scenario = models[0].cut(["scenario"])
    cells = join_cells([model.values.cells(*by_scenario) for model in models])
    size = len(by_scenario[1])

    def variance(sums: Array, counts: Array) -> Array:
        return cell_means(sums, counts).reshape(*sums.shape[:-1], len(models), size).var(axis=-2, ddof=1)

    floor = sign_flip_floor(cells.sums, cells.counts, variance, SEED)
    n = cells.counts.sum(axis=0).reshape(len(models), size).sum(axis=0)
    add_derived(table, m.MODEL_VARIANCE, by_scenario[1].labels, cells, variance, n, floor=floor)


@dataclass(frozen=True)
class Sides:
    """Shifts of two models in the same cells."""

    sums: Array
    counts: Array
    """Shape (2, faces, cells): of each face."""

    @property
    def means(self) -> Array:
        """SBS of each cell, shape (2, cells)."""
        return cell_means(self.sums.sum(axis=1), self.counts.sum(axis=1))

    def only(self, cells: npt.NDArray[np.bool_]) -> "Sides":
        """Those of some cells that both models have."""
        answered = cells & (self.counts.sum(axis=1) > 0).all(axis=0)
        return Sides(self.sums[:, :, answered], self.counts[:, :, answered])

    def covariance(self) -> tuple[Array, Array]:
        """Covariance of the means over cells, and the part of it that the choice of faces adds; shape (2, 2) each."""
        means, off = self.means, self._errors()
        means, off = (x - x.mean(axis=-1, keepdims=True) for x in (means, off))
        df = means.shape[1] - 1
        return means @ means.T / df, np.einsum("afi,bfi->ab", off, off) / df

    def squares(self) -> tuple[Array, Array]:
        """Mean square of the means over cells, and the part of it that the choice of faces adds; shape (2,) each."""
        return (self.means**2).mean(axis=1), (self._errors() ** 2).sum(axis=1).mean(axis=1)

    def _errors(self) -> Array:
        """Contribution of each face to the error of means, shape (2, faces, cells), linearised as `standard_error`."""
        faces = (self.counts > 0).sum(axis=1)
        off = self.sums - self.means[:, None] * self.counts
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(off * (np.sqrt(faces / (faces - 1.0)) / self.counts.sum(axis=1))[:, None])

    def still(self) -> "Sides":
        """The same with the effects taken off: departures of the faces from the means."""
        return Sides(self.sums - self.means[:, None] * self.counts, self.counts)

    def flip_signs(self) -> Array:
        """Means where the shifts of each face, of both models, change sign together; shape (flips, 2, cells)."""
        signs = np.random.default_rng(SEED).integers(0, 2, size=(_FLIPS, self.sums.shape[1])) * 2.0 - 1
        return np.stack(
            [signs @ sums / counts.sum(axis=0) for sums, counts in zip(self.sums, self.counts, strict=True)], axis=1
        )

    def jackknife(self, statistic: Callable[["Sides"], float]) -> tuple[float, float, float]:
        """Leave out groups of faces in turn: value, standard error, degrees of freedom; NaN where any is unknown."""
        value = statistic(self)
        used = np.flatnonzero((self.counts > 0).any(axis=(0, 2)))
        number = min(GROUPS, used.size)
        if number < FEWEST or only_values():
            return value, np.nan, np.nan
        group = np.full(self.sums.shape[1], -1)
        group[used] = deal_units(used.size, GROUPS, SEED)
        rests = (Sides(self.sums[:, group != g], self.counts[:, group != g]) for g in range(number))
        values = np.array([statistic(rest) for rest in rests])
        se = np.sqrt((number - 1) / number * ((values - values.mean()) ** 2).sum())
        return value, float(se), float(number - 1)


def _agreement(
    table: EstimateTable, names: tuple[str, str], pair: tuple[ModelScores, ModelScores], *, once: bool
) -> None:
    """Slope of the first model on the second over scenarios and, once for each two models, correlation (Figure 8)."""
    sides = _sides(pair, ["scenario"])
    sides = sides.only(np.ones(sides.sums.shape[2], dtype=np.bool_))
    if sides.sums.shape[2] < LEAST:
        return
    noisy = _noisy(names, sides.flip_signs().var(axis=-1), sides.means.var(axis=-1))
    null = sides.still().flip_signs()
    for published, corrected, statistic, freed, back in (
        (m.SLOPE, m.SLOPE_CORRECTED, _slope, _free_slope, float),
        (m.CORRELATION, m.CORRELATION_CORRECTED, _correlation, _free_z, np.tanh),
    ):
        if published is m.CORRELATION and not once:
            continue
        by_chance = np.abs(statistic(null))
        floor = Floor(*(np.array([x]) for x in (by_chance.mean(), np.quantile(by_chance, 0.95), np.nan)))
        row = _Row(table, names, sides, noisy)
        row.add(published, float(statistic(sides.means)), _NO_INTERVAL, floor=floor)
        row.add_jackknifed(corrected, freed, back)


def _attenuation(table: EstimateTable, names: tuple[str, str], pair: tuple[ModelScores, ModelScores]) -> None:
    """By how much smaller the first model's shifts are, overall and by scenario category (Figures 5 and 8)."""
    sums_of_cells, categories = _sides(pair, [*CUE, "scenario"]), pair[0].breakdown.columns(["category"])
    kind = np.tile(categories.codes, sums_of_cells.sums.shape[2] // categories.codes.size)
    for code, category in enumerate([None, *categories.labels["category"]], start=-1):
        sides = sums_of_cells.only((kind == code) | (code < 0))
        if not sides.sums.shape[2]:
            continue
        sizes = np.abs(sides.means).mean(axis=-1)
        noisy = _noisy(names, np.abs(sides.flip_signs()).mean(axis=-1), sizes)
        row = _Row(table, names, sides, noisy, category)
        row.add(m.ATTENUATION, float(1 - sizes[0] / sizes[1]) if sizes[1] else np.nan, _NO_RATIO)
        row.add_jackknifed(m.ATTENUATION_CORRECTED, _free_ratio, lambda x: 1 - np.exp(x))


@dataclass(frozen=True)
class _Row:
    """Adds estimates of two models; none is measurable where `noisy` says why."""

    table: EstimateTable
    names: tuple[str, str]
    sides: Sides
    noisy: str
    category: str | None = None

    def add(
        self, measure: Measure, value: float, method: str, ends: Sequence[float] = (), *, floor: Floor | None = None
    ) -> None:
        low, high = sorted(ends) if ends else (np.nan, np.nan)
        if self.noisy:
            value, low, high, method, floor = np.nan, np.nan, np.nan, name_unmeasured(self.noisy), None
        n = np.array([int(self.sides.counts.sum())])
        clusters = np.array([int((self.sides.counts > 0).any(axis=(0, 2)).sum())])
        labels: SliceLabels = {"model": [self.names[0]], "other_model": [self.names[1]], "category": [self.category]}
        value_, low_, high_ = (np.array([x]) for x in (value, low, high))
        estimates = Estimates(value_, low_, high_, n, clusters, np.array([method], dtype=object))
        self.table.add(measure, labels, replace(estimates, floor=floor))

    def add_jackknifed(
        self, measure: Measure, statistic: Callable[[Sides], float], back: Callable[[float], float]
    ) -> None:
        """Add an estimate whose interval is symmetric in the statistic, and shown `back` on the measure's scale."""
        value, se, df = self.sides.jackknife(statistic)
        reach = float(scipy.special.stdtrit(df, 0.5 + LEVEL / 2)) * se
        is_finite = np.isfinite(reach)
        ends = [float(back(end)) for end in (value - reach, value + reach)] if is_finite else []
        self.add(measure, float(back(value)), _BY_FACES if is_finite else _UNKNOWN, ends)


def _sides(pair: Sequence[ModelScores], by: Sequence[str]) -> Sides:
    cells = [model.values.cells(*model.cut(by)) for model in pair]
    return Sides(np.stack([c.sums for c in cells]), np.stack([c.counts for c in cells]))


def _noisy(names: tuple[str, str], null: Array, value: Array) -> str:
    """Say whose shifts are within what chance shows; empty if both models' are beyond it."""
    p = (1 + (null >= value * (1 - 1e-9)).sum(axis=0)) / (1 + len(null))
    within = [name for name, p_model in zip(names, p, strict=True) if p_model >= ALPHA]
    return f"shifts of {' and of '.join(within)} are within what chance shows" if within else ""


@np.errstate(invalid="ignore", divide="ignore")  # shifts that are all alike have none: NaN
def _slope(means: Array) -> Array:
    y, x = np.moveaxis(means - means.mean(axis=-1, keepdims=True), -2, 0)
    return np.asarray((x * y).sum(axis=-1) / (x * x).sum(axis=-1))


@np.errstate(invalid="ignore", divide="ignore")  # shifts that are all alike have none: NaN
def _correlation(means: Array) -> Array:
    y, x = np.moveaxis(means - means.mean(axis=-1, keepdims=True), -2, 0)
    return np.asarray((x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))


def _free_slope(sides: Sides) -> float:
    c = np.subtract(*sides.covariance())
    return float(c[0, 1] / c[1, 1]) if c[1, 1] > 0 else np.nan


def _free_z(sides: Sides) -> float:
    """Fisher's z of the correlation, that an interval can be symmetric in."""
    c = np.subtract(*sides.covariance())
    if min(c[0, 0], c[1, 1]) <= 0:
        return np.nan
    return float(np.arctanh(np.clip(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]), -_MOST, _MOST)))


def _free_ratio(sides: Sides) -> float:
    """Logarithm of the ratio of root mean squares."""
    size = np.subtract(*sides.squares())
    return float(np.log(size[0] / size[1]) / 2) if size.min() > 0 else np.nan
