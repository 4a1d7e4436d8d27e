"""Changes between two conditions of the same units.

Changes of estimates between two conditions of the same sampled units: interventions, models, runs, pictures.

Any measure can be compared so, since nothing is asked of it but to be taken again without some of the units. Both
conditions lose the same units, so that whatever a unit brings to both of them cancels.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import NO_INTERVENTION, Measure, change_of, rows_of_any, value_by_measure
from facevalue.measures.estimates import TYPED_LABELS, EstimateTable, label_columns
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import IntervalKind, name_method, widen_interval
from facevalue.measures.missing_data_bounds import change_bounds
from facevalue.measures.pairs import independent_units, to_array
from facevalue.measures.uncertainty import Bounds, Estimates

JACKKNIFE_GROUPS = 20
"""Groups of units that are left out in turn: with 15 or more, t has nearly its normal width (Kott 2001)."""
PAIRS = "pairs"
"""Layer of groups of pairs; the other layers hold groups of units."""
RANDOM_GROUPS = "random groups by"
"""Detail of the method of a delete-a-group jackknife."""
NO_GROUPS = name_method(IntervalKind.NONE, "fewer than two groups of clusters")
UNDEFINED = name_method(IntervalKind.NONE, "cannot be measured without some of the clusters")
NONE_ITSELF = name_method(IntervalKind.NONE, "the estimate itself has none")
NO_VARIANCE = name_method(IntervalKind.NONE, "the same change whichever group is left out")
ALL_ALIKE = name_method(
    IntervalKind.EXACT, "no spread, the same change whichever group is left out: what units that were not seen could do"
)
_COUNTED = ("value", "n", "clusters")
REDUCED_COLUMNS = (*_COUNTED, "bound_low", "bound_high", "(bare)")
"""Numbers that `reduce_estimates` keeps of each estimate."""
OTHER_SUFFIX = " (other)"
"""End of the columns of the second condition."""
_ROUNDING = 1e-10  # relative: smaller changes are differences of equal numbers


def deal_units(units: int, groups: int, seed: int) -> npt.NDArray[np.int64]:
    """Deal units into random groups of equal size, give or take one.

    Returns the group of each unit, 0 .. min(groups, units) - 1.

    Examples
    --------
    >>> np.bincount(deal_units(7, 3, seed=1)).tolist()
    [3, 2, 2]
    """
    out = np.empty(units, dtype=np.int64)
    out[np.random.default_rng(seed).permutation(units)] = np.arange(units) % max(min(groups, units), 1)
    return out


def reduce_estimates(estimates: pl.DataFrame) -> pl.DataFrame:
    """Select what is needed of estimates of one model and condition: labels, value, n, clusters, bounds; bare; floored.

    Bare: without an interval of its own. Floored: beside a noise floor. Both, and bounds, are asked of whole samples
    alone, so that estimates without a group may be taken with `cluster_bootstrap.values_only`.
    """
    floored = pl.col("floor").is_not_null() | pl.col("floor_high").is_not_null()
    marked = estimates.with_columns(floored.alias("(floored)"), pl.col("low").is_null().alias("(bare)"))
    keys = ["measure", *(name for name in label_columns(estimates) if name != "intervention")]
    return marked.select(*keys, *REDUCED_COLUMNS, "(floored)").unique(keys, keep="first", maintain_order=True)


@dataclass(frozen=True, slots=True)
class Deletion:
    """Estimates of both conditions, taken again without a group of what was sampled."""

    layer: str
    """Layer that was dealt into groups: units of one kind (those of both conditions, or of only one), or `PAIRS`."""
    first: pl.DataFrame
    second: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Change:
    """Changes, or weighted means of changes, with their uncertainty; arrays of one length."""

    value: Array
    se: Array
    """Zero where the change is the same whichever group is left out; NaN where it is not measurable without one."""
    df: Array
    groups: Array
    """Number of groups of units that hold any of it."""


class ChangeSet:
    """Change of every estimate from one condition to another.

    Parameters
    ----------
    first, second:
        Estimates of both conditions, as `reduce_estimates` gives them.
    without:
        Both again, for each group of units left out; where units stand in pairs, for each group of pairs, too.
    norms:
        Measures to whose square noise adds (`Measure.norm`).

    Equation
    --------
    d = x_2 - x_1. Units are dealt into groups within layers h: those that both conditions have, and those that only one
    has. V_h = (m_h - 1)/m_h Σ_g (d_(g) - d)² over the m_h groups that hold any unit of the estimate, d_(g) being the
    change without group g; se² = Σ_h V_h, with the degrees of freedom of Satterthwaite from m_h - 1 (Kott 2001, "The
    delete-a-group jackknife", Journal of Official Statistics 17, 521-526; with a single layer it is his estimator).

    Where two units make a pair, a pair falls with either, and what pairs bring of their own is counted twice:
    se² = max(V - V_P, V_P), with V_P from groups of pairs (the dyadic-robust variance of Fafchamps and Gubert 2007, and
    Aronow, Samii and Assenova 2015, by jackknife), and no more degrees of freedom than either gives.

    Of norms, such as spreads, D = x_2² - x_1² is taken so, less its bias B = Σ_h (m_h - 1)/m_h Σ_g (D_(g) - D), which
    the noise of either condition brings (Quenouille 1956): d = (D - B) / (x_1 + x_2), which is x_2 - x_1 where both
    have the same noise, and zero on average where neither has an effect.

    Notes
    -----
    The jackknife is for estimates that move little with any one unit: means, ratios, correlations. For a maximum, or a
    count of steps, its interval is a rough one.
    """

    def __init__(
        self, first: pl.DataFrame, second: pl.DataFrame, without: Iterable[Deletion], norms: Iterable[Measure] = ()
    ) -> None:
        self.frame = _join_estimates(first, second)
        """A row per estimate of the first condition: labels, and what `reduce_estimates` takes of both."""
        names = estimate_keys(self.frame)
        keys = self.frame.select(names)
        numbers = _numbers(self.frame)
        power = np.where(self.frame.select(rows_of_any(norms)).to_series().to_numpy(), 2, 1)
        value, changed = numbers["value"] ** power, numbers[f"value{OTHER_SUFFIX}"] ** power
        rounding = _ROUNDING * np.maximum(np.abs(value), np.abs(changed))
        difference = changed - value
        self.value = np.where(np.abs(difference) <= rounding, 0.0, difference)
        ends = _worst(numbers)
        self._moves: dict[str, list[Array]] = {}
        self._held: dict[str, list[npt.NDArray[np.bool_]]] = {}
        self._moved_ends: dict[str, list[Array]] = {}
        for deletion in without:
            again = keys.join(
                _join_estimates(deletion.first, deletion.second),
                on=names,
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
            x = _numbers(again)
            held = ~np.logical_and.reduce([_equal(x[name], numbers[name]) for name in _COMPARED])
            moved = np.where(held, x[f"value{OTHER_SUFFIX}"] ** power - x["value"] ** power - self.value, 0.0)
            self._moves.setdefault(deletion.layer, []).append(np.where(np.abs(moved) <= rounding, 0.0, moved))
            self._held.setdefault(deletion.layer, []).append(held)
            self._moved_ends.setdefault(deletion.layer, []).append(np.where(held, _worst(x) - ends, 0.0))
        self.bare = (numbers["(bare)"] == 1) | (numbers[f"(bare){OTHER_SUFFIX}"] == 1)
        if (power == 2).any():
            self._without_noise(power == 2, numbers["value"] + numbers[f"value{OTHER_SUFFIX}"])

    def _without_noise(self, norms: npt.NDArray[np.bool_], sums: Array) -> None:
        """Bring differences of squares to differences without what noise adds to either; see the equation."""
        divisor = np.where(norms & (sums > 0), sums, 1.0)
        for layer, moves in self._moves.items():
            groups = np.maximum(np.sum(self._held[layer], axis=0), 1)
            if layer != PAIRS:
                self.value = self.value - np.where(norms, (groups - 1) / groups * np.sum(moves, axis=0), 0.0)
            self._moves[layer] = [move / divisor for move in moves]
        self.value = self.value / divisor

    @cached_property
    def effects(self) -> Change:
        """The change of each estimate."""
        return self._estimate_change(self.value, self._moves)

    def mean(self, rows: npt.NDArray[np.int64]) -> Change:
        """The mean change of some estimates, all of the same weight."""
        return self._estimate_change(
            self.value[rows].mean(keepdims=True),
            self._moves,
            lambda moves: moves[:, rows].mean(axis=1, keepdims=True),
            lambda held: np.asarray(held[:, rows].any(axis=1, keepdims=True)),
        )

    def draw_changes(self, rows: npt.NDArray[np.int64], draws: int, seed: int) -> Array:
        """Changes of some estimates had nothing changed: noise with the errors that these have, and share.

        Returns shape (draws, rows).

        Equation
        --------
        Σ_g w_g (d_(g) - d) sqrt((m - 1)/m) with w_g standard normal, brought to the standard error of each, times
        sqrt(df / χ²_df) for what is not known of these: a draw of the multivariate t.
        """
        rng = np.random.default_rng(seed)
        layers = [np.stack(moves)[:, rows] for layer, moves in self._moves.items() if layer != PAIRS]
        noise = sum(rng.standard_normal((draws, len(moved))) @ (moved * np.sqrt((len(moved) - 1) / len(moved)))
                    for moved in layers if len(moved) > 1)  # fmt: skip
        spread = np.sqrt(sum((moved**2).sum(axis=0) * (len(moved) - 1) / len(moved) for moved in layers))
        df = float(np.median(self.effects.df[rows]))
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.where(spread > 0, self.effects.se[rows] / spread, 0.0)
        return np.asarray(noise) * scale * np.sqrt(df / rng.chisquare(df, size=(draws, 1)))

    def _estimate_change(
        self,
        value: Array,
        by_layer: Mapping[str, list[Array]],
        of_moves: Callable[[Array], Array] = lambda moves: moves,
        of_held: Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.bool_]] = lambda held: held,
    ) -> Change:
        variance, squares, pairs = np.zeros(value.size), np.zeros(value.size), np.zeros(value.size)
        groups, freedom = np.zeros(value.size), np.full(value.size, np.inf)
        for layer, moves in by_layer.items():
            m = of_held(np.stack(self._held[layer])).sum(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                of_layer = np.where(m > 1, (m - 1) / m * (of_moves(np.stack(moves)) ** 2).sum(axis=0), 0.0)
            of_layer[(m == 1) & (layer != PAIRS)] = np.nan  # one group of a kind says nothing of its kind
            if layer == PAIRS:
                pairs, freedom = of_layer, np.where(m > 1, m - 1.0, np.inf)
                continue
            variance += of_layer
            squares += of_layer**2 / np.maximum(m - 1, 1)
            groups += m
        if PAIRS in self._moves:
            rest = np.fmax(variance - pairs, pairs)
            rest = np.where(np.isnan(variance), np.nan, rest)
        else:
            rest = variance
        with np.errstate(invalid="ignore", divide="ignore"):
            df = np.where(squares > 0, variance**2 / squares, np.maximum(groups - 1, 1))
        return Change(value, np.sqrt(rest), np.maximum(np.minimum(df, freedom), 1.0), groups)

    def estimates(self, rows: npt.NDArray[np.int64], measure: Measure) -> tuple[Estimates, Array]:
        """Changes of estimates of one measure, with their p-values.

        Where no unit moves the change there is no standard error: if values have limits, the interval is what units
        that were not seen could do (`intervals.widen_interval`).
        """
        change = Change(*(x[rows] for x in (self.effects.value, self.effects.se, self.effects.df, self.effects.groups)))
        frame = self.frame[rows]
        n = np.nansum([to_array(frame["n"]), to_array(frame[f"n{OTHER_SUFFIX}"])], axis=0).astype(np.int64)
        clusters = np.nan_to_num(np.fmin(to_array(frame["clusters"]), to_array(frame[f"clusters{OTHER_SUFFIX}"])))
        return change_interval(change, n, clusters.astype(np.int64), measure, bare=self.bare[rows])

    def bounds(self, rows: npt.NDArray[np.int64]) -> Bounds:
        """Worst-case bounds: missing answers of one condition up and of the other down; NaN where either has none."""
        low, high = _worst(_numbers(self.frame[rows]))
        ends = ({layer: [move[end] for move in moves] for layer, moves in self._moved_ends.items()} for end in (0, 1))
        se = np.fmax(*(self._estimate_change(self.value, moves).se for moves in ends))
        return Bounds(self.value[rows], low, high, np.full(low.size, np.nan), se[rows])

    def table(self, measures: Sequence[Measure], study: str, model: str, intervention: str) -> pl.DataFrame:
        """All changes as a table of estimates (`measures.estimates`), versus no intervention.

        A change is not measurable where either estimate is, and has no interval where either has none (too few
        clusters; a correlation over three identities; a tally of tests). q is adjusted within each measure
        (Benjamini-Hochberg). Unsigned estimates that stand beside a noise floor have an interval and no p: the floor
        moves with the number of valid answers, and would be found to.
        """
        labels = estimate_keys(self.frame)[1:]
        out = EstimateTable(study, model, [name for name in labels if name not in TYPED_LABELS], intervention)
        definitions = {measure.key: measure for measure in measures}
        keys = self.frame.select(value_by_measure({key: key for key in definitions})).to_series()
        for key in keys.drop_nulls().unique(maintain_order=True):
            measure, rows = definitions[key], np.flatnonzero((keys == key).fill_null(value=False).to_numpy())
            changed, p = self.estimates(rows, change_of(measure))
            untested = self.frame["(floored)"].to_numpy()[rows] & (not measure.signed)
            changed = replace(changed, p=np.where(untested, np.nan, p), bounds=self.bounds(rows))
            levels = {label: self.frame[label].gather(rows) for label in labels}
            out.add(change_of(measure), {**levels, "versus": NO_INTERVENTION}, changed, f"changes: {measure.title}")
        return out.frame()


def change_interval(
    change: Change,
    n: npt.NDArray[np.int64],
    clusters: npt.NDArray[np.int64],
    measure: Measure,
    bare: npt.NDArray[np.bool_] | None = None,
) -> tuple[Estimates, Array]:
    """Intervals and p-values of changes in a measure, by t; see `ChangeSet.estimates`."""
    se, d = change.se, change.value
    alike = (se == 0) & (change.groups > 1) & np.isfinite(d) & bool(np.isfinite(measure.limits).all())
    reasons = np.full(d.size, None, dtype=object)
    reasons[(se == 0) & ~alike] = NO_VARIANCE  # none at all is no certainty
    reasons[np.isnan(se)] = UNDEFINED
    reasons[change.groups < 2] = NO_GROUPS
    if bare is not None:
        reasons[bare] = NONE_ITSELF
        alike &= ~bare
    se = np.where([r is None for r in reasons], se, np.nan)
    half = scipy.special.stdtrit(change.df, 0.5 + LEVEL / 2) * se
    low, high = d - half, d + half
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.asarray(2 * scipy.special.stdtr(change.df, -np.abs(d) / se), dtype=np.float64)
    method = np.array(
        [reason or name_method(IntervalKind.JACKKNIFE, f"{groups:.0f} {RANDOM_GROUPS} {measure.cluster}")
         for reason, groups in zip(reasons, change.groups, strict=True)], dtype=object,
    )  # fmt: skip
    if alike.any():
        some, none = np.maximum(clusters[alike], 2), np.zeros(int(alike.sum()))
        low[alike], high[alike], p[alike] = widen_interval(d[alike], none, some, none, measure.limits[1], LEVEL)
        method[alike] = ALL_ALIKE
    return Estimates(d, low, high, n, clusters, method, se), p


_COMPARED = tuple(name + end for name in _COUNTED for end in ("", OTHER_SUFFIX))
_NUMBERS = tuple(name + end for name in REDUCED_COLUMNS for end in ("", OTHER_SUFFIX))
_NO_LABELS = tuple(name + end for name in (*REDUCED_COLUMNS, "(floored)") for end in ("", OTHER_SUFFIX))


def _join_estimates(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    keys = estimate_keys(first)
    return first.join(
        second.select(*keys, *REDUCED_COLUMNS), on=keys, how="left", nulls_equal=True, suffix=OTHER_SUFFIX,
        maintain_order="left",
    )  # fmt: skip


def estimate_keys(table: pl.DataFrame) -> list[str]:
    """Columns that say what an estimate is of, and pair those of two conditions: its measure and labels."""
    return ["measure", *(name for name in label_columns(table) if name not in _NO_LABELS)]


def _numbers(table: pl.DataFrame) -> Mapping[str, Array]:
    return {name: to_array(table[name].cast(pl.Float64)) for name in _NUMBERS}


def _worst(numbers: Mapping[str, Array]) -> Array:
    """Bounds of the changes, shape (2, rows)."""
    none = np.full(numbers["value"].size, np.nan)
    first, second = (
        Bounds(numbers[f"value{end}"], numbers[f"bound_low{end}"], numbers[f"bound_high{end}"], none, none)
        for end in ("", OTHER_SUFFIX)
    )
    change = change_bounds(first, second)
    return np.stack([change.low, change.high])


def _equal(first: Array, second: Array) -> npt.NDArray[np.bool_]:
    return np.isclose(first, second, rtol=_ROUNDING, atol=0.0, equal_nan=True)


Codes = npt.NDArray[np.int64]


def degrees_of_freedom(estimates: pl.DataFrame) -> Array:
    """Degrees of freedom of each estimate's standard error; NaN where clusters are not counted.

    One less than its clusters (`pairs.independent_units`). Changes by the delete-a-group jackknife have those of their
    intervals: half the width is t(df) se, so that the two say df. The longer side counts, as a limit of
    the measure may have cut the other.
    """
    value, low, high, se = (to_array(estimates[name]) for name in ("value", "low", "high", "se"))
    units = independent_units(estimates)
    by_group = estimates["detail"].str.contains(RANDOM_GROUPS, literal=True).fill_null(value=False).to_numpy()
    possible = np.arange(1, 2 * JACKKNIFE_GROUPS)
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = np.fmax(high - value, value - low) / se
    nearest = np.abs(-scipy.special.stdtrit(possible, 0.5 - LEVEL / 2) - reach[:, None]).argmin(axis=1)
    groups = np.where(np.isfinite(reach), possible[nearest], np.nan)
    return np.where(by_group, np.fmin(groups, units - 1), units - 1)


def add_missing_change(table: EstimateTable, totals: pl.DataFrame, unit: str, versus: str) -> None:
    """Add the change in the share of replies without a valid answer.

    Parameters
    ----------
    totals:
        A row per pair of clusters that replies are about: `unit_1` and `unit_2`, their codes, the same where it is one;
        `replies` and `missing`, how many came and how many of them have no valid answer (expected where probabilities
        were read), in the first condition; `replies_other` and `missing_other`, in the second.
    versus:
        What the first condition is.

    Equation
    --------
    d = r_1 - r_0, r = Σ missing / Σ replies; e_p = (missing_1p - r_1 replies_1p) / Σ replies_1 - the same of the plain
    condition (linearisation of a difference of two ratios: Cochran, Sampling Techniques, 1977, sections 6.4 and 6.13).
    V = G/(G-1) Σ_g (Σ_{p with g} e_p)² over clusters, V_P = P/(P-1) Σ e_p² over pairs of two; se² = max(V - V_P, V_P),
    as a pair falls with either side (Aronow, Samii and Assenova 2015; `paired_changes`). t with min(G, P) - 1 degrees
    of freedom; without pairs V and G - 1.
    """
    totals = totals.filter((pl.col("replies") > 0) | (pl.col("replies_other") > 0))
    first, second = (totals[name].cast(pl.Int64).to_numpy() for name in ("unit_1", "unit_2"))
    replies, missing = (np.stack([to_array(totals[f"{name}{end}"]) for end in ("", "_other")])
                        for name in ("replies", "missing"))  # fmt: skip
    size, apart = int(np.unique(np.concatenate([first, second])).size), first != second
    total = replies.sum(axis=1)
    value = se = np.nan
    if total.min() > 0:
        rates = missing.sum(axis=1) / total
        value = rates[1] - rates[0]
        errors = (missing - rates[:, None] * replies) / total[:, None]
        if size > 1:
            se = float(np.sqrt(_dyadic(errors[1] - errors[0], first, second)))
    groups = min(size, int(apart.sum())) if apart.any() else size
    of_all = Change(*(np.array([float(x)]) for x in (value, se, max(groups - 1, 1), groups)))
    definition = replace(change_of(MISSING_SHARE), cluster=unit, source=MISSING_SHARE.source)
    estimate, p = change_interval(of_all, np.array([int(total.sum())]), np.array([size]), definition)
    method = name_method(IntervalKind.T, "over clusters, both conditions of each")
    estimate = replace(estimate, method=np.where(se > 0, method, estimate.method).astype(object))
    table.add(definition, {"versus": versus}, replace(estimate, p=p), "change in missing answers")


def _dyadic(error: Array, first: Codes, second: Codes) -> float:
    """Variance of a sum of errors of pairs that share clusters; see `add_missing_change`."""
    apart = first != second
    sides = np.concatenate([first, second[apart]])
    of_cluster = np.bincount(sides, np.concatenate([error, error[apart]]))
    clusters, pairs = np.unique(sides).size, int(apart.sum())
    of_clusters = clusters / (clusters - 1) * float((of_cluster**2).sum())
    if not pairs:
        return of_clusters
    of_pairs = pairs / max(pairs - 1, 1) * float((error[apart] ** 2).sum())
    return max(of_clusters - of_pairs, of_pairs)


def reading_share(unit: str) -> Measure:
    """Measure of the share of replies to ciphered questions written in each way, with clusters of this unit."""
    return Measure(
        name="reading_share", title="What replies to ciphered questions are written in",
        equation="100 n_kind / N; kinds: decoded, plain, mixed, unable, unreadable", unit="%", cluster=unit,
        source="FaceValue; cipher of VisBias (Huang et al.), section 2.1", signed=False, limits=(0.0, 100.0),
    )  # fmt: skip


def add_readings(table: EstimateTable, counts: Array, kinds: Sequence[str], unit: str) -> None:
    """Add the share of each kind, with Wilson's intervals over clusters.

    `counts`: replies by cluster and kind, shape (clusters, kinds).
    """
    replies = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    table.add(reading_share(unit), {"reading": list(kinds)}, column_shares(counts, replies).times(100))
