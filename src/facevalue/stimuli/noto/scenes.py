"""Activities as scenes: a person behind the objects of what they do, in a plain place of our own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from facevalue.errors import UnknownNameError
from facevalue.stimuli.noto.artwork import body, document, nest_document
from facevalue.stimuli.noto.backdrops import BACKDROPS, FOREGROUNDS
from facevalue.stimuli.noto.drawings import DRAWINGS

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
