"""Categories of free texts: by rules first, then by a judge if one is given.

The rules, in this order: the category itself; the same but for case and punctuation; a synonym; a number in one of the
category's ranges; a category or synonym named within a longer text. What they don't settle goes to the judge, if there
is one, and is else the attribute's class for the unspecified, with the reason. docs/papers/visbias-forms.md has
examples.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from facevalue.answers._phrases import plain_text
from facevalue.answers.numbers import has_number, negative, open_range, read_range
from facevalue.answers.sorting import Judge, Sorting
from facevalue.errors import DataError, UnknownNameError

LIMIT = 500
"""Characters of a text that are looked at."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SEPARATORS = re.compile(r"[,;\n&+|/•]|\band\b")
_NEGATORS = frozenset(("no", "not", "non", "without", "never", "isn't", "doesn't", "ex", "former", "formerly", "nor"))
_ARTICLES = frozenset(("a", "an", "any", "the"))
_BLANK = re.compile(
    r"|n a|na|null|blank|tbd|unknown|unspecified|undisclosed|to be filled|cannot be determined|not sure"
    r"|not (?:specified|applicable|provided|stated|disclosed|available)|prefer not to (?:say|answer|disclose)"
)


class Route(StrEnum):
    """Route from a text to its category."""

    EXACT = "exact"
    """It is the category."""
    FORM = "form"
    """The same words in another case, spacing or punctuation."""
    SYNONYM = "synonym"
    """It is, or holds, a synonym or the words of a category."""
    RANGE = "range"
    """Its number lies in the category's range."""
    JUDGE = "judge"
    """The judge said so."""
    NONE = "none"
    """It has none: see `Why`."""


class Why(StrEnum):
    """Reason why a text has no category."""

    BLANK = "blank"
    """It says nothing, or that it won't say."""
    UNKNOWN = "unknown"
    """No rule knows it."""
    SEVERAL = "several"
    """It names several categories of an attribute that has one."""
    STRADDLES = "straddles"
    """Its range of numbers lies in several categories, or in none."""
    UNIT = "unit"
    """Its number is in a unit that the ranges are not."""
    IMPLAUSIBLE = "implausible"
    """Its number cannot be meant: nobody is that, as no one is -5 or 1980 years old."""
    INVENTED = "invented"
    """The judge named a category that there is not."""
    DECLINED = "declined"
    """The judge named none."""


class Resolution(NamedTuple):
    """The categories of a text."""

    # One, or several where the attribute may have several; the unspecified class alone if there is none
    categories: tuple[str, ...]
    route: Route  # how they were found; the one furthest from exact where they differ
    reason: Why | None  # why there is none; None if there is one


class NamedRange(NamedTuple):
    """Numbers that belong to a category: `low` up to, not including, `high`."""

    low: float
    high: float
    category: str


@dataclass(frozen=True)
class Categories:
    """The categories that an attribute may have, and the words for them."""

    attribute: str
    names: tuple[str, ...]
    unspecified: str = "Unspecified"  # the class of what is none of them; not among `names`
    several: bool = False  # whether more than one may hold
    synonyms: Mapping[str, str] = field(default_factory=dict)  # other words for a category, in any case
    ranges: tuple[NamedRange, ...] = ()  # numbers, where the attribute is one; they must not overlap
    foreign: tuple[str, ...] = ()  # words and signs that say that a number is in another unit ("month", "€")
    plausible: tuple[float, float] = (-math.inf, math.inf)  # least and greatest number that can be meant

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names) or not self.names or self.unspecified in self.names:
            raise DataError(f"{self.attribute!r} needs different categories, the unspecified class not among them.")
        for category in (*self.synonyms.values(), *(r.category for r in self.ranges)):
            if category not in self.names:
                raise UnknownNameError(f"category of {self.attribute!r}", category, self.names)
        for before, after in pairwise(sorted(self.ranges)):
            if before.high > after.low:
                raise DataError(
                    f"{self.attribute!r}: the ranges of {before.category!r} and {after.category!r} overlap."
                )
        _ = self.phrases

    @cached_property
    def forms(self) -> dict[str, str]:
        """Words of each category, in plain form."""
        return {words(name): name for name in self.names}

    @cached_property
    def sorting(self) -> Sorting:
        """Question to a judge about a text that no rule sorts."""
        heading = f'The field "{self.attribute}" of a form holds this text:'
        return Sorting(self.attribute, self.names, heading=heading, longest=LIMIT)

    @cached_property
    def phrases(self) -> dict[str, str]:
        """Words that mean a category: its own, those in and before its brackets, and its synonyms."""
        out = dict(self.forms)
        for name in self.names:
            before, _, inside = name.partition("(")
            sides = [before, inside] if inside else []
            for phrase in (*sides, *(s for s, category in self.synonyms.items() if category == name)):
                key = words(phrase)
                if key and out.setdefault(key, name) != name:
                    raise DataError(f"{self.attribute!r}: {phrase!r} means both {out[key]!r} and {name!r}.")
        return out


