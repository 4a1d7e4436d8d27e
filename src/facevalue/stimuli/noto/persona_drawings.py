"""Drawings for scenes without people: a canvas, and things, furniture, cars and houses drawn at random.

Every function takes the random numbers of the picture and returns a body on the artwork's grid of 128 x 128.

Every function takes the random numbers of the picture and returns a body on the artwork's grid of 128 x 128. Cars
stand on y = 100, houses on y = 112.
"""

import colorsys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from numpy.random import Generator

from facevalue.stimuli.noto.artwork import document, nest_document
from facevalue.stimuli.noto.backdrops import BACKDROPS, disc, path, rect, stroke
from facevalue.stimuli.noto.scenes import SIZE, Prop

T = TypeVar("T")
Drawing = Callable[[Generator], str]
"""What draws a thing from the random numbers of its picture."""


def uniform(rng: Generator, low: float, high: float) -> float:
    """Return a number between two others, to a tenth."""
    return round(float(rng.uniform(low, high)), 1)


def pick(rng: Generator, pool: Sequence[T]) -> T:
    """Return one of the pool."""
    return pool[int(rng.integers(len(pool)))]


def some(rng: Generator, pool: Sequence[T], number: int) -> list[T]:
    """Return different things of the pool, in an order by chance."""
    return [pool[int(i)] for i in rng.permutation(len(pool))[:number]]


class Canvas:
    """The parts of one picture, from back to front, and its random numbers."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng
        self.parts: list[str] = []

    def paint(self, *svg: str) -> None:
        """Add what is drawn in the units of the scene."""
        self.parts += svg

    def put(self, drawing: str | Drawing, x: float, y: float, size: float, turn: float = 0) -> None:
        """Add a thing of the artwork or of our own in a square, turned by some degrees around its middle."""
        prefix = f"t{len(self.parts)}-"
        if isinstance(drawing, str):
            svg = Prop(drawing, x, y, size).svg(prefix)
        else:
            svg = nest_document(document(f"<g>{drawing(self.rng)}</g>"), x, y, size, prefix)
        around = f'<g transform="rotate({turn:g} {x + size / 2:g} {y + size / 2:g})">{svg}</g>'
        self.parts.append(around if turn else svg)

    def near(self, middle: float, off: float) -> float:
        """Return a number at most `off` from another."""
        return uniform(self.rng, middle - off, middle + off)

    def tint(self, light: tuple[float, float], colourful: tuple[float, float] = (0.15, 0.5)) -> str:
        """Return a colour of any hue, its lightness and saturation (0 to 1) within bounds."""
        rng = self.rng
        rgb = colorsys.hls_to_rgb(float(rng.random()), float(rng.uniform(*light)), float(rng.uniform(*colourful)))
        return "#" + "".join(f"{round(255 * channel):02x}" for channel in rgb)

    def wash(self, backdrop: str) -> None:
        """Add a backdrop of the scenes, tinted a little."""
        self.paint(BACKDROPS[backdrop], rect(0, 0, SIZE, SIZE, self.tint((0.4, 0.8), (0.3, 0.7)) + "22"))

    def room(self, light: tuple[float, float] = (0.84, 0.94), line: float = 380) -> None:
        """Add a wall, plain, striped or panelled, and a floor."""
        floor = pick(self.rng, ("#d8c3a5", "#c9a878", "#bfb6ab", "#b98e63", "#cdbfae"))
        self.paint(rect(0, 0, SIZE, SIZE, self.tint(light)))
        style = int(self.rng.integers(3))
        if style == 1:
            self.paint(*(rect(x, 0, 16, line, "#ffffff44") for x in range(0, SIZE, 48)))
        if style == 2:
            self.paint(rect(0, line - 110, SIZE, 110, "#ffffff66"), rect(0, line - 116, SIZE, 8, "#ffffffaa"))
        self.paint(rect(0, line, SIZE, SIZE - line, floor), rect(0, line - 10, SIZE, 12, "#f6f1e7"))

    def shelf(self, x: float, y: float, wide: float, high: float, tidy: bool = True) -> None:
        """Add a board with books on it; the board's upper edge is at `y`."""
        rng, at = self.rng, x + 4
        while at < x + wide - 14:
            w, h = (uniform(rng, 9, 19), uniform(rng, high * 0.72, high) if tidy else uniform(rng, high * 0.5, high))
            if rng.random() < (0.97 if tidy else 0.6) and at + w < x + wide:
                self.paint(rect(at, y - h, w - 1, h, self.tint((0.3, 0.6), (0.35, 0.7)), 1))
                self.paint(rect(at + 2, y - h + 7, w - 5, 4, "#ffffff88"))
            at = round(at + w, 1)
        self.paint(rect(x, y, wide, 7, "#7a5636"))


