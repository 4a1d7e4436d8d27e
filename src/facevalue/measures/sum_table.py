"""Sums of answers that stream by, by unit and labels or by trial, in bounded memory."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array

MOST = 2_000_000
"""Rows that may pile up before they are added together; of a thinned table, cells of units that are kept."""
PART = "of a part drawn by hash"
"""How the method of an estimate ends for which some units were left out, as there are too many."""


class SumTable:
    """Adds up chunks.

    Parameters
    ----------
    keys:
        Columns that name a row: labels, and the unit that was sampled.
    sums:
        Columns that are added up.
    thinned:
        Whether units are left out by their hash, which is then the column `unit`, where there are too many of them.
        Rows are then in the order of their keys, else in that in which they came first.

    Examples
    --------
    >>> table = SumTable(["question", "unit"], ["n"])
    >>> for n in (1.0, 2.0):
    ...     table.add(pl.DataFrame({"unit": ["ann"], "question": ["a"], "n": [n]}))
    >>> table.frame()["n"].to_list()
    [3.0]
    """

    def __init__(self, keys: Sequence[str], sums: Sequence[str], *, thinned: bool = False) -> None:
        self._keys, self._sums, self._thinned = list(keys), list(sums), thinned
        self._chunks: list[pl.DataFrame] = []
        self.one_of = 1
        """One in how many units is kept."""

    def add(self, rows: pl.DataFrame) -> None:
        """Add up rows that have the keys and the sums."""
        cells = rows.select(*self._keys, *self._sums)
        if self._thinned:
            cells = cells.filter(pl.col("unit") % self.one_of == 0)
        text = pl.selectors.enum() | pl.selectors.categorical()  # levels may differ from chunk to chunk
        self._chunks.append(self._added(cells).with_columns((text & pl.selectors.by_name(self._keys)).cast(pl.String)))
        if sum(chunk.height for chunk in self._chunks) > MOST + 2 * self._chunks[0].height * (not self._thinned):
            self._chunks = [self.frame()]
            while self._thinned and self._chunks[0].height > MOST // 2:
                self.one_of *= 2
                self._chunks = [self._chunks[0].filter(pl.col("unit") % self.one_of == 0)]

    def frame(self) -> pl.DataFrame:
        """What was added up; without columns where nothing was."""
        if not self._chunks:
            return pl.DataFrame()
        added = self._added(pl.concat(self._chunks))
        return added.sort(self._keys, nulls_last=True) if self._thinned else added

    def _added(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.group_by(self._keys, maintain_order=not self._thinned).agg(pl.col(self._sums).sum())


class TrialSums:
    """Sums of columns by trial, in arrays as long as the design: for what needs each trial's answers again.

    Examples
    --------
    >>> sums = TrialSums(3)
    >>> sums.add(np.array([2, 2]), valid=np.array([1.0, 0.5]))
    >>> sums["valid"].tolist(), sums["never"].tolist()
    ([0.0, 0.0, 1.5], [0.0, 0.0, 0.0])
    """

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self._sums: dict[str, Array] = {}

    def add(self, trial: npt.NDArray[np.int64], **columns: Array) -> None:
        """Add values of a chunk's trials."""
        low = int(trial.min(initial=0))
        span = slice(low, int(trial.max(initial=-1)) + 1)
        for name, values in columns.items():
            total = self._sums.setdefault(name, np.zeros(self._trials))
            total[span] += np.bincount(trial - low, values, span.stop - low)

    def __getitem__(self, name: str) -> Array:
        """Sums of a column; zero where nothing was added."""
        return self._sums.get(name, np.zeros(self._trials))

    @property
    def names(self) -> list[str]:
        """Columns that were added up."""
        return list(self._sums)
