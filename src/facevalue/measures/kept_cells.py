"""Sums by unit and cell of answers that stream by, in bounded memory."""

from collections.abc import Sequence

import polars as pl

MOST = 2_000_000
"""Cells of units that are kept; beyond, units are left out by their hash."""
PART = "of a part drawn by hash"
"""How the method of an estimate ends for which some units were left out, as there are too many."""


class KeptCells:
    """Adds up chunks.

    Parameters
    ----------
    keys:
        Columns that name a cell of a unit, besides `unit`, which is a hash.
    sums:
        Columns that are added up.

    Examples
    --------
    >>> cells = KeptCells(["question"], ["n"])
    >>> for n in (1.0, 2.0):
    ...     cells.add(pl.DataFrame({"unit": [7], "question": ["a"], "n": [n]}, schema_overrides={"unit": pl.UInt64}))
    >>> cells.frame()["n"].to_list(), cells.one_of
    ([3.0], 1)
    """

    def __init__(self, keys: Sequence[str], sums: Sequence[str]) -> None:
        self._keys, self._sums = [*keys, "unit"], list(sums)
        self._parts: list[pl.DataFrame] = []
        self.one_of = 1
        """One in how many units is kept."""

    def add(self, cells: pl.DataFrame) -> None:
        """Add sums by unit and cell."""
        self._parts.append(cells.select(*self._keys, *self._sums).filter(pl.col("unit") % self.one_of == 0))
        if sum(cells_kept.height for cells_kept in self._parts) > MOST:
            self._parts = [self.frame()]
            while self._parts[0].height > MOST // 2:
                self.one_of *= 2
                self._parts = [self._parts[0].filter(pl.col("unit") % self.one_of == 0)]

    def frame(self) -> pl.DataFrame:
        """What was added up, in the order of its keys; without columns where nothing was."""
        if not self._parts:
            return pl.DataFrame()
        added = pl.concat(self._parts).group_by(self._keys).agg(pl.col(self._sums).sum())
        return added.sort(self._keys, nulls_last=True)