BRIGHT = ("#e4572e", "#f3a712", "#76b041", "#17bebb", "#8e5ea2", "#f06d9b", "#3d7dd8")


# Paintings: what is on the canvas, 18 to 110 across and 24 to 104 down.


def _landscape(rng: Generator) -> str:
    sky, sun = pick(rng, ("#f6c28b", "#a9d6ee", "#e9b7c6", "#c9d8f0")), uniform(rng, 34, 94)
    top, slope = uniform(rng, 50, 66), uniform(rng, 56, 74)
    return (
        rect(18, 24, 92, 80, sky) + disc(sun, 40, 8, 8, pick(rng, ("#fff3b0", "#e4572e", "#f3c54b")))
        + path(f"M18 {slope}L{sun} {top}L80 70L110 {slope - 8}V104H18Z", "#6f86a8")
        + path("M18 78Q50 62 76 76T110 74V104H18Z", "#7fae62") + path("M18 90Q60 76 110 92V104H18Z", "#4f7f49")
        + path(f"M{sun - 4} 104Q{sun + 20} 90 60 80Q84 92 {sun + 14} 104Z", "#dfe9ef")
    )  # fmt: skip


def _abstract(rng: Generator) -> str:
    svg = rect(18, 24, 92, 80, "#f6f1e4")
    for colour in some(rng, BRIGHT, 5):
        x, y = uniform(rng, 20, 78), uniform(rng, 26, 74)
        svg += rect(x, y, uniform(rng, 14, 30), uniform(rng, 10, 28), colour, pick(rng, (0, 12)))
    for _ in range(3):
        svg += stroke(f"M{uniform(rng, 20, 108)} 26L{uniform(rng, 20, 108)} 102", "#23262b", 2.4)
    return svg


def _still_life(rng: Generator) -> str:
    wall, cloth, vase = (
        pick(rng, ("#39545f", "#7a4b3a", "#d9c99a")),
        pick(rng, ("#e9e2d0", "#8c5a3c")),
        pick(rng, BRIGHT),
    )
    svg = rect(18, 24, 92, 80, wall) + rect(18, 82, 92, 22, cloth)
    svg += path("M52 62H76Q74 70 80 78Q82 94 72 98H56Q46 94 48 78Q54 70 52 62Z", vase)
    for k, colour in enumerate(some(rng, BRIGHT, 4)):
        x, y = 44 + 13 * k, uniform(rng, 36, 50)
        svg += stroke(f"M64 64L{x} {y}", "#3f7a45", 2) + disc(x, y, 8, 8, colour) + disc(x, y, 3, 3, "#fff3b0")
    return svg + disc(30, 92, 8, 8, "#e0a82e") + disc(96, 92, 7, 7, "#c0392b")


def _night(rng: Generator) -> str:
    svg = rect(18, 24, 92, 80, "#23407a")
    for _ in range(6):
        x, y, r = uniform(rng, 30, 100), uniform(rng, 32, 62), uniform(rng, 3, 6)
        svg += disc(x, y, r + 3, r + 3, "#5f8cc4") + disc(x, y, r, r, "#f6d860")
    svg += stroke("M20 62Q40 48 58 60T92 54T109 62", "#a8c8e8", 4) + stroke("M20 70Q46 58 64 68T108 68", "#6f9fd0", 4)
    return svg + path("M18 88Q60 72 110 86V104H18Z", "#1d3b34") + path("M34 104Q30 60 40 44Q50 62 46 104Z", "#14281f")


def _sea(rng: Generator) -> str:
    x, sail = uniform(rng, 44, 84), pick(rng, BRIGHT)
    return (
        rect(18, 24, 92, 80, pick(rng, ("#bfe0ef", "#f4c9a1", "#d7d3ea"))) + rect(18, 66, 92, 38, "#3f87a6")
        + path(f"M{x} 34L{x + 18} 66H{x}Z", "#fbf7ef") + path(f"M{x - 2} 40L{x - 14} 66H{x - 2}Z", sail)
        + path(f"M{x - 18} 70H{x + 24}L{x + 16} 80H{x - 12}Z", "#6b4326")
        + stroke("M22 88q8-6 16 0t16 0t16 0t16 0t16 0M26 97q8-6 16 0t16 0t16 0t16 0", "#bfe3ee", 2)
    )  # fmt: skip


