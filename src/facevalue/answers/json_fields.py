"""Fields of a form in a reply that should be a JSON object.

Replies put the object in a fence or in prose, rename its keys, nest it, leave trailing commas or break off, or write
lines such as `Age: 34` instead. Whatever can be read without guessing is read: each field comes out as its values, as
missing, or as doubled (given twice, differently). Nothing in a reply is run; its length, depth and number of values are
bounded.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from typing import Any

import polars as pl

from facevalue.answers.base import NA, NA_DTYPE, UNREAD, statuses, unread
from facevalue.errors import DataError, UnknownNameError
from facevalue.thinking import after_thinking
from facevalue.types import Status

# Fields of a form in a reply that is written line by line: `Age: 34`, as text or as a Markdown list.


LONGEST = 120
"""Characters of a value on a line; what is longer is prose."""
LEAST = 2
"""Different fields that must have a value, of forms with more than one: a single line with a colon is prose."""
REFUSES = re.compile(
    r"\b(?:sorry|can't|cannot|can not|unable to|won't|will not|not able to|not comfortable|decline|as an ai)\b"
)
_MARK = re.compile(r"(?:(?:[-*+•>#]+|\d{1,2}[.)])\s+){1,3}")
_COLON = re.compile("[:\uff1a]")
_AROUND = " \t*_`\"'"
_KEY = re.compile(r"[^a-z0-9]+")
_SHORT = 40  # characters of a key that is no field


def folded_key(key: str) -> str:
    """A key without case and punctuation.

    Examples
    --------
    >>> folded_key("Race/Ethnicity: ")
    'raceethnicity'
    """
    return _KEY.sub("", key.casefold())


def pairs_in_lines(
    text: str, fields_by_key: Mapping[str, str], fields: int, *, cut: bool, filled_least: int = LEAST
) -> list[tuple[str, list[str]]]:
    r"""Keys and values of a reply that is a form in lines; none of any other.

    A line is a key, a colon and a value; an empty value may be followed by a list of values. The reply is a form if
    `filled_least` fields have a value under their own names. Where the rest of it declines, more than half of the
    fields must.

    Examples
    --------
    >>> known = {"age": "age", "hobbies": "hobbies"}
    >>> pairs_in_lines("Here you are:\n- **Age:** 34\n- **Hobbies**:\n  - Chess\n  - Hiking", known, 2, cut=False)
    [('Age', ['34']), ('Hobbies', ['Chess', 'Hiking'])]
    >>> pairs_in_lines("About the age: I would guess 34.", known, 2, cut=False)
    []
    """
    lines = text.splitlines()
    entries: list[tuple[str, list[str]]] = []
    rest: list[str] = []
    filled: set[str] = set()
    listing: list[str] | None = None
    for line in lines[:-1] if cut else lines:
        mark = _MARK.match(line.strip())
        body = line.strip()[mark.end() if mark else 0 :]
        if not body:
            continue
        key, *after = _COLON.split(body, maxsplit=1)
        key, value = key.strip(_AROUND), after[0].strip(f"{_AROUND},") if after else ""
        field = fields_by_key.get(folded_key(key)) if after and len(value) <= LONGEST else None
        if field is not None:
            values = [value] if value else []
            entries.append((key, values))
            listing = None if value else values
            if any(c.isalnum() for c in value):
                filled.add(field)
        elif listing is not None and mark and not after and len(body) <= LONGEST:
            listing.append(body.strip(f"{_AROUND},"))
            filled.add(fields_by_key[folded_key(entries[-1][0])])
        else:
            listing = None
            rest.append(body)
            if value and len(key) <= _SHORT and len(value) <= LONGEST:
                entries.append((key, [value]))
    declines = REFUSES.search("\n".join(rest).casefold()) is not None
    enough = len(filled) >= min(filled_least, fields) and (not declines or 2 * len(filled) > fields)
    return entries if enough else []


LIMIT = 20_000
"""Characters of a reply that are looked at."""
DEPTH = 8
"""Maximum nesting of objects and lists; what is deeper is not read."""
VALUES = 50
"""Values of one field that are kept."""
LENGTH = 500
"""Characters of one value that are kept."""
NEAR = 0.8
"""Least similarity (difflib's ratio) of a key to the name it is taken for."""

_MISSPELT = (4, 40)  # letters of a key that may be misspelt
_PLAIN_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|,(?=\s*[}\]])', re.DOTALL)
_PAIR = re.compile(r'"([^"\\\n]{1,80})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|-?[\d.]+|true|false|null)(?=\s*[,}\n])')


class State(StrEnum):
    """State of a field in a reply."""

    VALUE = "value"
    """It has values."""
    MISSING = "missing"
    """The reply doesn't have it, or leaves it empty."""
    DOUBLED = "doubled"
    """The reply gives it twice, and not the same."""


