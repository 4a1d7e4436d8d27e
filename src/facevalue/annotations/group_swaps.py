"""Texts with the words for groups swapped or taken out: how a judge's own bias is looked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

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
    >>> words.swapped("She left her church; I saw her.")
    'He left his mosque; I saw him.'
    >>> words.without("A Black man before his Church.")
    'A Black person before their.'
    >>> words.swapped("A calm person.") is None
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

    def swapped(self, text: str) -> str | None:
        """The text with each word for a group in another's place; None where it has none."""
        out = self._swap.sub(self._other, text)
        return None if out == text else out

    def without(self, text: str) -> str | None:
        """The text without words for groups; None where it has none."""
        out = self._mask.sub(lambda match: _cased(_NEUTRAL.get(match[0].casefold(), ""), match[0]), text)
        return None if out == text else re.sub(r"\s+([.,;:!?])", r"\1", re.sub(r"[ \t]{2,}", " ", out)).strip()

    def _other(self, match: re.Match[str]) -> str:
        word = match[0].casefold()
        if word == "her":  # possessive before a word, else the object
            return _cased("his" if re.match(r"\s+\w", match.string[match.end() :]) else "him", match[0])
        return _cased(self._swaps[word], match[0])


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(dict.fromkeys(words), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _cased(word: str, like: str) -> str:
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
