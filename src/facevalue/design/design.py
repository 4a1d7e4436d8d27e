"""Design: a list of blocks, each a mixed-radix product of axes; trial numbers to factor levels and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design.axes import Axis, Column, Index
from facevalue.errors import DataError, UnknownNameError

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """A full crossing of stimulus axes with prompt axes.

    The stimulus axes are the outer digits of a trial number, so that all prompts about one stimulus are neighbours;
    within each group the first axis is the outermost digit.

    Parameters
    ----------
    name:
        Distinct within the design.
    stimulus:
        Axes that say what is shown.
    prompt:
        Axes that say what is asked.
    constants:
        Factor levels that hold in the whole block.
    baseline:
        Whether the block only serves others as their reference; plans count it apart.
    """

    name: str
    stimulus: tuple[Axis, ...]
    prompt: tuple[Axis, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)
    baseline: bool = False

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
        """How many stimuli."""
        return prod(len(axis) for axis in self.stimulus)

    @cached_property
    def prompts(self) -> int:
        """How many prompts each stimulus gets."""
        return prod(len(axis) for axis in self.prompt)

    def __len__(self) -> int:
        """How many trials: stimuli x prompts."""
        return self.stimuli * self.prompts

    def digits(self, local: Numbers) -> list[Index]:
        """Mixed-radix digits of block-local numbers, one array per axis."""
        out: list[Index] = []
        for axis in reversed(self.axes):
            rest = local // len(axis)
            out.append(local - rest * len(axis))
            local = rest
        return out[::-1]

    def where(self, selection: Mapping[str, Sequence[str]]) -> "Block | None":
        """The block with only the selected levels; None if its constants rule it out.

        Columns that the block doesn't have select nothing away.
        """
        for name, value in self.constants.items():
            if name in selection and value not in selection[name]:
                return None
        return replace(self, stimulus=_select(self.stimulus, selection), prompt=_select(self.prompt, selection))


def _select(axes: tuple[Axis, ...], selection: Mapping[str, Sequence[str]]) -> tuple[Axis, ...]:
    out = []
    for axis in axes:
        own = {column.name.removesuffix("_1").removesuffix("_2") for column in axis.columns()}
        for name in own & set(selection):
            axis = axis.only(name, selection[name])  # noqa: PLW2901 - each selection narrows the same axis
        out.append(axis)
    return tuple(out)


@dataclass(frozen=True)
class Design:
    """Every trial of a study, as arithmetic.

    Trial numbers run from 0 to `len(design) - 1` through the blocks in order. Nothing is materialised: 30 million
    stimuli x 300 prompts take as long to create as thirty.

    Examples
    --------
    >>> from facevalue.design import Factor
    >>> face = Factor("face", ("f1", "f2"))
    >>> design = Design((Block("all", (face,), (Factor("question", ("old?", "kind?", "rich?")),)),))
    >>> len(design)
    6
    >>> design.trials([5])["question"].to_list()
    ['rich?']
    """

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        names = [block.name for block in self.blocks]
        if not names:
            raise DataError("The design has no blocks: nothing is left to ask.")
        if len(set(names)) != len(names):
            raise DataError("Two blocks of the design have the same name.")
        if self.size >= 2**62:
            raise DataError("The design has 2^62 trials or more.")

    @cached_property
    def size(self) -> int:
        """How many trials; the same as `len`, also beyond its limit on small platforms."""
        return sum(len(block) for block in self.blocks)

    def __len__(self) -> int:
        """How many trials."""
        return self.size

    @cached_property
    def offsets(self) -> Numbers:
        """First trial number of each block, and the total."""
        return np.cumsum([0, *(len(block) for block in self.blocks)], dtype=np.int64)

    @cached_property
    def stimulus_offsets(self) -> Numbers:
        """First stimulus number of each block, and the total."""
        return np.cumsum([0, *(block.stimuli for block in self.blocks)], dtype=np.int64)

    def stimulus_numbers(self, numbers: npt.ArrayLike) -> Numbers:
        """Which stimulus each trial shows, numbered through the whole design."""
        trials = self._checked(numbers)
        block = np.searchsorted(self.offsets, trials, side="right") - 1
        prompts = np.array([b.prompts for b in self.blocks], dtype=np.int64)
        return self.stimulus_offsets[block] + (trials - self.offsets[block]) // prompts[block]

    def trials(self, numbers: npt.ArrayLike, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Decode trial numbers.

        Parameters
        ----------
        numbers:
            Any array of trial numbers, in any order, repeats allowed.
        columns:
            Which factor columns to decode; all by default.

        Returns
        -------
        Polars frame in the order of `numbers`: `trial` (u64), `block`, and a column per factor and attribute (Enum;
        null where the trial's block doesn't have it).

        Raises
        ------
        DataError
            A number is outside the design.
        UnknownNameError
            A column is none of the design's.
        """
        trials = self._checked(numbers)
        wanted = self._dtypes if columns is None else self._wanted(columns)
        if len(self.blocks) == 1:
            return self._decode(0, trials, wanted)
        at = np.searchsorted(self.offsets, trials, side="right") - 1
        counts = np.bincount(at, minlength=len(self.blocks))
        present = np.flatnonzero(counts)
        if present.size == 1:
            return self._decode(int(present[0]), trials, wanted)
        order: Numbers | None = None
        if (at[1:] < at[:-1]).any():  # bring each block's trials together, and put them back in the end
            small = np.min_scalar_type(len(self.blocks))
            order = np.argsort(at.astype(small), kind="stable")
            trials = trials[order]
        bounds = np.cumsum([0, *counts[present]])
        parts = [
            self._decode(int(block), trials[start:stop], wanted)
            for block, (start, stop) in zip(present, pairwise(bounds), strict=True)
        ]
        frame = pl.concat(parts)
        if order is not None:
            back = np.empty(order.size, dtype=np.uint32)
            back[order] = np.arange(order.size, dtype=np.uint32)
            frame = frame.select(pl.all().gather(pl.Series(back)))
        return frame

    def numbers(self, frame: pl.DataFrame) -> Numbers:
        """Encode factor levels: the inverse of `trials`.

        Parameters
        ----------
        frame:
            `block` and the factor columns that tell its trials apart (attributes are not needed).

        Raises
        ------
        DataError
            A row is no trial of the design.
        """
        out = np.full(frame.height, -1, dtype=np.int64)
        names = frame["block"].cast(pl.String).to_numpy()
        for block, offset in zip(self.blocks, self.offsets, strict=False):
            rows = np.flatnonzero(names == block.name)
            if not rows.size:
                continue
            part = frame[rows]
            local = np.zeros(rows.size, dtype=np.int64)
            valid = np.ones(rows.size, dtype=bool)
            for axis in block.axes:
                digit = axis.index([_codes(part, column) for column in _identifying(axis)])
                valid &= digit >= 0
                local = local * len(axis) + digit
            out[rows] = np.where(valid, local + offset, -1)
        if (out < 0).any():
            row = frame.row(int(np.flatnonzero(out < 0)[0]), named=True)
            raise DataError(f"No trial of the design has these levels: {row}.")
        return out

    def where(self, selection: Mapping[str, Sequence[str]]) -> "Design":
        """The design with only the selected levels, as block structure: the result is again arithmetic.

        Raises
        ------
        UnknownNameError
            No block has such a column or level.
        """
        known = set(self._dtypes) | {name.removesuffix("_1") for name in self._dtypes if name.endswith("_1")}
        for name in selection:
            if name not in known:
                raise UnknownNameError("factor", name, known)
        kept: list[Block] = []
        for block in self.blocks:
            try:
                narrowed = block.where(selection)
            except UnknownNameError:
                narrowed = None  # a level that other blocks have; the union is checked below
            if narrowed is not None:
                kept.append(narrowed)
        for name, levels in selection.items():
            have = {
                value
                for block in self.blocks
                for column in (*_columns(block), *(Column(k, (v,)) for k, v in block.constants.items()))
                if column.name.removesuffix("_1").removesuffix("_2") == name
                for value in column.values
                if value is not None
            }
            for level in levels:
                if level not in have:
                    raise UnknownNameError(name, level, have)
        return Design(tuple(kept))

    def shards(self, count: int) -> Iterator[range]:
        """Cut the design into `count` contiguous ranges of whole stimuli; empty ones are left out."""
        if count < 1:
            raise DataError("A design is cut into at least one shard.")
        total = int(self.stimulus_offsets[-1])
        cuts = [self._first_trial(total * i // count) for i in range(count + 1)]
        for start, stop in pairwise(cuts):
            if stop > start:
                yield range(start, stop)

    def _first_trial(self, stimulus: int) -> int:
        block = int(np.searchsorted(self.stimulus_offsets, stimulus, side="right")) - 1
        if block >= len(self.blocks):
            return self.size
        inside = stimulus - int(self.stimulus_offsets[block])
        return int(self.offsets[block]) + inside * self.blocks[block].prompts

    @cached_property
    def _dtypes(self) -> dict[str, pl.Enum]:
        """Every factor column with the levels it takes in any block."""
        levels: dict[str, dict[str, None]] = {}
        for block in self.blocks:
            for name, value in block.constants.items():
                levels.setdefault(name, {})[value] = None
            for column in _columns(block):
                levels.setdefault(column.name, {}).update(dict.fromkeys(v for v in column.values if v is not None))
        return {name: pl.Enum(list(values)) for name, values in levels.items()}

    @cached_property
    def _block_names(self) -> pl.Series:
        names = [block.name for block in self.blocks]
        return pl.Series("block", names, dtype=pl.Enum(names))

    @cached_property
    def _lookups(self) -> dict[tuple[int, str], pl.Series]:
        """Filled as columns are first decoded: (block, column) to the values its codes select."""
        return {}

    def _wanted(self, columns: Sequence[str]) -> dict[str, pl.Enum]:
        for name in columns:
            if name not in self._dtypes:
                raise UnknownNameError("factor", name, self._dtypes)
        return {name: self._dtypes[name] for name in columns}

    def _checked(self, numbers: npt.ArrayLike) -> Numbers:
        trials = np.asarray(numbers)
        if trials.size == 0:
            return np.zeros(0, dtype=np.int64)
        if trials.dtype.kind not in "iu" or trials.ndim != 1:
            raise DataError("Trial numbers are a one-dimensional array of integers.")
        if trials.min() < 0 or trials.max() >= self.size:
            raise DataError(f"Trial numbers of this design run from 0 to {self.size - 1}.")
        return trials.astype(np.int64, copy=False)

    def _decode(self, at: int, trials: Numbers, wanted: Mapping[str, pl.Enum]) -> pl.DataFrame:
        block = self.blocks[at]
        data: dict[str, pl.Series] = {}
        for axis, digit in zip(block.axes, block.digits(trials - self.offsets[at]), strict=True):
            columns = [column for column in axis.columns() if column.name in wanted]
            if not columns:
                continue
            codes = [pl.Series(part.astype(np.uint32)) for part in axis.codes(digit)]
            for column in columns:
                lookup = self._lookups.get((at, column.name))
                if lookup is None:
                    lookup = pl.Series(column.name, column.values, dtype=wanted[column.name])
                    self._lookups[at, column.name] = lookup
                data[column.name] = lookup.gather(codes[column.part])
        for name, value in block.constants.items():
            if name in wanted:
                data[name] = pl.Series(name, [value], dtype=wanted[name]).new_from_index(0, trials.size)
        for name, dtype in wanted.items():
            if name not in data:
                data[name] = pl.Series(name, [None], dtype=dtype).new_from_index(0, trials.size)
        names = self._block_names.new_from_index(at, trials.size)
        return pl.DataFrame([pl.Series("trial", trials.astype(np.uint64)), names, *(data[n] for n in wanted)])


def _columns(block: Block) -> Iterator[Column]:
    for axis in block.axes:
        yield from axis.columns()


def _identifying(axis: Axis) -> list[Column]:
    """The columns that hold the levels themselves: the first of each part."""
    first: dict[int, Column] = {}
    for column in axis.columns():
        first.setdefault(column.part, column)
    return [first[part] for part in sorted(first)]


def _codes(frame: pl.DataFrame, column: Column) -> Index:
    places = {value: code for code, value in enumerate(column.values)}
    codes = frame[column.name].cast(pl.String).replace_strict(places, default=-1, return_dtype=pl.Int64)
    if (codes < 0).any() or codes.null_count():
        wrong = frame[column.name].filter((codes < 0) | codes.is_null())[0]
        raise UnknownNameError(column.name, str(wrong), (v for v in column.values if v is not None))
    return codes.to_numpy()
