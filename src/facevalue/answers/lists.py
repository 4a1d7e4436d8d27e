r"""Replies that name several things: "1. nurse\n2. engineer", "nurse, engineer and judge", a JSON array, "none".

Only a list is believed: of prose nobody can say which of its words are named. A list that breaks off is no answer, as
what would have followed is not known; an empty one is an answer where the reply says that there is nothing to name.
"""

import json
import re
from collections.abc import Iterable

import polars as pl

from facevalue.answers._phrases import REFUSAL, plain_text
from facevalue.answers.base import NA, NA_DTYPE, UNREAD, each_once, statuses, unread
from facevalue.errors import UnknownNameError
from facevalue.thinking import after_thinking
from facevalue.types import Status

LIMIT = 20_000
"""Characters of a reply that are looked at."""
MOST_ENTRIES = 100
"""Different entries of a list; a reply with more runs on and is none."""
LONGEST = 80
"""Characters of an entry; what is longer is prose."""
SEPARATOR = "\n"
"""Separator of the entries of a list in a column of texts."""

_WORDS, _MARKED_WORDS = 5, 10  # of an entry in a row, and behind a bullet or number; what is longer is prose
_NOTHING = re.compile(r"(?:none|nothing|n/a|no one|nobody|(?:an )?empty(?: list)?|(?:none|no) (?:\w+ ){0,4}\w+)")
_OBJECT = re.compile(r'\s*[\[{][\s\S]*"\s*:')  # JSON without a list in it
_FENCE = re.compile(r"```\w*")
_MARK = re.compile(r"\s*(?:[-*+•‣·]\s+|\(?\d{1,3}[.)]\s*|\(?[a-z][.)]\s+)")
_NUMBERED = re.compile(r"(?:^|(?<=\s))\(?(\d{1,3})[.)]\s+")
_HEADING = re.compile(r"^[^,;:\n]{0,120}:\s*")
_REMARK = re.compile(r"\s*(?::|\s[-–—]\s|\s\(|,|;|\s(?:because|since|as)\s).*$", re.DOTALL)
_GLOSS = re.compile(r"(?::|\s[-–—]\s).*$")
_BETWEEN = re.compile(
    r"\s*(?:[,;•\n、，；]|\s[&/]\s|(?<=\w{3})/(?=\w{3}))\s*(?:(?:and/or|and|or)\s+)?|\s+(?:and|or)\s+", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:an?|the|and|or)\s+")
_SENTENCE = re.compile(
    r"^(?:i|he|she|they|it|we|you|this|that|there|here|(?:the|a) (?:person|people|man|woman|image|picture|photo))\b"
)
_AROUND = " \t\n\"'`*_.!?:<>[]{}()#"


def parse(text: str, *, truncated: bool = False) -> tuple[tuple[str, ...] | None, NA | None]:
    r"""The entries that a reply names, normalised (`entry`), each once; or why it is no list.

    Examples
    --------
    >>> parse("1. **Nurse** - she cares\n2. An engineer")[0], parse('Sure: ["Nurse", "engineer"]')[0]
    (('nurse', 'engineer'), ('nurse', 'engineer'))
    >>> parse("Jobs: nurse, engineer and judge.")[0], parse("None.")[0]
    (('nurse', 'engineer', 'judge'), ())
    >>> parse("The person might well be working as a nurse in a hospital.")[1]
    <NA.NEITHER: 'neither'>
    """
    reply = after_thinking(text)
    cut = truncated or len(reply) > LIMIT
    reply = _FENCE.sub("\n", plain_text(reply[:LIMIT])).strip()
    if not any(c.isalnum() for c in reply):
        return ((), None) if reply == "[]" and not cut else (None, NA.TRUNCATED if cut else NA.EMPTY)
    entries, marked = _entries(reply)
    if entries is None or (not marked and REFUSAL.search(reply)):
        return None, _reason(reply, cut)
    names = dict.fromkeys(filter(None, map(entry, entries)))
    nothing = [name for name in names if _NOTHING.fullmatch(name)]
    if cut or ("[" in reply and "]" not in reply):
        return None, NA.TRUNCATED
    if nothing:
        return ((), None) if len(names) == 1 else (None, NA.CONTRADICTION)
    if len(names) > MOST_ENTRIES or not names:
        return (None, NA.NEITHER) if names or "[]" not in reply else ((), None)
    return tuple(names), None


