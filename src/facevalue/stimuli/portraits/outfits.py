"""Outfits: the plain base clothes and, in time, each value of ``fashion_style``."""

from facevalue.stimuli.portraits.anatomy import body
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import SHIRTS, scale
from facevalue.stimuli.portraits.shapes import line, curve, both
from facevalue.stimuli.portraits.streams import Stream
from facevalue.stimuli.portraits.tailor import Outfit, cloth_paint, ink, shoes, sleeves, top, trousers


def plain(identity: Identity) -> Outfit:
    """Return the plain base clothes: long-sleeved crew-neck top, straight trousers, flat shoes."""
    b = body(identity)
    cloth = Stream(identity.seed, "shirt").choice(SHIRTS)
    legs = Stream(identity.seed, "trousers").choice(("#6d7078", "#77706a", "#646b72"))
    rib = both(line(curve([(0, 411), (b.neck * 0.6, 404), (b.neck + 19, 374)]), ink(cloth), 2.4, 0.45))
    return Outfit(
        (),
        (
            *trousers(b, legs, 8, 12),
            *shoes(b, "#5f5954"),
            *top(b, cloth_paint(cloth), ink(cloth), 8, 905),
            *sleeves(b, cloth, 6),
            *rib,
        ),
    )


def outfit(identity: Identity, value: str | None) -> Outfit:
    """Return the clothes for a value of ``fashion_style``, or the base's."""
    return plain(identity)
