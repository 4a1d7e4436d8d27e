"""Sentences of descriptions in which a marked word stands."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from facevalue.report.data import PairExample

LONGEST = 240
"""Characters of a sentence that are shown."""


@dataclass(frozen=True, slots=True)
class Sentence(PairExample):
    """A sentence of a description with a word that marks its group; `answer` is the sentence.

    Attributes
    ----------
    dimension, group, word:
        Whose word.
    """

    dimension: str = ""
    group: str = ""
    word: str = ""

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """The sentence in parts, each with whether it is the word.

        Examples
        --------
        >>> Sentence("", "", None, "", (), "A red hat, red.", "", "", word="red").parts
        [('A ', False), ('red', True), (' hat, ', False), ('red', True), ('.', False)]
        """
        pieces = _pattern(self.word).split(self.answer)
        return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]


def sentence(text: str, word: str) -> str | None:
    """The first sentence of a text with a word, shortened around it where it is long; None if there is none.

    Examples
    --------
    >>> sentence("A man. He wears a Red hat! And more.", "red")
    'He wears a Red hat!'
    """
    pattern = _pattern(word)
    for one in _sentences(text):
        found = pattern.search(one)
        if found is None:
            continue
        if len(one) <= LONGEST:
            return one
        start = max(found.start() - LONGEST // 2, 0)
        cut = one[start : start + LONGEST]
        return f"{'…' if start else ''}{cut}{'…' if start + LONGEST < len(one) else ''}"
    return None


def _sentences(text: str) -> Iterable[str]:
    return (part.strip() for part in re.split(r"(?<=[.!?])\s+", text))


def _pattern(word: str) -> re.Pattern[str]:
    """A word as such, in any case; a curly apostrophe is as good as a straight one."""
    said = re.escape(word).replace("'", "['’]")
    return re.compile(rf"(?<![\w'’-])({said})(?![\w-])", re.IGNORECASE)