def entry(text: str) -> str:
    """Normalised entry: small letters, no article, no marks around it, single spaces.

    Examples
    --------
    >>> entry(" **An  Engineer**. ")
    'engineer'
    """
    words = " ".join(plain_text(text).strip(_AROUND).split())
    return _ARTICLE.sub("", words).strip(_AROUND)[:LONGEST]


def parse_column(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    r"""Columns `entries`, joined by line breaks and null where there is no list, and `na`; each reply is parsed once.

    Examples
    --------
    >>> parse_column(pl.DataFrame({"said": ["nurse, cook", "none", None]}), "said").rows()
    [('nurse\ncook', None), ('', None), (None, 'error')]
    """
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)

    def read(reply: str | None, status: str | None) -> tuple[str | None, str | None]:
        if reply is None or status in UNREAD:
            return None, unread(status).value
        names, reason = parse(reply, truncated=status == Status.TRUNCATED)
        return None if names is None else SEPARATOR.join(names), None if reason is None else reason.value

    keyed = frame.select(text=pl.col(text).cast(pl.String), status=statuses(frame))
    return each_once(keyed, read, {"entries": pl.String(), "na": NA_DTYPE})


def _entries(reply: str) -> tuple[list[str] | None, bool]:
    """Entries of a reply, None where it is prose; and whether bullets, numbers or brackets mark them."""
    array = _array(reply)
    if array is not None:
        return (array, True) if all(_short(text, _MARKED_WORDS) for text in array) else (None, True)
    if _OBJECT.match(reply):
        return None, True
    lines = [line.strip() for line in _split_numbered_items(reply).splitlines() if any(c.isalnum() for c in line)]
    marked = [_MARK.sub("", line, count=1) for line in lines if _MARK.match(line)]
    if marked and len(marked) >= len(lines) - 2:  # a sentence before and one behind it
        entries = [_REMARK.sub("", line.strip("*_ ")) for line in marked]
        return (entries, True) if all(_short(text, _MARKED_WORDS) for text in entries) else (None, True)
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
    lines = [_HEADING.sub("", lines[0], count=1)] if len(lines) == 1 else [_GLOSS.sub("", line) for line in lines]
    entries = [text for line in lines for text in _BETWEEN.split(line) if entry(text)]
    is_prose = any(not _short(text, _WORDS) or _SENTENCE.match(entry(text)) for text in entries)
    return (None, False) if is_prose else (entries, False)


def _short(text: str, words: int) -> bool:
    return len(text) <= LONGEST and len(text.split()) <= words


def _array(reply: str) -> list[str] | None:
    """Texts of the array in a reply, also of one without quotes; None where there is none."""
    start, end = reply.find("["), reply.rfind("]")
    if start < 0 or end < start:
        return None
    try:
        values = json.loads(reply[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        inside = reply[start + 1 : end]
        return None if any(sign in inside for sign in "[]{}") else _BETWEEN.split(inside)
    return list(_texts(values)) if all(not isinstance(value, list) for value in values) else None


def _texts(values: Iterable[object]) -> Iterable[str]:
    """Entries of an array: texts and numbers, and of an object its first text."""
    for value in values:
        texts = list(value.values())[:1] if isinstance(value, dict) else [value]
        yield from (str(text) for text in texts if isinstance(text, str | int | float))


def _split_numbered_items(reply: str) -> str:
    """The reply with the items of a list that is numbered within a line on lines of their own."""
    numbers = [int(match[1]) for match in _NUMBERED.finditer(reply)]
    in_order = len(numbers) > 1 and numbers == list(range(1, len(numbers) + 1))
    return _NUMBERED.sub(lambda match: f"\n{match[1]}. ", reply) if in_order else reply


def _reason(reply: str, cut: bool) -> NA:
    return NA.REFUSED if REFUSAL.search(reply) else NA.TRUNCATED if cut else NA.NEITHER
