"""Body and bare head: limbs and outlines that clothes are cut from; ears, eyes, brows, nose, mouth, and age."""

from facevalue.stimuli.portraits.anatomy import EYES, Body, Head, Skin, base_hair, body, head, mix, scale, skin
from facevalue.stimuli.portraits.levels import Identity, Stream
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    contour,
    curve,
    disc,
    fill,
    glow,
    line,
    loop,
    mirror,
    outline,
    oval,
    symmetric,
    symmetric_outline,
)


def shoulder_line(b: Body, ease: float = 0) -> list[Point]:
    """Return the right slope from the side of the neck to the end of the shoulder."""
    return [
        (b.neck + 1, 340),
        (b.neck + 9, 366 - ease * 0.4),
        (b.neck + (b.shoulder - b.neck) * 0.42, 387 - ease),
        (b.shoulder - 36, b.shoulder_y - 4 - ease),
    ]


def torso(b: Body, ease: float, hem_y: float, flare: float = 0) -> list[Point]:
    """Return the right side of the trunk from the armpit to ``hem_y``, wider by ``ease``."""
    side = [
        (b.shoulder - 36, b.shoulder_y),
        (max(b.shoulder - 50, b.chest - 6) + ease * 0.5, 494),
        (b.chest + ease, b.chest_y),
        (b.waist + ease, b.waist_y),
        (b.hip + ease, b.hip_y),
    ]
    points = [p for p in side if p[1] < hem_y - 20]
    y0, y1 = b.waist_y, b.hip_y
    t = min(1.0, max(0.0, (hem_y - y0) / (y1 - y0)))
    return [*points, (b.waist + (b.hip - b.waist) * t + ease + flare, hem_y)]


def arm(b: Body, ease: float, end: float = 1.0, hem_ease: float | None = None) -> list[list[Point]]:
    """Return the outline of the right arm down to a share ``end`` of its length: outer, inner segment."""
    hem = ease if hem_ease is None else hem_ease
    ys = (b.shoulder_y, 462.0, 590.0, 700.0, 800.0, b.wrist_y)
    xs = (
        b.shoulder - b.arm * 1.05,
        b.shoulder - b.arm * 0.78,
        (b.shoulder - b.arm * 0.75 + b.elbow_x) / 2,
        b.elbow_x,
        (b.elbow_x + b.wrist_x) / 2 + 2,
        b.wrist_x,
    )
    halves = (b.arm * 0.55, b.arm * 0.96, b.arm * 0.95, b.arm * 0.78, b.arm * 0.76, b.arm * 0.52)
    last_y = b.shoulder_y + (b.wrist_y - b.shoulder_y) * end
    rows: list[tuple[float, float, float]] = []
    for i, (x, y, w) in enumerate(zip(xs, ys, halves, strict=True)):
        if y < last_y - 6:
            rows.append((x, y, w + ease * min(1, i / 1.5)))
            continue
        px, py, pw = xs[i - 1], ys[i - 1], halves[i - 1]
        t = (last_y - py) / (y - py)
        rows.append((px + (x - px) * t, last_y, pw + (w - pw) * t + hem))
        break
    tip = [(b.shoulder - 38, b.shoulder_y - 4 - ease), (b.shoulder - 15, b.shoulder_y + 8 - ease * 0.5)]
    outer = [*tip, *[(x + w, y) for x, y, w in rows[1:]]]
    armpit = max(b.shoulder - b.arm * 1.86, min(b.chest - 14, b.shoulder - 46))
    seam = [(armpit, 500.0), ((armpit + b.shoulder - 38) / 2, b.shoulder_y + 36), tip[0]]
    inner = [(x - w, y) for x, y, w in reversed(rows[2:])]
    return [outer, inner + seam]


