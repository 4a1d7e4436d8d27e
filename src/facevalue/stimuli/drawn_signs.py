"""Drawn signs that portraits have no attribute for: wheelchair, white cane, turban, skullcap, cross on a chain.

Each sign is what lies behind the person and what lies before, so that the person stays as they are.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from facevalue.stimuli.portraits import shapes as s
from facevalue.stimuli.portraits.anatomy import body, head
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import scale

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
