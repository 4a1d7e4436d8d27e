"""Marks on the face: skin irregularities, a tattoo, piercings, make-up and facial hair."""

from facevalue.stimuli.portraits.anatomy import TRAITS, Head, head, lightness, mix, scale, shift, skin
from facevalue.stimuli.portraits.body import brow_colour, face_outline, lip_paths
from facevalue.stimuli.portraits.levels import Identity, Stream
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    curve,
    disc,
    fill,
    flip,
    glow,
    line,
    mirror,
    outline,
    oval,
)


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


def _lid(h: Head, rise: float, wing: float) -> str:
    x, y, w, t = h.eye_x, h.eye_y, h.eye_w, h.eye_h
    outer = (x + w, y - h.eye_tilt)
    low = [
        (x - w, y + 1),
        (x - w * 0.5, y - t * 0.72),
        (x + w * 0.05, y - t),
        (x + w * 0.62, y - t * 0.68 - h.eye_tilt * 0.5),
        outer,
    ]
    top = [
        (outer[0] + wing, outer[1] - wing * 0.55),
        (x + w * 0.55, y - t - rise),
        (x - w * 0.1, y - t - rise),
        (x - w - 1, y - t * 0.5),
    ]
    return outline(low, top)


def makeup(identity: Identity, value: str) -> Nodes:
    """Return eye shadow, liner, lashes and blush; lips are another attribute."""
    h, s = head(identity), skin(identity.skin_tone)
    heavy = value == "heavy"
    x, y, w, t = h.eye_x, h.eye_y, h.eye_w, h.eye_h
    outer = (x + w, y - h.eye_tilt)
    if heavy:
        shade = Stream(identity.seed, "makeup:heavy").choice(("#6a3fb0", "#2b62b5", "#a8327d"))
        shade, blush = (mix(shade, "#ffffff", 0.22) if s.dark else shade), ("#d8486a" if s.dark else "#d63a62")
    else:
        shade, blush = ("#b9705f", "#c4584f") if s.dark else (mix(s.fill, "#8d4a4a", 0.62), mix(s.fill, "#dd4f5e", 0.8))
    liner = [
        (x - w, y + 1),
        (x - w * 0.5, y - t * 0.72),
        (x + w * 0.05, y - t),
        (x + w * 0.62, y - t * 0.68 - h.eye_tilt * 0.5),
        outer,
    ]
    tip = (x + w + (13 if heavy else 6), y - h.eye_tilt - (9 if heavy else 4.5))
    nodes: list[Shape] = [
        *glow(h.cheek * 0.64, h.nose_y - 9, 26 if heavy else 24, blush, 0.30 if heavy else 0.24),
        fill(_lid(h, 11.5 if heavy else 8.5, 10 if heavy else 5), shade, 0.82 if heavy else 0.8),
        line(curve([*liner, tip]), "#0f0a0c", 4.6 if heavy else 3.4),
    ]
    for i in range(5 if heavy else 3):
        k = i / (4 if heavy else 2)
        bx, by = x + w * (-0.35 + 1.25 * k), y - t * (1.0 - 0.55 * k * k)
        nodes.append(line(curve([(bx, by), (bx + 2 + 4 * k, by - (6.5 if heavy else 5))]), "#0f0a0c", 1.9))
    if heavy:
        under = [(x - w * 0.6, y + t * 0.6), (x, y + t * 0.86), (x + w * 0.6, y + t * 0.5), outer]
        nodes.append(line(curve(under), "#0f0a0c", 2.4))
    return mirror(*nodes)


def lipstick(identity: Identity, value: str) -> Nodes:
    """Return lips in a colour: a matt nude, red, or a vivid one."""
    h, s = head(identity), skin(identity.skin_tone)
    upper, lower, seam = lip_paths(h)
    if value == "neutral":
        colour = shift(s.lip, 52, 26, 24) if lightness(s.fill) < 0.6 else shift(s.lip, -40, -28, -16)
    elif value == "red-lipstick":
        colour = "#c4122b"
    else:
        colour = Stream(identity.seed, "lip_makeup:bold").choice(("#6d1a86", "#d4149a", "#3b2fb3"))
    deep = scale(colour, 0.55)
    y, w, low = h.mouth_y, h.mouth_w, h.lip_low
    gloss = curve([(-w * 0.34, y + low * 0.46), (0, y + low * 0.58), (w * 0.34, y + low * 0.46)])
    return (
        Shape(lower, colour, scale(colour, 0.8), 2.2),
        Shape(upper, scale(colour, 0.9), scale(colour, 0.8), 2.2),
        line(seam, deep, 2.2),
        line(gloss, mix(colour, "#ffffff", 0.5), 2.2, 0.4 if value == "neutral" else 0.75),
    )


