"""Backdrops: plain rooms and places behind a person, and what hides the lower edge of the bust.

All are in the units of the scene, 512 x 512. Foregrounds begin at `TOP`.
"""

from collections.abc import Mapping
from types import MappingProxyType

TOP = 352
"""The upper edge of every foreground."""


def rect(x: float, y: float, w: float, h: float, fill: str, r: float = 0) -> str:
    """Return a rectangle, its corners rounded by `r`.

    >>> rect(0, 0, 4, 2, "#fff")
    '<rect x="0" y="0" width="4" height="2" fill="#fff"/>'
    """
    round_ = f' rx="{r:g}"' if r else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"{round_} fill="{fill}"/>'


def disc(x: float, y: float, rx: float, ry: float, fill: str) -> str:
    """Return an ellipse around (x, y)."""
    return f'<ellipse cx="{x:g}" cy="{y:g}" rx="{rx:g}" ry="{ry:g}" fill="{fill}"/>'


def path(d: str, fill: str) -> str:
    """Return a filled path."""
    return f'<path d="{d}" fill="{fill}"/>'


def stroke(d: str, colour: str, width: float) -> str:
    """Return a line."""
    return (
        f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
    )


def _wall(wall: str, floor: str = "#d8c3a5") -> str:
    return rect(0, 0, 512, 512, wall) + rect(0, 400, 512, 112, floor)


def _window(x: float, y: float) -> str:
    return (
        rect(x, y, 120, 130, "#ffffff", 4)
        + rect(x + 8, y + 8, 104, 114, "#cfe8f7")
        + rect(x + 56, y + 8, 8, 114, "#ffffff")
        + rect(x + 8, y + 60, 104, 8, "#ffffff")
    )


def _shelf(y: float, x0: float, x1: float, colours: tuple[str, ...], w: float = 24, h: float = 54) -> str:
    """Return a shelf with upright things on it: books, packets, bottles."""
    things, x, k = "", x0 + 6, 0
    while x + w < x1:
        tall = h - (k * 7) % 17
        things += rect(x, y - tall, w - 4, tall, colours[k % len(colours)], 3)
        x, k = x + w, k + 1
    return things + rect(x0, y, x1 - x0, 8, "#a98258")


def _hills(sky: str, far: str, near: str) -> str:
    return (
        rect(0, 0, 512, 512, sky)
        + path("M0 290Q110 210 240 270T512 240V512H0Z", far)
        + path("M0 330Q150 280 300 320T512 310V512H0Z", near)
    )


def _furrow(x: float) -> str:
    """Return a line from the lower edge at `x` towards the horizon."""
    off = x - 256
    return f"M{x:g} 512Q{256 + off * 0.4:g} 400 {256 + off * 0.3:g} 318"


def _lines(colour: str, *paths: str) -> str:
    return "".join(stroke(d, colour, 5) for d in paths)


_BOOKS = ("#b5544d", "#4f7a9c", "#d9a441", "#5f8d5c", "#7a5c94")
_GOODS = ("#e07a5f", "#f2cc8f", "#81b29a", "#6d8fb8", "#f4f1de", "#c97b9b")
_GRID = "".join(rect(x, 0, 2, 400, "#c9dde3") for x in range(0, 513, 64)) + "".join(
    rect(0, y, 512, 2, "#c9dde3") for y in range(16, 400, 64)
)
_HOUSES = "".join(
    rect(x, y, 118, 400 - y, c)
    + "".join(rect(x + 18 + 48 * i, y + 26 + 60 * j, 30, 36, "#fdf3d0") for i in range(2) for j in range(3))
    for x, y, c in ((-14, 130, "#e3a48b"), (112, 90, "#c9b28f"), (246, 120, "#a9bfa8"), (380, 80, "#b9a9c4"))
)
_STARS = "".join(disc(x * x * 37 % 512, x * x * x * 11 % 260, 2 + x % 2, 2 + x % 2, "#fff7d6") for x in range(3, 48))

