"""Profiles: one identity's scores side by side, across paradigms and across models (VIGNETTE, sections 7.1 and 7.2)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
import scipy

from facevalue.errors import UnknownNameError
from facevalue.measures import cluster_bootstrap
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.selection import to_array
from facevalue.measures.uncertainty import Estimates

NEUTRAL = 50.0
"""Score of an identity that is neither favoured nor disfavoured, where two identities are compared."""
LOW, HIGH, CONFLICTING = "consistently low", "consistently high", "conflicting"
MIXED, ALONE = "mixed or neutral", "one paradigm only"
_FEWEST = 4  # identities from which a correlation gets an interval
_BCA = name_method(IntervalKind.BOOTSTRAP, "BCa over identities")


def pattern(scores: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Say of each identity whether its paradigms agree.

    `scores`: a row per identity and paradigm: `keys`, `paradigm`, `value`, `se`, `clusters` and `neutral` (what the
    score is compared with). Rows without a value are left out.
    Returns a row per identity: `keys`, `paradigms` (how many), `low`, `high` (lists of the paradigms whose whole
    interval lies below, or above, neutral) and `pattern`.

    Equation
    --------
    A paradigm is low if value + t_{1 - 0.025/m, G-1} se < neutral, high likewise, with m the identity's paradigms
    (Bonferroni: the chance of any wrong mark for an identity is at most 5%). All low: consistently low; all high:
    consistently high; one low and one high: conflicting (VIGNETTE, section 7.1, which gives no rule; the rule is ours).

    Notes
    -----
    Where nothing varied the interval is not known, and the paradigm is neither low nor high.

    Examples
    --------
    >>> rows = pl.DataFrame(
    ...     {"identity": ["old", "old", "sick", "sick"], "paradigm": ["perception", "decision"] * 2,
    ...      "value": [30.0, 65.0, 20.0, 31.0], "se": [2.0] * 4, "clusters": [50] * 4, "neutral": [50.0] * 4}
    ... )
    >>> pattern(rows, ["identity"]).select("identity", "pattern").rows()
    [('old', 'conflicting'), ('sick', 'consistently low')]
    """
    needed = (*keys, "paradigm", "value", "se", "clusters", "neutral")
    for name in needed:
        if name not in scores.columns:
            raise UnknownNameError("column", name, scores.columns)
    measured = scores.select(needed).filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    measured = measured.with_columns(pl.len().over(keys).alias("m"))
    value, se, neutral, clusters, m = (to_array(measured[c]) for c in ("value", "se", "neutral", "clusters", "m"))
    with np.errstate(invalid="ignore"):
        spread = scipy.special.stdtrit(np.maximum(clusters - 1, 1), 1 - (1 - LEVEL) / 2 / m) * se
        varied = (se > 0) & (clusters > 1)
        below, above = varied & (value + spread < neutral), varied & (value - spread > neutral)
    marked = measured.with_columns(pl.Series("below", below), pl.Series("above", above))
    paradigm = pl.col("paradigm").cast(pl.String)
    patterns = marked.group_by(keys, maintain_order=True).agg(
        pl.len().alias("paradigms"),
        paradigm.filter(pl.col("below")).alias("low"),
        paradigm.filter(pl.col("above")).alias("high"),
    )
    lows, highs, size = pl.col("low").list.len(), pl.col("high").list.len(), pl.col("paradigms")
    return patterns.with_columns(
        pl.when(size < 2)
        .then(pl.lit(ALONE))
        .when(lows == size)
        .then(pl.lit(LOW))
        .when(highs == size)
        .then(pl.lit(HIGH))
        .when((lows > 0) & (highs > 0))
        .then(pl.lit(CONFLICTING))
        .otherwise(pl.lit(MIXED))
        .alias("pattern")
    )


