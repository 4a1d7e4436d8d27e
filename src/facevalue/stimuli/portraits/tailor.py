"""Garments cut to a body: tops, sleeves, jackets, trousers, skirts, shoes."""

from dataclasses import dataclass

from facevalue.stimuli.portraits.anatomy import Body, mix, scale
from facevalue.stimuli.portraits.body import arm, leg, shoulder_line, torso
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Paint,
    Point,
    Shape,
    contour,
    curve,
    fill,
    line,
    mirror,
    outline,
    oval,
    poly,
    symmetric_outline,
)

EDGE = 3.0


@dataclass(frozen=True, slots=True)
class Outfit:
    """Clothes: what hangs behind the head (a hood), and what is worn over the body."""

    back: Nodes
    front: Nodes


def ink(cloth: str) -> str:
    """Return the outline colour of a cloth."""
    return scale(cloth, 0.58)


def cut_top(b: Body, ease: float, hem_y: float, neck: str = "crew", depth: float = 0.0, flare: float = 0.0) -> str:
    """Return the outline of a top: "crew", "v", "scoop", "high" or "strap" at the neck."""
    n = b.neck
    lines: dict[str, list[Point]] = {
        "crew": [(0, 402 + depth), (n * 0.55, 396 + depth), (n + 10, 367 - ease * 0.3)],
        "v": [(0, 470 + depth), (n + 8, 366 - ease * 0.3)],
        "scoop": [(0, 470 + depth), (n * 0.9, 452 + depth), (n + 24, 374)],
        "high": [(0, 362), (n + 3, 354)],
        "strap": [(0, 500 + depth), (n + 16, 478 + depth * 0.8), (n + 30, 375)],
    }
    start = lines[neck]
    shoulder = [start[-1], *[p for p in shoulder_line(b, ease * 0.4) if p[0] > start[-1][0] + 8]]
    if neck == "strap":
        shoulder = [start[-1], (n + 52, 384)]
        side: list[Point] = [(n + 52, 384), (b.shoulder - 56, 460), (b.chest - 6 + ease * 0.5, 512)]
        rest = [side[-1], *[p for p in torso(b, ease, hem_y, flare) if p[1] > 540]]
        return symmetric_outline(start, shoulder, side, rest, [rest[-1], (0, hem_y + 6)])
    trunk = torso(b, ease, hem_y, flare)
    return symmetric_outline(start, shoulder, trunk, [trunk[-1], (0, hem_y + 6)])


def top(b: Body, cloth: Paint, edge: str, ease: float, hem_y: float, neck: str = "crew", depth: float = 0.0) -> Nodes:
    """Return a top without sleeves."""
    return (contour(cut_top(b, ease, hem_y, neck, depth), cloth, edge, EDGE),)


def sleeves(b: Body, cloth: str, ease: float, end: float = 1.0, hem: float | None = None) -> Nodes:
    """Return both sleeves down to a share ``end`` of the arm."""
    d = outline(*arm(b, ease, end, hem))
    fold = curve([(b.shoulder - b.arm * 1.5, 470), (b.shoulder - b.arm * 1.62, 540), (b.shoulder - b.arm * 1.5, 600)])
    return mirror(contour(d, cloth, ink(cloth), EDGE), line(fold, ink(cloth), 2.4, 0.35))


def cuffs(b: Body, cloth: str, ease: float, at: float = 1.0, tall: float = 26) -> Nodes:
    """Return a band at the end of each sleeve."""
    y = b.shoulder_y + (b.wrist_y - b.shoulder_y) * at
    t = (at - 0.75) * 4
    x = b.elbow_x + (b.wrist_x - b.elbow_x) * max(0.0, t)
    w = b.arm * (0.76 - 0.24 * max(0.0, t)) + ease
    d = outline([(x - w, y - tall), (x + w, y - tall)], [(x + w - 1, y + 2), (x - w + 1, y + 2)])
    return mirror(contour(d, cloth, ink(cloth), EDGE))


def trousers(
    b: Body, cloth: str, ease: float, hem: float | None = None, end_y: float = 1578, waist_y: float = 770
) -> Nodes:
    """Return trousers from the waist to ``end_y``."""
    outer, inner = leg(b, ease, end_y, hem)
    d = outline(
        [(0, waist_y), (b.waist + (b.hip - b.waist) * 0.2 + ease * 0.5, waist_y)],
        [(b.waist + (b.hip - b.waist) * 0.2 + ease * 0.5, waist_y), (b.hip + ease * 0.6, b.hip_y), *outer[1:]],
        [*inner, (2, 968.0)],
        [(0, 962), (0, waist_y)],
    )
    crease = curve(
        [(inner[0][0] * 0.5 + outer[-1][0] * 0.5, end_y - 60), (b.hip * 0.48, b.knee_y), (b.hip * 0.46, 1010)]
    )
    return (
        *mirror(contour(d, cloth, ink(cloth), EDGE)),
        fill(poly([(-3, waist_y + 2), (3, waist_y + 2), (3, 960), (-3, 960)]), cloth),
        line(curve([(0, waist_y + 40), (0, 955)]), ink(cloth), 2.6, 0.6),
        *mirror(line(crease, ink(cloth), 2.2, 0.3)),
    )


