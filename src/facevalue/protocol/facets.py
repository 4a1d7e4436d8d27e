"""Facet: what a lead of a page says of groups of people, so that studies can be set side by side in one profile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from facevalue.protocol.lookup import Estimate

Direction = Literal["favours", "disfavours", "", "apart"]
"""What a difference means for a group: upward in its favour, or downward; a direction without a value; none at all."""
EXPLICIT, IMPLICIT = "explicit", "implicit"
PICTURES, WORDS = "pictures", "words"
ONE_PERSON, TWO_PEOPLE = "one person", "two people"
STEREOTYPE, DECISION, PERCEPTION, DESCRIPTION = "stereotype", "decision", "perception", "description"
FAVOURS: Direction = "favours"
DISFAVOURS: Direction = "disfavours"
APART: Direction = "apart"
NEITHER: Direction = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Kinds of question that a facet is of, for what stands side by side. Empty: neither, or it is not known.

    Attributes
    ----------
    directness:
        "explicit" where the model judges people and sees that it does, "implicit" where it writes or fills in.
    medium:
        "pictures" where people are seen, "words" where they are named and not shown.
    people:
        "one person" or "two people" in a question.
    about:
        "stereotype", "decision", "perception" or "description".

    Examples
    --------
    >>> Kinds(people=TWO_PEOPLE, about=DECISION).medium
    'pictures'
    """

    directness: str = EXPLICIT
    medium: str = PICTURES
    people: str = ONE_PERSON
    about: str = ""


CONTRASTS: tuple[tuple[str, str, str], ...] = (
    ("directness", EXPLICIT, IMPLICIT),
    ("medium", PICTURES, WORDS),
    ("people", ONE_PERSON, TWO_PEOPLE),
    ("about", STEREOTYPE, DECISION),
)
"""What a profile sets side by side: a field of `Kinds`, and two of its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """Who a lead's estimates are about, by which kind of question, and what their sign means for these people.

    Attributes
    ----------
    title:
        The kind of question, as the head of a column ("Decisions between two people").
    dimension, group:
        Forms of what groups differ in ("{dimension:raw}", "visual cue"), and of the group. Names that several studies
        have for one group are put together (`group_names`).
    trait:
        Form of what is said of the group ("{question}"); empty where the column has one question.
    versus:
        Form of the one group that it is compared with, of which the opposite is said; empty for all others, or an even
        choice among more than two.
    kinds:
        Kinds of question.
    means:
        What an upward difference means for the group; from an estimate where it depends on the question.

    Examples
    --------
    >>> facet = Facet(title="Ratings", dimension="{dimension}", group="{group}", means=FAVOURS)
    >>> facet.sign(Estimate("gap", "m", value=-0.3)), facet.favour(Estimate("gap", "m", value=-0.3))
    (-1, -1)
    """

    title: str
    dimension: str
    group: str
    trait: str = ""
    versus: str = ""
    kinds: Kinds = field(default_factory=Kinds)
    means: Direction | Callable[[Estimate], Direction] = NEITHER

    def meaning(self, estimate: Estimate) -> Direction:
        """What an upward difference of this estimate means for the group."""
        return self.means(estimate) if callable(self.means) else self.means

    def sign(self, estimate: Estimate) -> int:
        """Direction of a value: 1 upward, -1 downward; 0 where there is none."""
        if self.meaning(estimate) == APART or not estimate.value:
            return 0
        return 1 if estimate.value > 0 else -1

    def favour(self, estimate: Estimate) -> int:
        """1 where a value is in favour of the group, -1 where it is against it, 0 where it is neither."""
        return self.sign(estimate) * _FAVOUR.get(self.meaning(estimate), 0)


_FAVOUR: Mapping[Direction, int] = {FAVOURS: 1, DISFAVOURS: -1}
