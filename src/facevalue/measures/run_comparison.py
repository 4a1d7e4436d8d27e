"""Comparisons of runs, sources and dates, cell by cell, and how far two runs agree in rank.

Printed values (VIGNETTE, Tables 12 and 13: real against synthetic pictures) have no uncertainty, and are compared as
plain tables. Runs are compared on what was sampled: `difference_summaries` says what the differences of all cells
amount to. Two sources of answers, a model that sees the picture and one that is told who is on it, are correlated over
groups (Counterfactuals, section 5.1). Conditions such as dates are compared by contrasts Σ c_t x_t with Σ c_t = 0, a
drift or a step, which are taken like any paired change.

Two models that are asked about the same pictures share what is odd about these: their estimates go up and down together
though neither has an effect. And noise on either side hides how much real effects agree. So a rank correlation stands
beside what chance gives on the same pictures, and its interval is of the effects without noise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import Measure, change_of
from facevalue.measures.intervals import NOT_MEASURABLE, IntervalKind, name_method, name_unmeasured, split_method
from facevalue.measures.noise_floors import share_beyond, spread_interval
from facevalue.measures.paired_changes import ChangeSet, Deletion, change_interval, estimate_keys
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Estimates, Floor

DELTA_STATISTICS = ("mean_signed_delta", "mean_absolute_error", "rmse", "max_absolute_delta")
"""Statistics of differences between two tables (VIGNETTE, Tables 12 and 13), in their order."""
PERCENT_LIMITS = (0.0, 100.0)
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Matched:
    """Cells that were measured twice, and those that were not."""

    keys: tuple[str, ...]
    cells: pl.DataFrame
    """Keys, `first`, `second`, `delta` (second - first)."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Keys of the cells that only one of the two has a value for."""


def match_tables(
    first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str], limits: tuple[float, float] = PERCENT_LIMITS
) -> Matched:
    """Bring two tables of values together, cell by cell.

    Parameters
    ----------
    first, second:
        Columns `keys` (null is a level like any other: "over all") and `value`. A null value is none. One row per cell.
    limits:
        Smallest and largest possible value.

    Equation
    --------
    delta = second - first.

    Raises
    ------
    UnknownNameError
        A table lacks a column.
    DataError
        A table has two rows for one cell or an impossible value, or the two share no cell.

    Examples
    --------
    >>> real = pl.DataFrame({"identity": ["old", "young", "adult"], "value": [40.0, 55.0, 60.0]})
    >>> drawn = pl.DataFrame({"identity": ["old", "young", "child"], "value": [45.0, 50.0, 50.0]})
    >>> both = match_tables(real, drawn, ["identity"])
    >>> both.cells.select("identity", "delta").rows()
    [('old', 5.0), ('young', -5.0)]
    >>> both.only_first.rows(), both.only_second.rows()
    ([('adult',)], [('child',)])
    """
    a, b = (_table(frame, keys, limits) for frame in (first, second))
    joined = a.join(b, on=list(keys), nulls_equal=True, suffix="_second", maintain_order="left")
    if not joined.height:
        raise DataError(
            f"The two have no cell in common: {_example(a, keys)} in the first, {_example(b, keys)} in the second."
        )
    alone = (
        table.join(rival, on=list(keys), how="anti", nulls_equal=True, maintain_order="left").select(keys)
        for table, rival in ((a, b), (b, a))
    )
    cells = joined.rename({"value": "first", "value_second": "second"})
    return Matched(tuple(keys), cells.with_columns(delta=pl.col("second") - pl.col("first")), next(alone), next(alone))


def _table(frame: pl.DataFrame, keys: Sequence[str], limits: tuple[float, float]) -> pl.DataFrame:
    for name in (*keys, "value"):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    value = pl.col("value").cast(pl.Float64).fill_nan(None)
    out = frame.select(*(pl.col(name).cast(pl.String) for name in keys), value).filter(pl.col("value").is_not_null())
    wrong = out.filter(~pl.col("value").is_between(limits[0] - _SLACK, limits[1] + _SLACK))
    if wrong.height:
        problem = "no percentage" if limits == PERCENT_LIMITS else f"not between {limits[0]:g} and {limits[1]:g}"
        raise DataError(f"{wrong['value'][0]:g} is {problem}: {_example(wrong, keys)}.")
    twice = out.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(f"Two rows for one cell: {_example(twice, keys)}.")
    return out


def _example(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    if not frame.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in zip(keys, frame.row(0), strict=False) if level is not None)


