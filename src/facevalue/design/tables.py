"""Tables: what each column of a trial frame can hold, and which digit of a trial number says where it stands."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.design.block import Block

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
