"""Text in pictures as outlines of letters, so that it looks alike on every machine, whatever fonts are installed."""

import json
import unicodedata
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from facevalue.errors import DataError

STYLES = ("label", "title", "value")
"""A plain sans-serif, the same in bold, and a typewriter's letters."""


class _Style(NamedTuple):
    units: int
    widths: MappingProxyType[str, int]
    outlines: MappingProxyType[str, str]


@lru_cache(maxsize=1)
def source() -> str:
    """Return the file with the letters: pictures that are kept under a hash depend on it."""
    return files("facevalue.stimuli").joinpath("forms_letters.json").read_text(encoding="utf-8")


@lru_cache(maxsize=len(STYLES))
def _style(name: str) -> _Style:
    style = json.loads(source())["styles"][name]
    letters = {letter: entry.split(" ", 1) for letter, entry in style["letters"].items()}
    widths = {letter: int(width) for letter, (width, _) in letters.items()}
    return _Style(style["units"], MappingProxyType(widths), MappingProxyType({a: b for a, (_, b) in letters.items()}))


def tidy(text: str, style: str) -> str:
    """Return a text as it is drawn: in one line, accents composed.

    >>> tidy("  Speech/Language   Disorder ", "value")
    'Speech/Language Disorder'
    >>> tidy("日本", "value")
    Traceback (most recent call last):
    facevalue.errors.DataError: '日' of '日本' can't be drawn; texts in pictures are in Latin letters.
    """
    line = " ".join(unicodedata.normalize("NFC", text).split())
    strange = next((letter for letter in line if letter not in _style(style).widths), None)
    if strange is not None:
        excerpt = line if line.isprintable() else repr(line)[1:-1]
        raise DataError(f"{strange!r} of '{excerpt[:60]}' can't be drawn; texts in pictures are in Latin letters.")
    return line


def width(text: str, style: str, size: float) -> float:
    """Return how wide a tidy text is at a size, in the units of the size.

    >>> width("mm", "value", 10), width("ii", "value", 10)  # a typewriter's letters are all as wide
    (11.99, 11.99)
    """
    glyphs = _style(style)
    return round(sum(glyphs.widths[letter] for letter in text) * size / glyphs.units, 2)


def fitting_size(text: str, style: str, size: float, room: float, smallest: float) -> float:
    """Return the size at which a tidy text has room, no larger than `size`; a `DataError` below `smallest`."""
    wide = width(text, style, size)
    if wide <= room:
        return size
    if size * room / wide < smallest:
        raise DataError(f"{text[:60]!r} is too long for its place on the form ({len(text)} characters).")
    return size * room / wide


class Lettering:
    """Writer of texts in one SVG picture; each letter's outline is there once."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}

    def write(self, text: str, x: float, y: float, style: str, size: float, fill: str) -> str:
        """Return a tidy text as SVG; its first letter begins at x, and y is its base line."""
        glyphs = _style(style)
        at, elements = 0, []
        for letter in text:
            name = f"{style}-{ord(letter):x}"
            if glyphs.outlines[letter]:
                self._used[name] = glyphs.outlines[letter]
                elements.append(f'<use href="#{name}" x="{at}"/>')
            at += glyphs.widths[letter]
        scale = round(size / glyphs.units, 6)
        return f'<g transform="translate({x:g} {y:g}) scale({scale})" fill="{fill}">{"".join(elements)}</g>'

    def outlines(self) -> str:
        """Return the definitions of the letters that were written."""
        return "<defs>" + "".join(f'<path id="{name}" d="{d}"/>' for name, d in sorted(self._used.items())) + "</defs>"