def leg(b: Body, ease: float, end_y: float, hem: float | None = None, tight: bool = False) -> list[list[Point]]:
    """Return the right leg from the hip to ``end_y``: outer segment (down), inner segment (up)."""
    k = b.leg
    cx = (b.hip * 0.52, b.hip * 0.50, b.hip * 0.46 + 4, b.hip * 0.44 + 6, b.hip * 0.42 + 8, b.hip * 0.42 + 8)
    ys = (b.hip_y, 1000.0, b.knee_y, 1370.0, b.ankle_y, 1660.0)
    halves = (b.hip * 0.48, b.hip * 0.44, 44 * k, 43 * k, 22 * k + 3, 22 * k + 3)
    rows: list[tuple[float, float, float]] = []
    for i, (x, y, w) in enumerate(zip(cx, ys, halves, strict=True)):
        e = ease * (0.4 if i < 1 else 1.0)
        if hem is not None and y > b.knee_y:
            e += (hem - ease) * (min(y, end_y) - b.knee_y) / (end_y - b.knee_y)
        if y < end_y - 6:
            rows.append((x, y, w + e))
            continue
        px, py, pw = cx[i - 1], ys[i - 1], halves[i - 1]
        t = (end_y - py) / (y - py)
        rows.append((px + (x - px) * t, end_y, pw + (w - pw) * t + (ease if hem is None else hem)))
        break
    gap = 0 if tight else 2
    outer = [(x + w, y) for x, y, w in rows]
    inner = [(max(gap, x - w), y) for x, y, w in reversed(rows) if y > b.hip_y + 5]
    return [outer, inner]


def hand(b: Body) -> tuple[str, str, str]:
    """Return the right hand, its thumb and the lines of its fingers, seen from the back, hanging down."""
    x, y, k = b.wrist_x, b.wrist_y, 0.82 + 0.18 * b.arm / 33

    def point(dx: float, dy: float) -> Point:
        return (x + dx * k, y + dy * k)

    palm = outline(
        [
            point(-17, -12),
            point(-20, 20),
            point(-21, 48),
            point(-16, 84),
            point(-6, 98),
            point(6, 99),
            point(16, 88),
            point(22, 56),
            point(20, 22),
            point(17, -12),
        ],
    )
    thumb = outline([point(-18, 14), point(-31, 36), point(-33, 62), point(-27, 68), point(-20, 52), point(-14, 40)])
    fingers = (
        curve([point(-8, 62), point(-7, 88)])
        + curve([point(2, 60), point(3, 92)])
        + curve([point(12, 62), point(12, 84)])
    )
    return palm, thumb, fingers


def neck(identity: Identity) -> Nodes:
    """Return the neck and the upper chest, with the shadow of the chin."""
    h, b, s = head(identity), body(identity), skin(identity.skin_tone)
    column = symmetric_outline(
        [(0, 280), (b.neck - 1, 284)],
        [(b.neck - 1, 284), (b.neck - 2, 330), *shoulder_line(b)],
        [(b.shoulder - 36, 500), (0, 520)],
    )
    shade = symmetric_outline(
        [(0, 281), (b.neck - 3, 284)],
        [(b.neck - 3, 284), (b.neck - 3, h.chin - 2), (b.neck * 0.62, h.chin + 17), (0, h.chin + 25)],
    )
    nodes: list[Shape] = [
        contour(column, mix(s.fill, s.edge, 0.4), s.line, 1.6),
        fill(shade, s.shadow, 0.8),
        *mirror(line(curve([(10, 388), (34, 381), (70, 386)]), s.shadow, 2.6, 0.7)),
    ]
    if identity.age == "elderly":
        nodes += mirror(
            line(curve([(12, h.chin + 20), (9, h.chin + 38), (5, h.chin + 50)]), s.line, 1.6, 0.4),
            line(curve([(b.neck * 0.7, h.chin + 8), (b.neck * 0.5, h.chin + 32)]), s.line, 1.5, 0.35),
        )
    return tuple(nodes)


def limb_tone(identity: Identity) -> str:
    """Return the skin colour of arms and legs."""
    s = skin(identity.skin_tone)
    return mix(s.fill, s.edge, 0.35)


def hands(identity: Identity) -> Nodes:
    """Return both hands."""
    s, tone = skin(identity.skin_tone), limb_tone(identity)
    palm, thumb, fingers = hand(body(identity))
    return mirror(contour(thumb, tone, s.line, 2.4), contour(palm, tone, s.line, 2.4), line(fingers, s.line, 2.0, 0.5))


def arms(identity: Identity) -> Nodes:
    """Return both arms, for clothes that leave them bare."""
    outer, inner = arm(body(identity), 0, 1.0)
    ink = skin(identity.skin_tone).line
    return mirror(
        fill(outline(outer, inner), limb_tone(identity)), line(curve(outer), ink, 2.4), line(curve(inner), ink, 2.4)
    )


