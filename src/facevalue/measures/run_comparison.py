"""Comparison of two runs, cell by cell: real against synthetic pictures, one model against another.

Works on plain tables, so that printed tables and runs are compared by the same code. VIGNETTE's Tables 12 and 13 are of
this kind: differences of selection frequencies, second minus first, in percentage points. Whatever has a standard error
can be compared; shares have intervals of their own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import adjustment, cluster_bootstrap, comparison
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates, single
from facevalue.measures.interval_method import BOOTSTRAP
from facevalue.measures.proportions import square_and_add, wilson
from facevalue.measures.selection import to_array
from facevalue.measures.table_entries import codes

STATISTICS = ("mean_signed_delta", "mean_absolute_error", "rmse", "max_absolute_delta")
"""What Tables 12 and 13 print, in their order."""
RESAMPLES = 1000
SIMULTANEOUS = "t intervals of the cells, Bonferroni over them"
JACKKNIFE = "delete-one jackknife over descriptors"
_BLOCK = 2**20  # elements of one matrix of drawn differences: bounds the work space at some 50 MB
_NUMBERS = ("value", "se", "n", "clusters")
_SIDES = ("first", "second")
_FLAT = 1e-13  # variances of shares below this are rounding
_MOST = 1e6  # effective answers of a cell: beyond, a cell has no noise to speak of


@dataclass(frozen=True, slots=True)
class Scale:
    """What values are compared."""

    low: float = -math.inf
    high: float = math.inf
    """Smallest and largest possible value."""
    share: bool = False
    """Whether they are shares of answers, from 0 to `high` (1, or 100 for percentages)."""

    @property
    def whole(self) -> float:
        """What is divided by, so that shares lie between 0 and 1."""
        return self.high if self.share else 1.0

    @property
    def apart(self) -> float:
        """How far two values can lie apart."""
        return self.high - self.low


PERCENT = Scale(0.0, 100.0, share=True)


@dataclass(frozen=True, slots=True)
class Matched:
    """Cells that were measured twice, and those that were not."""

    keys: tuple[str, ...]
    cells: pl.DataFrame
    """Keys, `first`, `second`, `delta` (second - first), `se`, `df`, `low`, `high`, `z`, `p`, `q`, and `se_first`,
    `se_second`, `n_first`, `n_second`, `clusters_first`, `clusters_second`. Null where the tables don't say how
    uncertain they are, and where either side has a single cluster."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Keys of the cells that only one of the two has a value for."""
    scale: Scale = PERCENT


def match(
    first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str], within: Sequence[str] = (), scale: Scale = PERCENT
) -> Matched:
    """Bring two tables of values together, cell by cell.

    Parameters
    ----------
    first, second:
        Columns `keys` (null is a level like any other: "over all") and `value`; `se`, `n` and `clusters` if they are
        known. A null value is none. One row per cell.
    within:
        The keys whose levels make families of their own for q; one family over all cells by default.

    Equation
    --------
    delta = second - first, of independent measurements. Where they are no shares, Welch's t: se² = se_1² + se_2², df by
    Satterthwaite from G_k - 1 of each. Of shares p_k from G_k clusters: the variance of a cluster is
    taken as common to both, u = Σ_k (G_k - 1) G_k se_k² / (G_1 + G_2 - 2), so that each cluster is worth
    e = Σ_k G_k p_k (1 - p_k) / (G_1 + G_2) / u answers (1 if no cluster differs from another). Wilson's limits of
    p_k from e G_k answers with df = G_1 + G_2 - 2 (`proportions.wilson`), put together by square-and-add
    (`proportions.square_and_add`), give low and high. se is what of the interval lies on the side of zero, over
    t_{df}; z = delta / se, and p by t: below 0.05 exactly where the interval leaves zero out. So 0% and 100% are
    uncertain, too, and no limit lies beyond what is possible. q by Benjamini-Hochberg.

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
    >>> found = match(real, drawn, ["identity"])
    >>> found.cells.select("identity", "delta").rows()
    [('old', 5.0), ('young', -5.0)]
    >>> found.only_first.rows(), found.only_second.rows()
    ([('adult',)], [('child',)])
    """
    one, two = (_table(frame, keys, scale) for frame in (first, second))
    both = one.join(two, on=list(keys), nulls_equal=True, suffix="_second", maintain_order="left")
    if not both.height:
        raise DataError(
            f"The two have no cell in common: {_example(one, keys)} in the first, {_example(two, keys)} in the second."
        )
    compared = _compared(both.rename({name: f"{name}_first" for name in _NUMBERS}), within, scale)
    alone = (
        mine.join(other, on=list(keys), how="anti", nulls_equal=True, maintain_order="left").select(keys)
        for mine, other in ((one, two), (two, one))
    )
    return Matched(tuple(keys), compared, next(alone), next(alone), scale)