_FEWEST = 4
_PERFECT = 1 - 1e-12


def source_correlation(
    first: pl.DataFrame, second: pl.DataFrame, measure: str, by: Sequence[str]
) -> tuple[Estimates, float]:
    """Pearson's correlation of two sources over cells, such as groups, with its p-value.

    Parameters
    ----------
    first, second:
        Tables of estimates, of one model each.
    measure:
        Which ("score").
    by:
        Labels that make a cell ("subset", "group"); cells are those that both have.

    Returns
    -------
    One estimate, arrays of shape (1,), whose n is the number of cells; and the two-sided p-value.

    Equation
    --------
    r of the values; t = r sqrt((n - 2) / (1 - r²)) with n - 2 degrees of freedom; interval by Fisher's z, tanh(artanh r
    ± 1.96 / sqrt(n - 3)). The 52 groups of the three subsets give r = .50, p = 1e-04 and r = .77, p = 4e-11 (5.1).

    Examples
    --------
    >>> told = pl.DataFrame({"measure": ["tail_share"] * 5, "group": list("abcde"), "value": [1.0, 2, 3, 4, 5]})
    >>> found, p = source_correlation(told, told.with_columns(pl.col("value") ** 2), "tail_share", ["group"])
    >>> found.value.round(3).tolist(), found.n.tolist(), round(p, 3)
    ([0.981], [5], 0.003)
    """
    cells = match_tables(_values_of(first, measure), _values_of(second, measure), by, (-np.inf, np.inf)).cells
    return pearson_correlation(to_array(cells["first"]), to_array(cells["second"]))


def pearson_correlation(first: Array, second: Array) -> tuple[Estimates, float]:
    """Pearson's correlation of two arrays, and its p-value; see `source_correlation`.

    Raises
    ------
    DataError
        Arrays of different lengths.
    """
    if first.shape != second.shape:
        raise DataError(f"A correlation needs as many values of either source, not {first.size} and {second.size}.")
    have_both = np.isfinite(first) & np.isfinite(second)
    x, y = first[have_both], second[have_both]
    size = x.size
    flat = size and any(np.ptp(side) <= 1e-12 * np.abs(side).max() for side in (x, y))
    if size < _FEWEST or flat:
        reason = f"fewer than {_FEWEST} cells" if size < _FEWEST else "one of the two does not vary"
        return Estimates.single(np.nan, np.nan, np.nan, np.nan, size, size, name_unmeasured(reason)), float("nan")
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -_PERFECT, _PERFECT))
    reach = scipy.special.ndtri(0.5 + LEVEL / 2) / np.sqrt(size - 3)
    low, high = np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach)
    return Estimates.single(
        r, low, high, float("nan"), size, size, name_method(IntervalKind.DELTA, "Fisher's z, over cells")
    ), correlation_p(r, size)


def correlation_p(r: float, n: int) -> float:
    """Two-sided p-value of Pearson's correlation of n cells.

    Examples
    --------
    >>> f"{correlation_p(0.77, 52):.0e}"
    '3e-11'
    """
    return float(2 * scipy.special.stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r))))


def _values_of(table: pl.DataFrame, measure: str) -> pl.DataFrame:
    names = table["measure"].unique().drop_nulls().to_list()
    if measure not in names:
        raise UnknownNameError("measure", measure, names)
    return table.filter(pl.col("measure") == measure)


CELL_DRAWS = 4000
CELL_DRAWS_SEED = 20261
MEAN, SIZE, RMS, LARGEST = DELTA_STATISTICS
BALANCED_CELLS = "zero by construction: in either run the cells add up to one total"
CELL_NOISE = name_method(IntervalKind.INVERSION, "noise of the cells, drawn together")
_ZERO: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Summary:
    """One statistic of all cells, of shape (1,)."""

    name: str
    estimate: Estimates
    p: float
    floor: Floor | None = None


def mean_of(measure: Measure) -> Measure:
    """The mean difference over all cells, as a measure."""
    return _derive_measure(change_of(measure), f"mean difference in {measure.name}", "mean over all cells", signed=True)


def size_of(measure: Measure) -> Measure:
    """The root mean square of the differences of all cells, as a measure; above zero by noise alone."""
    name = f"size of differences in {measure.name}"
    return _derive_measure(change_of(measure), name, "root mean square over all cells", signed=False)


