"""Answers of one condition, kept to be analysed again and again: whole, of some trials, or without what was sampled."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import measures_wanted
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS, Deletion, reduce_estimates
from facevalue.protocol.sampled_units import COLUMNS, Codes, Groups, StudyUnits
from facevalue.protocol.study import Study

SEED = 20260
"""Of the groups that units are dealt into: the same answers always give the same estimates."""
MOST_ROWS = 3_000_000
"""Answers of one model that are kept in memory; what is more waits on the disk."""
MANY_ROWS = 12_000_000
"""Answers of one model from which fewer groups are left out, as each takes another pass over all of them."""
FEWER_GROUPS = 10


class KeptAnswers:
    """One model's answers in one condition, as answers of a plain study.

    Parameters
    ----------
    study, model:
        What they answer, and who.
    units:
        Names what was sampled.
    folder:
        Where answers wait that are too many for the memory.
    """

    def __init__(self, study: Study, model: str, units: StudyUnits, folder: Path) -> None:
        self.study, self.model = study, model
        self.units, self._folder = units, folder
        self._parts: list[pl.DataFrame | Path] = []
        self.rows = 0
        self.unseen = False
        """Whether nothing shows that the model sees the pictures, as far as that was looked at."""
        self._trials: list[npt.NDArray[np.uint64]] = []
        self._pairs: list[pl.DataFrame] = []
        self._only: npt.NDArray[np.uint64] | None = None
        self._shared: npt.NDArray[np.bool_] | None = None

    def add(self, chunk: pl.DataFrame, *, to_disk: bool = False) -> None:
        """Keep a chunk."""
        coded = self.units.add_to(chunk)
        self.rows += coded.height
        self._trials.append(coded["trial"].unique().to_numpy())
        self._pairs.append(coded.select(pl.col("block").cast(pl.String), *COLUMNS).unique())
        if not to_disk:
            self._parts.append(coded)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self._parts)}.arrow"
        coded.write_ipc(path)
        self._parts.append(path)

    def raw(self) -> Iterator[pl.DataFrame]:
        """All chunks that count, with their units."""
        for stored in self._parts:
            chunk = stored if isinstance(stored, pl.DataFrame) else pl.read_ipc(stored.read_bytes())
            if self._only is not None:
                chunk = chunk.filter(np.isin(chunk["trial"].to_numpy(), self._only))
            if self._shared is not None:
                first, second = (self._shared[chunk[name].to_numpy()] for name in COLUMNS)
                chunk = chunk.filter(first & second)
            if chunk.height:
                yield chunk

    def of_trials(self, only: npt.NDArray[np.uint64]) -> "KeptAnswers":
        """The same answers, those of some trials alone."""
        out = copy(self)
        out._only = only
        return out

    def of_units(self, shared: npt.NDArray[np.bool_]) -> "KeptAnswers":
        """The same answers, those about some units alone, by code."""
        out = copy(self)
        out._shared = shared
        return out

    def trials(self) -> npt.NDArray[np.uint64]:
        """Trials that were answered, ascending."""
        return np.unique(np.concatenate(self._trials)) if self._trials else np.zeros(0, dtype=np.uint64)

    def pairs(self) -> Codes:
        """Distinct pairs of units that its answers are about, shape (pairs, 2)."""
        tables = [np.zeros((0, 2), dtype=np.int64), *(table.select(COLUMNS).to_numpy() for table in self._pairs)]
        out = np.unique(np.concatenate(tables), axis=0)
        return out if self._shared is None else out[self._shared[out].all(axis=1)]

    def units_by_block(self) -> dict[str, Codes]:
        """Units that the answers to each block are about, by code."""
        pairs = pl.concat(self._pairs).unique()
        return {str(block): np.unique(table.select(COLUMNS).to_numpy()) for (block,), table in pairs.group_by("block")}

    def chunks(self) -> Iterator[pl.DataFrame]:
        """All chunks that count, as the study's `analyse` takes them."""
        for chunk in self.raw():
            yield chunk.drop(COLUMNS)

    def estimates(self, measures: Iterable[str] | None = None) -> pl.DataFrame:
        """Estimates of the study; of these measures at least, where they are named."""
        with measures_wanted(measures):
            return self.study.analyse({self.model: self.chunks()})

    def without(self, groups: Groups, measures: Iterable[str] | None = None) -> Iterator[pl.DataFrame]:
        """Values of the estimates (`reduced`) without each group of what was sampled; as `estimates`."""
        for group in range(len(groups.layers)):
            chunks = (chunk.filter(groups.kept(chunk, group)).drop(COLUMNS) for chunk in self.raw())
            with values_only(), measures_wanted(measures):
                taken = self.study.analyse({self.model: (rest for rest in chunks if rest.height)})
            yield reduce_estimates(taken)


def grouped(conditions: Sequence[KeptAnswers], *, paired: bool) -> Groups:
    """What was sampled for some conditions, dealt into groups; `paired` where all are about the same units."""
    rows = sum(answers.rows for answers in conditions)
    pairs = [answers.pairs() for answers in conditions]
    ranks = conditions[0].units.names.ranks()
    many = JACKKNIFE_GROUPS if rows <= MANY_ROWS else FEWER_GROUPS
    return Groups([np.concatenate(pairs)] if paired else pairs, many, SEED, ranks)


def left_out(first: Iterable[pl.DataFrame], second: Iterable[pl.DataFrame], groups: Groups) -> Iterator[Deletion]:
    """Both conditions without each group, from the estimates of either."""
    for (layer, _), before, after in zip(groups.layers, first, second, strict=True):
        yield Deletion(layer, before, after)
