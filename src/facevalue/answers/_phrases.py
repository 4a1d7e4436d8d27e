"""Phrases that decline, hedge or deny, in English, and what a reply states for parsers of numbers.

Phrases are matched on case-folded text with plain apostrophes; each distinct reply is read once.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from facevalue.answers.base import NA, NA_DTYPE, UNREAD, each_once, statuses, unread
from facevalue.errors import UnknownNameError
from facevalue.thinking import after_notes, after_thinking
from facevalue.types import Language, Status

# Normalised replies: thinking removed, bounded, one form of each character.


LIMIT = 4_000
"""Characters of a reply that are looked at, thinking not counted."""

# Letters in a circle or box say "this option" by their form, which NFKC would lose (or not undo at all).
_ENCLOSED = {
    start + i: f"({chr(ord('a') + i)})" for start in (0x24B6, 0x24D0, 0x1F150, 0x1F170, 0x1F130) for i in range(26)
}
_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "\u2032": "'", "\u201c": '"', "\u201d": '"'}
    | dict.fromkeys("\u2010\u2011\u2012\u2212", "-")
    | dict.fromkeys("\r\u2028\u2029\v\f\x85", "\n")
)
_SPELLINGS = (("likable", "likeable"), ("extrover", "extraver"))


def plain_text(text: str) -> str:
    r"""Return the text in NFKC, case-folded, with plain quotes and hyphens and without invisible characters.

    Private-use characters are dropped too, so that a parser can use them as marks.

    Examples
    --------
    >>> plain_text("（Ａ）  I\u2019m\x00 sure")
    "(a)  i'm sure"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_ENCLOSED)).translate(_QUOTES)
    text = text.replace("\r", "\n").casefold()
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "" for c in text)
    return text


def unify_spelling(text: str) -> str:
    """Give both spellings of a word one form (likable, likeable; extroverted, extraverted)."""
    for variant, form in _SPELLINGS:
        text = text.replace(variant, form)
    return text


def visible_text(text: str) -> tuple[str, bool]:
    """Return what of a reply is looked at, in plain form, and whether anything beyond `LIMIT` was left out."""
    text = after_notes(after_thinking(text)).strip()
    cut = len(text) > LIMIT
    return unify_spelling(plain_text(text[:LIMIT]))[:LIMIT], cut


_JUDGING = (
    "determine|judge|assess|tell|say|know|make|provide|help|assist|answer|identify|comment|evaluate|infer|describe"
)

REFUSAL = re.compile(
    r"\b(?:"
    r"sorry|apologi[sz]e|apologies"
    r"|i(?:'m| am) (?:\w+ )?(?:unable|not able|not comfortable|afraid|not going to|not allowed|not designed)"
    r"|(?:i|we) (?:\w+ )?(?:can't|cannot|can not|couldn't|could not|won't|will not|wouldn't|would not)"
    r"|(?:i|we) (?:\w+ )?(?:shouldn't|should not|mustn't|must not)"
    rf"|(?:can't|cannot|can not) (?:\w+ )?(?:{_JUDGING})"
    r"|(?:i|we) (?:\w+ )?(?:decline|refuse|prefer not|would rather not|don't feel comfortable|do not feel comfortable)"
    r"|i(?:'d| would) (?:rather|prefer) not"
    rf"|i (?:don't|do not) (?:\w+ )?(?:{_JUDGING}|think it|believe it|have)"
    r"|as an? (?:\w+ )?(?:ai|artificial intelligence|language model|large language|vision|multimodal)"
    rf"|(?:unable|impossible|inappropriate|unethical|unfair|wrong|harmful) (?:for me )?to (?:\w+ )?(?:{_JUDGING})"
    r"|not (?:appropriate|possible|ethical|fair|okay|ok|right|acceptable|able) (?:for me )?to"
    rf"|(?:can't|cannot|can not|couldn't|could not|shouldn't|should not) be (?:\w+ )?(?:{_JUDGING})e?d?"
    r"|against my|my guidelines"
    r")(?!\w)"
)


def declines(text: str, language: Language | None) -> bool:
    """Return whether a reply in plain form declines, in English or in the phrases of another language.

    Phrases are whole words in scripts that have capital letters, and stand anywhere in others.

    Examples
    --------
    >>> german = Language(refusals=("Tut mir leid",))
    >>> declines("tut mir leid, nein.", german), declines("tut mir leider weh", german), declines("i'm sorry", german)
    (True, False, True)
    """
    phrases = language.refusals if language else ()
    return REFUSAL.search(text) is not None or (bool(phrases) and _any_phrase(phrases).search(text) is not None)


def hedges(text: str, language: Language | None) -> bool:
    """Return whether a reply in plain form hedges, in English or in the phrases of another language.

    Examples
    --------
    >>> german = Language(hedges=("vielleicht", "alle beide"))
    >>> hedges("vielleicht (a)", german), hedges("alle beide.", german), hedges("vielleicht (a)", None)
    (True, True, False)
    """
    phrases = language.hedges if language else ()
    return HEDGE.search(text) is not None or (bool(phrases) and _any_phrase(phrases).search(text) is not None)


