"""Values in requests to servers and in their replies: JSON, counts, texts, names of parameters."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

_MOST_TOKENS = 2**32 - 1
"""More tokens than this are counted by nobody: such a number says that the reply is not to be trusted."""

_UNKNOWN = re.compile(
    r"(unsupported|unknown|unrecognized|unexpected|invalid) (request )?(parameter|argument|field|keyword)"
    r"|not supported|not permitted|not allowed|extra input",
    re.IGNORECASE,
)
"""How servers say that they don't know a parameter, as opposed to its value."""


def as_json(value: object) -> bytes:
    """Return a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def unknown_parameter(complaint: str, names: Iterable[str]) -> str | None:
    """Return the first of some parameters that a server says it does not know.

    Examples
    --------
    >>> unknown_parameter("HTTP 400: Unknown parameter: 'seed'.", ["size", "seed"])
    'seed'
    >>> unknown_parameter("HTTP 400: seed: Input should be at least 0", ["size", "seed"]) is None
    True
    """
    if not _UNKNOWN.search(complaint):
        return None
    return next((name for name in names if re.search(rf"\b{re.escape(name)}\b", complaint)), None)


def named_parameter(complaint: str, spellings: Mapping[str, Sequence[str]]) -> str | None:
    """Return the parameter that a complaint names first, whatever else it says of it.

    `spellings`: what servers call each parameter that was sent.

    Examples
    --------
    >>> names = {"temperature": ["temperature"], "top_p": ["top_p", "topP"]}
    >>> named_parameter("HTTP 400: `temperature` is deprecated for this model.", names)
    'temperature'
    >>> named_parameter("HTTP 400: got an unexpected keyword argument 'topP'", names)
    'top_p'
    >>> named_parameter("HTTP 400: the image is too large", names) is None
    True
    """
    places = {
        name: match.start()
        for name, words in spellings.items()
        if (match := re.search(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])", complaint, re.IGNORECASE))
    }
    return min(places, key=lambda name: places[name], default=None)


def writable(text: str | None) -> str | None:
    """Return a text without halves of surrogate pairs, which some servers cut a reply in and no file can hold."""
    return text if text is None or text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def count(value: object) -> int | None:
    """Return a count of tokens; None if it is no count.

    Raises
    ------
    ValueError
        No reply can have so many.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    if value > _MOST_TOKENS:
        raise ValueError("a count of tokens that no reply can have")
    return value
