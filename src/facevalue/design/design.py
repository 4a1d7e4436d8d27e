"""Design: a list of blocks, each a mixed-radix product of axes; trial numbers to factor levels and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design.blocks import Axis, AxisColumn, Block, Index, Numbers
from facevalue.errors import DataError, UnknownNameError

# Tables: what each column of a trial frame can hold, and which digit of a trial number says where it stands.


Place = tuple[int, int]
"""An axis of a block and one of its parts."""


@dataclass(frozen=True, eq=False)
class Digit:
    """Digit that some columns hang on; columns with one digit (a face and its age) share one search for their rows."""

    places: tuple[Place | None, ...]  # for each block the axis and part; None where the columns are constant in it
    firsts: tuple[int, ...]  # for each block where its values start in the tables


@dataclass(frozen=True)
class ColumnValues:
    """All values of a column in all blocks, one after another (Enum), and the digit that selects among them."""

    values: pl.Series
    digit: Digit


@dataclass(frozen=True)
class _Source:
    """Source of a block's column: a place, or nothing but a constant."""

    place: Place | None
    values: tuple[str | None, ...]


def tables(blocks: Sequence[Block]) -> dict[str, ColumnValues]:
    """Lay out every factor column of the blocks, in the order in which they first name it."""
    columns: dict[str, list[_Source]] = {}
    for at, block in enumerate(blocks):
        for name, source in _sources(block):
            columns.setdefault(name, [_Source(None, (None,))] * len(blocks))[at] = source
    sharing: dict[tuple[Place | None, ...], list[str]] = {}
    for name, sources in columns.items():
        sharing.setdefault(tuple(source.place for source in sources), []).append(name)
    out: dict[str, ColumnValues] = {}
    for places, names in sharing.items():
        values: dict[str, list[str | None]] = {name: [] for name in names}
        starts: dict[tuple[int, ...], int] = {}  # blocks that hold the very same levels share them here, too
        firsts: list[int] = []
        for at in range(len(blocks)):
            same = tuple(id(columns[name][at].values) for name in names)
            if same not in starts:
                starts[same] = len(values[names[0]])
                for name in names:
                    values[name] += columns[name][at].values
            firsts.append(starts[same])
        digit = Digit(places, tuple(firsts))
        for name in names:
            levels = [value for value in dict.fromkeys(values[name]) if value is not None]
            out[name] = ColumnValues(pl.Series(name, values[name], dtype=pl.Enum(levels)), digit)
    return {name: out[name] for name in columns}


def _sources(block: Block) -> list[tuple[str, _Source]]:
    fixed = [(name, _Source(None, (value,))) for name, value in block.constants.items()]
    varying = [
        (column.name, _Source((place, column.part), column.values))
        for place, axis in enumerate(block.axes)
        for column in axis.columns()
    ]
    return fixed + varying


