"""Tables of estimates with some of their numbers beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl
from markupsafe import Markup, escape

from facevalue.measures.caveats import add_caveat, caveat_of, counted_caveats
from facevalue.measures.definitions import POOLED
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import (
    Content,
    GridContent,
    HeatCell,
    HeatContent,
    HeatRow,
    PartContent,
    TableCell,
    TableContent,
    TableHead,
    TextContent,
)
from facevalue.report.blocks.intervals import numbers, said_verdict
from facevalue.report.blocks.view import MOST, TITLED, View
from facevalue.report.formatting import DASH, MINUS, NOT_MEASURABLE, chance_with_sign, count, group_key, number

# Heat maps, and compact grids of very many cells.


STRONG, MODERATE = 0.10, 0.04
"""Shifts from which on a cell has the strong, or the light colour."""
STEPS = (5.0, 10.0, 20.0, 35.0)
"""Points away from none at which a colour of a grid begins."""
_MANY = 30
"""More columns than this are drawn narrower."""


def heat(block: blocks.Heat, view: View) -> list[Content]:
    """A heat map, with the numbers behind it."""
    heat_map = _heat(block, view)
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    if heat_map is None:
        return [*heading, TextContent(block.empty, "empty")] if block.empty else []
    of = block.number_rows((block.of,))
    behind = numbers(blocks.Numbers(of=of, title=block.numbers, heads=block.heads), view) if block.numbers else []
    lead = [TextContent(block.lead)] if block.lead else []
    note = [TextContent(block.note, "small")] if block.note else []
    contents: list[Content] = [*lead, heat_map, *note, *behind]
    if block.fold:
        return [*heading, PartContent(block.fold, contents)]
    return [*heading, *contents]


def _heat(block: blocks.Heat, view: View) -> HeatContent | None:
    models = list(view.models) if block.models else [view.model]
    estimates = [e for model in models for e in view.narrow(model).rows(block.of)]
    totals = view.rows(block.whole) if block.whole else []
    if not estimates:
        return None
    heads: dict[tuple[str, str], tuple[str, str]] = {}
    for e in estimates:
        band = view.said(block.band, e) if block.band else ""
        title = e.model if block.models else view.said(block.column, e)
        short = e.model if block.models else view.said(block.column.replace("}", ":short}"), e)
        heads.setdefault((band, title), (title, short))
    columns = list(heads)
    if block.band:
        columns = _in_order(view, block, estimates)
    cells = {(view.said(block.row, e), *_column(block, view, e)): e for e in estimates}
    first = {view.said(block.row, e): e for e in totals}
    sections = (
        {view.said(block.row, e): view.said(block.section, e) for e in [*totals, *estimates]} if block.section else {}
    )
    rows = []
    for key in dict.fromkeys([*first, *(row for row, *_ in cells)]):
        row_cells = [
            *([_heat_cell(view, first.get(key))] if totals else []),
            *(_heat_cell(view, cells.get((key, *c))) for c in columns),
        ]
        sizes = [abs(c.sort) for c in (row_cells[:1] if totals else row_cells) if c.sort is not None]
        rows.append(HeatRow(sections.get(key, ""), key, row_cells, max(sizes, default=-1.0)))
    bands = [(name, sum(c[0] == name for c in columns)) for name in dict.fromkeys(c[0] for c in columns) if name]
    if totals:
        bands = [(block.whole_title[1], 1), *bands] if bands else []
    titles = [*([block.whole_title] if totals else []), *(heads[c] for c in columns)]
    found_caveats = counted_caveats(e.caveat for e in [*totals, *estimates] if view.found(e))
    return HeatContent(bands, titles, rows, block.corner, block.title, block.tools, block.legend, found_caveats)


def _column(block: blocks.Heat, view: View, e: Estimate) -> tuple[str, str]:
    return (
        view.said(block.band, e) if block.band else "",
        e.model if block.models else view.said(block.column, e),
    )


def _in_order(view: View, block: blocks.Heat, estimates: Iterable[Estimate]) -> list[tuple[str, str]]:
    """Columns by band in the order of the estimates, within it in the order that people expect."""
    keys = {_column(block, view, e): group_key(e["dimension"] or "", e["group"] or "") for e in estimates}
    order = list(dict.fromkeys(band for band, _ in keys))
    return sorted(keys, key=lambda column: (order.index(column[0]), keys[column]))


def _heat_cell(view: View, e: Estimate | None) -> HeatCell:
    if e is None:
        return HeatCell(DASH, "none", "not applicable: no such pictures", None)
    if e.value is None:
        return HeatCell(DASH, "none", NOT_MEASURABLE, None, e)
    classes = [shade_of_shift(e.value)]
    if (q := e.verdict_q) is not None:
        classes.append("unsure" if not view.found(e) else "unless" if e.caveat else "sure" if q < 0.001 else "")
    elif e.verdict is not None and not view.found(e):
        classes.append("unsure")
    return HeatCell(view.value(e, bare=True), " ".join(filter(None, classes)), view.detail(e, brief=True), e.value, e)


def shade_of_shift(value: float) -> str:
    """Colour of a shift.

    Examples
    --------
    >>> [shade_of_shift(v) for v in (0.1, 0.04, 0.039, -0.04, -0.1)]
    ['up2', 'up1', 'zero', 'down1', 'down2']
    """
    size = "2" if abs(value) >= STRONG else "1" if abs(value) >= MODERATE else ""
    return "zero" if not size else f"{'up' if value > 0 else 'down'}{size}"


def colour_step(shift: float) -> str:
    """Colour class of a shift in points.

    Examples
    --------
    >>> [colour_step(v) for v in (0.0, 4.9, 5.0, -5.0, 19.9, -35.0)]
    ['z', 'z', 'u1', 'd1', 'u2', 'd4']
    """
    level = sum(abs(shift) >= limit for limit in STEPS)
    return "z" if not level else f"{'u' if shift > 0 else 'd'}{level}"


def rounded_cell(value: float, *, signed: bool) -> str:
    """A cell's number without digits; a sign where it is a difference.

    Examples
    --------
    >>> rounded_cell(61.5, signed=False), [rounded_cell(value, signed=True) for value in (3.2, -12.0, -0.2)]
    ('62', ['+3', '−12', '0'])
    """
    text = f"{value:+.0f}" if signed else f"{value:.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", MINUS)


Row = Mapping[str, object]


def grid(block: blocks.Grid, view: View) -> list[Content]:
    """A compact table; nothing if no cell has a number, or the page has no room for it."""
    if block.large and view.cells > MOST:
        return []
    cells = _frame(view, block.of, block)
    columns = _columns(block, view, cells)
    if len(columns) < block.least or not cells["value"].is_not_null().any():
        return []
    neutral = _neutral(block, view, cells)
    tested = _tests(view, block.of, block.test, (block.row, block.column)) if block.test else None
    first = _frame(view, block.whole, block) if block.whole else None
    first_tests = (
        _tests(view, block.whole, block.test_whole, (block.row,)) if block.whole and block.test_whole else None
    )
    key = (block.row, block.column)
    rows = _row_order(block, view, cells, first)
    by = {(row[block.row], row[block.column]): row for row in cells.iter_rows(named=True)}
    before = {row[block.row]: row for row in first.iter_rows(named=True)} if first is not None else {}
    maker = _CellMaker(block, view, neutral, titled=view.cells <= TITLED)
    kind = " ".join(
        ["cells", *(["turned"] if _is_turned(block, columns) else []), *(["many"] if len(columns) > _MANY else [])]
    )
    out = [f'<table class="{kind}"><caption class="hidden">{escape(block.title)}</caption><thead><tr>']
    out.append(f'<th scope="col" class="c">{escape(block.corner)}</th>')
    if before:
        out.append('<th scope="col" class="w"><span>all</span></th>')
    out += [f'<th scope="col"><span>{escape(_title(view, block, name))}</span></th>' for name in columns]
    out.append("</tr></thead>\n<tbody>")
    for level in rows:
        out.append(f'<tr><th scope="row">{escape(_row_title(view, block, level))}</th>')
        if before:
            row = before.get(level)
            test = row if first_tests is None else first_tests.get((level,))
            out.append(maker.td(row, test, log=False, extra="w"))
        for name in columns:
            row = by.get((level, name))
            test = row if tested is None else tested.get(_key(row, key)) if row else None
            out.append(maker.td(row, test, log=tested is not None))
        out.append("</tr>\n")
    out.append("</tbody></table>")
    values = [(r, c, row) for (r, c), row in by.items()]
    html = Markup("".join(out))  # noqa: S704 every text in it was escaped
    caveats = counted_caveats(maker.caveats)
    return [GridContent(block.title, html, len(by), len(maker.caveats), block.scale, values, caveats)]


def _is_turned(block: blocks.Grid, columns: Sequence[str]) -> bool:
    return block.turned if block.turn_from is None else len(columns) > block.turn_from


def _frame(view: View, of: Of, block: blocks.Grid) -> pl.DataFrame:
    if not block.models:
        return view.frame(of)
    frames = [view.frame(of, model) for model in view.models]
    frame = pl.concat(frames)
    # Levels of different dimensions may have one name, so rows are named by both.
    key = pl.concat_str(block.row, pl.lit("\n"), pl.col("dimension").fill_null(""))
    return frame.with_columns(key.alias(block.row))


def _row_title(view: View, block: blocks.Grid, level: str) -> str:
    name, _, dimension = level.partition("\n")
    title = view.titles.given_wording(block.row, name) or (name if block.plain else view.titles.get(block.row, name))
    return f"{title} ({view.titles.get('dimension', dimension).lower()})" if dimension else title


def _title(view: View, block: blocks.Grid, name: str) -> str:
    if block.models:
        return name
    if block.plain:
        return view.titles.given_wording(block.column, name) or name
    return view.titles.get(block.column, name)


def _columns(block: blocks.Grid, view: View, cells: pl.DataFrame) -> list[str]:
    if block.square and block.order:
        order = [e[block.row] or "" for e in view.rows(block.order)]
        return order or sorted({*cells[block.row], *cells[block.column]})
    levels = cells["model" if block.models else block.column].unique(maintain_order=True).to_list()
    return sorted(levels) if block.plain else levels


def _row_order(block: blocks.Grid, view: View, cells: pl.DataFrame, first: pl.DataFrame | None) -> list[str]:
    """Order rows as another selection does, or by falling mean; those without a mean last, by name."""
    if block.order is not None:
        order = [e[block.row] or "" for e in view.rows(block.order)]
        if order:
            return order
    cell_means = dict(cells.group_by(block.row).agg(pl.col("value").mean()).iter_rows())
    means = {**cell_means, **(dict(first.select(block.row, "value").iter_rows()) if first is not None else {})}
    ordered = {name: means[name] for name in cell_means}
    return sorted(ordered, key=lambda name: (ordered[name] is None, -(ordered[name] or 0.0), name))


def _neutral(block: blocks.Grid, view: View, cells: pl.DataFrame) -> float:
    if block.scale == "right":
        return 100.0
    if block.scale == "difference":
        return 0.0
    if block.mean:
        mean = cells["value"].mean()
        return mean if isinstance(mean, float) else 50.0
    return block.even(view) if block.even else 50.0


def _key(row: Row, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(row[name] for name in names)


def _tests(view: View, of: Of, measure: str, names: Sequence[str]) -> dict[tuple[object, ...], Row]:
    """The test of each cell, by its row and column."""
    frame = view.frame(Of(measure, of.by, of.where, of.without))
    return {_key(row, names): row for row in frame.iter_rows(named=True)}


class _CellMaker:
    """Writer of cells, which counts in how many a difference was found."""

    def __init__(self, block: blocks.Grid, view: View, neutral: float, *, titled: bool) -> None:
        self._block = block
        self._neutral = neutral
        self._titled = titled
        self.caveats: list[str] = []
        """What else could explain each of those; empty for nothing."""

    def td(self, row: Row | None, test: Row | None, *, log: bool, extra: str = "") -> str:
        """A cell from its estimate and the one whose test marks it."""
        if row is None:
            return '<td class="x"></td>'
        value = row["value"]
        if not isinstance(value, float):
            return '<td class="x" title="not measurable">–</td>'
        marked = test is not None and test.get("verdict") == Verdict.DIFFERENCE
        caveat = caveat_of(str(test.get("why") or "")) if test is not None and marked else ""
        if marked and not extra:
            self.caveats.append(caveat)
        title = _title_of(row, test, log=log and test is not None) if self._titled or marked else ""
        classes = " ".join(
            filter(None, [colour_step(value - self._neutral), "s" if marked else "", "unless" if caveat else "", extra])
        )
        tooltip = f' title="{escape(title)}"' if title else ""
        return f'<td class="{classes}"{tooltip}>{rounded_cell(value, signed=self._block.signed)}</td>'


def _title_of(row: Row, test: Row | None, *, log: bool) -> str:
    unit = str(row["unit"])
    clauses = [number(_float(row["value"]), unit, signed=unit == "pp", bare=True)]
    low, high = _float(row["low"]), _float(row["high"])
    if low is not None and high is not None:
        clauses[0] += f" [{low:.0f}, {high:.0f}]".replace("-", MINUS)
    if log and test is not None:
        clauses.append(f"log odds {number(_float(test['value']), 'log odds', signed=True)}")
    q = None if test is None else _float(test.get("q_page"))
    if q is not None:
        clauses.append(f"q {chance_with_sign(q)}")
    clauses.append(f"n = {row['n']}")
    reason = None if test is None else test.get("why")
    return add_caveat(", ".join(clauses), caveat_of(str(reason or "")))


def _float(value: object) -> float | None:
    return value if isinstance(value, float) else None


T = TypeVar("T")


def table(block: blocks.Table, view: View) -> list[Content]:
    """A table of estimates."""
    models = [*view.models, *([POOLED] if view.numbers.pooled else [])] if block.each_model else [view.model]
    show_model = block.each_model and (len(models) > 1 or not block.label)
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    rows, estimates, strong = [], [], []
    for model in models:
        model_view = view.narrow(model)
        for of in block.of:
            for e in model_view.rows(of):
                estimates.append(e)
                model_cells = [TableCell(model)] if show_model else []
                texts = _labels(model_view, of, e, len(block.label))
                rows.append((*model_cells, *texts, *(_cell(model_view, column, e) for column in block.shown)))
                strong += [len(rows) - 1] if model == POOLED else []
    if not estimates or all(e.value is None for e in estimates):
        return [*heading, TextContent(block.empty, "empty")] if block.empty else []
    heads = [TableHead("Model")] if show_model else []
    heads += [TableHead(title) for title in block.label]
    heads += [TableHead(c.title, number=c.what in ("value", "n"), sort=c.what in ("value", "n", "verdict"))
              for c in block.shown]  # fmt: skip
    warning = block.warn(view, estimates) if block.warn else ""
    return [
        *heading,
        *([TextContent(block.lead)] if block.lead else []),
        *([TextContent(warning, "warning")] if warning else []),
        TableContent(block.title, tuple(heads), rows, tall=len(rows) > 12, strong=tuple(strong)),
        *([TextContent(block.note, "small")] if block.note else []),
    ]


def _labels(view: View, of: Of, e: Estimate, columns: int) -> list[TableCell]:
    """Label a row, in so many columns; its note stands beside the first."""
    text, note = view.row_label(of, e), view.said(of.note, e) if of.note else ""
    texts = (text.split("|") + [""] * columns)[:columns]
    return [TableCell(label, note if not place else "") for place, label in enumerate(texts)]


def _cell(view: View, column: blocks.Column, e: Estimate) -> TableCell:
    estimate = view.beside(column.measure, e) if column.measure else e
    if callable(column.what):
        return TableCell(column.what(view, e), quiet=column.quiet)
    if estimate is None:
        return TableCell("not defined for the mean over models" if view.model == POOLED else DASH)
    if column.what == "verdict":
        word, icon = said_verdict(estimate)
        return TableCell(word or DASH, icon=icon, title=estimate.why or "")
    if column.what == "n":
        return TableCell(count(estimate.n))
    if column.what == "floor":
        return TableCell(view.floor(estimate))
    if column.what == "tally":
        return TableCell(
            DASH
            if estimate.value is None or estimate.n is None
            else f"{round(estimate.value * estimate.n)} of {estimate.n}"
        )
    chance = _by_chance(view, view.numbers.size(estimate)) if column.what == "chance" else ()
    below = tuple(filter(None, [view.interval(estimate), *chance, estimate.caveat]))
    return TableCell(view.value(estimate), below=below, sort=estimate.value, strong=view.found(estimate), of=estimate)


def _by_chance(view: View, e: Estimate | None) -> tuple[str, ...]:
    """Value that chance alone gives, where it is known."""
    return () if e is None or e.floor_high is None else (f"by chance {view.floor(e)}",)


def overview(block: blocks.Overview, view: View) -> list[Content]:
    """One line per cell of a breakdown."""
    models = [view.model] if view.model == POOLED else list(dict.fromkeys([view.model, *view.models]))
    show_model = len(models) > 1
    cells: dict[tuple[str | None, ...], dict[str, list[Estimate]]] = {}
    for model in models:
        for e in (row for of in block.of for row in view.narrow(model).rows(replace(of, order="given"))):
            key = tuple(e[name] for name in block.over)
            cells.setdefault(key, {}).setdefault(model, []).append(e)
    rows = [
        _line(block, view.narrow(model, dict(zip(block.over, key, strict=True))), estimates, show_model=show_model)
        for key, by in _group_cells(cells, block.over, view).items() for model, estimates in by.items()
    ]  # fmt: skip
    if not rows:
        return [TextContent(block.empty, "empty")] if block.empty else []
    heads = [
        *([TableHead("Model")] if show_model else []),
        *(TableHead(title) for title in block.heads),
        TableHead("Found", number=True),
        *(TableHead(title, sort=False) for title in block.ends),
        TableHead("Spread", number=True),
        TableHead("Verdict"),
    ]
    lead = [TextContent(block.lead)] if block.lead else []
    return [*lead, TableContent(block.title, tuple(heads), rows)]


def _group_cells(
    cells: dict[tuple[str | None, ...], T], over: tuple[str, ...], view: View
) -> dict[tuple[str | None, ...], T]:
    """Cells of one level of the first label together, in the order in which they appear; others as the study has them.

    Levels without a known order keep that in which they appear.
    """
    first = list(dict.fromkeys(key[0] for key in cells))
    orders = [view.titles.levels(name) for name in over[1:]]

    def place(key: tuple[str | None, ...]) -> tuple[int, ...]:
        later = (order.index(level) if level in order else -1 for order, level in zip(orders, key[1:], strict=True))
        return (first.index(key[0]), *later)

    return dict(sorted(cells.items(), key=lambda item: place(item[0])))


def _line(
    block: blocks.Overview, view: View, estimates: Sequence[Estimate], *, show_model: bool
) -> tuple[TableCell, ...]:
    measurable = [e for e in estimates if e.value is not None]
    moved = [e for e in measurable if view.numbers.is_moved(e)]
    first = estimates[0]
    spread = next(iter(view.rows(block.spread)), None)
    word, icon = said_verdict(spread)
    return (
        *([TableCell(view.model)] if show_model else []),
        *(TableCell(text) for text in view.said(block.label, first).split("|")),
        TableCell(f"{len(moved)} of {len(measurable)}{counted_caveats(e.caveat for e in moved)}", sort=len(moved)),
        *(TableCell(", ".join(outermost(block.row, view, moved, up=up)) or DASH) for up in (True, False)),
        TableCell(
            view.value(spread),
            below=(view.interval(spread), *_by_chance(view, spread)),
            sort=spread.value if spread else None,
            of=spread,
        ),
        TableCell(word or DASH, icon=icon),
    )


def outermost(row: str, view: View, moved: Sequence[Estimate], *, up: bool, limit: int = 3) -> list[str]:
    """The outermost findings of a direction, in words."""
    side = sorted((e for e in moved if ((e.value or 0) > 0) == up), key=lambda e: -abs(e.value or 0.0))
    return [add_caveat(view.said(row, e), e.caveat) for e in side[:limit]]
