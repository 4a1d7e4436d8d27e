"""Estimates without and with each intervention, beside each other."""

from dataclasses import replace

from markupsafe import Markup

from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report import charts
from facevalue.report.blocks.content import Content, StripRow, StripsContent
from facevalue.report.blocks.intervals import numbers, wrapped
from facevalue.report.blocks.view import View
from facevalue.report.formatting import DASH, in_unit, tick

Both = tuple[Of, Estimate, Estimate]


def dumbbells(block: blocks.Dumbbells, view: View) -> list[Content]:
    """A plot per intervention, with a row per estimate."""
    rows = {name: [pair for of in block.of for pair in _both(view, of, name)] for name in view.interventions}
    values = [
        v
        for pairs in rows.values()
        for _, plain, changed in pairs
        for v in (plain.value, changed.value)
        if v is not None
    ]
    if not values:
        return []
    over = charts.scale(min([*values, 0.0]), max([*values, 0.0]))
    plots: list[Content] = []
    for name, pairs in rows.items():
        if pairs:
            axis = charts.axis(over, [tick(value, pairs[0][1].written) for value in over.ticks])
            strips = [_row(view, block, over, *pair) for pair in pairs]
            what = in_unit(block.what, [e.written for _, e, _ in pairs])
            title = view.titles.get("intervention", name)
            plots.append(StripsContent(axis, strips, what, title=title, first=block.first))
    changes = tuple(
        replace(of, where={**of.where, "versus": NO_INTERVENTION}, label=f"{title}|{of.label}", intervention=name)
        for name in view.interventions
        for title in [view.titles.get("intervention", name)]
        for of in block.of
    )
    behind = blocks.Numbers(of=changes, title=block.numbers, heads=("Intervention", *block.heads))
    return wrapped(block, plots, numbers(behind, view) if block.numbers else [])


def _both(view: View, of: Of, name: str) -> list[Both]:
    """Rows with their counterpart under an intervention, where it was asked."""
    under = view.numbers.under(view.model, name) or ""
    pairs = ((e, view.beside(e.measure, replace(e, model=under))) for e in view.rows(of))
    return [(of, e, changed) for e, changed in pairs if changed is not None]


def _row(
    view: View, block: blocks.Dumbbells, over: charts.AxisScale, of: Of, plain: Estimate, changed: Estimate
) -> StripRow:
    change = view.beside(plain.measure, changed.cell_versus(NO_INTERVENTION))
    text, note = view.label_note(of, plain)
    if block.beside:
        two = (view.value(view.beside(block.beside, e)) for e in (plain, changed))
        note = f"{note}{'; ' if note else ''}{block.said} {' → '.join(two)}"
    value = f"{view.value(plain, bare=True)} → {view.value(changed, bare=True)}"
    moved = DASH if change is None else f"change {view.said('{value}', change)}"
    detail = f"{value}, {moved}; {note}"
    svg = charts.dumbbell(over, plain.value, changed.value, f"{text}: {detail}")
    sort = changed.value if changed.value is not None else float("-inf")
    differs = change is not None and view.found(change)
    return StripRow(text, note, svg, value, moved, detail, sort, differs, "", Markup(""), changed)