def _derive_measure(m: Measure, name: str, summary: str, *, signed: bool) -> Measure:
    low, high = m.limits
    return Measure(
        name, f"{m.title}, {summary}", f"{summary} of: {m.equation}", m.unit, m.cluster, m.source,
        paired=signed, signed=signed, comparison=True, limits=(low if signed else 0.0, high),
        score=m.score,
    )  # fmt: skip


def difference_summaries(changes: ChangeSet, rows: npt.NDArray[np.int64], measure: Measure) -> list[Summary]:
    """Take all statistics of some cells.

    `rows`: cells of `changes` whose difference is measurable.

    Equation
    --------
    With d_c the difference of cell c of C: the mean difference Σ d_c / C, by the jackknife of `paired_changes` over
    what was sampled, so that cells that share units are not taken for independent ones. The mean size Σ |d_c| / C, the
    root mean square sqrt(Σ d_c² / C) and the largest |d_c| stand beside what they would be had nothing differed:
    `ChangeSet.draw_changes` draws them together, with their errors and correlations. The interval of the root mean
    square is of what lies beyond that noise (`noise_floors.spread_interval`). Limits of the largest: max_c (|d_c| ± k
    se_c), k the 95% quantile of max_c |d_c| / se_c over the draws (simultaneous intervals): no cell differs by more
    than the upper one.

    Examples
    --------
    >>> MEAN, SIZE, RMS, LARGEST
    ('mean_signed_delta', 'mean_absolute_error', 'rmse', 'max_absolute_delta')
    """
    frame = changes.frame[rows]
    n = int(np.nansum([to_array(frame[name]) for name in ("n", "n (other)")]))
    clusters = int(np.nanmax(to_array(frame["clusters"]), initial=0))
    d, se = changes.value[rows], changes.effects.se[rows]
    out = [_mean(changes, rows, measure, n, clusters)]
    noisy = rows[np.isfinite(se) & (se > 0)]
    if not noisy.size:
        return out
    null, scale = changes.draw_changes(noisy, CELL_DRAWS, CELL_DRAWS_SEED), changes.effects.se[noisy]
    measured = changes.value[noisy]
    df = float(np.median(changes.effects.df[noisy]))
    none, limit = float("nan"), size_of(measure).limits[1]

    def row(name: str, value: float, low: float, high: float, null_values: Array, against: float) -> Summary:
        p = float(share_beyond(null_values, against))
        low, high = min(low, limit), min(high, limit)
        floor = Floor(*(np.array([x]) for x in (null_values.mean(), np.quantile(null_values, 0.95), p)))
        return Summary(name, Estimates.single(value, low, high, none, n, clusters, CELL_NOISE), p, floor)

    sizes, squares = np.abs(null).mean(axis=1), np.sqrt((null**2).mean(axis=1))
    out.append(row(SIZE, float(np.abs(d).mean()), none, none, sizes, float(np.abs(measured).mean())))
    rms = float(np.sqrt((measured**2).mean()))
    beyond = float(share_beyond(squares, rms))
    ends = spread_interval(rms, squares, noisy.size + 1, df, beyond)
    out.append(row(RMS, float(np.sqrt((d**2).mean())), *ends, squares, rms))
    reach = float(np.quantile((np.abs(null) / scale).max(axis=1), 0.95)) * scale
    bottom, top = np.max(np.abs(measured) - reach), np.max(np.abs(measured) + reach)
    largest = np.abs(null).max(axis=1)
    out.append(
        row(LARGEST, float(np.abs(d).max()), max(float(bottom), 0.0), float(top), largest, np.abs(measured).max())
    )
    return out


def _mean(changes: ChangeSet, rows: npt.NDArray[np.int64], measure: Measure, n: int, clusters: int) -> Summary:
    change = changes.mean(rows)
    typical = np.nanmean(np.append(changes.effects.se[rows], 0.0))
    if abs(change.value[0]) <= _ZERO and change.se[0] <= _ZERO * typical and typical > 0:
        none = float("nan")
        return Summary(
            MEAN,
            Estimates.single(0.0, none, none, none, n, clusters, name_method(IntervalKind.NONE, BALANCED_CELLS)),
            none,
        )
    estimate, p = change_interval(change, np.array([n]), np.array([clusters]), mean_of(measure))
    return Summary(MEAN, estimate, float(p[0]))


def as_row(summary: Summary) -> Mapping[str, Any]:
    """A summary as a row of a table."""
    floor = summary.floor
    numbers = {name: getattr(summary.estimate, name)[0] for name in ("value", "low", "high", "n", "clusters")}
    columns = {
        "floor": None if floor is None else floor.mean[0],
        "floor_high": None if floor is None else floor.high[0],
    }
    kind, detail = split_method(str(summary.estimate.method[0]))
    methods = {"method": kind.value, "detail": detail}
    return {"statistic": summary.name, **numbers, "p": summary.p, **columns, **methods}


