"""Two measurements of the same cells compared: real against synthetic pictures, one model against another.

Works on plain tables of values, so that printed tables and runs are compared by the same code. VIGNETTE's Tables 12 and
13 are of this kind: differences of selection frequencies, second minus first, in percentage points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import comparison, inference
from facevalue.measures.families import adjust
from facevalue.measures.inference import LEVEL, Array, Estimates
from facevalue.measures.method import BOOTSTRAP

STATISTICS = ("mean_signed_delta", "mean_absolute_error", "rmse", "max_absolute_delta")
"""What Tables 12 and 13 print, in their order."""
RESAMPLES = 1000
SIMULTANEOUS = "t intervals of the cells, Bonferroni over them"
JACKKNIFE = "delete-one jackknife over descriptors"
_BLOCK = 2**21  # elements of one matrix of drawn differences: bounds the work space at 16 MB
_NUMBERS = ("value", "se", "n", "clusters")


@dataclass(frozen=True, slots=True)
class Matched:
    """Cells that were measured twice, and those that were not.

    Attributes
    ----------
    keys:
        Columns that name a cell.
    cells:
        Keys, `first`, `second`, `delta` (second - first), `se`, `df`, `low`, `high`, `z`, `p`, `q`, and `n_first`,
        `n_second`, `clusters_first`, `clusters_second`. Null where the tables don't say how uncertain they are.
    only_first, only_second:
        Keys of the cells that only one of the two has a value for.
    """

    keys: tuple[str, ...]
    cells: pl.DataFrame
    only_first: pl.DataFrame
    only_second: pl.DataFrame


def match(first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str], within: Sequence[str] = ()) -> Matched:
    """Bring two tables of values together, cell by cell.

    Parameters
    ----------
    first, second:
        Columns `keys` (null is a level like any other: "over all") and `value`; if known also `se`, `n` and
        `clusters`. A null value is none. One row per cell.
    keys:
        What names a cell.
    within:
        The keys whose levels make families of their own for q; one family over all cells by default.

    Equation
    --------
    delta = second - first; se² = se_1² + se_2² (independent measurements); z = delta / se, p two-sided by Student's t
    with Welch's df = se⁴ / Σ_k (se_k⁴ / (G_k - 1)), G_k the clusters of a cell; the normal distribution where G is not
    known. q by Benjamini-Hochberg. No z where neither measurement varies: its spread is not known then.

    Raises
    ------
    UnknownNameError
        A table lacks a column.
    DataError
        A table has two rows for one cell, or the two share none.

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
    one, two = (_table(frame, keys) for frame in (first, second))
    both = one.join(two, on=list(keys), nulls_equal=True, suffix="_second", maintain_order="left")
    if not both.height:
        raise DataError(
            f"The two have no cell in common: {_example(one, keys)} in the first, {_example(two, keys)} in the second."
        )
    compared = _compared(both.rename({name: f"{name}_first" for name in _NUMBERS}), within)
    return Matched(
        tuple(keys),
        compared,
        *(
            mine.join(other, on=list(keys), how="anti", nulls_equal=True, maintain_order="left").select(keys)
            for mine, other in ((one, two), (two, one))
        ),
    )


def _table(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    for name in (*keys, "value"):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    numbers = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(pl.Float64).fill_nan(None).alias(name)
        for name in _NUMBERS
    ]
    out = frame.select(*(pl.col(name).cast(pl.String) for name in keys), *numbers).filter(pl.col("value").is_not_null())
    twice = out.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(f"Two rows for one cell: {_example(twice, keys)}.")
    return out


