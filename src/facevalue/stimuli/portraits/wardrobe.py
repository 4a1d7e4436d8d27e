"""Wardrobe: dressed clothes, from business suit to luxury coat, and clothes of leisure."""

from facevalue.stimuli.portraits import tailor as t
from facevalue.stimuli.portraits.anatomy import Body, body, mix, scale
from facevalue.stimuli.portraits.body import arm, arms, limb_tone, shoulder_line, torso, trunk
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
from facevalue.stimuli.portraits.tailor import (
    EDGE,
    Outfit,
    buttons,
    cuffs,
    heels,
    ink,
    jacket,
    lapels,
    shirt_collar,
    shoes,
    sleeves,
    top,
    trousers,
)

GOLD = "#d9b04c"


def _tie(colour: str) -> Nodes:
    knot = poly([(-13, 396), (13, 396), (9, 420), (-9, 420)])
    blade = poly([(-9, 420), (9, 420), (21, 650), (0, 682), (-21, 650)])
    stripes = "".join(curve([(-18, y + 16), (18, y - 12)]) for y in range(452, 660, 36))
    return (
        contour(blade, colour, ink(colour), EDGE),
        line(stripes, mix(colour, "#ffffff", 0.45), 5, clip=blade),
        contour(knot, colour, ink(colour), EDGE),
    )


def _pocket_square(b: Body, colour: str) -> Nodes:
    x = b.chest * 0.62
    return (
        contour(
            poly([(x - 20, 552), (x - 12, 532), (x - 2, 544), (x + 8, 530), (x + 18, 552)]), colour, ink(colour), 2
        ),
    )


def _flaps(b: Body, cloth: str, y: float = 800) -> Nodes:
    x = b.waist * 0.62
    d = poly([(x - 30, y), (x + 30, y - 5), (x + 31, y + 16), (x - 29, y + 21)])
    return mirror(contour(d, scale(cloth, 0.92), ink(cloth), 2.4))


def professional(identity: Identity) -> Outfit:
    """Return a business suit: with shirt and tie, or with a blouse."""
    b = body(identity)
    r = Stream(identity.seed, "fashion_style:professional")
    cloth, tie = r.choice((("#2b3650", "#8f2336"), ("#3c3f46", "#28497c"), ("#262b36", "#6b2440")))
    shirt = "#f4f5f7"
    neck = (*top(b, shirt, "#a9aeb8", 0, 900, "v" if b.female else "crew", -40 if b.female else 0),)
    front: Nodes = (
        *(trunk(identity) if b.female else ()),
        *(heels(b, "#1d1b1f", limb_tone(identity)) if b.female else ()),
        *trousers(b, cloth, 6, 14 if not b.female else 10),
        *(() if b.female else shoes(b, "#221c19")),
        *neck,
        *(() if b.female else _tie(tie)),
        *jacket(b, cloth, 12, 925, (50, 8)),
        *lapels(b, cloth, 706, 58, 6),
        *shirt_collar(b, shirt, 16 if b.female else 4),
        *buttons(0, [716, 772], scale(cloth, 0.6), 6),
        *_flaps(b, cloth, 812),
        *(() if b.female else _pocket_square(b, shirt)),
        *sleeves(b, cloth, 9, 0.985),
        *cuffs(b, shirt, 5, 1.0, 9),
    )
    return Outfit((), front)


def _tuxedo(b: Body) -> Nodes:
    cloth, satin, shirt = "#1c1d23", "#34363f", "#f7f7f8"
    bow = poly([(0, 402), (34, 386), (36, 420), (0, 408), (-36, 420), (-34, 386)])
    pleats = "".join(curve([(x, 430), (x, 690)]) for x in (-26, -18, 18, 26))
    return (
        *trousers(b, cloth, 6, 12),
        *mirror(
            line(curve([(b.hip + 2, 900), (b.hip * 0.46 + 42 * b.leg + 6, 1240), (b.hip * 0.42 + 40, 1560)]), satin, 7)
        ),
        *shoes(b, "#121214"),
        *top(b, shirt, "#b4b7bf", 0, 900),
        line(pleats, "#c9ccd3", 2.6),
        *buttons(0, [470, 530, 590], "#1c1d23", 5),
        *jacket(b, cloth, 12, 915, (54, 8), 700),
        *lapels(b, satin, 690, 74, 6, shawl=True),
        *shirt_collar(b, shirt, 5),
        contour(bow, "#17181d", "#000000", EDGE),
        contour(oval(0, 404, 9, 11), "#24262d", "#000000", 2),
        *buttons(0, [712], "#3a3c46", 7),
        *_pocket_square(b, "#f7f7f8"),
        *sleeves(b, cloth, 9, 0.985),
        *cuffs(b, shirt, 5, 1.0, 9),
    )


