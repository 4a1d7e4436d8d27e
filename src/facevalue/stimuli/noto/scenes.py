"""Activities as scenes: a person behind the objects of what they do, in a plain place of our own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from facevalue.errors import UnknownNameError
from facevalue.stimuli.noto.artwork import body, document, nest_document
from facevalue.stimuli.noto.backdrops import BACKDROPS, FOREGROUNDS, disc, path, rect, stroke

_CODE = "".join(
    rect(x, y, w, 4, colour, 2)
    for x, y, w, colour in (
        (16, 26, 30, "#f2a65a"), (50, 26, 22, "#9cdcfe"), (22, 35, 40, "#b5e48c"), (66, 35, 18, "#f4f1de"),
        (28, 44, 26, "#9cdcfe"), (58, 44, 44, "#b5e48c"), (28, 53, 50, "#f2a65a"), (22, 62, 22, "#d8a7e0"),
        (48, 62, 34, "#9cdcfe"), (16, 71, 36, "#b5e48c"),
    )
)  # fmt: skip
_BOARD = "".join(
    rect(16 + 12 * i, 66 + 6 * j, 12, 6, "#f3e3c3" if (i + j) % 2 else "#7b5a3a") for i in range(8) for j in range(8)
)
_TRACK = "".join(
    rect(x, y, 12, 9, c)
    for k, c in enumerate(("#e4572e", "#f3a712", "#76b041", "#17bebb"))
    for x, y in ((18 + 24 * k, 68), (30 + 24 * k, 68), (18 + 24 * k, 107), (30 + 24 * k, 107))
)
_NET = "".join(stroke(f"M{x} 30V72", "#f4f4f0", 1) for x in range(2, 128, 7)) + "".join(
    stroke(f"M0 {y}H128", "#f4f4f0", 1) for y in range(38, 72, 7)
)
_SPARKS = "".join(
    stroke(f"M64 62L{64 + dx} {62 + dy}", "#ffc938", 2.5)
    for dx, dy in ((-30, -16), (-22, -30), (-6, -34), (12, -32), (26, -22), (34, -6), (-36, -2), (22, 20), (-20, 20))
)
_WEAVE = "".join(
    rect(26 + 8 * i, 58 + 8 * j, 8, 8, "#c8553d" if (i + j) % 2 else "#f2cc8f") for i in range(10) for j in range(5)
)

DRAWINGS: Mapping[str, str] = MappingProxyType(
    {
        "car-front": path("M24 64L34 8Q36 3 42 3H86Q92 3 94 8L104 64H97L88 11H40L31 64Z", "#c8463c")
        + rect(6, 60, 116, 52, "#d9534a", 14) + rect(6, 60, 116, 8, "#e67b73", 4) + disc(24, 86, 11, 9, "#fff6cf")
        + disc(104, 86, 11, 9, "#fff6cf") + rect(42, 80, 44, 14, "#5f2a27", 4) + rect(4, 102, 120, 10, "#b9bfc5", 4)
        + rect(14, 110, 20, 16, "#33363a", 4) + rect(94, 110, 20, 16, "#33363a", 4),
        "steering-wheel": stroke("M36 66A28 28 0 0 1 92 66", "#2f3236", 7) + stroke("M64 46V66", "#2f3236", 6),
        "washing-machine": rect(14, 6, 100, 118, "#f6f8fa", 8) + rect(14, 6, 100, 24, "#dfe5ea", 8)
        + disc(100, 18, 6, 6, "#8b99a6") + rect(24, 13, 30, 10, "#b6c2cc", 3) + disc(64, 78, 36, 36, "#aeb9c2")
        + disc(64, 78, 28, 28, "#8fc7e0") + path("M38 84q13-12 26 0t26 0q-4 22-26 22t-26-22", "#5fa9cc"),
        "barbell": rect(0, 61, 128, 5, "#8d959c", 2) + rect(10, 40, 12, 47, "#3d4348", 5)
        + rect(23, 47, 9, 33, "#565d63", 4)
        + rect(106, 40, 12, 47, "#3d4348", 5) + rect(96, 47, 9, 33, "#565d63", 4),
        "headboard": rect(0, 20, 128, 108, "#9a7048", 10) + rect(8, 28, 112, 100, "#b98b5e", 8)
        + rect(16, 52, 96, 60, "#ffffff", 22) + rect(20, 56, 88, 52, "#f2f2f7", 20),
        "leash": stroke("M8 12Q50 110 118 60", "#b03a3a", 3),
        "pipe": stroke("M20 0V54Q20 96 62 96H128", "#8a979f", 18) + stroke("M20 0V54Q20 96 62 96H128", "#b4c0c7", 8)
        + rect(6, 34, 28, 12, "#6f7c84", 3) + rect(82, 82, 12, 28, "#6f7c84", 3)
        + path("M100 112q-8 12 0 14t0-14M112 108q-6 9 0 11t0-11", "#4fa3d1"),
        "ironing-board": rect(0, 62, 128, 14, "#7fa3c7", 7) + rect(0, 62, 128, 5, "#a3c0dc", 3)
        + stroke("M30 78L92 128M92 78L30 128", "#8a8f94", 5),
        "iron": path("M14 96Q20 58 66 56H104L116 96Z", "#3f7fb5") + rect(10, 96, 108, 10, "#c7ced4", 3)
        + stroke("M52 56Q56 34 76 34H96Q106 34 108 56", "#2c5c85", 9) + disc(64, 78, 6, 6, "#dcebf5"),
        "code-screen": rect(6, 14, 116, 74, "#3a3f47", 6) + rect(11, 19, 106, 64, "#1f2530", 3) + _CODE
        + rect(54, 88, 20, 18, "#6d747c") + rect(34, 104, 60, 8, "#565d64", 4),
        "torch": rect(0, 84, 128, 16, "#8d98a1", 2) + rect(0, 84, 128, 5, "#aeb8c0", 2)
        + stroke("M112 20L74 56", "#4a4f55", 8)
        + stroke("M112 20L122 6", "#b5482f", 10) + _SPARKS + disc(64, 62, 12, 12, "#bfe6ff")
        + disc(64, 62, 6, 6, "#ffffff"),
        "tray": disc(64, 98, 62, 16, "#9aa3ab") + disc(64, 94, 62, 16, "#d5dbe0") + disc(64, 93, 50, 11, "#c2c9cf"),
        "hoop": rect(14, 4, 100, 70, "#ffffff", 4) + rect(14, 4, 100, 4, "#c0473a") + rect(44, 34, 40, 30, "#c0473a")
        + rect(48, 38, 32, 22, "#ffffff") + path("M40 76H88L80 116H48Z", "#ffffff88")
        + stroke("M46 78L54 114M58 78L62 114M72 78L68 114M84 78L74 114M42 90H86M45 102H83", "#e9e9e4", 2)
        + stroke("M38 74H90", "#e4672e", 6),
        "bicycle-front": stroke("M20 40Q40 22 64 28Q88 22 108 40", "#2f3236", 7)
        + stroke("M12 46L24 37M116 46L104 37", "#1d1f22", 10)
        + stroke("M64 28V74", "#c9463c", 7) + stroke("M56 76V118M72 76V118", "#c9463c", 4)
        + disc(64, 44, 8, 8, "#fff2b8")
        + rect(59, 72, 10, 56, "#2b2d30", 5),
        "easel": stroke("M64 0L20 128M64 0L108 128", "#8a633c", 6) + rect(18, 18, 92, 70, "#ffffff", 2)
        + rect(24, 24, 80, 58, "#cfe7f5") + path("M24 82V64L50 46L74 66L88 56L104 68V82Z", "#7fb069")
        + disc(90, 36, 8, 8, "#f3c54b")
        + rect(12, 88, 104, 6, "#a67c4e"),
        "statue": rect(34, 108, 60, 20, "#a9a59d", 2) + path("M40 108Q40 86 56 82V72H72V82Q88 86 88 108Z", "#d9d6cf")
        + disc(64, 54, 20, 26, "#e4e1da") + path("M44 48Q46 26 64 26T84 48Q76 38 64 40T44 48", "#c2beb5")
        + stroke("M64 52V62M56 68H72M54 50H59M69 50H74", "#b3afa6", 3),
        "chisel": stroke("M20 108L84 44", "#a8b0b6", 8) + stroke("M84 44L112 16", "#a5672f", 14),
        "board-game": rect(12, 62, 104, 60, "#8f5a3c", 4) + rect(16, 66, 96, 52, "#f4ecd8", 2) + _TRACK
        + disc(50, 92, 6, 4, "#b02e2e") + path("M44 92L50 74L56 92Z", "#d64545")
        + disc(80, 96, 6, 4, "#2a5fa0") + path("M74 96L80 78L86 96Z", "#3a7bc8"),
        "chessboard": rect(10, 60, 108, 60, "#4f3822", 3) + _BOARD,
        "kite-string": stroke("M4 124Q30 70 84 4", "#5c6770", 1.6),
        "boat": path("M0 66H128Q120 116 96 120H32Q8 116 0 66Z", "#b5743f") + rect(0, 62, 128, 9, "#e0bb8c", 4),
        "sail": rect(60, 0, 6, 128, "#8a633c") + path("M70 6Q124 60 118 112H70Z", "#fbf7ef")
        + path("M56 14Q10 70 12 112H56Z", "#e4695a"),
        "bat": stroke("M22 108L62 66", "#9a6435", 8) + stroke("M66 62L106 20", "#c98b52", 17)
        + disc(20, 110, 7, 7, "#7a4c26"),
        "net": rect(0, 24, 128, 6, "#ffffff") + _NET + rect(0, 22, 5, 76, "#6f7780") + rect(123, 22, 5, 76, "#6f7780"),
        "golf-club": stroke("M100 6L40 112", "#8e979e", 5) + path("M44 108L18 112Q12 122 22 124H46Z", "#5d666d")
        + stroke("M100 6L86 30", "#2d3033", 8),
        "wicket": "".join(rect(34 + 24 * i, 20, 10, 104, "#e0b877", 4) for i in range(3))
        + rect(34, 16, 28, 6, "#b9884a", 3)
        + rect(66, 16, 28, 6, "#b9884a", 3),
        "rugby-posts": rect(22, 0, 6, 128, "#fbfbf7") + rect(100, 0, 6, 128, "#fbfbf7")
        + rect(22, 70, 84, 6, "#fbfbf7"),
        "grill": path("M10 60H118Q116 98 88 102H40Q12 98 10 60Z", "#3b3f44")
        + rect(6, 54, 116, 8, "#6d747a", 3) + stroke("M42 102L28 128M86 102L100 128", "#5a6066", 6)
        + stroke("M24 48q-6-10 2-18t0-18M104 48q-6-10 2-18t0-18", "#b9c0c5", 3),
        "sausages": "".join(stroke(f"M{x} 52L{x + 16} 46", "#a34a2c", 9) for x in (22, 50, 78)),
        "cigar": disc(64, 104, 54, 16, "#7b8790") + disc(64, 100, 54, 16, "#a3b0b9") + disc(64, 100, 40, 10, "#6c7880")
        + stroke("M40 94L108 66", "#6b4326", 15) + stroke("M40 94L46 91.500", "#d9d4cc", 14)
        + stroke("M84 76L90 73.500", "#d9a441", 15)
        + stroke("M36 84q-10-16 2-28t-2-30", "#c9ced2", 4),
        "potters-wheel": rect(52, 96, 24, 32, "#7d6a58") + disc(64, 98, 58, 14, "#8f7b66")
        + disc(64, 93, 58, 14, "#b5a08a")
        + path("M44 92Q28 66 46 46Q50 40 46 32H82Q78 40 82 46Q100 66 84 92Z", "#b5653f")
        + disc(64, 32, 18, 5, "#8a4a2c")
        + stroke("M37 66Q64 74 91 66", "#9a5434", 3),
        "loom": rect(8, 6, 10, 120, "#8a5f38", 3) + rect(110, 6, 10, 120, "#8a5f38", 3)
        + rect(4, 12, 120, 9, "#a67c4e", 3)
        + rect(4, 104, 120, 9, "#a67c4e", 3) + "".join(rect(25 + 8 * i, 21, 2, 84, "#f4ecd8")
        for i in range(11)) + _WEAVE
        + rect(18, 50, 92, 6, "#c49a6a", 3),
        "lectern": path("M14 40H114L104 56H24Z", "#b98b5e") + path("M28 56H100L94 128H34Z", "#9a7048"),
        "lane-line": "".join(disc(8 + 14 * i, 64, 6, 5, "#e4572e" if i % 2 else "#ffffff") for i in range(9)),
    }
)  # fmt: skip


SIZE = 512
"""Width and height of a scene in its own units."""
SEAT = (106.0, 64.0, 300.0)
"""Where the person's square stands, unless a scene says otherwise: x, y and size."""


