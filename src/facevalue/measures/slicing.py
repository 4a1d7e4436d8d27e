"""Partitions of stimuli and scenarios into the cells that estimates are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Labels = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Slicing:
    """A partition of items along one side (stimuli or scenarios) into labelled cells."""

    codes: Codes
    """Cell of each item; -1 for none."""
    labels: Labels
    """Factor columns of the cells."""

    def __len__(self) -> int:
        """How many cells."""
        return len(next(iter(self.labels.values()))) if self.labels else 1

    def __mul__(self, other: "Slicing") -> "Slicing":
        """Cross two partitions of the same items."""
        codes = np.where((self.codes >= 0) & (other.codes >= 0), self.codes * len(other) + other.codes, -1)
        return Slicing(codes, self.crossed(other))

    def crossed(self, other: "Slicing") -> dict[str, list[str | None]]:
        """Labels of the cells of this crossed with those of another, this one outermost."""
        left = {k: [v for v in vs for _ in range(len(other))] for k, vs in self.labels.items()}
        return left | {k: list(vs) * len(self) for k, vs in other.labels.items()}

    def present(self) -> "Slicing":
        """The same without the cells that hold nothing."""
        codes = np.unique(self.codes[self.codes >= 0])
        places = np.full(len(self) + 1, -1, dtype=np.int64)  # the last is that of no cell
        places[codes] = np.arange(codes.size)
        return Slicing(places[self.codes], {name: [levels[i] for i in codes] for name, levels in self.labels.items()})

    @classmethod
    def whole(cls, items: int) -> "Slicing":
        """One cell that holds everything."""
        return cls(np.zeros(items, dtype=np.int64), {})