_VALUES = ("value", "bound_low", "bound_high")


def drift_weights(times: Array) -> Array:
    """Weights of the change from the first time to the last by the straight line of least squares.

    Equation
    --------
    c_t = (t - mean t) (t_last - t_first) / Σ (t - mean t)².

    Examples
    --------
    >>> drift_weights(np.array([0.0, 1.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    apart = times - times.mean()
    return np.asarray(apart * (times[-1] - times[0]) / (apart**2).sum())


def step_weights(count: int, since: int) -> Array:
    """Weights of the mean from one of so many times on, less the mean of those before it.

    Examples
    --------
    >>> step_weights(4, 3).round(2).tolist()
    [-0.33, -0.33, -0.33, 1.0]
    """
    later = np.arange(count) >= since
    return np.where(later, 1 / later.sum(), -1 / (~later).sum())


def splits_beside(count: int, since: int) -> Iterator[Array]:
    """Weights of every contrast that is zero where nothing changes but at one time: a split of either side of it.

    The set of times of which none of these contrasts is found, at a level shared by all count - 2 of them, holds the
    time of a single step in at least as many histories as the level says.

    Examples
    --------
    >>> [weights.tolist() for weights in splits_beside(4, 2)]
    [[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
    """
    for first, last in ((0, since), (since, count)):
        for split in range(first + 1, last):
            weights = np.zeros(count)
            weights[first:split], weights[split:last] = -1 / (split - first), 1 / (last - split)
            yield weights


def contrast_estimates(
    tables: Sequence[pl.DataFrame], without: Sequence[Sequence[pl.DataFrame]], layers: Sequence[str], weights: Array
) -> ChangeSet:
    """Take a contrast of estimates, with its errors by the delete-a-group jackknife.

    Parameters
    ----------
    tables:
        Estimates of each time, as `paired_changes.reduce_estimates` gives them, all of the same cells.
    without:
        The same without each group of what was sampled.
    layers:
        What each group is of.
    weights:
        One of each time; they sum to zero.
    """
    deletions = [
        Deletion(layer, _weighted_sum(rest, -weights), _weighted_sum(rest, weights))
        for layer, rest in zip(layers, zip(*without, strict=True), strict=True)
    ]
    return ChangeSet(_weighted_sum(tables, -weights), _weighted_sum(tables, weights), deletions)


def _weighted_sum(tables: Sequence[pl.DataFrame], weights: Array) -> pl.DataFrame:
    """Sum of the estimates that have a positive weight, cell by cell; not measurable where one of them is not."""
    weighted = [
        table.with_columns((pl.col(name).cast(pl.Float64) * float(weight)).alias(name) for name in _VALUES)
        for table, weight in zip(tables, weights, strict=True)
        if weight > 0
    ]
    sums = [pl.when(pl.col(name).count() == len(weighted)).then(pl.col(name).sum()).alias(name) for name in _VALUES]
    return (
        pl.concat(weighted)
        .group_by(estimate_keys(tables[0]), maintain_order=True)
        .agg(*sums, pl.col("n").sum(), pl.col("clusters").max(), pl.col("(bare)", "(floored)").any())
    )


FEWEST_EFFECTS = 5
"""Cells that a correlation takes."""
_DRAWS, _MOST = 1000, 400_000
_GRID = np.linspace(-1.0, 1.0, 21)
RANK_SEED = 20262


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Spearman's correlation of the effects of two models over cells."""

    measure: str
    cells: int
    rho: float
    """Of the estimates as they are."""
    chance: float
    chance_low: float
    chance_high: float
    """Mean and 95% range of the same if neither model had any effect, on the same pictures."""
    p: float
    """Two-sided, of there being no effects at all."""
    value: float
    low: float
    high: float
    """Correlation of the effects without noise, and its interval at `level`; NaN is not measurable."""
    level: float
    method: str


def rank_agreement(
    measure: str, first: Array, second: Array, noise: tuple[Array, Array], level: float
) -> RankAgreement:
    """Correlate effects of two models over cells.

    Parameters
    ----------
    first, second:
        Estimates, arrays of one length.
    noise:
        Draws of the errors of either, together: shape (draws, cells).
    level:
        Of the interval, 0.95 for a single correlation.

    Equation
    --------
    ρ is Spearman's correlation. Without any effect estimates are their errors, x = e₁ and y = e₂, which share pictures:
    the ρ of draws of (e₁, e₂) is the null. The interval holds each correlation r of normal effects a, b (as 6/π
    asin(r/2), Spearman's of them) under which ρ is not among the outermost draws of ρ(τ₁ a + e₁, τ₂ b + e₂), with τ² =
    max(variance of the estimates over cells - that of their errors, 0). Where the null is not rejected either, it
    holds zero.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> effects = rng.normal(size=40)
    >>> errors = rng.normal(scale=0.1, size=(2, 1000, 40))
    >>> first, second = effects + errors[:, 0]
    >>> found = rank_agreement("shift", first, second, (errors[0], errors[1]), 0.95)
    >>> found.low > 0.9, found.p < 0.01, abs(found.chance) < 0.05
    (True, True, True)
    """
    alpha, none = 1 - level, float("nan")
    if first.size < FEWEST_EFFECTS or np.ptp(first) == 0 or np.ptp(second) == 0:
        reason = f"{NOT_MEASURABLE}: fewer than {FEWEST_EFFECTS} cells, or all alike"
        return RankAgreement(measure, first.size, none, none, none, none, none, none, none, none, level, reason)
    rho = float(_spearman(_ranks(first[None]), _ranks(second[None]))[0])
    null = _spearman(_ranks(noise[0]), _ranks(noise[1]))
    beyond = min(int((null >= rho).sum()), int((null <= rho).sum()))
    p = min(2 * (beyond + 1) / (null.size + 1), 1.0)
    low, value, high = _invert_correlation(rho, (first, second), noise, alpha)
    if p > alpha:
        low, high = min(low, 0.0), max(high, 0.0)
    chance_low, chance_high = (float(np.quantile(null, q)) for q in (0.025, 0.975))
    return RankAgreement(
        measure, first.size, rho, float(null.mean()), chance_low, chance_high, p, value, low, high, level,
        f"{IntervalKind.INVERSION} (over normal effects, errors by the jackknife; {null.size:,} draws)",
    )  # fmt: skip


def draws_for(cells: int) -> int:
    """Number of draws for this many cells.

    Examples
    --------
    >>> draws_for(40), draws_for(4000)
    (1000, 200)
    """
    return int(np.clip(_MOST // max(cells, 1), 200, _DRAWS))


def _invert_correlation(
    rho: float, estimates: tuple[Array, Array], noise: tuple[Array, Array], alpha: float
) -> tuple[float, float, float]:
    """Lower end, middle and upper end of the correlations of effects that agree with the one that was measured."""
    taus = [np.sqrt(max(x.var() - float(e.var(axis=1).mean()), 0.0)) for x, e in zip(estimates, noise, strict=True)]
    rng = np.random.default_rng(RANK_SEED)
    one_effect, another = rng.standard_normal((2, *noise[0].shape))
    first = _ranks(taus[0] * one_effect + noise[0])
    quantiles = np.array(
        [
            np.quantile(
                _spearman(first, _ranks(taus[1] * (r * one_effect + np.sqrt(1 - r * r) * another) + noise[1])),
                [alpha / 2, 0.5, 1 - alpha / 2],
            )
            for r in _GRID
        ]
    )
    quantiles = np.maximum.accumulate(quantiles, axis=0)  # they rise with r, but for the noise of the draws
    ends = [float(np.interp(rho, quantiles[:, at], _GRID)) for at in (2, 1, 0)]
    if rho < quantiles[0, 0] or rho > quantiles[-1, 2]:  # further out than any effects of this size explain
        ends = [-1.0, np.sign(rho), 1.0]
    if rho <= quantiles[0, 2]:
        ends[0] = -1.0
    if rho >= quantiles[-1, 0]:
        ends[2] = 1.0
    if not all(taus):
        ends[1] = float("nan")
    low, value, high = (float(6 / np.pi * np.arcsin(end / 2)) for end in ends)
    return low, value, high


def _ranks(values: Array) -> Array:
    """Ranks within each row, centred and of length one; ties have ranks in order, which errors hardly have."""
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, values.argsort(axis=1), np.arange(values.shape[1], dtype=np.float64)[None], axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    return ranks / np.sqrt((ranks**2).sum(axis=1, keepdims=True))


def _spearman(first: Array, second: Array) -> npt.NDArray[np.float64]:
    return np.asarray((first * second).sum(axis=1))