def _gown(identity: Identity, b: Body, cloth: str) -> Nodes:
    light, dark = mix(cloth, "#ffffff", 0.22), scale(cloth, 0.66)
    w = b.waist + 3
    hem = b.hip + 96
    dress = symmetric_outline(
        [(0, 512), (b.chest * 0.36, 494), (b.chest * 0.66, 500), (b.chest - 4, 530)],
        [
            (b.chest - 4, 530),
            (b.chest + 2, b.chest_y + 20),
            (w, b.waist_y - 14),
            (b.hip + 7, b.hip_y),
            (b.hip + 24, 1120),
            (hem, 1640),
        ],
        [(hem, 1640), (hem * 0.5, 1655), (0, 1652)],
    )
    folds: list[Shape] = []
    for k in (0.12, 0.34, 0.58, 0.8):
        folds += mirror(line(curve([(w * k, b.waist_y + 30), (b.hip * k, 1040), (hem * k * 1.05, 1636)]), dark, 4, 0.6))
    shine = outline(
        [(20, 800), (b.hip * 0.5, 1100), (hem * 0.46, 1640)], [(hem * 0.66, 1644), (b.hip * 0.72, 1100), (40, 800)]
    )
    strap = mirror(
        contour(
            poly([(b.chest * 0.60, 504), (b.neck + 34, 377), (b.neck + 46, 381), (b.chest * 0.74, 508)]),
            cloth,
            ink(cloth),
            2.4,
        )
    )
    sash = symmetric_outline(
        [(0, b.waist_y - 26), (w + 1, b.waist_y - 32)],
        [(w + 1, b.waist_y - 32), (w + 2, b.waist_y + 14)],
        [(w + 2, b.waist_y + 14), (0, b.waist_y + 22)],
    )
    gems = [
        contour(oval(x, 404 + 26 * (1 - (x / (b.neck + 12)) ** 2), 6, 6), "#f4f7fb", "#8d99a8", 1.6)
        for x in (-34, -20, -7, 7, 20, 34)
    ]
    return (
        *trunk(identity),
        *arms(identity),
        *strap,
        contour(dress, cloth, ink(cloth), EDGE),
        *mirror(fill(shine, light, 0.35)),
        *folds,
        contour(sash, light, ink(cloth), EDGE),
        *gems,
        contour(oval(0, 444, 8, 10), "#dfe9f5", "#8d99a8", 1.8),
    )


def formal(identity: Identity) -> Outfit:
    """Return evening wear: a tuxedo, or a floor-length gown."""
    b = body(identity)
    if not b.female:
        return Outfit((), _tuxedo(b))
    cloth = Stream(identity.seed, "fashion_style:formal").choice(("#7d1730", "#14524a", "#2b2a66"))
    return Outfit((), _gown(identity, b, cloth))


def smart_casual(identity: Identity) -> Outfit:
    """Return a blazer over an open collar, with chinos and brown shoes."""
    b = body(identity)
    r = Stream(identity.seed, "fashion_style:smart-casual")
    cloth, shirt = r.choice((("#4d6787", "#f2f4f7"), ("#5f7a70", "#f4f1ea"), ("#51618c", "#e3edf8")))
    chino = "#cdb48a"
    belt = symmetric_outline(
        [(0, 790), (b.waist + 12, 786)], [(b.waist + 12, 786), (b.waist + 13, 814)], [(b.waist + 13, 814), (0, 820)]
    )
    front: Nodes = (
        *trunk(identity),
        *trousers(b, chino, 4, 6, 1578),
        *shoes(b, "#8a5733", "#5a3a24"),
        *top(b, shirt, "#aab3bf", 2, 800, "v", 6),
        *buttons(0, [510, 570, 630, 690, 750], "#c3cad3", 4.5),
        contour(belt, "#6d4529", "#3c2616", EDGE),
        contour(poly([(-16, 790), (16, 790), (16, 818), (-16, 818)]), GOLD, "#7a5c1c", 3),
        *jacket(b, cloth, 12, 925, (62, 66)),
        *lapels(b, cloth, 690, 56, 44),
        *shirt_collar(b, shirt, 24),
        *_flaps(b, cloth, 822),
        *sleeves(b, cloth, 9, 0.97),
        *cuffs(b, shirt, 5, 1.0, 14),
    )
    return Outfit((), front)


