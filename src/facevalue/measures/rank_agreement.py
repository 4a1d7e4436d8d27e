"""Rank correlation of effects between two models, with a null that knows the pictures that both were shown.

Two models that are asked about the same pictures share what is odd about these: their estimates go up and down together
though neither has an effect. And noise on either side hides how much real effects agree. So a correlation stands beside
what chance gives on the same pictures, and its interval is of the effects without noise.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import NOT_MEASURABLE, IntervalKind

FEWEST = 5
"""Cells that a correlation takes."""
_DRAWS, _MOST = 1000, 400_000
_GRID = np.linspace(-1.0, 1.0, 21)
SEED = 20262


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
    if first.size < FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        reason = f"{NOT_MEASURABLE}: fewer than {FEWEST} cells, or all alike"
        return RankAgreement(measure, first.size, none, none, none, none, none, none, none, none, level, reason)
    rho = float(_spearman(_ranks(first[None]), _ranks(second[None]))[0])
    null = _spearman(_ranks(noise[0]), _ranks(noise[1]))
    beyond = min(int((null >= rho).sum()), int((null <= rho).sum()))
    p = min(2 * (beyond + 1) / (null.size + 1), 1.0)
    low, value, high = _inverted(rho, (first, second), noise, alpha)
    if p > alpha:
        low, high = min(low, 0.0), max(high, 0.0)
    chance_low, chance_high = (float(np.quantile(null, q)) for q in (0.025, 0.975))
    return RankAgreement(
        measure, first.size, rho, float(null.mean()), chance_low, chance_high, p, value, low, high, level,
        f"{IntervalKind.INVERSION} (over normal effects, errors by the jackknife; {null.size:,} draws)",
    )  # fmt: skip


def draws_for(cells: int) -> int:
    """How many draws so many cells are taken with.

    Examples
    --------
    >>> draws_for(40), draws_for(4000)
    (1000, 200)
    """
    return int(np.clip(_MOST // max(cells, 1), 200, _DRAWS))


def _inverted(
    rho: float, estimates: tuple[Array, Array], noise: tuple[Array, Array], alpha: float
) -> tuple[float, float, float]:
    """Lower end, middle and upper end of the correlations of effects that agree with the one that was measured."""
    taus = [np.sqrt(max(x.var() - float(e.var(axis=1).mean()), 0.0)) for x, e in zip(estimates, noise, strict=True)]
    rng = np.random.default_rng(SEED)
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
