"""Options that replies match, by text: decided only when a reply is complete."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from facevalue.models._toplogprobs import _OPEN, _OPENING, _spellings
from facevalue.types import Option

OPEN = _OPEN
"""Not decided yet; options are numbered from 0."""
OPENING = _OPENING
"""What may stand before an answer without changing it."""

_ALONE = "()[]{}<>*_`'\"‘’“”.,:;!$#-=\\ \n\t\r"
"""What may stand around a letter that is the whole reply."""
_POINTS = ".,:"
_COMPOUNDS = ("looking", "seeming", "appearing")
"""What a hyphen may join to an option without making another word of it."""

_CLOSED = re.compile(r"""[ \n\t\r]{0,2}(?:[.:]?[)\]}>"'`*_\\‘’“”]|[.,:]\W)""")
_AT_LINE_START = re.compile(r"\)|[ \n\t\r]{0,2}(?:[.,:;!]\W|\n|\r|[–—])|[ \t]--?[ \n\t\r]")


@dataclass(frozen=True, slots=True)
class TokenSpelling:
    """One way to say an option, in lower case.

    A letter or a number (`letter`) is an answer only where none is a word of a sentence.
    """

    text: str
    letter: bool

    def stands(self, rest: str, before: str) -> bool | None:
        """Tell whether what follows leaves this an answer after blanks, quotes, Markdown; None if not known yet."""
        if not self.text[-1].isalnum() and self.text[-1] not in _POINTS:
            return True
        if not rest:
            return None
        if self.text[-1] in _POINTS:  # "1." and not "1.5"
            return not rest[0].isalnum()
        if not self.letter:
            return _word_ends(rest)
        if rest[0].isalnum():
            return False
        bare = self.text[0].isalnum()
        opened = not bare or bool(before.strip())
        if (opened and _CLOSED.match(rest)) or (bare and not before.strip(" \t\r\n*") and _AT_LINE_START.match(rest)):
            return True
        return False if rest.strip(_ALONE) else None

    def stands_at_end(self, rest: str) -> bool:
        """Tell whether it is an answer if the reply ends where `stands` didn't know yet."""
        return self.letter or rest in ("", "-")


def _word_ends(rest: str) -> bool | None:
    if rest[0] == "?" or rest[0].isalnum():
        return False
    if rest[0] != "-":
        return True
    joined = rest[1:]
    if joined and not joined[0].isalnum():
        return True
    if joined.startswith(_COMPOUNDS):
        return True
    return None if any(word.startswith(joined) for word in _COMPOUNDS) else False


def spellings_of(options: Sequence[Option]) -> list[tuple[TokenSpelling, ...]]:
    """Return the ways to say each option."""
    return [tuple(TokenSpelling(text, _is_letter(text)) for text in _spellings(option)) for option in options]


def _is_letter(text: str) -> bool:
    core = "".join(c for c in text if c.isalnum())
    return len(core) == 1 or core.isdigit()


def read(text: str, spellings: Sequence[tuple[TokenSpelling, ...]], *, ended: bool) -> int | None:
    """Return the option that a reply beginning with a text is, None if it is none, or `OPEN` unless it `ended` here.

    Once a text is decided, whatever follows it changes nothing, so that the tokens of a reply don't matter.
    """
    folded = text.casefold()
    reply = folded.lstrip(OPENING)
    before = folded[: len(folded) - len(reply)]
    longest, matching, going = 0, set[int](), set[int]()
    for number, spellings_of_option in enumerate(spellings):
        for spelling in spellings_of_option:
            length = len(spelling.text)
            if not reply.startswith(spelling.text):
                if spelling.text.startswith(reply):
                    going.add(number)
                continue
            stands = spelling.stands(reply[length:], before)
            if stands is None and not ended:
                going.add(number)
            elif stands or (stands is None and spelling.stands_at_end(reply[length:])):
                matching = {number} | (matching if length == longest else set()) if length >= longest else matching
                longest = max(longest, length)
    if not ended and going - matching:
        return OPEN
    if len(matching) == 1:
        return matching.pop()
    return OPEN if going and not ended else None


SPECIAL = frozenset("".join((OPENING, _ALONE, "–—?", *_COMPOUNDS)))
"""Characters that are told from others of their kind, besides those of the spellings."""
