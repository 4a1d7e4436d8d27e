"""Several ratings in one reply: as fields of a JSON object, or as lines of a scale and its rating.

Lines may be numbered, bold, rows of a table, in any order and with a reason behind the rating. What `json_fields` does
not read as it stands is brought into its form (`Competence: 5`) first, so that refused, doubled and cut replies are
told in one place.
"""

import re

from facevalue.answers import json_fields
from facevalue.answers.base import NA
from facevalue.answers.json_fields import LIMIT, Names, Read, ReplyField, folded_key
from facevalue.thinking import after_thinking

_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_RATING = re.compile(
    rf"(?P<value>{_NUMBER})(?:\s?(?:/|out of|of)\s?(?P<top>{_NUMBER}))?(?!\s?%)(?![\d/])(?![eE][+-]?\d)(?P<rest>.*)",
    re.DOTALL,
)
_RANGE = re.compile(r"\s*(?:-|–|—|to|or|and)\s*\d", re.IGNORECASE)
_LABEL = re.compile(r"(?:(?:rating|score|answer)\s*[:=]\s*)", re.IGNORECASE)
_ON_ONE_LINE = re.compile(r"(?<=\d)[*_]{0,2}[ \t]*[,;][ \t]*(?=[*_]{0,2}[A-Za-z])")
_AROUND = " \t*_`\"'#>|"
_MARK = re.compile(r"^(?:[-*+•]\s+|\(?[A-Za-z]?\d{1,2}[.):]\s+){1,2}")
_ASIDE = re.compile(r"\s*\([^()\n]{0,60}\)\s*$")
_APART = re.compile(r"[:=|\uff1a\u2192]|->|\.{3,}|\s[-–—]\s|\s(?=[*_]{0,2}\d)")
_LONGEST_KEY = 200


def parse(
    text: str, names: Names, low: float, high: float, *, truncated: bool = False
) -> tuple[dict[str, float | None], NA | None]:
    r"""The rating of each scale, None where there is none, and why there is none at all.

    Examples
    --------
    >>> names = {"skill": ("Skills",), "warmth": ()}
    >>> parse("1. **Skills:** 5/7 - three years at work\n2. Warmth - 6", names, 1, 7)
    ({'skill': 5.0, 'warmth': 6.0}, None)
    >>> parse('{"warmth": 4, "skill": "n/a"}', names, 1, 7)
    ({'skill': None, 'warmth': 4.0}, None)
    >>> parse("I'm sorry, I can't rate people.", names, 1, 7)[1]
    <NA.REFUSED: 'refused'>
    """
    parsed = json_fields.parse(text, names, truncated=truncated)
    if parsed.read not in (Read.JSON, Read.BROKEN):
        keys = {folded_key(key) for name, others in names.items() for key in (name, *others)}
        reply = after_thinking(text)
        in_lines = _in_lines(reply[:LIMIT], keys)
        parsed = json_fields.parse(in_lines, names, truncated=truncated, lines_least=1)
    return {name: _of_field(field, low, high) for name, field in parsed.fields.items()}, parsed.reason


def rating(text: str, low: float, high: float) -> float | None:
    """The rating that a text begins with, perhaps with its scale and a reason behind it; None for a range.

    Examples
    --------
    >>> [rating(text, 1, 7) for text in ("5", "**5/7** (three years)", "5 out of 7", "5/10", "4-5", "9", "high")]
    [5.0, 5.0, 5.0, None, None, None, None]
    """
    stated = _RATING.match(_LABEL.sub("", text.strip(_AROUND), count=1).strip(_AROUND))
    if stated is None or (stated["top"] and _value(stated["top"]) != high) or _RANGE.match(stated["rest"]):
        return None
    value = _value(stated["value"])
    return value if low <= value <= high else None


def _value(number: str) -> float:
    return float(number.replace(",", "."))


def _of_field(field: ReplyField, low: float, high: float) -> float | None:
    """The rating of a field; of one that gives a reason besides, that which stands alone."""
    values = field.values
    if len(values) > 1:
        values = tuple(value for value in values if re.fullmatch(rf"{_NUMBER}(?:\s?/\s?{_NUMBER})?", value))
    return rating(values[0], low, high) if len(values) == 1 else None


def _in_lines(text: str, keys: set[str]) -> str:
    """The reply with each line that rates a scale as its name, a colon and the rating; all others as they are."""
    out: list[str] = []
    heading = ""
    for line in _ON_ONE_LINE.sub("\n", text).splitlines():
        key, value = _cut(line, keys)
        if not key and heading and _LABEL.match(line.strip(_AROUND + "-•")):
            key, value = heading, line.strip(_AROUND + "-•")
        number = _RATING.match(_LABEL.sub("", value.strip(_AROUND), count=1).strip(_AROUND)) if key else None
        out.append(f"{key}: {_short(number)}" if number else line)
        if line.strip():
            heading = name if folded_key(name := _name(line)) in keys else ""
    return "\n".join(out)


def _short(number: re.Match[str]) -> str:
    """A rating without its reason, yet with what makes it none: another scale, or a range."""
    if number["top"]:
        return f"{number['value']}/{number['top']}"
    rest = _RANGE.match(number["rest"])
    return number["value"] + (f"{number['rest'][: rest.end()]}" if rest else "")


def _cut(line: str, keys: set[str]) -> tuple[str, str]:
    """Scale and value of a line; empty where it rates none."""
    content = line.lstrip("| \t")
    for sign in _APART.finditer(content[:_LONGEST_KEY]):
        key = _name(content[: sign.start()])
        if folded_key(key) in keys:
            return key, content[sign.end() :]
    return "", ""


def _name(text: str) -> str:
    """Candidate for the name of a scale, without numbering, marks and what stands in brackets behind it."""
    return _ASIDE.sub("", _MARK.sub("", text.strip(_AROUND)).strip(_AROUND)).strip(f"{_AROUND}:")
