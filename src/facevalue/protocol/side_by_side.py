"""Pairs of pictures of one unit, shown side by side as one picture, each way round."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.sets import Sets
from facevalue.protocol.settings import Options
from facevalue.protocol.stimuli import UNITS, Listed
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.individuals import FileIndividuals
from facevalue.stimuli.pairs import COMPOSER, compose, encode
from facevalue.types import Image, Stimulus

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
        return PairOfFiles(table, Path(str(options["root"])), Kind(str(options["kind"])))


class PairOfFiles:
    """Shows the files `path` (left) and `other_path` (right) of a table as one picture.

    `table`: with `image`, `path` and `other_path`. `root`: the folder that holds the files. No path, and no link on it,
    may lead out of it. `kind`: what kind of pictures these are.
    """

    def __init__(self, table: pl.DataFrame, root: Path, kind: Kind) -> None:
        paths = pl.concat([table["path"], table[OTHER]]).unique(maintain_order=True)
        self._files = FileIndividuals(pl.DataFrame({"image": paths, "path": paths}), root, kind)
        self._pairs = dict(zip(table["image"], zip(table["path"], table[OTHER], strict=True), strict=True))

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are."""
        return self._files.kind

    def _pair(self, image: str | None) -> tuple[str, str]:
        if image not in self._pairs:
            raise UnknownNameError("pair", str(image), self._pairs)
        return self._pairs[image]

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the pair with this id; nothing is decoded before it is looked at."""
        left, right = self._pair(levels.get("image"))
        digests = self._files.digest(left), self._files.digest(right)
        digest_text = "\n".join((COMPOSER, *digests)).encode()
        digest = hashlib.blake2b(digest_text, digest_size=16).hexdigest()
        return Stimulus(str(number), digest, levels, partial(self._load, left, right, digests))

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that a run will show."""
        self._files.check(list(dict.fromkeys(name for image in levels["image"] for name in self._pair(image))))

    def _load(self, left: str, right: str, digests: tuple[str, str]) -> tuple[Image, ...]:
        pixels = self._files.pixels(left), self._files.pixels(right)
        if (self._files.digest(left), self._files.digest(right)) != digests:
            raise DataError(f"{left} or {right} was changed while the run was going on. Start the command again.")
        return (Image(encode(compose(*pixels)), "image/jpeg"),)
