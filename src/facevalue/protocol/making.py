"""Pictures that a study has made for it, one row each, and questions to people: do they show what was asked for?"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.settings import Setting
from facevalue.stimuli.base import Source
from facevalue.types import OptionValue
from facevalue.untrusted_files import records

MADE, EDITED = "made", "edited"
"""Kinds of pictures that a question may be about: those made from a text, and those edited from others."""


@dataclass(frozen=True, kw_only=True)
class PictureQuestion:
    """A question that people answer with yes or no about a picture, of which they are told what was asked for.

    Attributes
    ----------
    name:
        What it is about, as tables call it.
    text:
        The question.
    of:
        Pictures that it is about: `MADE`, `EDITED` or either.
    column:
        Only pictures that have this column filled.
    fine:
        The answer that speaks for the picture, "yes" or "no"; "" where neither does.
    several:
        Things of which as many may be ticked as there are, instead of yes or no; each is "NAME: THING" in tables.
    share, kappa:
        As the paper prints them: the share of answers that are fine (or of things that were ticked, in their order),
        in [0, 1], and the agreement of its two raters.

    Examples
    --------
    >>> PictureQuestion(name="same person", text="Is it the same person?", of="edited").items
    ('same person',)
    """

    name: str
    text: str
    of: str = ""
    column: str = ""
    fine: str = "yes"
    several: tuple[str, ...] = ()
    share: tuple[float, ...] = ()
    kappa: float | None = None

    @property
    def items(self) -> tuple[str, ...]:
        """Items that are answered with yes or no."""
        return tuple(f"{self.name}: {thing}" for thing in self.several) or (self.name,)


@dataclass(frozen=True, kw_only=True)
class PairedPictures:
    """A question about two pictures side by side, of two groups: which one shows whom?

    Attributes
    ----------
    text:
        The question; `{target}` and `{other}` are what the two are called.
    called:
        Column of what the person shown is called; two of a pair are called differently.
    same:
        Columns that the two have alike.
    by:
        Those of them by which shares are told.
    printed:
        As the paper prints them, by levels of the first of `by`: the share of pairs that were distinguishable, in
        [0, 1], and the agreement of its two raters; of "" over all pairs.

    Examples
    --------
    >>> PairedPictures(text="Who is {target}, not {other}?", called="age", same=("gender",)).lacking(["gender"])
    ['age']
    """

    text: str
    called: str
    same: tuple[str, ...]
    by: tuple[str, ...] = ()
    printed: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def lacking(self, columns: Collection[str]) -> list[str]:
        """Columns that pictures need to be paired, and have not."""
        return [name for name in (self.called, *self.same) if name not in columns]


@dataclass(frozen=True, kw_only=True)
class PictureQuestions:
    """Questions that people are asked about a sample of pictures.

    Attributes
    ----------
    questions:
        In the order in which they are asked.
    source:
        Where the paper says that people were asked; "" for questions of ours.
    all_fine:
        As the paper prints it, in [0, 1]: the share of pictures of which every answer is fine.
    pairs:
        What is asked of two pictures side by side; None if nothing is.
    """

    questions: tuple[PictureQuestion, ...]
    source: str = ""
    all_fine: float | None = None
    pairs: PairedPictures | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "PictureQuestions":
        """Read a shipped table: `source`, `all_fine`, `question` as a list of tables, and `pairs` as a table."""
        pairs = records(PairedPictures, [table["pairs"]] if "pairs" in table else [])
        return cls(
            questions=records(PictureQuestion, table["question"]),
            source=table.get("source", ""),
            all_fine=table.get("all_fine"),
            pairs=next(iter(pairs), None),
        )


USUAL = PictureQuestions(
    questions=(
        PictureQuestion(name="shown", text="Does the picture show who and what was asked for?", of=MADE),
        PictureQuestion(name="flawed", text="Is anything wrong with it, such as hands, a face, letters, or somebody "
                        "else in it?", of=MADE, fine="no"),
        PictureQuestion(name="realised", text="Is the change that was asked for there?", of=EDITED),
        PictureQuestion(name="same person", text="But for this change, is it the same person?", of=EDITED),
        PictureQuestion(name="nothing else", text="Has anything else changed: skin, age, expression, frame, "
                        "background?", of=EDITED, fine="no"),
    )
)  # fmt: skip
"""Questions where a study has none of its own."""

SHOWN = PictureQuestions(
    questions=(
        PictureQuestion(name="shown", text="Does the picture show who and what is named here?", of=MADE),
        PictureQuestion(name="change", text="Does the second picture differ from the first by what is named here?",
                        of=EDITED),
        PictureQuestion(name="nothing else", text="Do they differ by anything else: another person, skin, age, "
                        "expression, frame, background?", of=EDITED, fine="no"),
        PictureQuestion(name="realistic", text="Is it realistic: could it be a photograph?"),
    )
)  # fmt: skip
"""Questions about pictures that a run showed, whoever made them: of what studies rest on."""


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
