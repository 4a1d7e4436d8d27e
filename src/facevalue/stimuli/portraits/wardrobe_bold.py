"""Clothes with a statement: retro prints, torn and patched ones, daring cuts."""

from facevalue.stimuli.portraits import tailor as t
from facevalue.stimuli.portraits.anatomy import Body, body, mix, scale, skin
from facevalue.stimuli.portraits.body import arms, legs, shoulder_line, torso, trunk
from facevalue.stimuli.portraits.levels import Identity, Stream
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    Shape,
    contour,
    curve,
    fill,
    line,
    loop,
    mirror,
    outline,
    oval,
    poly,
    symmetric_outline,
)


def _circles(clip: str, y1: float, y2: float, half: float, colours: tuple[str, str, str]) -> Nodes:
    """Return the nested circles of a seventies print, clipped to a garment."""
    a, b, c = "", "", ""
    row, y = 0, y1
    while y < y2:
        x = -half + (row % 2) * 36
        while x <= half:
            a, b, c = a + oval(x, y, 30, 30), b + oval(x, y, 20, 20), c + oval(x, y, 9, 9)
            x += 72
        y, row = y + 62, row + 1
    return tuple(fill(d, colour, clip=clip) for d, colour in zip((a, b, c), colours, strict=True))


def _long_collar(b: Body, colour: str) -> Nodes:
    n = b.neck
    d = poly([(n - 2, 348), (n + 16, 370), (n + 66, 452), (n * 0.5 + 12, 440), (12, 410), (n * 0.5, 384)])
    return mirror(contour(d, colour, t.ink(colour), t.EDGE))


def boots(b: Body, colour: str, top_y: float) -> Nodes:
    """Return high boots."""
    k, x, y = b.leg, t.foot_x(b), b.sole_y
    cx = b.hip * 0.46
    d = outline(
        [(cx - 44 * k - 2, top_y), (cx - 42 * k, 1370), (x - 24 * k - 6, 1560), (x - 26, y - 16)],
        [(x - 26, y - 16), (x - 6, y + 12), (x + 34, y + 6)],
        [(x + 34, y + 6), (x + 26 * k + 8, 1570), (cx + 46 * k, 1370), (cx + 46 * k + 2, top_y)],
    )
    band = curve([(cx - 42 * k, top_y + 18), (cx + 44 * k, top_y + 18)])
    shine = curve([(cx + 4, top_y + 50), (cx + 6, 1420), (x + 6, 1540)])
    return mirror(
        contour(d, colour, t.ink(colour), t.EDGE),
        line(band, t.ink(colour), 3),
        line(shine, mix(colour, "#ffffff", 0.35), 6, 0.5),
    )