def foot_x(b: Body) -> float:
    """Return where the foot's middle is."""
    return b.hip * 0.42 + 8


def shoes(b: Body, leather: str, sole: str | None = None, laces: str | None = None, tall: float = 0) -> Nodes:
    """Return both shoes; ``tall`` lifts the shaft (boots)."""
    x, y = foot_x(b), b.sole_y
    w = 25 + 3 * b.leg
    upper = outline(
        [(x - w + 3, y - 64 - tall), (x - w, y - 34), (x - w - 4, y - 8)],
        [(x - w - 4, y - 8), (x - 4, y + 3), (x + w + 14, y - 6)],
        [(x + w + 14, y - 6), (x + w + 6, y - 34), (x + w - 2, y - 64 - tall)],
    )
    under = outline(
        [(x - w - 6, y - 9), (x, y - 1), (x + w + 16, y - 9)], [(x + w + 16, y + 6), (x, y + 13), (x - w - 6, y + 5)]
    )
    cap = curve([(x - w - 1, y - 24), (x + 2, y - 34), (x + w + 9, y - 24)])
    nodes: list[Shape] = [
        contour(upper, mix(leather, "#ffffff", 0.12), ink(leather), EDGE),
        contour(under, sole or scale(leather, 0.5), ink(sole or leather), 2.4),
        line(cap, ink(leather), 2.6, 0.6),
    ]
    if laces:
        for i in range(3 + int(tall // 24)):
            yy = y - 36 - 11 * i
            nodes.append(line(curve([(x - 10, yy), (x + 2, yy - 3), (x + 14, yy)]), laces, 4.2))
    return mirror(*nodes)


def heels(b: Body, colour: str, tone: str) -> Nodes:
    """Return pointed shoes with a low vamp, and the feet in them."""
    x, y = foot_x(b), b.sole_y
    d = outline(
        [(x - 22, y - 30), (x - 12, y - 12), (x + 4, y - 20), (x + 20, y - 10), (x + 26, y - 32)],
        [(x + 26, y - 32), (x + 32, y - 4), (x + 14, y + 12), (x + 2, y + 12), (x - 18, y - 2)],
    )
    foot = outline(
        [(x - 17, y - 74), (x - 21, y - 30), (x - 8, y - 6), (x + 16, y - 6), (x + 25, y - 32), (x + 19, y - 74)]
    )
    return mirror(contour(foot, tone, ink(tone), 2.4), contour(d, colour, ink(colour), EDGE))


def buttons(x: float, ys: list[float], colour: str, r: float = 5.0) -> Nodes:
    """Return a column of buttons."""
    return tuple(contour(oval(x, y, r, r), colour, ink(colour), 1.6) for y in ys)


def jacket(
    b: Body, cloth: str, ease: float, hem_y: float, opening: tuple[float, float], button_y: float = 720
) -> Nodes:
    """Return an open-fronted jacket; ``opening`` is its half width at the chest and at the hem."""
    side = torso(b, ease, hem_y, 4)
    at_chest, at_hem = opening
    panel = outline(
        [(b.neck + 6, 366), *[p for p in shoulder_line(b, ease * 0.6) if p[0] > b.neck + 20]],
        side,
        [side[-1], (at_hem + 34, hem_y + 8), (at_hem + 8, hem_y - 8)],
        [(at_hem + 2, button_y + 40), (at_hem * 0.4, button_y), (at_chest, 560), (b.neck + 6, 366)],
    )
    return mirror(contour(panel, cloth, ink(cloth), EDGE))


def lapels(b: Body, cloth: str, to_y: float, wide: float = 52, gap: float = 8, shawl: bool = False) -> Nodes:
    """Return lapels that run from the neck to ``to_y``."""
    n = b.neck
    if shawl:
        d = outline(
            [(n - 4, 360), (n + 26, 374), (n + wide * 0.8, 470), (n + wide * 0.5, 570), (gap + 4, to_y)],
            [(gap, to_y), (n * 0.75, 510), (n - 4, 360)],
        )
        return mirror(contour(d, cloth, ink(cloth), EDGE))
    d = poly(
        [
            (n - 6, 358),
            (n + 22, 368),
            (n + 38, 432),
            (n + 22, 438),
            (n + wide * 0.62 + 12, 488),
            (gap, to_y),
            (n * 0.62, 500),
        ]
    )
    return mirror(contour(d, mix(cloth, "#ffffff", 0.06), ink(cloth), EDGE))


def shirt_collar(b: Body, colour: str, open_by: float = 0.0) -> Nodes:
    """Return the two points of a shirt collar."""
    n = b.neck
    d = poly([(n + 6, 356), (n + 12, 380), (n * 0.5 + 8 + open_by, 430), (open_by, 392 + open_by * 0.6), (n - 4, 348)])
    return mirror(contour(d, colour, ink(colour), 2.4))
