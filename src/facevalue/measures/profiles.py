"""Profiles of identities, and agreement of effects in rank.

Rank correlation of effects between two models, with a null that knows the pictures that both were shown.

Two models that are asked about the same pictures share what is odd about these: their estimates go up and down together
though neither has an effect. And noise on either side hides how much real effects agree. So a correlation stands beside
what chance gives on the same pictures, and its interval is of the effects without noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, RESAMPLES, Array, bca_interval, cell_means
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import NOT_MEASURABLE, IntervalKind, name_method
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Estimates

NEUTRAL = 50.0
"""Score of an identity that is neither favoured nor disfavoured, where two identities are compared."""
LOW, HIGH, CONFLICTING = "consistently low", "consistently high", "conflicting"
MIXED, ALONE = "mixed or neutral", "one paradigm only"
_FEWEST = 4  # identities from which a correlation gets an interval
_BCA = name_method(IntervalKind.BOOTSTRAP, "BCa over identities")


def profile_pattern(scores: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
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
    >>> profile_pattern(rows, ["identity"]).select("identity", "pattern").rows()
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


def profile_correlations(first: Array, second: Array, seed: int, resamples: int = RESAMPLES) -> Estimates:
    """Correlate two profiles over identities, after Pearson and after Spearman.

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
    >>> found = profile_correlations(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 4, 9, 16, 25]), seed=0)
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
        correlation = bca_interval(sums, np.ones_like(sums), _pearson, seed, resamples)
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
                correlation = profile_correlations(to_array(wide[first]), to_array(wide[second]), seed)
                labels: dict[str, list[str | None]] = {
                    each: [str(level)], "dimension": [dimension], between: [first], f"other_{between}": [second]
                }  # fmt: skip
                for at, measure in enumerate(measures):
                    table.add(measure, labels, correlation.at(slice(at, at + 1)))


def _products(x: Array, y: Array) -> Array:
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def _pearson(sums: Array, counts: Array) -> Array:
    mx, my, xx, yy, xy = np.moveaxis(cell_means(sums, counts), -1, 0)
    spread = np.maximum(xx - mx**2, 0) * np.maximum(yy - my**2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-18, (xy - mx * my) / np.sqrt(spread), np.nan), -1.0, 1.0)[..., None]


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