def painting(rng: Generator) -> str:
    """Return a framed painting: a landscape, an abstract, flowers, a night or a sea."""
    gold = pick(rng, ("#c8962e", "#8a5a2b", "#b98b3e", "#4a3526"))
    inner = pick(rng, (_landscape, _abstract, _still_life, _night, _sea))(rng)
    return (
        rect(4, 10, 120, 108, gold, 3) + rect(8, 14, 112, 100, "#ffffff55", 2) + rect(14, 20, 100, 88, gold, 1) + inner
    )


# Games, on a screen of 6 to 122 across and 12 to 84 down.


def _invaders(rng: Generator) -> str:
    svg, ship = rect(10, 16, 108, 64, "#0d1026"), uniform(rng, 24, 92)
    for j, colour in enumerate(some(rng, BRIGHT, 3)):
        for i in range(6):
            x, y = 18 + 16 * i, 22 + 12 * j
            svg += rect(x, y, 10, 5, colour) + rect(x - 1, y + 4, 3, 4, colour) + rect(x + 8, y + 4, 3, 4, colour)
    return (
        svg + rect(ship, 72, 14, 5, "#7dff8a") + rect(ship + 5, 68, 4, 5, "#7dff8a") + rect(ship + 6, 56, 2, 8, "#fff")
    )


def _platforms(rng: Generator) -> str:
    svg = rect(10, 16, 108, 64, "#7ec8f2") + rect(10, 70, 108, 10, "#5a9e3a") + rect(10, 74, 108, 6, "#8a5a2b")
    for i in range(3):
        x, y = 16 + 34 * i, uniform(rng, 40, 56)
        svg += (
            rect(x, y, 24, 6, "#c0703a")
            + disc(x + 6, y - 7, 3.5, 3.5, "#ffd23f")
            + disc(x + 17, y - 7, 3.5, 3.5, "#ffd23f")
        )
    hero = uniform(rng, 20, 96)
    return svg + rect(hero, 58, 10, 12, "#e4572e", 2) + rect(96, 52, 14, 18, "#3f9e4d") + disc(34, 26, 10, 4, "#ffffff")


def _blocks(rng: Generator) -> str:
    svg = rect(10, 16, 108, 64, "#1b1f33") + rect(38, 16, 52, 64, "#2b3150")
    for i in range(8):
        for j in range(int(rng.integers(1, 6))):
            svg += rect(39 + 6.3 * i, 73.7 - 6.3 * j, 5.8, 5.8, pick(rng, BRIGHT))
    svg += "".join(rect(x, y, 5.8, 5.8, "#f3a712") for x, y in ((57.9, 22), (64.2, 22), (64.2, 28.3), (70.5, 22)))
    return svg + rect(96, 22, 16, 5, "#ffffff") + rect(96, 32, 12, 4, "#9fb3d9") + rect(16, 22, 16, 14, "#3d7dd8")


def _race(rng: Generator) -> str:
    bend = uniform(rng, 44, 84)
    return (
        rect(10, 16, 108, 64, "#7ec8f2") + rect(10, 42, 108, 38, "#5a9e3a")
        + path(f"M{bend - 3} 42H{bend + 3}L104 80H24Z", "#555b66") + stroke(f"M{bend} 46L64 78", "#ffffff", 1.6)
        + rect(50, 62, 28, 14, pick(rng, BRIGHT), 4) + rect(56, 57, 16, 8, "#23262b", 3)
        + rect(48, 72, 7, 7, "#111", 2) + rect(73, 72, 7, 7, "#111", 2) + rect(14, 19, 26, 5, "#ffd23f")
    )  # fmt: skip


def game_screen(rng: Generator) -> str:
    """Return a computer's screen with a video game on it."""
    case, game = (
        pick(rng, ("#2b2f36", "#4a4f57", "#1d2026", "#5b6470")),
        pick(rng, (_invaders, _platforms, _blocks, _race)),
    )
    return rect(4, 10, 120, 78, case, 5) + game(rng) + rect(54, 88, 20, 18, case) + rect(34, 104, 60, 8, case, 4)