def _beard(h: Head, drop: float, low: float = 0.0) -> str:
    """Return the bearded part of the face: cheeks, jaw, chin, upper lip.

    ``low`` moves its upper edge from the sideburns (0) towards the mouth (1).
    """
    y, w = h.mouth_y, h.mouth_w
    start = 208.0 + (y - 232) * low
    half = [p for p in h.right_half() if p[1] > start + 12]
    side = drop * (0.3 if drop > 0 else 1.4)
    outer = [(x + side if x else 0.0, v + (drop if v > y else drop * 0.2)) for x, v in half]
    if low == 0:
        outer = [(h.temple - 2, start), *outer]
    inner = [(0.0, h.nose_y + 12), (w * 0.45, h.nose_y + 11), (w + 8, y - 8), (h.jaw * 0.76, y - 14 + 10 * low)]
    inner += (
        [(h.cheek * 0.86, 250.0), (h.temple - 11, start)]
        if low == 0
        else [(outer[0][0] - 4, max(start, 236 + 40 * low))]
    )
    return outline(inner, outer + flip(outer)[1:], flip(inner))


def base_shadow(identity: Identity) -> Nodes:
    """Return the light beard shadow of the base picture."""
    if not TRAITS[identity.gender].beard_shadow:
        return ()
    s, h = skin(identity.skin_tone), head(identity)
    colour = shift(s.fill, -31, -21, -15) if s.dark else shift(s.fill, -44, -38, -30)
    return (fill(_beard(h, -1, 0.2), colour, 0.14), fill(_beard(h, -1, 0.68), colour, 0.84))


def facial_hair(identity: Identity, value: str) -> Nodes:
    """Return what replaces the base's light shadow."""
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, f"facial_hair:{value}")
    hair = brow_colour(identity)
    y, w = h.mouth_y, h.mouth_w
    clip = face_outline(h)
    if value == "clean-shaven":
        return ()
    if value == "stubble":
        tone = "#0f0b0a" if s.dark else mix(shift(s.fill, -62, -58, -54), hair, 0.25)
        dots, count = "", 0
        while count < 520:
            px, py = r.spread(h.jaw * 1.15), r.uniform(y - 26, h.chin - 1)
            dots += f"M{px:.1f} {py:.1f}l0.3 2"
            count += 1
        area = _beard(h, 0)
        ink = shift(s.fill, 20) if s.dark and lightness(hair) > 0.3 else mix(hair, "#0a0807", 0.45)
        return (fill(area, tone, 0.62 if s.dark else 0.8, clip=clip), line(dots, ink, 1.5, 0.8, clip=area))
    strands: list[Shape] = []
    light, dark = mix(hair, "#fff0dd", 0.22), scale(hair, 0.6)
    top = h.nose_y + 9
    whisker = outline(
        [(0, top + 1), (w * 0.4, top), (w * 0.95, y - 5), (w + 12, y + 9)],
        [(w + 12, y + 9), (w * 0.6, y + 1.5), (0, y - 1)],
    )
    hairs = [
        line(curve([(k * 6 + 2, top + 3 + k), (k * 7.5 + 3, y - 3 + k)]), light if k % 2 else dark, 1.4, 0.6)
        for k in range(4)
    ]
    moustache = (*mirror(Shape(whisker, hair, dark, 1.2)), *mirror(*hairs))
    if value == "mustache":
        return moustache
    for i in range(9):
        x = (i - 4) * 13.0
        y0 = y + 24 + abs(x) * -0.12
        strands.append(
            line(
                curve([(x, y0), (x * 1.02, y0 + 14), (x * 0.95, min(h.chin + 10, y0 + 28))]),
                light if i % 2 else dark,
                1.6,
                0.55,
            )
        )
    area = _beard(h, 15)
    mouth = outline(
        [(-w - 1, y + 1), (0, y - h.lip_up - 1), (w + 1, y + 1)],
        [(w + 1, y + 1), (0, y + h.lip_low + 2), (-w - 1, y + 1)],
    )
    upper, lower, seam = lip_paths(h)
    lips = (fill(mouth, s.fill), fill(lower, s.lip_low), fill(upper, s.lip), line(seam, s.deep, 2.0, 0.85))
    return (Shape(area, hair, dark, 1.6), *strands, *lips, *moustache)
