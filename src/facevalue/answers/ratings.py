"""Ratings from 1 to 10: "8", "8/10", "8 out of 10", "seven", "between 7 and 8"; what else is said, and why not counted.

The paper of the counterfactual sets keeps numbers from 1 to 10 (appendix F). A range counts as its middle and is noted;
a number on another scale ("4/5", "80%") is none on this one.
"""

import re
from collections.abc import Iterator

import polars as pl

from facevalue.answers import _phrases
from facevalue.answers._phrases import NO_NUMBER, RANGE, SEVERAL, Stated, missing

LOW, HIGH = 1.0, 10.0
OUTSIDE, OTHER_SCALE = "outside 1 to 10", "another scale"
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD = re.compile(
    rf"\b({'|'.join(_WORDS)})\b(\.5)?(?=\s*(?:$|[^\w\s]|(?:out|of|to|or|and|on|for|because|since|as|based|due|stars?)\b))"
)
_ONE_ALONE = re.compile(r"\W*(?:(?:my )?(?:rating|answer|score)\b\W*(?:is\b)?)?\W*one\b\W*(?:out of ten\W*)?")
_SCALE = re.compile(
    r"\b(?:scale|where|from|between|with|range|number)\b[^\d\n]{0,24}?\b(?:[01]|zero|one)\b[^\d\n]{0,70}?\b(?:10|ten)\b"
    r"|(?<![\d.])[01]\s?(?:-|to|through)\s?10\b(?![/.]\d)|\b(?:10|ten)[ -]?point\b"
    r"|\b(?:with|where) (?:10|ten) (?:being|is|as|means)\b|\b10 being\b"
)
_NUMBER = r"(?<![\w.,$/])-?\d{1,9}(?:[.,]\d{1,2}(?!\d))?"
_OF = re.compile(rf"({_NUMBER})[\s(]{{0,3}}(?:/|out of|of)\s{{0,3}}(?:a (?:possible |total of )?)?(\d{{1,5}})(?![\w%])")
_OF_TEN = re.compile(r"\b(?:out )?of ten\b")
_OTHER = re.compile(r"\$\s?\d|\d\s?(?:%|percent)")
_PLAIN = re.compile(rf"({_NUMBER})(?!\w|{_phrases.COUNTED}|[.,]\d|\s?%)")
_BETWEEN = re.compile(r"\s{0,3}(?:-{1,2}|to|or|(?P<and>and))\s{0,3}(?:an? |even )?")
_FROM = re.compile(r"\bbetween\s{1,3}(?:an? )?\Z")


def parse(text: str) -> Stated:
    """The rating that a reply gives, or why there is none.

    Examples
    --------
    >>> [parse(said).value for said in ("8/10", "8 out of 10", "**7**", "Ten.", "7.5/10", "between 7 and 8")]
    [8.0, 8.0, 7.0, 10.0, 7.5, 7.5]
    >>> parse("On a scale of 1 to 10, I'd say 7.").value, parse("7-8").note
    (7.0, 'range')
    >>> [parse(said).reason for said in ("0.8", "6 for looks, 9 for skill", "4/5", "Very good", "I can't rate people.")]
    ['outside 1 to 10', 'several numbers', 'another scale', 'no number', 'refused']
    """
    return _phrases.read_reply(text, _read)


def parse_column(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Parse a column of replies: `value`, `reason`, `note` and `na`; each distinct reply is parsed once.

    Examples
    --------
    >>> parse_column(pl.DataFrame({"said": ["6 to 7", "11"]}), "said").rows()
    [(6.5, None, 'range', None), (None, 'outside 1 to 10', None, 'neither')]
    """
    return _phrases.parse_column(frame, text, parse)


def _read(text: str) -> Stated:
    if _ONE_ALONE.fullmatch(text):
        return Stated(LOW)
    text = _SCALE.sub(" ", text)
    if not any(c.isdigit() for c in text.replace(".5", "")):
        text = _WORD.sub(lambda m: m[1] if m[1] == "one" else f"{_WORDS.index(m[1])}{m[2] or ''}", text)
    text = _OF_TEN.sub("out of 10", text)
    of = {_value(match[1]) for match in _OF.finditer(text) if match[2] == "10"}
    other_scale = _OTHER.search(text) or any(match[2] != "10" for match in _OF.finditer(text))
    text = _OF.sub(lambda m: f"{m[1]} " if m[2] == "10" else " ", text)
    # "8/10" counts, whatever other numbers there are.
    numbers = {(low, high) for low, high in _numbers(text) if not of or low in of or high in of}
    if len(numbers) != 1:
        return missing(SEVERAL if numbers else OTHER_SCALE if other_scale else NO_NUMBER)
    low, high = numbers.pop()
    if not LOW <= low <= high <= HIGH:
        return missing(OUTSIDE)
    return Stated((low + high) / 2, note=RANGE if low < high else None)


def _numbers(text: str) -> Iterator[tuple[float, float]]:
    """Numbers and ranges of a text, as least and greatest."""
    matches = list(_PLAIN.finditer(text))
    index = 0
    while index < len(matches):
        low = high = _value(matches[index][1])
        if index + 1 < len(matches):
            end, upto = matches[index].end(), _value(matches[index + 1][1])
            between = _BETWEEN.fullmatch(text, end, matches[index + 1].start())
            if between and upto > low and (not between["and"] or _FROM.search(text, 0, matches[index].start())):
                high, index = upto, index + 1
        yield low, high
        index += 1


def _value(number: str) -> float:
    return float(number.replace(",", "."))