def speaker(rng: Generator) -> str:
    """Return a loudspeaker box."""
    cone = pick(rng, ("#8d959c", "#c9a36a", "#5a6068"))
    return (
        rect(26, 4, 76, 122, "#2b2e33", 5) + rect(31, 9, 66, 112, "#3a3e45", 3) + disc(64, 34, 16, 16, "#17191c")
        + disc(64, 34, 9, 9, cone) + disc(64, 86, 28, 28, "#17191c") + disc(64, 86, 22, 22, cone)
        + disc(64, 86, 9, 9, "#2b2e33")
    )  # fmt: skip


def mixing_desk(rng: Generator) -> str:
    """Return a recording desk with faders and knobs; it fills the lower half of its square."""
    svg = path("M8 64H120L128 124H0Z", "#3a3e45") + path("M12 68H116L122 118H6Z", "#555b66")
    for i in range(9):
        x = 18 + 11.5 * i
        svg += disc(x, 75, 3, 3, pick(rng, BRIGHT)) + disc(x, 84, 3, 3, "#d9dde2") + rect(x - 1, 90, 2, 24, "#23262b")
        svg += rect(x - 4, uniform(rng, 91, 108), 8, 5, "#f4f5f7", 1)
    return svg


# Sport.


def treadmill(rng: Generator) -> str:
    """Return a treadmill from the side."""
    trim = pick(rng, BRIGHT)
    return (
        path("M6 112L104 100L112 108V116H6Z", "#2f3338") + stroke("M8 110L104 98", trim, 3)
        + stroke("M102 102L112 30", "#6d747c", 7) + stroke("M112 42H80", "#4a4f55", 6)
        + path("M96 14L122 22L118 40L94 34Z", "#23262b") + path("M99 19L117 25L115 35L98 31Z", "#7fd1e6")
        + rect(10, 114, 14, 10, "#4a4f55", 3) + rect(96, 114, 16, 10, "#4a4f55", 3)
    )  # fmt: skip


def weights(rng: Generator) -> str:
    """Return a rack with two rows of dumbbells."""
    svg = rect(8, 40, 7, 84, "#6d747c", 2) + rect(113, 40, 7, 84, "#6d747c", 2)
    colours = some(rng, (*BRIGHT, "#2f3338", "#2f3338"), 2)
    for y, colour in zip((62, 96), colours, strict=True):
        for x in range(18, 104, 32):
            svg += (
                rect(x + 4, y - 9, 20, 4, "#b9bfc5")
                + rect(x, y - 15, 8, 16, colour, 3)
                + rect(x + 20, y - 15, 8, 16, colour, 3)
            )
        svg += rect(6, y, 116, 7, "#8d959c", 2)
    return svg


def kettlebell(rng: Generator) -> str:
    """Return a kettlebell."""
    colour = pick(rng, (*BRIGHT, "#2f3338"))
    return (
        stroke("M44 66Q40 30 64 30T84 66", "#3d4348", 11)
        + disc(64, 88, 36, 34, colour)
        + disc(64, 88, 16, 15, "#ffffff88")
    )


def weight_bench(rng: Generator) -> str:
    """Return a bench with a barbell on its rack."""
    pad, disc_ = pick(rng, ("#b3202c", "#23262b", "#1f6fb2")), pick(rng, (*BRIGHT, "#3d4348"))
    return (
        stroke("M22 76V120M106 76V120", "#6d747c", 6) + rect(14, 74, 100, 13, pad, 5)
        + stroke("M34 120V38M94 120V38", "#8d959c", 5) + rect(0, 36, 128, 5, "#b9bfc5", 2)
        + "".join(rect(x, 39 - h / 2, 7, h, disc_, 3) for x, h in ((4, 50), (13, 36), (108, 36), (117, 50)))
    )  # fmt: skip


# A bin for the one who finds things in it.


