"""Sums of answers that stream by, by unit and labels or by trial, in bounded memory."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array

PILE = 250_000
"""Rows that pile up before they are added together, or as many as there are sums, if these are more."""
MOST = 2_000_000
"""Cells that a thinned table keeps."""
GRAIN = 2.0**-32
"""What is added up is of multiples of it, finer than the single precision that probabilities have: so sums are exact,
up to two million, whatever the order."""
_FEWER = 0.75  # of the rows, so many cells or less, for which it pays to add a chunk up by itself
PART = "of a part drawn by hash"
"""How the detail of the method of an estimate ends for which some units were left out, as there are too many."""


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
        self._sums_so_far: pl.DataFrame | None = None
        self._pile: list[pl.DataFrame] = []
        self._repeats = True
        """Whether several rows of a chunk were of one cell, so far, so that a chunk is best added up by itself."""
        self.one_of = 1
        """One in how many units is kept."""

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that have the keys and the sums; several may be of one cell."""
        cells = rows.select(*self._keys, *((pl.col(x).cast(pl.Float64) / GRAIN).round() * GRAIN for x in self._sums))
        if self.one_of > 1:
            cells = cells.filter(pl.col("unit") % self.one_of == 0)
        texts = pl.selectors.by_name(self._keys) & (pl.selectors.enum() | pl.selectors.string())
        cells = cells.with_columns(texts.cast(pl.Categorical))  # levels may differ from chunk to chunk
        if self._repeats:
            rows, cells = cells, self._added(cells)
            self._repeats = cells.height <= _FEWER * rows.height
        self._pile.append(cells)
        size = 0 if self._sums_so_far is None else self._sums_so_far.height
        if sum(chunk.height for chunk in self._pile) > max(PILE, size):
            self._add_up()

    def frame(self) -> pl.DataFrame:
        """What was added up; without columns where nothing was."""
        self._add_up()
        if self._sums_so_far is None:
            return pl.DataFrame()
        named = self._sums_so_far.with_columns(pl.selectors.categorical().cast(pl.String))
        return named.sort(self._keys, nulls_last=True) if self._thinned else named

    def _add_up(self) -> None:
        """Add the pile to the sums, and leave units out where there are too many."""
        if not self._pile:
            return
        rows = pl.concat(self._pile if self._sums_so_far is None else [self._sums_so_far, *self._pile])
        self._pile, self._sums_so_far = [], None
        sums = self._added(rows)
        if self._thinned and sums.height > MOST:
            while sums.height > MOST:  # no more than are too many in the end, however they came
                self.one_of *= 2
                sums = sums.filter(pl.col("unit") % self.one_of == 0)
        self._sums_so_far = sums

    def _added(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.group_by(self._keys, maintain_order=not self._thinned).agg(pl.col(self._sums).sum())


def in_grains(values: Array) -> Array:
    """The multiple of `GRAIN` that is nearest to each value.

    Examples
    --------
    >>> values = in_grains(np.array([0.1, 0.2, 0.3]))
    >>> sum(values) == sum(values[::-1]), sum([0.1, 0.2, 0.3]) == sum([0.3, 0.2, 0.1])
    (True, False)
    """
    return np.asarray(np.rint(values / GRAIN) * GRAIN)


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
            total[span] += np.bincount(trial - low, in_grains(values), span.stop - low)

    def __getitem__(self, name: str) -> Array:
        """Sums of a column; zero where nothing was added."""
        return self._sums.get(name, np.zeros(self._trials))

    @property
    def names(self) -> list[str]:
        """Columns that were added up."""
        return list(self._sums)
