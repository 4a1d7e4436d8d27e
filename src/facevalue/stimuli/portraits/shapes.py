"""SVG nodes, the same nodes whitewashed, and their rasterisation: what a layer paints is what its mask declares.

The drawing space has its origin above the middle of the head: x = 0 is the axis of symmetry.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import resvg_py

from facevalue.errors import DataError
from facevalue.stimuli.portraits.levels import Identity, check_change, resolve_framing

Point = tuple[float, float]
_NUMBER = re.compile(r"-?[0-9.]+")


@dataclass(frozen=True, slots=True)
class Gradient:
    """A paint that runs from the first colour to the last, in drawing units.

    "linear" (from x1, y1 to x2, y2) or "radial" (centre x1, y1; radius x2; y2 is not used). Stops have a position from
    0 to 1, a colour and an opacity.
    """

    kind: str
    box: tuple[float, float, float, float]
    stops: tuple[tuple[float, str, float], ...]

    @property
    def id(self) -> str:
        """A name that depends on the content alone."""
        return "g" + blake2b(repr(self).encode(), digest_size=5).hexdigest()

    def svg(self) -> str:
        """Return the definition."""
        x1, y1, x2, y2 = self.box
        stops = "".join(
            f'<stop offset="{at:g}" stop-color="{colour}" stop-opacity="{alpha:g}"/>'
            for at, colour, alpha in self.stops
        )
        if self.kind == "radial":
            geometry = f'cx="{x1:g}" cy="{y1:g}" r="{x2:g}"'
        else:
            geometry = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        name = self.kind + "Gradient"
        return f'<{name} id="{self.id}" gradientUnits="userSpaceOnUse" {geometry}>{stops}</{name}>'


Paint = str | Gradient


@dataclass(frozen=True, slots=True)
class Shape:
    """One path: its outline, what fills it, what strokes it."""

    d: str
    fill: Paint = "none"
    stroke: str = "none"
    width: float = 0.0
    opacity: float = 1.0
    clip: str = ""
    mirrored: bool = False

    def svg(self) -> str:
        """Return the element."""
        fill = self.fill if isinstance(self.fill, str) else f"url(#{self.fill.id})"
        text = f'<path d="{self.d}" fill="{fill}"'
        if self.opacity < 1 and fill != "none":
            text += f' fill-opacity="{self.opacity:.3g}"'
        if self.stroke != "none":
            text += f' stroke="{self.stroke}" stroke-width="{self.width:g}"'
            if self.opacity < 1:
                text += f' stroke-opacity="{self.opacity:.3g}"'
        if self.clip:
            text += f' clip-path="url(#{clip_id(self.clip)})"'
        if self.mirrored:
            text += ' transform="scale(-1 1)"'
        return text + "/>"

    def white(self, margin: float) -> "Shape":
        """Return the same geometry in opaque white, wider by ``margin`` on every side."""
        fill: Paint = "none" if self.fill == "none" else "#fff"
        width = (self.width if self.stroke != "none" else 0.0) + 2 * margin
        return replace(self, fill=fill, stroke="#fff", width=width, opacity=1.0)


Nodes = tuple[Shape, ...]


def clip_id(d: str) -> str:
    """Return the name of the clip with outline ``d``."""
    return "c" + blake2b(d.encode(), digest_size=5).hexdigest()


def document(nodes: Iterable[Shape], view: tuple[float, float, float, float], background: str) -> str:
    """Return a whole SVG document."""
    nodes = [node for node in nodes if _begins_above(node.d, view[1] + view[3] + 12)]
    defs: dict[str, str] = {}
    for node in nodes:
        if isinstance(node.fill, Gradient):
            defs[node.fill.id] = node.fill.svg()
        if node.clip:
            name = clip_id(node.clip)
            defs[name] = f'<clipPath id="{name}"><path d="{node.clip}"/></clipPath>'
    x, y, w, h = view
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:g} {y:g} {w:g} {h:g}" '
        'stroke-linecap="round" stroke-linejoin="round">'
        f"<defs>{''.join(defs.values())}</defs>"
        f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{background}"/>'
        f"{''.join(node.svg() for node in nodes)}</svg>"
    )


def _begins_above(d: str, bottom: float) -> bool:
    """Return whether any of a path may lie above ``bottom``; what is wholly below costs time and shows nothing.

    >>> _begins_above("M0 900L9 950Z", 512), _begins_above("M0 900L9 400Z", 512)
    (False, True)
    """
    start = _NUMBER.match(d, d.index(" ") + 1)
    if start is None or float(start.group()) < bottom:
        return True
    return "a" not in d and any(float(y) < bottom for y in _NUMBER.findall(d)[1::2])


def num(value: float) -> str:
    """Return a coordinate as short text.

    >>> num(1.0), num(-0.04), num(2.25)
    ('1', '0', '2.2')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _cubic(points: Sequence[Point], before: Point, after: Point) -> str:
    """Return Catmull-Rom pieces through ``points`` as cubic Béziers, without the first move."""
    padded = [before, *points, after]
    curves = []
    for i in range(1, len(padded) - 2):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = padded[i - 1 : i + 3]
        numbers = (bx + (cx - ax) / 6, by + (cy - ay) / 6, cx - (dx - bx) / 6, cy - (dy - by) / 6, cx, cy)
        curves.append("C%.1f %.1f %.1f %.1f %.1f %.1f " % numbers)  # noqa: UP031 - the fastest of all, a third of a picture
    # As `num`, of all numbers at once: each has one decimal, and a space behind it.
    return "".join(curves).replace(".0 ", " ").replace("-0 ", "0 ").replace(" C", "C")[:-1]


