"""Statistics of the paper alone: of shifts and spreads, and of the shifts of several models beside each other.

Figure 8 lays the scenarios' shifts of two models side by side. These are 25 points, but not 25 observations: all of
them rest on the same faces and on the same base pictures. What the choice of faces does to one scenario it does to
others, and what a picture does to one model it may do to the other, so that two models without any effect can correlate
at -.5 or at .9. Therefore

- nothing is said of a pair of models unless the scenarios' shifts of both differ by more than chance explains;
- the published correlation and slope have no interval, but a floor: how large they are where the same faces show no
  effect; beside them stand values from which that part is taken off, with an interval over faces.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import group_spread, shift
from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.measures.cluster_bootstrap import (
    LEVEL,
    Array,
    cell_means,
    cluster_means,
    jackknife_interval,
    only_values,
    sign_flip_floor,
    standard_error,
)
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_spread import group_tests, with_squares
from facevalue.measures.intervals import IntervalKind, name_method, name_unmeasured
from facevalue.measures.missing_data_bounds import average_bounds, shift_bounds, size_bounds
from facevalue.measures.multitest import adjust_p
from facevalue.measures.paired_changes import deal_units
from facevalue.measures.shift import CLOSE_SHIFTS, base_pair_share, cohens_d_interval, join_cells, steps_to_share
from facevalue.measures.uncertainty import Bounds, Estimates, Floor
from facevalue.statistics.breakdown import DIMENSION
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.scores import ModelScores
from facevalue.statistics.shifts import SEED, add_derived
from facevalue.statistics.spreads import NOISE
from facevalue.statistics.statistic import PaperStatistic
from facevalue.studies.stylisticbias import measures as m

ALPHA = 0.05
CUE = ("attribute", "variation")
_LARGE = name_method(IntervalKind.DELTA, "large-sample standard error over face means")
_TALLY = name_method(IntervalKind.NONE, f"count of q < {ALPHA:g}, and a tally of tests has none")


class CohensD(PaperStatistic):
    """Cohen's d of the faces' mean shifts (Table 7)."""

    kind = m.COHENS_D.name
    plural = "values of Cohen's d"
    published = (m.COHENS_D,)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add d of each cell."""
        cells = model.values.cells(*model.cut(estimand.by))
        means = cell_means(cells.sums, cells.counts)
        n = np.isfinite(means).sum(axis=0)
        d = shift.cohens_d(means)
        low, high = cohens_d_interval(d, n)
        method = np.full(d.size, _LARGE, dtype=object)
        table.add(m.COHENS_D, cells.labels, Estimates(d, low, high, n, n, method), keep=cells.shown > 0)


@dataclass(frozen=True, kw_only=True)
class _OfFactor(PaperStatistic):
    """A statistic of the groups of a factor, which is the dimension of its estimates."""

    factor: str

    def labels(self, by: Sequence[str]) -> tuple[str, ...]:
        """Labels that its estimates have a level of."""
        return (*by, DIMENSION)


class _OfGroups(_OfFactor):
    """A statistic of the shifts of the groups of a factor, in each cell of what is varied."""

    def of_groups(self, shifts: Array) -> Array:
        """Value of each cell from its groups' shifts, the last axis; NaN where a group has none."""
        raise NotImplementedError

    def floor(self, sums: Array, counts: Array, statistic: Callable[[Array, Array], Array]) -> Floor | None:
        """Its noise floor; none by default."""
        return None

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the value of each cell."""
        rows, groups = (model.cut(names)[0] for names in (estimand.by, [self.factor]))

        def statistic(sums: Array, counts: Array) -> Array:
            return self.of_groups(_by_row(cell_means(sums, counts), rows))

        cells = model.values.cells(rows * groups)
        labels = {**rows.labels, DIMENSION: [self.factor] * len(rows)}
        n = _by_row(cells.counts.sum(axis=0), rows).sum(axis=1)
        floor = self.floor(cells.sums, cells.counts, statistic)
        add_derived(table, self.published[0], labels, cells, statistic, n, floor=floor)


class GroupAverage(_OfGroups):
    """Mean of the groups' SBS, so that each weighs the same, whatever its number of faces (Table 3)."""

    kind = m.SBS_GROUPS.name
    plural = "averages over groups"
    published = (m.SBS_GROUPS,)

    def of_groups(self, shifts: Array) -> Array:
        """Mean of those that are known."""
        return _mean(shifts)


