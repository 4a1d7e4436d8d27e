"""Bases without a picture: what is asked about a unit's pictures is asked once more with none beside the question."""

from collections.abc import Mapping

import polars as pl

from facevalue.errors import DataError
from facevalue.statistics.sets import NO_PICTURE
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.pair_source import NoPicture
from facevalue.types import Stimulus


def with_bare_bases(table: pl.DataFrame, key: str, cue: str) -> pl.DataFrame:
    """Add a row without a picture for each unit, with what all of its pictures have in common.

    Examples
    --------
    >>> pictures = pl.DataFrame({"image": ["a", "b"], "identity": ["1", "1"], "hat": ["cap", "bow"], "age": ["9", "9"]})
    >>> with_bare_bases(pictures, "identity", "hat").rows()[-1]
    ('1 (no picture)', '1', '(no picture)', '9')
    """
    if cue not in table.columns or table[key].null_count():
        return table  # refused where the table is checked
    if NO_PICTURE in table[cue]:
        raise DataError(f"A picture has {NO_PICTURE!r} as its {cue}: this stands for the question without any.")
    names = [name for name in table.columns if name not in (key, cue, "image", "path")]
    shared = [pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name) for name in names]
    bare = table.group_by(key, maintain_order=True).agg(shared).with_columns(
        pl.format("{} {}", key, pl.lit(NO_PICTURE)).alias("image"), pl.lit(NO_PICTURE).alias(cue)
    )  # fmt: skip
    return pl.concat([table, bare], how="diagonal")


class BareBases:
    """Shows pictures, and nothing for the bases without one."""

    def __init__(self, pictures: Source, table: pl.DataFrame, cue: str) -> None:
        self._pictures, self._cue = pictures, cue
        self._bare = set(table.filter(pl.col(cue) == NO_PICTURE)["image"])

    @property
    def kind(self) -> Kind:
        """Kind of the pictures."""
        return self._pictures.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the picture with these levels, or what shows none."""
        bare = levels.get("image") in self._bare
        return NoPicture().stimulus(number, levels) if bare else self._pictures.stimulus(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown."""
        rows = [row for row, image in enumerate(levels.get("image", [])) if image not in self._bare]
        if rows or "image" not in levels:
            self._pictures.check({name: [column[row] for row in rows] for name, column in levels.items()})