class Read(StrEnum):
    """Route from a reply's text to its fields."""

    JSON = "json"
    """From valid JSON."""
    BROKEN = "broken"
    """Pair by pair from JSON that is not valid."""
    LINES = "lines"
    """From lines of a key, a colon and a value, as there was no field in any JSON."""


@dataclass(frozen=True, slots=True)
class ReplyField:
    """A field of a reply."""

    state: State
    values: tuple[str, ...] = ()  # its values as texts; empty unless `state` is `VALUE`
    key: str | None = None  # the key under which the reply has it; None if missing


@dataclass(frozen=True, slots=True)
class ReplyFields:
    """A parsed reply."""

    fields: Mapping[str, ReplyField]  # every field that was asked for, by its name
    unknown: tuple[str, ...] = ()  # keys of the reply that are no field
    read: Read | None = None  # how they were read; None if there is no field at all
    reason: NA | None = None  # why there is none; None if there is one


Names = Mapping[str, Sequence[str]]
"""The fields asked for: name -> the keys that replies may call it by. The name itself always is one."""


def parse(text: str, names: Names, *, truncated: bool = False, lines_least: int = LEAST) -> ReplyFields:
    """Read the fields of a reply; one in lines has at least `lines_least` of them.

    Examples
    --------
    >>> names = {"age": ["Age"], "hobbies": ["Hobbies/Interests"]}
    >>> found = parse('Here: ```json {"AGE": 34, "Hobbies": ["Reading", "Hiking",],}``` Done.', names)
    >>> found.fields["age"].values, found.fields["hobbies"].values, found.read
    (('34',), ('Reading', 'Hiking'), <Read.JSON: 'json'>)
    >>> parse('{"Age": "34", "Age": "18"}', names).fields["age"].state
    <State.DOUBLED: 'doubled'>
    >>> parse("I'm sorry, I can't fill that in.", names).reason
    <NA.REFUSED: 'refused'>
    """
    fields_by_key = _field_keys(tuple((name, tuple(keys)) for name, keys in names.items()))
    reply = after_thinking(text)
    reply = reply[:LIMIT].translate(_PLAIN_QUOTES)
    pairs, broken = _pairs(reply)
    fields, unknown = _gather_fields(pairs, fields_by_key, names)
    if _has_any_field(fields):
        return ReplyFields(fields, unknown, Read.BROKEN if broken else Read.JSON)
    cut = truncated or len(reply) == LIMIT
    lines = [] if pairs else pairs_in_lines(reply, fields_by_key, len(names), cut=cut, filled_least=lines_least)
    if lines:
        fields, unknown = _gather_fields(lines, fields_by_key, names)
        return ReplyFields(fields, unknown, Read.LINES)
    return ReplyFields(fields, unknown, None, _reason(reply, cut))


def _gather_fields(
    pairs: Sequence[tuple[str, Any]], fields_by_key: Mapping[str, str], names: Names
) -> tuple[dict[str, ReplyField], tuple[str, ...]]:
    """The fields that pairs of keys and values give, and the keys that are none."""
    entries: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    unknown: dict[str, None] = {}
    for key, value in pairs:
        name = _find_field(key, fields_by_key)
        if name is not None:
            entries.setdefault(name, []).append((key, _texts(value)))
        elif isinstance(value, _Object | list) and (inner := list(_inside(value))):
            for inner_key, deeper in inner:
                name = _find_field(inner_key, fields_by_key)
                if name is None:
                    unknown[inner_key[:LENGTH]] = None
                else:
                    entries.setdefault(name, []).append((inner_key, _texts(deeper)))
        else:
            unknown[key[:LENGTH]] = None
    return {name: _field(entries.get(name, [])) for name in names}, tuple(unknown)


def _has_any_field(fields: Mapping[str, ReplyField]) -> bool:
    return any(field.state is not State.MISSING for field in fields.values())


