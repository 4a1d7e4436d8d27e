"""Canvas of a random picture: its random numbers and its parts, from back to front."""

import colorsys
from collections.abc import Callable, Sequence
from typing import TypeVar

from numpy.random import Generator

from facevalue.stimuli.noto.artwork import document, nest_document
from facevalue.stimuli.noto.backdrops import BACKDROPS, rect
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
