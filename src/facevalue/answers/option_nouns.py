"""Nouns by which a prompt presents what its options stand for: "two images, A and B" makes "image A" a name of A."""

import re
from collections.abc import Iterable, Sequence

_PICTURES = ("image", "picture", "photo", "photograph")
"""Words that mean the same of a picture: where a prompt uses one, a reply may use any."""
_NO_NAME = re.compile(
    "the|and|or|either|both|only|just|with|is|are|was|between|from|than|like|say|choose|pick|select|answer|reply|respond|"
    "write|letter|option|of|choice|which|one|two|for|to|as|be|not|more|in|on|at|by|vs"
)
_NOUN = r"[a-z]{3,20}"
_BETWEEN = r"\s*(?:,|/|\band\b|\bor\b|,\s*(?:and|or)\b)\s*"


def presented_as(texts: Iterable[str], letters: Sequence[str]) -> tuple[str, ...]:
    """Return the nouns that prompts put before the letters of their options, singular, in the order of the texts.

    Parameters
    ----------
    texts:
        Prompts, and what fills their slots.
    letters:
        Texts of the options. Only where all are single letters have they such names.

    Notes
    -----
    A noun counts if it stands before all letters as a list, "images, A and B" or "person (A or B)", or before each of
    two, "face A" and "face B". Letters are capitals there, as in the options: "a" would be an article.

    Examples
    --------
    >>> presented_as(["You see two faces, A and B. Which person (A or B) is kind?"], ["A", "B"])
    ('face', 'person')
    """
    if len(letters) < 2 or not all(re.fullmatch(r"[A-Z]", letter) for letter in letters):
        return ()
    series, any_letter = _BETWEEN.join(letters), "|".join(letters)
    before_list = re.compile(
        rf"\b(?P<first>(?i:{_NOUN}))(?: of (?:the |this |a )?(?P<second>(?i:{_NOUN})))?\s*[,:(]?\s*{series}(?![\w'])"
    )
    before_letter = re.compile(rf"\b(?P<noun>(?i:{_NOUN}))\s(?P<letter>{any_letter})(?![\w'])")
    nouns: dict[str, None] = {}
    for text in texts:
        for match in before_list.finditer(text):
            nouns |= dict.fromkeys(_singular(noun) for noun in match.groups() if noun)
        letters_of: dict[str, set[str]] = {}
        for match in before_letter.finditer(text):
            letters_of.setdefault(_singular(match["noun"]), set()).add(match["letter"])
        nouns |= dict.fromkeys(noun for noun, of_noun in letters_of.items() if len(of_noun) > 1)
    names = [noun for noun in nouns if not _NO_NAME.fullmatch(noun)]
    if any(noun in _PICTURES for noun in names):
        names = [*(noun for noun in names if noun not in _PICTURES), *_PICTURES]
    return tuple(names)


def _singular(noun: str) -> str:
    noun = noun.lower()
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
