"""Drawings for scenes without people: a painting, a game, furniture, machines, drawn at random.

Every function takes the random numbers of the picture and returns a body on the artwork's grid of 128 x 128.
"""

from numpy.random import Generator

from facevalue.stimuli.noto.backdrops import disc, path, rect, stroke
from facevalue.stimuli.noto.persona_canvas import pick, some, uniform

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
