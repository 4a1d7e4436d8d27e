"""First screen of a page: its chart, and the facts of the runs below its title."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from markupsafe import Markup

from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings
from facevalue.report import charts
from facevalue.report.blocks.content import StripRow, StripsContent
from facevalue.report.blocks.intervals import look, said_verdict
from facevalue.report.data import ReportData, RunFacts
from facevalue.report.formatting import DASH, quantity
from facevalue.report.sections.findings import (
    Finding,
    LeadComparison,
    PageComparisons,
    clearest_hint,
    most_named,
    row,
    strongest,
    upper,
)
from facevalue.report.sections.headline import LOOKS, verdict_of
from facevalue.report.sections.sizes import ToldScale, as_precise
from facevalue.runs.reply_counts import MANY_CUT
from facevalue.statistics.breakdown import CONTRAST, DIMENSION

# The charts of the first screen: the findings that its sentence names, and others beside the first of these.


MOST = 6
"""Rows that the charts show together."""
_FAR = 2.5
"""Factor by which page intervals may reach farther than all else; beyond, they run to the end of the axis."""


@dataclass(frozen=True, slots=True)
class FirstChart:
    """A chart for each quantity, and their legend: drawn marks and what they mean; those of one unit share an axis."""

    panels: tuple[StripsContent, ...]
    legend: tuple[tuple[Markup, str], ...]


def first_chart(comparisons: PageComparisons) -> FirstChart | None:
    """Chart of the findings in the sentence, with further rows in the first one's unit; None without any."""
    by_model = [_speaking(comparisons, model) for model in comparisons.models]
    everything = [comparison for of_model in by_model for comparison in of_model]
    if not everything:
        return None
    most = most_named(comparisons.view)
    selected = [finding for of_model in by_model for finding in strongest(of_model, most)][:MOST]
    lead = (selected[0][0] if selected else everything[0]).lead
    if not selected and (clearest := clearest_hint(everything)):
        selected = [clearest]
    taken = {id(e) for _, e in selected}
    alike = [comparison for comparison in everything if comparison.lead == lead]
    limit = max(MOST // len(alike), 1)
    further = [(comparison, e) for comparison in alike for e in _order_rows(comparison)[:limit] if id(e) not in taken]
    panels = _panels([*selected, *further[: MOST - len(selected)]], everything, lead)
    axes = {
        _unit(panel[0]): _axis([f for p in panels if _unit(p[0]) == _unit(panel[0]) for f in p]) for panel in panels
    }
    contents: list[StripsContent] = []
    for panel in panels:
        quantity = panel[0][0].lead.quantity
        is_first = all(content.what != _unit(panel[0]) for content in contents)
        is_named = sum(panel_beside[0][0].lead.quantity == quantity for panel_beside in panels) == 1
        total = sum(len(comparison.rows) for comparison in everything if comparison.lead == panel[0][0].lead)
        title = _title(quantity if is_named else f"{quantity}{_breakdown_text(panel[0][0].lead)}", _unit(panel[0]))
        title += f": {len(panel)} of {total:,}" if total > len(panel) else ""
        contents.append(_strips(panel, axes[_unit(panel[0])], title, ticks=is_first))
    return FirstChart(tuple(contents), _legend([finding for panel in panels for finding in panel], axes))


def _speaking(comparisons: PageComparisons, model: str) -> list[LeadComparison]:
    everything = (*comparisons.of_model(model), *comparisons.without_answer(model))
    return [comparison for comparison in everything if comparison.speaks]


def _order_rows(comparison: LeadComparison) -> list[Estimate]:
    """Rows of a comparison, found ones first, the largest first."""
    return sorted(comparison.rows, key=lambda e: (not comparison.view.numbers.is_moved(e), -abs(e.value or 0.0)))


def _unit(finding: Finding) -> str:
    comparison, e = finding
    return comparison.scale(e).unit


def _panels(rows: Sequence[Finding], everything: Sequence[LeadComparison], lead: Findings) -> list[list[Finding]]:
    """Rows by what they are of and by unit, those of `lead` first; model by model, in the order of a comparison."""
    taken = {id(e) for _, e in rows}
    leads = [lead]
    panels: dict[tuple[int, str], list[Finding]] = {}
    for comparison in sorted(everything, key=lambda comparison: comparison.lead != lead):
        leads += [] if comparison.lead in leads else [comparison.lead]
        for e in _order_rows(comparison):
            if id(e) in taken:
                key = (leads.index(comparison.lead), _unit((comparison, e)))
                panels.setdefault(key, []).append((comparison, e))
    return list(panels.values())


def _strips(rows: Sequence[Finding], over: charts.AxisScale, title: str, *, ticks: bool) -> StripsContent:
    """One chart; `ticks`: whether its axis is written above it."""
    comparison, first = rows[0]
    scale = comparison.scale(first)
    signed = any(comparison.view.is_signed(e) for comparison, e in rows)
    plain = scale if scale.step else ToldScale(1.0, scale.unit)  # ticks of other charts are sizes already
    largest = max(map(abs, over.ticks)) / plain.per
    labels = [
        plain.number(tick / plain.per, largest, signed=signed) if tick or plain.step else "0" for tick in over.ticks
    ]
    many = len(comparison.view.numbers.plain) > 1
    strips = [_row(comparison, e, over, many=many) for comparison, e in rows]
    return StripsContent(charts.axis(over, labels) if ticks else Markup(""), strips, scale.unit, title=title)


def _breakdown_text(lead: Findings) -> str:
    """Breakdown of a comparison, in words, where another one is of the same quantity."""
    names = [name.removesuffix("?").replace("_", " ") for name in lead.by if name not in (CONTRAST, DIMENSION)]
    return f" by {' and '.join(names)}" if names else ""


def _title(quantity: str, unit: str) -> str:
    """Title of a chart: its quantity and unit.

    >>> _title("ratings", "of 7 points"), _title("the answer “yes”", "points")
    ('Ratings (scale up to 7)', 'The answer “yes”, in points')
    >>> _title("words of “warmth”", "per 1,000 words")
    'Words of “warmth”, per 1,000 words'
    """
    if not quantity or not unit:
        return upper(quantity or unit)
    if (of_scale := re.fullmatch(r"of ([\d,.]+) points", unit)) is not None:
        return f"{upper(quantity)} (scale up to {of_scale[1]})"
    return upper(f"{quantity}, {unit if ' ' in unit else f'in {unit}'}")


def _axis(rows: Sequence[Finding]) -> charts.AxisScale:
    near, far = [0.0], [0.0]
    for comparison, e in rows:
        scale = comparison.scale(e)
        near += [scale.place(end) for end in (e.value, e.low, e.high) if end is not None]
        far += [scale.place(end) for end in (e.page_low, e.page_high) if end is not None]
        noise = comparison.view.numbers.floor(e)
        near += [scale.place(noise)] if noise is not None else []
    reach = _FAR * max(map(abs, near))
    ends = [*near, *(min(max(end, -reach), reach) for end in far)]
    step = rows[0][0].scale(rows[0][1]).step
    over = charts.scale(min(ends), max(ends), 4)
    if not step:
        return over if len(over.ticks) > 2 else charts.scale(min(ends), max(ends), 7)
    step *= max(ceil((over.high - over.low) / step / 5), 1)
    return replace(over, ticks=tuple(step * n for n in range(ceil(over.low / step), floor(over.high / step) + 1)))


def _row(comparison: LeadComparison, e: Estimate, over: charts.AxisScale, *, many: bool) -> StripRow:
    view, verdict, scale = comparison.view, verdict_of(e.verdict), comparison.scale(e)
    signed = view.is_signed(e)
    shape, class_ = (
        (0, look(view, e)) if verdict is None else (LOOKS[verdict][0], f"{look(view, e)} {LOOKS[verdict][1]}")
    )
    label = upper(row(comparison.lead, view, e))
    ends = [None if end is None else scale.place(end) for end in (e.value, e.low, e.high)]
    page = None if e.page_low is None or e.page_high is None else (scale.place(e.page_low), scale.place(e.page_high))
    noise = view.numbers.floor(e)
    band = None if noise is None else (scale.place(-noise) if signed else 0.0, scale.place(noise))
    margins = _margins((comparison, e))
    svg = charts.strip(over, *ends, page=page, band=band, margins=margins, shape=shape, class_=class_,
                       title=f"{label}: {view.detail(e)}")  # fmt: skip
    value = scale.number(e.value or 0.0, as_precise(e), signed=signed)
    interval = scale.interval(e) if signed else scale.interval(e).replace("+", "")
    word, icon = said_verdict(e)
    return StripRow(
        f"{e.model}: {label}" if many else label, e.caveat, svg, value, interval, view.detail(e), e.value or 0.0,
        view.numbers.is_moved(e), word, icon or Markup(""), e,
    )  # fmt: skip


def _margins(finding: Finding) -> list[float]:
    """Places of the margin of a finding, on either side of zero where it has a direction."""
    comparison, e = finding
    signs = (-1, 1) if comparison.view.is_signed(e) else (1,)
    return [] if e.margin is None else [comparison.scale(e).place(sign * e.margin) for sign in signs]


def _legend(rows: Sequence[Finding], axes: Mapping[str, charts.AxisScale]) -> tuple[tuple[Markup, str], ...]:
    """Marks of a chart and what they mean, then what units mean, which have no mark."""
    meanings: dict[charts.LegendMark, str] = {"estimate": "estimate", "interval": "95% interval"}
    if any(e.page_low is not None for _, e in rows):
        meanings["page"] = "interval corrected for all comparisons on the page; a difference is found if it excludes 0"
    if any(comparison.view.numbers.floor(e) is not None for comparison, e in rows):
        meanings["noise"] = "what chance alone gives"
    if any(axes[_unit(finding)].holds(margin) for finding in rows for margin in _margins(finding)):
        meanings["margin"] = "margin"
    notes = dict.fromkeys(comparison.scale(e).note for comparison, e in rows)
    return (
        *((charts.legend_mark(mark), meaning) for mark, meaning in meanings.items()),
        *((Markup(""), note) for note in notes if note),
    )


# Facts of the first screen in one line: people, pictures, questions, answers, when.


_RUNS = 3
"""Runs of which answers are told."""
_STOPS = ".!?:;,"


def facts_of(data: ReportData) -> list[str]:
    """Numbers of people, pictures and answers, of how many were asked, of which models, and when."""
    out = []
    statement = data.statement
    if statement is not None and statement.images:
        sampled = statement.shown_images is not None
        people = statement.shown_identities if sampled else statement.identities
        if people is not None and statement.identities != statement.images:
            out.append(quantity(people, "person", "people"))
        alone = ", each counted as a person" if statement.question else ""
        if statement.shown_images is None:
            out.append(f"{quantity(statement.images, 'picture', 'pictures')}{alone}")
        elif statement.shown_images:
            out.append(f"{quantity(statement.shown_images, *statement.stimulus)}{alone}")
    out += map(_answers, data.runs[:_RUNS])
    if len(data.runs) > _RUNS:
        out.append(f"{len(data.runs) - _RUNS} more runs")
    return [*out, _run_days(data.runs)]


def in_a_line(prompt: str) -> str:
    r"""A prompt in one line; a stroke where a line ends without a stop, as in quoted verses.

    >>> in_a_line("Is this person\n(a) honest or (b) dishonest?\n\nAnswer with a letter")
    'Is this person / (a) honest or (b) dishonest? Answer with a letter'
    """
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    ends = [" " if line[-1] in _STOPS else " / " for line in lines[:-1]]
    return "".join(f"{line}{end}" for line, end in zip(lines, [*ends, ""], strict=True))


def _answers(run: RunFacts) -> str:
    """Valid answers of the questions that were asked, and of how many that were to be."""
    questions = run.planned if run.enough and run.planned is not None else run.asked
    if run.valid is None or questions is None:
        text = "answers not counted"
    elif run.enough:
        answers = quantity(run.valid, "answer", "answers")
        text = f"{answers} until enough was known, of {questions:,} questions planned"
    else:
        is_part = run.planned is not None and run.planned > questions
        extent = (
            f"{questions:,} of {run.planned:,} questions" if is_part else quantity(questions, "question", "questions")
        )
        text = f"{quantity(run.valid, 'answer', 'answers')} to {extent}"
    replies = (run.asked or 0) - (run.errors or 0)
    if run.cut and run.cut >= MANY_CUT * replies:
        text += f", {quantity(run.cut, 'reply', 'replies')} cut off before an answer"
    return f"{run.model}: {text}"


def _run_days(runs: Sequence[RunFacts]) -> str:
    """The days on which the runs began."""
    days = sorted({run.started.date() for run in runs if run.started is not None})
    if not days:
        return DASH
    texts = [f"{day.day} {day:%B %Y}" for day in dict.fromkeys((days[0], days[-1]))]
    return " to ".join(texts)