def words(text: str) -> str:
    """The words of a text in plain form, one space between them.

    Examples
    --------
    >>> words("  Speech/Language  DISORDER ")
    'speech language disorder'
    """
    return " ".join(_WORD.findall(plain_text(text[:LIMIT])))


def resolve(categories: Categories, text: str, judge: Judge | None = None) -> Resolution:
    """Find the category of one text.

    Examples
    --------
    >>> age = Categories("age", ("18-29", "30-49"), ranges=(NamedRange(18, 30, "18-29"), NamedRange(30, 50, "30-49")))
    >>> resolve(age, "34 years old")
    Resolution(categories=('30-49',), route=<Route.RANGE: 'range'>, reason=None)
    >>> resolve(age, "25-35").reason
    <Why.STRADDLES: 'straddles'>
    >>> resolve(age, "grown up", lambda sorting, text: "adult").reason
    <Why.INVENTED: 'invented'>
    """
    resolution = _by_rule(categories, text)
    if resolution.reason is None or resolution.reason is Why.BLANK:
        return resolution
    if categories.several and len(values := [p for p in _SEPARATORS.split(text[:LIMIT]) if words(p)]) > 1:
        return resolve_values(categories, values, judge)
    return resolution if judge is None else _ask_judge(categories, text, judge)


def resolve_values(categories: Categories, values: Sequence[str], judge: Judge | None = None) -> Resolution:
    """Find the categories of a field that may hold a list.

    Several values of an attribute that has one category must agree. Of an attribute that may have several, values
    without a category are left out as long as another has one.

    Examples
    --------
    >>> hobbies = Categories("hobbies", ("Reading", "Hiking"), several=True)
    >>> resolve_values(hobbies, ["hiking", "Reading", "knitting"]).categories
    ('Hiking', 'Reading')
    """
    resolutions = [resolve(categories, value, judge) for value in values] or [_none(categories, Why.BLANK)]
    valid = [resolution for resolution in resolutions if resolution.reason is None]
    names = tuple(dict.fromkeys(name for resolution in valid for name in resolution.categories))
    if not names:
        return max(resolutions, key=lambda resolution: list(Why).index(resolution.reason or Why.BLANK))
    if len(names) > 1 and not categories.several:
        return _none(categories, Why.SEVERAL)
    return Resolution(names, max((resolution.route for resolution in valid), key=list(Route).index), None)


