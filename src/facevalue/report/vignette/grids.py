"""Compact tables of many cells: one class per colour step, one short title per cell, nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from facevalue.report.formatting import MINUS

STEPS = (5.0, 10.0, 20.0, 35.0)
"""Points away from none at which a colour step begins."""
_MANY = 30
"""More columns than this are drawn narrower."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows.

    Attributes
    ----------
    value:
        Its number; None for not measurable.
    shift:
        Points above or below none, which sets its colour.
    found:
        Whether its verdict is that a difference was found.
    title:
        Everything else, for those who point at it; may be empty.
    """

    value: float | None
    shift: float
    found: bool
    title: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of cells, ready for the page.

    Attributes
    ----------
    title:
        What it shows.
    html:
        The table.
    cells:
        How many cells it has.
    found:
        In how many of them a difference was found.
    """

    title: str
    html: Markup
    cells: int
    found: int


def step(shift: float) -> str:
    """Colour class of a shift in points.

    Examples
    --------
    >>> [step(v) for v in (0.0, 4.9, 5.0, -5.0, 19.9, -35.0)]
    ['z', 'z', 'u1', 'd1', 'u2', 'd4']
    """
    level = sum(abs(shift) >= limit for limit in STEPS)
    return "z" if not level else f"{'u' if shift > 0 else 'd'}{level}"


def whole(value: float, *, signed: bool) -> str:
    """A cell's number without digits; a sign where it is a difference.

    Examples
    --------
    >>> whole(61.5, signed=False), whole(3.2, signed=True), whole(-12.0, signed=True), whole(-0.2, signed=True)
    ('62', '+3', '−12', '0')
    """
    text = f"{value:+.0f}" if signed else f"{value:.0f}"
    if text in ("+0", "-0"):
        return "0"
    return text.replace("-", MINUS)


def grid(
    title: str,
    corner: str,
    rows: Sequence[tuple[str, str]],
    columns: Sequence[tuple[str, str]],
    cells: Mapping[tuple[str, str], Cell],
    *,
    whole_column: tuple[str, Mapping[str, Cell]] | None = None,
    signed: bool = False,
    turned: bool = True,
) -> Grid | None:
    """Build a table; None if no cell has a number.

    Parameters
    ----------
    title, corner:
        What it shows, and what its rows are.
    rows, columns:
        Levels and their wording, in order.
    cells:
        By (row, column) level. Those that are missing do not apply.
    whole_column:
        Title and cells of a first column, over all the others.
    signed:
        Whether numbers are differences.
    turned:
        Whether titles of columns are turned.
    """
    if not any(cell.value is not None for cell in cells.values()):
        return None
    kind = " ".join(["cells", *(["turned"] if turned else []), *(["many"] if len(columns) > _MANY else [])])
    out = [f'<table class="{kind}"><caption class="hidden">{escape(title)}</caption><thead><tr>']
    out.append(f'<th scope="col" class="c">{escape(corner)}</th>')
    heads = [*([whole_column[0]] if whole_column else []), *(name for _, name in columns)]
    for place, name in enumerate(heads):
        first = ' class="w"' if whole_column and not place else ""
        out.append(f'<th scope="col"{first}><span>{escape(name)}</span></th>')
    out.append("</tr></thead>\n<tbody>")
    for level, name in rows:
        out.append(f'<tr><th scope="row">{escape(name)}</th>')
        if whole_column:
            out.append(_td(whole_column[1].get(level), signed=signed, extra="w"))
        out += [_td(cells.get((level, column)), signed=signed) for column, _ in columns]
        out.append("</tr>\n")
    out.append("</tbody></table>")
    size, found = len(cells), sum(cell.found for cell in cells.values())
    return Grid(title, Markup("".join(out)), size, found)  # noqa: S704 every text in it was escaped


def _td(cell: Cell | None, *, signed: bool, extra: str = "") -> str:
    if cell is None:
        return '<td class="x"></td>'
    if cell.value is None:
        return '<td class="x" title="not measurable">–</td>'
    classes = " ".join(filter(None, [step(cell.shift), "s" if cell.found else "", extra]))
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    return f'<td class="{classes}"{title}>{whole(cell.value, signed=signed)}</td>'