class ReversalDepth(_OfGroups):
    """Least distance by which SBS is positive in one group and negative in another (Table 5)."""

    kind = m.REVERSAL.name
    plural = "depths of reversal"
    published = (m.REVERSAL,)

    def of_groups(self, shifts: Array) -> Array:
        """Depth of the reversal; NaN of fewer than two groups."""
        seen = np.isfinite(shifts)
        top = np.where(seen, shifts, -np.inf).max(axis=-1)
        bottom = np.where(seen, shifts, np.inf).min(axis=-1)
        return np.where(seen.sum(axis=-1) > 1, np.minimum(top, -bottom), np.nan)

    def floor(self, sums: Array, counts: Array, statistic: Callable[[Array, Array], Array]) -> Floor | None:
        """Depth where the signs of the faces' shifts are drawn."""
        return sign_flip_floor(sums, counts, statistic, SEED)


class Concentration(PaperStatistic):
    """Number of cues that make up 80% of the total |SBS|; of several models |SBS| is averaged first (Figure 2)."""

    kind = m.STEPS_80.name
    plural = "numbers of cues to 80%"
    published = (m.STEPS_80, m.ABS_MODELS)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the number of cues of one model."""
        if model.answers is not None:
            self._add_steps(table, estimand, [model])

    def compare_models(self, table: EstimateTable, estimand: Estimand, models: Mapping[str, ModelScores]) -> None:
        """Add |SBS| of each cue averaged over models, and how many cues reach 80% of its total."""
        self._add_steps(table, estimand, list(models.values()))

    def _add_steps(self, table: EstimateTable, estimand: Estimand, models: Sequence[ModelScores]) -> None:
        variation, _ = models[0].cut(estimand.by)
        cells = join_cells([model.values.cells(variation) for model in models])

        def averages(sums: Array, counts: Array) -> Array:
            sizes = np.abs(cell_means(sums, counts))
            return sizes.reshape(*sums.shape[:-1], len(models), len(variation)).mean(axis=-2)

        def steps(sums: Array, counts: Array) -> Array:
            average = averages(sums, counts)
            return steps_to_share(average, np.where(np.isfinite(average), 1.0, 0.0))

        n = cells.counts.sum(axis=0).reshape(len(models), -1).sum(axis=0)
        if len(models) > 1:
            floor = sign_flip_floor(cells.sums, cells.counts, averages, SEED)
            add_derived(table, m.ABS_MODELS, variation.labels, cells, averages, n, floor=floor)
        floor = sign_flip_floor(cells.sums, cells.counts, steps, SEED)
        total, labels = np.array([n.sum()]), {"variation": [None]}
        add_derived(table, m.STEPS_80, labels, cells, steps, total, floor=floor, bootstrapped=True)


class ShiftShares(PaperStatistic):
    """Shares of zero and of large shifts, and by chance: of any two pictures of a face that are not known to differ.

    A variation is known to differ in a scenario if t says so at .05; the floor would otherwise grow with the effects.
    """

    kind = m.ZERO_SHARE.name
    plural = "shares of shifts"
    published = (m.ZERO_SHARE, m.LARGE_SHARE)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add both shares, over all and of each cue."""
        if model.answers is None:
            return
        s, varied = model.values, model.breakdown.sets.variation_rows
        variation, scenarios = model.cut([*estimand.by, *model.breakdown.prompt_factors])
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


