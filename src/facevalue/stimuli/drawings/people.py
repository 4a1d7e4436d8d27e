"""Drawn individuals for studies that show people doing something: portraits or Noto artwork in scenes, with signs.

Each sign is what lies behind the person and what lies before, so that the person stays as they are.
"""

import io
from collections.abc import Callable, Iterable, Mapping
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
from facevalue.stimuli.noto.artwork import FEATURES, SKIN, artwork, on_white, person_svg
from facevalue.stimuli.noto.backdrops import BACKDROPS, FOREGROUNDS
from facevalue.stimuli.noto.scenes import ACTIVITIES, DRAWINGS, NOT_DRAWN, scene_svg
from facevalue.stimuli.portraits import RENDERER_VERSION, PortraitCache, png
from facevalue.stimuli.portraits import shapes as portrait_shapes
from facevalue.stimuli.portraits import shapes as s
from facevalue.stimuli.portraits.anatomy import body, head, scale
from facevalue.stimuli.portraits.composition import VIEWS, layers
from facevalue.stimuli.portraits.levels import Identity
from facevalue.untrusted_files import records, shipped

Sign = tuple[s.Nodes, s.Nodes]
"""What is drawn behind the person, and what before."""


def wheelchair(identity: Identity) -> Sign:
    """Return a manual wheelchair seen from the front: grips, back rest, wheels and arm rests."""
    b = body(identity)
    x, frame, tyre = b.shoulder + 38, "#5f6b75", "#2d3338"
    spokes = "".join(
        s.poly([(x, 520), (x + dx, 520 + dy)], closed=False)
        for dx, dy in ((0, 150), (0, -150), (34, 96), (-34, 96), (34, -96), (-34, -96))
    )
    back = s.contour(
        s.outline([(-b.chest - 26, 430), (b.chest + 26, 430)], [(b.chest + 26, 720), (-b.chest - 26, 720)]),
        "#39424a",
        "#22282d",
        3,
    )
    behind = (
        back,
        *s.mirror(
            s.line(s.curve([(b.chest + 20, 640), (b.chest + 20, 392), (b.chest + 58, 372)]), frame, 13),
            s.line(s.curve([(b.shoulder - 2, 372), (b.shoulder + 44, 364)]), tyre, 21),
            s.line(s.curve([(b.chest + 40, 374), (b.shoulder + 2, 370)]), frame, 13),
        ),
    )
    before = s.mirror(
        s.line(s.oval(x, 520, 48, 150), tyre, 13),
        s.line(s.oval(x, 520, 38, 132), "#aeb8c0", 5),
        s.line(spokes, "#8b969f", 2.5),
        s.disc(x, 520, 9, frame),
    )
    return behind, before


def white_cane(identity: Identity) -> Sign:
    """Return a white cane, held upright beside the person: black grip with a loop, red band."""
    x = body(identity).shoulder + 40
    stick = [(x, 350.0), (x + 14, 640.0)]
    return (), (
        s.line(s.oval(x - 8, 388, 12, 32), "#22262a", 4),
        s.line(s.poly(stick, closed=False), "#6d757c", 19),
        s.line(s.poly(stick, closed=False), "#ffffff", 14),
        s.line(s.poly([(x + 6, 500), (x + 9, 570)], closed=False), "#d2312d", 14),
        s.line(s.poly([(x, 330), (x + 3.5, 408)], closed=False), "#22262a", 21),
    )


def turban(identity: Identity) -> Sign:
    """Return a turban: two sides of folds that meet above the forehead."""
    t = head(identity).temple
    cloth = "#35618e"
    dark, light = scale(cloth, 0.66), "#5682ad"
    crown = s.symmetric_outline(
        [(0, 28), (t * 0.6, 34), (t + 14, 74), (t + 23, 130), (t + 13, 186)], [(t + 13, 186), (t * 0.6, 164), (0, 132)]
    )
    folds = [
        s.curve([(-t - 20, 112 + 22 * i), (-t * 0.3, 106 + 9 * i), (t * 0.2 - 6 * i, 62 + 18 * i)]) for i in range(4)
    ]
    right = [s.curve([(t + 20, 104 + 22 * i), (t * 0.62, 78 + 17 * i), (10, 46 + 22 * i)]) for i in range(4)]
    return (), (
        s.contour(crown, cloth, dark, 2.4),
        *[s.line(d, dark, 2.6, 0.75) for d in (*folds, *right)],
        s.line(s.curve([(-t * 0.5, 48), (0, 38), (t * 0.5, 48)]), light, 3, 0.7),
        s.line(s.curve([(-t - 13, 186), (-t * 0.6, 164), (0, 132), (t * 0.6, 164), (t + 13, 186)]), dark, 3),
    )


def skullcap(identity: Identity) -> Sign:
    """Return a small round cap on the crown of the head."""
    t = head(identity).temple
    cap = s.outline(
        [(-t * 0.62, 98), (-t * 0.4, 76), (0, 68), (t * 0.4, 76), (t * 0.62, 98)],
        [(t * 0.62, 98), (0, 84), (-t * 0.62, 98)],
    )
    return (), (
        s.contour(cap, "#2c5a8c", "#16304d", 2.4),
        s.line(s.curve([(-t * 0.56, 92), (0, 79), (t * 0.56, 92)]), "#dfe8f2", 3.2),
    )


def cross(identity: Identity) -> Sign:
    """Return a cross on a thin chain, over the shirt."""
    neck = body(identity).neck
    chain = s.curve([(-neck * 0.8, 362), (-neck * 0.5, 392), (0, 404), (neck * 0.5, 392), (neck * 0.8, 362)])
    bars = [(-5, 402), (5, 402), (5, 415), (18, 415), (18, 425), (5, 425), (5, 456)]
    cross_ = s.poly([*bars, *[(-x, y) for x, y in reversed(bars)]])
    return (), (
        s.line(chain, "#8d6d1d", 3.4),
        s.line(chain, "#e0bd55", 1.6),
        s.contour(cross_, "#e6c35c", "#7a5c14", 2),
    )


SIGNS: Mapping[str, Callable[[Identity], Sign]] = MappingProxyType(
    {"wheelchair": wheelchair, "white cane": white_cane, "turban": turban, "skullcap": skullcap, "cross": cross}
)


# Drawn identities of VIGNETTE (Table 6): how each is drawn, and why the others are not.


GENDERS: tuple[str, ...] = ("male", "female")


@dataclass(frozen=True, slots=True)
class IdentityLook:
    """Differences of an identity from the base person of its gender.

    `change` is an attribute of a portrait and its value; `gender` the one drawn, where the identity is one; `sign` a
    name in `SIGNS`; `occupation` one of the Noto artwork, and then nothing else is set. Drawn for `genders`
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
        self._digests: dict[str, str] = {}

    def digest(self, picture: str) -> str:
        """Return a hash of all that the picture depends on, without drawing it."""
        digest = self._digests.get(picture)
        if digest is None:
            _split(picture)
            digest = self._digests[picture] = blake2b(f"{_tables()}|{picture}".encode(), digest_size=20).hexdigest()
        return digest

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