def curve(points: Sequence[Point]) -> str:
    """Return a smooth open path through ``points``.

    >>> curve([(0, 0), (3, 0)])
    'M0 0C0.5 0 2.5 0 3 0'
    """
    return f"M{num(points[0][0])} {num(points[0][1])}" + _cubic(points, points[0], points[-1])


def loop(points: Sequence[Point]) -> str:
    """Return a smooth closed path through ``points``."""
    points = [*points, points[0]]
    return f"M{num(points[0][0])} {num(points[0][1])}{_cubic(points, points[-2], points[1])}Z"


def outline(*segments: Sequence[Point]) -> str:
    """Return a closed path of smooth segments joined by corners (straight where there is a gap)."""
    text = ""
    for segment in segments:
        first = segment[0]
        text += f"{'L' if text else 'M'}{num(first[0])} {num(first[1])}"
        text += _cubic(segment, first, segment[-1])
    return text + "Z"


def poly(points: Sequence[Point], closed: bool = True) -> str:
    """Return straight lines through ``points``.

    >>> poly([(0, 0), (1, 0), (1, 1)])
    'M0 0L1 0L1 1Z'
    """
    return "M" + "L".join(f"{num(x)} {num(y)}" for x, y in points) + ("Z" if closed else "")


def flip(points: Sequence[Point]) -> list[Point]:
    """Return the mirror image of ``points``, in reverse order.

    >>> flip([(0, 0), (2, 5)])
    [(-2, 5), (0, 0)]
    """
    return [(-x if x else 0, y) for x, y in reversed(points)]


def symmetric(points: Sequence[Point]) -> str:
    """Return a smooth closed outline from its right half, top (x = 0) to bottom (x = 0)."""
    return loop([*points, *flip(points)[1:-1]])


def symmetric_outline(*segments: Sequence[Point]) -> str:
    """Return a closed outline with corners from its right half."""
    return outline(*segments, *[flip(s) for s in reversed(segments)])


def oval(x: float, y: float, rx: float, ry: float) -> str:
    """Return the path of an ellipse."""
    a, b = num(rx), num(ry)
    return f"M{num(x - rx)} {num(y)}a{a} {b} 0 1 0 {num(2 * rx)} 0a{a} {b} 0 1 0 {num(-2 * rx)} 0Z"


def disc(x: float, y: float, r: float, fill: Paint, opacity: float = 1.0) -> Shape:
    """Return a filled circle."""
    return Shape(oval(x, y, r, r), fill, opacity=opacity)


def fill(d: str, paint: Paint, opacity: float = 1.0, clip: str = "") -> Shape:
    """Return a filled path."""
    return Shape(d, paint, opacity=opacity, clip=clip)


def line(d: str, colour: str, width: float, opacity: float = 1.0, clip: str = "") -> Shape:
    """Return a stroked path."""
    return Shape(d, "none", colour, width, opacity, clip)


def contour(d: str, paint: Paint, colour: str, width: float = 2.0) -> Shape:
    """Return a filled path with an outline."""
    return Shape(d, paint, colour, width)


def mirror(*nodes: Shape) -> Nodes:
    """Return the nodes and their mirror images."""
    return nodes + tuple(replace(node, mirrored=not node.mirrored) for node in nodes)


def glow(x: float, y: float, r: float, colour: str, opacity: float) -> Nodes:
    """Return a soft spot of colour: discs, since gradients cost several times as much."""
    return tuple(disc(x, y, r * k, colour, opacity * 0.24) for k in (1.0, 0.84, 0.67, 0.5, 0.33))


RENDERER_VERSION = 1
"""Raised whenever any picture changes: a part of every content key."""


def png(svg_text: str, size: int = 512) -> bytes:
    """Return the picture as PNG, ``size`` pixels wide and high."""
    if size < 1:
        raise DataError(f"A picture's size must be at least 1 pixel, not {size}.")
    try:
        return resvg_py.svg_to_bytes(svg_string=svg_text, width=size, height=size, skip_system_fonts=True)
    except ValueError as error:
        raise DataError(f"This SVG cannot be drawn: {error}.") from error


def key(identity: Identity, change: tuple[str, str] | None = None, framing: str | None = None, size: int = 512) -> str:
    """Return a hash of everything the picture depends on, without drawing it.

    The identity's ``id`` is not among it: two names for one person share a picture.
    """
    if change is not None:
        check_change(identity, change)
    fields = (
        RENDERER_VERSION,
        identity.seed,
        identity.gender,
        identity.age,
        identity.skin_tone,
        identity.build,
        *(change or ("", "")),
        resolve_framing(change, framing),
        size,
    )
    return blake2b("\x1f".join(str(value) for value in fields).encode(), digest_size=20).hexdigest()
