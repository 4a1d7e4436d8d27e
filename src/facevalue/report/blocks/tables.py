"""Tables of estimates with some of their numbers beside each other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.measures.definitions import POOLED
from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import Content, TableCell, TableContent, TableHead, TextContent
from facevalue.report.blocks.intervals import said_verdict
from facevalue.report.blocks.view import View
from facevalue.report.formatting import DASH, count

T = TypeVar("T")


def table(block: blocks.Table, view: View) -> list[Content]:
    """A table of estimates."""
    models = [*view.models, *([POOLED] if view.numbers.pooled else [])] if block.each_model else [view.model]
    show_model = block.each_model and (len(models) > 1 or not block.label)
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    rows, estimates, strong = [], [], []
    for model in models:
        model_view = view.at(model)
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
    """Say what chance alone shows, where that is known."""
    return () if e is None or e.floor_high is None else (f"by chance {view.floor(e)}",)


def overview(block: blocks.Overview, view: View) -> list[Content]:
    """One line per cell of a breakdown."""
    models = [view.model] if view.model == POOLED else list(dict.fromkeys([view.model, *view.models]))
    show_model = len(models) > 1
    cells: dict[tuple[str | None, ...], dict[str, list[Estimate]]] = {}
    for model in models:
        for e in (row for of in block.of for row in view.at(model).rows(replace(of, order="given"))):
            key = tuple(e[name] for name in block.over)
            cells.setdefault(key, {}).setdefault(model, []).append(e)
    rows = [
        _line(block, view.at(model, dict(zip(block.over, key, strict=True))), estimates, show_model=show_model)
        for key, by in _grouped(cells, block.over, view).items() for model, estimates in by.items()
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


def _grouped(
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
    moved = [e for e in measurable if view.numbers.moved(e)]
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
