"""Questions to people who look at pictures that were made: is that what was asked for, and nothing else?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from facevalue.given import records

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
        """What is answered with yes or no."""
        return tuple(f"{self.name}: {thing}" for thing in self.several) or (self.name,)


@dataclass(frozen=True, kw_only=True)
class PictureQuestions:
    """What people are asked of a sample of pictures.

    Attributes
    ----------
    questions:
        In the order in which they are asked.
    source:
        Where the paper says that people were asked; "" for questions of ours.
    all_fine:
        As the paper prints it, in [0, 1]: the share of pictures of which every answer is fine.
    """

    questions: tuple[PictureQuestion, ...]
    source: str = ""
    all_fine: float | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "PictureQuestions":
        """Read a shipped table: `source`, `all_fine`, and `question` as a list of tables."""
        return cls(
            questions=records(PictureQuestion, table["question"]),
            source=table.get("source", ""),
            all_fine=table.get("all_fine"),
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
