"""The chart of the first screen: the comparison with the clearest finding, in the unit of the sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Page
from facevalue.report import charts
from facevalue.report.blocks.content import StripRow, StripsContent
from facevalue.report.blocks.intervals import look, said_verdict
from facevalue.report.blocks.view import View, beyond
from facevalue.report.findings import LeadComparison, compared, row, upper, without_answer
from facevalue.report.sizes import ToldScale, as_precise
from facevalue.report.verdict import LOOKS, verdict_of

MOST = 6
"""Rows that the chart shows."""
_FAR = 2.5
"""Factor by which page intervals may reach farther than all else; beyond, they run to the end of the axis."""


@dataclass(frozen=True, slots=True)
class FirstChart:
    """A chart with one line that explains it, and what else has no room in it."""

    strips: StripsContent
    legend: str


def first_chart(page: Page, view: View) -> FirstChart | None:
    """The rows of the comparison with the clearest finding, found ones first; None where nothing can be shown."""
    models = list(view.numbers.plain) or [view.model]
    by_model = {model: _parts(page, view.at(model)) for model in models}
    clearest = [comparison for comparisons in by_model.values() for comparison in comparisons]
    if not clearest:
        return None
    lead = max(clearest, key=lambda comparison: max(map(beyond, comparison.moved), default=-1.0)).lead
    comparisons = [
        comparison for comparisons in by_model.values() for comparison in comparisons if comparison.lead == lead
    ]
    limit = max(MOST // len(comparisons), 1)
    rows = [(comparison, e) for comparison in comparisons for e in _chosen(comparison)[:limit]]
    total = sum(len(comparison.rows) for comparison in comparisons)
    unit = comparisons[0].scale(comparisons[0].rows[0]).unit
    rows = [(comparison, e) for comparison, e in rows if comparison.scale(e).unit == unit]
    return FirstChart(_strips(rows, unit, total), _legend([e for _, e in rows], comparisons[0]))


def _parts(page: Page, view: View) -> list[LeadComparison]:
    return [comparison for comparison in (*compared(page, view), *without_answer(view)) if comparison.speaks]


def _chosen(comparison: LeadComparison) -> list[Estimate]:
    """Rows of a comparison, found ones first, the largest first."""
    return sorted(comparison.rows, key=lambda e: (not comparison.view.numbers.moved(e), -abs(e.value or 0.0)))


def _strips(rows: Sequence[tuple[LeadComparison, Estimate]], unit: str, total: int) -> StripsContent:
    scales = [comparison.scale(e) for comparison, e in rows]
    over = _axis(rows, scales)
    signed = any(comparison.view.signed(e.measure) for comparison, e in rows)
    ticks = [
        ToldScale(1.0, "").number(tick, max(map(abs, over.ticks)), signed=signed) if tick else "0"
        for tick in over.ticks
    ]
    many = len({e.model for _, e in rows}) > 1
    strips = [_row(comparison, e, scale, over, many=many) for (comparison, e), scale in zip(rows, scales, strict=True)]
    quantity = upper(rows[0][0].lead.quantity)
    title = f"{quantity}, {unit if ' ' in unit else f'in {unit}'}" if quantity and unit else quantity or upper(unit)
    title += f": {len(rows)} of {total:,}" if total > len(rows) else ""
    return StripsContent(charts.axis(over, ticks), strips, unit, title=title)


def _axis(rows: Sequence[tuple[LeadComparison, Estimate]], scales: Sequence[ToldScale]) -> charts.AxisScale:
    near, far = [0.0], [0.0]
    for (comparison, e), scale in zip(rows, scales, strict=True):
        near += [scale.per * end for end in (e.value, e.low, e.high) if end is not None]
        far += [scale.per * end for end in (e.page_low, e.page_high) if end is not None]
        noise = comparison.view.numbers.floor(e)
        near += [scale.per * noise] if noise is not None else []
    reach = _FAR * max(map(abs, near))
    ends = [*near, *(min(max(end, -reach), reach) for end in far)]
    return charts.scale(min(ends), max(ends), 4)


def _row(comparison: LeadComparison, e: Estimate, scale: ToldScale, over: charts.AxisScale, *, many: bool) -> StripRow:
    view, verdict = comparison.view, verdict_of(e.verdict)
    signed = view.signed(e.measure)
    shape, class_ = (
        (0, look(view, e)) if verdict is None else (LOOKS[verdict][0], f"{look(view, e)} {LOOKS[verdict][1]}")
    )
    label = upper(row(comparison.lead, view, e))
    ends = [None if end is None else scale.per * end for end in (e.value, e.low, e.high)]
    page = None if e.page_low is None or e.page_high is None else (scale.per * e.page_low, scale.per * e.page_high)
    noise = view.numbers.floor(e)
    band = None if noise is None else (-scale.per * noise if signed else 0.0, scale.per * noise)
    margins = [] if e.margin is None else [sign * scale.per * e.margin for sign in ((-1, 1) if signed else (1,))]
    svg = charts.strip(over, *ends, page=page, band=band, margins=margins, shape=shape, class_=class_,
                       title=f"{label}: {view.detail(e)}")  # fmt: skip
    value = scale.number(e.value or 0.0, as_precise(e), signed=signed)
    interval = scale.interval(e) if signed else scale.interval(e).replace("+", "")
    word, icon = said_verdict(verdict)
    return StripRow(
        f"{e.model}: {label}" if many else label, "", svg, value, interval, view.detail(e), e.value or 0.0,
        view.numbers.moved(e), word, icon or Markup(""), e,
    )  # fmt: skip


def _legend(rows: Sequence[Estimate], comparison: LeadComparison) -> str:
    """What is drawn, in one line."""
    clauses = ["Dot: estimate", "thick: its 95% interval"]
    if any(e.page_low is not None for e in rows):
        clauses.append("thin: the interval among all comparisons of the page; clear of 0 where a difference is found")
    if any(comparison.view.numbers.floor(e) is not None for e in rows):
        clauses.append("grey: measurement noise alone")
    if any(e.margin is not None for e in rows):
        clauses.append("dashed: the margin")
    return "; ".join(clauses) + "."
