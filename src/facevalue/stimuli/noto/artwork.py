"""Artwork of Noto Emoji, vendored: SVG bodies on a grid of 128 x 128, and how they are placed in a picture."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

from facevalue.errors import DataError, UnknownNameError

GRID = 128
"""Width and height of every piece of artwork, in its own units."""

_ROOT = re.compile(r"\s*<svg\b([^>]*)>(.*)</svg>\s*", re.DOTALL)
_NAMES = re.compile(r'(\bid="|url\(#|href="#)')
# The first thing that our portraits paint. Their definitions hold no rectangle.
_BACKGROUND = re.compile(
    r'((?:<defs>.*?</defs>)?<rect x="[^"]*" y="[^"]*" width="[^"]*" height="[^"]*" fill="[^"]*")/>'
)


@lru_cache(maxsize=1)
def artwork() -> Mapping[str, str]:
    """Return every vendored SVG body by the emoji's name, as published."""
    text = files("facevalue.stimuli.noto").joinpath("artwork.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text)["bodies"])


def body(name: str) -> str:
    """Return one SVG body."""
    drawings = artwork()
    if name not in drawings:
        raise UnknownNameError("artwork", name, drawings)
    return drawings[name]


def document(inner: str, size: int = GRID) -> str:
    """Return a whole SVG document around a body."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {size} {size}">{inner}</svg>'
    )


def rename_ids(text: str, prefix: str) -> str:
    """Return SVG whose ids all start with a prefix, so that two pieces in one picture cannot meet.

    >>> rename_ids('<g id="a"/><use href="#a" fill="url(#a)"/>', "p-")
    '<g id="p-a"/><use href="#p-a" fill="url(#p-a)"/>'
    """
    return _NAMES.sub(lambda match: match.group(0) + prefix, text)


def mirror(half: str) -> str:
    """Return a shape with its mirror image beside it."""
    return f'{half}<g transform="translate({GRID} 0) scale(-1 1)">{half}</g>'


def nest_document(svg_text: str, x: float, y: float, size: float, prefix: str) -> str:
    """Return a whole SVG document as a part of another, its ids prefixed, without the plain background it may have.

    >>> nest_document(document("<g/>"), 10, 20, 64, "a")
    '<svg viewBox="0 0 128 128" x="10" y="20" width="64" height="64"><g/></svg>'
    """
    match = _ROOT.fullmatch(svg_text)
    if match is None or "viewBox" not in match.group(1):
        raise DataError("A person must be a whole SVG document with a viewBox.")
    attributes = re.sub(r'\s+(xmlns(:\w+)?|x|y|width|height)="[^"]*"', "", match.group(1))
    # Made clear, not taken out: so all that is drawn in the square is rasterised alike, whatever else is in it.
    clear = _BACKGROUND.match(match[2])
    inner = f'{clear[1]} fill-opacity="0"/>{match[2][clear.end() :]}' if clear else match[2]
    return f'<svg{attributes} x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}">{rename_ids(inner, prefix)}</svg>'


def on_white(svg_text: str, size: int = GRID) -> str:
    """Return a document as a picture of its own, so many units wide and high, on white."""
    white = f'<rect x="0" y="0" width="{size}" height="{size}" fill="#ffffff"/>'
    return document(white + nest_document(svg_text, 0, 0, size, "p-"), size)
