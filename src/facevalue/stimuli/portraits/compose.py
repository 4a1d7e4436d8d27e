"""Composition of portraits: the order of layers, the change of one, and the mask that each attribute declares."""

from functools import lru_cache

from facevalue.stimuli.portraits import body, cosmetics, face, levels, marks, worn
from facevalue.stimuli.portraits.anatomy import head as measures
from facevalue.stimuli.portraits.hair import Hair
from facevalue.stimuli.portraits.hair import base as base_hair_cut
from facevalue.stimuli.portraits.hair_styles import HAIR
from facevalue.stimuli.portraits.outfits import outfit
from facevalue.stimuli.portraits.palette import hair_colour
from facevalue.stimuli.portraits.shapes import Nodes, Shape, document

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
        "head": face.ears(identity) + face.face(identity),
        "age": face.age_lines(identity),
        "nose": face.nose(identity),
        "mouth": face.mouth(identity),
        "eyes": face.eyes(identity),
        "brows": face.brows(identity),
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
        "skin": marks.irregularities(identity, skin_value) if skin_value else (),
        "self/mouth": nodes["mouth"],
        "lips": cosmetics.lipstick(identity, lips) if lips else (),
        "tattoo": marks.tattoo(identity) if inked else (),
        "self/eyes": nodes["eyes"],
        "makeup": cosmetics.makeup(identity, makeup) if makeup else (),
        "beard/over": _beard(identity, beard) if beard in ("mustache", "full-beard") else (),
        "self/brows": nodes["brows"],
        "hair/front": hair.front,
        "rings": marks.piercings(identity, rings) if rings else (),
        "glasses": worn.eyewear(identity, glasses) if glasses else (),
        "hat": worn.accessory(identity, hat) if hat else (),
    }


def _beard(identity: levels.Identity, value: str | None) -> Nodes:
    return cosmetics.facial_hair(identity, value) if value else cosmetics.base_shadow(identity)


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
    head = Shape(face.face_outline(measures(identity)), "#000000")
    return document([*behind, head, *before], VIEWS[frame], "#000000")
