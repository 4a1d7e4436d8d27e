"""Divergence between what two tasks say of the same groups, over units of either task."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures import unsigned
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.distance_bounds import js_bounds, share_ranges
from facevalue.measures.divergence import js
from facevalue.measures.missing_data_bounds import averaged
from facevalue.measures.resampled import by_shuffles
from facevalue.measures.uncertainty import Bounds, Estimates


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes for the same options from units of two tasks, each of shape (units, options)."""

    first: Array
    second: Array
    missing: tuple[float, float] = (0.0, 0.0)
    """Votes of either task that nobody knows."""
    possible: npt.ArrayLike = 0.0
    """Votes of the first task for each option, of units that may be of another group."""

    @property
    def measurable(self) -> bool:
        """Whether both tasks say anything."""
        return bool(self.first.sum() > 0 and self.second.sum() > 0)


def divergences(votes: Sequence[Votes], seed: int) -> Estimates:
    """Jensen-Shannon divergence of each group's two tasks, and behind them their mean where there are several groups.

    Standard errors are jackknifed over the units of both tasks. Floors are those of two samples of one distribution, of
    as many independent votes as vary as much as each task's units do: the votes of one unit are alike, and the units of
    the two tasks may differ in how many they have, so that these can't be dealt out anew.

    Equation
    --------
    m_t = min(V_t, Σ_k p_tk (1 - p_tk) / Σ_k se_tk²), V_t the votes of task t, se jackknifed over its units: its votes
    over their mean design effect (Rao and Scott 1981). Null: JS(X_1 / m_1, X_2 / m_2), X_t multinomial of m_t votes
    with probabilities (m_1 p_1 + m_2 p_2) / (m_1 + m_2).

    Examples
    --------
    >>> told = Votes(np.array([[1.0, 0.0]] * 20), np.array([[0.0, 1.0]] * 20))
    >>> estimates = divergences([told], seed=0)
    >>> round(float(estimates.value[0]), 4), bool(estimates.q[0] < 0.05)
    (0.6931, True)
    """
    jackknives = [_jackknifed(v) for v in votes]
    value, se, n, clusters = (np.array([f[at] for f in jackknives]) for at in range(4))
    several = len(votes) > 1
    if several:
        value, se = np.append(value, value.mean()), np.append(se, np.sqrt((se**2).sum()) / len(votes))
        n, clusters = np.append(n, n.sum()), np.append(clusters, clusters.sum())
    rngs = [np.random.default_rng(seed + at) for at in range(len(votes))]

    def shuffled(size: int) -> Array:
        null = np.stack([_drawn(v, size, rng) for v, rng in zip(votes, rngs, strict=True)], axis=1)
        return np.column_stack([null, null.mean(axis=1)]) if several else null

    tests = by_shuffles(value, shuffled, signed=False)
    low, high = unsigned.interval(value, tests.floor)
    method = np.full(value.size, unsigned.METHOD, dtype=object)
    return tests.attach_to(Estimates(value, low, high, n.astype(np.int64), clusters.astype(np.int64), method, se))


def vote_bounds(votes: Sequence[Votes]) -> Bounds:
    """Bounds of `divergences`, wherever the missing votes had gone (`distance_bounds.js_bounds`).

    Examples
    --------
    >>> alone = np.array([[20.0, 0.0]])
    >>> bounds = vote_bounds([Votes(alone, alone[:, ::-1], missing) for missing in ((0, 0), (20, 20))])
    >>> bounds.low.round(3).tolist(), bounds.high.round(3).tolist()
    ([0.693, 0.0, 0.347], [0.693, 0.693, 0.693])
    """
    totals = np.array([[v.first.sum(axis=0), v.second.sum(axis=0)] for v in votes])
    missing = np.array([v.missing for v in votes])
    possible = np.array([np.broadcast_to(v.possible, totals.shape[2]) for v in votes])
    first = share_ranges(totals[:, 0], missing[:, 0], possible)
    bounds = js_bounds(_between(totals[:, 0], totals[:, 1]), first, share_ranges(totals[:, 1], missing[:, 1]))
    return Bounds.concatenate([bounds, averaged(bounds)]) if len(votes) > 1 else bounds


def _jackknifed(votes: Votes) -> tuple[float, float, int, int]:
    """Divergence with its standard error, votes and units."""
    sides = votes.first, votes.second
    totals = sides[0].sum(axis=0), sides[1].sum(axis=0)
    squares = 0.0
    for at, units in enumerate(sides):
        moved = _between(*[totals[i] - units if i == at else totals[i] for i in (0, 1)])
        squares += (
            float((len(units) - 1) / len(units) * np.nansum((moved - np.nanmean(moved)) ** 2))
            if len(units) > 1
            else np.nan
        )
    n = round(float(sides[0].sum() + sides[1].sum()))
    return float(_between(*totals)), float(np.sqrt(squares)), n, len(sides[0]) + len(sides[1])


def _drawn(votes: Votes, size: int, rng: np.random.Generator) -> Array:
    """Divergences where the two tasks say the same, each in so many independent votes."""
    shares = [units.sum(axis=0) / units.sum() for units in (votes.first, votes.second)]
    many = [_independent(units) for units in (votes.first, votes.second)]
    pooled = np.average(shares, axis=0, weights=many)
    first, second = (rng.multinomial(max(round(n), 1), pooled, size).astype(np.float64) for n in many)
    return _between(first, second)


def _independent(units: Array) -> float:
    """How many independent votes vary as much as these units do; one where there is but one unit."""
    totals, n = units.sum(axis=0), len(units)
    if n < 2:
        return 1.0
    share = totals / totals.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (totals - units) / (totals - units).sum(axis=1, keepdims=True)
    squares = (n - 1) / n * np.nansum((moved - np.nanmean(moved, axis=0)) ** 2)
    spread = (share * (1 - share)).sum()
    return float(min(totals.sum(), spread / squares)) if squares > 0 else float(min(totals.sum(), n))


def _between(first: Array, second: Array) -> Array:
    """Divergence of two distributions given as counts; NaN where one is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = first / first.sum(axis=-1, keepdims=True), second / second.sum(axis=-1, keepdims=True)
    return js(p, q)