def luxury(identity: Identity) -> Outfit:
    """Return a long coat with a fur collar, gold buttons, chain, belt and a silk scarf."""
    b = body(identity)
    cloth = Stream(identity.seed, "fashion_style:luxury").choice(("#c89b63", "#efe6d6", "#5d2238"))
    fur, silk = ("#5a3f2c", "#7b2440") if cloth != "#5d2238" else ("#e6dccb", "#c7a24b")
    dark = ink(cloth)
    hem = max(b.hip + 34, b.waist + 40)
    coat = symmetric_outline(
        [(0, 420), (b.neck + 8, 364)],
        [(b.neck + 8, 362), *[p for p in shoulder_line(b, 7) if p[0] > b.neck + 20]],
        [*torso(b, 15, 870), (hem, 1320)],
        [(hem, 1320), (0, 1334)],
    )
    collar: list[tuple[float, float]] = [
        (b.neck - 8, 350),
        (b.neck + 36, 356),
        (b.neck + 74, 408),
        (b.neck + 58, 520),
        (b.neck + 24, 640),
        (14, 724),
    ]
    inside: list[tuple[float, float]] = [(6, 700), (b.neck * 0.55, 560), (b.neck * 0.8, 450), (b.neck - 8, 350)]
    tufts = "".join(
        curve([(x, y), (x + 7, y + 13)])
        for x, y in (
            (b.neck + 20, 378),
            (b.neck + 46, 400),
            (b.neck + 24, 420),
            (b.neck + 52, 446),
            (b.neck + 18, 470),
            (b.neck + 44, 500),
            (b.neck + 16, 540),
            (b.neck + 30, 580),
            (b.neck, 610),
            (30, 660),
        )
    )
    scarf = symmetric_outline([(0, 366), (b.neck + 4, 356)], [(b.neck + 4, 356), (b.neck * 0.72, 480), (0, 640)])
    print_ = [
        contour(oval(x, y, 8, 8), GOLD, "#7a5c1c", 1.6)
        for x, y in ((-18, 412), (16, 430), (-8, 462), (12, 500), (-6, 540), (4, 580))
    ]
    belt = symmetric_outline(
        [(0, b.waist_y - 4), (b.waist + 16, b.waist_y - 10)],
        [(b.waist + 16, b.waist_y - 10), (b.waist + 18, b.waist_y + 28)],
        [(b.waist + 18, b.waist_y + 28), (0, b.waist_y + 36)],
    )
    y = b.waist_y
    chain = [
        Shape(oval(b.waist * 0.5 + 9 * i, y + 46 + 20 * (1 - ((i - 3) / 3) ** 2), 6, 4.5), "none", GOLD, 3.4)
        for i in range(7)
    ]
    front: Nodes = (
        *(heels(b, "#1c1a1d", limb_tone(identity)) if b.female else ()),
        *trousers(b, "#1f1d22", 0, 4),
        *(() if b.female else shoes(b, "#2a1f1a", GOLD)),
        contour(coat, cloth, dark, EDGE),
        line(curve([(0, 700), (0, 1328)]), dark, 3),
        *mirror(line(curve([(b.hip * 0.6, 900), (b.hip * 0.66, 1100), (hem * 0.66, 1320)]), dark, 3, 0.4)),
        *mirror(line(curve([(-hem, 1304), (-hem * 0.5, 1314), (0, 1318)]), GOLD, 6)),
        contour(belt, scale(fur, 0.8), scale(fur, 0.4), EDGE),
        contour(poly([(-26, y - 10), (26, y - 10), (26, y + 40), (-26, y + 40)]), GOLD, "#7a5c1c", 4),
        fill(poly([(-13, y + 3), (13, y + 3), (13, y + 27), (-13, y + 27)]), scale(fur, 0.8)),
        *buttons(-44, [850, 930, 1010], GOLD, 11),
        *buttons(44, [850, 930, 1010], GOLD, 11),
        *chain,
        contour(scarf, silk, ink(silk), EDGE),
        *print_,
        *mirror(
            contour(outline(collar, inside), fur, scale(fur, 0.55), EDGE), line(tufts, mix(fur, "#ffffff", 0.28), 4.5)
        ),
        *sleeves(b, cloth, 12, 0.97),
        *cuffs(b, fur, 15, 0.98, 46),
        *mirror(line(oval(b.wrist_x, b.wrist_y + 4, 19, 6), GOLD, 6)),
    )
    return Outfit((), front)


