"""Leisure clothes: T-shirt and jeans, tracksuit, hoodie and baggy trousers, outdoor gear."""

from facevalue.stimuli.portraits import tailor as t
from facevalue.stimuli.portraits.anatomy import Body, body
from facevalue.stimuli.portraits.body import arm, arms, shoulder_line
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import mix, scale
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Point,
    contour,
    curve,
    line,
    loop,
    mirror,
    outline,
    oval,
    poly,
    symmetric_outline,
)
from facevalue.stimuli.portraits.streams import Stream


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