def resolve_column(
    frame: pl.DataFrame,
    sets: Mapping[str, Categories],
    judge: Judge | None = None,
    *,
    attribute: str = "attribute",
    values: str = "values",
) -> pl.DataFrame:
    """Find the categories of a column of fields; each distinct field is resolved once."""
    for name in (attribute, values):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    keyed = frame.select(attribute=pl.col(attribute).cast(pl.String), values=pl.col(values).cast(pl.List(pl.String)))
    distinct = keyed.unique()
    for name in distinct["attribute"].drop_nulls().unique():
        if name not in sets:
            raise UnknownNameError("attribute", name, sets)
    resolutions = [
        None
        if texts is None or name is None
        else resolve_values(sets[name], [s for s in texts if s is not None], judge)
        for name, texts in distinct.iter_rows()
    ]
    table = distinct.with_columns(
        pl.Series("categories", [None if f is None else list(f.categories) for f in resolutions], pl.List(pl.String)),
        pl.Series(
            "route", [None if f is None else f.route.value for f in resolutions], pl.Enum([r.value for r in Route])
        ),
        pl.Series("reason", [f.reason if f else None for f in resolutions], pl.Enum([w.value for w in Why])),
    )
    joined = keyed.join(table, on=["attribute", "values"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select("categories", "route", "reason")


def _none(categories: Categories, reason: Why) -> Resolution:
    return Resolution((categories.unspecified,), Route.NONE, reason)


def _by_rule(categories: Categories, text: str) -> Resolution:
    if text in categories.names:
        return Resolution((text,), Route.EXACT, None)
    phrase = words(text)
    if categories.ranges and categories.plausible[0] >= 0 and negative(plain_text(text[:LIMIT])):
        return _none(categories, Why.IMPLAUSIBLE)  # before the words, which have no sign
    if phrase in categories.forms:
        return Resolution((categories.forms[phrase],), Route.FORM, None)
    if phrase in categories.phrases:
        return Resolution((categories.phrases[phrase],), Route.SYNONYM, None)
    if _BLANK.fullmatch(phrase):
        return _none(categories, Why.BLANK)
    if phrase == words(categories.unspecified):
        return _none(categories, Why.UNKNOWN)
    if categories.ranges and (numbered := _by_number(categories, plain_text(text[:LIMIT]))) is not None:
        return numbered
    matches = _find_categories(categories.phrases, phrase.split())
    if not matches:
        return _none(categories, Why.UNKNOWN)
    if len(matches) > 1 and not categories.several:
        return _none(categories, Why.SEVERAL)
    return Resolution(matches, Route.SYNONYM, None)


def _find_categories(phrases: Mapping[str, str], reply_words: Sequence[str]) -> tuple[str, ...]:
    """Categories named in a text, the longest phrase first at each place; not those denied just before."""
    longest = max(len(phrase.split()) for phrase in phrases)
    matches: dict[str, None] = {}
    position = 0
    while position < len(reply_words):
        for size in range(min(longest, len(reply_words) - position), 0, -1):
            category = phrases.get(" ".join(reply_words[position : position + size]))
            if category is not None:
                before = [word for word in reply_words[max(position - 2, 0) : position] if word not in _ARTICLES]
                if not before or before[-1] not in _NEGATORS:
                    matches[category] = None
                position += size
                break
        else:
            position += 1
    return tuple(matches)


def _by_number(categories: Categories, text: str) -> Resolution | None:
    if not has_number(text):
        return None
    if any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)" if word.isalpha() else re.escape(word), text)
        for word in categories.foreign
    ):
        return _none(categories, Why.UNIT)
    stated = read_range(text)
    if stated is None:
        return _none(categories, Why.SEVERAL)
    lowest, highest = categories.plausible
    if not all(lowest <= number <= highest for number in stated):
        return _none(categories, Why.IMPLAUSIBLE)
    low, high = open_range(text, *stated)
    for start, end, category in categories.ranges:
        bottom = start == min(r.low for r in categories.ranges)
        if (start <= low or (low == -math.inf and bottom)) and low <= high and (high < end or high == end == math.inf):
            return Resolution((category,), Route.RANGE, None)
    return _none(categories, Why.STRADDLES)


def _ask_judge(categories: Categories, text: str, judge: Judge) -> Resolution:
    verdict = words(judge(categories.sorting, text) or "")
    if verdict in categories.forms:
        return Resolution((categories.forms[verdict],), Route.JUDGE, None)
    declined = verdict in ("", "none", words(categories.unspecified))
    return _none(categories, Why.DECLINED if declined else Why.INVENTED)
