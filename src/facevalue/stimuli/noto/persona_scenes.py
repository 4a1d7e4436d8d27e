"""Scenes without people, one for each persona trait of ModSCAN: what such a person owns, makes or likes.

The 14 traits are those of Tables 2 and 3 of the paper. Nothing in a scene tells gender, race or religion. A seed
decides which things stand there, where, how large, in which colours, and whether the scene is mirrored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.noto import persona_drawings as d
from facevalue.stimuli.noto.artwork import document
from facevalue.stimuli.noto.backdrops import FOREGROUNDS, disc, path, rect, stroke
from facevalue.stimuli.noto.persona_drawings import (
    Canvas,
    Drawing,
    dilapidated_car,
    fence,
    hedge,
    hut,
    luxury_car,
    pick,
    some,
    uniform,
    villa,
    weeds,
)
from facevalue.stimuli.noto.scenes import SIZE

ART = ("artist-palette", "paintbrush", "crayon")
READING = ("closed-book", "blue-book", "green-book", "orange-book", "notebook")
DISHES = ("spaghetti", "green-salad", "shallow-pan-of-food", "pot-of-food", "pie", "birthday-cake", "lobster", "pizza")
BITES = (
    "poultry-leg", "meat-on-bone", "cheese-wedge", "croissant", "baguette-bread", "grapes", "cherries", "strawberry",
    "watermelon", "pineapple", "shortcake", "cupcake", "doughnut", "custard", "wine-glass", "oyster",
)  # fmt: skip
GAMING = ("video-game", "joystick", "headphone", "game-die", "alien-monster", "optical-disk", "cup-with-straw")
OUTDOORS = ("tent", "hiking-boot", "backpack", "compass", "fire", "goat", "rock", "wood")
INSTRUMENTS = ("guitar", "violin", "trumpet", "saxophone", "drum", "accordion", "trombone", "musical-keyboard")
STUDIO = ("studio-microphone", "headphone", "musical-score", "control-knobs")
LITTER = (
    "t-shirt", "socks", "jeans", "pizza", "banana", "canned-food", "beverage-box", "cup-with-straw", "french-fries",
    "bone", "rolled-up-newspaper", "roll-of-paper", "running-shoe", "open-book", "hamburger",
)  # fmt: skip
CLEANING = ("broom", "bucket", "lotion-bottle")
LEFTOVERS = (
    "red-apple", "banana", "bread", "baguette-bread", "pizza", "fish", "carrot", "leafy-green", "croissant", "doughnut",
    "canned-food", "bone", "cheese-wedge", "hamburger", "beverage-box", "poultry-leg", "rolled-up-newspaper",
)  # fmt: skip
SPORT = ("running-shoe", "boxing-glove", "stopwatch", "basketball", "tennis", "skateboard", "volleyball")
TREES = ("palm-tree", "deciduous-tree")
JUNK = ("wheel", "oil-drum", "rock")
YARD = ("oil-drum", "wood", "rock", "bucket")
FIXED = (
    "books", "open-book", "keyboard", "computer-mouse", "sun", "cloud", "evergreen-tree", "spider-web", "package",
    "wastebasket", "splatter", "couch-and-lamp", "potted-plant", "sparkles", "leafless-tree", "fallen-leaf", "fountain",
    "tulip",
)  # fmt: skip

ARTWORK: frozenset[str] = frozenset(
    (
        *ART, *READING, *DISHES, *BITES, *GAMING, *OUTDOORS, *INSTRUMENTS, *STUDIO, *LITTER, *CLEANING, *LEFTOVERS,
        *SPORT, *TREES, *JUNK, *YARD, *FIXED,
    )
)  # fmt: skip
"""Every piece of the artwork that these scenes show."""


def _art_lover(c: Canvas) -> None:
    c.room()
    size = c.near(320, 24)
    left = c.near(96, 40)
    c.paint(path(f"M{left + size / 2 - 40:g} 0H{left + size / 2 + 40:g}L{left + size:g} 380H{left:g}Z", "#ffffff44"))
    if c.rng.random() < 0.35:
        middle, wood = left + size / 2, pick(c.rng, ("#8a633c", "#a67c4e", "#5a4430"))
        c.paint(stroke(f"M{middle:g} 20L{middle - 120:g} 470M{middle:g} 20L{middle + 120:g} 470", wood, 14))
        c.paint(rect(left + 10, 352, size - 20, 16, wood, 4))
    c.put(d.painting, left, c.near(26, 10), size, uniform(c.rng, -1, 1))
    if c.rng.random() < 0.6:
        c.put(d.painting, -14 if left > 110 else 410, c.near(110, 30), 112)
    for k, name in enumerate(some(c.rng, ART, int(c.rng.integers(1, 4)))):
        c.put(name, c.near(110 + 130 * k, 30), c.near(376, 12), c.near(104, 16))


def _bookworm(c: Canvas) -> None:
    wood = pick(c.rng, ("#8a5f38", "#6b4a30", "#a67c4e"))
    c.paint(rect(0, 0, SIZE, SIZE, c.tint((0.3, 0.45), (0.15, 0.3))), rect(0, 400, SIZE, 112, "#b98e63"))
    rows = int(c.rng.integers(4, 6))
    high = 380 / rows
    window = c.rng.random() < 0.4
    for k in range(rows):
        for x in (4, 340) if window and k < 2 else (4, 172, 340):
            c.shelf(x, round(8 + high * (k + 1), 1), 168, high - 18)
    if window:
        sky = pick(c.rng, ("#cfe8f7", "#f4d3b0", "#3f5182", "#dfe5ec"))
        c.paint(rect(176, 8, 160, 2 * high - 6, "#f6f1e7"), rect(186, 18, 140, 2 * high - 26, sky))
        c.paint(rect(252, 18, 8, 2 * high - 26, "#f6f1e7"))
    c.paint(*(rect(x, 0, 9, 404, wood) for x in (0, 167, 335, 503)))
    c.put("books", c.near(40, 30), c.near(310, 10), c.near(180, 16))
    c.put("open-book", c.near(216, 24), c.near(350, 10), c.near(140, 14))
    for k, name in enumerate(some(c.rng, READING, 2)):
        c.put(name, c.near(350 + 62 * k, 14), c.near(372 + 14 * k, 10), c.near(96, 10), c.near(0, 30))


def _foodie(c: Canvas) -> None:
    c.wash("dining")
    cloth, trim = c.tint((0.88, 0.97), (0.2, 0.6)), c.tint((0.35, 0.6), (0.4, 0.8))
    c.paint(rect(0, 0, SIZE, SIZE, "#6b4a3a33"), path("M34 196H478L548 512H-36Z", "#7a5636"))
    c.paint(path("M44 202H468L534 512H-22Z", trim), path("M58 214H454L500 492H12Z", cloth))
    if c.rng.random() < 0.5:
        c.paint(*(path(f"M{x} 214h18l{(x - 246) * 0.2:g} 278h-26z", trim + "44") for x in range(84, 440, 60)))
    dishes, bites = some(c.rng, DISHES, 5), some(c.rng, BITES, 8)
    for k, name in enumerate((*bites[:2], dishes[0], *bites[2:4])):
        c.put(name, c.near(46 + 84 * k, 8), c.near(152, 8), c.near(88, 8))
    for k, name in enumerate((dishes[1], bites[4], dishes[2], bites[5])):
        c.put(name, c.near(26 + 116 * k, 10), c.near(242, 10), c.near(112, 12))
    for k, name in enumerate((bites[6], dishes[3], dishes[4], bites[7])):
        c.put(name, c.near(2 + 124 * k, 10), c.near(352, 12), c.near(132, 12))


def _geek(c: Canvas) -> None:
    c.room((0.25, 0.6), 352)
    for k in range(2):
        if c.rng.random() < 0.7:
            c.paint(stroke(f"M{20 + 400 * k} 60H{90 + 400 * k}", c.tint((0.55, 0.7), (0.8, 1)), 6))
    c.paint(FOREGROUNDS["desk"])
    c.put(d.game_screen, c.near(96, 30), c.near(56, 14), c.near(326, 18))
    c.put("keyboard", c.near(170, 20), c.near(364, 8), c.near(150, 12))
    c.put("computer-mouse", c.near(336, 14), c.near(392, 8), 66)
    things = some(c.rng, GAMING, 4)
    for k, (name, x) in enumerate(zip(things, (6, 400, 40, 404), strict=True)):
        c.put(name, c.near(x, 8), c.near(274 if k < 2 else 396, 12), c.near(102, 10))


def _loves_outdoors(c: Canvas) -> None:
    sky, rock = pick(c.rng, ("#bfe0f5", "#a9d6ee", "#f4d3b0", "#d7dcf2")), c.tint((0.38, 0.55), (0.08, 0.25))
    c.paint(rect(0, 0, SIZE, SIZE, sky))
    c.put(pick(c.rng, ("sun", "cloud")), c.near(40, 24), c.near(24, 16), c.near(90, 12))
    c.put("cloud", c.near(390, 24), c.near(60, 30), c.near(90, 16))
    x, y = c.near(256, 60), c.near(40, 24)
    for far in (-170, 180):
        c.paint(path(f"M{x + far - 150:g} 400L{x + far:g} {c.near(180, 40):g}L{x + far + 150:g} 400Z", "#8fa2b1"))
    right = f"L{x + 50:g} 150L{x + 84:g} 196L{x + 190:g} 420H{x + 10:g}"
    c.paint(path(f"M{x - 190:g} 420L{x - 84:g} 190L{x - 60:g} 170L{x:g} {y:g}{right}Z", rock))
    c.paint(path(f"M{x:g} {y:g}{right}L{x + 30:g} 260L{x - 8:g} 170Z", "#00000033"))
    snow = f"L{x + 36:g} {y + 70:g}L{x + 18:g} {y + 58:g}L{x + 4:g} {y + 84:g}L{x - 16:g} {y + 62:g}Z"
    c.paint(path(f"M{x - 38:g} {y + 74:g}L{x:g} {y:g}{snow}", "#ffffff"))
    c.paint(path("M0 392Q128 360 256 384T512 376V512H0Z", pick(c.rng, ("#7fb96a", "#8fae5c", "#6fa36a"))))
    for k in range(int(c.rng.integers(3, 7))):
        c.put("evergreen-tree", c.near(8 + 78 * k, 14), c.near(310, 16), c.near(94, 24))
    for k, name in enumerate(some(c.rng, OUTDOORS, 3)):
        c.put(name, c.near(50 + 150 * k, 30), c.near(390, 12), c.near(100, 14))


def _music_lover(c: Canvas) -> None:
    c.room((0.35, 0.6), 370)
    foam = c.tint((0.25, 0.4), (0.1, 0.3))
    c.paint(*(rect(x, y, 40, 40, foam, 4) for x in range(10, 500, 50) for y in (14, 64)))
    c.put(d.speaker, -4, c.near(196, 8), c.near(128, 8))
    c.put(d.speaker, 388, c.near(196, 8), c.near(128, 8))
    things = some(c.rng, INSTRUMENTS, 6)
    for k, name in enumerate(things[:3]):
        c.put(name, c.near(96 + 108 * k, 8), c.near(150, 14), c.near(124, 10))
    c.put(d.mixing_desk, c.near(146, 20), c.near(196, 6), c.near(210, 10))
    c.put(pick(c.rng, STUDIO), c.near(206, 30), c.near(372, 8), c.near(100, 10))
    for k, (name, x) in enumerate(zip(things[3:], (10, 326, 110), strict=True)):
        c.put(name, c.near(x, 8), c.near(330 + 22 * (k == 2), 8), c.near(160 - 40 * (k == 2), 8))


def _slob(c: Canvas) -> None:
    c.room((0.62, 0.76), 300)
    for _ in range(4):
        c.paint(disc(uniform(c.rng, 20, 490), uniform(c.rng, 20, 260), c.near(26, 14), c.near(18, 8), "#6b5a3a44"))
    c.put(d.painting, c.near(60, 30), c.near(40, 14), c.near(110, 14), pick(c.rng, (-1, 1)) * c.near(20, 7))
    c.put("spider-web", 420, 0, c.near(92, 10))
    c.paint(rect(360, 96, 130, 8, "#7a5636"))
    c.put("package", c.near(372, 8), 20, 80, c.near(14, 8))
    c.put(d.unmade_bed, c.near(6, 8), c.near(136, 8), c.near(250, 14))
    c.put("wastebasket", c.near(352, 14), c.near(186, 8), c.near(140, 10), pick(c.rng, (-1, 1)) * c.near(30, 8))
    for _ in range(2):
        c.put("splatter", uniform(c.rng, 10, 400), uniform(c.rng, 330, 420), c.near(80, 16))
    for k, name in enumerate(some(c.rng, LITTER, 13)):
        row, column = (0, k) if k < 3 else divmod(k + 2, 5)
        x = 264 + 76 * column if k < 3 else 4 + 96 * column
        c.put(name, c.near(x, 16), c.near(296 + 56 * row, 14), c.near(96, 14), uniform(c.rng, -140, 140))


def _neat(c: Canvas) -> None:
    c.room((0.9, 0.96), 360)
    c.paint(path("M60 360L20 512H150L170 360Z", "#ffffff44"), path("M210 360L196 512H260L250 360Z", "#ffffff44"))
    c.paint(rect(24, 50, 116, 150, "#ffffff", 4), rect(34, 60, 96, 130, "#cfe8f7"), rect(79, 60, 6, 130, "#ffffff"))
    c.paint(rect(34, 122, 96, 6, "#ffffff"))
    c.put(d.painting, c.near(206, 10), c.near(30, 10), c.near(120, 10))
    for y in (112, 186):
        c.shelf(372, y, 124, 48)
    rug = c.tint((0.6, 0.8), (0.3, 0.5))
    c.paint(disc(256, 450, 190, 40, rug), disc(256, 450, 170, 32, "#ffffff44"))
    if c.rng.random() < 0.5:
        c.put(d.made_bed, c.near(110, 16), c.near(176, 6), c.near(250, 12))
    else:
        c.put("couch-and-lamp", c.near(130, 16), c.near(176, 8), c.near(230, 12))
    c.put("potted-plant", c.near(392, 8), c.near(252, 6), c.near(120, 8))
    if c.rng.random() < 0.6:
        c.put("potted-plant", c.near(6, 4), c.near(252, 6), c.near(110, 8))
    for name, x in zip(some(c.rng, CLEANING, 2), (396, 30), strict=True):
        c.put(name, c.near(x, 8), c.near(384, 6), c.near(92, 8))
    for x, y in some(c.rng, ((170, 250), (330, 210), (220, 400), (330, 404), (150, 30)), 3):
        c.put("sparkles", x, y, c.near(62, 10))


def _freegan(c: Canvas) -> None:
    brick = pick(c.rng, ("#b07a62", "#a98f7a", "#8f8a86", "#9c6b5a"))
    c.paint(rect(0, 0, SIZE, SIZE, brick))
    for j in range(9):
        c.paint(stroke(f"M0 {40 * j + 20}H512", "#00000022", 3))
        c.paint(*(rect(x + 32 * (j % 2), 40 * j - 20, 3, 40, "#00000022") for x in range(0, SIZE, 64)))
    c.paint(FOREGROUNDS["paving"])
    bin_, middle, top, size, wide = pick(c.rng, ((d.dumpster, 250, 96, 380, 360), (d.trash_can, 255, 110, 330, 210)))
    left, rim = c.near(middle - size / 2, 16), top + size * (50 / 128 if bin_ is d.dumpster else 36 / 128)
    start = left + (size - wide) / 2
    for k, name in enumerate(some(c.rng, LEFTOVERS, 8)):
        step = (wide - 96) / 3
        y = rim - 104 + 42 * (k >= 4)
        c.put(name, c.near(start + step * (k % 4), 8), c.near(y, 10), c.near(104, 10), uniform(c.rng, -60, 60))
    c.put(bin_, left, top, size)
    for k, name in enumerate(some(c.rng, LEFTOVERS, 5)):
        c.put(name, c.near(10 + 96 * k, 14), c.near(412, 14), c.near(80, 10), uniform(c.rng, -70, 70))


def _active(c: Canvas) -> None:
    c.wash("gym")
    c.paint(FOREGROUNDS[pick(c.rng, ("floor", "boards"))])
    machines: Sequence[Drawing] = some(c.rng, (d.treadmill, d.weights, d.weight_bench), 3)
    c.put(machines[0], c.near(10, 8), c.near(134, 8), c.near(260, 12))
    c.put(machines[1], c.near(268, 8), c.near(146, 8), c.near(232, 12))
    c.put("barbell", c.near(120, 30), c.near(270, 12), c.near(270, 20))
    for x in some(c.rng, (30, 120), int(c.rng.integers(1, 3))):
        c.put(d.kettlebell, c.near(x, 10), c.near(386, 10), c.near(92, 10))
    for k, name in enumerate(some(c.rng, SPORT, 2)):
        c.put(name, c.near(250 + 120 * k, 14), c.near(390, 12), c.near(104, 10))


PLACES = ("road", "street", "park", "beach", "mountains")


def _car(c: Canvas, car: Drawing, low: float, *around: tuple[str | Drawing, float, float, float]) -> None:
    """Add a place, what stands around the car, and the car before it."""
    c.wash(pick(c.rng, PLACES))
    c.paint(FOREGROUNDS[pick(c.rng, ("tarmac", "paving", "floor"))])
    for drawing, x, y, size in around:
        c.put(drawing, c.near(x, 10), c.near(y, 8), c.near(size, 8))
    size = c.near(456, 22)
    c.put(car, c.near(256 - size / 2, 10), c.near(low - size * 0.79, 8), size)


def _luxury_car(c: Canvas) -> None:
    plant = pick(c.rng, TREES)
    _car(c, luxury_car, 450, (plant, 8, 160, 190), (plant, 320, 170, 180), (hedge, 200, 250, 110))
    for x, y in some(c.rng, ((150, 236), (300, 230), (40, 300), (410, 300), (70, 400), (380, 400)), 2):
        c.put("sparkles", x, y, c.near(62, 10))


def _dilapidated_car(c: Canvas) -> None:
    _car(c, dilapidated_car, 450, ("leafless-tree", 10, 160, 190), (fence, 300, 210, 180), (weeds, 190, 250, 110))
    things: list[str | Drawing] = [pick(c.rng, JUNK), weeds, "fallen-leaf", weeds]
    for drawing, x in zip(things, some(c.rng, (4, 130, 260, 400), 4), strict=True):
        c.put(drawing, c.near(x, 8), c.near(404, 8), c.near(94, 10))


def _grounds(c: Canvas, ground: str) -> None:
    """Add a place, the sky's things and the ground that a house stands on."""
    c.wash(pick(c.rng, ("road", "park", "field", "mountains")))
    c.paint(path("M0 380Q256 366 512 380V512H0Z", ground))
    if c.rng.random() < 0.6:
        c.put("cloud", c.near(30, 20), c.near(8, 8), c.near(84, 10))
    c.put(pick(c.rng, ("sun", "cloud")), c.near(410, 16), c.near(10, 8), c.near(78, 10))


