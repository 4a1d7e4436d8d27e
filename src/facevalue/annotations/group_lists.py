"""Word lists of groups: ours, which name groups, and the user's, nested by gender and race and put together."""

import re
from collections.abc import Mapping

from facevalue.annotations import lexicon
from facevalue.annotations.lexicon import Lexicon
from facevalue.errors import DataError

OURS = "group words: "
"""How the names of our lists begin, so that a list of the user's may be called 'gender' or 'race'."""
EVERYONE, EVERY_RACE = "person", "gender"
"""Names in nested lists that are no group's: of people whatever their gender, and of a gender whatever the race."""
_MARKS = re.compile(r"[\s_-]+")


def ours() -> Lexicon:
    """The words that name a gender or a race, under names of their own.

    Examples
    --------
    >>> list(ours().lists)
    ['group words: gender', 'group words: race']
    """
    return prefixed(lexicon.shipped("group_words"), OURS)


def theirs(path: str) -> Lexicon:
    """The user's lists, put together; everything that could be wrong with them is found here."""
    read_lists = lexicon.read(path)
    if read_lists.phrases:
        raise DataError(f"{path}: holds {read_lists.phrases[0]!r}; entries are single words.")
    lists = by_group(read_lists)
    for name in lists.lists:
        if name in ours().lists:
            raise DataError(f"{path}: no list can be called {name!r}, as one of FaceValue's is. Rename it.")
    return lists


def by_group(lists: Lexicon) -> Lexicon:
    """Lists of lists put together: those of a race, of whatever gender; those of a gender, all of them.

    The list "gender" of men is men's, and of no race; lists of a "person" are the races' alone. Lists that are not
    nested stay as they are.

    Examples
    --------
    >>> told = {"person/Asian": ("w",), "man/Asian": ("x",), "woman/Asian": ("x", "y"), "man/gender": ("z",)}
    >>> dict(by_group(Lexicon("a", "1", "me", told)).lists)
    {'Asian': ('w', 'x', 'y'), 'man': ('x', 'z'), 'woman': ('x', 'y')}
    """
    if not all("/" in name for name in lists.lists):
        return lists
    merged: dict[str, list[str]] = {}
    for at, no_group in ((1, EVERY_RACE), (0, EVERYONE)):
        for name in lists.lists:
            group = name.split("/", 1)[at]
            if group != no_group:
                merged.setdefault(group, []).append(name)
    return lists.merged(merged)


def prefixed(lists: Lexicon, prefix: str) -> Lexicon:
    """The same lists, with a prefix before the name of each."""
    return Lexicon(lists.name, lists.version, lists.source, {f"{prefix}{n}": words for n, words in lists.lists.items()})


def is_own(group: str, listed: str, spellings: Mapping[str, str]) -> bool:
    """Whether a list is a group's own, whichever of the usual names of the group the two have.

    Examples
    --------
    >>> is_own("middle eastern", "Middle-Eastern", {}), is_own("hispanic", "Latino", {"latino": "hispanic"})
    (True, True)
    """
    first, second = folded(group), folded(listed)
    return spellings.get(first, first) == spellings.get(second, second)


def folded(name: str) -> str:
    """A group's name without case and marks."""
    return _MARKS.sub(" ", name.casefold()).strip()
