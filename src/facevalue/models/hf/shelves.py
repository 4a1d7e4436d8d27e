"""Keys and values of token sequences that follow shared prefixes: each has a row of a tensor as long as it needs.

A sequence moves to a row twice as long when it has filled its own, so memory is within about twice what is used. What a
row holds and how long it is depend on its own sequence alone: so does every number that is computed from it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from facevalue.models.hf.prefix import Prefix

if TYPE_CHECKING:
    from torch import Tensor

_SHORTEST, _FEWEST = 64, 4
"""Tokens of the shortest row, and rows of the smallest shelf."""


@dataclass(slots=True, eq=False)
class TokenSequence:
    """Tokens after a prefix that have been read: so many, kept in a row of a shelf."""

    prefix: Prefix
    shelf: "Shelf"
    row: int
    length: int = 0

    def free(self) -> None:
        """Give its row back."""
        self.shelf.remove(self.row)


@dataclass(slots=True, eq=False)
class Shelf:
    """Rows of one length; those in use come first.

    `keys` and `values` have a tensor for each layer, (rows, heads, length, width). `prompt`: it is for one prompt,
    which is read several tokens at a time.
    """

    length: int
    keys: "list[Tensor]"
    values: "list[Tensor]"
    prompt: bool = False
    sequences: list[TokenSequence] = field(default_factory=list)

    @classmethod
    def like(cls, prefix: Prefix, length: int, *, prompt: bool = False) -> "Shelf":
        """Return an empty shelf for sequences after prefixes like this one."""

        def empty(place: int) -> "list[Tensor]":
            tensors = [pair[place] for pair in prefix.layers]
            return [t.new_zeros(int(prompt), t.shape[1], length, t.shape[3]) for t in tensors if t is not None]

        return cls(length, empty(0), empty(1), prompt)

    @property
    def capacity(self) -> int:
        """Rows that memory is taken for."""
        return len(self.keys[0])

    def add(self, sequence: TokenSequence) -> None:
        """Give a sequence the next row, with what it has in its present one."""
        source, row = sequence.shelf, sequence.row
        if len(self.sequences) == self.capacity:
            self._resize(max(_FEWEST, self.capacity + self.capacity // 2))
        place = len(self.sequences)
        if sequence.length:
            for shelved, its in zip((*self.keys, *self.values), (*source.keys, *source.values), strict=True):
                shelved[place, :, : sequence.length] = its[row, :, : sequence.length]
        self.sequences.append(sequence)
        sequence.shelf, sequence.row = self, place

    def remove(self, row: int) -> None:
        """Take out what is in a row; what is in the last one takes its place."""
        last = self.sequences.pop()
        if row < len(self.sequences):
            for shelved in (*self.keys, *self.values):
                shelved[row, :, : last.length] = shelved[last.row, :, : last.length]
            self.sequences[row], last.row = last, row
        if len(self.sequences) < self.capacity // 4:
            self._resize(max(_FEWEST, 2 * len(self.sequences)) if self.sequences else 0)

    def _resize(self, rows: int) -> None:
        size = len(self.sequences)
        for tensors in (self.keys, self.values):
            for layer, tensor in enumerate(tensors):
                tensors[layer] = tensor.new_zeros(rows, *tensor.shape[1:])
                tensors[layer][:size] = tensor[:size]


class Shelves:
    """All shelves of one model."""

    def __init__(self) -> None:
        self._by_length: dict[int, Shelf] = {}

    def begin(self, prefix: Prefix, length: int) -> TokenSequence:
        """Return a prompt of which nothing is read yet, of so many tokens."""
        shelf = Shelf.like(prefix, fitting(length), prompt=True)
        sequence = TokenSequence(prefix, shelf, 0)
        shelf.add(sequence)
        return sequence

    def fork(self, sequence: TokenSequence) -> TokenSequence:
        """Return a copy for one of the replies to a prompt."""
        copy = TokenSequence(sequence.prefix, sequence.shelf, sequence.row, sequence.length)
        self._shelf(sequence.prefix, fitting(sequence.length + 1)).add(copy)
        return copy

    def extend(self, sequence: TokenSequence) -> None:
        """Make room for one more token."""
        shelf, row = sequence.shelf, sequence.row
        if sequence.length == shelf.length:
            self._shelf(sequence.prefix, 2 * shelf.length).add(sequence)
            shelf.remove(row)

    @property
    def tokens(self) -> int:
        """Tokens that memory is taken for."""
        return sum(shelf.capacity * shelf.length for shelf in self._by_length.values())

    def _shelf(self, prefix: Prefix, length: int) -> Shelf:
        if length not in self._by_length:
            self._by_length[length] = Shelf.like(prefix, length)
        return self._by_length[length]


def fitting(length: int) -> int:
    """Return the length of the rows that so many tokens are kept in.

    >>> [fitting(length) for length in (1, 64, 65, 300)]
    [64, 64, 128, 512]
    """
    return max(_SHORTEST, 1 << (length - 1).bit_length())
