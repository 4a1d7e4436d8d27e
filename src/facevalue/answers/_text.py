"""Normalised replies: thinking removed, bounded, one form of each character."""

import unicodedata

from facevalue.thinking import after_notes, after_thinking

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


def plain(text: str) -> str:
    r"""Return the text in NFKC, case-folded, with plain quotes and hyphens and without invisible characters.

    Private-use characters are dropped too, so that a parser can use them as marks.

    Examples
    --------
    >>> plain("（Ａ）  I\u2019m\x00 sure")
    "(a)  i'm sure"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_ENCLOSED)).translate(_QUOTES)
    text = text.replace("\r", "\n").casefold()
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "" for c in text)
    return text


def spelled(text: str) -> str:
    """Give both spellings of a word one form (likable, likeable; extroverted, extraverted)."""
    for variant, form in _SPELLINGS:
        text = text.replace(variant, form)
    return text


def visible(text: str) -> tuple[str, bool]:
    """Return what of a reply is looked at, in plain form, and whether anything beyond `LIMIT` was left out."""
    text = after_notes(after_thinking(text)).strip()
    cut = len(text) > LIMIT
    return spelled(plain(text[:LIMIT]))[:LIMIT], cut
