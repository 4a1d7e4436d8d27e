"""Skin irregularities, the facial tattoo and piercings."""

from facevalue.stimuli.portraits.anatomy import Head, head
from facevalue.stimuli.portraits.face import face_outline
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import mix, scale, shift, skin
from facevalue.stimuli.portraits.shapes import Nodes, Point, Shape, curve, disc, fill, line, outline, oval
from facevalue.stimuli.portraits.streams import Stream


def _clear(h: Head, x: float, y: float, room: float) -> bool:
    """Return whether a spot lies on plain skin, off the eyes, brows and mouth."""
    eye = abs(abs(x) - h.eye_x) < h.eye_w + room and h.brow_y - 14 < y < h.eye_y + 13
    mouth = abs(x) < h.mouth_w + room and abs(y - h.mouth_y) < 13 + room
    nose = abs(x) < h.nose_w and abs(y - h.nose_y) < 7
    return not (eye or mouth or nose)


def _freckles(h: Head, r: Stream, colour: str) -> Nodes:
    nodes: list[Shape] = []
    while len(nodes) < 84:
        x = r.spread(h.cheek * 0.86)
        y = h.eye_y + 33 + r.spread(25) - abs(x) * 0.10
        size = r.uniform(1.8, 3.1)
        if _clear(h, x, y, 4):
            nodes.append(fill(oval(x, y, size, size * 0.86), colour))
    return tuple(nodes)


def _acne(h: Head, r: Stream, tone: str, dark: bool) -> Nodes:
    halo, spot, head_ = ("#8f4a38", "#c4604a", "#e9b79a") if dark else ("#e0705c", "#c8402f", "#f6dcb8")
    if not dark:
        halo, spot = mix(tone, halo, 0.62), mix(tone, spot, 0.85)
    nodes: list[Shape] = []
    count = 0
    while count < 19:
        x, y = r.spread(h.cheek * 0.95), r.uniform(h.eye_y + 22, h.chin - 14)
        if count < 5:
            x, y = r.spread(46), r.uniform(152, h.brow_y - 16)
        wide = h.cheek * 0.84 if y < 270 else h.jaw * 0.72
        if not _clear(h, x, y, 6) or abs(x) > wide:
            continue
        size = r.uniform(3.0, 4.8)
        nodes += [disc(x, y, size * 1.35, halo), disc(x, y, size * 0.85, spot)]
        if count % 3 == 0:
            nodes.append(disc(x - 0.6, y - 0.8, size * 0.34, head_))
        count += 1
    return tuple(nodes)


def _scars(h: Head, r: Stream, tone: str, dark: bool) -> Nodes:
    rim, core = (
        (scale(tone, 0.55), shift(tone, 78, 58, 52))
        if dark
        else (mix(tone, "#8a3a34", 0.62), mix(tone, "#fff4ee", 0.55))
    )
    side = 1 if r.unit() < 0.5 else -1

    def cut(points: list[Point], stitches: int) -> list[Shape]:
        points = [(side * x, y) for x, y in points]
        out = [line(curve(points), rim, 5.4), line(curve(points), core, 2.4)]
        (x0, y0), (x1, y1) = points[0], points[-1]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        nx, ny = -(y1 - y0) / length * 6.5, (x1 - x0) / length * 6.5
        for i in range(stitches):
            t = (i + 0.7) / (stitches + 0.4)
            x, y = x0 + (x1 - x0) * t, y0 + (y1 - y0) * t
            out.append(line(curve([(x - nx, y - ny), (x + nx, y + ny)]), rim, 2.0))
        return out

    y = h.eye_y + 22 + r.spread(4)
    cheek = cut([(h.eye_x + 4, y), (h.eye_x + 15, y + 22), (h.eye_x + 19, y + 48)], 4)
    brow = cut([(-h.eye_x - 2, h.brow_y - 30), (-h.eye_x + 6, h.brow_y - 17), (-h.eye_x + 8, h.brow_y + 8)], 0)
    chin = cut([(-12, h.mouth_y + 22), (-22, h.mouth_y + 27)], 0)
    return tuple(cheek + brow + chin)


def _moles(h: Head, r: Stream, tone: str, dark: bool) -> Nodes:
    colour = "#0e0807" if dark else mix(tone, "#3a1a10", 0.86)
    rim = shift(tone, 30, 22, 16) if dark else mix(tone, "#3a1a10", 0.4)
    side = 1 if r.unit() < 0.5 else -1
    spots = [
        (side * (h.mouth_w + 8), h.mouth_y - 17, 4.9),
        (-side * h.cheek * 0.55, h.eye_y + 38 + r.spread(6), 4.4),
        (side * h.cheek * 0.66, h.eye_y + 30 + r.spread(6), 3.9),
        (-side * (18 + r.spread(8)), h.mouth_y + 24, 4.2),
        (side * (22 + r.spread(10)), h.brow_y - 26, 4.2),
    ]
    nodes: list[Shape] = []
    for x, y, size in spots:
        nodes += [
            disc(x, y, size + 1.3, rim),
            disc(x, y, size, colour),
            disc(x - 1.1, y - 1.2, size * 0.3, mix(colour, tone, 0.5)),
        ]
    return tuple(nodes)