BACKDROPS: Mapping[str, str] = MappingProxyType(
    {
        "room": _wall("#f3e9dc") + _window(24, 60) + rect(382, 70, 96, 76, "#c8a27a", 4)
        + rect(390, 78, 80, 60, "#e9d8a6"),
        "bedroom": _wall("#e7e3f1") + _window(24, 50),
        "kitchen": _wall("#eef3ee", "#cfd8cf") + rect(0, 20, 140, 110, "#d9c7a8", 4)
        + rect(372, 20, 140, 110, "#d9c7a8", 4)
        + rect(66, 70, 6, 30, "#8c6f46") + rect(440, 70, 6, 30, "#8c6f46") + rect(0, 220, 512, 132, "#dfe9e6")
        + "".join(rect(x, 220, 2, 132, "#c8d7d2") for x in range(0, 513, 44)),
        "dining": _wall("#f6e7d7") + rect(30, 60, 100, 80, "#b98b5e", 4) + rect(40, 70, 80, 60, "#dcebf2")
        + stroke("M440 0V70", "#6b5b4b", 4) + path("M400 116L424 68H456L480 116Z", "#e2a355"),
        "shop": _wall("#f4f1ea", "#d6d3cb") + _shelf(110, -6, 518, _GOODS, 34, 62)
        + _shelf(210, -6, 518, _GOODS[::-1], 30, 60)
        + _shelf(310, -6, 518, _GOODS, 38, 62),
        "library": _wall("#efe4d2") + _shelf(100, -6, 518, _BOOKS) + _shelf(190, -6, 518, _BOOKS[::-1], 22)
        + _shelf(280, -6, 518, _BOOKS, 26),
        "office": _wall("#e9eef2", "#c8cdd2") + _window(24, 60) + _shelf(130, 372, 500, _BOOKS),
        "classroom": _wall("#f4eeda") + rect(20, 40, 472, 220, "#9a7448", 6) + rect(30, 50, 452, 200, "#2f6b57")
        + _lines("#e8efe9", "M56 100H120", "M56 130H104", "M56 160H124", "M410 150L440 90L470 150Z", "M400 190H462")
        + rect(210, 252, 60, 8, "#ffffff"),
        "presentation": _wall("#dfe5ec", "#b9c1ca") + rect(10, 30, 492, 250, "#ffffff", 4)
        + rect(10, 22, 492, 10, "#59636e"),
        "workshop": _wall("#ece6dc", "#b9b2a6") + rect(0, 40, 512, 180, "#d8c6a6")
        + "".join(disc(x, y, 3, 3, "#b8a482") for x in range(20, 512, 32) for y in range(60, 220, 32)),
        "garage": _wall("#dcdfe2", "#a9adb1") + "".join(rect(0, y, 512, 4, "#c4c9cd") for y in range(40, 330, 44))
        + _shelf(120, 380, 506, ("#c0564a", "#e2b04a", "#5b7f9b"), 30),
        "bathroom": _wall("#e3f0f4", "#c3d3d8") + _GRID,
        "nursery": _wall("#fdf0e3", "#ecd9b8")
        + "".join(disc(40 + 72 * i, 60 + 70 * j, 8, 8, c) for j in range(4) for i, c in enumerate(_GOODS + _GOODS[:1])),
        "cafe": _wall("#efe0cc", "#b98e63") + _window(20, 50) + stroke("M440 0V60", "#5b4a3c", 4)
        + path("M404 110Q440 40 476 110Z", "#4f7f73"),
        "bar": _wall("#e8d5bd", "#8c6a48") + _shelf(130, -6, 518, ("#5d8a66", "#a9683c", "#c9a64b", "#6d8fb8"), 30, 70)
        + _shelf(250, -6, 518, ("#c9a64b", "#8a4b4b", "#5d8a66"), 32, 66),
        "living room": _wall("#efe6ee", "#d3bfa6") + rect(20, 190, 472, 220, "#7f9fb8", 30)
        + rect(0, 240, 70, 170, "#6c8ca6", 24)
        + rect(442, 240, 70, 170, "#6c8ca6", 24) + rect(40, 50, 90, 66, "#c8a27a", 4) + rect(48, 58, 74, 50, "#dcead6"),
        "cinema": rect(0, 0, 512, 512, "#5d4a5e")
        + "".join(rect(x, y, 74, 150, "#a8433f", 18) for y in (170, 250) for x in range(-30 + (y - 170) // 2, 512, 86))
        + path("M200 0L150 120H362L312 0Z", "#8a7390"),
        "gym": _wall("#e6ecef", "#8f9aa3") + rect(0, 60, 512, 10, "#b6c1c8") + rect(20, 100, 130, 160, "#c9dbe4", 4)
        + rect(362, 100, 130, 160, "#c9dbe4", 4),
        "hall": _wall("#f0e6d2", "#d9a566") + rect(0, 60, 512, 14, "#d4c3a0") + _window(20, 100) + _window(372, 100),
        "stage": rect(0, 0, 512, 512, "#6a5a8c") + path("M60 0L-60 400H220Z", "#8272a6")
        + path("M452 0L292 400H572Z", "#8272a6")
        + path("M256 0L110 400H402Z", "#9486b8"),
        "street": rect(0, 0, 512, 512, "#d6ebf5") + _HOUSES + rect(0, 330, 512, 182, "#c9c4ba"),
        "road": _hills("#d3ebf8", "#b7d3ad", "#a3c595"),
        "park": _hills("#d8effa", "#bcdcae", "#a4cf93"),
        "garden": rect(0, 0, 512, 512, "#d8effa") + rect(0, 180, 512, 200, "#a4cf93")
        + "".join(path(f"M{x} 300V150L{x + 16} 130L{x + 32} 150V300Z", "#f2e3c6") for x in range(4, 512, 42))
        + rect(0, 190, 512, 12, "#e3cfa8") + rect(0, 260, 512, 12, "#e3cfa8"),
        "field": _hills("#d8effa", "#e8d58f", "#d9bf6a")
        + "".join(stroke(_furrow(x), "#c4a64f", 4) for x in range(-200, 720, 80)),
        "mountains": rect(0, 0, 512, 512, "#d3e9f7") + path("M-20 360L110 120L230 330Z", "#9fb0bd")
        + path("M280 340L400 90L540 360Z", "#8fa2b1") + path("M82 172L110 120L137 168L110 186Z", "#ffffff")
        + path("M365 163L400 90L438 163L400 182Z", "#ffffff") + rect(0, 318, 512, 194, "#a9c79a"),
        "beach": rect(0, 0, 512, 512, "#d3effb") + rect(0, 220, 512, 120, "#7cc4dd")
        + rect(0, 310, 512, 202, "#f1dfb2"),
        "sea": rect(0, 0, 512, 512, "#d8f0fb") + rect(0, 250, 512, 262, "#6fb6d6"),
        "lake": _hills("#d8effa", "#b5d3a8", "#9cc48c") + rect(0, 322, 512, 190, "#8cc3dc"),
        "pool": _wall("#e4f1f5") + _GRID + rect(0, 280, 512, 232, "#6cc3e0"),
        "night": rect(0, 0, 512, 512, "#3f5182") + _STARS + path("M0 330Q130 280 260 320T512 300V512H0Z", "#3a5a50"),
        "pitch": rect(0, 0, 512, 512, "#d8effa") + rect(0, 210, 512, 302, "#9fd08c") + rect(0, 195, 512, 20, "#c9d3da"),
        "court": rect(0, 0, 512, 512, "#d8effa") + rect(0, 160, 512, 90, "#7aa98a") + rect(0, 240, 512, 272, "#d98a5c"),
    }
)  # fmt: skip


def _ground(colour: str, edge: str) -> str:
    return rect(0, TOP, 512, 160, colour) + rect(0, TOP, 512, 8, edge)


FOREGROUNDS: Mapping[str, str] = MappingProxyType(
    {
        "table": _ground("#c99e6c", "#e0bb8c"),
        "counter": _ground("#b7c4c2", "#eef2f1"),
        "desk": _ground("#a9805a", "#c79f78"),
        "bench": _ground("#8f7b63", "#b09a7f"),
        "floor": _ground("#bdb6ab", "#d5cfc6"),
        "boards": _ground("#d9a566", "#e6bb85") + "".join(rect(0, y, 512, 3, "#c48f50") for y in (400, 448)),
        "grass": path(f"M0 {TOP + 6}Q128 {TOP - 18} 256 {TOP}T512 {TOP - 4}V512H0Z", "#7fb96a"),
        "soil": path(f"M0 {TOP + 4}Q128 {TOP - 14} 256 {TOP}T512 {TOP - 4}V512H0Z", "#9a7350"),
        "sand": path(f"M0 {TOP + 6}Q128 {TOP - 14} 256 {TOP}T512 {TOP - 4}V512H0Z", "#e9d09a"),
        "paving": _ground("#a7a39b", "#c6c2ba"),
        "tarmac": _ground("#80858b", "#9da2a7") + "".join(rect(x, 436, 70, 10, "#f3f3ea") for x in range(20, 512, 130)),
        "clay": _ground("#d07f50", "#ffffff"),
        "water": path(
            f"M0 {TOP}" + "".join("q16 -14 32 0t32 0" for _ in range(8)) + "V512H0Z", "#5aaed0"
        ) + "".join(stroke(f"M{x} {y}q14 -10 28 0t28 0", "#a9dbee", 4) for x, y in ((40, 410), (220, 450),
            (400, 400), (90, 480), (360, 486))),
        "night grass": path(f"M0 {TOP + 6}Q128 {TOP - 18} 256 {TOP}T512 {TOP - 4}V512H0Z", "#2f4d43"),
        "stage floor": _ground("#7a5a48", "#96735d"),
        "blanket": path("M-20 362Q256 320 532 362V512H-20Z", "#7d9cc4")
        + path("M-20 362Q256 320 532 362V396Q256 354 -20 396Z", "#f6f6fa"),
        "picnic rug": path(f"M0 {TOP + 6}Q128 {TOP - 18} 256 {TOP}T512 {TOP - 4}V512H0Z", "#7fb96a")
        + path("M60 392H452L512 512H0Z", "#f6efe6") + "".join(path(f"M{a} 392h44l{b} 120h-60z", "#d9685f")
        for a, b in ((100, -26), (210, -6), (320, 18)))
        + path("M42 428H470L480 452H30Z", "#d9685f88"),
    }
)  # fmt: skip
