"""Neck, shoulders, arms, legs, hands and feet, and the outlines that clothes are cut from."""

from facevalue.stimuli.portraits.anatomy import Body, body, head
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import mix, skin
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    contour,
    curve,
    fill,
    line,
    mirror,
    outline,
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
