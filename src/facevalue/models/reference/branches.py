"""Texts that go on from one picture, as a tree of tokens: which of them are still to be run, and what they follow."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from facevalue.models.reference.network import Network

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

ROWS = 128
"""Most branches that are run at once."""
_TOKENS = 4096
"""Most tokens of these, each branch counted as long as the longest: memory grows with the square of their lengths."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedPrefix:
    """What has been run and every question shares: keys and values of each layer, shape (heads, length, size)."""

    keys: tuple[Floats, ...]
    values: tuple[Floats, ...]

    @property
    def length(self) -> int:
        """How many tokens."""
        return self.keys[0].shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class BranchStep:
    """New tokens of branches, and what they follow. Rows are branches with new tokens; their padding is read by nobody.

    Of each new token, shape (new,): its number, its id, how many tokens it has before it after the prefix, and its
    `home` in `asked`, flat. Of each row, its tokens' numbers from the first one (`lines`), which of the new ones it
    computes (`asked`), and where in its line these stand (`columns`). `read` says at which of the new tokens to read.
    """

    numbers: Ints
    tokens: Ints
    depths: Ints
    lines: Ints
    asked: Ints
    columns: Ints
    home: Ints
    read: Ints


class BranchPool:
    """Keys and values of tokens by number, in each layer; shape (room, heads, size)."""

    def __init__(self, layers: int, heads: int, size: int) -> None:
        self.keys = [np.zeros((0, heads, size), dtype=np.float32) for _ in range(layers)]
        self.values = [np.zeros((0, heads, size), dtype=np.float32) for _ in range(layers)]

    def make_room(self, count: int) -> None:
        """Make room for so many tokens in all."""
        for tables in (self.keys, self.values):
            for layer, table in enumerate(tables):
                if len(table) < count:
                    # Zeros, since padding may stand for a token that is not run yet.
                    tables[layer] = np.zeros((max(count, 2 * len(table)), *table.shape[1:]), dtype=np.float32)
                    tables[layer][: len(table)] = table


class Branches:
    """Texts that go on from one prefix, as a tree of tokens: what several of them begin with is run once.

    Tokens that are never said (`unsaid`), such as that of a picture, have minus infinity.
    """

    ROOT = -1

    def __init__(self, network: "Network", prefix: SharedPrefix, unsaid: Iterable[int] = ()) -> None:
        self._unsaid = list(unsaid)
        self._network = network
        self._prefix = prefix
        self._pool = network.pool()
        self._numbers: dict[tuple[int, int], int] = {}
        self._tokens: list[int] = []
        self._parents: list[int] = []
        self._run: list[bool] = []
        self._logits: dict[int, Floats] = {}

    def enter(self, tokens: Iterable[int], after: int = ROOT) -> int:
        """Return the number of the last token of a text that goes on after a token; runs nothing."""
        for token in tokens:
            number = self._numbers.setdefault((after, token), len(self._tokens))
            if number == len(self._tokens):
                self._tokens.append(token)
                self._parents.append(after)
                self._run.append(False)
            after = number
        return after

    def path(self, number: int) -> list[int]:
        """Return the numbers of the tokens up to a token and of itself."""
        out = []
        while number != self.ROOT:
            out.append(number)
            number = self._parents[number]
        return out[::-1]

    def logits(self, numbers: Iterable[int]) -> Floats:
        """Return what follows tokens that have been read, shape (tokens, vocabulary)."""
        return np.stack([self._logits[number] for number in numbers])

    def forget(self) -> None:
        """Forget what was read; what was run is kept."""
        self._logits.clear()

    def run(self, nodes: Iterable[int]) -> None:
        """Run tokens and all before them, and read what follows them, where that is not known yet."""
        missing = {number for number in nodes if number not in self._logits}
        paths = {number: self.path(number) for number in missing}
        inner = {number for path in paths.values() for number in path[:-1]}
        ends = sorted((paths[n] for n in missing - inner), key=lambda path: (len(path), path))
        self._pool.make_room(len(self._tokens))
        start = 0
        while start < len(ends):
            longest = len(ends[min(start + ROWS, len(ends)) - 1])
            stop = start + max(1, min(ROWS, _TOKENS // longest))
            step = self._step(ends[start:stop], missing)
            start = stop
            logits = self._network.extend(self._prefix, self._pool, step)
            logits[:, self._unsaid] = -np.inf
            self._logits |= zip(step.numbers[step.read].tolist(), logits, strict=True)
            for number in step.numbers.tolist():
                self._run[number] = True

    def _step(self, paths: Sequence[Sequence[int]], needed: Container[int]) -> BranchStep:
        """Plan to run these paths from their first token on that is not run, or wanted and not read."""
        places: dict[int, int] = {}
        homes: list[tuple[int, int]] = []
        depths: list[int] = []
        queries: list[list[int]] = []
        firsts: list[int] = []
        for row, path in enumerate(paths):
            new = ((n not in self._logits and n in needed) or not self._run[n] for n in path)
            first = next(at for at, is_new in enumerate(new) if is_new)
            firsts.append(first)
            nodes = []
            for column, number in enumerate(path[first:]):
                place = places.setdefault(number, len(homes))
                if place == len(homes):
                    homes.append((row, column))
                    depths.append(first + column)
                nodes.append(place)
            queries.append(nodes)
        longest = max(map(len, queries))
        return BranchStep(
            numbers=np.array(list(places)),
            tokens=np.array([self._tokens[number] for number in places]),
            depths=np.array(depths),
            lines=_padded(paths),
            asked=_padded(queries),
            columns=np.array(firsts)[:, None] + np.arange(longest),
            home=np.array([row * longest + column for row, column in homes]),
            read=np.array([place for number, place in places.items() if number in needed]),
        )


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    longest = max(map(len, rows))
    return np.array([[*row, *[0] * (longest - len(row))] for row in rows])
