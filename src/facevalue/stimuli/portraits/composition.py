"""Composition of portraits: outfits, the order of layers, the mask of each attribute, and PNGs kept by content."""

import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from facevalue.errors import DataError
from facevalue.stimuli.portraits import body, face_marks, headwear, levels, wardrobe, wardrobe_bold
from facevalue.stimuli.portraits.anatomy import SHIRTS, hair_colour
from facevalue.stimuli.portraits.anatomy import body as body_measures
from facevalue.stimuli.portraits.anatomy import head as measures
from facevalue.stimuli.portraits.hair import HAIR, Hair
from facevalue.stimuli.portraits.hair import base as base_hair_cut
from facevalue.stimuli.portraits.levels import Identity, Stream
from facevalue.stimuli.portraits.shapes import Nodes, Shape, curve, document, key, line, mirror, png
from facevalue.stimuli.portraits.tailor import Outfit, ink, shoes, sleeves, top, trousers


def plain(identity: Identity) -> Outfit:
    """Return the plain base clothes: long-sleeved crew-neck top, straight trousers, flat shoes."""
    b = body_measures(identity)
    cloth = Stream(identity.seed, "shirt").choice(SHIRTS)
    legs = Stream(identity.seed, "trousers").choice(("#6d7078", "#77706a", "#646b72"))
    rib = mirror(line(curve([(0, 411), (b.neck * 0.6, 404), (b.neck + 19, 374)]), ink(cloth), 2.4, 0.45))
    return Outfit(
        (),
        (
            *trousers(b, legs, 8, 12),
            *shoes(b, "#5f5954"),
            *top(b, cloth, ink(cloth), 8, 905),
            *sleeves(b, cloth, 6),
            *rib,
        ),
    )


OUTFITS: Mapping[str, Callable[[Identity], Outfit]] = {
    "professional": wardrobe.professional,
    "formal": wardrobe.formal,
    "casual": wardrobe.casual,
    "smart-casual": wardrobe.smart_casual,
    "sporty": wardrobe.sporty,
    "streetwear": wardrobe.streetwear,
    "functional-outdoor": wardrobe.outdoor,
    "luxury": wardrobe.luxury,
    "vintage": wardrobe_bold.vintage,
    "worn-distressed": wardrobe_bold.worn,
    "daring": wardrobe_bold.daring,
}


def outfit(identity: Identity, value: str | None) -> Outfit:
    """Return the clothes for a value of ``fashion_style``, or the base's."""
    return plain(identity) if value is None else OUTFITS[value](identity)


VIEWS: dict[levels.Framing, tuple[float, float, float, float]] = {
    "portrait": (-256, 0, 512, 512),
    "full-body": (-830, 10, 1660, 1660),
}
MARGIN: dict[levels.Framing, float] = {"portrait": 2.5, "full-body": 9.5}


def _hair(identity: levels.Identity, change: tuple[str, str] | None) -> Hair:
    colour = hair_colour(identity, change[1] if change and change[0] == "hair_color" else None)
    cut = HAIR.get(change, base_hair_cut) if change else base_hair_cut
    return cut(identity, colour)


def _value(change: tuple[str, str] | None, name: str) -> str | None:
    return change[1] if change and change[0] == name else None


@lru_cache(maxsize=256)
def _person_layers(identity: levels.Identity) -> dict[str, Nodes]:
    """Return the layers that belong to the person and that no attribute changes."""
    return {
        "body": body.hands(identity) + body.neck(identity),
        "head": body.ears(identity) + body.face(identity),
        "age": body.age_lines(identity),
        "nose": body.nose(identity),
        "mouth": body.mouth(identity),
        "eyes": body.eyes(identity),
        "brows": body.brows(identity),
    }


_clothes = lru_cache(maxsize=256)(outfit)


def layers(identity: levels.Identity, change: tuple[str, str] | None) -> dict[str, Nodes]:
    """Return the picture's layers, back to front.

    A layer's key starts with the attribute that owns it ("hair/back"), or with "self" if none does.
    """
    nodes = _person_layers(identity)
    hair = _hair(identity, change)
    clothes = _clothes(identity, _value(change, "fashion_style"))
    skin_value, makeup = _value(change, "skin_irregularities"), _value(change, "makeup")
    lips, beard = _value(change, "lip_makeup"), _value(change, "facial_hair")
    glasses, rings = _value(change, "eyewear"), _value(change, "piercings")
    hat = _value(change, "accessories")
    inked = _value(change, "tattoos")
    return {
        "clothes/back": clothes.back,
        "hair/back": hair.back,
        "self/body": nodes["body"],
        "clothes/front": clothes.front,
        "self/head": nodes["head"],
        "beard/under": _beard(identity, beard) if beard in (None, "clean-shaven", "stubble") else (),
        "self/age": nodes["age"],
        "self/nose": nodes["nose"],
        "skin": face_marks.irregularities(identity, skin_value) if skin_value else (),
        "self/mouth": nodes["mouth"],
        "lips": face_marks.lipstick(identity, lips) if lips else (),
        "tattoo": face_marks.tattoo(identity) if inked else (),
        "self/eyes": nodes["eyes"],
        "makeup": face_marks.makeup(identity, makeup) if makeup else (),
        "beard/over": _beard(identity, beard) if beard in ("mustache", "full-beard") else (),
        "self/brows": nodes["brows"],
        "hair/front": hair.front,
        "rings": face_marks.piercings(identity, rings) if rings else (),
        "glasses": headwear.eyewear(identity, glasses) if glasses else (),
        "hat": headwear.accessory(identity, hat) if hat else (),
    }


