"""Facets: what a page says of groups of people, under names that studies share, for a profile of several."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from facevalue.protocol.lookup import Estimate

# Names of groups that studies have in common, from one table of aliases (`facets.toml`).


_BETWEEN = ("x", "×", "and")
CROSS = " × "
"""Between dimensions that are crossed, and between the groups of each."""
_CUE = "visual cue"
"""Dimension whose groups are no people, and are written small."""


class GroupName(NamedTuple):
    """A group as a profile calls it."""

    dimension: str
    group: str


@cache
def group_name(dimension: str, group: str) -> GroupName:
    """The common name of a group; its own where the table has none.

    Parameters
    ----------
    dimension, group:
        As a study writes them. Two dimensions that are crossed ("race x gender", "race-gender") are told apart, and so
        are the groups of each ("Black male"), where the table knows both.

    Examples
    --------
    >>> group_name("Sex", "male"), group_name("skin_tone", "dark-skinned")
    (GroupName(dimension='gender', group='men'), GroupName(dimension='skin tone', group='dark'))
    >>> group_name("race-gender", "Black female")
    GroupName(dimension='race × gender', group='Black × women')
    >>> group_name("pets", "Cat person")
    GroupName(dimension='pets', group='Cat person')
    """
    crossed = _split_crossing(dimension)
    if len(crossed) == 1:
        return GroupName(crossed[0], _level(crossed[0], group))
    first, second = crossed
    words = re.split(r"\s+(?:[x×]\s+)?", group.strip())
    for at in range(1, len(words)):
        ends = " ".join(words[:at]), " ".join(words[at:])
        if _plain(ends[1]) in _table()[1].get(second, {}):
            return GroupName(CROSS.join(crossed), CROSS.join((_level(first, ends[0]), _level(second, ends[1]))))
    return GroupName(CROSS.join(crossed), group.strip())


def _split_crossing(dimension: str) -> tuple[str, ...]:
    """The common names of what a dimension crosses; its own alone where it crosses nothing that the table knows."""
    names = _table()[0]
    if _plain(dimension) in names:
        return (names[_plain(dimension)],)
    words = [word for word in re.split(r"[\s_-]+", dimension.strip()) if word.lower() not in _BETWEEN]
    for at in range(1, len(words)):
        ends = _plain(" ".join(words[:at])), _plain(" ".join(words[at:]))
        if ends[0] in names and ends[1] in names:
            return names[ends[0]], names[ends[1]]
    return (_plain(dimension) or dimension,)


def _level(dimension: str, group: str) -> str:
    unlisted = group.strip().lower() if dimension == _CUE else group.strip()
    return _table()[1].get(dimension, {}).get(_plain(group), unlisted)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


@cache
def _table() -> tuple[Mapping[str, str], Mapping[str, Mapping[str, str]]]:
    """From plain spellings to common names, of dimensions and of each dimension's groups."""
    text = files("facevalue.protocol").joinpath("group_names.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    dimensions = _spellings(table["dimensions"])
    return dimensions, {name: _spellings(groups) for name, groups in table["groups"].items()}


def _spellings(names: Mapping[str, list[str]]) -> dict[str, str]:
    return {_plain(alias): name for name, aliases in names.items() for alias in (name, *aliases)}


Direction = Literal["favours", "disfavours", "", "apart"]
"""Meaning of a difference for a group: upward in its favour, or downward; a direction without a value; none at all."""
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
"""Contrasts that a profile sets side by side: a field of `Kinds`, and two of its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """Aspect of a lead: people whom its estimates are about, kinds of question, and meaning of the sign for them.

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
        """Meaning of an upward difference of this estimate for the group."""
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
