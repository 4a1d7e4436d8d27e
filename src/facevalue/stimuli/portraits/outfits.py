"""Outfits: the plain base outfit, and the eleven values of ``fashion_style``."""

from collections.abc import Callable, Mapping

from facevalue.stimuli.portraits import wardrobe_bold, wardrobe_dressed, wardrobe_leisure
from facevalue.stimuli.portraits.anatomy import body
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import SHIRTS
from facevalue.stimuli.portraits.shapes import curve, line, mirror
from facevalue.stimuli.portraits.streams import Stream
from facevalue.stimuli.portraits.tailor import Outfit, ink, shoes, sleeves, top, trousers


def plain(identity: Identity) -> Outfit:
    """Return the plain base clothes: long-sleeved crew-neck top, straight trousers, flat shoes."""
    b = body(identity)
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
    "professional": wardrobe_dressed.professional,
    "formal": wardrobe_dressed.formal,
    "casual": wardrobe_leisure.casual,
    "smart-casual": wardrobe_dressed.smart_casual,
    "sporty": wardrobe_leisure.sporty,
    "streetwear": wardrobe_leisure.streetwear,
    "functional-outdoor": wardrobe_leisure.outdoor,
    "luxury": wardrobe_dressed.luxury,
    "vintage": wardrobe_bold.vintage,
    "worn-distressed": wardrobe_bold.worn,
    "daring": wardrobe_bold.daring,
}


def outfit(identity: Identity, value: str | None) -> Outfit:
    """Return the clothes for a value of ``fashion_style``, or the base's."""
    return plain(identity) if value is None else OUTFITS[value](identity)
