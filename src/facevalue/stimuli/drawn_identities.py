"""Drawn identities of VIGNETTE (Table 6): how each is drawn, and why the others are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from facevalue.errors import UnknownNameError
from facevalue.given import records, shipped

GENDERS: tuple[str, ...] = ("male", "female")


@dataclass(frozen=True, slots=True)
class IdentityLook:
    """Differences of an identity from the base person of its gender.

    `change` is an attribute of a portrait and its value; `gender` the one drawn, where the identity is one; `sign` a
    name in `drawn_signs.SIGNS`; `occupation` one of the Noto artwork, and then nothing else is set. Drawn for `genders`
    only.
    """

    change: tuple[str, str] | None = None
    age: str = "young"
    skin_tone: str = ""
    build: str = "normal"
    gender: str = ""
    sign: str = ""
    occupation: str = ""
    genders: tuple[str, ...] = GENDERS


_TABLES = shipped(__package__, "drawn_identities.toml")

LOOKS: Mapping[str, Mapping[str, IdentityLook]] = MappingProxyType(
    {
        dimension: dict(zip(looks, records(IdentityLook, looks.values()), strict=True))
        for dimension, looks in _TABLES["looks"].items()
    }
)
"""What is drawn: per dimension, in the order of Table 6, the look of each identity."""

LEFT_OUT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        dimension: {name: reason for reason, names in reasons.items() for name in names}
        for dimension, reasons in _TABLES["left_out"].items()
    }
)
"""What is not drawn, with the reason. Where an identity is in `LOOKS` too, this holds for the other gender."""

_MALE_ONLY = ("handsome", "bearded", "clean-shaven")
"""Physical traits that Table 6 has for men alone."""


@cache
def drawable(gender: str, dimension: str) -> tuple[str, ...]:
    """Return the identities of a dimension that are drawn.

    Both identities of the dimension gender stand under "male", as in Table 8.
    """
    if gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    if dimension not in LOOKS:
        raise UnknownNameError("dimension", dimension, LOOKS)
    return tuple(name for name, look in LOOKS[dimension].items() if gender in look.genders)


def left_out(gender: str, dimension: str) -> Mapping[str, str]:
    """Return the identities of Table 6 that are not drawn, each with a sentence that says why."""
    drawable_names = drawable(gender, dimension)
    return {
        name: reason
        for name, reason in LEFT_OUT[dimension].items()
        if name not in drawable_names and not (gender == "female" and name in _MALE_ONLY)
    }
