"""Charts as inline SVG: positions across are percentages, so that they fit a phone without shrinking their text.

Colours, fonts and line widths are classes of the report's style sheet. No style attributes: the report's content
security policy forbids them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from facevalue.report.formatting import html_element, in_unit, tick

SHAPES = (
    "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
    "M-4-4H4V4H-4Z",
    "M0-5.5 5 4H-5Z",
    "M0-5.5 5.5 0 0 5.5-5.5 0Z",
)
"""Circle, square, triangle, diamond: categories differ by shape as well as by colour."""
_STRIP = 26
_AXIS = 24
_WIDE, _NARROW = 270, 110
"""Width in pixels of the narrowest charts on a screen, and of those beside two columns on a phone."""
_LETTER, _SPACE = 7.2, 6
"""Width of a letter of a tick's label, and between two labels, in pixels."""
_CAP = 4  # pixels of the end of a thin interval, either way


@dataclass(frozen=True, slots=True)
class AxisScale:
    """A linear axis."""

    low: float
    high: float
    """Ends of the axis."""
    ticks: tuple[float, ...]
    """Values at which labels stand."""

    def holds(self, value: float) -> bool:
        """Return whether a value lies on the axis."""
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """Place of a value in percent, kept within the axis."""
        return round(min(max(100 * (value - self.low) / (self.high - self.low), 0), 100), 2)


def scale(low: float, high: float, ticks_wanted: int = 7) -> AxisScale:
    """Choose an axis over at least this range, with round ticks.

    Examples
    --------
    >>> scale(-0.17, 0.12).ticks
    (-0.15, -0.1, -0.05, 0.0, 0.05, 0.1)
    """
    if not high > low:
        low, high = low - 0.01, low + 0.01
    rough = (high - low) / (ticks_wanted - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    ticks = tuple(round(i * step, 12) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))
    pad = 0.03 * (high - low)
    return AxisScale(low - pad if low else 0.0, high + pad, ticks)


def mark(x: float, y: float, shape: int = 0, class_: str = "dot") -> Markup:
    """A marker at x percent and y pixels."""
    return html_element(
        "svg", html_element("path", d=SHAPES[shape % 4], class_=class_), x=f"{x}%", y=y, overflow="visible"
    )