def dumpster(rng: Generator) -> str:
    """Return an open container; what lies in it stands above y = 54 and is drawn before it."""
    colour = pick(rng, ("#2f6b4f", "#3a5f8a", "#6b6f4a", "#7a4b3a"))
    svg = path("M4 54H124L116 114H12Z", colour) + rect(0, 50, 128, 9, "#23262b", 3)
    svg += "".join(stroke(f"M{x} 62L{64 + (x - 64) * 0.9:g} 110", "#00000033", 3) for x in (24, 44, 64, 84, 104))
    return (
        svg
        + disc(26, 118, 8, 8, "#23262b")
        + disc(102, 118, 8, 8, "#23262b")
        + rect(0, 74, 8, 5, "#23262b")
        + rect(120, 74, 8, 5, "#23262b")
    )


def trash_can(rng: Generator) -> str:
    """Return an open metal can; what lies in it stands above y = 40."""
    colour = pick(rng, ("#9aa3ab", "#7f8a80", "#8f9aa8"))
    svg = path("M22 40H106L98 124H30Z", colour) + rect(16, 34, 96, 9, "#6f7880", 4)
    svg += "".join(stroke(f"M{x} 50L{64 + (x - 64) * 0.86:g} 116", "#5a6068", 3) for x in (34, 49, 64, 79, 94))
    return svg + stroke("M10 58Q4 72 18 72M118 58Q124 72 110 72", "#5a6068", 4)


def unmade_bed(rng: Generator) -> str:
    """Return a bed whose blanket hangs to the floor."""
    cloth = pick(rng, ("#7d8f9c", "#9c7d86", "#8f8a6a", "#6f7f9c"))
    hem = "Q126 104 114 122Q104 108 92 118Q82 104 70 114Q60 96 44 78Z"
    return (
        rect(2, 40, 8, 80, "#6b4a30", 3) + rect(6, 84, 118, 24, "#7a563a", 2) + rect(8, 72, 114, 18, "#e3dccb", 4)
        + f'<g transform="rotate({uniform(rng, -30, 10):g} 28 66)">' + rect(12, 56, 34, 18, "#f0eadc", 8) + "</g>"
        + path(f"M44 78Q52 56 70 66Q82 50 96 66Q116 62 118 84{hem}", cloth)
        + stroke("M58 76Q70 84 66 102M84 72Q90 88 88 104M104 74Q100 88 108 104", "#00000033", 2.5)
    )  # fmt: skip


def made_bed(rng: Generator) -> str:
    """Return a bed made without a wrinkle."""
    cloth = pick(rng, ("#7fa3c7", "#8fb89a", "#c7a37f", "#a79ac7"))
    return (
        rect(2, 40, 8, 80, "#a9713f", 3) + rect(118, 70, 8, 50, "#a9713f", 3) + rect(8, 88, 112, 22, "#b98b5e", 2)
        + rect(10, 70, 108, 20, "#ffffff", 4) + rect(12, 60, 30, 14, "#ffffff", 6) + rect(46, 68, 72, 30, cloth, 3)
        + rect(46, 68, 72, 7, "#ffffffaa", 3)
    )  # fmt: skip


PAINTS = ("#b3202c", "#14213d", "#0b6e4f", "#aeb6bf", "#23262b", "#f4f5f7", "#5b2a86", "#1f6fb2")
FADED = ("#8a9a8b", "#a79a78", "#7f8f9f", "#a3847a", "#9a9a92", "#7c8f6a", "#a86a60", "#6f86a0", "#b59a5a")
_RUST = ("#8a4b22", "#a35b2b", "#6f3a1c")


# Cars, seen from the side, on wheels that end at y = 100.

_LUXURY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "coupe": (
            "M3 84Q2 72 18 69L38 65Q52 48 72 48Q90 48 100 65L116 69Q127 73 126 86H3Z",
            "M44 65Q56 52 68 52V65ZM72 52Q86 52 93 65H72Z",
        ),
        "limousine": (
            "M0 89Q0 75 8 73L18 71L30 57Q32 55 36 55H80Q85 55 89 59L100 70L119 72Q128 74 127 90H0Z",
            "M24 70L33 58H44V70ZM46 58H56V70H46ZM58 58H68V70H58ZM70 58H80Q84 58 95 70H70Z",
        ),
        "supercar": (
            "M2 86Q1 76 14 72L30 66Q48 52 66 52Q80 52 92 64L118 74Q127 78 126 88H2Z",
            "M42 66Q54 55 66 55Q78 55 87 66Z",
        ),
        "roadster": (
            "M3 84Q3 70 20 67L34 66Q40 60 48 66H74L86 50L90 52L82 66L114 69Q127 72 126 86H3Z",
            "M76 66L87 52L88 53L83 66Z",
        ),
    }
)  # fmt: skip
_OLD: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "saloon": (
            "M4 88V68Q4 64 8 63L26 61L38 42H80L94 61L118 64Q124 65 124 70V88Z",
            "M32 61L41 46H56V61ZM60 46H78L88 61H60Z",
        ),
        "pickup": ("M4 88V62H50V44Q50 42 54 42H80L94 60L120 63Q124 64 124 70V88Z", "M55 60V47H78L88 60Z"),
        "estate": (
            "M4 88V46Q4 42 8 42H80L94 61L118 64Q124 65 124 70V88Z",
            "M10 61V47H32V61ZM36 47H56V61H36ZM60 47H78L88 61H60Z",
        ),
    }
)  # fmt: skip