@dataclass(frozen=True, slots=True)
class Prop:
    """A thing in a scene, an emoji of the artwork or one of `DRAWINGS`, in its square."""

    name: str
    x: float
    y: float
    size: float

    def svg(self, prefix: str) -> str:
        """Return the element; `prefix` keeps its ids apart from others."""
        inner = DRAWINGS[self.name] if self.name in DRAWINGS else body(self.name)
        return nest_document(
            document(inner), self.x, self.y, self.size, prefix
        )  # some artwork paints outside its square


@dataclass(frozen=True, slots=True)
class Scene:
    """One activity: names in `BACKDROPS` and `FOREGROUNDS`, things before and behind the person, and their square.

    `low` things are before the person and behind the foreground.
    """

    backdrop: str
    foreground: str
    front: tuple[Prop, ...] = ()
    behind: tuple[Prop, ...] = ()
    seat: tuple[float, float, float] = SEAT
    low: tuple[Prop, ...] = ()


def _scene(
    backdrop: str,
    foreground: str,
    *front: tuple[str, float, float, float],
    behind: tuple[tuple[str, float, float, float], ...] = (),
    low: tuple[tuple[str, float, float, float], ...] = (),
    seat: tuple[float, float, float] = SEAT,
) -> Scene:
    things = (tuple(Prop(*thing) for thing in group) for group in (front, behind, low))
    return Scene(backdrop, foreground, *(next(things), next(things)), seat, next(things))