def jeans(b: Body, blue: str, ease: float = 3, hem: float = 6) -> Nodes:
    """Return jeans with seams, pockets and faded thighs."""
    thread = "#d9a35c"
    pocket = curve([(b.waist * 0.42, 800), (b.waist * 0.6, 836), (b.hip + 2, 846)])
    fade = oval(b.hip * 0.5, 1090, b.hip * 0.22, 120)
    seam = curve([(b.hip + 1, 900), (b.hip * 0.5 + 44 * b.leg + 1, 1240), (b.hip * 0.44 + 28 * b.leg + 2, 1560)])
    return (
        *t.trousers(b, blue, ease, hem, 1578),
        *mirror(
            contour(fade, mix(blue, "#ffffff", 0.16), mix(blue, "#ffffff", 0.08), 8),
            line(pocket, thread, 3.4),
            line(seam, thread, 2.6, 0.7),
            line(curve([(b.hip * 0.42 - 22, 1540), (b.hip * 0.42 + 32, 1540)]), thread, 3, 0.8),
        ),
        line(curve([(2, 800), (14, 870), (4, 930)]), thread, 3),
    )


def casual(identity: Identity) -> t.Outfit:
    """Return a T-shirt, blue jeans and white trainers."""
    b = body(identity)
    shirt = Stream(identity.seed, "fashion_style:casual").choice(("#d8574a", "#e9b949", "#3f9a7b"))
    rib = mirror(line(curve([(0, 412), (b.neck * 0.6, 405), (b.neck + 20, 375)]), t.ink(shirt), 2.6, 0.6))
    front: Nodes = (
        *jeans(b, "#3f6296"),
        *t.shoes(b, "#f3f3f1", "#d9d9d6", "#b9bcc0"),
        *arms(identity),
        *t.top(b, shirt, t.ink(shirt), 7, 862),
        *rib,
        *t.sleeves(b, shirt, 9, 0.34, 13),
    )
    return t.Outfit((), front)


def sporty(identity: Identity) -> t.Outfit:
    """Return a tracksuit with stripes, and running shoes."""
    b = body(identity)
    cloth, glow = Stream(identity.seed, "fashion_style:sporty").choice(
        (("#1f3f8a", "#ff5a36"), ("#1d1f26", "#35c46a"), ("#b3202c", "#f4c430"))
    )
    white = "#f6f7f9"
    outer = arm(b, 10)[0]
    stripes: list[Point] = [(x - 14, y) for x, y in outer[1:]]
    side = [(b.hip - 6, 905.0), (b.hip * 0.46 + 44 * b.leg - 6, 1240.0), (b.hip * 0.42 + 22 * b.leg + 9, 1550.0)]
    yoke = symmetric_outline(
        [(0, 380), (b.neck + 10, 362)],
        [(b.neck + 10, 362), *[p for p in shoulder_line(b, 4) if p[0] > b.neck + 20]],
        [(b.shoulder - 36, 404), (b.shoulder - 50, 490)],
        [(b.shoulder - 50, 490), (0, 560)],
    )
    front: Nodes = (
        *t.trousers(b, cloth, 8, 4),
        *mirror(line(curve(side), white, 15), line(curve(side), glow, 5)),
        *t.shoes(b, glow, "#f6f7f9", white),
        contour(t.cut_top(b, 10, 880, "high"), cloth, t.ink(cloth), t.EDGE),
        contour(yoke, white, t.ink(cloth), t.EDGE),
        contour(
            symmetric_outline(
                [(0, 352), (b.neck + 4, 338)], [(b.neck + 4, 338), (b.neck + 12, 372)], [(b.neck + 12, 372), (0, 398)]
            ),
            cloth,
            t.ink(cloth),
            t.EDGE,
        ),
        line(curve([(0, 356), (0, 872)]), glow, 5),
        contour(poly([(-5, 410), (5, 410), (5, 432), (-5, 432)]), "#c9ced6", "#59616b", 2),
        contour(
            symmetric_outline(
                [(0, 858), (b.hip + 4, 852)], [(b.hip + 4, 852), (b.hip + 4, 886)], [(b.hip + 4, 886), (0, 894)]
            ),
            glow,
            t.ink(glow),
            t.EDGE,
        ),
        contour(oval(b.chest * 0.5, 600, 19, 19), white, t.ink(cloth), t.EDGE),
        contour(oval(b.chest * 0.5, 600, 9, 9), glow, t.ink(glow), t.EDGE),
        *t.sleeves(b, cloth, 10, 0.97),
        *mirror(line(curve(stripes), white, 14), line(curve(stripes), glow, 5)),
        *t.cuffs(b, glow, 7, 1.0, 26),
    )
    return t.Outfit((), front)