def _luxury_villa(c: Canvas) -> None:
    _grounds(c, pick(c.rng, ("#7fb96a", "#8fc47a", "#6fb06a")))
    for x in (-16, 384):
        c.put(pick(c.rng, TREES), c.near(x, 10), c.near(170, 12), c.near(160, 12))
    size = c.near(404, 16)
    c.put(villa, c.near(256 - size / 2, 8), c.near(400 - size * 0.875, 6), size)
    c.put(hedge, c.near(10, 8), c.near(340, 6), 84)
    c.put(hedge, c.near(412, 8), c.near(340, 6), 84)
    if c.rng.random() < 0.65:
        c.paint(disc(256, 456, 170, 36, "#f1ede4"), disc(256, 456, 156, 29, "#5cc0e0"))
        c.paint(stroke("M180 452q14-10 28 0t28 0M270 464q14-10 28 0t28 0", "#dff4fb", 4))
    else:
        c.paint(path("M226 400H286L330 512H182Z", "#e6dcc8"))
        c.put("fountain", c.near(200, 8), c.near(384, 6), 112)
    for k in range(4):
        c.put("tulip", c.near((6, 62, 390, 446)[k], 6), c.near(424, 8), 62)


def _shabby_hut(c: Canvas) -> None:
    _grounds(c, pick(c.rng, ("#a89a6a", "#9a8f5f", "#b0a078")))
    c.put("leafless-tree", c.near(-10, 8), c.near(140, 12), c.near(190, 14))
    c.put(fence, c.near(370, 10), c.near(300, 8), 140)
    size = c.near(340, 18)
    c.put(hut, c.near(262 - size / 2, 14), c.near(408 - size * 0.875, 6), size)
    c.paint(disc(256, 470, c.near(150, 40), 22, "#7a6a4a88"))
    things: list[str | Drawing] = [*some(c.rng, YARD, 2), weeds, weeds]
    for drawing, x in zip(things, some(c.rng, (6, 130, 290, 400), 4), strict=True):
        c.put(drawing, c.near(x, 8), c.near(384, 12), c.near(96, 10))


