"""Axes of a design, and blocks: full crossings of what is shown with what is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError

Index = npt.NDArray[np.int64]
_TABLE = 2**16  # pairs up to this number are looked up in a table, which is faster than unranking


@dataclass(frozen=True)
class AxisColumn:
    """One column that an axis contributes to the trial frame."""

    name: str
    values: tuple[str | None, ...]  # what each code stands for; None is missing
    part: int = 0  # which of the axis' code arrays selects the value (0 for a factor, 0 or 1 for a pair)


class Axis(Protocol):
    """One digit of a trial number."""

    @property
    def name(self) -> str:
        """Name of the underlying factor."""
        ...

    def __len__(self) -> int:
        """Number of values that the digit takes."""
        ...

    def columns(self) -> tuple[AxisColumn, ...]:
        """Columns of the trial frame that the digit determines."""
        ...

    def codes(self, index: Index) -> tuple[Index, ...]:
        """From digits to level codes, one array per part."""
        ...

    def index(self, codes: Sequence[Index]) -> Index:
        """From level codes back to digits; -1 where there is none."""
        ...

    def choices(self) -> dict[str, tuple[str | None, ...]]:
        """Names that `only` can select by, and the value that each level has."""
        ...

    def only(self, name: str, keep: Sequence[str]) -> "Axis | None":
        """The same axis with only the levels whose `name` is among `keep`; None if nothing is left."""
        ...


@dataclass(frozen=True)
class Factor:
    """A factor and its levels; each level may carry attributes that come along as columns.

    Examples
    --------
    >>> face = Factor("face", ("f1", "f2"), {"age": ("young", "elderly")})
    >>> [column.name for column in face.columns()]
    ['face', 'age']
    """

    name: str
    levels: tuple[str, ...]
    # Further columns: one value per level
    attributes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.levels:
            raise DataError(f"Factor {self.name!r} has no levels: nothing to show or ask.")
        if len(set(self.levels)) != len(self.levels):
            twice = next(level for i, level in enumerate(self.levels) if level in self.levels[:i])
            raise DataError(f"Factor {self.name!r} names the level {twice!r} twice.")
        for name, values in self.attributes.items():
            if len(values) != len(self.levels):
                raise DataError(f"Attribute {name!r} has {len(values)} values for {len(self.levels)} levels.")

    def __len__(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def columns(self) -> tuple[AxisColumn, ...]:
        """The factor itself and its attributes."""
        return (AxisColumn(self.name, self.levels), *(AxisColumn(n, v) for n, v in self.attributes.items()))

    def codes(self, index: Index) -> tuple[Index, ...]:
        """A digit is its level's code."""
        return (index,)

    def index(self, codes: Sequence[Index]) -> Index:
        """A code is its digit."""
        return codes[0]

    def choices(self) -> dict[str, tuple[str | None, ...]]:
        """The factor itself and its attributes."""
        return {self.name: self.levels, **self.attributes}

    def only(self, name: str, keep: Sequence[str]) -> "Factor | None":
        """Keep the levels whose `name` is among `keep`, in the factor's own order; None if there are none."""
        names = set(keep)
        at = [i for i, value in enumerate(self.choices()[name]) if value in names]
        if not at:
            return None
        return Factor(
            self.name,
            tuple(self.levels[i] for i in at),
            {name: tuple(values[i] for i in at) for name, values in self.attributes.items()},
        )