class SpreadWithoutNoise(_OfFactor):
    """VS without what chance adds: the same true spread, so the same interval."""

    kind = m.VS_CORRECTED.name
    plural = "spreads without noise"
    published = (m.VS_CORRECTED,)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the mean over scenarios."""
        base, groups, spreads = model.spread(self.factor)
        sums, counts = with_squares(base, groups.codes, len(groups))
        statistic = group_spread.corrected_strength(len(groups), base.shape[1])
        value, _, _, se = jackknife_interval(sums, counts, statistic)
        n = np.array([np.isfinite(base[groups.codes >= 0]).sum()])
        clusters = np.array([int((counts.sum(axis=1) > 0).sum())])
        low, high = np.fmin(spreads.low[-1:], value), np.fmax(spreads.high[-1:], value)
        low, high = (np.where(np.isfinite(spreads.low[-1:] + value), end, np.nan) for end in (low, high))
        estimates = Estimates(value, low, high, n, clusters, np.array([NOISE], dtype=object), se)
        table.add(m.VS_CORRECTED, {DIMENSION: [self.factor]}, estimates)


class SignificantShare(_OfFactor):
    """Share of scenarios in which the groups differ by the paper's tests (Table 11)."""

    kind = m.SIGNIFICANT.name
    plural = "shares of scenarios"
    published = (m.SIGNIFICANT,)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the share."""
        base, groups, _ = model.spread(self.factor)
        q = adjust_p(group_tests(base, groups.codes, len(groups)), "bh")
        tested = np.isfinite(q)
        share = np.array([np.mean(q[tested] < ALPHA) if tested.any() else np.nan])
        clusters = np.array([int(((groups.codes >= 0) & (model.breakdown.sets.base >= 0)).sum())])
        tally = Estimates.without_intervals(share, np.array([tested.sum()]), clusters, _TALLY)
        table.add(m.SIGNIFICANT, {DIMENSION: [self.factor]}, tally)


class FramingShift(PaperStatistic):
    """Shift of the judgment by the full-body view alone, where people are shown so in plain clothes."""

    kind = m.FRAMING.name
    published = (m.FRAMING,)
    says_difference = True

    def precision(self, *_: object) -> None:
        """Plan for nothing: it is a check of the pictures."""

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the shift of the second base from the first."""
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
        table.add(m.FRAMING, cells.labels, replace(estimates, bounds=bounds), estimand.family_name)