def _table(frame: pl.DataFrame, keys: Sequence[str], scale: Scale) -> pl.DataFrame:
    for name in (*keys, "value"):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    numbers = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(pl.Float64).fill_nan(None).alias(name)
        for name in _NUMBERS
    ]
    out = frame.select(*(pl.col(name).cast(pl.String) for name in keys), *numbers).filter(pl.col("value").is_not_null())
    wrong = out.filter(~pl.col("value").is_between(scale.low - 1e-6, scale.high + 1e-6))
    if wrong.height:
        what = "no percentage" if scale == PERCENT else f"not between {scale.low:g} and {scale.high:g}"
        raise DataError(f"{wrong['value'][0]:g} is {what}: {_example(wrong, keys)}.")
    twice = out.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(f"Two rows for one cell: {_example(twice, keys)}.")
    return out


def _example(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    if not frame.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in zip(keys, frame.row(0), strict=False) if level is not None)


def _compared(both: pl.DataFrame, within: Sequence[str], scale: Scale) -> pl.DataFrame:
    frame = both.rename({"value_first": "first", "value_second": "second"})
    delta = to_array(frame["second"]) - to_array(frame["first"])
    low, high, df = _interval(frame, scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        facing = np.where(delta > 0, delta - low, np.where(delta < 0, high - delta, (high - low) / 2))
        se = facing / scipy.stats.t.ppf(0.5 + LEVEL / 2, df)
        z = np.where(se > 0, delta / se, np.nan)
    p = np.asarray(2 * scipy.stats.t.sf(np.abs(z), df))
    columns = {"delta": delta, "se": se, "df": df, "low": low, "high": high}
    family = codes(both.select(pl.struct(within)).to_series()) if within else np.zeros(p.size, dtype=np.int64)
    columns |= {"z": z, "p": p, "q": adjustment.within(p, family)}
    made = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    counts = [f"{name}_{side}" for name in ("se", "n", "clusters") for side in _SIDES]
    keys = [name for name in frame.columns if name not in {*_SIDES, *counts}]
    return pl.concat([frame.select(*keys, *_SIDES), made, frame.select(counts)], how="horizontal")


@dataclass(frozen=True, slots=True)
class _Two:
    """Both measurements of each cell by side, percentages as shares; NaN where either has no known spread."""

    value: Array
    groups: Array
    inside: Array
    """Sum of squares within each side: of clusters from their mean."""


def _two(frame: pl.DataFrame, scale: Scale) -> _Two:
    value, se, groups = (
        np.array([to_array(frame[side if name == "value" else f"{name}_{side}"]) for side in _SIDES])
        for name in ("value", "se", "clusters")
    )
    known = (np.isfinite(se) & (groups > 1)).all(axis=0)
    value = np.clip(value, scale.low, scale.high) / scale.whole
    value, groups = (np.where(known, x, np.nan) for x in (value, groups))
    return _Two(value, groups, (groups - 1) * groups * (se / scale.whole) ** 2)


def _interval(frame: pl.DataFrame, scale: Scale, level: float = LEVEL) -> tuple[Array, Array, Array]:
    """Limits of the deltas in the unit of the values, and the degrees of freedom: see `match`."""
    two = _two(frame, scale)
    if scale.share:
        df = two.groups.sum(axis=0) - 2
        with np.errstate(invalid="ignore", divide="ignore"):
            common = two.inside.sum(axis=0) / df
            inside = (two.groups * two.value * (1 - two.value)).sum(axis=0) / (df + 2)
            worth = np.where((common <= _FLAT) | (inside <= _FLAT), 1.0, inside / common)
        first, second = ((p, *wilson(p, worth * g, df, level)) for p, g in zip(two.value, two.groups, strict=True))
        _, low, high = square_and_add(second, first)
    else:
        free = two.groups - 1
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = two.inside / (free * two.groups)
            total = variance.sum(axis=0)
            df = np.where(total > 0, total**2 / (variance**2 / free).sum(axis=0), np.nan)
            reach = scipy.stats.t.ppf(0.5 + level / 2, df) * np.sqrt(total)
        low, high = two.value[1] - two.value[0] - reach, two.value[1] - two.value[0] + reach
    return *(np.clip(scale.whole * x, -scale.apart, scale.apart) for x in (low, high)), df


def summarise(
    matched: Matched, unit: Sequence[str], by: Sequence[str] = (), seed: int = 0, resamples: int = RESAMPLES
) -> pl.DataFrame:
    """How far two measurements lie apart: the four numbers of Tables 12 and 13, with what chance alone gives.

    `unit`: keys that name a descriptor (identity and gender): its cells belong together in the intervals. `by`: keys to
    summarise by (activity); all cells together by default.
    Returns a row per level of `by` and statistic: `by`, `statistic`, `value`, `low`, `high`, `se`, `n` (cells),
    `clusters` (descriptors), `p`, `floor`, `floor_high`, `floor_value`, `floor_n`, `method`.

    Equation
    --------
    mean signed delta Σ d_i / N; mean absolute error Σ |d_i| / N; RMSE sqrt(Σ d_i² / N); maximum max |d_i| (VIGNETTE,
    section A.6, Tables 12 and 13), d_i = second - first.

    Notes
    -----
    The signed mean has the house interval over descriptors. The unsigned ones are above zero without any difference:
    the floor is their mean and 95th percentile when both measurements of each cell are noise around a common value
    (`floor`), and p is how often noise reaches the value. Cells whose spread is unknown on either side (a single
    cluster) have no part in it: `floor_n` cells have, and `floor_value` is the statistic of these, which p is about.
    The cells are taken as independent there, which is right for the mean of the absolute errors and of the squares, and
    only roughly for the percentile. Mean absolute error and RMSE have a jackknife interval. The jackknife fails for a
    maximum (Miller 1974, "The jackknife"); its interval is where the largest true difference lies if the intervals of
    all cells hold. No interval goes beyond what is possible.
    """
    for name in (*unit, *by):
        if name not in matched.keys:
            raise UnknownNameError("key", name, matched.keys)
    groups = [((), matched.cells)] if not by else matched.cells.group_by(list(by), maintain_order=True)
    parts = []
    for levels, cells in groups:
        own = _summary(cells, unit, seed, resamples, matched.scale)
        parts.append(own.select(*(pl.lit(lv, pl.String).alias(k) for k, lv in zip(by, levels, strict=True)), pl.all()))
    return pl.concat(parts)


def _summary(cells: pl.DataFrame, unit: Sequence[str], seed: int, resamples: int, scale: Scale) -> pl.DataFrame:
    delta = to_array(cells["delta"])
    who = cells.select(pl.struct(unit).rank("dense").alias("who"))["who"].to_numpy().astype(np.int64) - 1
    size = int(who.max()) + 1
    found = [_signed(delta, who, size, seed), *_unsigned(delta, who, size), _largest(cells, delta, size, scale)]
    noisy = cells.filter(pl.col("df").is_not_null())
    null = floor(noisy, seed, resamples, scale)
    if null is not None:
        apart = np.abs(to_array(noisy["delta"]))
        observed = np.array([apart.mean(), np.sqrt((apart**2).mean()), apart.max()])
        chance = cluster_bootstrap.floor_from(null, observed)
    rows: list[dict[str, object]] = []
    for i, (name, own) in enumerate(zip(STATISTICS, found, strict=True)):
        low, high = np.clip([own.low[0], own.high[0]], -scale.apart if i == 0 else 0.0, scale.apart)
        row: dict[str, object] = {"statistic": name, "value": own.value[0], "low": low, "high": high}
        row |= {"se": own.se[0] if own.se is not None else np.nan, "n": delta.size, "clusters": size, "p": np.nan}
        row |= {"floor": np.nan, "floor_high": np.nan, "floor_value": np.nan, "floor_n": None}
        if i == 0:
            row["p"] = _signed_p(delta, who, size, seed, own)
        elif null is not None:
            row |= {"floor": chance.mean[i - 1], "floor_high": chance.high[i - 1], "p": chance.p[i - 1]}
            row |= {"floor_value": observed[i - 1], "floor_n": noisy.height}
        rows.append(row | {"method": str(own.method[0])})
    made = pl.DataFrame(rows, schema_overrides={"floor_n": pl.Int64})
    return made.with_columns(pl.col(pl.Float64).fill_nan(None))


def _sums(values: Array, who: np.ndarray, size: int) -> tuple[Array, Array]:
    return cluster_bootstrap.cluster_sums(values, who, np.zeros_like(who), size, 1)


def _signed(delta: Array, who: np.ndarray, size: int, seed: int) -> Estimates:
    return cluster_bootstrap.means(*_sums(delta, who, size), seed)


def _signed_p(delta: Array, who: np.ndarray, size: int, seed: int, own: Estimates) -> float:
    part = _sums(delta, who, size)
    if own.method[0] == BOOTSTRAP:
        weights = cluster_bootstrap.bootstrap_weights(size, cluster_bootstrap.RESAMPLES, seed)
        return float(comparison.studentised([part], [weights]).p[0])
    return float(comparison.t_interval([part]).p[0])


def _unsigned(delta: Array, who: np.ndarray, size: int) -> list[Estimates]:
    def root(sums: Array, counts: Array) -> Array:
        return np.sqrt(np.maximum(cluster_bootstrap.ratio(sums, counts), 0.0))

    statistics: list[tuple[Array, Callable[[Array, Array], Array]]] = [
        (np.abs(delta), cluster_bootstrap.ratio),
        (delta**2, root),
    ]
    out = []
    for values, statistic in statistics:
        value, low, high, se = cluster_bootstrap.jackknife(*_sums(values, who, size), statistic)
        method = JACKKNIFE if size > 1 else "no interval: one descriptor"
        out.append(single(value[0], low[0], high[0], se[0], delta.size, size, method))
    return out


def _largest(cells: pl.DataFrame, delta: Array, size: int, scale: Scale) -> Estimates:
    value, low, high, method = float(np.abs(delta).max()), np.nan, np.nan, SIMULTANEOUS
    bottom, top, _ = _interval(cells, scale, 1 - (1 - LEVEL) / delta.size)
    if np.isfinite(bottom).all():
        low = max(float(np.maximum(bottom, -top).max()), 0.0)
        high = float(np.maximum(-bottom, top).max())
    else:
        method = "no interval: not every cell has a standard error"
    return single(value, low, high, np.nan, delta.size, size, method)


def floor(cells: pl.DataFrame, seed: int, resamples: int = RESAMPLES, scale: Scale = PERCENT) -> Array | None:
    """Mean absolute error, RMSE and maximum of differences that are noise alone.

    `cells`: as `match` gives them, all of known spread: `first`, `second`, `se_first`, `se_second`, `clusters_first`,
    `clusters_second`.
    Returns values of shape (resamples, 3), in the unit of the values; None without cells.

    Equation
    --------
    If both measure one thing, which clusters are the first's is chance. Redealt, d has mean 0 and variance
    u (1/G_1 + 1/G_2), u = (Σ_k (G_k - 1) G_k se_k² + d² G_1 G_2 / G) / (G - 1), G = G_1 + G_2: it is drawn as normal.
    Shares vary so around their common share P: P M of M = 1 + P (1 - P) G / u answers are dealt out, G_1 M / G to the
    first and the others to the second, so that the first's count is hypergeometric. M = G where each cluster is
    one answer: that is Fisher's exact distribution. Unlike draws around an estimated P, these are neither too large
    nor too small on average, however small the cells. A real difference counts as noise here, too: the floor is at
    most too high.

    Examples
    --------
    >>> one = pl.DataFrame({"identity": map(str, range(2000)), "value": 50.0, "se": 2.0, "clusters": 400})
    >>> null = floor(match(one, one, ["identity"]).cells, seed=0, resamples=10)
    >>> null.mean(axis=0)[:2].round(1).tolist()  # 2 √2 √(2/π) and 2 √2
    [2.3, 2.8]
    """
    if not cells.height:
        return None
    rng = np.random.default_rng(seed)
    two = _two(cells, scale)
    groups = two.groups.sum(axis=0)
    common = (two.groups * two.value).sum(axis=0) / groups
    squares = two.inside.sum(axis=0) + two.groups.prod(axis=0) / groups * (two.value[1] - two.value[0]) ** 2
    variance = squares / (groups - 1)
    spread = np.sqrt(variance * (1 / two.groups).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        answers = np.where(variance <= _FLAT, groups, 1 + common * (1 - common) * groups / variance)
    answers = np.minimum(answers, _MOST)
    parts = answers * two.groups / groups
    total, square, largest = (np.zeros(resamples) for _ in range(3))
    step = max(1, _BLOCK // resamples)
    for start in range(0, cells.height, step):
        at = slice(start, start + step)
        if scale.share:
            drawn = _redealt(rng, parts[:, at], common[at], resamples)
        else:
            drawn = np.abs(rng.standard_normal((resamples, spread[at].size)) * spread[at])
        total += drawn.sum(axis=1)
        square += (drawn**2).sum(axis=1)
        largest = np.maximum(largest, drawn.max(axis=1))
    return scale.whole * np.stack([total / cells.height, np.sqrt(square / cells.height), largest], axis=1)


def _redealt(rng: np.random.Generator, parts: Array, common: Array, resamples: int) -> Array:
    """|second - first| in shares, shape (resamples, cells), of counts that are rounded up or down by chance."""

    def whole(x: Array) -> npt.NDArray[np.int64]:
        return np.floor(x + rng.random((resamples, common.size))).astype(np.int64)

    first, second = (np.maximum(whole(part), 1) for part in parts)
    chosen = whole(common * (first + second))
    dealt = rng.hypergeometric(chosen, first + second - chosen, first)
    return np.abs((chosen - dealt) / second - dealt / first)