ACTIVITIES: Mapping[str, Scene] = MappingProxyType(
    {
        # Necessary time
        "grocery shopping": _scene(
            "shop", "floor", ("leafy-green", 124, 288, 84), ("bread", 180, 296, 80), ("shopping-cart", 60, 284, 228),
            ("bread", 360, 372, 110),
        ),
        "cooking": _scene("kitchen", "counter", ("pot-of-food", 40, 296, 190), ("cooking", 276, 300, 190)),
        "eating": _scene("dining", "table", ("fork-and-knife", 50, 340, 130), ("spaghetti", 170, 322, 176)),
        "doing laundry": _scene(
            "bathroom", "floor", ("basket", 40, 300, 180), ("t-shirt", 80, 282, 100), ("socks", 236, 372, 100),
            behind=(("washing-machine", 318, 150, 210),),
        ),
        "cleaning": _scene(
            "room", "floor", ("bucket", 50, 316, 170), ("broom", 316, 252, 220), ("sponge", 226, 400, 90),
        ),
        "driving": _scene(
            "road", "tarmac", ("steering-wheel", 196, 192, 120), ("car-front", 16, 40, 480), seat=(146, 66, 220),
        ),
        "exercising": _scene("gym", "floor", ("barbell", 66, 226, 380), ("running-shoe", 196, 396, 110)),
        "resting in bed": _scene("bedroom", "blanket", behind=(("headboard", 56, 60, 400),), seat=(116, 84, 280)),
        # Committed time
        "babysitting": _scene(
            "nursery", "table", ("baby", 178, 316, 160), ("baby-bottle", 50, 344, 120), ("teddy-bear", 350, 322, 150),
        ),
        "farming": _scene(
            "field", "soil", ("tractor", 20, 270, 230), ("ear-of-corn", 300, 340, 130), ("carrot", 390, 360, 110),
        ),
        "walking a dog": _scene(
            "park", "grass", ("leash", 226, 300, 130), ("dog", 312, 310, 180),
            behind=(("deciduous-tree", -10, 110, 180),),
        ),
        "repairing a car": _scene(
            "garage", "floor", ("automobile", 10, 258, 280), ("wrench", 300, 320, 120), ("toolbox", 366, 364, 130),
        ),
        "plumbing": _scene(
            "bathroom", "floor", ("pipe", 20, 300, 190), ("wrench", 220, 330, 140), ("plunger", 370, 320, 150),
        ),
        "gardening": _scene(
            "garden", "soil", ("potted-plant", 40, 296, 190), ("seedling", 240, 350, 100), ("shovel", 350, 310, 160),
            behind=(("sunflower", 400, 150, 130),),
        ),
        "ironing": _scene(
            "room", "floor", ("ironing-board", 16, 160, 480), ("t-shirt", 70, 310, 110), ("iron", 270, 262, 170),
        ),
        # Contracted time
        "working on a desk": _scene(
            "office", "desk", ("memo", 190, 344, 140), ("books", 30, 322, 140), ("telephone", 354, 334, 130),
        ),
        "teaching": _scene(
            "classroom", "desk", ("open-book", 160, 344, 170), ("red-apple", 380, 350, 90),
            ("globe-showing-europe-africa", 40, 330, 130),
        ),
        "delivering packages": _scene(
            "street", "paving", ("package", 160, 306, 180), ("package", 360, 356, 140),
            behind=(("delivery-truck", -30, 176, 220),),
        ),
        "programming": _scene(
            "office", "desk", ("code-screen", 20, 296, 220), ("keyboard", 250, 352, 170),
            ("computer-mouse", 424, 372, 80),
        ),
        "giving a presentation": _scene(
            "presentation", "floor", ("lectern", 146, 300, 220), ("studio-microphone", 216, 290, 80),
            behind=(("bar-chart", 10, 80, 150), ("chart-increasing", 356, 80, 150)),
        ),
        "welding metal": _scene("workshop", "bench", ("torch", 96, 272, 240), ("gear", 370, 360, 110)),
        "serving food": _scene(
            "dining", "table", ("tray", 56, 150, 400), ("spaghetti", 116, 326, 140), ("hamburger", 264, 330, 130),
        ),
        "serving drink": _scene(
            "bar", "table", ("tray", 76, 170, 360), ("wine-glass", 120, 330, 130), ("tropical-drink", 196, 326, 130),
            ("wine-glass", 274, 330, 130),
        ),
        "building a robot": _scene(
            "workshop", "bench", ("robot", 40, 286, 200), ("gear", 250, 384, 100), ("screwdriver", 340, 336, 140),
        ),
        # Free time
        "drinking coffee": _scene("cafe", "table", ("hot-beverage", 160, 300, 190)),
        "using a mobile phone": _scene("room", "table", ("mobile-phone", 168, 304, 180)),
        "drinking beer": _scene("bar", "table", ("beer-mug", 170, 298, 190)),
        "playing basketball": _scene("hall", "boards", ("basketball", 160, 306, 190), behind=(("hoop", 340, 20, 180),)),
        "hiking": _scene(
            "mountains", "grass", ("backpack", 60, 298, 190), ("hiking-boot", 290, 340, 150),
            behind=(("evergreen-tree", 390, 180, 150),),
        ),
        "cycling": _scene("mountains", "tarmac", ("bicycle-front", 100, 262, 310), behind=(("sun", 400, 10, 90),)),
        "swimming": _scene(
            "pool", "water", ("lane-line", -10, 330, 270), ("lane-line", 252, 330, 270), ("goggles", 196, 390, 120),
            seat=(116, 110, 280),
        ),
        "playing soccer": _scene(
            "pitch", "grass", ("soccer-ball", 170, 310, 180), behind=(("goal-net", 300, 110, 220),),
        ),
        "reading a book": _scene("library", "table", ("open-book", 136, 296, 240)),
        "playing video games": _scene("living room", "table", ("video-game", 146, 294, 220)),
        "picnicking": _scene(
            "park", "picnic rug", ("basket", 40, 300, 160), ("sandwich", 206, 360, 120), ("red-apple", 350, 350, 90),
            behind=(("deciduous-tree", 350, 90, 190),),
        ),
        "stargazing": _scene(
            "night", "night grass", ("telescope", 6, 262, 250), behind=(("crescent-moon", 400, 30, 90),),
        ),
        "camping": _scene(
            "mountains", "grass", ("tent", 0, 262, 240), ("fire", 300, 320, 150),
            behind=(("evergreen-tree", 380, 130, 190),),
        ),
        "painting": _scene(
            "room", "floor", ("easel", -14, 244, 262), ("artist-palette", 290, 340, 160), ("paintbrush", 396, 286, 110),
        ),
        "playing guitar": _scene("stage", "stage floor", ("guitar", 116, 240, 290)),
        "sculpting": _scene(
            "workshop", "bench", ("statue", 30, 262, 240), ("hammer", 276, 330, 130), ("chisel", 386, 350, 110),
        ),
        "playing a board game": _scene(
            "living room", "table", ("board-game", 116, 230, 290), ("game-die", 392, 390, 90),
        ),
        "watching a movie": _scene(
            "cinema", "stage floor", ("popcorn", 110, 304, 190), ("cup-with-straw", 310, 320, 160),
        ),
        "riding a horse": _scene("field", "grass", ("horse", 40, 128, 410), seat=(170, 66, 220)),
        "flying a kite": _scene("park", "grass", behind=(("kite-string", 296, 104, 220), ("kite", 390, 10, 112))),
        "playing chess": _scene(
            "room", "table", ("chessboard", 106, 226, 310), ("chess-pawn", 130, 330, 90), ("chess-pawn", 226, 356, 90),
            ("chess-pawn", 300, 326, 90),
        ),
        "fishing": _scene("lake", "water", ("fishing-pole", 150, 284, 226)),
        "sailing on a boat": _scene(
            "sea", "water", behind=(("sail", 180, -20, 330),), low=(("boat", 30, 84, 450),), seat=(76, 76, 250),
        ),
        "riding a bike": _scene("street", "paving", ("bicycle-front", 100, 262, 310)),
        "playing tennis": _scene("court", "clay", ("net", 0, 316, 512), ("tennis", 160, 296, 200)),
        "playing baseball": _scene("pitch", "clay", ("bat", 40, 270, 230), ("baseball", 280, 330, 150)),
        "playing volleyball": _scene("beach", "sand", ("volleyball", 166, 316, 180), behind=(("net", 0, 100, 512),)),
        "playing badminton": _scene("hall", "boards", ("badminton", 150, 296, 210), behind=(("net", 0, 140, 512),)),
        "playing golf": _scene("park", "grass", ("flag-in-hole", 260, 290, 210), ("golf-club", 60, 300, 200)),
        "playing cricket": _scene("pitch", "grass", ("cricket-game", 120, 296, 210), ("wicket", 350, 290, 160)),
        "playing rugby": _scene(
            "pitch", "grass", ("rugby-football", 160, 310, 190), behind=(("rugby-posts", 300, 30, 210),),
        ),
        "grilling at a barbecue": _scene(
            "garden", "grass", ("grill", 116, 288, 280), ("meat-on-bone", 196, 326, 120), ("sausages", 120, 326, 120),
        ),
        "smoking a cigar": _scene("living room", "table", ("cigar", 150, 276, 220)),
        "singing karaoke": _scene(
            "stage", "stage floor", ("microphone", 150, 280, 210), behind=(("television", 366, 60, 150),),
        ),
        "crafting pottery": _scene("workshop", "bench", ("potters-wheel", 126, 262, 250), ("amphora", 390, 300, 130)),
        "reading a newspaper": _scene("cafe", "table", ("newspaper", 130, 292, 250)),
        "weaving textiles": _scene("room", "floor", ("loom", 106, 284, 300), ("yarn", 410, 396, 100)),
        "drumming": _scene("stage", "stage floor", ("drum", 130, 280, 250)),
    }
)  # fmt: skip
"""What is drawn, by the activity's name in Table 7 of the VIGNETTE paper."""

