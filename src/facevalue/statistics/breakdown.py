"""Breakdown: by which factors of pictures and of the prompt answers can be broken down."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from operator import mul

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Factor
from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.statistics.sets import Sets

Codes = npt.NDArray[np.int64]
CONTRAST, DIMENSION, GROUP, OTHER_GROUP = "contrast", "dimension", "group", "other_group"
"""Labels of estimates: the level that one is compared with, the factor that groups differ in, and the two groups."""


@dataclass(frozen=True)
class Breakdown:
    """Factors that a study's answers can be broken down by.

    Attributes
    ----------
    sets:
        The stimuli.
    items:
        Factors of the prompt; their attributes are coarser factors, such as the category of a scenario.
    shared:
        Whether groups of all dimensions share the labels `dimension`, `group` and `other_group`; else each factor of
        the stimuli is a label of its own.
    is_asked:
        Flags of the items, all levels of the factors of the prompt crossed: those that are asked; None for all.
    """

    sets: Sets
    items: tuple[Factor, ...]
    shared: bool = False
    is_asked: npt.NDArray[np.bool_] | None = None

    @property
    def factors(self) -> list[str]:
        """Factors of the stimuli and of the prompt, coarser ones included."""
        cue = [name for name in self.sets.cue if name not in self.sets.factors]
        return [*cue, *self.sets.factors, *self.of_prompt]

    @property
    def labels(self) -> list[str]:
        """Labels of estimates: the factors; last those that say what is compared."""
        if not self.shared:
            return [*self.factors, CONTRAST, DIMENSION]
        apart = [name for name in self.factors if name not in self.sets.dimensions]
        return [*apart, DIMENSION, GROUP, OTHER_GROUP]

    @property
    def prompt_factors(self) -> list[str]:
        """Factors of the prompt."""
        return [factor.name for factor in self.items]

    @property
    def of_prompt(self) -> list[str]:
        """Factors of the prompt, each with its coarser ones."""
        return list(self._of_items)

    def why_none(self, name: str) -> str:
        """Reason why a column of the list is no factor, where all that is shown has one level of it; else empty."""
        levels = self.sets.levels(name) if name in self.sets.columns else []
        return f"All that is shown has one level of {name!r}, {levels[0]!r}." if len(levels) == 1 else ""

    def pairs(self, name: str) -> tuple[Codes, Codes]:
        """Rows of any two pictures of one unit that have different levels of a factor."""
        frame = pl.DataFrame({"unit": self.sets.identity, "level": self.sets.manifest[name]}).with_row_index("row")
        frame = frame.drop_nulls()
        joined = frame.join(frame, on="unit", suffix=" of the second", maintain_order="left_right")
        rival = pl.col("row") < pl.col("row of the second")
        rows = joined.filter(rival, pl.col("level") != pl.col("level of the second"))
        return tuple(rows[column].cast(pl.Int64).to_numpy() for column in ("row", "row of the second"))  # type: ignore[return-value]

    def levels(self, name: str) -> list[str]:
        """Levels of a factor."""
        if name in self._of_items:
            return list(dict.fromkeys(map(str, self._of_items[name][1])))
        return self.sets.levels(name)

    def codes(self, at: Codes, name: str) -> Codes:
        """Place of each of these stimuli among the levels of a factor of theirs; -1 for none."""
        place = {level: number for number, level in enumerate(self.levels(name))}
        return np.array([place.get(level, -1) for level in self.sets.manifest[name][at]], dtype=np.int64)

    @property
    def any_two(self) -> bool:
        """True if any two pictures of a unit are a pair, not the base and another."""
        return bool(self.sets.of_both)

    def varies_within_units(self, name: str) -> bool:
        """Return whether a unit has several levels of a factor."""
        return name in self._of_items or self.sets.varies(name)

    def nests(self, coarse: str, fine: str) -> bool:
        """Return whether each level of one factor has a single level of another, as scenarios have one category."""
        at_coarse, at_fine = self._of_items.get(coarse), self._of_items.get(fine)
        if at_coarse and at_fine and at_coarse[0] == at_fine[0]:
            pairs = pl.DataFrame({"coarse": at_coarse[1], "fine": at_fine[1]})
        elif at_coarse or at_fine:
            return False
        else:
            pairs = self.sets.manifest.select(coarse=coarse, fine=fine)
        levels = pairs.drop_nulls().group_by("fine").agg(pl.col("coarse").n_unique())["coarse"]
        return levels.len() > 0 and levels.max() == 1

    def columns(self, names: Sequence[str]) -> Slicing:
        """Partition the items that are asked by factors of the prompt, in the order named."""
        sizes = [len(factor) for factor in self.items]
        digits = np.unravel_index(np.arange(prod(sizes)), sizes) if sizes else ()
        out = Slicing.whole(prod(sizes))
        if self.is_asked is not None:
            out = Slicing(np.where(self.is_asked, out.codes, -1), out.labels)
        for name in names:
            if name in self._of_items:
                axis, values = self._of_items[name]
                levels = list(dict.fromkeys(values))
                places = np.array([levels.index(value) for value in values], dtype=np.int64)
                out = out * Slicing(places[digits[axis]], {name: levels})
        return out

    @cached_property
    def _of_items(self) -> dict[str, tuple[int, tuple[str | None, ...]]]:
        """Place among the items, and value of each level there, of factors of the prompt and their attributes."""
        columns = ((axis, column) for axis, factor in enumerate(self.items) for column in factor.columns())
        return {column.name: (axis, column.values) for axis, column in columns}

    def rows(self, at: Codes, names: Sequence[str]) -> Slicing:
        """Partition stimuli by those of the factors that are theirs, the cue outermost."""
        of_stimuli = [name for name in names if name not in self._of_items]
        cue = [name for name in of_stimuli if name in self.sets.cue]
        slicings = [
            self.sets.slicing(at, *joint)
            for joint in (cue, *([name] for name in of_stimuli if name not in cue))
            if joint
        ]
        return reduce(mul, slicings).present() if slicings else Slicing.whole(at.size)

    def make_labels(self, labels: SliceLabels) -> SliceLabels:
        """Labels of estimates, from levels of factors."""
        if not self.shared:
            return labels
        out: dict[str, Sequence[str | None]] = {}
        for name, levels in labels.items():
            if name in self.sets.dimensions:
                out |= {DIMENSION: [name] * len(levels), GROUP: levels}
            else:
                out[OTHER_GROUP if name == CONTRAST else name] = levels
        return out

    def stimuli(self, factors: Sequence[str]) -> Codes:
        """Stimuli that statistics of these factors are of: bases where there are any, unless the cue is among them."""
        if self.sets.cue and not set(self.sets.cue) & {*factors}:
            return self.sets.base[self.sets.base >= 0]
        return np.arange(self.sets.manifest.height)

    def groups(self, dimension: str) -> Slicing:
        """Units by their group."""
        levels = self.levels(dimension)
        place = {name: number for number, name in enumerate(levels)}
        codes = [-1 if name is None else place[name] for name in self.sets.level(dimension)]
        return Slicing(np.array(codes, dtype=np.int64), {dimension: levels})

    def is_of_prompt(self, name: str) -> bool:
        """Return whether a factor is one of the prompt, or a coarser one of these."""
        return name in self._of_items
