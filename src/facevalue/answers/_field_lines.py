"""Fields of a form in a reply that is written line by line: `Age: 34`, as text or as a Markdown list."""

import re
from collections.abc import Mapping

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


def folded(key: str) -> str:
    """A key without case and punctuation.

    Examples
    --------
    >>> folded("Race/Ethnicity: ")
    'raceethnicity'
    """
    return _KEY.sub("", key.casefold())


def pairs(
    text: str, fields_by_key: Mapping[str, str], fields: int, *, cut: bool, filled_least: int = LEAST
) -> list[tuple[str, list[str]]]:
    r"""Keys and values of a reply that is a form in lines; none of any other.

    A line is a key, a colon and a value; an empty value may be followed by a list of values. The reply is a form if
    `filled_least` fields have a value under their own names. Where the rest of it declines, more than half of the
    fields must.

    Examples
    --------
    >>> known = {"age": "age", "hobbies": "hobbies"}
    >>> pairs("Here you are:\n- **Age:** 34\n- **Hobbies**:\n  - Chess\n  - Hiking", known, 2, cut=False)
    [('Age', ['34']), ('Hobbies', ['Chess', 'Hiking'])]
    >>> pairs("About the age: I would guess 34.", known, 2, cut=False)
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
        field = fields_by_key.get(folded(key)) if after and len(value) <= LONGEST else None
        if field is not None:
            values = [value] if value else []
            entries.append((key, values))
            listing = None if value else values
            if any(c.isalnum() for c in value):
                filled.add(field)
        elif listing is not None and mark and not after and len(body) <= LONGEST:
            listing.append(body.strip(f"{_AROUND},"))
            filled.add(fields_by_key[folded(entries[-1][0])])
        else:
            listing = None
            rest.append(body)
            if value and len(key) <= _SHORT and len(value) <= LONGEST:
                entries.append((key, [value]))
    declines = REFUSES.search("\n".join(rest).casefold()) is not None
    enough = len(filled) >= min(filled_least, fields) and (not declines or 2 * len(filled) > fields)
    return entries if enough else []