def parse_column(frame: pl.DataFrame, text: str, names: Names) -> pl.DataFrame:
    """Read a column of forms; each distinct reply is read once."""
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)
    keyed = frame.select(reply=pl.col(text).cast(pl.String), status=statuses(frame))
    distinct = keyed.unique()
    rows = []
    for reply, state in distinct.iter_rows():
        if reply is None or state in UNREAD:
            parsed = ReplyFields(dict.fromkeys(names, ReplyField(State.MISSING)), reason=unread(state))
        else:
            parsed = parse(reply, names, truncated=state == Status.TRUNCATED)
        rows += [
            (reply, state, index, name, f.state, list(f.values) or None, f.key, parsed.read, parsed.reason)
            for index, (name, f) in enumerate(parsed.fields.items())
        ]
    schema: dict[str, Any] = {
        **dict.fromkeys(("reply", "status"), pl.String),
        "at": pl.Int64,
        "attribute": pl.String,
        "state": pl.Enum([state.value for state in State]),
        "values": pl.List(pl.String),
        "key": pl.String,
        "read": pl.Enum([route.value for route in Read]),
        "na": NA_DTYPE,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    joined = keyed.with_row_index("row").join(table, on=["reply", "status"], nulls_equal=True, how="inner")
    return joined.sort("row", "at").drop("reply", "status", "at")


class _Object:
    """The pairs of an object, with repeated keys as they stand."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _pairs(text: str) -> tuple[list[tuple[str, Any]], bool]:
    """Key-value pairs of the objects at the top of a text, and whether any had to be picked out of broken JSON."""
    out: list[tuple[str, Any]] = []
    broken = False
    for piece, balanced in _pieces(text):
        content = None
        if balanced:
            try:
                content = json.loads(
                    piece,
                    strict=False,  # line breaks within strings
                    object_pairs_hook=_Object,
                    parse_int=str,
                    parse_float=str,
                    parse_constant=str,
                )
            except ValueError:
                content = None
        if content is None:
            picked = _PAIR.findall(piece)
            broken |= bool(picked)
            out += [(key, _scalar(value)) for key, value in picked]
        else:
            out += list(_inside(content)) if isinstance(content, list) else content.pairs
    return out, broken


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Each balanced object or list of a text, without trailing commas; what is never closed or too deep comes as it is.

    The second of each says whether it is balanced.
    """
    fragments: list[str] = []
    depth = deepest = start = 0
    last = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if depth == 0 and sign not in "{[":
            continue
        if sign in "{[":
            if depth == 0:
                start = last = token.start()
                fragments, deepest = [], 0
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                piece = "".join(fragments) + text[last : token.end()]
                if "{" in piece:
                    yield (piece, True) if deepest <= DEPTH else (text[start : token.end()], False)
                last = token.end()
        elif sign == ",":
            fragments.append(text[last : token.start()])
            last = token.end()
    if depth:
        yield text[start:], False


def _scalar(literal: str) -> Any:
    try:
        return json.loads(literal, strict=False, parse_int=str, parse_float=str, parse_constant=str)
    except ValueError:
        return literal.strip('[]"')


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    """The pairs of objects within a value whose keys were no field, at any depth."""
    if isinstance(value, _Object):
        for key, inner in value.pairs:
            deeper = list(_inside(inner)) if isinstance(inner, _Object) else []
            yield from deeper or [(key, inner)]
    elif isinstance(value, list):
        for inner in value:
            yield from _inside(inner)


def _texts(value: Any) -> tuple[str, ...]:
    """A value as texts; nothing for null and blanks."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(text for inner in value[:VALUES] for text in _texts(inner))[:VALUES]
    if isinstance(value, _Object):
        return tuple(text for _, inner in value.pairs[:VALUES] for text in _texts(inner))[:VALUES]
    text = {True: "Yes", False: "No"}[value] if isinstance(value, bool) else str(value).strip()[:LENGTH]
    text = text.encode(errors="replace").decode()  # half a surrogate pair is no text
    return (text,) if text else ()


def _field(entries: Sequence[tuple[str, tuple[str, ...]]]) -> ReplyField:
    filled = [(key, values) for key, values in entries if values]
    if not filled:
        return ReplyField(State.MISSING)
    key, values = filled[0]
    if any(sorted(map(_value_key, more)) != sorted(map(_value_key, values)) for _, more in filled[1:]):
        return ReplyField(State.DOUBLED, (), key)
    return ReplyField(State.VALUE, values, key)


def _value_key(text: str) -> str:
    """Key by which two values count as the same one."""
    return folded_key(text) or text


@lru_cache(maxsize=64)
def _field_keys(names: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, str]:
    """Every plain form of a key, and the field it stands for."""
    out: dict[str, str] = {}
    for name, keys in names:
        for key in (name, *keys):
            if out.setdefault(folded_key(key), name) != name:
                raise DataError(f"The key {key!r} stands for two fields, {out[folded_key(key)]!r} and {name!r}.")
    for name, keys in names:  # "Race" for "Race/Ethnicity", where that says no other field
        for short in {short for key in keys for short in key.split("/") if "/" in key}:
            out.setdefault(folded_key(short), name)
    out.pop("", None)
    return out


def _find_field(key: str, fields_by_key: Mapping[str, str]) -> str | None:
    """The field that a key stands for: itself in any case and punctuation, else the nearest that is near enough."""
    plain = folded_key(key)
    if plain in fields_by_key or not _MISSPELT[0] <= len(plain) <= _MISSPELT[1]:
        return fields_by_key.get(plain)
    scored = [(SequenceMatcher(None, plain, form).ratio(), name) for form, name in fields_by_key.items()]
    best = max(score for score, _ in scored)
    near = {name for score, name in scored if score == best}
    return near.pop() if best >= NEAR and len(near) == 1 else None


def _reason(reply: str, cut: bool) -> NA:
    if REFUSES.search(reply.casefold()):
        return NA.REFUSED
    if cut:
        return NA.TRUNCATED
    return NA.NEITHER if any(c.isalnum() for c in reply) else NA.EMPTY
