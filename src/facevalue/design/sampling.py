"""Samples of a design without replacement, simple or stratified, in memory proportional to the sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from facevalue.design.axes import Index
from facevalue.design.design import Block, Design, Numbers
from facevalue.design.permutation import Permutation
from facevalue.errors import DataError, UnknownNameError


def sample(design: Design, size: int, seed: int, strata: Sequence[str] = ()) -> Numbers:
    """Draw trial numbers without replacement.

    Parameters
    ----------
    design:
        What to draw from.
    size:
        How many trials.
    seed:
        Same seed, same sample; a larger sample of the same strata contains a smaller one up to rounding.
    strata:
        Columns (factors, their attributes, block constants, or "block") whose combinations are sampled in proportion to
        their size, by largest remainders. Columns of pair axes cannot be strata.

    Returns
    -------
    Trial numbers in ascending order, so that prompts about one stimulus stay neighbours.

    Raises
    ------
    DataError
        The design has fewer trials, or a stratum is not possible.
    UnknownNameError
        No such column.
    """
    if not 0 < size <= design.size:
        raise DataError(f"A sample of {size:,} cannot be drawn: the design has {design.size:,} trials.")
    if not strata:
        return np.sort(Permutation(design.size, seed)(np.arange(size)))
    parts = _strata(design, strata)
    sizes = np.array([len(part) for part in parts], dtype=np.float64)
    counts = _largest_remainders(size * sizes / sizes.sum(), size)
    drawn = [
        part.numbers(Permutation(len(part), seed + 1 + i)(np.arange(count)))
        for i, (part, count) in enumerate(zip(parts, counts, strict=True))
        if count
    ]
    return np.sort(np.concatenate(drawn))


@dataclass(frozen=True)
class _Stratum:
    """The trials of one block whose digits lie in given subsets."""

    block: Block
    offset: int
    subsets: tuple[Index, ...]

    def __len__(self) -> int:
        out = 1
        for subset in self.subsets:
            out *= subset.size
        return out

    def numbers(self, local: Numbers) -> Numbers:
        """From numbers within the stratum to trial numbers."""
        digits: list[Index] = []
        for subset in reversed(self.subsets):
            rest = local // subset.size
            digits.append(subset[local - rest * subset.size])
            local = rest
        out = np.zeros_like(local)
        for axis, digit in zip(self.block.axes, reversed(digits), strict=True):
            out = out * len(axis) + digit
        return out + self.offset


def _strata(design: Design, names: Sequence[str]) -> list[_Stratum]:
    found: set[str] = {"block"}
    out: list[_Stratum] = []
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        found.update(block.constants)
        choices: list[list[Index]] = []
        for axis in block.axes:
            own = [column for column in axis.columns() if column.name in names]
            found.update(column.name for column in own)
            if not own:
                choices.append([np.arange(len(axis), dtype=np.int64)])
                continue
            if len(axis.columns()[0].values) != len(axis):
                raise DataError(f"{own[0].name!r} belongs to a pair and cannot be a stratum.")
            groups: dict[tuple[str | None, ...], list[int]] = {}
            for code, key in enumerate(zip(*(column.values for column in own), strict=True)):
                groups.setdefault(key, []).append(code)
            choices.append([np.array(codes, dtype=np.int64) for codes in groups.values()])
        out += [_Stratum(block, int(offset), subsets) for subsets in product(*choices)]
    for name in names:
        if name not in found:
            raise UnknownNameError("factor", name, design.trials([0]).columns[1:])
    return out


def _largest_remainders(shares: np.ndarray, total: int) -> list[int]:
    counts = np.floor(shares).astype(np.int64)
    short = total - int(counts.sum())
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[:short]] += 1
    return [int(c) for c in counts]