def _text(x: str, y: float, text: str, anchor: str = "middle", class_: str = "tick") -> Markup:
    return html_element("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return html_element("line", x1=f"{x1}%", y1=y1, x2=f"{x2}%", y2=y2, class_=class_)


def axis(over: AxisScale, labels: Sequence[str]) -> Markup:
    """Tick labels to stand above strips of the same width; where they are long every second or third, from zero on.

    Labels for which there is room on a screen and not on a phone have the class `apart`.
    """
    shapes = []
    zero = min(range(len(labels)), key=lambda place: abs(over.ticks[place]), default=0)
    wide = _label_step(over, labels, zero, _WIDE)
    narrow = _label_step(over, labels, zero, _NARROW, wide)
    for place, (value, label) in enumerate(zip(over.ticks, labels, strict=True)):
        x = over.place(value)
        class_ = "tick" if (place - zero) % narrow == 0 else "tick apart"
        shapes += [_text(f"{x}%", 14, label, _anchor(x), class_)] if (place - zero) % wide == 0 else []
        shapes.append(_line(x, 18, x, _AXIS, "grid"))
    return html_element("svg", *shapes, class_="axis", width="100%", height=_AXIS, aria_hidden="true")


def _anchor(x: float) -> str:
    return "start" if x < 4 else "end" if x > 96 else "middle"


def _label_step(over: AxisScale, labels: Sequence[str], zero: int, width: float, least: int = 1) -> int:
    """Spacing of labelled ticks, counted from `zero`, so that no label runs into the next.

    A multiple of `least`; one more label than that of zero is always there, as a number alone is no scale.
    """
    ends = []
    for value, label in zip(over.ticks, labels, strict=True):
        size, x = (len(label) - sum(map(label.count, ".,")) / 2) * _LETTER, over.place(value)
        left = x / 100 * width - {"start": 0.0, "middle": size / 2, "end": size}[_anchor(x)]
        ends.append((left, left + size + _SPACE))
    most = max(max(zero, len(labels) - 1 - zero) // least, 1) * least
    for every in range(least, most, least):
        labelled = [end for place, end in enumerate(ends) if (place - zero) % every == 0]
        if all(right <= left for (_, right), (left, _) in pairwise(labelled)):
            return every
    return most


def strip(
    over: AxisScale,
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    page: tuple[float, float] | None = None,
    band: tuple[float, float] | None = None,
    margins: Sequence[float] = (),
    shape: int = 0,
    class_: str = "",
    title: str = "",
) -> Markup:
    """One row of an interval plot: a dot, its interval, that of the page, zero, margins and the shaded noise floor."""
    middle = _STRIP / 2
    shapes = []
    if title:
        shapes.append(html_element("title", title))
    if band is not None:
        left, right = over.place(band[0]), over.place(band[1])
        width = round(right - left, 2)
        shapes.append(html_element("rect", x=f"{left}%", y=0, width=f"{width}%", height=_STRIP, class_="band"))
    shapes += [_line(over.place(t), 0, over.place(t), _STRIP, "grid") for t in over.ticks if t]
    if over.holds(0):
        shapes.append(_line(over.place(0), 0, over.place(0), _STRIP, "zero"))
    shapes += [_line(over.place(m), 0, over.place(m), _STRIP, "margin") for m in margins if over.holds(m)]
    if page is not None:
        left, right = (over.place(end) for end in page)
        shapes.append(_line(left, middle, right, middle, f"thin {class_}"))
        shapes += [
            _line(over.place(end), middle - _CAP, over.place(end), middle + _CAP, f"thin {class_}")
            for end in page
            if over.holds(end)
        ]
    if low is not None and high is not None:
        shapes.append(_line(over.place(low), middle, over.place(high), middle, f"whisker {class_}"))
    if value is not None:
        shapes.append(mark(over.place(value), middle, shape, f"dot {class_}"))
    return html_element("svg", *shapes, class_="strip", width="100%", height=_STRIP, role="img")


LegendMark = Literal["estimate", "interval", "page", "noise", "margin"]
"""A thing that an interval plot draws."""
_KEY_WIDTH, _KEY_HEIGHT = 30, 14


def legend_mark(of: LegendMark) -> Markup:
    """Drawing of one thing of an interval plot, to stand before its name in a legend."""
    middle = _KEY_HEIGHT / 2
    shapes = {
        "estimate": [mark(50, middle, 0, "dot plain")],
        "interval": [_line(10, middle, 90, middle, "whisker plain")],
        "page": [
            _line(2, middle, 98, middle, "thin plain"),
            *(_line(end, middle - _CAP, end, middle + _CAP, "thin plain") for end in (2, 98)),
        ],
        "noise": [html_element("rect", x="10%", y=0, width="80%", height=_KEY_HEIGHT, class_="band")],
        "margin": [_line(50, 0, 50, _KEY_HEIGHT, "margin")],
    }[of]
    return html_element("svg", *shapes, class_="key", width=_KEY_WIDTH, height=_KEY_HEIGHT, aria_hidden="true")


def dumbbell(over: AxisScale, plain: float | None, changed: float | None, title: str) -> Markup:
    """One row of two values: hollow without, filled with what was done, a line between them."""
    middle = _STRIP / 2
    shapes = [
        html_element("title", title),
        *(_line(over.place(t), 0, over.place(t), _STRIP, "grid") for t in over.ticks if t),
    ]
    if plain is not None and changed is not None:
        shapes.append(_line(over.place(plain), middle, over.place(changed), middle, "whisker"))
    shapes += [
        mark(over.place(v), middle, 0, f"dot {c}") for v, c in ((plain, "within"), (changed, "plain")) if v is not None
    ]
    return html_element("svg", *shapes, class_="strip", width="100%", height=_STRIP, role="img")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter plot."""

    x: float
    y: float
    """Place on the two axes."""
    title: str
    """Tooltip of the point."""
    label: str = ""
    """Text beside the point; empty for none."""
    group: int = 0
    """Number of the shape and colour."""


def scatter(
    points: Sequence[Point],
    x: AxisScale,
    y: AxisScale,
    names: tuple[str, str],
    units: tuple[str, str],
    *,
    line: float | None = None,
    diagonal: bool = False,
) -> Markup:
    """Plot points, with both axes labelled in their units."""
    top, height, bottom, left = 26, 300, 52, 0.0
    floor = top + height

    def up(value: float) -> float:
        return round(floor - height * y.place(value) / 100, 1)

    shapes: list[Markup] = []
    for value in x.ticks:
        shapes.append(_line(x.place(value), top, x.place(value), floor, "zero" if value == 0 else "grid"))
        anchor = "start" if x.place(value) < 3 else "end" if x.place(value) > 97 else "middle"
        shapes.append(_text(f"{x.place(value)}%", floor + 16, tick(value, units[0]), anchor))
    for value in y.ticks:
        shapes.append(_line(left, up(value), 100, up(value), "zero" if value == 0 else "grid"))
        shapes.append(_text("2", up(value) - 3, tick(value, units[1]), "start"))
    shapes.append(_text("100%", floor + 38, in_unit(names[0], units[:1]) + " →", "end", "name"))
    shapes.append(_text("0", 12, "↑ " + in_unit(names[1], units[1:]), "start", "name"))
    if line is not None and points:
        mx, my = (sum(p.x for p in points) / len(points), sum(p.y for p in points) / len(points))
        ends = [(v, my + line * (v - mx)) for v in (min(p.x for p in points), max(p.x for p in points))]
        shapes.append(_line(x.place(ends[0][0]), up(ends[0][1]), x.place(ends[1][0]), up(ends[1][1]), "fit"))
    if diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        shapes.append(_line(x.place(low), up(low), x.place(high), up(high), "fit"))
    for p in points:
        across = x.place(p.x)
        shapes.append(
            html_element("g", html_element("title", p.title), mark(across, up(p.y), p.group, f"dot c{p.group % 4}"))
        )
    taken: list[tuple[float, float]] = []
    for p in sorted((p for p in points if p.label), key=lambda p: -abs(p.y)):
        across, high = x.place(p.x), up(p.y)
        if any(abs(across - a) < 16 and abs(high - b) < 13 for a, b in taken):
            continue
        taken.append((across, high))
        end = across > 70
        inner = _text("-9" if end else "9", 4, p.label, "end" if end else "start", "label")
        shapes.append(html_element("svg", inner, x=f"{across}%", y=high, overflow="visible"))
    summary = f"{names[1]} by {names[0]}, {len(points)} points; the numbers are in the table below."
    return html_element(
        "svg", *shapes, class_="plot", width="100%", height=floor + bottom, role="img", aria_label=summary
    )


def cumulative(
    shares: Sequence[float],
    titles: Sequence[str],
    reached: tuple[float | None, float | None, float | None],
    names: tuple[str, str],
) -> Markup:
    """Plot how the total adds up, largest share first, with the 80% line and where it is reached."""
    top, height = 36, 260
    floor = top + height
    size = len(shares)
    width = 100 / size

    def up(value: float) -> float:
        return round(floor - height * value, 1)

    shapes: list[Markup] = []
    value, low, high = reached
    if low is not None and high is not None:
        a, b = round((low - 1) * width, 2), round(high * width, 2)
        shapes.append(html_element("rect", x=f"{a}%", y=top, width=f"{round(b - a, 2)}%", height=height, class_="band"))
    for level in (0.2, 0.4, 0.6, 0.8, 1.0):
        if level != 0.8:
            shapes.append(_line(0, up(level), 100, up(level), "grid"))
        shapes.append(_text("2", up(level) - 4, f"{level:.0%}", "start", "tick strong" if level == 0.8 else "tick"))
    before = 0.0
    for i, (share, title) in enumerate(zip(shares, titles, strict=True)):
        inside = value is not None and i < value
        left, wide = f"{round((i + 0.12) * width, 2)}%", f"{round(0.76 * width, 2)}%"
        bar = html_element(
            "rect", html_element("title", title), x=left, y=up(share), width=wide, height=round(floor - up(share), 1),
            class_="bar in" if inside else "bar",
        )  # fmt: skip
        grown = html_element(
            "rect", x=left, y=up(share), width=wide, height=round(up(before) - up(share), 1),
            class_="step in" if inside else "step", pointer_events="none",
        )  # fmt: skip
        shapes += [bar, grown]
        before = share
        if i in (0, size - 1) or (i + 1) % 5 == 0:
            shapes.append(_text(f"{round((i + 0.5) * width, 2)}%", floor + 16, str(i + 1)))
    shapes += [_line(0, up(0.8), 100, up(0.8), "goal"), _line(0, floor, 100, floor, "zero")]
    shapes.append(_text("100%", floor + 38, f"number of {names[0]}, strongest first →", "end", "name"))
    shapes.append(_text("0", 12, f"↑ share of the total {names[1]}", "start", "name"))
    summary = f"Cumulative share of the total {names[1]}; the numbers are in the table below."
    return html_element("svg", *shapes, class_="plot", width="100%", height=floor + 52, role="img", aria_label=summary)
