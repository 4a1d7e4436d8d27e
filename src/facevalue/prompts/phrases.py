"""Phrases of prompts: indefinite articles, lists of two options in either order, and slots.

Slots are names in braces that stand in prompts and options for what is filled in.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from facevalue.errors import DataError
from facevalue.types import Option

# Words that begin with the sound of "you" or of "one", though their first letter is a vowel.
_CONSONANT = re.compile(
    r"eu|ewe|(?:one|once)\b|oui|u(?:[bcfhjkqrst][aeiou]|kr|gand|\b)|uni(?!n|m|dent)|unanim", re.IGNORECASE
)
# Words that begin with a vowel sound, though their first letter is a consonant: silent h, letters said one by one.
_VOWEL = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPELLED_VOWEL = re.compile(r"[AEFHILMNORSX](?:[A-Z0-9]|\b)|[efhilmnorsx]\b|8|1[18](?!\d)")
_SPELLED_CONSONANT = re.compile(r"[UBCDGJKPQTVWYZ](?:[A-Z0-9]|\b)")


def article(noun: str) -> str:
    """The indefinite article of a noun phrase, chosen by sound.

    Knows words that begin with the sound of "you" or "one" (university, European, one-legged), silent h (hour, honest),
    single letters and abbreviations in capitals, which it takes to be spelled out (an X-ray, an FBI agent, a UN envoy).

    Examples
    --------
    >>> [f"{article(noun)} {noun}" for noun in ("old man", "European man", "umpire", "honest clerk", "h")]
    ['an old man', 'a European man', 'an umpire', 'an honest clerk', 'an h']
    """
    start = re.sub(r"^\W+", "", noun)
    if _SPELLED_CONSONANT.match(start):
        return "a"
    if _SPELLED_VOWEL.match(start) or _VOWEL.match(start):
        return "an"
    return "an" if start[:1].lower() in set("aeiou") and not _CONSONANT.match(start) else "a"


def with_article(noun: str) -> str:
    """A noun phrase with its indefinite article.

    Examples
    --------
    >>> with_article("office worker")
    'an office worker'
    """
    return f"{article(noun)} {noun}"


@dataclass(frozen=True, slots=True)
class Ordering:
    """An order of the two poles of a scenario: their letters, and which is shown first."""

    name: str  # the level of the factor `ordering`
    labels: tuple[str, str]  # labels in the order shown
    first: int  # which pole is shown first: 0 or 1

    def options(self, poles: tuple[str, str], levels: tuple[str, str]) -> tuple[Option, Option]:
        """Return the options in the order shown.

        Examples
        --------
        >>> [o.label + " " + o.text for o in ORDERINGS[3].options(("kind", "rude"), ("favourable", "unfavourable"))]
        ['(b) kind', '(a) rude']
        """
        second = 1 - self.first
        return (
            Option(self.labels[0], poles[self.first], levels[self.first]),
            Option(self.labels[1], poles[second], levels[second]),
        )


ORDERINGS = (
    Ordering("1", ("(a)", "(b)"), 0),
    Ordering("2", ("(b)", "(a)"), 1),
    Ordering("3", ("(a)", "(b)"), 1),
    Ordering("4", ("(b)", "(a)"), 0),
)
"""Option order crossed with letter assignment: StylisticBias, Appendix C.2, "Prompt order variants", as numbered
there."""


OPTIONS = "{options}"
"""Slot of a prompt that the options are written in."""
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_ -]{0,63})\}")  # all other braces are text


def slots(text: str) -> list[str]:
    """Slots of a text, but for that of the options.

    Examples
    --------
    >>> slots("Is this {person} a {job}? {options} {0} {a.b}")
    ['person', 'job']
    """
    return [name for name in _split(text)[1::2] if f"{{{name}}}" != OPTIONS]


@lru_cache(maxsize=4096)  # templates are filled again and again
def _split(text: str) -> tuple[str, ...]:
    """A text cut at its slots: what stands before, between and behind them, with their names in turn."""
    return tuple(_SLOT.split(text))


def check_unfilled(texts: Iterable[str], of: str) -> None:
    """Refuse slots in texts that nothing fills: their braces would be sent. `of`: what the texts are.

    Examples
    --------
    >>> check_unfilled(["Is the text about {trait}?"], "the question to a judge")
    Traceback (most recent call last):
    facevalue.errors.DataError: {trait} in the question to a judge is filled by nothing: only prompts, options and ...
    """
    if unfilled := next((name for text in texts for name in slots(text)), ""):
        raise DataError(
            f"{{{unfilled}}} in {of} is filled by nothing: only prompts, options and templates have slots. Write it in "
            "words."
        )


def fill_slots(text: str, levels: Mapping[str, str]) -> str:
    """Fill the slots of a text; what is put in is not looked at again.

    Examples
    --------
    >>> fill_slots("A {job}: {options}", {"job": "{options}", "options": "(a) or (b)"})
    'A {options}: (a) or (b)'
    """
    pieces = list(_split(text))
    pieces[1::2] = [levels.get(name, f"{{{name}}}") for name in pieces[1::2]]
    return "".join(pieces)