def streetwear(identity: Identity) -> t.Outfit:
    """Return an oversized hoodie with a print, baggy cargo trousers and chunky trainers."""
    b = body(identity)
    cloth, tag = Stream(identity.seed, "fashion_style:streetwear").choice(
        (("#7a5bb5", "#f6e04f"), ("#2f3036", "#ff6a3c"), ("#3d7d6d", "#ffd9e6"))
    )
    cargo = "#6b6f4c"
    hood = symmetric_outline(
        [(0, 300), (b.neck + 40, 316), (b.neck + 74, 368)], [(b.neck + 74, 368), (b.neck + 46, 420), (0, 440)]
    )
    collar: list[Point] = [(b.neck - 6, 340), (b.neck + 40, 352), (b.neck + 50, 392), (b.neck * 0.7, 452), (0, 480)]
    inner: list[Point] = [(0, 438), (b.neck * 0.6, 418), (b.neck - 6, 340)]
    pouch = symmetric_outline(
        [(0, 742), (b.waist * 0.5, 742)], [(b.waist * 0.5, 742), (b.waist * 0.8, 838)], [(b.waist * 0.8, 880), (0, 884)]
    )
    bolt = poly([(12, 528), (-36, 622), (-4, 618), (-20, 700), (40, 596), (6, 600)])
    pocket = poly(
        [
            (b.hip * 0.52 + 6, 1150),
            (b.hip * 0.52 + 64 * b.leg, 1146),
            (b.hip * 0.52 + 62 * b.leg, 1262),
            (b.hip * 0.52 + 4, 1266),
        ]
    )
    flap = poly(
        [
            (b.hip * 0.52 + 2, 1140),
            (b.hip * 0.52 + 66 * b.leg, 1136),
            (b.hip * 0.52 + 66 * b.leg, 1172),
            (b.hip * 0.52 + 2, 1176),
        ]
    )
    rib = symmetric_outline(
        [(0, 894), (b.hip + 20, 886)], [(b.hip + 20, 886), (b.hip + 12, 936)], [(b.hip + 12, 936), (0, 944)]
    )
    folds = mirror(
        line(curve([(b.hip * 0.1 + 20, 1500), (b.hip * 0.42, 1522), (b.hip * 0.42 + 50, 1506)]), t.ink(cargo), 3, 0.5),
        line(curve([(b.hip * 0.1 + 20, 1542), (b.hip * 0.42, 1562), (b.hip * 0.42 + 50, 1548)]), t.ink(cargo), 3, 0.5),
    )
    front: Nodes = (
        *t.shoes(b, "#f1f1f1", tag, "#2b2b30", 8),
        *mirror(line(curve([(b.hip * 0.42 - 20, 1622), (b.hip * 0.42 + 40, 1618)]), tag, 9)),
        *t.trousers(b, cargo, 30, 40, 1592),
        *mirror(contour(pocket, scale(cargo, 0.94), t.ink(cargo), t.EDGE), contour(flap, cargo, t.ink(cargo), t.EDGE)),
        *folds,
        *t.top(b, cloth, t.ink(cloth), 30, 915),
        contour(bolt, tag, t.ink(tag), 3),
        contour(pouch, scale(cloth, 0.93), t.ink(cloth), t.EDGE),
        contour(rib, scale(cloth, 0.86), t.ink(cloth), t.EDGE),
        *t.sleeves(b, cloth, 24, 0.99),
        *t.cuffs(b, scale(cloth, 0.86), 12, 1.02, 34),
        *mirror(
            contour(outline(collar, inner), cloth, t.ink(cloth), t.EDGE),
            line(curve([(24, 462), (27, 520), (23, 580)]), "#f4f4f4", 6),
        ),
        *mirror(contour(oval(23, 584, 4, 7), "#c7cbd1", "#62666d", 2)),
    )
    return t.Outfit((contour(hood, scale(cloth, 0.8), t.ink(cloth), t.EDGE),), front)