def vintage(identity: Identity) -> t.Outfit:
    """Return seventies clothes: a printed shirt and flares, or a printed dress with boots."""
    b = body(identity)
    base, print_ = Stream(identity.seed, "fashion_style:vintage").choice(
        (("#f0d9a8", ("#d9682b", "#f2b33d", "#7a3d1d")), ("#f3e3c3", ("#3f8f86", "#f0a73a", "#b8432f")))
    )
    if b.female:
        hem = b.hip + 62
        dress = symmetric_outline(
            [(0, 420), (b.neck + 10, 365)],
            [(b.neck + 10, 365), *[p for p in shoulder_line(b, 3) if p[0] > b.neck + 20]],
            [*torso(b, 5, 860), (hem, 1120)],
            [(hem, 1120), (hem * 0.5, 1130), (0, 1132)],
        )
        belt = symmetric_outline(
            [(0, 736), (b.waist + 6, 730)], [(b.waist + 6, 730), (b.waist + 7, 764)], [(b.waist + 7, 764), (0, 772)]
        )
        front: Nodes = (
            *legs(identity),
            *boots(b, "#8a4a24", 1290),
            *arms(identity),
            contour(dress, base, t.ink(base), t.EDGE),
            *_circles(dress, 470, 1140, 260, print_),
            Shape(dress, "none", t.ink(base), t.EDGE),
            contour(belt, "#8a4a24", "#4d2712", t.EDGE),
            contour(oval(0, 752, 22, 22), "#e8c35a", "#7a5c1c", 4),
            fill(oval(0, 752, 11, 11), "#8a4a24"),
            *t.sleeves(b, print_[0], 7, 0.55, 24),
            *_long_collar(b, "#fbf3df"),
        )
        return t.Outfit((), front)
    shirt = t.cut_top(b, 5, 800, "v", -30)
    flare = "#7a4a2b"
    vest_side = torso(b, 9, 830)
    vest = outline(
        [(b.neck + 22, 370), *[p for p in shoulder_line(b, 4) if p[0] > b.neck + 24]],
        vest_side,
        [vest_side[-1], (58, 842)],
        [(54, 700), (b.neck + 24, 540), (b.neck + 22, 370)],
    )
    front = (
        *trunk(identity),
        *t.shoes(b, "#5b3219", "#2e1a0e"),
        *t.trousers(b, flare, 2, 50, 1618),
        contour(shirt, base, t.ink(base), t.EDGE),
        *_circles(shirt, 440, 800, 260, print_),
        line(curve([(0, 446), (0, 796)]), t.ink(base), 3),
        *t.buttons(0, [500, 570, 640, 710], "#fbf3df", 6),
        contour(
            symmetric_outline(
                [(0, 786), (b.waist + 12, 780)],
                [(b.waist + 12, 780), (b.waist + 13, 816)],
                [(b.waist + 13, 816), (0, 824)],
            ),
            "#3d2416",
            "#1f120a",
            t.EDGE,
        ),
        contour(oval(0, 802, 24, 20), "#e8c35a", "#7a5c1c", 4),
        *mirror(
            contour(vest, "#a86a38", "#5a3519", t.EDGE),
            line(curve([(b.neck + 30, 392), (b.neck + 32, 540), (64, 700), (66, 838)]), "#d69a5c", 4),
        ),
        *t.sleeves(b, print_[0], 7, 0.985),
        *_long_collar(b, "#fbf3df"),
    )
    return t.Outfit((), front)