def legs(identity: Identity) -> Nodes:
    """Return both legs and feet, for clothes that leave them bare."""
    b, s, tone = body(identity), skin(identity.skin_tone), limb_tone(identity)
    x, y = b.hip * 0.42 + 8, b.sole_y
    foot = outline(
        [
            (x - 20, y - 80),
            (x - 22, y - 24),
            (x - 14, y - 4),
            (x + 6, y + 4),
            (x + 28, y - 4),
            (x + 28, y - 24),
            (x + 22, y - 80),
        ]
    )
    knee = curve(
        [(b.hip * 0.46 - 14, b.knee_y + 6), (b.hip * 0.46 + 4, b.knee_y + 16), (b.hip * 0.46 + 24, b.knee_y + 4)]
    )
    return mirror(
        contour(outline(*leg(b, 0, b.ankle_y + 10)), tone, s.line, 2.4),
        contour(foot, tone, s.line, 2.4),
        line(knee, s.line, 2.4, 0.4),
    )


def trunk(identity: Identity) -> Nodes:
    """Return the bare front of the trunk that low or open necks show, covered by the clothes elsewhere."""
    b, s = body(identity), skin(identity.skin_tone)
    d = symmetric_outline([(0, 400), (b.shoulder - 40, 408)], torso(b, -2, 900), [(b.hip * 0.9, 900), (0, 900)])
    return (contour(d, limb_tone(identity), s.line, 2.4),)


def face_outline(h: Head) -> str:
    """Return the closed outline of the face."""
    return symmetric(h.right_half())


def ears(identity: Identity) -> Nodes:
    """Return both ears, bare."""
    h, s = head(identity), skin(identity.skin_tone)
    x, y, w, t = h.temple - 3, h.ear_y, h.ear_w, h.ear_h
    shell = loop(
        [
            (x - 2, y - t * 0.75),
            (x + w * 0.75, y - t),
            (x + w + 2, y - t * 0.45),
            (x + w * 0.85, y + t * 0.25),
            (x + w * 0.48, y + t * 0.95),
            (x - 2, y + t * 0.75),
        ]
    )
    rim = curve([(x + 3, y - t * 0.55), (x + w * 0.72, y - t * 0.62), (x + w * 0.6, y), (x + 4, y + t * 0.42)])
    inner = curve([(x + 4, y - t * 0.2), (x + w * 0.42, y - t * 0.12), (x + 5, y + t * 0.25)])
    return mirror(
        contour(shell, mix(s.fill, s.edge, 0.55), s.line, 1.6),
        line(rim, s.line, 1.8, 0.55),
        line(inner, s.line, 1.5, 0.4),
    )


def face(identity: Identity) -> Nodes:
    """Return the face's surface: fill, soft shading, outline."""
    h, s = head(identity), skin(identity.skin_tone)
    d = face_outline(h)
    right = h.right_half()
    side = [(x * k, y) for k, (x, y) in zip((0.99, 0.93, 0.87, 0.83, 0.82, 0.9), right[2:8], strict=True)]
    rim = outline(right[2:8], [(x, y) for x, y in reversed(side)])
    left = [(-x * k, y) for k, (x, y) in zip((0.99, 0.94, 0.92, 0.93, 0.98), right[3:8], strict=True)]
    far = outline([(-x, y) for x, y in right[3:8]], list(reversed(left)))
    brow = outline([(-52, 146), (0, 132), (46, 144)], [(46, 144), (40, 178), (0, 186), (-46, 178)])
    nodes: list[Shape] = [
        Shape(d, s.fill, s.line, 1.8),
        fill(brow, s.light, 0.15),
        fill(rim, s.edge, 0.55),
        fill(far, s.edge, 0.4),
        *mirror(*glow(h.cheek * 0.60, h.nose_y - 1, 25, s.blush, 0.30)),
    ]
    hollow = 0.42 if identity.build == "thin" else 0.0
    if hollow:
        cheek = outline(
            [(h.cheek - 1, 232), (h.cheek * 0.80, 256), (h.cheek * 0.62, 284)],
            [(h.cheek * 0.62, 284), (h.jaw * 0.92, 286), (h.cheek - 1, 250)],
        )
        nodes += mirror(fill(cheek, s.shadow, hollow, clip=d))
    if identity.build == "obese":
        y = h.chin
        fold = curve(
            [(-h.jaw * 0.52, y - 15), (-h.jaw * 0.26, y - 7), (0, y - 6), (h.jaw * 0.26, y - 7), (h.jaw * 0.52, y - 15)]
        )
        nodes.append(line(fold, s.shadow, 2.2, 0.55))
    return tuple(nodes)


