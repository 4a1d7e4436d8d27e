"""Cars and houses of our own, fine and run down, and what stands around them, drawn by chance.

Every function takes the random numbers of the picture and returns a body on the artwork's grid of 128 x 128. Cars
stand on y = 100, houses on y = 112.
"""

from collections.abc import Mapping
from types import MappingProxyType

from numpy.random import Generator

from facevalue.stimuli.noto.backdrops import disc, path, rect, stroke
from facevalue.stimuli.noto.persona_canvas import pick, some, uniform
from facevalue.stimuli.noto.persona_drawings import BRIGHT

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