_POSTURE = "It is seen by the posture of the whole body, and the people are drawn to the chest."
NOT_DRAWN: Mapping[str, str] = MappingProxyType(
    {
        "sleeping": "The drawn people have open eyes.",
        "praying": "It is seen by posture, or by the signs of one religion.",
        "running": _POSTURE,
        "practicing martial arts": _POSTURE,
        "doing yoga": _POSTURE,
        "surfing": _POSTURE,
        "rock climbing": _POSTURE,
        "skateboarding": _POSTURE,
        "meditating": _POSTURE,
        "sunbathing": _POSTURE,
        "dancing": _POSTURE,
        "skating": _POSTURE,
        "shooting": "It can mean sport, hunting or crime, and we draw no guns.",
    }
)
"""Activities of Table 7 that are not drawn, each with its reason."""


@lru_cache(maxsize=128)
def _layers(activity: str) -> tuple[str, str, Scene]:
    """Return what lies behind and before the person, and the scene itself."""
    scene = ACTIVITIES[activity]
    back = BACKDROPS[scene.backdrop] + "".join(p.svg(f"b{i}-") for i, p in enumerate(scene.behind))
    low = "".join(p.svg(f"l{i}-") for i, p in enumerate(scene.low))
    front = low + FOREGROUNDS[scene.foreground] + "".join(p.svg(f"f{i}-") for i, p in enumerate(scene.front))
    return back, front, scene


def scene_svg(activity: str, person: str) -> str:
    """Return a person doing an activity as an SVG document of 512 x 512 units.

    The person is an SVG document: of the artwork, or one of our portraits, whose white background is left out.
    """
    if activity not in ACTIVITIES:
        raise UnknownNameError("drawn activity", activity, ACTIVITIES)
    back, front, scene = _layers(activity)
    return document(back + nest_document(person, *scene.seat, "p-") + front, SIZE)
