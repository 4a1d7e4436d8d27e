"""Rankings of groups from pairs of people: how often a group's member is placed above the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from facevalue.measures import dyads
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.missing_data_bounds import Bounds

Levels = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Rankings:
    """Gaps to an even chance by item and group; items are outermost."""

    gap: Estimates
    bounds: Bounds
    """Share of ranked pairs in which the group's member is above, less 1/2; and what missing answers could make of it.
    """
    p: Array
    p_least: Array
    """Against an even chance, and the smallest there could be."""


def rankings(
    answers: tuple[Array, Array], groups: tuple[Levels, Levels], levels: Sequence[str],
    people: tuple[dyads.Codes, dyads.Codes], item: dyads.Codes, items: int,
) -> Rankings:  # fmt: skip
    """Rank groups by pairs of which each is asked about twice.

    Parameters
    ----------
    answers:
        Shape (pairs,): probability that the first person is above, and that the second is; NaN where it is missing.
    groups, people:
        Group and number of the first and the second person.
    item, items:
        What each pair was asked, and how many such items there are.

    Examples
    --------
    >>> sides = np.array(["f", "f"], dtype=object), np.array(["m", "m"], dtype=object)
    >>> people = np.array([0, 1]), np.array([2, 3])
    >>> found = rankings((np.ones(2), np.zeros(2)), sides, ["f", "m"], people, np.zeros(2, np.int64), 1)
    >>> found.gap.value.tolist()
    [0.5, -0.5]
    """
    wins = _Wins.of(*answers)
    wins_by_level = [wins.seen_from(groups[0] == level, groups[1] == level) for level in levels]
    above, below, most, least = (np.concatenate([w[at] for w in wins_by_level]) for at in range(4))
    cell = np.concatenate([item * len(levels) + at for at in range(len(levels))])
    cells = items * len(levels)
    pair = np.tile(people[0], len(levels)), np.tile(people[1], len(levels))
    estimates = dyads.shares(above, above + below, pair, cell, cells)
    ends = (
        dyads.shares(up, above + below + lost, pair, cell, cells) for up, lost in ((above, least), (above + most, most))
    )
    totals = [np.bincount(cell, weights=x, minlength=cells).astype(np.float64) for x in (above, below, most, least)]
    gap = replace(estimates, value=estimates.value - 0.5, low=estimates.low - 0.5, high=estimates.high - 0.5)
    error = np.array([end.se for end in ends]).max(axis=0)
    bounds = replace(_bounds(*totals), se=error)
    return Rankings(gap, bounds, estimates.p(0.5), estimates.p_least(0.5))


def _bounds(above: Array, below: Array, highest: Array, lowest: Array) -> Bounds:
    """Gap to an even chance if all missing answers had ranked the group's members above, and if none had."""
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = above / (above + below)
        low, high = above / (above + below + lowest), (above + highest) / (above + highest + below)
    return Bounds(middle - 0.5, low - 0.5, high - 0.5, np.maximum(highest, lowest), np.full(middle.shape, np.nan))


@dataclass(frozen=True, slots=True)
class _Wins:
    """How far each pair's first and second person is above, and could still be by answers that are missing."""

    first: Array
    second: Array
    open_first: Array
    open_second: Array

    @classmethod
    def of(cls, left: Array, right: Array) -> "_Wins":
        have_both = np.isfinite(left) & np.isfinite(right)
        a, b = np.where(np.isfinite(left), left, 1.0), np.where(np.isfinite(right), right, 1.0)
        no_a, no_b = np.where(np.isfinite(left), 1 - left, 1.0), np.where(np.isfinite(right), 1 - right, 1.0)
        first, second = a * no_b, no_a * b
        nothing = np.zeros(have_both.shape)
        return cls(
            np.where(have_both, first, nothing), np.where(have_both, second, nothing),
            np.where(have_both, nothing, first), np.where(have_both, nothing, second),
        )  # fmt: skip

    def seen_from(self, left: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
        """How far a group's member is above, below, and could still be either, by the sides on which it has members."""
        a, b = left.astype(np.float64), right.astype(np.float64)
        return (
            self.first * a + self.second * b, self.second * a + self.first * b,
            self.open_first * a + self.open_second * b, self.open_second * a + self.open_first * b,
        )  # fmt: skip