@dataclass(frozen=True, slots=True)
class Persona:
    """One persona trait: what its scene shows, in the words of the paper's Table 2, and what draws it."""

    shows: str
    draw: Callable[[Canvas], None]


PERSONAS: Mapping[str, Persona] = MappingProxyType(
    {
        "art lover": Persona("A piece of art painting.", _art_lover),
        "bookworm": Persona("A room full of books.", _bookworm),
        "foodie": Persona("A table of sumptuous food.", _foodie),
        "geek": Persona("A computer with video games on it.", _geek),
        "loves outdoors": Persona("A steep mountain.", _loves_outdoors),
        "music lover": Persona("Many musical instruments in a recording room.", _music_lover),
        "slob": Persona("A messy room.", _slob),
        "neat": Persona("A clean and tidy house.", _neat),
        "freegan": Persona("A trash can with trash and leftovers inside.", _freegan),
        "active": Persona("A gym.", _active),
        "luxury car": Persona("A luxury car.", _luxury_car),
        "dilapidated car": Persona("A dilapidated car.", _dilapidated_car),
        "luxury villa": Persona("A luxury villa.", _luxury_villa),
        "shabby hut": Persona("A shabby Hut.", _shabby_hut),
    }
)
"""What is drawn, by the trait's name in Table 3, in lower case."""


def persona_svg(name: str, seed: int) -> str:
    """Return a scene without people as an SVG document of 512 x 512 units.

    The same persona (a key of `PERSONAS`) and seed, at least 0, give the same document, byte for byte.
    """
    if name not in PERSONAS:
        raise UnknownNameError("persona", name, PERSONAS)
    if seed < 0:
        raise DataError(f"The seed of a persona's scene must be at least 0, not {seed}.")
    canvas = Canvas(np.random.default_rng([tuple(PERSONAS).index(name), seed]))
    PERSONAS[name].draw(canvas)
    inner = "".join(canvas.parts)
    if canvas.rng.random() < 0.5:
        inner = f'<g transform="matrix(-1 0 0 1 {SIZE} 0)">{inner}</g>'
    return document(inner, SIZE)
