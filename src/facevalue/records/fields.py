"""Fields of strangers' JSON, each looked at before it is believed."""

from collections.abc import Mapping
from typing import Any

from facevalue.checked_replies import LONGEST
from facevalue.errors import DataError
from facevalue.printable import short

_MOST_TOKENS = 2**32 - 1
_SLOWEST = 1e12


def checked_dict(value: object, place: str) -> Mapping[str, Any]:
    """Return an object with names and values."""
    if not isinstance(value, Mapping):
        raise DataError(f"{place} is {short(value)}, not an object with names and values.")
    return value


def checked_list(value: object, place: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise DataError(f"{place} is {short(value)}, not a list.")
    return value


def text_of(value: object) -> str | None:
    """A text of bounded length; None for anything else."""
    return value if isinstance(value, str) and len(value) <= LONGEST else None


def count_of(value: object) -> int | None:
    """A number of tokens; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def milliseconds(time: object) -> float:
    """A time in seconds as milliseconds; 0 for what is no time."""
    if not isinstance(time, int | float) or isinstance(time, bool) or not 0 <= time <= _SLOWEST:
        return 0.0
    return float(time) * 1000
