"""Hair behind and in front of the head: the base, styles, and the table of all cuts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, pi, sin

from facevalue.stimuli.portraits.anatomy import TRAITS, HairColour, Head, head
from facevalue.stimuli.portraits.levels import Identity, Stream
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
    oval,
    poly,
)


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


def messy(identity: Identity, c: HairColour) -> Hair:
    """Return tousled hair: tufts of many lengths, loose ends over the forehead."""
    h, r = head(identity), Stream(identity.seed, "hair_style:messy")
    t, n = h.temple, 15
    arch: list[Point] = [(-t - 5, 204.0)]
    for i in range(n):
        a = pi * (1.0 - i / (n - 1))
        reach, lean = r.uniform(19, 34), r.spread(0.14)
        arch.append(((t + 8) * cos(a + 0.1), 186 - 88 * sin(a + 0.1)))
        arch.append(((t + reach) * cos(a + lean), 186 - (78 + reach) * sin(a + lean)))
    arch.append((t + 5, 204.0))
    fringe: list[Point] = []
    for i in range(11):
        x = (t - 10) * (1 - 2 * i / 10)
        fringe.append((x + r.spread(6), r.uniform(158, 176) if i % 2 else r.uniform(140, 148)))
    edge = [(t - 4, 204.0), *fringe, (-t + 4, 204.0)]
    hairs = [
        [
            (x + r.spread(9), 156 + r.spread(8)),
            (x * 1.05 + r.spread(14), 126),
            (x * 1.1 + r.spread(16), 96 + abs(x) * 0.2),
        ]
        for x in range(-60, 61, 12)
    ]
    tufts = contour(outline(arch, edge), c.fill, c.line, 2.0)
    tail = (nape(h, c, 342, 8),) if TRAITS[identity.gender].nape_hair else ()
    wisps = mirror(line(curve([(t + 6, 196), (t + 14, 214), (t + 12, 232)]), c.fill, 3.4)) if tail else ()
    return Hair(tail, (tufts, *strands(hairs, c, 2.2), *wisps))


def _pulled_hair(h: Head, c: HairColour, y: float = 128.0) -> Nodes:
    """Return hair combed tightly away from the face."""
    edge = hairline(h, y, 196, dip=-2)
    lines = [
        [(x * 0.98, y + 2 + x * x * 0.006), (x * 0.92, y - 14 + abs(x) * 0.12), (x * 0.5, h.top + 1)]
        for x in (-62, -48, -34, -20, -7, 7, 20, 34, 48, 62)
    ]
    return (*mass(h, dome(h, 6, 4, 196), edge, c), *strands(lines, c, 1.8))


def slicked_hair(identity: Identity, c: HairColour) -> Hair:
    """Return hair combed straight back, high at the hairline, with a wet shine."""
    h = head(identity)
    edge = hairline(h, 131, 200, dip=-3)
    shine = curve([(-44, h.top + 22), (-16, h.top + 12), (16, h.top + 12), (44, h.top + 22)])
    lines = [
        [(x, 131 + x * x * 0.006), (x * 0.98, 114 + x * x * 0.006), (x * 0.86, h.top - 4 + x * x * 0.006)]
        for x in range(-63, 64, 9)
    ]
    return Hair((), (*mass(h, dome(h, 9, 3, 200), edge, c), *strands(lines, c, 1.6), line(shine, c.light, 5, 0.8)))


def ponytail(identity: Identity, c: HairColour) -> Hair:
    """Return a high ponytail that swings to one side."""
    h = head(identity)
    tail = outline(
        [(8, 92), (40, 44), (92, 46), (128, 96), (141, 180), (136, 262), (118, 330)],
        [(118, 330), (112, 262), (104, 196), (88, 136), (60, 108), (30, 112)],
    )
    lines = [
        [(34, 74), (84, 74), (116, 140), (124, 230), (120, 300)],
        [(30, 88), (72, 86), (104, 140), (116, 220)],
        [(60, 58), (104, 82), (130, 170), (130, 250)],
    ]
    paint = c.fill
    tie = contour(oval(24, 86, 13, 17), "#b23a48", "#6d1f2a", 2.0)
    return Hair((contour(tail, paint, c.line, 2.0), *strands(lines, c, 2.2), tie), _pulled_hair(h, c))


def braid(identity: Identity, c: HairColour) -> Hair:
    """Return a plait that lies over one shoulder."""
    h = head(identity)
    x0, y0 = h.temple + 4, 262.0
    nodes: list[Shape] = [
        contour(
            outline(
                [(h.temple - 6, 196), (h.temple + 12, 210), (x0 + 15, y0 + 6)], [(x0 - 14, y0 + 6), (h.temple - 8, 214)]
            ),
            c.fill,
            c.line,
            2.0,
        )
    ]
    n = 9
    for i in range(n):
        y, x, w = y0 + i * 25, x0 + 3 * sin(i * 0.6) + i * 0.8, 18 - i * 0.8
        left = outline(
            [(x - w, y + 2), (x - w * 0.2, y - 7), (x + w * 0.45, y + 9)],
            [(x + w * 0.3, y + 27), (x - w * 0.7, y + 21)],
        )
        right = outline(
            [(x + w, y + 2), (x + w * 0.3, y - 4), (x - w * 0.35, y + 12)],
            [(x - w * 0.1, y + 29), (x + w * 0.8, y + 20)],
        )
        nodes.append(contour(left, c.fill if i % 2 else c.light, c.line, 1.8))
        nodes.append(contour(right, c.dark if i % 2 else c.fill, c.line, 1.8))
    x, y = x0 + 5, y0 + n * 25
    tuft = outline([(x - 9, y + 2), (x + 9, y + 2), (x + 13, y + 24)], [(x + 2, y + 36), (x - 10, y + 26)])
    nodes += [contour(tuft, c.fill, c.line, 1.8), contour(oval(x, y + 3, 11, 5.5), "#b23a48", "#6d1f2a", 1.8)]
    return Hair((), (*nodes, *_pulled_hair(h, c)))


def bun(identity: Identity, c: HairColour) -> Hair:
    """Return a knot on top of the head."""
    h = head(identity)
    knot = contour(oval(0, 67, 43, 36), c.fill, c.line, 2.0)
    coils = [
        [(-30, 84), (-34, 58), (-6, 42), (26, 52), (30, 74)],
        [(-18, 90), (-22, 66), (0, 56), (18, 66), (14, 82)],
        [(-38, 72), (-24, 46), (4, 36), (32, 46)],
    ]
    tie = contour(oval(0, 98, 27, 7), "#b23a48", "#6d1f2a", 1.8)
    return Hair((knot, *strands(coils, c, 2.4), tie), _pulled_hair(h, c))


def afro(identity: Identity, c: HairColour) -> Hair:
    """Return a round afro."""
    h, r = head(identity), Stream(identity.seed, "hair_style:afro")
    n, t = 36, h.temple
    cloud = [
        ((t + 56) * k * cos(a), 178 - 138 * k * sin(a))
        for i in range(n)
        for a, k in ((2 * pi * i / n, 1.02 if i % 2 else 0.985),)
    ]
    crown = sorted((p for p in cloud if p[1] < 205), key=lambda p: atan2(220 - p[1], p[0]), reverse=True)
    edge = [(t + 2, 214.0), (t - 4, 196), (t - 10, 174), (t * 0.7, 151), (t * 0.36, 141), (0.0, 138)]
    edge += [(-x, y) for x, y in reversed(edge[:-1])]
    curls = []
    for _ in range(64):
        a, k = r.uniform(0, 2 * pi), r.uniform(0.60, 0.96)
        x, y = (t + 54) * k * cos(a), 178 - 134 * k * sin(a)
        if y < 208 and (abs(x) > t + 6 or y < 130):
            colour, wide = (c.light, 2.2) if r.unit() < 0.55 else (c.line, 2.0)
            curls.append(
                line(curve([(x - 5, y + 2), (x - 2, y - 4), (x + 4, y - 3), (x + 4, y + 3)]), colour, wide, 0.6)
            )
    front = fill(outline(crown, edge), c.fill)
    return Hair((contour(loop(cloud), c.fill, c.line, 2.0),), (front, line(curve(edge), c.line, 1.8, 0.6), *curls))


def _shaved_hair(h: Head, c: HairColour, opacity: float) -> Shape:
    return fill(outline(dome(h, 2.5, 1.5, 204), hairline(h, 138, 204)), c.fill, opacity)


def buzz(identity: Identity, c: HairColour) -> Hair:
    """Return hair cut to a few millimetres everywhere."""
    h, r = head(identity), Stream(identity.seed, "hair_style:buzz-cut")
    area = outline(dome(h, 2.5, 1.5, 204), hairline(h, 138, 204))
    dots = ""
    for _ in range(150):
        x, y = r.spread(h.temple * 1.2), r.uniform(h.top, 190)
        dots += f"M{x:.1f} {y:.1f}l0.6 2.4"
    return Hair(
        (),
        (
            _shaved_hair(h, c, 0.84),
            line(dots, c.line, 1.5, 0.75, clip=area),
            line(curve(hairline(h, 138, 204)), c.line, 1.6, 0.5),
        ),
    )


def mohawk(identity: Identity, c: HairColour) -> Hair:
    """Return a tall crest between shaved sides."""
    h = head(identity)
    right: list[Point] = [
        (0, 4),
        (7, 30),
        (22, 12),
        (23, 40),
        (36, 32),
        (33, 60),
        (43, 60),
        (36, 92),
        (27, 128),
        (10, 156),
        (0, 150),
    ]
    crest = poly([*right, *flip(right)[1:-1]])
    lines = [[(x * 0.55, 146), (x * 0.8, 96), (x * 1.02, 44 + abs(x) * 0.5)] for x in (-27, -16, -6, 6, 16, 27)]
    return Hair((), (_shaved_hair(h, c, 0.34), contour(crest, c.fill, c.line, 2.0), *strands(lines, c, 2.2)))


Style = Callable[[Identity, HairColour], Hair]

HAIR: Mapping[tuple[str, str], Style] = {
    ("hair_length", "bald"): bald,
    ("hair_length", "short"): short,
    ("hair_length", "medium"): medium,
    ("hair_length", "long"): long,
    ("hair_style", "messy"): messy,
    ("hair_style", "slicked-back"): slicked_hair,
    ("hair_style", "ponytail"): ponytail,
    ("hair_style", "braid"): braid,
    ("hair_style", "bun"): bun,
    ("hair_style", "afro"): afro,
    ("hair_style", "buzz-cut"): buzz,
    ("hair_style", "mohawk"): mohawk,
}