def outdoor(identity: Identity) -> t.Outfit:
    """Return a hooded shell jacket, trekking trousers, boots and the straps of a rucksack."""
    b = body(identity)
    shell = Stream(identity.seed, "fashion_style:functional-outdoor").choice(("#e0702a", "#2b8a8f", "#c8a21f"))
    trouser, grey = "#5b5a4a", "#33373d"
    hood = symmetric_outline(
        [(0, 306), (b.neck + 36, 322), (b.neck + 60, 366)], [(b.neck + 60, 366), (b.neck + 40, 410), (0, 430)]
    )
    collar = symmetric_outline(
        [(0, 366), (b.neck + 2, 336), (b.neck + 22, 344)],
        [(b.neck + 22, 344), (b.neck + 20, 388)],
        [(b.neck + 20, 388), (b.neck * 0.6, 412), (0, 424)],
    )
    x = b.chest * 0.36
    pocket = poly([(x, 560), (x + 68, 552), (x + 68, 640), (x, 648)])
    low = curve([(b.waist * 0.55, 790), (b.waist * 0.9, 860)])
    strap = poly(
        [
            (b.neck + 40, 384),
            (b.neck + 72, 390),
            (b.chest * 0.72 + 16, 560),
            (b.chest - 8, 690),
            (b.chest - 36, 690),
            (b.chest * 0.72 - 18, 560),
        ]
    )
    yoke = symmetric_outline(
        [(0, 420), (b.neck + 10, 363)],
        [(b.neck + 10, 363), *[p for p in shoulder_line(b, 6) if p[0] > b.neck + 20]],
        [(b.shoulder - 36, 402), (b.shoulder - 50, 470)],
        [(b.shoulder - 50, 470), (0, 512)],
    )
    knee = loop(
        [
            (b.hip * 0.46 - 34 * b.leg, 1180),
            (b.hip * 0.46 + 42 * b.leg, 1176),
            (b.hip * 0.46 + 38 * b.leg, 1330),
            (b.hip * 0.46 - 28 * b.leg, 1334),
        ]
    )
    cargo = poly([(b.hip * 0.56, 1010), (b.hip * 0.98, 1004), (b.hip * 0.93, 1116), (b.hip * 0.52, 1120)])
    front: Nodes = (
        *t.shoes(b, "#7a5232", "#2c2622", "#d8b25a", 40),
        *t.trousers(b, trouser, 9, 12, 1556),
        *mirror(
            contour(knee, grey, t.ink(grey), t.EDGE),
            contour(cargo, scale(trouser, 0.92), t.ink(trouser), t.EDGE),
            line(curve([(b.hip * 0.55, 1034), (b.hip * 0.97, 1028)]), t.ink(trouser), 3),
        ),
        *t.top(b, shell, t.ink(shell), 18, 940, "high"),
        contour(yoke, grey, t.ink(grey), t.EDGE),
        contour(collar, shell, t.ink(shell), t.EDGE),
        line(curve([(0, 372), (0, 934)]), grey, 8),
        line(curve([(0, 372), (0, 934)]), "#d7dce1", 2.4),
        *mirror(
            contour(pocket, scale(shell, 0.92), t.ink(shell), t.EDGE),
            line(curve([(x + 6, 580), (x + 62, 573)]), grey, 6),
            line(low, grey, 7),
        ),
        line(curve([(-b.hip - 12, 926), (0, 934), (b.hip + 12, 926)]), grey, 6, 0.8),
        *mirror(contour(strap, "#3b4652", "#1d232a", t.EDGE)),
        contour(
            poly([(-b.chest * 0.66, 520), (b.chest * 0.66, 520), (b.chest * 0.66, 534), (-b.chest * 0.66, 534)]),
            "#3b4652",
            "#1d232a",
            2,
        ),
        contour(poly([(-13, 515), (13, 515), (13, 539), (-13, 539)]), "#d7dce1", "#1d232a", 2.4),
        *t.sleeves(b, shell, 15, 0.98),
        *t.cuffs(b, grey, 9, 1.0, 28),
    )
    return t.Outfit((contour(hood, scale(shell, 0.8), t.ink(shell), t.EDGE),), front)