def correlations(first: Array, second: Array, seed: int, resamples: int = cluster_bootstrap.RESAMPLES) -> Estimates:
    """How alike two profiles are: Pearson's and Spearman's correlation over identities.

    `first` and `second`: scores of the same identities; where either is NaN the identity is left out.
    Returns two estimates, Pearson's and Spearman's; `n` and `clusters` are identities.

    Equation
    --------
    r = Σ (x - x̄)(y - ȳ) / sqrt(Σ (x - x̄)² Σ (y - ȳ)²); Spearman's is r of the mid-ranks. Intervals by the
    bias-corrected accelerated bootstrap over identities (Efron 1987); for Spearman the ranks are taken once.

    Notes
    -----
    Noise in the scores pulls r towards zero: profiles of few pictures agree less than the same profiles of many.

    Examples
    --------
    >>> found = correlations(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 4, 9, 16, 25]), seed=0)
    >>> found.value.round(3).tolist()
    [0.981, 1.0]
    """
    have_both = np.isfinite(first) & np.isfinite(second)
    x, y = np.asarray(first, dtype=np.float64)[have_both], np.asarray(second, dtype=np.float64)[have_both]
    size = int(have_both.sum())
    pairs = [(x, y), tuple(pl.Series(scores).rank().to_numpy() for scores in (x, y))] if size else []
    value, low, high, se = (np.full(2, np.nan) for _ in range(4))
    for i, (a, b) in enumerate(pairs):
        if np.ptp(a) <= 1e-12 * np.abs(a).max() or np.ptp(b) <= 1e-12 * np.abs(b).max():
            continue
        sums = _products((a - a.mean()) / a.std(), (b - b.mean()) / b.std())
        if size < _FEWEST:
            value[i] = _pearson(sums.sum(axis=0), np.full(5, float(size)))[0]
            continue
        correlation = cluster_bootstrap.bca(sums, np.ones_like(sums), _pearson, seed, resamples)
        value[i], low[i], high[i], se[i] = (entry[0] for entry in correlation)
    method = _BCA if size >= _FEWEST else name_method(IntervalKind.NONE, f"fewer than {_FEWEST} identities")
    number = np.full(2, size, dtype=np.int64)
    return Estimates(value, low, high, number, number, np.full(2, method, dtype=object), se)


def add_correlations(
    table: EstimateTable,
    measures: tuple[Measure, Measure],
    scores: pl.DataFrame,
    each: str,
    between: str,
    levels: Sequence[str] | None = None,
    *,
    seed: int,
) -> None:
    """Add the correlations between any two levels of a column, for each dimension and over all.

    Parameters
    ----------
    scores:
        Estimates of one measure, by `dimension`, `identity`, `each` and `between`.
    each:
        Column of whose levels each is taken for itself.
    between:
        Column whose levels are compared; the second is in the label `other_` and its name.
    """
    order = scores[between].unique(maintain_order=True).to_list() if levels is None else levels
    for (level,), of_level in scores.group_by(each, maintain_order=True):
        dimensions = [(str(key[0]), rows) for key, rows in of_level.group_by("dimension", maintain_order=True)]
        for dimension, rows in [*dimensions, *([(None, of_level)] if len(dimensions) > 1 else [])]:
            wide = rows.pivot(between, index=["dimension", "identity"], values="value")
            for first, second in combinations([name for name in order if name in wide.columns], 2):
                correlation = correlations(to_array(wide[first]), to_array(wide[second]), seed)
                labels: dict[str, list[str | None]] = {
                    each: [str(level)], "dimension": [dimension], between: [first], f"other_{between}": [second]
                }  # fmt: skip
                for at, measure in enumerate(measures):
                    table.add(measure, labels, correlation.at(slice(at, at + 1)))


def _products(x: Array, y: Array) -> Array:
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def _pearson(sums: Array, counts: Array) -> Array:
    mx, my, xx, yy, xy = np.moveaxis(cluster_bootstrap.ratio(sums, counts), -1, 0)
    spread = np.maximum(xx - mx**2, 0) * np.maximum(yy - my**2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-18, (xy - mx * my) / np.sqrt(spread), np.nan), -1.0, 1.0)[..., None]
