"""Hair: what is behind the head and what is in front of it, for the base and for each value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from facevalue.stimuli.portraits.anatomy import TRAITS, Head, head
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import HairColour
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    both,
    curve,
    edged,
    fill,
    flip,
    line,
    loop,
    outline,
    oval,
    poly,
    vertical,
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


def hairline(h: Head, y: float, low: float, dip: float = 0.0, part: float = 0.0) -> list[Point]:
    """Return the edge of the hair around the forehead, from the right side back to the left."""
    t = h.temple
    right = [
        (t - 7, low),
        (t - 10, low - 18),
        (t - 15, y + 26),
        (t * 0.58, y + 5 + dip),
        (t * 0.2 + part, y + dip * 0.5),
    ]
    left = [(t * 0.2 - part, y + dip * 0.5), (t * 0.58, y + 5 + dip), (t - 15, y + 26), (t - 10, low - 18), (t - 7, low)]
    return right + [(-x, v) for x, v in left]


def _mass(arch: Sequence[Point], edge: Sequence[Point], c: HairColour, top: float) -> Shape:
    return edged(outline(arch, edge), vertical(top, top + 130, c.light, c.fill, c.dark), c.line, 2.0)


def _strands(lines: Sequence[Sequence[Point]], c: HairColour, width: float = 2.0) -> Nodes:
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
            [(t + side * k * 8, y - 1 - 8 * k), (t + side * (30 + 26 * k), y - 10 - (22 + top * 0.7) * k), (side * h.temple * (0.62 + 0.3 * k), y + 18 - 24 * k)]
        )
    return out


def nape(h: Head, c: HairColour, low: float, width: float) -> Shape:
    """Return hair behind the ears down to ``low``."""
    t = h.temple
    right = [(0.0, h.top + 20), (t + 6, h.top + 60), (t + 9, 240), (max(t, h.neck + 26) + width, low - 34), (h.neck + 20 + width, low - 4), (0.0, low - 14)]
    return edged(loop([*right, *flip(right)[1:-1]]), c.dark, c.line, 2.0)


def base(identity: Identity, c: HairColour) -> Hair:
    """Return the plain base cut: ears free, between the lengths that are values."""
    h, r = head(identity), Stream(identity.seed, "base hair")
    style, side = r.index(3), (1 if r.unit() < 0.5 else -1)
    vol, y = r.between(11, 17), 138 + r.spread(6)
    if TRAITS[identity.gender].nape_hair:
        low = 196.0
        edge = hairline(h, y - 2, low, dip=3 + 4 * style, part=0)
        front: list[Shape] = [_mass(dome(h, vol, 9, low), edge, c, h.top - vol)]
        x = (0.0, side * 24.0, side * -30.0)[style]
        for k in range(1, 5):
            for s in (-1, 1):
                front.append(
                    line(
                        curve([(x, h.top - vol + 3 + 6 * k), (x * 0.4 + s * h.temple * 0.5, h.top + 4 + 9 * k), (s * (h.temple - 1 - k), h.top + 58 + 7 * k)]),
                        c.light if k % 2 else c.line, 1.9, 0.6,
                    )
                )  # fmt: skip
        front.append(line(curve([(x, h.top - vol + 2), (x * 1.02, (h.top + y) / 2), (x * 0.9, y)]), c.line, 2.4, 0.9))
        return Hair((nape(h, c, 352 + r.spread(9), 2 + r.spread(3)),), tuple(front))
    low = 206.0
    edge = hairline(h, y, low, dip=-2 + 4 * style)
    arch = dome(h, vol, 7, low)
    lift = [(-side * h.temple * 0.5, 0.0), (0.0, -4.0), (side * h.temple * 0.5, -6.0)]
    arch = [(x, v + sum(dv for lx, dv in lift if abs(lx - x) < 8)) for x, v in arch]
    strands = _swept(h, side, vol, y) if style else [[(x * 0.9, y - 2), (x * 1.1, y - 20), (x * 1.08 + side * 5, h.top - vol + 18 + abs(x) * 0.12)] for x in (-48, -30, -12, 8, 26, 44)]
    sides = both(fill(outline([(h.temple + 5, 158), (h.temple + 5.5, low)], [(h.temple - 7, low), (h.temple - 12, 172)]), c.line, 0.35))
    return Hair((), (_mass(arch, edge, c, h.top - vol), *sides, *_strands(strands, c)))


def bald(identity: Identity, c: HairColour) -> Hair:
    """Return no hair at all."""
    return Hair()


def short(identity: Identity, c: HairColour) -> Hair:
    """Return a close crop with a short, even fringe."""
    h = head(identity)
    fringe: list[Point] = []
    for i in range(15):
        x = h.temple * 0.76 * (1 - 2 * i / 14)
        fringe.append((x, (163 if i % 2 else 152) + abs(x) * 0.06))
    t = h.temple
    edge = [(t - 4, 190.0), (t - 8, 176), *fringe, (-t + 8, 176), (-t + 4, 190)]
    d = outline(dome(h, 7, 4, 190)) [:-1] + "L" + "L".join(f"{x:.1f} {y:.1f}" for x, y in edge) + "Z"
    strands = [[(x, 150 + abs(x) * 0.05), (x * 1.02, 132), (x * 0.92, 112)] for x in (-50, -36, -22, -8, 8, 22, 36, 50)]
    return Hair((), (edged(d, vertical(h.top - 8, h.top + 100, c.light, c.fill, c.dark), c.line, 2.0), *_strands(strands, c, 1.8)))


def _curtains(h: Head, c: HairColour, low: float, wide: float) -> Hair:
    """Return hair parted in the middle that falls in front of the ears to ``low``."""
    t = h.temple
    outer: list[Point] = [(0.0, h.top - 16), (t * 0.55, h.top - 8), (t + 8, h.top + 34), (t + 19, 200), (t + 20 + wide * 0.4, 280), (t + 14 + wide, low - 50), (t + wide - 2, low - 8)]
    tip: list[Point] = [(t + wide - 2, low - 8), (t - 14 + wide * 0.6, low), (t - 34 + wide * 0.5, low - 12)]
    inner: list[Point] = [(t - 34 + wide * 0.5, low - 12), (max(h.jaw, h.neck) - 8 + wide * 0.2, min(low - 60, 350)), (max(h.jaw * 0.9, t - 16), 292), (t - 13, 236), (t - 15, 186), (t * 0.56, 150), (0.0, 132)]
    side = outline(outer, tip, inner)
    paint = vertical(h.top - 16, low, c.light, c.fill, c.dark)
    strands: list[Shape] = []
    for k, (dx, colour) in enumerate(((0.0, c.line), (8.0, c.light), (15.0, c.line))):
        strands += both(line(curve([(4 + 6 * k, h.top + 2 + 3 * k), (t * 0.72 + dx * 0.3, 142 - 3 * k), (t - 4 + dx * 0.9, 214), (t - 3 + dx + wide * 0.3, 300), (t - 14 + dx + wide * 0.62, low - 22)]), colour, 2.1, 0.55))
    behind = nape(h, c, min(low - 14, 420), 10)
    return Hair((behind,), (*both(edged(side, paint, c.line, 2.0)), *strands, line(curve([(0, h.top - 14), (0, 131)]), c.line, 2.2, 0.9)))


def medium(identity: Identity, c: HairColour) -> Hair:
    """Return hair to the shoulders, over the ears."""
    return _curtains(head(identity), c, 392, 10)


def long(identity: Identity, c: HairColour) -> Hair:
    """Return hair down over the chest."""
    return _curtains(head(identity), c, 508, 26)


def messy(identity: Identity, c: HairColour) -> Hair:
    """Return tousled hair with tufts in every direction."""
    h, r = head(identity), Stream(identity.seed, "hair_style:messy")
    t, tips = h.temple, 17
    points: list[Point] = []
    for i in range(tips * 2 + 1):
        a = pi * (1.06 - 1.12 * i / (tips * 2))
        reach = (r.between(26, 42) if i % 2 else r.between(6, 13))
        lean = r.spread(0.13) if i % 2 else 0
        points.append(((t + reach) * cos(a + lean), 178 - (78 + reach) * sin(a)))
    fringe: list[Point] = []
    for i in range(13):
        x = (t - 12) * (1 - 2 * i / 12)
        fringe.append((x, r.between(160, 181) if i % 2 else r.between(140, 149)))
    edge = [(t - 6, 204.0), *fringe, (-t + 6, 204.0)]
    strands = [[(x, 158 + r.spread(8)), (x * 1.05 + r.spread(14), 126), (x * 1.2 + r.spread(24), 92)] for x in (-58, -42, -28, -12, 4, 20, 36, 54)]
    mass = edged(poly([*points, *edge]), vertical(70, 210, c.light, c.fill, c.dark), c.line, 2.0)
    tail = (nape(h, c, 342, 8),) if TRAITS[identity.gender].nape_hair else ()
    return Hair(tail, (mass, *_strands(strands, c, 2.2)))


def _pulled(h: Head, c: HairColour, y: float = 128.0) -> Nodes:
    """Return hair combed tightly away from the face."""
    edge = hairline(h, y, 196, dip=-2)
    lines = [[(x * 1.02, y + 3 + abs(x) * 0.22), (x * 0.92, y - 14 + abs(x) * 0.08), (x * 0.55, h.top - 2)] for x in (-62, -48, -34, -20, -7, 7, 20, 34, 48, 62)]
    return (_mass(dome(h, 6, 4, 196), edge, c, h.top - 6), *_strands(lines, c, 1.8))


def slicked(identity: Identity, c: HairColour) -> Hair:
    """Return hair combed straight back, high at the hairline, with a wet shine."""
    h = head(identity)
    edge = hairline(h, 121, 200, dip=-5)
    shine = curve([(-50, h.top + 16), (-22, h.top + 3), (8, h.top), (40, h.top + 9)])
    lines = [[(x * 1.02, 124 + abs(x) * 0.4), (x * 1.1, 110 + abs(x) * 0.3), (x * 1.06, h.top - 3 + abs(x) * 0.2)] for x in (-68, -58, -48, -38, -28, -19, -9, 0, 9, 19, 28, 38, 48, 58, 68)]
    return Hair((), (_mass(dome(h, 10, 3, 200), edge, c, h.top - 10), *_strands(lines, c, 1.6), line(shine, c.light, 6, 0.7)))


def ponytail(identity: Identity, c: HairColour) -> Hair:
    """Return a high ponytail that swings to one side."""
    h = head(identity)
    tail = outline(
        [(8, 92), (40, 44), (92, 46), (128, 96), (141, 180), (136, 262), (118, 330)],
        [(118, 330), (112, 262), (104, 196), (88, 136), (60, 108), (30, 112)],
    )
    lines = [[(34, 74), (84, 74), (116, 140), (124, 230), (120, 300)], [(30, 88), (72, 86), (104, 140), (116, 220)], [(60, 58), (104, 82), (130, 170), (130, 250)]]
    paint = vertical(44, 330, c.light, c.fill, c.dark)
    tie = edged(oval(24, 86, 13, 17), "#b23a48", "#6d1f2a", 2.0)
    return Hair((edged(tail, paint, c.line, 2.0), *_strands(lines, c, 2.2), tie), _pulled(h, c))


def braid(identity: Identity, c: HairColour) -> Hair:
    """Return a plait that lies over one shoulder."""
    h = head(identity)
    x0, y0 = h.temple + 4, 262.0
    nodes: list[Shape] = [edged(outline([(h.temple - 6, 196), (h.temple + 12, 210), (x0 + 15, y0 + 6)], [(x0 - 14, y0 + 6), (h.temple - 8, 214)]), c.fill, c.line, 2.0)]
    n = 9
    for i in range(n):
        y, x, w = y0 + i * 25, x0 + 3 * sin(i * 0.6) + i * 0.8, 18 - i * 0.8
        left = outline([(x - w, y + 2), (x - w * 0.2, y - 7), (x + w * 0.45, y + 9)], [(x + w * 0.3, y + 27), (x - w * 0.7, y + 21)])
        right = outline([(x + w, y + 2), (x + w * 0.3, y - 4), (x - w * 0.35, y + 12)], [(x - w * 0.1, y + 29), (x + w * 0.8, y + 20)])
        nodes.append(edged(left, c.fill if i % 2 else c.light, c.line, 1.8))
        nodes.append(edged(right, c.dark if i % 2 else c.fill, c.line, 1.8))
    x, y = x0 + 5, y0 + n * 25
    tuft = outline([(x - 9, y + 2), (x + 9, y + 2), (x + 13, y + 24)], [(x + 2, y + 36), (x - 10, y + 26)])
    nodes += [edged(tuft, c.fill, c.line, 1.8), edged(oval(x, y + 3, 11, 5.5), "#b23a48", "#6d1f2a", 1.8)]
    return Hair((), (*nodes, *_pulled(h, c)))


def bun(identity: Identity, c: HairColour) -> Hair:
    """Return a knot on top of the head."""
    h = head(identity)
    knot = edged(oval(0, 67, 43, 36), vertical(30, 104, c.light, c.fill, c.dark), c.line, 2.0)
    coils = [[(-30, 84), (-34, 58), (-6, 42), (26, 52), (30, 74)], [(-18, 90), (-22, 66), (0, 56), (18, 66), (14, 82)], [(-38, 72), (-24, 46), (4, 36), (32, 46)]]
    tie = edged(oval(0, 98, 27, 7), "#b23a48", "#6d1f2a", 1.8)
    return Hair((knot, *_strands(coils, c, 2.4), tie), _pulled(h, c))


def afro(identity: Identity, c: HairColour) -> Hair:
    """Return a round afro."""
    h, r = head(identity), Stream(identity.seed, "hair_style:afro")
    n, cloud = 30, []
    for i in range(n):
        a = 2 * pi * i / n
        k = 1.045 if i % 2 else 0.985
        cloud.append(((h.temple + 58) * k * cos(a), 172 - 136 * k * sin(a)))
    crown = [(p[0] * 0.985, p[1]) for p in cloud if p[1] < 186]
    crown.sort(key=lambda p: p[0])
    t = h.temple
    edge = [(t + 6, 206.0), (t - 5, 196), (t - 10, 178), (t * 0.72, 152), (t * 0.36, 140), (0.0, 137), (-t * 0.36, 140), (-t * 0.72, 152), (-t + 10, 178), (-t + 5, 196), (-t - 6, 206)]
    curls = []
    for _ in range(46):
        a, k = r.between(0, pi), r.between(0.66, 0.98)
        x, y = (t + 56) * k * cos(a), 172 - 128 * k * sin(a)
        if abs(x) > t + 2 or y < 128:
            curls.append(line(curve([(x - 5, y + 2), (x - 2, y - 4), (x + 4, y - 3), (x + 4, y + 3)]), c.light if r.unit() < 0.55 else c.line, 2.1, 0.6))
    mass = edged(outline(crown, edge), vertical(36, 210, c.light, c.fill, c.fill), c.line, 2.0)
    return Hair((edged(loop(cloud), c.dark, c.line, 2.0),), (mass, *curls))


def _shaved(h: Head, c: HairColour, opacity: float) -> Shape:
    return fill(outline(dome(h, 2.5, 1.5, 204), hairline(h, 138, 204)), c.fill, opacity)


def buzz(identity: Identity, c: HairColour) -> Hair:
    """Return hair cut to a few millimetres everywhere."""
    h, r = head(identity), Stream(identity.seed, "hair_style:buzz-cut")
    area = outline(dome(h, 2.5, 1.5, 204), hairline(h, 138, 204))
    dots = ""
    for _ in range(150):
        x, y = r.spread(h.temple * 1.2), r.between(h.top, 190)
        dots += f"M{x:.1f} {y:.1f}l0.6 2.4"
    return Hair((), (_shaved(h, c, 0.84), line(dots, c.line, 1.5, 0.75, clip=area), line(curve(hairline(h, 138, 204)), c.line, 1.6, 0.5)))


def mohawk(identity: Identity, c: HairColour) -> Hair:
    """Return a tall crest between shaved sides."""
    h = head(identity)
    right: list[Point] = [(0, 4), (7, 30), (22, 12), (23, 40), (36, 32), (33, 60), (43, 60), (36, 92), (27, 128), (10, 156), (0, 150)]
    crest = poly([*right, *flip(right)[1:-1]])
    lines = [[(x * 0.55, 146), (x * 0.8, 96), (x * 1.02, 44 + abs(x) * 0.5)] for x in (-27, -16, -6, 6, 16, 27)]
    return Hair((), (_shaved(h, c, 0.34), edged(crest, vertical(4, 156, c.light, c.fill, c.dark), c.line, 2.0), *_strands(lines, c, 2.2)))


Style = Callable[[Identity, HairColour], Hair]

HAIR: Mapping[tuple[str, str], Style] = {
    ("hair_length", "bald"): bald,
    ("hair_length", "short"): short,
    ("hair_length", "medium"): medium,
    ("hair_length", "long"): long,
    ("hair_style", "messy"): messy,
    ("hair_style", "slicked-back"): slicked,
    ("hair_style", "ponytail"): ponytail,
    ("hair_style", "braid"): braid,
    ("hair_style", "bun"): bun,
    ("hair_style", "afro"): afro,
    ("hair_style", "buzz-cut"): buzz,
    ("hair_style", "mohawk"): mohawk,
}
