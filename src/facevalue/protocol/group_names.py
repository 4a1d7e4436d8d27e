"""Names of groups that studies have in common, from one table of aliases (`group_names.toml`)."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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
    crossed = _crossed(dimension)
    if len(crossed) == 1:
        return GroupName(crossed[0], _level(crossed[0], group))
    first, second = crossed
    words = re.split(r"\s+(?:[x×]\s+)?", group.strip())
    for at in range(1, len(words)):
        ends = " ".join(words[:at]), " ".join(words[at:])
        if _plain(ends[1]) in _table()[1].get(second, {}):
            return GroupName(CROSS.join(crossed), CROSS.join((_level(first, ends[0]), _level(second, ends[1]))))
    return GroupName(CROSS.join(crossed), group.strip())


def _crossed(dimension: str) -> tuple[str, ...]:
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
