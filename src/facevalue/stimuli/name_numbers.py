"""Ages among the numbers of the names of files: a place in the name whose numbers are ages and count nothing."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from facevalue.stimuli.name_words import words_of

YOUNGEST, OLDEST = 1, 116
_STATED = re.compile(
    r"(?<![^\W_])(?:aged?[\s_\-]*(\d{1,3})|(\d{1,3})[\s_\-]*(?:yo|y|yrs?|years?)(?:[\s_\-]*old)?)(?![^\W_])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[1-9]\d{0,2}")


class Ages(NamedTuple):
    """Ages by path, whether names call them so, and which numbers of a path might be one where that cannot be told."""

    by_path: Mapping[str, str]
    stated: bool
    unsure: Mapping[str, tuple[str, ...]]


def ages_in(paths: Sequence[str]) -> Ages:
    """Find ages in names: those that say so ("25yo", "age 25"), else the only place of numbers that count nothing.

    Numbers count where those of names that are otherwise alike run from 0 or 1, or all of them do. Where several places
    could hold ages, none is taken.

    Examples
    --------
    >>> ages_in(["asian_25_0.jpg", "asian_25_1.jpg", "asian_60_0.jpg", "asian_60_1.jpg"]).by_path["asian_60_1.jpg"]
    '60'
    >>> ages_in(["face 1.jpg", "face 2.jpg"]).by_path
    {}
    """
    stems = {path: path.rpartition(".")[0] for path in paths}
    stated = {path: match for path, stem in stems.items() if (match := _STATED.search(stem))}
    if stated:
        return Ages({path: str(int(match[1] or match[2])) for path, match in stated.items()}, True, {})
    places: dict[tuple[int, int, int], dict[str, tuple[str, str]]] = {}
    for path, stem in stems.items():
        for place, number, surroundings in _numbers(stem):
            places.setdefault(place, {})[path] = (number, surroundings)
    able = [of_paths for of_paths in places.values() if _may_be_ages(of_paths)]
    numbers = {path: tuple(of[path][0] for of in able if path in of) for path in paths}
    return Ages(
        {path: able_numbers[0] for path, able_numbers in numbers.items() if len(able_numbers) == 1},
        False,
        {path: able_numbers for path, able_numbers in numbers.items() if len(able_numbers) > 1},
    )


def _numbers(stem: str) -> list[tuple[tuple[int, int, int], str, str]]:
    """Numbers of a file's name, and of folders that are one: where each stands, and all that stands besides."""
    out = []
    segments = stem.split("/")
    for depth, segment in enumerate(reversed(segments)):
        words = words_of(segment)
        at = [place for place, word in enumerate(words) if word.isdigit()]
        if depth and len(words) > 1:
            continue
        for rank, place in enumerate(at):
            surroundings = "/".join([*segments[: len(segments) - 1 - depth], *words[:place], "", *words[place + 1 :]])
            out.append(((depth, len(at), rank), words[place], surroundings))
    return out


def _may_be_ages(of_paths: Mapping[str, tuple[str, str]]) -> bool:
    """Whether numbers at one place are all between the ages of people, and don't count."""
    if not all(_NUMBER.fullmatch(number) and YOUNGEST <= int(number) <= OLDEST for number, _ in of_paths.values()):
        return False
    alike: dict[str, set[int]] = {}
    for number, surroundings in of_paths.values():
        alike.setdefault(surroundings, set()).add(int(number))
    everything = set().union(*alike.values())
    counted = sum(len(numbers) for numbers in alike.values() if _counts(numbers))
    return not _counts(everything) and counted * 2 < sum(map(len, alike.values()))


def _counts(numbers: set[int]) -> bool:
    return min(numbers) <= 1 and max(numbers) - min(numbers) < len(numbers)
