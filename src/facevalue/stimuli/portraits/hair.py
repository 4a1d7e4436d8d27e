"""Hair behind and in front of the head, for the base and for each value."""

from collections.abc import Sequence
from dataclasses import dataclass

from facevalue.stimuli.portraits.anatomy import TRAITS, Head, head
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import HairColour
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    contour,
    curve,
    fill,
    flip,
    line,
    loop,
    mirror,
    outline,
)
from facevalue.stimuli.portraits.streams import Stream


@dataclass(frozen=True, slots=True)
class Hair:
    """The two layers of a head of hair."""

    back: Nodes = ()
    front: Nodes = ()


def dome(h: Head, top: float, side: float, low: float) -> list[Point]:
    """Return an arch over the skull from the left side (y = ``low``) to the right.

    ``top`` and ``side`` say how far it stands off the skull.
    """
    t = h.temple
    right = [
        (0.0, h.top - top),
        (t * 0.50, h.top + 8 - top * 0.92),
        (t * 0.87 + side * 0.6, h.top + 34 - top * 0.45),
        (t + side, h.top + 66),
        (t + side * 0.8, low),
    ]
    return flip(right)[:-1] + right


def hairline(h: Head, y: float, low: float, dip: float = 0.0, parting: float = 0.0) -> list[Point]:
    """Return the edge of the hair around the forehead, from the right side back to the left."""
    t = h.temple
    right = [
        (t - 7, low),
        (t - 10, low - 18),
        (t - 15, y + 26),
        (t * 0.58, y + 5 + dip),
        (t * 0.2 + parting, y + dip * 0.5),
    ]
    left = [
        (t * 0.2 - parting, y + dip * 0.5),
        (t * 0.58, y + 5 + dip),
        (t - 15, y + 26),
        (t - 10, low - 18),
        (t - 7, low),
    ]
    return right + [(-x, v) for x, v in left]


def mass(h: Head, arch: Sequence[Point], edge: Sequence[Point], c: HairColour) -> Nodes:
    """Return the hair over the skull: fill, darker sides, a soft light along the top."""
    t, right = h.temple, [p for p in arch if p[0] > h.temple * 0.8]
    low = right[-1][1]
    side = outline(right, [(t - 8, low), (t * 0.84, h.top + 62), (t * 0.82, h.top + 34)])
    gleam = curve([(-t * 0.52, h.top + 18), (-t * 0.2, h.top + 7), (t * 0.16, h.top + 7)])
    return (
        contour(outline(arch, edge), c.fill, c.line, 2.0),
        *mirror(fill(side, c.dark, 0.7)),
        line(gleam, c.light, 7, 0.45),
    )


def strands(lines: Sequence[Sequence[Point]], c: HairColour, width: float = 2.0) -> Nodes:
    """Return strands, by turns light and dark."""
    return tuple(
        line(curve(points), c.line if i % 2 else c.light, width, 0.5 if i % 2 else 0.75)
        for i, points in enumerate(lines)
    )


def _swept(h: Head, side: int, top: float, y: float) -> list[list[Point]]:
    """Return strands from a parting on one side over to the other."""
    t, out = h.temple * 0.5 * -side, []
    for i in range(6):
        k = i / 5
        out.append(
            [
                (t + side * k * 8, y - 1 - 8 * k),
                (t + side * (30 + 26 * k), y - 10 - (22 + top * 0.7) * k),
                (side * h.temple * (0.62 + 0.3 * k), y + 18 - 24 * k),
            ]
        )
    return out


def nape(h: Head, c: HairColour, low: float, width: float) -> Shape:
    """Return hair behind the ears down to ``low``."""
    t = h.temple
    right = [
        (0.0, h.top + 20),
        (t + 6, h.top + 60),
        (t + 9, 240),
        (max(t, h.neck + 26) + width, low - 34),
        (h.neck + 20 + width, low - 4),
        (0.0, low - 14),
    ]
    return contour(loop([*right, *flip(right)[1:-1]]), c.dark, c.line, 2.0)


