"""Sentences of replies in which a marked word stands."""

import re
from collections.abc import Iterable

LONGEST = 240
"""Characters of a sentence that are shown."""


def sentence(text: str, word: str) -> str | None:
    """The first sentence of a text with a word, shortened around it where it is long; None if there is none.

    Examples
    --------
    >>> sentence("A man. He wears a Red hat! And more.", "red")
    'He wears a Red hat!'
    """
    pattern = word_pattern(word)
    for candidate in _sentences(text):
        match = pattern.search(candidate)
        if match is None:
            continue
        if len(candidate) <= LONGEST:
            return candidate
        start = max(match.start() - LONGEST // 2, 0)
        cut = candidate[start : start + LONGEST]
        return f"{'…' if start else ''}{cut}{'…' if start + LONGEST < len(candidate) else ''}"
    return None


def _sentences(text: str) -> Iterable[str]:
    return (piece.strip() for piece in re.split(r"(?<=[.!?])\s+", text))


def word_pattern(word: str) -> re.Pattern[str]:
    """A word as such, in any case; a curly apostrophe is as good as a straight one."""
    escaped = re.escape(word).replace("'", "['’]")
    return re.compile(rf"(?<![\w'’-])({escaped})(?![\w-])", re.IGNORECASE)