Rows = slice | Index
_PIECE = 2**15  # trials decoded at a time


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
        if self.size >= 2**54:  # requests are sorted by a number of 64 bits, of which others say the repeat
            raise DataError("The design has 2^54 trials or more.")

    @cached_property
    def size(self) -> int:
        """Number of trials; the same as `len`, also beyond its limit on small platforms."""
        return sum(block.size for block in self.blocks)

    def __len__(self) -> int:
        """Number of trials."""
        return self.size

    @cached_property
    def offsets(self) -> Numbers:
        """First trial number of each block, and the total."""
        return np.cumsum([0, *(block.size for block in self.blocks)], dtype=np.int64)

    @cached_property
    def stimulus_offsets(self) -> Numbers:
        """First stimulus number of each block, and the total."""
        return np.cumsum([0, *(block.stimuli for block in self.blocks)], dtype=np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        """Factor columns of the trial frame."""
        return tuple(self._tables)

    def stimulus_numbers(self, numbers: npt.ArrayLike) -> Numbers:
        """Number of the stimulus that each trial shows, counted through the whole design."""
        trials = self._check_numbers(numbers)
        block = np.searchsorted(self.offsets, trials, side="right") - 1
        prompts = np.array([b.prompts for b in self.blocks], dtype=np.int64)
        return self.stimulus_offsets[block] + (trials - self.offsets[block]) // prompts[block]

    def trials(self, numbers: npt.ArrayLike, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Decode trial numbers."""
        trials = self._check_numbers(numbers)
        tables = self._tables if columns is None else {name: self._tables[self._check_factor(name)] for name in columns}
        at = np.searchsorted(self.offsets, trials, side="right") - 1
        rows = {table.digit: np.empty(trials.size, dtype=np.uint32) for table in tables.values()}
        for block, piece in self._pieces(at):
            self._locate(block, trials[piece] - self.offsets[block], piece, rows)
        row_of_digit = {digit: pl.Series(row) for digit, row in rows.items()}
        return pl.DataFrame(
            [
                pl.Series("trial", trials.astype(np.uint64)),
                self._block_names.gather(pl.Series(at.astype(np.uint32))),
                *(table.values.gather(row_of_digit[table.digit]) for table in tables.values()),
            ]
        )

    def numbers(self, frame: pl.DataFrame) -> Numbers:
        """Encode factor levels: the inverse of `trials`."""
        out = np.full(frame.height, -1, dtype=np.int64)
        names = frame["block"].cast(pl.String).to_numpy()
        for block, offset in zip(self.blocks, self.offsets, strict=False):
            rows = np.flatnonzero(names == block.name)
            if not rows.size:
                continue
            block_rows = frame[rows]
            local = np.zeros(rows.size, dtype=np.int64)
            valid = np.ones(rows.size, dtype=bool)
            for axis in block.axes:
                digit = axis.index([_codes(block_rows, column) for column in _identifying(axis)])
                valid &= digit >= 0
                local = local * len(axis) + digit
            out[rows] = np.where(valid, local + offset, -1)
        if (out < 0).any():
            row = frame.row(int(np.flatnonzero(out < 0)[0]), named=True)
            raise DataError(f"No trial of the design has these levels: {row}.")
        return out

    def select_levels(self, selection: Mapping[str, Sequence[str]]) -> "Design":
        """The design with only the selected levels, as block structure: the result is again arithmetic.

        A selection of a paired factor (`identity`, never `identity_1`) holds for both members. Blocks without a
        selected factor are kept whole.
        """
        choices: dict[str, set[str]] = {}
        for block in self.blocks:
            for name, levels in block.choices().items():
                choices.setdefault(name, set()).update(levels)
        for name, keep in selection.items():
            if name not in choices:
                raise UnknownNameError("factor", name, choices)
            for level in keep:
                if level not in choices[name]:
                    raise UnknownNameError(name, level, choices[name])
        narrowed = (block.select_levels(selection) for block in self.blocks)
        return Design(tuple(block for block in narrowed if block is not None))

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
    def _tables(self) -> dict[str, ColumnValues]:
        return tables(self.blocks)

    @cached_property
    def _block_names(self) -> pl.Series:
        names = [block.name for block in self.blocks]
        return pl.Series("block", names, dtype=pl.Enum(names))

    def _check_factor(self, name: str) -> str:
        if name not in self._tables:
            raise UnknownNameError("factor", name, self._tables)
        return name

    def _check_numbers(self, numbers: npt.ArrayLike) -> Numbers:
        trials = np.asarray(numbers)
        if trials.size == 0:
            return np.zeros(0, dtype=np.int64)
        if trials.dtype.kind not in "iu" or trials.ndim != 1:
            raise DataError("Trial numbers are a one-dimensional array of integers.")
        if trials.min() < 0 or trials.max() >= self.size:
            raise DataError(f"Trial numbers of this design run from 0 to {self.size - 1}.")
        return trials.astype(np.int64, copy=False)

    def _pieces(self, at: Index) -> Iterator[tuple[int, Rows]]:
        """Cut rows, given the block of each, into pieces of one block; neighbours in memory come soon after another."""
        small = np.min_scalar_type(len(self.blocks))
        for start in range(0, at.size, _PIECE):
            piece = at[start : start + _PIECE]
            order: Index | None = None
            if (piece[1:] < piece[:-1]).any():
                order = np.argsort(piece.astype(small), kind="stable") + start
            counts = np.bincount(piece)
            first = 0
            for block in np.flatnonzero(counts):
                stop = first + int(counts[block])
                yield int(block), slice(start + first, start + stop) if order is None else order[first:stop]
                first = stop

    def _locate(self, at: int, local: Numbers, piece: Rows, rows: Mapping[Digit, npt.NDArray[np.uint32]]) -> None:
        """Write down where in the tables the values of one block's trials stand."""
        block = self.blocks[at]
        digits = block.digits(local)
        codes: dict[int, tuple[Index, ...]] = {}
        for digit, row in rows.items():
            first = digit.firsts[at]
            place = digit.places[at]
            if place is None:
                row[piece] = first
                continue
            axis, column = place
            if axis not in codes:
                codes[axis] = block.axes[axis].codes(digits[axis])
            row[piece] = codes[axis][column] + first


def _identifying(axis: Axis) -> list[AxisColumn]:
    """The columns that hold the levels themselves: the first of each part."""
    first: dict[int, AxisColumn] = {}
    for column in axis.columns():
        first.setdefault(column.part, column)
    return [first[side] for side in sorted(first)]


def _codes(frame: pl.DataFrame, column: AxisColumn) -> Index:
    places = {value: code for code, value in enumerate(column.values)}
    codes = frame[column.name].cast(pl.String).replace_strict(places, default=-1, return_dtype=pl.Int64)
    if (codes < 0).any() or codes.null_count():
        wrong = frame[column.name].filter((codes < 0) | codes.is_null())[0]
        raise UnknownNameError(column.name, str(wrong), (v for v in column.values if v is not None))
    return codes.to_numpy()
