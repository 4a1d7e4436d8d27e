"""Pairs of pictures of one unit, shown side by side as one picture, each way round."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.sets import Sets
from facevalue.protocol.settings import Options
from facevalue.protocol.sources import kind_of, root_of
from facevalue.protocol.stimuli import UNITS, Listed
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.individuals import FileIndividuals
from facevalue.stimuli.pair_source import PairSource

LEFT, RIGHT = "left", "right"
SIDE = "base_side"
"""Column that says on which side the base is."""
OTHER = "other_path"


@dataclass(frozen=True)
class Pairs(Listed):
    """The base picture of a unit beside each of its others, the base once on either side.

    What is scored of the answers is turned round where the base is on the left: a higher score always speaks for the
    other picture if it speaks for the left one as asked.

    Examples
    --------
    >>> Pairs(cue="skin_tone", base="light").unit
    'counterfactual set'
    """

    unit: str = "counterfactual set"

    def table(self, options: Options) -> pl.DataFrame:
        """A row per pair and side."""
        if not self.cue or not self.base:
            raise DataError("Pairs need a column of what differs, and the level that all others are shown beside.")
        single = super().table(options)
        key = next(name for name, unit in UNITS.items() if unit == self.unit)
        is_base = pl.col(self.cue) == self.base
        bases = single.filter(is_base).select(key, base="path")
        pairs = single.filter(~is_base).join(bases, on=key, maintain_order="left")
        sides = []
        for side in (LEFT, RIGHT):
            first, second = ("base", "path") if side == LEFT else ("path", "base")
            sides.append(
                pairs.with_columns(
                    pl.format("{} beside its base ({})", "image", pl.lit(side)).alias("image"),
                    pl.col(first).alias("path"),
                    pl.col(second).alias(OTHER),
                    pl.lit(side).alias(SIDE),
                ).drop("base")
            )
        return pl.concat(sides)

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units; the pairs themselves have no base."""
        return Sets(table, self.unit)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Composes pairs when they are looked at."""
        return BesideBase(table, root_of(options), kind_of(options, Kind.UNSTATED))


class BesideBase(PairSource):
    """Shows the files `path` (left) and `other_path` (right) of a table, whose pairs `image` names, as one picture."""

    def __init__(self, table: pl.DataFrame, root: Path, kind: Kind) -> None:
        paths = pl.concat([table["path"], table[OTHER]]).unique(maintain_order=True)
        super().__init__(
            FileIndividuals(pl.DataFrame({"image": paths, "path": paths}), root, kind), self._sides_of, None
        )
        self._pairs = dict(zip(table["image"], zip(table["path"], table[OTHER], strict=True), strict=True))

    def _sides_of(self, levels: Mapping[str, str | None]) -> tuple[str, str]:
        image = str(levels.get("image"))
        if image not in self._pairs:
            raise UnknownNameError("pair", image, self._pairs)
        return self._pairs[image]

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that a run will show."""
        pairs = [self._sides_of({"image": image}) for image in levels["image"]]
        super().check({"image": [name for pair in pairs for name in pair]})
