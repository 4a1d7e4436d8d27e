"""Random streams, one per feature: the draws of one feature never affect those of another."""

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Stream:
    """Random numbers that depend on an identity's seed and a feature's name, and on nothing else.

    Only :meth:`random.Random.random` is drawn from, whose sequence Python guarantees across versions.
    """

    def __init__(self, seed: int, feature: str) -> None:
        digest = blake2b(f"{seed}\x1f{feature}".encode(), digest_size=16).digest()
        self._random = random.Random(int.from_bytes(digest, "big"))  # noqa: S311

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return self._random.random()

    def uniform(self, low: float, high: float) -> float:
        """Return a number between ``low`` and ``high``."""
        return low + (high - low) * self.unit()

    def spread(self, size: float) -> float:
        """Return a number in (-size, size), more often near 0."""
        return size * (self.unit() + self.unit() - 1)

    def index(self, n: int) -> int:
        """Return one of 0 .. n-1."""
        return int(self.unit() * n)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of ``options``."""
        return options[self.index(len(options))]

    def shuffle(self, options: Sequence[T]) -> list[T]:
        """Return the options in a random order."""
        left = list(options)
        return [left.pop(self.index(len(left))) for _ in range(len(left))]