def worn(identity: Identity) -> t.Outfit:
    """Return torn, patched and stained clothes."""
    b, s = body(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, "fashion_style:worn-distressed")
    cloth, denim = r.choice((("#8b8570", "#6f7f92"), ("#7f6f62", "#66758a"), ("#76806f", "#737a86")))
    stain, frayed = scale(cloth, 0.66), mix(cloth, "#ffffff", 0.5)
    y = 872.0
    hem: list[Point] = []
    w = b.hip + 8
    for i in range(17):
        x = w * (1 - i / 8)
        hem.append((x, y + (r.uniform(14, 34) if i % 2 else r.uniform(-16, 2))))
    side = torso(b, 8, 860)
    neckline: list[Point] = [(0, 424), (b.neck * 0.5, 412), (b.neck * 0.62, 426), (b.neck + 18, 370)]
    right = [*neckline, *[p for p in shoulder_line(b, 3) if p[0] > b.neck + 26], *side]
    shirt = poly([*right, *hem, *[(-x, v) for x, v in reversed(right)]])
    skin_hole = mix(s.fill, s.edge, 0.35)

    def hole(x: float, v: float, a: float, h: float) -> Nodes:
        points: list[Point] = [
            (x - a, v),
            (x - a * 0.4, v - h),
            (x, v - h * 0.5),
            (x + a * 0.5, v - h),
            (x + a, v),
            (x + a * 0.5, v + h * 0.8),
            (x, v + h * 0.5),
            (x - a * 0.5, v + h),
        ]
        threads = "".join(
            curve([(x - a * 0.8, v + k * h), (x, v + k * h + 3), (x + a * 0.8, v + k * h - 2)])
            for k in (-0.4, 0.0, 0.4)
        )
        return (contour(poly(points), skin_hole, "#3a332c", t.EDGE), line(threads, "#e9e6df", 3))

    def patch(x: float, v: float, a: float, colour: str) -> Nodes:
        d = poly([(x - a, v - a * 0.9), (x + a, v - a), (x + a * 0.95, v + a), (x - a * 1.05, v + a * 0.9)])
        stitches = "".join(
            curve([(x + dx * a, v + dy * a), (x + dx * a * 1.3, v + dy * a * 1.3)])
            for dx, dy in (
                (-0.9, -0.6),
                (-0.9, 0),
                (-0.9, 0.6),
                (0.9, -0.6),
                (0.9, 0),
                (0.9, 0.6),
                (-0.5, -0.9),
                (0.1, -0.9),
                (0.6, -0.9),
                (-0.5, 0.9),
                (0.1, 0.9),
                (0.6, 0.9),
            )
        )
        return (contour(d, colour, t.ink(colour), t.EDGE), line(stitches, "#2d2823", 4))

    def blot(x: float, v: float, a: float) -> Shape:
        return fill(
            loop(
                [
                    (x - a, v),
                    (x - a * 0.3, v - a * 0.8),
                    (x + a * 0.7, v - a * 0.5),
                    (x + a, v + a * 0.3),
                    (x, v + a * 0.7),
                ]
            ),
            stain,
            0.75,
        )

    knee = b.hip * 0.46
    front: Nodes = (
        *t.shoes(b, "#6b5a4a", "#8d8577", "#b9b09f"),
        *mirror(fill(oval(t.foot_x(b) + 12, b.sole_y - 14, 11, 7), skin_hole)),
        *t.trousers(b, denim, 8, 14, 1548),
        *mirror(
            line(
                "".join(
                    curve([(x, 1540), (x + 3, 1574)]) for x in range(int(b.hip * 0.42) - 26, int(b.hip * 0.42) + 46, 11)
                ),
                mix(denim, "#ffffff", 0.5),
                4,
            )
        ),
        *hole(knee + 4, b.knee_y - 6, 36 * b.leg, 40),
        *hole(-knee, b.knee_y - 90, 28 * b.leg, 26),
        *patch(-knee - 2, b.knee_y + 60, 32 * b.leg, "#8b4a3c"),
        *patch(b.hip * 0.56, 1050, 32, "#6d7a45"),
        *arms(identity),
        contour(shirt, cloth, t.ink(cloth), t.EDGE),
        blot(-b.chest * 0.42, 560, 42),
        blot(b.waist * 0.30, 760, 36),
        blot(-b.waist * 0.2, 690, 20),
        blot(b.chest * 0.1, 500, 16),
        *patch(b.chest * 0.46, 600, 40, "#7d5a6b"),
        *hole(-b.waist * 0.46, 800, 34, 22),
        *hole(b.waist * 0.52, 720, 20, 14),
        line("".join(curve([(x, y - 8), (x + 2, y + 18)]) for x in range(-int(w) + 14, int(w) - 8, 22)), frayed, 3),
        *t.sleeves(b, cloth, 10, 0.62, 12),
        *hole(b.shoulder - b.arm * 0.6, 520, b.arm * 0.5, 22),
        *mirror(
            line(
                "".join(curve([(b.elbow_x + k, 706), (b.elbow_x + k + 2, 738)]) for k in range(-24, 30, 10)), frayed, 4
            )
        ),
    )
    return t.Outfit((), front)


