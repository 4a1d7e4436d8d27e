"""Counterfactual sets: the table of stimuli as arrays, with its units, its bases and what was changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cells import UNIT_KEYS, Slicing, number_clusters

Codes = npt.NDArray[np.int64]
_MOST_NAMED = 3
BESIDE = "beside_"
"""Prefix of columns about the other picture of a pair, where any two pictures of a unit are a pair."""
OTHER_PATH = "other_path"
"""Column with the right one of the two pictures of a pair."""
NO_PICTURE = "(no picture)"
"""Level of what differs within a unit that is the base where nothing is shown."""
APART = ("image", "path", OTHER_PATH, "identity", "set", "seed")
"""Columns of a table of stimuli that are no factor."""


@dataclass(frozen=True)
class Sets:
    """A table of stimuli as arrays."""

    manifest: pl.DataFrame
    unit: str  # what was sampled, one of `clusters.UNITS`
    cue: tuple[str, ...] = ()  # columns that say what was changed; none where stimuli have no base
    base_level: str | None = None  # level of the first of these that the base has; None where it has none
    # Levels of the cue columns of a second base, with which some cues are compared; None where there is none
    control_cue: tuple[str, ...] | None = None
    controlled: tuple[str, ...] = ()  # levels of the first cue column that are compared with the second base
    texts: tuple[str, ...] = ()  # columns of what is asked about each stimulus, which are no factors
    # Of pairs of a base and another picture: the column in which they differ, and the base's level of it
    beside: tuple[str, str] | None = None
    fixed: tuple[str, ...] = ()  # columns that are factors even where they have one level

    @cached_property
    def _clusters(self) -> tuple[Codes, list[str]]:
        return number_clusters(self.manifest, self.unit)

    @property
    def base_name(self) -> str:
        """Name of the base where all is compared with one that has a name; empty elsewhere."""
        if self.beside is not None:
            return f"“{self.beside[1]}”" if {*"{}"}.isdisjoint(self.beside[1]) else ""
        if self.base_level is None or self.control_cue is not None or {*"{}"} & {*self.base_level}:
            return ""
        return "without a picture" if self.base_level == NO_PICTURE else f"“{self.base_level}”"

    @property
    def beside_base(self) -> str:
        """Levels that stand beside the base of pairs, in words; empty where these are many, or there are no pairs."""
        levels = [] if self.beside is None else self.levels(self.beside[0])
        text = " or ".join(f"“{level}”" for level in levels)
        return text if len(levels) <= _MOST_NAMED and {*"{}"}.isdisjoint(text) else ""

    @property
    def identities(self) -> list[str]:
        """Units in order of first appearance: the clusters."""
        return self._clusters[1]

    @property
    def identity(self) -> Codes:
        """Cluster of each stimulus."""
        return self._clusters[0]

    @property
    def key(self) -> str:
        """Column that tells units apart."""
        return UNIT_KEYS[self.unit][0]

    @cached_property
    def _is_base(self) -> npt.NDArray[np.bool_]:
        if not self.cue:
            return np.zeros(self.manifest.height, dtype=np.bool_)
        column = self.manifest[self.cue[0]]
        is_base = column.is_null() if self.base_level is None else (column == self.base_level).fill_null(value=False)
        return is_base.to_numpy()

    @cached_property
    def base(self) -> Codes:
        """Row of each unit's base; -1 where there is none."""
        return self.rows_of(np.flatnonzero(self._is_base))

    def rows_of(self, rows: Codes) -> Codes:
        """Row of each unit among these; -1 where there is none."""
        out = np.full(len(self.identities), -1, dtype=np.int64)
        out[self.identity[rows]] = rows
        return out

    @cached_property
    def _is_control(self) -> npt.NDArray[np.bool_]:
        if self.control_cue is None:
            return np.zeros(self.manifest.height, dtype=np.bool_)
        return (self.manifest[self.cue[0]] == self.control_cue[0]).fill_null(value=False).to_numpy()

    @cached_property
    def control(self) -> Codes:
        """Row of each unit's second base; -1 where there is none."""
        return self.rows_of(np.flatnonzero(self._is_control))

    @cached_property
    def variation_rows(self) -> Codes:
        """Rows that are compared with a base; none where there are no bases."""
        if not self.cue:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(~self._is_base & ~self._is_control & self.manifest[self.cue[0]].is_not_null().to_numpy())

    @cached_property
    def base_of(self) -> Codes:
        """Row of the stimulus that each varied one is compared with; -1 where there is none.

        The unit's base; for some cues its second base, if it has one.
        """
        units = self.identity[self.variation_rows]
        if self.control_cue is None:
            return self.base[units]
        level = self.manifest[self.cue[0]][self.variation_rows]
        is_controlled = level.is_in(self.controlled).to_numpy() & (self.control[units] >= 0)
        return np.where(is_controlled, self.control[units], self.base[units])

    def narrow(self, pictures: Mapping[str, Sequence[str]]) -> "Sets":
        """Return the stimuli of these levels of some columns, "*" being any level; without columns that are empty then.

        Examples
        --------
        >>> table = pl.DataFrame({"image": ["a", "b"], "job": ["nurse", None], "mood": [None, "sad"]})
        >>> Sets(table, "image").narrow({"job": ("*",)}).manifest.columns
        ['image', 'job']
        """
        if not pictures:
            return self
        table = self.manifest.filter(
            pl.col(name).is_not_null() if "*" in levels else pl.col(name).is_in(levels)
            for name, levels in pictures.items()
        )
        structure = (*APART, *self.cue)
        columns = [column.name for column in table if column.name in structure or column.null_count() < table.height]
        return replace(self, manifest=table.select(columns))

    @property
    def columns(self) -> list[str]:
        """Columns that say something of stimuli: factors, those of one level, and texts of questions."""
        return [name for name in self.manifest.columns if name not in (*APART, self.key)]

    @cached_property
    def factors(self) -> list[str]:
        """Columns with at least two levels that are no ids and no texts of questions."""
        names = (name for name in self.columns if name not in self.texts)
        return [name for name in names if self._shown_levels(name).n_unique() > (name not in self.fixed)]

    @cached_property
    def of_both(self) -> tuple[str, ...]:
        """Columns that say what each picture of a pair shows, where any two pictures of a unit are a pair."""
        columns = self.manifest.columns
        return tuple(name for name in columns if OTHER_PATH in columns and f"{BESIDE}{name}" in columns)

    @property
    def of_pairs(self) -> set[str]:
        """These columns, of either picture."""
        return {column for name in self.of_both for column in (name, f"{BESIDE}{name}")}

    def _shown_levels(self, name: str) -> pl.Series:
        """Levels of a factor that stimuli show; of pairs the other picture's, too."""
        names = [f"{BESIDE}{name}", name] if name in self.of_both else [name]
        return pl.concat([self.manifest[column].drop_nulls() for column in names])

    def levels(self, name: str) -> list[str]:
        """Levels of a factor, in the order of an Enum, else of first appearance."""
        levels = self._shown_levels(name).unique(maintain_order=True)
        return (levels.sort() if isinstance(levels.dtype, pl.Enum) else levels).to_list()

    @cached_property
    def dimensions(self) -> list[str]:
        """Factors in which units differ, and not the stimuli of one unit."""
        return [name for name in self.factors if name not in {*self.cue, *self.of_pairs} and not self.varies(name)]

    def varies(self, name: str) -> bool:
        """Return whether a column has several levels within some unit."""
        if name not in self._varying:
            levels = pl.DataFrame({"unit": self.identity, "level": self.manifest[name]}).drop_nulls()
            self._varying[name] = bool((levels.group_by("unit").agg(pl.col("level").n_unique())["level"] > 1).any())
        return self._varying[name]

    @cached_property
    def _varying(self) -> dict[str, bool]:
        """Answers of `varies`, which every estimand asks for."""
        return {}

    def slicing(self, rows: Codes, *columns: str) -> Slicing:
        """Partition stimuli by columns, in order of first appearance; null is in no cell."""
        if columns not in self._partitions:
            self._partitions[columns] = self._partition(columns)
        cells, labels = self._partitions[columns]
        cell = cells[rows]
        first = np.full(labels.height + 1, rows.size, dtype=np.int64)  # row where each cell appears; null's is the last
        first[cell[::-1]] = np.arange(rows.size - 1, -1, -1)
        order = np.argsort(first[:-1], kind="stable")[: np.count_nonzero(first[:-1] < rows.size)]
        codes = np.full(labels.height + 1, -1, dtype=np.int64)
        codes[order] = np.arange(order.size)
        return Slicing(codes[cell], {name: labels[name][order].to_list() for name in columns})

    def _partition(self, columns: tuple[str, ...]) -> tuple[Codes, pl.DataFrame]:
        """Cell of each stimulus by columns, -1 where one is null, and what each cell is."""
        frame = self.manifest.select(columns)
        labels = frame.unique(maintain_order=True).drop_nulls()
        cells = frame.join(labels.with_row_index("(cell)"), on=columns, how="left", maintain_order="left")["(cell)"]
        return cells.cast(pl.Int64).fill_null(-1).to_numpy(), labels

    @cached_property
    def _partitions(self) -> dict[tuple[str, ...], tuple[Codes, pl.DataFrame]]:
        """Partitions of all stimuli, which every estimand asks for."""
        return {}

    def level(self, dimension: str) -> list[str | None]:
        """Level of each unit; None where its stimuli have none."""
        rows = pl.DataFrame({"unit": self.identity, "level": self.manifest[dimension]}).drop_nulls()
        levels = dict(rows.unique("unit", keep="first").iter_rows())
        return [levels.get(number) for number in range(len(self.identities))]

    def groups(self, rows: Codes, dimension: str) -> Slicing:
        """Partition stimuli by a dimension, labelled by `dimension` and `group`."""
        slicing = self.slicing(rows, dimension)
        levels = slicing.labels[dimension]
        return Slicing(slicing.codes, {"dimension": [dimension] * len(levels), "group": levels})
