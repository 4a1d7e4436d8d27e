"""Samples of a design without replacement: simple, stratified, in equal shares, of whole units, of pairs.

A balanced Feistel network over the smallest even number of bits that holds the range, walked until it falls inside
(Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). Every number is computed on its own, so that drawing
k of n numbers without replacement costs O(k) memory whatever n is. On a few bits such a network prefers some orders to
others, so small ranges are sorted by random keys instead, which makes all orders equally likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod

import numpy as np
import numpy.typing as npt

from facevalue.design.blocks import Block, Index, Numbers
from facevalue.design.design import Design
from facevalue.errors import DataError, UnknownNameError

# Seeded permutations of a range of numbers, computed one number at a time.


_ROUNDS = 6
_SMALL = 2**12
_U64 = np.uint64
_WORD = 2**64 - 1


def mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the splitmix64 finaliser of each value: a bijection of 64-bit words with good avalanche."""
    z = values + _U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
    return z ^ (z >> _U64(31))


def mix_one(value: int) -> int:
    """Return what `mix` makes of one word, ten times as fast.

    Examples
    --------
    >>> mix_one(7) == int(mix(np.array([7], dtype=np.uint64))[0])
    True
    """
    z = (value + 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


class Permutation:
    """A pseudorandom permutation of 0 .. size - 1.

    Examples
    --------
    >>> sorted(Permutation(5, seed=1)(np.arange(5)).tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, size: int, seed: int | Sequence[int]) -> None:
        if not 1 <= size < 2**62:
            raise ValueError(f"size must be in [1, 2^62), got {size}")
        self._size = _U64(size)
        bits = max((size - 1).bit_length(), 2)
        self._half = _U64((bits + 1) // 2)
        self._mask = _U64((1 << int(self._half)) - 1)
        words = np.random.SeedSequence(seed).generate_state(_ROUNDS, np.uint64)
        self._keys = [_U64(word) for word in words]
        self._table: npt.NDArray[np.int64] | None = None
        if size <= _SMALL:
            with np.errstate(over="ignore"):
                draws = mix(mix(np.arange(size, dtype=np.uint64) + words[0]) ^ words[1])
            self._table = np.argsort(draws, kind="stable")

    def __call__(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the numbers at these positions of the permuted range."""
        values = np.asarray(positions, dtype=np.uint64)
        if values.size and values.max() >= self._size:
            raise ValueError("position outside the range")
        if self._table is not None:
            return self._table[values]
        out = self._feistel(values)
        outside = np.flatnonzero(out >= self._size)
        while outside.size:
            out[outside] = self._feistel(out[outside])
            outside = outside[out[outside] >= self._size]
        return out.astype(np.int64)

    def _feistel(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        left, right = values >> self._half, values & self._mask
        with np.errstate(over="ignore"):
            for key in self._keys:
                left, right = right, left ^ (mix(right ^ key) & self._mask)
        return (left << self._half) | right


def sample(design: Design, size: int, seed: int, strata: Sequence[str] = ()) -> Numbers:
    """Draw trial numbers without replacement, ascending, so that prompts about one stimulus stay neighbours.

    A larger sample by the same seed contains a smaller one of the same strata, up to rounding. Strata are columns
    (factors, their attributes, block constants, or "block") whose combinations are sampled in proportion to their size,
    by largest remainders; columns of pair axes cannot be any.
    """
    if not 0 < size <= design.size:
        raise DataError(f"A sample of {size:,} cannot be drawn: the design has {design.size:,} trials.")
    if not strata:
        return np.sort(Permutation(design.size, seed)(np.arange(size)))
    groups = _strata(design, strata)
    counts = _largest_remainders([stratum.size for stratum in groups], size)
    numbers = [
        stratum.numbers(Permutation(stratum.size, (seed, 1 + i))(np.arange(count)))
        for i, (stratum, count) in enumerate(zip(groups, counts, strict=True))
        if count
    ]
    return np.sort(np.concatenate(numbers))


def sample_equally(
    design: Design,
    groups: Sequence[Sequence[tuple[int, Numbers]]],
    variants: Numbers,
    size: int,
    seed: int,
    repeats: int = 1,
) -> Numbers:
    """Draw prompts with all their variants, as many of each group as of any other: trial numbers, ascending.

    Groups are blocks and, of each, which of its prompts; those that have fewer give their share to the others. Blocks
    of a group have the same stimuli in another form, and are drawn alike. The last prompt axes of each block hold the
    `variants` of a prompt, so many trials per stimulus; each trial is `repeats` of the `size` requests.
    """
    if size > design.size * repeats:
        raise DataError(f"A sample of {size:,} cannot be drawn: the design has {design.size * repeats:,} requests.")
    # A group's cost per prompt: its variants, in all blocks.
    costs = np.array([sum(int(variants[i]) for i, _ in places) * repeats for places in groups])
    sizes = np.array([design.blocks[places[0][0]].stimuli * places[0][1].size for places in groups])
    shares = _equal_shares(sizes, costs, size)
    if not shares.any():
        raise DataError(
            f"A sample of {size:,} is too small: one prompt with its variants takes {int(costs.min()):,} requests."
        )
    out = []
    for number, (places, count) in enumerate(zip(groups, shares.tolist(), strict=True)):
        if not count:
            continue
        order = Permutation(int(sizes[number]), (seed, number))(np.arange(count))
        stimulus, prompt = np.divmod(order, places[0][1].size)
        for i, prompts in places:
            first = stimulus * design.blocks[i].prompts + prompts[prompt] * variants[i] + int(design.offsets[i])
            out.append((first[:, None] + np.arange(variants[i])).ravel())
    return np.sort(np.concatenate(out))


def _equal_shares(sizes: Numbers, costs: Numbers, total: int) -> Numbers:
    """Sizes of samples that cost the same in each group; groups that have fewer give their share to the others.

    Examples
    --------
    >>> _equal_shares(np.array([2, 50, 50]), np.array([1, 1, 2]), 20).tolist()
    [2, 10, 4]
    """
    taken = np.zeros(sizes.size, dtype=np.int64)
    left = total
    while True:
        open_ = np.flatnonzero((taken < sizes) & (costs <= left))
        if not open_.size:
            return taken
        share = left // open_.size
        more = np.minimum(share // costs[open_], sizes[open_] - taken[open_])
        if not more.any():  # too little for all: one each, in turn
            more = np.zeros_like(more)
            spent = np.cumsum(costs[open_])
            more[spent <= left] = 1
        taken[open_] += more
        left -= int((more * costs[open_]).sum())


@dataclass(frozen=True)
class _Stratum:
    """The trials of one block whose digits lie in given subsets."""

    block: Block
    offset: int
    subsets: tuple[Index, ...]

    @property
    def size(self) -> int:
        """Number of trials."""
        return prod(subset.size for subset in self.subsets)

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
    present: set[str] = {"block"}
    out: list[_Stratum] = []
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        present.update(block.constants)
        choices: list[list[Index]] = []
        for axis in block.axes:
            columns = [column for column in axis.columns() if column.name in names]
            present.update(column.name for column in columns)
            if not columns:
                choices.append([np.arange(len(axis), dtype=np.int64)])
                continue
            if any(column.part for column in axis.columns()):
                raise DataError(f"{columns[0].name!r} belongs to a pair and cannot be a stratum.")
            groups: dict[tuple[str | None, ...], list[int]] = {}
            for code, key in enumerate(zip(*(column.values for column in columns), strict=True)):
                groups.setdefault(key, []).append(code)
            choices.append([np.array(codes, dtype=np.int64) for codes in groups.values()])
        out += [_Stratum(block, int(offset), subsets) for subsets in product(*choices)]
    for name in names:
        if name not in present:
            raise UnknownNameError("factor", name, design.trials([0]).columns[1:])
    return out


def _largest_remainders(sizes: Sequence[int], total: int) -> list[int]:
    """Share `total` out in proportion to the sizes, exactly; what rounding leaves goes to the largest remainders."""
    population = sum(sizes)
    counts = [total * size // population for size in sizes]
    order = sorted(range(len(sizes)), key=lambda i: -(total * sizes[i] % population))  # stable: earlier strata first
    for i in order[: total - sum(counts)]:
        counts[i] += 1
    return counts


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


_CHUNK = 4096


def draw_pairs(group: Numbers, count: int, seed: tuple[int, int], *, any_two: bool = False) -> tuple[Numbers, Numbers]:
    """Draw pairs without replacement.

    Examples
    --------
    >>> first, second = draw_pairs(np.array([0, 0, 1]), 10, (1, 0))
    >>> sorted(sorted(pair) for pair in zip(first.tolist(), second.tolist()))
    [[0, 2], [1, 2]]
    """
    size = len(group)
    pair_count = size * (size - 1) // 2
    if not pair_count:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    starts = np.cumsum([0, *(size - 1 - i for i in range(size - 1))])
    shuffled = Permutation(pair_count, seed)
    draws: list[Numbers] = []
    for begin in range(0, pair_count, _CHUNK):
        ranks = shuffled(np.arange(begin, min(begin + _CHUNK, pair_count)))
        first = np.searchsorted(starts, ranks, side="right") - 1
        second = ranks - starts[first] + first + 1
        fit = np.full(len(ranks), any_two) | (group[first] != group[second])
        draws.append(np.stack((ranks, first, second))[:, fit])
        if sum(draw.shape[1] for draw in draws) >= count:
            break
    ranks, first, second = np.concatenate(draws, axis=1)[:, :count]
    with np.errstate(over="ignore"):
        turned = mix(ranks.astype(np.uint64) + np.uint64(seed[0] + 1) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63)
    turn = turned.astype(np.bool_)
    return np.where(turn, second, first), np.where(turn, first, second)
