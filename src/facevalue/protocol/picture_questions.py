"""Questions to people who look at pictures that were made: is that what was asked for, and nothing else?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

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
