"""Trial numbers of a run in ascending order, as a range if possible."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TrialNumbers:
    """Trial numbers and their positions in the run."""

    size: int
    """How many."""
    chosen: Index | None = None
    """The numbers in ascending order; None for 0 .. size - 1, which costs no memory whatever the size."""

    @classmethod
    def of(cls, numbers: Index) -> "TrialNumbers":
        """Take the numbers of a sample, in any order."""
        chosen = np.unique(np.asarray(numbers, dtype=np.int64))
        return cls(chosen.size, chosen)

    def at(self, start: int, stop: int) -> Index:
        """Numbers at a range of positions."""
        stop = min(stop, self.size)
        return np.arange(start, stop, dtype=np.int64) if self.chosen is None else self.chosen[start:stop]

    def take(self, positions: Index) -> Index:
        """Numbers at these positions."""
        return positions if self.chosen is None else self.chosen[positions]

    def positions(self, numbers: Index) -> tuple[Index, npt.NDArray[np.bool_]]:
        """Positions of numbers, and which of them are of the run at all; the others get position 0."""
        if self.chosen is None:
            in_sample = (numbers >= 0) & (numbers < self.size)
            return np.where(in_sample, numbers, 0), in_sample
        if not self.size:
            return np.zeros(numbers.size, dtype=np.int64), np.zeros(numbers.size, dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.chosen, numbers), self.size - 1)
        in_sample = self.chosen[places] == numbers
        return np.where(in_sample, places, 0), in_sample
