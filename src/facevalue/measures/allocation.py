"""Allocation of a budget over studies, so that the largest effect that may be missed is smallest.

What a study detects with each size is a curve; studies are compared by shares of the largest possible effect. Sizes are
whole units, so that curves are steps: the solution is exact over the sizes that are given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class DetectionCurve:
    """What a study detects, by what it spends.

    Attributes
    ----------
    costs:
        Of each size, ascending, in the unit of the budget.
    effects:
        Smallest effect that each detects, as a share of the largest possible one; NaN where none is detected.

    Examples
    --------
    >>> DetectionCurve(np.array([10.0, 40.0]), np.array([np.nan, 0.2])).first_verdict
    40.0
    """

    costs: Array
    effects: Array

    @property
    def first_verdict(self) -> float:
        """Cost of the smallest size that detects anything; infinity where none does."""
        telling = np.flatnonzero(np.isfinite(self.effects))
        return float(self.costs[telling[0]]) if telling.size else np.inf

    def reaching(self, effect: float) -> int | None:
        """Number of the cheapest size that detects an effect of this size; None where none does."""
        enough = np.flatnonzero(self.effects <= effect + _ROUNDING)
        return int(enough[0]) if enough.size else None

    @property
    def best(self) -> float:
        """Smallest effect that any size detects; NaN where none detects any."""
        telling = self.effects[np.isfinite(self.effects)]
        return float(telling.min()) if telling.size else np.nan


@dataclass(frozen=True, slots=True)
class Allocation:
    """Sizes of studies within a budget.

    Attributes
    ----------
    sizes:
        Number of the size of each study on its curve; None for one that the budget does not reach.
    fewest:
        Smallest budget with which any study detects anything; infinity where none ever does.
    """

    sizes: tuple[int | None, ...]
    fewest: float


def allocate(curves: Sequence[DetectionCurve], budget: float) -> Allocation:
    """Choose a size of each study, so that the largest effect that may be missed is smallest.

    A study that cannot detect less is set at its cheapest best size, and the others go on without it (the
    lexicographic minimum: first the worst study, then the next worst). Where the budget does not bring all to a
    verdict, those that are dearest to bring to one are left out until it does for the rest.

    Parameters
    ----------
    curves:
        What each study detects; one of which no size detects anything is left out.
    budget:
        What all may cost together.

    Equation
    --------
    min max_s e_s(n_s) subject to sum_s c_s(n_s) <= B, over the sizes n_s on each curve.

    Examples
    --------
    >>> halves = DetectionCurve(np.array([10.0, 40.0, 160.0]), np.array([0.4, 0.2, 0.1]))
    >>> dearer = DetectionCurve(np.array([20.0, 80.0, 320.0]), np.array([0.4, 0.2, 0.1]))
    >>> allocate([halves, dearer], 130).sizes, allocate([halves, dearer], 15).sizes
    ((1, 1), (0, None))
    """
    fewest = min((curve.first_verdict for curve in curves), default=np.inf)
    todo = [number for number, curve in enumerate(curves) if np.isfinite(curve.first_verdict)]
    while todo and sum(curves[number].first_verdict for number in todo) > budget + _ROUNDING:
        todo.remove(max(todo, key=lambda number: curves[number].first_verdict))
    size_of: dict[int, int] = {}
    rest = budget
    while todo:
        sizes = _smallest([curves[number] for number in todo], rest)
        effects = {number: float(curves[number].effects[size]) for number, size in zip(todo, sizes, strict=True)}
        worst = max(effects.values())
        settled = [
            number
            for number in todo
            if effects[number] >= worst - _ROUNDING or curves[number].best >= worst - _ROUNDING
        ]
        for number, size in zip(todo, sizes, strict=True):
            if number in settled:
                size_of[number] = size
                rest -= float(curves[number].costs[size])
        todo = [number for number in todo if number not in settled]
    return Allocation(tuple(size_of.get(number) for number in range(len(curves))), fewest)


def _smallest(curves: Sequence[DetectionCurve], budget: float) -> list[int]:
    """Sizes of which the largest effect is the smallest that the budget buys; that of first verdicts is one of them."""
    levels = np.unique(np.concatenate([curve.effects[np.isfinite(curve.effects)] for curve in curves]))
    levels = levels[levels >= max(curve.best for curve in curves) - _ROUNDING]
    low, high = 0, levels.size - 1
    while low < high:
        middle = (low + high) // 2
        if _cost(curves, float(levels[middle])) <= budget + _ROUNDING:
            high = middle
        else:
            low = middle + 1
    return [number for curve in curves if (number := curve.reaching(float(levels[low]))) is not None]


def _cost(curves: Sequence[DetectionCurve], effect: float) -> float:
    sizes = [curve.reaching(effect) for curve in curves]
    return float(sum(np.inf if size is None else curve.costs[size] for curve, size in zip(curves, sizes, strict=True)))


def shares_of_budget(costs: Mapping[str, float], budget: float) -> dict[str, float]:
    """Equal shares of a budget, none above what a study costs as a whole; what is left of one goes to the others.

    Examples
    --------
    >>> shares_of_budget({"small": 10, "large": 1000, "larger": 2000}, 210)
    {'small': 10.0, 'large': 100.0, 'larger': 100.0}
    """
    out: dict[str, float] = {}
    rest = dict(costs)
    while rest:
        share = max(budget, 0.0) / len(rest)
        small = {name: cost for name, cost in rest.items() if cost <= share}
        for name, cost in small.items() or ((name, share) for name in rest):
            out[name] = float(cost)
        budget -= sum(small.values())
        rest = {name: cost for name, cost in rest.items() if name not in out}
    return {name: out[name] for name in costs}