def _beard(identity: levels.Identity, value: str | None) -> Nodes:
    return face_marks.facial_hair(identity, value) if value else face_marks.base_shadow(identity)


OWNED: dict[str, tuple[str, ...]] = {
    "skin_irregularities": ("skin",),
    "hair_color": ("hair/back", "hair/front"),
    "hair_length": ("hair/back", "hair/front"),
    "hair_style": ("hair/back", "hair/front"),
    "facial_hair": ("beard/under", "beard/over"),
    "eyewear": ("glasses",),
    "makeup": ("makeup",),
    "lip_makeup": ("lips",),
    "piercings": ("rings",),
    "tattoos": ("tattoo",),
    "accessories": ("hat",),
    "fashion_style": ("clothes/back", "clothes/front"),
}


BEHIND_HEAD = ("clothes/back", "hair/back", "clothes/front")


def svg(identity: levels.Identity, change: tuple[str, str] | None = None, framing: str | None = None) -> str:
    """Return a portrait as an SVG document: plain shapes and gradients, no text, no script, no link to the outside.

    `identity`: who is drawn. `change`: an attribute and the value it takes ("hair_length", "long"); None for the base
    picture. `framing`: "portrait" (head and shoulders) or "full-body"; None for the changed attribute's own framing.
    """
    if change is not None:
        levels.check_change(identity, change)
    view = VIEWS[levels.resolve_framing(change, framing)]
    nodes = [node for layer in layers(identity, change).values() for node in layer]
    return document(nodes, view, "#ffffff")


def mask_svg(identity: levels.Identity, attribute_name: str, framing: str | None = None) -> str:
    """Return, white on black, where an attribute may change the picture.

    The mask is the geometry of every layer the attribute owns, in the base and under each of its values,
    painted white with a margin for antialiasing (``MARGIN``, in drawing units, on every side), less what the
    face covers. A pixel belongs to the mask if it is not black. Errors as of `svg`.
    """
    attribute = levels.attribute(attribute_name)
    levels.check_applies(identity, attribute)
    frame = levels.check_framing(framing) if framing is not None else attribute.framing
    pictures = [layers(identity, None)]
    if attribute_name != "hair_color":
        pictures += [layers(identity, (attribute_name, value)) for value in attribute.values]
    behind, before = (
        dict.fromkeys(
            node.white(MARGIN[frame])
            for picture in pictures
            for key in OWNED[attribute_name]
            if (key in BEHIND_HEAD) is hidden
            for node in picture[key]
        )
        for hidden in (True, False)
    )
    head = Shape(body.face_outline(measures(identity)), "#000000")
    return document([*behind, head, *before], VIEWS[frame], "#000000")


_START, _END = b"\x89PNG\r\n\x1a\n", b"IEND"


def is_whole(data: bytes, size: int) -> bool:
    """Return whether ``data`` is a complete PNG, ``size`` pixels wide and high, whose checksums all hold.

    >>> is_whole(b"", 8)
    False
    """
    if not data.startswith(_START + b"\x00\x00\x00\x0dIHDR" + struct.pack(">II", size, size)):
        return False
    at = len(_START)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 12 + length
        if end > len(data) or zlib.crc32(data[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            return False
        if data[at + 4 : at + 8] == _END:
            return end == len(data)
        at = end
    return False


class PortraitCache:
    """Portraits drawn on demand, kept in a folder by content; without one the latest `keep` stay in memory.

    A file is written aside and renamed, so that no reader sees half of one. A file found damaged is drawn
    again: the checksums are looked at whenever a picture is read.
    """

    def __init__(self, folder: Path | str | None, size: int = 512, keep: int = 64) -> None:
        if size < 1:
            raise DataError(f"A picture's size must be at least 1 pixel, not {size}.")
        self.folder = None if folder is None else Path(folder)
        self.size = size
        self._remembered = lru_cache(maxsize=keep)(self._draw_portrait)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._refusal(self.folder, error) from error

    @staticmethod
    def _refusal(path: Path, error: OSError) -> DataError:
        reason = error.strerror or str(error)
        return DataError(f"Portraits cannot be kept in {path}: {reason}. Choose another folder or make room.")

    def get(self, identity: Identity, change: tuple[str, str] | None = None, framing: str | None = None) -> bytes:
        """Return a portrait as PNG, drawing it if it is not there whole."""
        if self.folder is None:
            return self._remembered(identity, change, framing)
        return self.picture(
            key(identity, change, framing, self.size), partial(self._draw_portrait, identity, change, framing)
        )

    def picture(self, name: str, draw: Callable[[], bytes]) -> bytes:
        """Return the PNG of any picture that is named by all it depends on, drawing it if it is not there whole."""
        if self.folder is None:
            return draw()
        path = self.folder / name[:2] / f"{name}.png"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise self._refusal(path, error) from error
        if not is_whole(data, self.size):
            data = draw()
            self._write(path, data)
        return data

    def _draw_portrait(self, identity: Identity, change: tuple[str, str] | None, framing: str | None) -> bytes:
        return png(svg(identity, change, framing), self.size)

    def _write(self, path: Path, data: bytes) -> None:
        aside: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            aside = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            aside.replace(path)
        except OSError as error:
            if aside is not None:
                aside.unlink(missing_ok=True)
            raise self._refusal(path.parent, error) from error