@dataclass(frozen=True)
class Pairs:
    """Pairs of different levels of one factor.

    Unordered pairs (i < j) have n(n-1)/2 values in lexicographic order; ordered ones n(n-1). Columns are the factor's
    with the suffixes `_1` and `_2`.

    Examples
    --------
    >>> pairs = Pairs(Factor("identity", ("a", "b", "c")))
    >>> len(pairs), [part.tolist() for part in pairs.codes(np.arange(3))]
    (3, [[0, 0, 1], [1, 2, 2]])
    """

    factor: Factor
    ordered: bool = False  # whether (a, b) and (b, a) are two pairs
    # Pairs of levels to leave out, either way round; pairs of levels that the factor doesn't have are ignored
    without: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if len(self.factor) < 2:
            raise DataError(f"Pairs of {self.name!r} need two levels; there is only {self.factor.levels[0]!r}.")
        if not len(self):
            raise DataError(f"All pairs of {self.name!r} are left out.")

    @property
    def name(self) -> str:
        """Name of the paired factor."""
        return self.factor.name

    def __len__(self) -> int:
        """n(n-1)/2 unordered or n(n-1) ordered pairs, less those left out."""
        return self._pair_count if self._kept_ranks is None else self._kept_ranks.size

    @cached_property
    def _pair_count(self) -> int:
        n = len(self.factor)
        return n * (n - 1) if self.ordered else n * (n - 1) // 2

    @cached_property
    def _kept_ranks(self) -> Index | None:
        """Ranks of the pairs that stay, where some don't."""
        places = {level: code for code, level in enumerate(self.factor.levels)}
        pairs = {pair for pair in self.without if pair[0] in places and pair[1] in places and pair[0] != pair[1]}
        out = {(places[a], places[b]) for a, b in pairs} | {(places[b], places[a]) for a, b in pairs}
        if not out:
            return None
        first, second = (np.array(side, dtype=np.int64) for side in zip(*sorted(out), strict=True))
        return np.setdiff1d(np.arange(self._pair_count), self._rank(first, second))

    def columns(self) -> tuple[AxisColumn, ...]:
        """Each column of the factor twice."""
        return tuple(
            AxisColumn(f"{column.name}_{side + 1}", column.values, side)
            for side in (0, 1)
            for column in self.factor.columns()
        )

    def codes(self, index: Index) -> tuple[Index, ...]:
        """Unrank pairs, exactly, for any n below 9 x 10^7."""
        if self._kept_ranks is not None:
            index = self._kept_ranks[index]
        if self._pair_count <= _TABLE:
            first, second = self._table
            return first[index], second[index]
        return self._unrank(index)

    @cached_property
    def _table(self) -> tuple[Index, Index]:
        return self._unrank(np.arange(self._pair_count))

    def _unrank(self, index: Index) -> tuple[Index, Index]:
        n = len(self.factor)
        if self.ordered:
            first = index // (n - 1)
            second = index - first * (n - 1)
            return first, second + (second >= first)
        # Counted from the end, pair numbers are triangular numbers: row r (from the end) starts at r(r+1)/2.
        back = self._pair_count - 1 - index
        row = ((np.sqrt(8.0 * back + 1.0) - 1.0) * 0.5).astype(np.int64)
        row -= row * (row + 1) // 2 > back
        row += (row + 1) * (row + 2) // 2 <= back
        first = n - 2 - row
        return first, n - 1 - (back - row * (row + 1) // 2)

    def index(self, codes: Sequence[Index]) -> Index:
        """Rank pairs; an unordered pair may be given either way round. Equal members, and pairs left out, give -1."""
        first, second = codes
        rank = self._rank(first, second)
        if self._kept_ranks is not None:
            place = np.minimum(np.searchsorted(self._kept_ranks, rank), self._kept_ranks.size - 1)
            rank = np.where(self._kept_ranks[place] == rank, place, -1)
        return np.where(first == second, -1, rank)

    def _rank(self, first: Index, second: Index) -> Index:
        n = len(self.factor)
        if self.ordered:
            return first * (n - 1) + second - (second > first)
        low, high = np.minimum(first, second), np.maximum(first, second)
        return low * (2 * n - low - 1) // 2 + high - low - 1

    def choices(self) -> dict[str, tuple[str | None, ...]]:
        """Names and values by which the factor's levels can be selected."""
        return self.factor.choices()

    def only(self, name: str, keep: Sequence[str]) -> "Pairs | None":
        """Keep the pairs whose members both have `name` among `keep`; None if there are none."""
        factor = self.factor.only(name, keep)
        if factor is None or len(factor) < 2:
            return None
        try:
            return Pairs(factor, self.ordered, self.without)
        except DataError:  # every pair of what is left is left out
            return None


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """A full crossing of stimulus axes with prompt axes.

    The stimulus axes are the outer digits of a trial number, so that all prompts about one stimulus are neighbours;
    within each group the first axis is the outermost digit.
    """

    name: str  # distinct within the design
    stimulus: tuple[Axis, ...]
    prompt: tuple[Axis, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)  # factor levels that hold in the whole block
    baseline: bool = False  # whether the block only serves others as their reference; plans count it apart
    added: bool = False  # whether the block serves so, and the published protocol has no such one

    def __post_init__(self) -> None:
        names = [c.name for axis in self.axes for c in axis.columns()] + list(self.constants)
        for name in names:
            if name in ("trial", "block") or names.count(name) > 1:
                raise DataError(f"Block {self.name!r} has the column {name!r} twice, or a reserved name.")

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, outermost first."""
        return (*self.stimulus, *self.prompt)

    @cached_property
    def stimuli(self) -> int:
        """Number of stimuli."""
        return prod(len(axis) for axis in self.stimulus)

    @cached_property
    def prompts(self) -> int:
        """Number of prompts that each stimulus gets."""
        return prod(len(axis) for axis in self.prompt)

    @property
    def size(self) -> int:
        """Number of trials: stimuli x prompts."""
        return self.stimuli * self.prompts

    def __len__(self) -> int:
        """Number of trials."""
        return self.size

    def digits(self, local: Numbers) -> list[Index]:
        """Mixed-radix digits of block-local numbers, one array per axis."""
        out: list[Index] = []
        for axis in reversed(self.axes):
            rest = local // len(axis)
            out.append(local - rest * len(axis))
            local = rest
        return out[::-1]

    def select_levels(self, selection: Mapping[str, Sequence[str]]) -> "Block | None":
        """The block with only the selected levels; None if nothing of it is left.

        Names that the block doesn't have select nothing away. A selection of a paired factor holds for both members.
        """
        if any(name in selection and value not in selection[name] for name, value in self.constants.items()):
            return None
        stimulus = _select(self.stimulus, selection)
        prompt = _select(self.prompt, selection)
        return None if stimulus is None or prompt is None else replace(self, stimulus=stimulus, prompt=prompt)

    def choices(self) -> dict[str, set[str]]:
        """Names that `select_levels` can select by, and the levels of each."""
        out = {name: {value} for name, value in self.constants.items()}
        for axis in self.axes:
            for name, values in axis.choices().items():
                out.setdefault(name, set()).update(value for value in values if value is not None)
        return out


def _select(axes: tuple[Axis, ...], selection: Mapping[str, Sequence[str]]) -> tuple[Axis, ...] | None:
    out: list[Axis] = []
    for axis in axes:
        narrowed: Axis | None = axis
        for name in axis.choices().keys() & selection.keys():
            narrowed = narrowed and narrowed.only(name, selection[name])
        if narrowed is None:
            return None
        out.append(narrowed)
    return tuple(out)
