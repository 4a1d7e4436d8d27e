"""Artwork of Noto Emoji: bodies on a grid of 128 x 128, skin tones, and people.

As published, the five variants of an emoji differ in their hair as well as in their skin. So only one variant is
kept (medium-light), its skin colours are replaced by those that the published variants have in the same places,
and hair, brows, mouth and eyes get one dark brown for all tones, dark enough to be seen on each.
"""

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


TONES: tuple[str, ...] = ("light", "medium-light", "medium", "medium-dark", "dark")

_COLOUR = re.compile(r"#[0-9a-f]{6}\b|#[0-9a-f]{3}\b")

# Face; its shades (ears, nose, neck); and the lines of hands, in the order of TONES.
SKIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "#e0bb95": ("#f9ddbd", "#e0bb95", "#ba8d68", "#a56c43", "#70534a"),
        "#c48e6a": ("#dba689", "#c48e6a", "#99674f", "#875334", "#3c2b24"),
        "#dba689": ("#edbd82", "#dba689", "#99674f", "#875334", "#3c2b24"),
        "#cca47a": ("#ffd29c", "#cca47a", "#a47b62", "#8d5738", "#5c4037"),
        "#ba8f63": ("#edbd82", "#ba8f63", "#91674d", "#875334", "#4a2f27"),
        "#a87254": ("#d0a183", "#a87254", "#7f5340", "#6b4129", "#2f221d"),  # singers' hands; the shades are ours
    }
)
FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "#ab872f": "#3e2c25",  # hair
        "#9b782c": "#3e2c25",
        "#bfa055": "#5a4237",  # light on hair
        "#6d4c41": "#2e1f1b",  # brows, mouth
        "#785446": "#2e1f1b",
        "#825e1d": "#2e1f1b",
        "#5d4037": "#261a17",  # eyes
    }
)


def recolour(body: str, tone: str) -> str:
    """Return a medium-light body in a skin tone, hair and features dark brown.

    >>> recolour('<path fill="#e0bb95"/><path fill="#ab872f"/>', "dark")
    '<path fill="#70534a"/><path fill="#3e2c25"/>'
    """
    if tone not in TONES:
        raise UnknownNameError("skin tone", tone, TONES)
    at = TONES.index(tone)
    colours = {**FEATURES, **{base: tones[at] for base, tones in SKIN.items()}}
    return _COLOUR.sub(lambda match: colours.get(match[0], match[0]), body)


PRESENTATIONS: tuple[str, ...] = ("man", "woman", "person")

OCCUPATIONS: tuple[str, ...] = (
    "health-worker", "student", "teacher", "judge", "farmer", "cook", "mechanic", "factory-worker", "office-worker",
    "scientist", "technologist", "singer", "artist", "pilot", "astronaut", "firefighter", "police-officer",
    "detective", "guard", "construction-worker",
)  # fmt: skip

# What the emoji is called for a man, a woman, a person; None where the artwork has no such picture.
FIGURES: Mapping[str, tuple[str | None, str | None, str | None]] = MappingProxyType(
    {
        "child": ("boy", "girl", "child"),
        "adult": ("man", "woman", "person"),
        "older": ("old-man", "old-woman", "older-person"),
        "headscarf": (None, "woman-with-headscarf", None),
        "turban": ("man-wearing-turban", "woman-wearing-turban", "person-wearing-turban"),
        "tuxedo": ("man-in-tuxedo", "woman-in-tuxedo", "person-in-tuxedo"),
        "manual-wheelchair": ("man-in-manual-wheelchair", "woman-in-manual-wheelchair", "person-in-manual-wheelchair"),
        "white-cane": ("man-with-white-cane", "woman-with-white-cane", "person-with-white-cane"),
    }
)


def artwork_name(role: str, presentation: str) -> str:
    """Return the name of the emoji that shows an occupation or a figure.

    >>> artwork_name("cook", "woman"), artwork_name("older", "man"), artwork_name("cook", "person")
    ('woman-cook', 'old-man', 'cook')
    """
    if presentation not in PRESENTATIONS:
        raise UnknownNameError("presentation", presentation, PRESENTATIONS)
    if role in OCCUPATIONS:
        return role if presentation == "person" else f"{presentation}-{role}"
    if role not in FIGURES:
        raise UnknownNameError("occupation", role, (*OCCUPATIONS, *FIGURES))
    name = FIGURES[role][PRESENTATIONS.index(presentation)]
    if name is None:
        raise DataError(f"The artwork has no {presentation} with a {role}.")
    return name


def person_svg(occupation: str, presentation: str, tone: str) -> str:
    """Return an occupation, or a figure of `FIGURES`, as an SVG document of 128 x 128 units with no background.

    The tone changes the skin and nothing else. The artwork draws astronauts alike in all three presentations.
    """
    return document(recolour(body(artwork_name(occupation, presentation)), tone))


__all__ = ["FIGURES", "OCCUPATIONS", "PRESENTATIONS", "TONES", "artwork_name", "person_svg"]
