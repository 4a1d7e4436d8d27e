"""Pictures that a study has made for it: one row each, before anybody makes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.picture_questions import PictureQuestions
from facevalue.protocol.settings import Setting
from facevalue.stimuli.base import Source
from facevalue.types import OptionValue

IMAGE, SOURCE, PROMPT, PICTURE_SEED, PATH = "image", "source", "prompt", "picture_seed", "path"
"""Columns of a table of pictures that are to be made, besides the unit's and the factors."""
_LISTED = 20  # levels that a sentence names


def requested_pictures(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of a table of pictures that are to be made; trial numbers of their making are places in it."""
    return table.filter(pl.col(PROMPT).is_not_null())


def with_sources(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of a table of pictures whose source is in it, too, however many edits lie between."""
    while True:
        rows = table.filter(pl.col(SOURCE).is_null() | pl.col(SOURCE).is_in(table[IMAGE].implode()))
        if rows.height == table.height:
            return rows
        table = rows


def existing_paths(table: pl.DataFrame) -> dict[str, str]:
    """Files of the pictures of a table that exist, by id."""
    if PATH not in table.columns:
        return {}
    return dict(table.filter(pl.col(PROMPT).is_null()).select(IMAGE, PATH).iter_rows())


@dataclass(frozen=True, kw_only=True)
class PicturePlan:
    """Pictures that are to be made, and what they are for.

    Attributes
    ----------
    table:
        One row per picture, sources before what is edited from them. `image`: its id, unique, a relative path without
        an ending. `source`: the id of the picture that it is edited from; null where it is made from its text alone.
        `prompt`: what the generator is told; null for a picture that exists, whose file is `path`. `picture_seed`
        (i64): its seed. Then the unit's column, and factors: all texts, as the manifest that is made of them has them.
    unit:
        Column of what is sampled: "identity", "set" or "image".
    groups:
        Factors by which refusals, failures and acceptance are compared: who is shown.
    drawn:
        FaceValue's own drawing of each row by its factors, by which the generator `drawn` makes the pictures; None
        where there is none.
    undrawn:
        Why there is no such drawing of these pictures, by id.

    Raises
    ------
    DataError
        An id stands twice, or a source is none of the rows above.

    Examples
    --------
    >>> rows = {"image": ["f1", "f1/cap"], "source": [None, "f1"], "prompt": ["An old man", "Add a cap."],
    ...         "picture_seed": [1, 2], "identity": ["f1", "f1"], "cue": [None, "cap"]}
    >>> PicturePlan(table=pl.DataFrame(rows), unit="identity").edits
    1
    """

    table: pl.DataFrame
    unit: str = "identity"
    groups: tuple[str, ...] = ()
    drawn: Source | None = field(default=None, compare=False, repr=False)
    undrawn: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        table = self.table
        for name in (IMAGE, SOURCE, PROMPT, PICTURE_SEED, self.unit, *self.groups):
            if name not in table.columns:
                raise DataError(f"The table of pictures to be made has no column {name!r}.")
        rows = table.select(IMAGE, pl.col(SOURCE).cast(pl.String)).with_row_index("row")  # null in all is of no type
        if twice := rows.filter(pl.col(IMAGE).is_duplicated())[IMAGE].first():
            raise DataError(f"Two pictures to be made are called {twice!r}.")
        origins = rows.select(pl.col(IMAGE).alias(SOURCE), pl.col("row").alias("origin"))
        edited = rows.filter(pl.col(SOURCE).is_not_null()).join(origins, on=SOURCE, how="left")
        stray = edited.filter(pl.col("origin").is_null() | (pl.col("origin") >= pl.col("row")))
        if stray.height:
            raise DataError(f"{stray[IMAGE][0]!r} is edited from {stray[SOURCE][0]!r}, which is no picture above it.")

    @property
    def edits(self) -> int:
        """Pictures that are edited from others."""
        return self.table.height - self.table[SOURCE].null_count()

    def drawable(self) -> tuple["PicturePlan", str]:
        """The pictures of which there are drawings, with a sentence on the others; empty if there are none.

        Raises
        ------
        DataError
            There is a drawing of none.
        """
        if not self.undrawn:
            return self, ""
        table = with_sources(self.table.filter(~pl.col(IMAGE).is_in([*self.undrawn])))
        count, example = self.table.height - table.height, next(iter(self.undrawn))
        reason = f"such as {example}: {self.undrawn[example].rstrip('.')}"
        if not requested_pictures(table).height:
            raise DataError(f"There is no drawing of these pictures, {reason}. Name another generator than 'drawn'.")
        levels = [
            level for name in self.groups for level in self.table[name].drop_nulls().unique(maintain_order=True)
            if not table[name].eq(level).any()
        ]  # fmt: skip
        nothing = f" Nothing is drawn of {_some(levels)}." if levels else ""
        sentence = f"{count:,} of {self.table.height:,} pictures have no drawing and are left out, {reason}.{nothing}"
        return replace(self, table=table, undrawn={}), sentence


def _some(levels: list[str]) -> str:
    """The first of some levels, and how many more there are."""
    more = f" and {len(levels) - _LISTED:,} more" if len(levels) > _LISTED else ""
    return f"{', '.join(levels[:_LISTED])}{more}"


@dataclass(frozen=True, kw_only=True)
class Making:
    """Choices of a study that has pictures made, and the pictures that follow from them.

    Attributes
    ----------
    settings:
        What the user may choose.
    plan:
        From a value for each setting to the pictures.
    about:
        What is made, in a sentence, with the paper's counts.
    note:
        What readers should be prepared to see.
    questions:
        What people are asked who look at some of the pictures; the usual questions if None.
    """

    settings: tuple[Setting, ...]
    plan: "Callable[[Mapping[str, OptionValue]], PicturePlan]"
    about: str
    note: str = ""
    questions: PictureQuestions | None = None