def daring(identity: Identity) -> t.Outfit:
    """Return a short dress with cut-outs and high boots, or a deep-cut top with leather trousers."""
    b = body(identity)
    r = Stream(identity.seed, "fashion_style:daring")
    shine = r.choice(("#c2185b", "#17181c", "#6a1b9a"))
    if b.female:
        hem = b.hip + 6
        w = b.waist
        dress = symmetric_outline(
            [(0, 560), (b.neck * 0.5, 500), (b.neck + 24, 374)],
            [(b.neck + 24, 374), (b.neck + 48, 382)],
            [(b.neck + 48, 382), (b.chest * 0.72, 470), (b.chest - 2, 520), (b.chest + 2, 572), (b.chest - 4, 628)],
            [(b.chest - 4, 628), (w * 0.46, 690), (w * 0.46, 730), (b.hip - 6, 808)],
            [(b.hip - 6, 808), (b.hip + 5, 880), (hem, 1040)],
            [(hem, 1040), (0, 1048)],
        )
        front: Nodes = (
            *legs(identity),
            *boots(b, "#1b1b20", 1150),
            *trunk(identity),
            *arms(identity),
            contour(dress, shine, t.ink(shine), t.EDGE),
            *mirror(
                line(
                    curve([(b.hip * 0.66, 850), (b.hip * 0.74, 940), (b.hip * 0.7, 1030)]),
                    mix(shine, "#ffffff", 0.5),
                    7,
                    0.6,
                )
            ),
            *mirror(
                line(
                    curve([(w * 0.46, 692), (w * 0.8, 700), (w + 1, 690)])
                    + curve([(w * 0.46, 726), (w * 0.8, 734), (w + 1, 742)]),
                    shine,
                    6,
                )
            ),
            contour(oval(0, 712, 20, 20), "#e9c95e", "#7a5c1c", 4),
            fill(oval(0, 712, 10, 10), shine),
            line(curve([(-b.neck - 2, 380), (0, 392), (b.neck + 2, 380)]), "#e9c95e", 6),
        )
        return t.Outfit((), front)
    leather = "#1b1b20"
    deep = symmetric_outline(
        [(0, 690), (b.neck * 0.9, 520), (b.neck + 20, 372)],
        [(b.neck + 20, 372), (b.neck + 64, 388)],
        [(b.neck + 64, 384), (b.shoulder - 62, 480), (b.chest - 2, 540)],
        [(b.chest - 2, 540), *[p for p in torso(b, 2, 822) if p[1] > 600]],
        [(b.waist + 10, 822), (0, 828)],
    )
    net: list[Shape] = []
    for k in range(7):
        net.append(
            line(
                curve([(-b.neck * 0.8, 470 + 30 * k), (b.neck * 0.8, 500 + 30 * k)])
                + curve([(b.neck * 0.8, 470 + 30 * k), (-b.neck * 0.8, 500 + 30 * k)]),
                "#1b1b20",
                2.6,
                0.8,
            )
        )
    gap = symmetric_outline([(0, 500), (b.neck * 0.9, 520)], [(b.neck * 0.9, 520), (0, 690)])
    links = [Shape(oval(x, 404 + 46 * (1 - (x / 60) ** 2), 7, 6), "none", "#e9c95e", 4) for x in range(-54, 55, 12)]
    y = b.knee_y
    slits = "".join(curve([(b.hip * 0.30, y - 250 + 44 * k), (b.hip * 0.72, y - 256 + 44 * k)]) for k in range(4))
    tone = mix(skin(identity.skin_tone).fill, skin(identity.skin_tone).edge, 0.35)
    front = (
        *trunk(identity),
        *t.trousers(b, leather, 0, 2, 1480),
        *boots(b, leather, 1400),
        *mirror(line(slits, tone, 14), line(curve([(b.hip * 0.8, 900), (b.hip * 0.72, 1200)]), "#7d7f8a", 6, 0.7)),
        *arms(identity),
        contour(deep, shine, mix(t.ink(shine), "#ffffff", 0.1), t.EDGE),
        *[Shape(n.d, n.fill, n.stroke, n.width, n.opacity, gap) for n in net],
        *mirror(
            line(
                curve([(b.chest * 0.62, 560), (b.chest * 0.7, 660), (b.waist * 0.66, 760)]),
                mix(shine, "#ffffff", 0.5),
                7,
                0.6,
            )
        ),
        contour(
            symmetric_outline(
                [(0, 796), (b.waist + 8, 790)],
                [(b.waist + 8, 790), (b.waist + 10, 826)],
                [(b.waist + 10, 826), (0, 834)],
            ),
            "#3a3a42",
            "#0c0c0e",
            t.EDGE,
        ),
        *mirror(*[contour(oval(22 + 26 * i, 812, 6, 6), "#d7dce1", "#55585f", 2) for i in range(4)]),
        *links,
        *mirror(contour(oval(b.wrist_x, b.wrist_y - 14, b.arm * 0.6, 13), leather, "#000000", 2.4)),
    )
    return t.Outfit((), front)
