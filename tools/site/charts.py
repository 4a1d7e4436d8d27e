"""Charts of committed tables: a row for each value, with its interval, beside what is promised. SVG within Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10

LABELS, PLOT, NUMBERS, LINE = 300, 360, 130, 22
"""Least widths of the parts of a chart, and height of a row, in pixels."""
LETTER = 6.6
"""Width of a letter at most, on average over a label, in pixels."""


@dataclass(frozen=True, slots=True)
class Row:
    """A value with its interval; `beside` is one to compare it with."""

    label: str
    value: float
    low: float
    high: float
    beside: float | None = None
    text: str = ""
    """What stands at its end; value and interval if it is empty."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is shown from where to where, and which part of it is promised."""

    ticks: Sequence[float]
    promised: tuple[float, float]
    logarithmic: bool = False

    def x(self, value: float) -> float:
        """Where a value lies, in pixels; what is beyond the axis lies at its end."""
        first, last, at = self.ticks[0], self.ticks[-1], min(max(value, self.ticks[0]), self.ticks[-1])
        if self.logarithmic:
            first, last, at = log10(first), log10(last), log10(at)
        return LABELS + PLOT * (at - first) / (last - first)


def chart(title: str, rows: Sequence[Row], axis: Axis, beside: str = "") -> str:
    """Draw a chart as a block of HTML.

    Parameters
    ----------
    title:
        What is shown, for those who see the chart and those who hear of it.
    rows:
        From top to bottom.
    axis:
        Its ticks and what is promised, which is shaded.
    beside:
        What the hollow marks are, where rows have such a value.
    """
    height = LINE * len(rows) + 34
    left = max(0.0, max(LETTER * len(row.label) + 16 for row in rows) - LABELS)
    right = max(NUMBERS, *(LETTER * len(_number(row)) + 16 for row in rows))
    box = f"{-left:.0f} 0 {left + LABELS + PLOT + right:.0f} {height}"
    parts = [
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>',
        f'<div tabindex="0" role="group" aria-label="{escape(title)}">',
        f'<svg viewBox="{box}" role="img" aria-label="{escape(title)}">',
    ]
    start, end = (axis.x(value) for value in axis.promised)
    parts.append(f'<rect class="promised" x="{start:.1f}" y="0" width="{end - start:.1f}" height="{height - 26}"/>')
    for tick in axis.ticks:
        x = axis.x(tick)
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 26}"/>')
        parts.append(f'<text class="axis" x="{x:.1f}" y="{height - 8}">{tick:g}</text>')
    for number, row in enumerate(rows):
        parts += _row(row, axis, LINE * number + LINE / 2)
    parts.append("</svg></div>")
    intervals = any(row.low < row.high for row in rows)
    keys = ["shaded: promised", *(["line: interval"] if intervals else ()), *([f"hollow: {beside}"] if beside else ())]
    parts.append(f"<p>{escape('; '.join(keys))}.</p></figure>")
    return "\n".join(["```{raw} html", *parts, "```", ""])


def _number(row: Row) -> str:
    return row.text or f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _row(row: Row, axis: Axis, y: float) -> list[str]:
    low, high, at = axis.x(row.low), axis.x(row.high), axis.x(row.value)
    text = _number(row)
    parts = [
        f'<text class="label" x="{LABELS - 10}" y="{y + 4}">{escape(row.label)}</text>',
        f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
        f'<circle class="value" cx="{at:.1f}" cy="{y}" r="4"><title>{escape(f"{row.label}: {text}")}</title></circle>',
        f'<text class="number" x="{LABELS + PLOT + 8}" y="{y + 4}">{escape(text)}</text>',
    ]
    if row.beside is not None:
        parts.insert(2, f'<circle class="beside" cx="{axis.x(row.beside):.1f}" cy="{y}" r="4"/>')
    return parts
