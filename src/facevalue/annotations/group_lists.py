"""Word lists of groups: ours, which name groups, and the user's, nested by gender and race and put together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from facevalue.annotations import lexicon
from facevalue.annotations.lexicon import Lexicon
from facevalue.errors import DataError

# Texts with the words for groups swapped or taken out: how a judge's own bias is looked for.


_PAIRS = (
    ("she", "he"), ("herself", "himself"), ("hers", "his"), ("woman", "man"), ("women", "men"), ("female", "male"),
    ("females", "males"), ("lady", "gentleman"), ("ladies", "gentlemen"), ("girl", "boy"), ("girls", "boys"),
    ("mother", "father"), ("mothers", "fathers"), ("wife", "husband"), ("daughter", "son"), ("sister", "brother"),
    ("feminine", "masculine"), ("businesswoman", "businessman"), ("policewoman", "policeman"), ("mrs", "mr"),
    ("she's", "he's"), ("madam", "sir"),
)  # fmt: skip
_NEUTRAL = {
    "she": "they", "he": "they", "her": "their", "his": "their", "him": "them", "hers": "theirs", "she's": "they're",
    "he's": "they're", "herself": "themselves", "himself": "themselves",
    **dict.fromkeys(("woman", "man", "lady", "gentleman", "girl", "boy"), "person"),
    **dict.fromkeys(("women", "men", "ladies", "gentlemen", "girls", "boys", "females", "males"), "people"),
    **dict.fromkeys(("mother", "father"), "parent"), **dict.fromkeys(("mothers", "fathers"), "parents"),
    **dict.fromkeys(("wife", "husband"), "spouse"), **dict.fromkeys(("daughter", "son"), "child"),
    **dict.fromkeys(("sister", "brother"), "sibling"), **dict.fromkeys(("businesswoman", "businessman"), "executive"),
    **dict.fromkeys(("policewoman", "policeman"), "officer"),
}  # fmt: skip


class GroupWords:
    """Words for groups: those for women and men, and those for the levels of a study's factors.

    Parameters
    ----------
    factors:
        The levels of each factor, in words; a level is swapped with the next of its factor.

    Examples
    --------
    >>> words = GroupWords({"place": ("church", "mosque")})
    >>> words.swap_words("She left her church; I saw her.")
    'He left his mosque; I saw him.'
    >>> words.mask_words("A Black man before his Church.")
    'A Black person before their.'
    >>> words.swap_words("A calm person.") is None
    True
    """

    def __init__(self, factors: Mapping[str, Sequence[str]]) -> None:
        levels = [[level.casefold() for level in listed if level.strip()] for listed in factors.values()]
        nexts = [zip(listed, (*listed[1:], listed[0]), strict=True) for listed in levels if len(listed) > 1]
        gendered = chain(_PAIRS, ((second, first) for first, second in _PAIRS), (("him", "her"), ("his", "her")))
        self._swaps: dict[str, str] = {**dict(chain.from_iterable(nexts)), **dict(gendered)}
        self._level = {level for listed in levels for level in listed} - _NEUTRAL.keys()
        self._swap = _pattern([*self._swaps, "her"])
        self._mask = _pattern([*self._level, *_NEUTRAL, *self._swaps])

    def swap_words(self, text: str) -> str | None:
        """The text with each word for a group in another's place; None where it has none."""
        out = self._swap.sub(self._swap_match, text)
        return None if out == text else out

    def mask_words(self, text: str) -> str | None:
        """The text without words for groups; None where it has none."""
        out = self._mask.sub(lambda match: _copy_case(_NEUTRAL.get(match[0].casefold(), ""), match[0]), text)
        return None if out == text else re.sub(r"\s+([.,;:!?])", r"\1", re.sub(r"[ \t]{2,}", " ", out)).strip()

    def _swap_match(self, match: re.Match[str]) -> str:
        word = match[0].casefold()
        if word == "her":  # possessive before a word, else the object
            return _copy_case("his" if re.match(r"\s+\w", match.string[match.end() :]) else "him", match[0])
        return _copy_case(self._swaps[word], match[0])


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(dict.fromkeys(words), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _copy_case(word: str, like: str) -> str:
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


OURS = "group words: "
"""Prefix of the names of our lists, so that a list of the user's may be called 'gender' or 'race'."""
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
    return add_prefix(lexicon.shipped_lexicon("group_words"), OURS)


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
    return lists.merge_lists(merged)


def add_prefix(lists: Lexicon, prefix: str) -> Lexicon:
    """The same lists, with a prefix before the name of each."""
    return Lexicon(lists.name, lists.version, lists.source, {f"{prefix}{n}": words for n, words in lists.lists.items()})


def is_own(group: str, listed: str, spellings: Mapping[str, str]) -> bool:
    """Return whether a list is a group's own, whichever of the usual names of the group the two have.

    Examples
    --------
    >>> is_own("middle eastern", "Middle-Eastern", {}), is_own("hispanic", "Latino", {"latino": "hispanic"})
    (True, True)
    """
    first, second = fold_name(group), fold_name(listed)
    return spellings.get(first, first) == spellings.get(second, second)


def fold_name(name: str) -> str:
    """A group's name without case and marks."""
    return _MARKS.sub(" ", name.casefold()).strip()