def _example(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    if not frame.height:
        return "none"
    return ", ".join(f"{name} {level}" for name, level in zip(keys, frame.row(0), strict=False) if level is not None)


def _compared(both: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    delta = _array(both, "value_second") - _array(both, "value_first")
    variances = np.array([_array(both, f"se_{side}") ** 2 for side in ("first", "second")])
    free = np.array([_array(both, f"clusters_{side}") - 1 for side in ("first", "second")])
    free = np.where(np.isnan(free), np.inf, np.maximum(free, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = variances.sum(axis=0)
        se = np.sqrt(total)
        parts = (variances**2 / free).sum(axis=0)
        df = np.where(parts > 0, total**2 / parts, np.inf)
        z = np.where(se > 0, delta / se, np.nan)
        p = np.asarray(2 * stats.t.sf(np.abs(z), df))
        spread = np.where(se > 0, stats.t.ppf(0.5 + LEVEL / 2, df) * se, np.nan)
    columns = {"delta": delta, "se": se, "df": np.where(np.isfinite(se), df, np.nan)}
    columns |= {"low": delta - spread, "high": delta + spread, "z": z, "p": p, "q": _within(both, p, within)}
    made = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    values = both.rename({"value_first": "first", "value_second": "second"})
    counts = [f"{name}_{side}" for name in ("n", "clusters") for side in ("first", "second")]
    keys = [name for name in values.columns if name not in {"first", "second", "se_first", "se_second", *counts}]
    return pl.concat([values.select(*keys, "first", "second"), made, values.select(counts)], how="horizontal")


def _within(frame: pl.DataFrame, p: Array, within: Sequence[str]) -> Array:
    if not within:
        return adjust(p, "bh")
    out = np.full(p.shape, np.nan)
    for rows in frame.select(within).with_row_index("row").group_by(within, maintain_order=True).agg("row")["row"]:
        at = rows.to_numpy()
        out[at] = adjust(p[at], "bh")
    return out


def summarise(
    matched: Matched, unit: Sequence[str], by: Sequence[str] = (), seed: int = 0, resamples: int = RESAMPLES
) -> pl.DataFrame:
    """How far two measurements lie apart: the four numbers of Tables 12 and 13, with what chance alone gives.

    Parameters
    ----------
    matched:
        From `match`.
    unit:
        Keys that name a descriptor (identity and gender): its cells belong together in the intervals.
    by:
        Keys to summarise by (activity); all cells together by default.
    seed, resamples:
        Of the noise floor and of the bootstrap's draws.

    Returns
    -------
    A row per level of `by` and statistic: `by`, `statistic`, `value`, `low`, `high`, `se`, `n` (cells), `clusters`
    (descriptors), `p`, `floor`, `floor_high`, `method`.

    Equation
    --------
    mean signed delta Σ d_i / N; mean absolute error Σ |d_i| / N; RMSE sqrt(Σ d_i² / N); maximum max |d_i| (VIGNETTE,
    section A.6, Tables 12 and 13), d_i = second - first.

    Notes
    -----
    The signed mean has the house interval over descriptors. The unsigned ones are above zero without any difference:
    the floor is their mean and 95th percentile when each d_i is noise alone, normal with its own standard error, and p
    is how often noise reaches the value. The cells are taken as independent there, which is right for the mean of the
    absolute errors and of the squares, and only roughly for the percentile. There is no floor where a cell has no
    standard error. Mean absolute error and RMSE have a jackknife interval. The jackknife fails for a maximum (Miller
    1974, "The jackknife"); its interval is where the largest true difference lies if the intervals of all cells hold.
    """
    for name in (*unit, *by):
        if name not in matched.keys:
            raise UnknownNameError("key", name, matched.keys)
    groups = [((), matched.cells)] if not by else matched.cells.group_by(list(by), maintain_order=True)
    parts = []
    for levels, cells in groups:
        own = _summary(cells, unit, seed, resamples)
        parts.append(own.select(*(pl.lit(lv, pl.String).alias(k) for k, lv in zip(by, levels, strict=True)), pl.all()))
    return pl.concat(parts)


def _summary(cells: pl.DataFrame, unit: Sequence[str], seed: int, resamples: int) -> pl.DataFrame:
    delta, se = _array(cells, "delta"), _array(cells, "se")
    who = cells.select(pl.struct(unit).rank("dense").alias("who"))["who"].to_numpy().astype(np.int64) - 1
    size = int(who.max()) + 1
    found = [_signed(delta, who, size, seed), *_unsigned(delta, who, size), _largest(cells, delta, se, size)]
    null = floor(se, seed, resamples)
    observed = np.array([own.value[0] for own in found[1:]])
    unsigned = inference.floor_from(null, observed) if null is not None else None
    rows = []
    for i, (name, own) in enumerate(zip(STATISTICS, found, strict=True)):
        row = {"statistic": name, "value": own.value[0], "low": own.low[0], "high": own.high[0]}
        row |= {"se": own.se[0] if own.se is not None else np.nan, "n": delta.size, "clusters": size, "p": np.nan}
        row |= {"floor": np.nan, "floor_high": np.nan, "method": str(own.method[0])}
        if i == 0:
            row["p"] = _signed_p(delta, who, size, seed, own)
        elif unsigned is not None:
            row |= {
                k: a[i - 1] for k, a in (("floor", unsigned.mean), ("floor_high", unsigned.high), ("p", unsigned.p))
            }
        rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))


def _sums(values: Array, who: np.ndarray, size: int) -> tuple[Array, Array]:
    return inference.cluster_sums(values, who, np.zeros_like(who), size, 1)


def _signed(delta: Array, who: np.ndarray, size: int, seed: int) -> Estimates:
    return inference.means(*_sums(delta, who, size), seed)


def _signed_p(delta: Array, who: np.ndarray, size: int, seed: int, own: Estimates) -> float:
    part = _sums(delta, who, size)
    if own.method[0] == BOOTSTRAP:
        weights = inference.bootstrap_weights(size, inference.RESAMPLES, seed)
        return float(comparison.studentised([part], [weights]).p[0])
    return float(comparison.t_interval([part]).p[0])


def _unsigned(delta: Array, who: np.ndarray, size: int) -> list[Estimates]:
    def root(sums: Array, counts: Array) -> Array:
        return np.sqrt(np.maximum(inference.ratio(sums, counts), 0.0))

    statistics: list[tuple[Array, Callable[[Array, Array], Array]]] = [
        (np.abs(delta), inference.ratio),
        (delta**2, root),
    ]
    out = []
    for values, statistic in statistics:
        value, low, high, se = inference.jackknife(*_sums(values, who, size), statistic)
        method = JACKKNIFE if size > 1 else "no interval: one descriptor"
        out.append(_single(value[0], low[0], high[0], se[0], delta.size, size, method))
    return out


def _largest(cells: pl.DataFrame, delta: Array, se: Array, size: int) -> Estimates:
    value, low, high, method = float(np.abs(delta).max()), np.nan, np.nan, SIMULTANEOUS
    if (se > 0).all():
        factor = stats.t.ppf(1 - (1 - LEVEL) / (2 * delta.size), _array(cells, "df"))
        low = max(float((np.abs(delta) - factor * se).max()), 0.0)
        high = float((np.abs(delta) + factor * se).max())
    else:
        method = "no interval: not every cell has a standard error"
    return _single(value, low, high, np.nan, delta.size, size, method)


def _single(value: float, low: float, high: float, se: float, n: int, clusters: int, method: str) -> Estimates:
    at = [np.array([x]) for x in (value, low, high, se)]
    how = np.array([method], dtype=object)
    return Estimates(at[0], at[1], at[2], np.array([n]), np.array([clusters]), how, at[3])


def floor(se: Array, seed: int, resamples: int = RESAMPLES) -> Array | None:
    """Mean absolute error, RMSE and maximum of differences that are noise alone.

    Parameters
    ----------
    se:
        Standard error of each cell's difference.
    seed, resamples:
        Of the draws.

    Returns
    -------
    Shape (resamples, 3); None where a cell has no standard error.

    Examples
    --------
    >>> null = floor(np.full(10_000, 2.0), seed=0, resamples=10)
    >>> null.mean(axis=0)[:2].round(1).tolist()  # 2 sqrt(2/π) and 2
    [1.6, 2.0]
    """
    if not se.size or np.isnan(se).any():
        return None
    rng = np.random.default_rng(seed)
    total, squares, largest = (np.zeros(resamples) for _ in range(3))
    step = max(1, _BLOCK // resamples)
    for start in range(0, se.size, step):
        part = se[start : start + step]
        drawn = np.abs(rng.standard_normal((resamples, part.size)) * part)
        total += drawn.sum(axis=1)
        squares += (drawn**2).sum(axis=1)
        largest = np.maximum(largest, drawn.max(axis=1))
    return np.stack([total / se.size, np.sqrt(squares / se.size), largest], axis=1)


def _array(frame: pl.DataFrame, column: str) -> Array:
    return frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