def irregularities(identity: Identity, value: str) -> Nodes:
    """Return freckles, acne, scars or moles."""
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, f"skin_irregularities:{value}")
    if value == "freckles":
        colour = mix(scale(s.fill, 0.30), "#140a06", 0.3) if s.dark else mix(s.fill, "#7c3d1c", 0.74)
        return _freckles(h, r, colour)
    if value == "acne":
        return _acne(h, r, s.fill, s.dark)
    if value == "scars":
        return _scars(h, r, s.fill, s.dark)
    return _moles(h, r, s.fill, s.dark)


def tattoo(identity: Identity) -> Nodes:
    """Return a facial tattoo: a curved motif from temple to cheek, and marks over the other brow."""
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, "tattoos:facial-tattoo")
    side = 1 if r.unit() < 0.5 else -1
    ink = "#06090c" if s.dark else "#22313f"
    clip = face_outline(h)
    x, y = h.eye_x + h.eye_w, h.eye_y

    def flip(*points: Point) -> list[Point]:
        return [(side * px, py) for px, py in points]

    c = h.cheek
    blades = [
        (
            [(x + 4, y - 26), (c - 6, y - 12), (c - 8, y + 30), (x - 4, y + 62)],
            [(x - 4, y + 62), (c - 18, y + 28), (c - 18, y - 4)],
        ),
        ([(x + 3, y + 4), (c - 22, y + 16), (x + 2, y + 40)], [(x + 2, y + 40), (c - 32, y + 20)]),
        ([(x - 14, y + 20), (x + 3, y + 30), (x - 12, y + 52)], [(x - 12, y + 52), (x - 6, y + 32)]),
        ([(x + 2, y - 34), (x + 12, y - 52), (x - 12, y - 62)], [(x - 12, y - 62), (x + 2, y - 50)]),
    ]
    nodes = [fill(outline(flip(*a), flip(*b)), ink, 0.94, clip=clip) for a, b in blades]
    nodes += [
        disc(-side * (h.eye_x - 12 + 12 * i), h.brow_y - 15 - 3 * (1 - abs(i - 1)), 3.6, ink, 0.94) for i in range(3)
    ]
    nodes.append(line(curve(flip((-4, h.mouth_y + 20), (0, h.chin - 6))), ink, 3.4, 0.94))
    nodes.append(
        line(
            curve(flip((-11, h.mouth_y + 21), (-9, h.chin - 10))) + curve(flip((11, h.mouth_y + 21), (9, h.chin - 10))),
            ink,
            2.6,
            0.94,
        )
    )
    return tuple(nodes)


STEEL, STEEL_EDGE, GOLD, GOLD_EDGE = "#e9eef4", "#4b5561", "#ecc75a", "#77561a"


def _ring(x: float, y: float, r: float, gold: bool = False, width: float = 2.4) -> Nodes:
    core, rim = (GOLD, GOLD_EDGE) if gold else (STEEL, STEEL_EDGE)
    d = oval(x, y, r, r)
    return (line(d, rim, width + 2), line(d, core, width))


def _ball(x: float, y: float, r: float = 3.4) -> Nodes:
    return (disc(x, y, r + 1.2, STEEL_EDGE), disc(x, y, r, STEEL), disc(x - r * 0.3, y - r * 0.3, r * 0.3, "#ffffff"))


def _nose(h: Head, side: int) -> Nodes:
    return _ring(side * (h.nose_w + 0.5), h.nose_y + 1.5, 6.0)


def _lip(h: Head, side: int) -> Nodes:
    return _ring(side * h.mouth_w * 0.48, h.mouth_y + h.lip_low + 0.5, 6.4)


def _brow(h: Head, side: int) -> Nodes:
    x, y, k = side * (h.eye_x + 12), h.brow_y - h.brow_arch * 0.7, h.brow_thick * 0.5 + 5
    bar = curve([(x - side * 2, y + k), (x + side * 2, y - k)])
    return (
        line(bar, STEEL_EDGE, 4.4),
        line(bar, STEEL, 2.2),
        *_ball(x - side * 2, y + k + 1),
        *_ball(x + side * 2, y - k - 1),
    )


def piercings(identity: Identity, value: str) -> Nodes:
    """Return rings, bars and earrings."""
    h = head(identity)
    side = 1 if Stream(identity.seed, "piercings side").unit() < 0.5 else -1
    if value == "single-nose":
        return _nose(h, side)
    if value == "single-lip":
        return _lip(h, side)
    if value == "single-eyebrow":
        return _brow(h, side)
    x, y = h.temple + h.ear_w * 0.42, h.ear_y + h.ear_h * 0.85
    nodes: list[Shape] = []
    if value == "earrings":
        for s in (-1, 1):
            nodes += [
                *_ring(s * x, y + 15, 13, gold=True, width=3.4),
                disc(s * x, y, 3.6, GOLD_EDGE),
                disc(s * x, y, 2.4, GOLD),
            ]
        return tuple(nodes)
    nodes += [*_nose(h, side), *_lip(h, side), *_lip(h, -side), *_brow(h, side), *_brow(h, -side)]
    nodes += _ring(0, h.nose_y + 8, 6.4)
    for s in (-1, 1):
        nodes += _ball(s * x, y - 2)
        nodes += _ring(s * (h.temple + h.ear_w - 2), h.ear_y - h.ear_h * 0.25, 5)
        nodes += _ring(s * (h.temple + h.ear_w * 0.9 - 2), h.ear_y - h.ear_h * 0.25 + 17, 5)
    return tuple(nodes)