def _eye(h: Head, s: Skin, side: int) -> Nodes:
    x, y, w, t, tilt = h.eye_x, h.eye_y, h.eye_w, h.eye_h, h.eye_tilt
    inner, outer = (x - w, y + 1.5), (x + w, y - tilt)
    top = [inner, (x - w * 0.5, y - t * 0.72), (x + w * 0.05, y - t), (x + w * 0.62, y - t * 0.68 - tilt * 0.5), outer]
    low = [outer, (x + w * 0.45, y + t * 0.62), (x - w * 0.25, y + t * 0.66), inner]
    d = outline(top, low)
    colour = EYES[h.iris]
    r = max(6.2, t * 0.94)
    look = x - side * 0.4
    ink = mix(s.deep, "#150d0b", 0.6)
    nodes: list[Shape] = [
        fill(d, mix("#fbf8f4", s.fill, 0.10)),
        fill(oval(look, y - 1, r, r), colour, clip=d),
        disc(look, y - 0.6, r * 0.50, "#130e0c"),
        disc(look + side * 2.2, y - 3.0, 1.8, "#ffffff", 0.92),
        line(curve(top), ink, 2.7 + 0.9 * h.lash),
        line(curve(low), s.line, 1.1, 0.6),
        line(
            curve([(x - w * 0.8, y - t * 0.95 - 1), (x, y - t - 6 + h.lid), (x + w * 0.95, y - t * 0.55 - tilt - 3)]),
            s.line,
            1.5,
            0.5 + 0.2 * h.lid,
        ),
    ]
    if h.lash:
        nodes.append(
            line(curve([(x + w * 0.55, y - t * 0.75 - tilt * 0.5), outer, (x + w + 2.6, y - tilt - 2.6)]), ink, 2.2)
        )
    return tuple(nodes)


def eyes(identity: Identity) -> Nodes:
    """Return both eyes."""
    h, s = head(identity), skin(identity.skin_tone)
    left = tuple(Shape(n.d, n.fill, n.stroke, n.width, n.opacity, n.clip, mirrored=True) for n in _eye(h, s, -1))
    return left + _eye(h, s, 1)


def brow_colour(identity: Identity) -> str:
    """Return the colour of brows and beard: the natural hair's, a little deeper, never lost on the skin."""
    hair, s = base_hair(identity), skin(identity.skin_tone)
    colour = scale(hair, 0.82)
    return mix(colour, "#0d0a09", 0.72) if s.dark and identity.age != "elderly" else colour


def brows(identity: Identity) -> Nodes:
    """Return both brows."""
    h = head(identity)
    x, y, k, a, n = h.eye_x, h.brow_y, h.brow_thick, h.brow_arch, h.brow_length
    top = [
        (x - n, y - k * 0.5 - a * 0.36),
        (x - n * 0.2, y - k * 0.5 - a * 0.55),
        (x + n * 0.45, y - k * 0.4 - a),
        (x + n + 3, y + 4),
    ]
    low = [
        (x + n + 3, y + 4),
        (x + n * 0.45, y + k * 0.38 - a),
        (x - n * 0.2, y + k * 0.5 - a * 0.36),
        (x - n, y + k * 0.42 - a * 0.36),
    ]
    return mirror(fill(outline(top, low), brow_colour(identity), 0.92))


def nose(identity: Identity) -> Nodes:
    """Return the nose, drawn by its shadow side, wings and base."""
    h, s = head(identity), skin(identity.skin_tone)
    w, y, b = h.nose_w, h.nose_y, h.nose_bridge
    side = outline(
        [(b + 2, h.brow_y + 12), (b - 1.5, h.eye_y + 10), (b + 1, y - 18), (w * 0.72, y - 9), (w, y - 2)],
        [(w, y - 2), (w * 0.5, y + 3), (w * 0.35, y - 8), (b * 0.5, y - 22), (b * 0.45, h.eye_y + 8)],
    )
    wing = curve([(w * 0.78, y - 13), (w + 0.8, y - 5), (w * 0.82, y + 2), (w * 0.52, y + 1)])
    nostril = outline(
        [(w * 0.28, y + 2.6), (w * 0.5, y - 0.8), (w * 0.74, y + 1.2)], [(w * 0.74, y + 1.2), (w * 0.5, y + 4)]
    )
    base = curve([(-w * 0.36, y + 3), (-w * 0.16, y + 6), (w * 0.16, y + 6), (w * 0.36, y + 3)])
    return (
        fill(side, s.shadow, 0.36),
        Shape(side, s.shadow, opacity=0.14, mirrored=True),
        *glow(0, y - 8, 9, s.light, 0.8),
        *mirror(line(wing, s.line, 1.9, 0.75), fill(nostril, s.deep, 0.8)),
        line(base, s.line, 1.7, 0.7),
    )