def _fine_wheel(x: float, spokes: str) -> str:
    svg = disc(x, 88, 12.5, 12.5, "#1b1d20") + disc(x, 88, 9.5, 9.5, "#dfe4e9")
    svg += stroke(
        f"M{x} 80V96M{x - 8} 88H{x + 8}M{x - 5.6} 82.4L{x + 5.6} 93.6M{x + 5.6} 82.4L{x - 5.6} 93.6", spokes, 1.8
    )
    return svg + disc(x, 88, 2.6, 2.6, "#f3c54b")


def luxury_car(rng: Generator) -> str:
    """Return a gleaming coupe, limousine, sports car or open roadster."""
    body, glass = _LUXURY[pick(rng, tuple(_LUXURY))]
    paint, spokes = pick(rng, PAINTS), pick(rng, ("#8d98a3", "#3d4348"))
    return (
        disc(64, 101, 62, 4, "#00000033") + path(body, paint) + path(glass, "#22384a")
        + stroke("M12 75Q60 71 116 75", "#ffffffaa", 1.8) + stroke("M14 84H114", "#e9edf1", 2)
        + path("M114 71L125 75L113 76Z", "#fff6cf") + path("M4 75L12 73L11 78L4 79Z", "#ff5247")
        + stroke("M57 77H63", "#f4f5f7", 1.6) + _fine_wheel(27, spokes) + _fine_wheel(101, spokes)
    )  # fmt: skip


def _bad_wheel(rng: Generator, x: float, state: str) -> str:
    if state == "gone":
        bricks = rect(x - 9, 94, 18, 6, "#a8533a", 1) + rect(x - 7, 88, 16, 6, "#8f4630", 1)
        return disc(x, 85, 13, 12, "#1e1712") + stroke(f"M{x - 5} 84H{x + 5}", "#6f7880", 3) + bricks
    tyre = disc(x, 94, 14, 7, "#2a2826") if state == "flat" else disc(x, 88, 12, 12, "#2a2826")
    return disc(x, 86, 14, 12, "#1e1712") + tyre + disc(x, 89, 6, 5.5, pick(rng, _RUST))


def dilapidated_car(rng: Generator) -> str:
    """Return a wreck: faded, rusted, a broken window, a wheel gone or flat, a bumper hanging."""
    body, glass = _OLD[pick(rng, tuple(_OLD))]
    paint, door = some(rng, FADED, 2)
    rust = ""
    for _ in range(int(rng.integers(8, 13))):
        x, y = uniform(rng, 10, 116), uniform(rng, 66, 83)
        rust += disc(x, y, uniform(rng, 3, 9), uniform(rng, 2, 5), pick(rng, _RUST))
    front, back = pick(rng, (("gone", "flat"), ("flat", "gone"), ("gone", "old"), ("old", "gone")))
    crack = uniform(rng, 64, 76)
    hole = f"M{crack} 60L{crack - 4} 50L{crack + 4} 54L{crack + 9} 48L{crack + 8} 60Z"
    return (
        disc(64, 101, 62, 4, "#00000033") + f'<g transform="rotate({uniform(rng, -3.5, 3.5):g} 64 90)">'
        + path(body, paint) + path("M57 63H84V84H57Z", door) + rust
        + path(glass, "#3a4046") + path(hole, "#cfd8dc")
        + stroke(f"M{crack + 2} 46L{crack + 3} 56L{crack + 10} 60", "#e9edf1", 1)
        + stroke("M57 64V83M84 64V83", "#4a3a2c", 1.4) + disc(119, 70, 4, 4, "#1e1712")
        + stroke("M116 66L123 74", "#8a4b22", 1.2)
        + stroke("M108 84L127 94", "#8d959c", 4) + stroke("M92 61L112 54L118 63", "#4a4f55", 2.4)
        + stroke("M12 70L24 74L18 79", "#4a3a2c", 1.2) + "</g>" + _bad_wheel(rng, 26, back)
        + _bad_wheel(rng, 102, front)
    )  # fmt: skip


