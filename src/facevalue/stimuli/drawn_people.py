"""Drawn individuals for studies that show people doing something: portraits or Noto artwork in scenes."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from PIL import Image

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.drawn_signs import SIGNS
from facevalue.stimuli.noto.artwork import artwork, on_white
from facevalue.stimuli.noto.backdrops import BACKDROPS, FOREGROUNDS
from facevalue.stimuli.noto.colours import FEATURES, SKIN
from facevalue.stimuli.noto.drawings import DRAWINGS
from facevalue.stimuli.noto.people import person_svg
from facevalue.stimuli.noto.scenes import ACTIVITIES, NOT_DRAWN, scene_svg
from facevalue.stimuli.portraits import RENDERER_VERSION, Identity, PortraitCache, png
from facevalue.stimuli.portraits import shapes as portrait_shapes
from facevalue.stimuli.portraits.compose import VIEWS, layers
from facevalue.untrusted_files import records, shipped

# Drawn identities of VIGNETTE (Table 6): how each is drawn, and why the others are not.


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


SIZE = 512
"""Width and height of a picture in pixels."""
VERSION = 1
"""Raised whenever a change of code changes any picture; changes of the tables are noticed by themselves."""

PEOPLE: tuple[tuple[int, str, str], ...] = (
    (3, "monk-05", "medium"),
    (5, "monk-03", "medium-light"),
    (8, "monk-08", "dark"),
    (11, "monk-02", "light"),
    (14, "monk-06", "medium-dark"),
)
"""Who is drawn, one after the other: seed and skin tone of a portrait, and skin tone in the Noto artwork."""
# A wheelchair needs room, and the signs of age a near view; all of a dimension are drawn in one.
_VIEW = {"ability": (-290.0, 30.0, 580.0, 580.0), "age": (-190.0, 56.0, 380.0, 380.0)}
_KEEP = 64  # pictures that stay in memory: 0.75 MiB each


class DrawnPeople:
    """Draws one person per picture, alone or doing something.

    A picture is named "gender|dimension|identity|activity", with "|2" to "|5" behind it where it is not of the first of
    `PEOPLE`; no activity means a portrait. Within a dimension all are drawn in one style, and portraits of one number
    are of one and the same person but for the identity's own mark. PNGs are kept in a folder, named by content
    (`drawn.default_cache()`); without one the last few stay in memory.

    >>> people = DrawnPeople()
    >>> people.pixels("female|age|old|cooking").shape
    (512, 512, 3)
    >>> people.check(["male|age|ancient|cooking"])
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: Unknown identity of age 'ancient'. ...
    """

    kind = Kind.ILLUSTRATED

    def __init__(self, folder: Path | None = None) -> None:
        self._kept = PortraitCache(folder, SIZE)
        self._pixels = lru_cache(maxsize=_KEEP)(self._load)

    def digest(self, picture: str) -> str:
        """Return a hash of all that the picture depends on, without drawing it."""
        return _digest(_tables(), picture)

    def pixels(self, picture: str) -> npt.NDArray[np.uint8]:
        """Return a picture as an array of shape (512, 512, 3), red green blue, that cannot be written to."""
        return self._pixels(picture)

    def check(self, pictures: Iterable[str]) -> None:
        """Raise for the first picture that is not drawn: its name is unknown, or it is left out, with the reason."""
        for picture in dict.fromkeys(pictures):
            _split(picture)

    def _load(self, picture: str) -> npt.NDArray[np.uint8]:
        data = self._kept.picture(self.digest(picture), lambda: png(picture_svg(picture), SIZE))
        with Image.open(io.BytesIO(data)) as image:
            pixels = np.array(image.convert("RGB"), dtype=np.uint8)
        pixels.flags.writeable = False
        return pixels


@lru_cache(maxsize=65536)
def _digest(tables: str, picture: str) -> str:
    _split(picture)
    return blake2b(f"{tables}|{picture}".encode(), digest_size=20).hexdigest()


def picture_svg(picture: str) -> str:
    """Return a picture as an SVG document."""
    gender, dimension, identity, activity, number = _split(picture)
    look = LOOKS[dimension][identity]
    if look.occupation:
        person = person_svg(look.occupation, "man" if gender == "male" else "woman", PEOPLE[number][2])
    else:
        person = _portrait(look, look.gender or gender, number, _VIEW.get(dimension, VIEWS["portrait"]))
    if activity:
        return scene_svg(activity, person)
    return on_white(person, SIZE)


@lru_cache(maxsize=4096)
def _portrait(look: IdentityLook, gender: str, number: int, view: tuple[float, float, float, float]) -> str:
    seed, tone, _ = PEOPLE[number]
    identity = Identity("drawn", seed, gender, look.age, look.skin_tone or tone, look.build)
    behind, before = SIGNS[look.sign](identity) if look.sign else ((), ())
    person = [node for layer in layers(identity, look.change).values() for node in layer]
    return portrait_shapes.document([*behind, *person, *before], view, "#ffffff")


@lru_cache(maxsize=65536)
def _split(picture: str) -> tuple[str, str, str, str, int]:
    """Return the four parts of a picture's name, each known to be drawn, and the place of its person in `PEOPLE`."""
    fields = picture.split("|")
    numbers = [str(number) for number in range(1, len(PEOPLE) + 1)]
    if len(fields) not in (4, 5) or (len(fields) == 5 and fields[4] not in numbers):
        raise DataError(
            f"A drawn picture is named gender|dimension|identity|activity, with |1 to |{len(PEOPLE)} for one of "
            f"several people, not {picture!r}."
        )
    gender, dimension, identity, activity = fields[:4]
    number = numbers.index(fields[4]) if len(fields) == 5 else 0
    identities, missing = drawable(gender, dimension), left_out(gender, dimension)
    if identity in missing:
        raise DataError(f"There is no drawing of {identity!r} ({gender}, {dimension}): {missing[identity]}")
    if identity not in identities:
        raise UnknownNameError(f"identity of {dimension}", identity, identities)
    if activity in NOT_DRAWN:
        raise DataError(f"There is no drawing of {activity!r}: {NOT_DRAWN[activity]}")
    if activity and activity not in ACTIVITIES:
        raise UnknownNameError("drawn activity", activity, ACTIVITIES)
    return gender, dimension, identity, activity, number


@lru_cache(maxsize=1)
def _tables() -> str:
    """Return a hash of everything but code that any picture depends on."""
    tables = (artwork(), SKIN, FEATURES, BACKDROPS, FOREGROUNDS, DRAWINGS, ACTIVITIES, LOOKS)
    fixed = (VERSION, RENDERER_VERSION, SIZE, PEOPLE, _VIEW)
    text = "\x1e".join(repr(thing) for thing in (*fixed, *(sorted(table.items()) for table in tables)))
    return blake2b(text.encode(), digest_size=20).hexdigest()
