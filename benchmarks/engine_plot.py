"""Judgments a second against prompts per picture, as an SVG that is readable in light and dark."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from facevalue.report.charts import SHAPES
from facevalue.report.formatting import html_element

if TYPE_CHECKING:
    from benchmarks.engine_report import Row

_STYLE = """
:root { --bg: #ffffff; --ink: #1b222c; --muted: #5c6675; --line: #e2dfd9;
  --c0: #1f5fa8; --c1: #c2570c; --c2: #6f4aa0; --c3: #00795c; }
@media (prefers-color-scheme: dark) { :root { --bg: #12161c; --ink: #e5e8ed; --muted: #9ba6b5; --line: #2c3541;
  --c0: #7fb2ee; --c1: #f2a260; --c2: #c0a2ee; --c3: #5fcaa6; } }
text { font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; fill: var(--ink); }
.tick { fill: var(--muted); font-size: 12px; } .name { font-weight: 600; font-size: 14px; }
.bg { fill: var(--bg); } .grid { stroke: var(--line); } .line { fill: none; stroke-width: 2; }
.floor { stroke-dasharray: 5 4; stroke: var(--muted); } .floor.dot { stroke: none; fill: var(--muted); }
.shared { stroke: var(--c0); } .naive { stroke: var(--c1); } .forward { stroke: var(--c2); }
.batched { stroke: var(--c3); }
.shared.dot { fill: var(--c0); } .naive.dot { fill: var(--c1); } .forward.dot { fill: var(--c2); }
.batched.dot { fill: var(--c3); } .dot { stroke: none; }
"""
_NAMES = {
    "shared": "shared prefix",
    "floor": "floor: naive, sped up as the operations say",
    "naive": "one generate() per prompt",
    "forward": "one forward pass per prompt",
    "batched": "generate(), 8 at a time",
}
_ORDER = ("shared", "floor", "naive", "forward", "batched")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 470, 300, 46, 14, 44, 44
_LEGEND = 62


def plot(panels: Sequence[tuple[str, "Sequence[Row]"]], second: str) -> str:
    """Draw one panel for each model, both axes logarithmic.

    Parameters
    ----------
    panels:
        Name of a model and its rows.
    second:
        What a rate is per: "CPU second" or "second".
    """
    main = 0 if second.startswith("CPU") else 1
    columns = min(2, len(panels))
    width, height = columns * _WIDTH, _LEGEND + math.ceil(len(panels) / columns) * _HEIGHT
    parts = [
        html_element("style", Markup(_STYLE)),
        html_element("rect", width=width, height=height, class_="bg"),
        _legend(width),
    ]
    for at, (name, rows) in enumerate(panels):
        inner = _panel(name, _lines(rows, main), second)
        place = f"translate({at % columns * _WIDTH} {_LEGEND + at // columns * _HEIGHT})"
        parts.append(html_element("g", *inner, transform=place))
    label = f"Judgments per {second} against prompts per picture; the numbers are in the table."
    box = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return str(html_element("svg", *parts, xmlns="http://www.w3.org/2000/svg", role="img", aria_label=label, **box))


Line = list[tuple[float, float]]


def _lines(rows: "Sequence[Row]", clock: int) -> dict[str, Line]:
    """Return prompts per picture and judgments a second of each way to ask."""
    chosen = [row for row in rows if row.study == "stylisticbias"]
    counts = [row.prompts for row in chosen if row.prompts is not None]
    rate = {id(row): 1e3 / (row.wall_ms if clock else row.cpu_ms)[1] for row in chosen}
    lines: dict[str, Line] = {}
    for row in chosen:
        if row.variant == "plain":  # about as naive
            continue
        if row.variant == "shared":
            lines.setdefault("shared", []).append((row.prompts or 1, rate[id(row)]))
        else:
            lines[row.variant] = [(count, rate[id(row)]) for count in (min(counts), max(counts))]
    naive = lines["naive"][0][1]
    lines["floor"] = [(row.prompts or 1, naive * row.floor) for row in chosen if row.variant == "shared"]
    return lines


def _panel(name: str, lines: dict[str, Line], second: str) -> list[Markup]:
    xs = [x for line in lines.values() for x, _ in line]
    ys = [y for line in lines.values() for _, y in line]
    low, high = (math.log10(min(ys)) - 0.1, math.log10(max(ys)) + 0.1)
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT

    def across(x: float) -> float:
        share = math.log(x / min(xs)) / math.log(max(xs) / min(xs))
        return round(_LEFT + 12 + (right - _LEFT - 24) * share, 1)

    def up(y: float) -> float:
        return round(floor - (floor - _TOP) * (math.log10(y) - low) / (high - low), 1)

    parts = [_text(_LEFT, 16, name, "start", "name"), _text(_LEFT, 34, f"↑ judgments per {second}", "start", "tick")]
    for y in (m * 10.0**e for e in range(-3, 6) for m in (1, 2, 5)):
        if low <= math.log10(y) <= high:
            parts.append(html_element("line", x1=_LEFT, x2=right, y1=up(y), y2=up(y), class_="grid"))
            parts.append(_text(_LEFT - 6, up(y) + 4, f"{y:g}", "end", "tick"))
    for x in sorted({x for x, _ in lines["shared"]}):
        parts.append(_text(across(x), floor + 18, f"{x:g}", "middle", "tick"))
    parts.append(_text(right, floor + 36, "prompts per picture →", "end", "tick"))
    for at, kind in reversed(list(enumerate(_ORDER))):
        line = lines[kind]
        parts.append(
            html_element("polyline", points=" ".join(f"{across(x)},{up(y)}" for x, y in line), class_=f"line {kind}")
        )
        for x, y in line:
            parts.append(_mark(across(x), up(y), at, f"{_NAMES[kind]}: {y:.3g} at {x:g} prompts per picture", kind))
    return parts


def _legend(width: int) -> Markup:
    parts, x, y = [], float(_LEFT), 20
    for at, kind in enumerate(_ORDER):
        wide = 42 + 7.0 * len(_NAMES[kind])
        if x + wide > width and x > _LEFT:
            x, y = float(_LEFT), y + 24
        parts.append(html_element("line", x1=x, x2=x + 24, y1=y - 4, y2=y - 4, class_=f"line {kind}"))
        parts += [_mark(x + 12, y - 4, at, "", kind), _text(x + 32, y, _NAMES[kind], "start", "")]
        x += wide
    return html_element("g", *parts)


def _mark(x: float, y: float, at: int, title: str, kind: str) -> Markup:
    children = [html_element("title", title)] if title else []
    return html_element("path", *children, d=SHAPES[at % 4], class_=f"dot {kind}", transform=f"translate({x} {y})")


def _text(x: float, y: float, text: str, anchor: str, class_: str) -> Markup:
    return html_element("text", text, x=x, y=y, text_anchor=anchor, class_=class_ or None)
