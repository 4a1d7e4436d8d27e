"""Samples of whole units, of each block in proportion to its trials, in which the strata of units take turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from facevalue.design.block import Block, Numbers
from facevalue.design.design import Design
from facevalue.design.sampling import Permutation
from facevalue.errors import DataError


@dataclass(frozen=True)
class Units:
    """A block whose trials belong together: `size` of them are a unit, and each unit has a stratum.

    `step`: how far the trials of a unit lie apart; 1 for neighbours. Units of a larger one are interleaved: trials 0
    and 2, then 1 and 3.
    """

    block: Block
    size: int
    strata: Sequence[int]
    step: int = 1

    def trials(self, units: Numbers) -> Numbers:
        """Trials of some units, by number within the block."""
        first = units // self.step * (self.size * self.step) + units % self.step
        return (first[:, None] + np.arange(self.size) * self.step).ravel()


@dataclass(frozen=True)
class UnitLayout:
    """Design of blocks whose units are drawn whole.

    Examples
    --------
    >>> from facevalue.design import Factor
    >>> block = Block("all", (Factor("image", ("a", "b", "c")),), (Factor("prompt", ("p", "q")),), {})
    >>> layout = UnitLayout((Units(block, 2, (0, 0, 1)),))
    >>> len(layout.sample(4, seed=1, repeats=1)), layout.design.size
    (4, 6)
    """

    units: tuple[Units, ...]

    @cached_property
    def design(self) -> Design:
        """The design."""
        return Design(tuple(unit.block for unit in self.units))

    def sample(self, size: int, seed: int, repeats: int) -> Numbers:
        """Draw whole units, of each block in proportion to its trials and spread evenly over the strata."""
        design = self.design
        total = design.size * repeats
        if size > total:
            raise DataError(f"A sample of {size:,} cannot be drawn: the design has {total:,} requests.")
        out: list[Numbers] = []
        for at, unit in enumerate(self.units):
            count = size * len(unit.block) // total // unit.size
            if count:
                chosen = _spread(np.array(unit.strata, dtype=np.int64), (seed, at))[:count]
                out.append(unit.trials(chosen) + int(design.offsets[at]))
        if not out:
            smallest = min(unit.size for unit in self.units) * repeats
            raise DataError(f"A sample of {size:,} is too small for these tasks: a unit takes {smallest:,} requests.")
        return np.sort(np.concatenate(out))


def _spread(strata: Numbers, seed: tuple[int, int]) -> Numbers:
    """Units in a random order in which strata take turns."""
    if not strata.size:
        return strata
    order = Permutation(strata.size, seed)(np.arange(strata.size))
    shuffled = strata[order]
    by = np.argsort(shuffled, kind="stable")
    bounds = np.flatnonzero(np.diff(shuffled[by], prepend=shuffled[by][0] - 1))
    turn = np.empty(strata.size, dtype=np.int64)
    for start, stop in pairwise([*bounds.tolist(), strata.size]):
        turn[by[start:stop]] = np.arange(stop - start)
    return order[np.argsort(turn, kind="stable")]
