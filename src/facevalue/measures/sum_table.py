"""Sums of answers that stream by, by unit and labels or by trial, in bounded memory."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.shares import groups, level_codes

PILE = 250_000
"""Rows that pile up before they are added together, or as many as there are sums, if these are more."""
MOST = 2_000_000
"""Cells of units that are kept."""
GRAIN = 2.0**-32
"""What is added up is of multiples of it, finer than the single precision that probabilities have: so sums are exact,
up to two million, whatever the order."""
PART = "of a part drawn by hash"
"""How the detail of the method of an estimate ends for which some units were left out, as there are too many."""


class SumTable:
    """Adds up chunks; rows are in the order in which they came first.

    Parameters
    ----------
    keys:
        Columns that name a row: labels, and the unit that was sampled.
    sums:
        Columns that are added up.

    Examples
    --------
    >>> table = SumTable(["question", "unit"], ["n"])
    >>> for n in (1.0, 2.0):
    ...     table.add(pl.DataFrame({"unit": ["ann"], "question": ["a"], "n": [n]}))
    >>> table.frame()["n"].to_list()
    [3.0]
    """

    def __init__(self, keys: Sequence[str], sums: Sequence[str]) -> None:
        self._keys, self._sums = list(keys), list(sums)
        self._pile: list[pl.DataFrame] = []
        self._limit = PILE

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that have the keys and the sums; several may be of one cell."""
        texts = pl.selectors.by_name(self._keys) & (pl.selectors.enum() | pl.selectors.string())
        sums = ((pl.col(name).cast(pl.Float64) / GRAIN).round() * GRAIN for name in self._sums)
        self._pile.append(rows.select(*self._keys, *sums).with_columns(texts.cast(pl.Categorical)))
        if sum(chunk.height for chunk in self._pile) > self._limit:
            self._limit = max(PILE, 2 * self.frame().height)

    def frame(self) -> pl.DataFrame:
        """What was added up; without columns where nothing was."""
        if not self._pile:
            return pl.DataFrame()
        rows = pl.concat(self._pile).group_by(self._keys, maintain_order=True)
        self._pile = [rows.agg(pl.col(self._sums).sum())]
        return self._pile[0].with_columns(pl.selectors.categorical().cast(pl.String))


class UnitTable:
    """Adds up chunks by a few labels and very many units, of which some are left out where there are too many.

    Parameters
    ----------
    labels:
        Columns with few levels; null is a level.
    sums:
        Columns that are added up.

    Examples
    --------
    >>> table = UnitTable(["question"], ["n"])
    >>> for question in ("b", "a", "b"):
    ...     table.add(pl.DataFrame({"question": [question], "unit": pl.Series([7], dtype=pl.UInt64), "n": [1.0]}))
    >>> table.frame().rows()
    [('a', 7, 1.0), ('b', 7, 2.0)]
    """

    def __init__(self, labels: Sequence[str], sums: Sequence[str]) -> None:
        self._names, self._sums = list(labels), list(sums)
        self._labels: dict[tuple[str | None, ...], int] = {}
        self._pile: list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], Array]] = []
        """Numbers of labels, units, and sums of shape (sums, rows); what was added up comes first."""
        self._limit = MOST
        self.one_of = 1
        """One in how many units is kept."""

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that have the labels, the sums and `unit`, a number drawn by hash; several may be of one cell."""
        label, first = groups(*(level_codes(rows[name]) for name in self._names))
        texts = rows.select(self._names)[first].cast(pl.String).iter_rows()
        numbers = [self._labels.setdefault(labels, len(self._labels)) for labels in texts]
        sums = in_grains(np.stack([rows[name].to_numpy() for name in self._sums]))
        self._pile.append((np.array(numbers, dtype=np.uint32)[label], rows["unit"].to_numpy(), sums))
        if sum(unit.size for _, unit, _ in self._pile) > self._limit:
            self._add_up(np.arange(len(self._labels), dtype=np.uint32))

    def frame(self) -> pl.DataFrame:
        """What was added up, in the order of labels and units; without columns where nothing was."""
        if not self._labels:
            return pl.DataFrame()
        names = pl.DataFrame(list(self._labels), dict.fromkeys(self._names, pl.String()), orient="row")
        order = names.with_row_index("(number)").sort(self._names, nulls_last=True)["(number)"].to_numpy()
        self._add_up(np.argsort(order).astype(np.uint32))
        label, unit, sums = self._pile[0]
        self._labels = {labels: number for number, labels in enumerate(names[order].iter_rows())}
        levels = {column.name: pl.Enum(column.drop_nulls().unique().sort()) for column in names}
        columns = names[order].cast(levels)[label]  # type: ignore[arg-type]
        return columns.with_columns(pl.Series("unit", unit), *map(pl.Series, self._sums, sums))

    def _add_up(self, place: npt.NDArray[np.uint32]) -> None:
        """Add the pile to the sums, and leave units out where there are too many; labels get these numbers."""
        label, unit, sums = (np.concatenate(parts, axis=-1) for parts in zip(*self._pile, strict=True))
        label, self._pile = place[label], []
        order = np.lexsort((unit, label))
        label, unit = label[order], unit[order]
        start = np.flatnonzero(np.diff(label, prepend=-1.0).astype(bool) | np.diff(unit, prepend=unit[:1]).astype(bool))
        label, unit = label[start], unit[start]
        sums = np.stack([np.add.reduceat(column[order], start) for column in sums])
        while (some := unit % np.uint64(self.one_of) == 0).sum() > MOST:
            self.one_of *= 2
        self._pile, self._limit = [(label[some], unit[some], sums[:, some])], max(MOST, int(some.sum()) + MOST // 4)


def in_grains(values: Array) -> Array:
    """Round values to multiples of `GRAIN`.

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