def lip_paths(h: Head) -> tuple[str, str, str]:
    """Return the outlines of the upper and the lower lip and the line between them."""
    y, w, u, low = h.mouth_y, h.mouth_w, h.lip_up, h.lip_low
    seam = [
        (-w, y - 2.2),
        (-w * 0.5, y + 0.5),
        (-w * 0.14, y + 1.2),
        (0, y + 0.4),
        (w * 0.14, y + 1.2),
        (w * 0.5, y + 0.5),
        (w, y - 2.2),
    ]
    bow = [
        (w, y - 2.2),
        (w * 0.55, y - u * 0.68),
        (w * 0.2, y - u),
        (0, y - u * 0.74),
        (-w * 0.2, y - u),
        (-w * 0.55, y - u * 0.68),
        (-w, y - 2.2),
    ]
    under = [(w * 0.94, y), (w * 0.6, y + low * 0.8), (0, y + low), (-w * 0.6, y + low * 0.8), (-w * 0.94, y)]
    return outline(seam, bow), outline(seam, under), curve(seam)


def mouth(identity: Identity) -> Nodes:
    """Return the closed, neutral mouth."""
    h, s = head(identity), skin(identity.skin_tone)
    upper, lower, seam = lip_paths(h)
    y, w = h.mouth_y, h.mouth_w
    under = curve([(-w * 0.42, y + h.lip_low + 5.5), (0, y + h.lip_low + 7.5), (w * 0.42, y + h.lip_low + 5.5)])
    return (
        fill(lower, s.lip_low),
        fill(upper, s.lip),
        line(seam, s.deep, 2.0, 0.85),
        line(under, s.shadow, 2.4, 0.6),
        *mirror(disc(w + 0.5, y - 2.2, 1.5, s.line, 0.6)),
    )


def age_lines(identity: Identity) -> Nodes:
    """Return wrinkles and folds: none, a few, or many; where exactly is the age stream's business."""
    if identity.age == "young":
        return ()
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, "age lines")
    old = identity.age == "elderly"
    ink, o = mix(s.line, s.fill, 0.18 if s.dark else 0.0), (0.50 if old else 0.26)
    ny, my, w = h.nose_y, h.mouth_y, h.mouth_w
    fold = curve([(h.nose_w + 3, ny - 6), (h.nose_w + 12, ny + 8), (w + 6, my - 7 + r.spread(2)), (w + 7, my + 3)])
    bag = curve(
        [
            (h.eye_x - h.eye_w * 0.8, h.eye_y + h.eye_h + 5),
            (h.eye_x, h.eye_y + h.eye_h + 9),
            (h.eye_x + h.eye_w, h.eye_y + h.eye_h + 4),
        ]
    )
    nodes: list[Shape] = [*mirror(line(fold, ink, 2.0, o), line(bag, ink, 1.5, o * 0.85))]
    for i in range(3 if old else 1):
        y = h.brow_y - 20 - 12 * i + r.spread(2)
        k = 40 - 6 * i + r.spread(5)
        nodes.append(
            line(curve([(-k, y + 2), (-k * 0.4, y - 2), (0, y + 1), (k * 0.4, y - 2), (k, y + 2)]), ink, 1.6, o * 0.8)
        )
    x, y = h.eye_x + h.eye_w + 5, h.eye_y
    for i in range(3 if old else 1):
        dy = (i - 1) * 6
        nodes += mirror(
            line(curve([(x + 2, y + dy * 0.5), (x + 7, y + dy * 0.85), (x + 13, y + dy * 1.5)]), ink, 1.4, o * 0.8)
        )
    if old:
        marionette = curve([(w + 4, my + 6), (w + 7, my + 16), (w + 4, my + 25)])
        jowl = curve([(h.jaw * 0.88, h.chin - 44), (h.jaw * 0.78, h.chin - 27), (h.jaw * 0.58, h.chin - 18)])
        nodes += mirror(line(marionette, ink, 1.8, o * 0.9), line(jowl, ink, 1.7, o * 0.7))
        nodes += mirror(*glow(h.eye_x, h.eye_y + 15, 16, s.shadow, 0.28))
    return tuple(nodes)