@lru_cache(maxsize=256)
def _any_phrase(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of these phrases."""
    plain = [unify_spelling(plain_text(phrase)).strip() for phrase in phrases]
    ends = [[r"\b" if end.upper() != end else "" for end in (phrase[0], phrase[-1])] for phrase in plain]
    return re.compile("|".join(f"{a}{re.escape(text)}{b}" for text, (a, b) in zip(plain, ends, strict=True)))


HEDGE = re.compile(
    r"\b(?:"
    r"either|depends?|maybe|perhaps|possibly|might|may be|could be|could also"
    r"|hard to|difficult to|tough to|tricky to|not (?:\w+ )?(?:sure|certain|clear)|unsure|uncertain|unclear|ambiguous"
    r"|equally|in between|in-between|somewhere between|middle ground|a mix|mixture|50[/-]50|toss-?up"
    r"|undecided|undetermined"
    r"|(?:not enough|insufficient|no) (?:\w+ )?(?:information|evidence|context|way to)"
    r")(?!\w)"
)

NEITHER = re.compile(r"\b(?:neither|none of)(?!\w)")

BOTH = re.compile(
    r"\bboth(?= (?:of|options?|choices|descriptions|traits|apply|are|could|can|seem|fit)\b|\W{0,3}$|[.,;:!])"
)

DANGLING = re.compile(r"(?:\b(?:or|and|nor|than|versus|vs)|/)\W{0,4}\Z")
"""A reply that ends where another option would follow."""

_NEGATORS = frozenset(
    ("not", "no", "non", "cannot", "never", "neither", "nor", "hardly", "barely", "scarcely", "unlikely", "without")
) | frozenset(("less", "lacks", "lacking", "than", "rather", "instead", "opposite", "except", "against"))
_DENIALS = frozenset(("not", "never", "wrong", "incorrect", "inaccurate", "false", "unlikely", "cannot"))


def negates(word: str) -> bool:
    """Tell whether a word denies what follows it ("not", "isn't", "than").

    Examples
    --------
    >>> negates("doesn't"), negates("note")
    (True, False)
    """
    return word in _NEGATORS or word.endswith("n't")


def denies(word: str) -> bool:
    """Tell whether a word denies what stands before it ("(a) is wrong")."""
    return word in _DENIALS or word.endswith("n't")


NO_NUMBER, SEVERAL = "no number", "several numbers"
RANGE = "range"
_SHORT = 30
"""Characters of a first line that is a number and little else."""
_LETTERS = re.compile(r"[^\W\d]+")
_MARKS = str.maketrans(dict.fromkeys("*`_\\{}[]", " ") | {"\u2013": "-", "\u2014": "-", "~": "-"})
_HALF = re.compile(r"(?:(?<=\d) ?\u00bd| and a half\b)")
_ENUMERATED = re.compile(r"^\s{0,8}(\d{1,2})[.)]\s(?=\s*[^\s\d])", re.MULTILINE)
COUNTED = (
    r"\s?-?(?:%|percent|years?|yrs?|months?|weeks?|days?|hours?|minutes?|people|persons?|men|women|individuals?"
    r"|candidates?|employees?|times|reasons?|keywords?|words?|sentences?|st|nd|rd|th)\b"
)
"""Words behind a number that counts something else."""


class Stated(NamedTuple):
    """Value that a reply states, or the reason why there is none."""

    value: float | None
    """None where nothing counts."""
    reason: str | None = None
    """Reason why nothing counts; None if there is a value."""
    note: str | None = None
    """Way in which the value was taken where it is not simply the number: "range", "hourly", "hourly range"."""
    na: NA | None = None
    """The reason as one of those that every study has."""


Read = Callable[[str], Stated]
"""From a text to what it states."""


def missing(reason: str) -> Stated:
    """No value, for a reason of numbers."""
    return Stated(None, reason, None, NA.BOTH if reason == SEVERAL else NA.NEITHER)


def read_reply(text: str, reader: Read) -> Stated:
    """Read what a reply states. A first line with a number alone counts by itself, unless a later one has another."""
    reply, _ = visible_text(_HALF.sub(".5", text[: 4 * LIMIT]) if len(text) <= 4 * LIMIT else text)
    reply = _without_list(reply.translate(_MARKS))
    if not any(c.isalnum() for c in reply):
        return Stated(None, NA.EMPTY.value, None, NA.EMPTY)
    lines = [line.strip() for line in reply.splitlines() if any(c.isalnum() for c in line)]
    if len(lines) > 1 and len(lines[0]) <= _SHORT:
        first = reader(lines[0])
        others = (reader(line).value for line in lines[1:] if _bare(line))
        if first.value is not None and all(value in (None, first.value) for value in others):
            return first
    statement = reader(" \n ".join(lines))
    if statement.value is None and REFUSAL.search(reply):
        return Stated(None, NA.REFUSED.value, None, NA.REFUSED)
    return statement


def parse_column(frame: pl.DataFrame, text: str, parse: Read) -> pl.DataFrame:
    """Columns `value`, `reason`, `note` and `na` of a column of replies; each distinct reply is parsed once."""
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)

    def read(reply: str | None, status: str | None) -> tuple[object, ...]:
        statement = _reply(reply, status, parse)
        return *statement[:3], None if statement.na is None else statement.na.value

    keyed = frame.select(text=pl.col(text).cast(pl.String), status=statuses(frame))
    schema = {"value": pl.Float64(), "reason": pl.String(), "note": pl.String(), "na": NA_DTYPE}
    return each_once(keyed, read, schema)


def _reply(text: str | None, status: str | None, parse: Read) -> Stated:
    if text is None or status in UNREAD:
        na = unread(status)
        return Stated(None, na.value, None, na)
    statement = parse(text)
    if statement.value is None and statement.reason == NO_NUMBER and status == Status.TRUNCATED:
        return Stated(None, NA.TRUNCATED.value, None, NA.TRUNCATED)
    return statement


def _bare(line: str) -> bool:
    """Return whether a later line is a number again, with two words at most ("Rating: 7")."""
    return len(line) <= _SHORT and len(_LETTERS.findall(line)) <= 2


def _without_list(text: str) -> str:
    """The text without the numbers of a numbered list, of which there are at least 1 and 2."""
    numbers = {int(match[1]) for match in _ENUMERATED.finditer(text)}
    return _ENUMERATED.sub("- ", text) if {1, 2} <= numbers else text