# Houses, standing on y = 112.


def _panes(x: float, y: float, w: float, h: float, glass: str) -> str:
    return (
        rect(x - 1, y - 1, w + 2, h + 2, "#ffffff", 0.5)
        + rect(x, y, w, h, glass)
        + rect(x + w / 2 - 0.5, y, 1, h, "#ffffff")
    )


def _modern_villa(rng: Generator) -> str:
    wall, wood = pick(rng, ("#fbfaf6", "#f1ede4", "#e9eef2")), pick(rng, ("#a9713f", "#8a5a3c", "#5a6068"))
    glass = pick(rng, ("#8fcbe6", "#7fb7d6", "#ffe9a8"))
    return (
        rect(2, 70, 124, 42, wall, 0.5) + rect(26, 32, 84, 38, wall, 0.5) + rect(20, 27, 96, 6, "#4a4f57", 1)
        + rect(0, 66, 128, 6, "#4a4f57", 1) + rect(84, 33, 26, 33, wood) + _panes(32, 38, 22, 24, glass)
        + _panes(58, 38, 22, 24, glass) + _panes(90, 40, 14, 22, glass) + _panes(8, 78, 30, 30, glass)
        + _panes(42, 78, 24, 30, glass)
        + rect(72, 76, 16, 36, wood) + rect(84, 92, 2, 6, "#f3c54b") + rect(94, 80, 30, 32, "#d3d8dd")
        + "".join(rect(94, y, 30, 1, "#aeb6bd") for y in (86, 92, 98, 104)) + rect(2, 58, 24, 9, "#a9d6ee88")
        + rect(2, 57, 24, 1.5, "#6d747c")
    )  # fmt: skip


def _classic_villa(rng: Generator) -> str:
    wall, roof = pick(rng, ("#fdf6e3", "#f7e9d0", "#fbfaf6", "#f4dfd0")), pick(rng, ("#b5503c", "#8a4b3a", "#4f6478"))
    glass = pick(rng, ("#8fcbe6", "#7fb7d6"))
    svg = rect(2, 56, 124, 56, wall, 0.5) + path("M-1 57L10 40H118L129 57Z", roof) + rect(38, 40, 52, 72, wall)
    svg += path("M34 42L64 20L94 42Z", roof) + path("M44 39L64 25L84 39Z", wall) + disc(64, 34, 4, 4, glass)
    for y in (64, 88):
        svg += "".join(_panes(x, y, 9, 15, glass) for x in (7, 23, 96, 112))
    svg += _panes(47, 50, 9, 15, glass) + _panes(60, 48, 9, 17, glass) + _panes(73, 50, 9, 15, glass)
    svg += rect(40, 68, 48, 3, "#d9cdb4") + "".join(rect(x, 64, 1.2, 6, "#d9cdb4") for x in range(42, 88, 4))
    svg += "".join(rect(x, 71, 4, 41, "#ffffff", 1) + rect(x - 1, 71, 6, 3, "#e3d8c1") for x in (41, 53, 71, 83))
    return svg + rect(59, 84, 11, 28, "#6b3f26", 5) + disc(67, 98, 1, 1, "#f3c54b") + rect(36, 109, 56, 4, "#d9cdb4", 1)


def _tower_villa(rng: Generator) -> str:
    wall, roof = pick(rng, ("#fdf0d9", "#f9e3cf", "#fbfaf6")), pick(rng, ("#c0643c", "#a9532f", "#8a4b3a"))
    glass = pick(rng, ("#8fcbe6", "#6fa9cc"))
    svg = (
        rect(24, 50, 102, 62, wall)
        + path("M20 52L30 38H122L130 52Z", roof)
        + rect(2, 26, 32, 86, wall)
        + path("M-2 28L18 8L38 28Z", roof)
    )
    svg += _panes(10, 36, 16, 18, glass) + _panes(10, 64, 16, 16, glass)
    svg += "".join(_panes(x, 57, 13, 16, glass) for x in (42, 64, 86, 108)) + rect(38, 75, 88, 3, "#d9cdb4")
    for x in (40, 62, 84, 106):
        svg += path(f"M{x} 112V92Q{x} 82 {x + 9} 82T{x + 18} 92V112Z", glass)
    return svg + path("M10 112V96Q10 88 18 88T26 96V112Z", "#6b3f26") + rect(0, 109, 128, 4, "#d9cdb4", 1)