class MeanSize(PaperStatistic):
    """Mean |SBS| of single cues; of several models |SBS| is averaged first (Figures 4 and 5)."""

    kind = m.MEAN_ABS.name
    plural = "mean sizes"
    published = (m.MEAN_ABS,)

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the sizes of one model."""
        if model.answers is not None:
            self._add_sizes(table, estimand, [model])

    def compare_models(self, table: EstimateTable, estimand: Estimand, models: Mapping[str, ModelScores]) -> None:
        """Add the sizes averaged over models."""
        self._add_sizes(table, estimand, list(models.values()))

    def _add_sizes(self, table: EstimateTable, estimand: Estimand, models: Sequence[ModelScores]) -> None:
        """Add sizes overall, by scenario category and by scenario."""
        model = models[0]
        variation, scenarios = model.cut([*estimand.by, "scenario"])
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


class ModelVariance(PaperStatistic):
    """Variance of the shifts across models, by scenario (Figure 7)."""

    kind = m.MODEL_VARIANCE.name
    plural = "variances between models"
    published = (m.MODEL_VARIANCE,)

    def compare_models(self, table: EstimateTable, estimand: Estimand, models: Mapping[str, ModelScores]) -> None:
        """Add the variance of each scenario."""
        columns = next(iter(models.values())).cut(estimand.by)
        cells = join_cells([model.values.cells(*columns) for model in models.values()])
        size = len(columns[1])

        def variance(sums: Array, counts: Array) -> Array:
            return cell_means(sums, counts).reshape(*sums.shape[:-1], len(models), size).var(axis=-2, ddof=1)

        floor = sign_flip_floor(cells.sums, cells.counts, variance, SEED)
        n = cells.counts.sum(axis=0).reshape(len(models), size).sum(axis=0)
        add_derived(table, m.MODEL_VARIANCE, columns[1].labels, cells, variance, n, floor=floor)


class ModelAgreement(PaperStatistic):
    """Slope of one model's shifts on another's over scenarios, and their correlation (Figure 8)."""

    kind = m.SLOPE.name
    plural = "slopes between models"
    published = (m.SLOPE, m.SLOPE_CORRECTED, m.CORRELATION, m.CORRELATION_CORRECTED)

    def compare_models(self, table: EstimateTable, estimand: Estimand, models: Mapping[str, ModelScores]) -> None:
        """Add both slopes of each two models, and once their correlation."""
        for names, pair, is_first in _pairs_of_models(models):
            sides = Sides.from_models(pair, estimand.by)
            sides = sides.only(np.ones(sides.sums.shape[2], dtype=np.bool_))
            if sides.sums.shape[2] >= LEAST:
                self._add_pair(table, names, sides, is_first=is_first)

    def _add_pair(self, table: EstimateTable, names: tuple[str, str], sides: "Sides", *, is_first: bool) -> None:
        noisy = _noisy(names, sides.flip_signs().var(axis=-1), sides.means.var(axis=-1))
        null = sides.still().flip_signs()
        for published, corrected, statistic, freed, back in (
            (m.SLOPE, m.SLOPE_CORRECTED, _slope, _free_slope, float),
            (m.CORRELATION, m.CORRELATION_CORRECTED, _correlation, _free_z, np.tanh),
        ):
            if published is m.CORRELATION and not is_first:
                continue
            by_chance = np.abs(statistic(null))
            floor = Floor(*(np.array([x]) for x in (by_chance.mean(), np.quantile(by_chance, 0.95), np.nan)))
            row = _Row(table, names, sides, noisy)
            row.add(published, float(statistic(sides.means)), _NO_INTERVAL, floor=floor)
            row.add_jackknifed(corrected, freed, back)


class Attenuation(PaperStatistic):
    """Share by which one model's shifts are smaller than another's, overall and by category (Figures 5 and 8)."""

    kind = m.ATTENUATION.name
    plural = "attenuations"
    published = (m.ATTENUATION, m.ATTENUATION_CORRECTED)

    def compare_models(self, table: EstimateTable, estimand: Estimand, models: Mapping[str, ModelScores]) -> None:
        """Add that of each model beside each other one."""
        for names, pair, _ in _pairs_of_models(models):
            sums_of_cells = Sides.from_models(pair, estimand.by)
            categories = pair[0].breakdown.columns(["category"])
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


def _pairs_of_models(
    models: Mapping[str, ModelScores],
) -> Iterator[tuple[tuple[str, str], tuple[ModelScores, ModelScores], bool]]:
    """Names and scores of each two models in either order, and whether it is the first time that they meet."""
    for (place, first), (other_place, second) in permutations(enumerate(models), 2):
        yield (first, second), (models[first], models[second]), place < other_place


@dataclass(frozen=True)
class Sides:
    """Shifts of two models in the same cells."""

    sums: Array  # by face and cell, shape (2, faces, cells)
    counts: Array

    @classmethod
    def from_models(cls, pair: Iterable[ModelScores], by: Sequence[str]) -> "Sides":
        """Sum the shifts of both by face and cell."""
        cells = [model.values.cells(*model.cut(by)) for model in pair]
        return cls(np.stack([c.sums for c in cells]), np.stack([c.counts for c in cells]))

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


def _by_row(flat: Array, rows: Slicing) -> Array:
    """Cells of rows crossed with groups, shape (..., rows, groups)."""
    return flat.reshape(*flat.shape[:-1], len(rows), -1)


def _mean(cells: Array) -> Array:
    """Mean over the last axis of what is known; NaN where nothing is."""
    seen = np.isfinite(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen, cells, 0).sum(axis=-1) / seen.sum(axis=-1)
