"""Pairs of pictures of one unit, shown side by side as one picture, each way round."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import Options
from facevalue.protocol.sources import kind_of, root_of
from facevalue.protocol.stimuli import UNITS, Listed
from facevalue.statistics.sets import APART, BESIDE, NO_PICTURE, OTHER_PATH, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.pairs import FileIndividuals, PairSource

LEFT, RIGHT = "left", "right"
SIDE = "base_side"
"""Column that says on which side the base is."""
MOST_PAIRS = 1_000_000
_NAME, _ROW = "(beside)", "(row)"


@dataclass(frozen=True)
class Pairs(Listed):
    """The base picture of a unit beside each of its others, the base once on either side.

    What is scored of the answers is turned round where the base is on the left: a higher score always speaks for the
    other picture if it speaks for the left one as asked. Without `cue` and `base` any two pictures of a unit are a
    pair, of which the one listed first stands for the base; columns that begin with `BESIDE` say what that shows.

    Examples
    --------
    >>> Pairs(cue="skin_tone", base="light").unit
    'counterfactual set'
    """

    unit: str = "counterfactual set"

    def __post_init__(self) -> None:
        if bool(self.cue) != bool(self.base):
            lack, stands = ("base", f"cue = {self.cue!r}") if self.cue else ("cue", f"base = {self.base!r}")
            meaning = {"base": "the level that all others are shown beside", "cue": "the column of what differs"}[lack]
            raise DataError(
                f"{stands} needs `{lack}`, {meaning}; without either any two pictures of a unit are a pair."
            )
        if self.base == NO_PICTURE:
            raise DataError(f"Pairs show two pictures: their base is one, and not {NO_PICTURE!r}.")

    def table(self, options: Options) -> pl.DataFrame:
        """A row per pair and side."""
        single = super().table(options)
        key = next(name for name, unit in UNITS.items() if unit == self.unit)
        if self.cue:
            is_base = pl.col(self.cue) == self.base
            bases = single.filter(is_base).select(key, base="path", **{_NAME: pl.lit("its base")})
            pairs = single.filter(~is_base).join(bases, on=key, maintain_order="left")
        else:
            pairs = _any_two(single, key)
        sides = []
        for side in (LEFT, RIGHT):
            first, second = ("base", "path") if side == LEFT else ("path", "base")
            sides.append(
                pairs.with_columns(
                    pl.format("{} beside {} ({})", "image", _NAME, pl.lit(side)).alias("image"),
                    pl.col(first).alias("path"),
                    pl.col(second).alias(OTHER_PATH),
                    pl.lit(side).alias(SIDE),
                ).drop("base", _NAME)
            )
        return pl.concat(sides)

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units; the pairs themselves have no base, and what is shown beside it is a factor even of one level."""
        return (
            Sets(table, self.unit, beside=(self.cue, self.base), fixed=(self.cue,))
            if self.cue
            else (Sets(table, self.unit))
        )

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Composes pairs when they are looked at."""
        return BesideBase(table, root_of(options), kind_of(options, Kind.UNSTATED))


def _any_two(single: pl.DataFrame, key: str) -> pl.DataFrame:
    """Each two pictures of a unit, with what both show."""
    per_unit = single.group_by(key).len()["len"].cast(pl.Int64)
    if (many := int((per_unit * (per_unit - 1)).sum())) > MOST_PAIRS:
        raise DataError(
            f"Any two pictures of a unit, each on either side, are {many:,} pairs; {MOST_PAIRS:,} are the most."
        )
    if not many:
        raise DataError(f"No two pictures have one {key!r}: there is no pair.")
    differs = [name for name in single.columns if name not in APART and Sets(single, UNITS[key]).varies(name)]
    if stray := next((name for name in single.columns if name.startswith(BESIDE)), ""):
        raise DataError(f"No column of pairs can be called {stray!r}: {BESIDE!r} is for the other picture. Rename it.")
    numbered = single.with_row_index(_ROW)
    others = numbered.select(
        key, _ROW, pl.col("path").alias("base"), pl.col("image").alias(_NAME),
        *(pl.col(name).alias(f"{BESIDE}{name}") for name in differs),
    )  # fmt: skip
    pairs = numbered.join(others, on=key, suffix=" of the other", maintain_order="left_right")
    return pairs.filter(pl.col(_ROW) > pl.col(f"{_ROW} of the other")).drop(_ROW, f"{_ROW} of the other")


class BesideBase(PairSource):
    """Shows the files `path` (left) and `other_path` (right) of a table, whose pairs `image` names, as one picture."""

    def __init__(self, table: pl.DataFrame, root: Path, kind: Kind) -> None:
        paths = pl.concat([table["path"], table[OTHER_PATH]]).unique(maintain_order=True)
        super().__init__(
            FileIndividuals(pl.DataFrame({"image": paths, "path": paths}), root, kind), self._sides_of, None
        )
        self._pairs = dict(zip(table["image"], zip(table["path"], table[OTHER_PATH], strict=True), strict=True))

    def _sides_of(self, levels: Mapping[str, str | None]) -> tuple[str, str]:
        image = str(levels.get("image"))
        if image not in self._pairs:
            raise UnknownNameError("pair", image, self._pairs)
        return self._pairs[image]

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that a run will show."""
        pairs = [self._sides_of({"image": image}) for image in levels["image"]]
        super().check({"image": [name for pair in pairs for name in pair]})