def villa(rng: Generator) -> str:
    """Return a large well-kept house: modern, classic or with a tower."""
    return pick(rng, (_modern_villa, _classic_villa, _tower_villa))(rng)


def hut(rng: Generator) -> str:
    """Return a crooked shack of boards: a patched roof, a boarded window, a door off its hinge."""
    board, lean = pick(rng, ("#8a6a4a", "#7a6a5a", "#6f5a44", "#93806a")), uniform(rng, -5, 5)
    tin = pick(rng, ("#8d8f8c", "#a0603a", "#7a7f78"))
    svg = path(f"M{24 + lean} 56L{104 + lean} 52L106 112H22Z", board)
    for k in range(1, 8):
        svg += stroke(f"M{24 + lean + 10 * k} {56 - k * 0.5}L{22 + 10.5 * k} 112", "#4a3a2c", 1.4)
    svg += path(f"M{34 + lean} 92l8 -2l2 22h-10z", "#241a12")
    svg += (
        f'<g transform="rotate({uniform(rng, 3, 9):g} 52 112)">'
        + rect(46, 72, 20, 40, "#5a4430")
        + stroke("M49 80L63 104", "#8f7350", 3)
        + "</g>"
    )
    svg += (
        rect(76, 70, 20, 18, "#1e1712", 0.5)
        + stroke("M73 72L99 86M74 88L98 70", "#a58a63", 4)
        + stroke("M73 79L99 78", "#8f7350", 4)
    )
    slope = f"M{8 + lean} 62L{20 + lean} 36L{112 + lean} 30L{122 + lean} 56Z"
    svg += path(slope, tin)
    for k in range(1, 9):
        svg += stroke(f"M{20 + lean + 10.2 * k} {36 - 0.6 * k}L{8 + lean + 12.6 * k} {62 - 0.6 * k}", "#55585a", 1.2)
    for colour in some(rng, ("#a0603a", "#5f7a8a", "#b89a5a", "#6b7f5a", "#8a4b22"), 3):
        x, y = uniform(rng, 24, 88), uniform(rng, 36, 46)
        svg += f'<g transform="rotate({uniform(rng, -14, 14):g} {x:g} {y:g})">' + rect(x, y, 18, 11, colour) + "</g>"
    svg += path(f"M{uniform(rng, 30, 96)} 58l-7 -12l12 -3l4 13z", "#1e1712")
    return svg + path(f"M{90 + lean} 34V20L98 12L103 15L{97 + lean} 23V34Z", "#4a4f55")


def fence(rng: Generator) -> str:
    """Return a fence with boards missing and askew."""
    svg = stroke("M0 84L128 90", "#7a6348", 4) + stroke("M0 102L70 104", "#7a6348", 4)
    for x in range(4, 124, 16):
        if rng.random() < 0.7:
            svg += (
                f'<g transform="rotate({uniform(rng, -14, 14):g} {x} 116)">' + rect(x, 70, 9, 48, "#93806a", 1) + "</g>"
            )
    return svg


def weeds(rng: Generator) -> str:
    """Return a tuft of high dry grass."""
    svg = ""
    for _ in range(11):
        x = uniform(rng, 40, 88)
        lean = x + uniform(rng, -34, 34)
        svg += stroke(
            f"M{x:g} 122Q{x:g} 90 {lean:g} {uniform(rng, 56, 92):g}", pick(rng, ("#8f9a4a", "#b0a24f", "#6f8a45")), 4
        )
    return svg


def hedge(rng: Generator) -> str:
    """Return a round trimmed bush with flowers."""
    svg = disc(64, 92, 56, 36, "#4f8f4a") + disc(64, 86, 48, 28, "#5fa357")
    return svg + "".join(disc(uniform(rng, 22, 106), uniform(rng, 70, 110), 4, 4, pick(rng, BRIGHT)) for _ in range(8))