def base(identity: Identity, c: HairColour) -> Hair:
    """Return the plain base cut: ears free, between the lengths that are values."""
    h, r = head(identity), Stream(identity.seed, "base hair")
    style, side = r.index(3), (1 if r.unit() < 0.5 else -1)
    vol, y = r.uniform(11, 17), 138 + r.spread(6)
    if TRAITS[identity.gender].nape_hair:
        low = 196.0
        edge = hairline(h, y - 2, low, dip=3 + 4 * style, parting=0)
        front: list[Shape] = [*mass(h, dome(h, vol, 9, low), edge, c)]
        x = (0.0, side * 24.0, side * -30.0)[style]
        for k in range(1, 5):
            for s in (-1, 1):
                front.append(
                    line(
                        curve(
                            [
                                (x, h.top - vol + 3 + 6 * k),
                                (x * 0.4 + s * h.temple * 0.5, h.top + 4 + 9 * k),
                                (s * (h.temple - 1 - k), h.top + 58 + 7 * k),
                            ]
                        ),
                        c.light if k % 2 else c.line,
                        1.9,
                        0.6,
                    )
                )
        front.append(line(curve([(x, h.top - vol + 2), (x * 1.02, (h.top + y) / 2), (x * 0.9, y)]), c.line, 2.4, 0.9))
        return Hair((nape(h, c, 352 + r.spread(9), 2 + r.spread(3)),), tuple(front))
    low = 206.0
    edge = hairline(h, y, low, dip=-2 + 4 * style)
    arch = dome(h, vol, 7, low)
    lift = [(-side * h.temple * 0.5, 0.0), (0.0, -4.0), (side * h.temple * 0.5, -6.0)]
    arch = [(x, v + sum(dv for lx, dv in lift if abs(lx - x) < 8)) for x, v in arch]
    hairs = (
        _swept(h, side, vol, y)
        if style
        else [
            [(x * 0.9, y - 2), (x * 1.1, y - 20), (x * 1.08 + side * 5, h.top - vol + 18 + abs(x) * 0.12)]
            for x in (-48, -30, -12, 8, 26, 44)
        ]
    )
    sides = mirror(
        fill(
            outline([(h.temple + 5, 158), (h.temple + 5.5, low)], [(h.temple - 7, low), (h.temple - 12, 172)]),
            c.line,
            0.35,
        )
    )
    return Hair((), (*mass(h, arch, edge, c), *sides, *strands(hairs, c)))


def bald(_identity: Identity, _colour: HairColour) -> Hair:
    """Return no hair at all."""
    return Hair()


def short(identity: Identity, c: HairColour) -> Hair:
    """Return a close crop with short sides and a soft fringe combed to one side."""
    h = head(identity)
    t = h.temple
    side = 1 if Stream(identity.seed, "hair_length:short").unit() < 0.5 else -1
    fringe = [
        (t * 0.86, 172.0),
        (t * 0.66, 156),
        (t * 0.42, 167),
        (t * 0.2, 157),
        (-t * 0.1, 166),
        (-t * 0.36, 153),
        (-t * 0.6, 157),
        (-t * 0.86, 168),
    ]
    if side < 0:
        fringe = flip(fringe)
    edge = [(t - 2, 188.0), (t - 7, 180), *fringe, (-t + 7, 180), (-t + 2, 188)]
    hairs = [
        [(side * x, 158.0), (side * (x + 9), 138), (side * (x + 14), 112)] for x in (-58, -44, -30, -16, -2, 12, 26, 38)
    ]
    return Hair((), (*mass(h, dome(h, 6, 3, 188), edge, c), *strands(hairs, c, 1.9)))


def _curtains(h: Head, c: HairColour, low: float, wide: float) -> Hair:
    """Return hair parted in the middle that falls in front of the ears to ``low``."""
    t = h.temple
    outer: list[Point] = [
        (0.0, h.top - 16),
        (t * 0.55, h.top - 8),
        (t + 8, h.top + 34),
        (t + 19, 200),
        (t + 20 + wide * 0.4, 280),
        (t + 14 + wide, low - 50),
        (t + wide - 2, low - 8),
    ]
    tip: list[Point] = [(t + wide - 2, low - 8), (t - 14 + wide * 0.6, low), (t - 34 + wide * 0.5, low - 12)]
    inner: list[Point] = [
        (t - 34 + wide * 0.5, low - 12),
        (max(h.jaw, h.neck) - 8 + wide * 0.2, min(low - 60, 350)),
        (max(h.jaw * 0.9, t - 16), 292),
        (t - 13, 236),
        (t - 15, 186),
        (t * 0.56, 150),
        (0.0, 132),
    ]
    side = outline(outer, tip, inner)
    paint = c.fill
    hairs: list[Shape] = []
    for k, (dx, colour) in enumerate(((0.0, c.line), (8.0, c.light), (15.0, c.line))):
        hairs += mirror(
            line(
                curve(
                    [
                        (4 + 6 * k, h.top + 2 + 3 * k),
                        (t * 0.72 + dx * 0.3, 142 - 3 * k),
                        (t - 4 + dx * 0.9, 214),
                        (t - 3 + dx + wide * 0.3, 300),
                        (t - 14 + dx + wide * 0.62, low - 22),
                    ]
                ),
                colour,
                2.1,
                0.55,
            )
        )
    behind = nape(h, c, min(low - 14, 420), 10)
    return Hair(
        (behind,),
        (
            *mirror(contour(side, paint, c.line, 2.0)),
            *hairs,
            line(curve([(0, h.top - 14), (0, 131)]), c.line, 2.2, 0.9),
        ),
    )


def medium(identity: Identity, c: HairColour) -> Hair:
    """Return hair to the shoulders, over the ears."""
    return _curtains(head(identity), c, 392, 10)


def long(identity: Identity, c: HairColour) -> Hair:
    """Return hair down over the chest."""
    return _curtains(head(identity), c, 508, 26)
