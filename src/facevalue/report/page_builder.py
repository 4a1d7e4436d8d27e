"""Built pages: everything that HTML, terminal and JSON show of a study; and their JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from facevalue.measures.caveats import add_caveat, caveat_of, counted_caveats
from facevalue.measures.definitions import Measure, title_of_scores
from facevalue.protocol.blocks import Block, Grid, Pictures, StoredAnswers, Strips
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.offers import Demo
from facevalue.protocol.page import Page, Section, selections
from facevalue.protocol.study import Study
from facevalue.report.blocks import content as ready
from facevalue.report.blocks.content import SectionContent, TableCell, TableContent, TableHead, TextContent
from facevalue.report.blocks.layout import Builder
from facevalue.report.blocks.view import View, page_view
from facevalue.report.data import ReportData, RunFacts
from facevalue.report.formatting import NOT_MEASURABLE, interval, number
from facevalue.report.sections.answer import answer_of_page, unanswered_headline
from facevalue.report.sections.cards import NextStep, cards, next_steps, section_about
from facevalue.report.sections.checks import Card, drift_card, findings_card, review_card, self_check
from facevalue.report.sections.differences import Changed, Difference, as_json, before, list_changes, report_differences
from facevalue.report.sections.findings import PageComparisons
from facevalue.report.sections.first_screen import FirstChart, first_chart
from facevalue.report.sections.headline import Headline, Passage, page_of
from facevalue.report.sections.judgment_basis import HowJudged, how_judged
from facevalue.report.sections.missing import missing_card, sight_card
from facevalue.report.sections.missing import sections as missing_sections
from facevalue.runs.reply_counts import ReplyCounts, counts_together

# Sections of a page that declares none: every measure as charts and tables.


MOST_STRIPS, MOST_LINES = 60, 1000
DEFAULT = (
    Section("measures", "All measures", ()),
    Section("examples", "Examples", (StoredAnswers(lead="Stored answers.", empty="No example: none was chosen."),)),
)


def sections_of(page: Page, view: View) -> tuple[Section, ...]:
    """The sections of a page; of one without, every measure over every set of labels, and examples."""
    if page.sections:
        return page.sections
    measures, examples = DEFAULT
    blocks = _blocks(view) or ("Nothing was measured.",)
    return Section(measures.id, measures.title, (*blocks, Pictures("What was shown")), each_model=True), examples


def _blocks(view: View) -> tuple[Block, ...]:
    kinds: dict[tuple[str, tuple[str, ...]], None] = {}
    for model in view.models:
        for name, over in view.numbers.kinds(model):
            kinds[name, over] = None
    definitions: dict[str, list[Measure]] = {}
    for measure in view.measures.values():
        definitions.setdefault(measure.name, []).append(measure)
    order = {name: place for place, name in enumerate(definitions)}
    rows = sorted(kinds, key=lambda kind: (order.get(kind[0], len(order)), len(kind[1])))
    return tuple(
        Strips(
            of=(Of(measure, over, order="size", most=MOST_STRIPS),),
            heading=", by ".join(filter(None, (title, _words(over)))),
            title=title,
            first=_words(over).capitalize() or "Over",
            empty="Not measurable.",
            rows=(Of(measure, over, order="size", most=MOST_LINES, label="|".join(f"{{{name}}}" for name in over)),),
            heads=tuple(name.replace("_", " ").capitalize() for name in over) or ("Over",),
        )
        for measure, over in rows
        for title in [_title(definitions.get(measure, []), measure, is_change="versus" in over)]
    )


def _title(definitions: Sequence[Measure], name: str, *, is_change: bool) -> str:
    """Title of a measure of all its scores, or of the changes in it."""
    if not definitions:
        return name
    title = title_of_scores(definitions)
    return f"{title}: change" if is_change else title


def _words(over: tuple[str, ...]) -> str:
    return ", ".join(name.replace("_", " ") for name in over if name != "versus")


# What was planted in a model whose bias is known, beside what the audit found.


_SHOWN = 12


class PlantedEffect(NamedTuple):
    """A planted effect: what of, how large, and what was estimated."""

    title: str
    effect: float
    estimate: Estimate
    is_found: bool


def planted_effects(offer: Demo, study: Study, numbers: EstimateIndex, model: str) -> list[PlantedEffect]:
    """Effects that were planted in these very pictures, the largest first."""
    truth = offer.planted(study).select(*offer.labels, "title", "planted")
    effects = {tuple(labels): (title, effect) for *labels, title, effect in truth.iter_rows()}
    rows = [
        PlantedEffect(*effects[key], e, numbers.is_moved(e))
        for e in numbers.select_estimates(offer.measure, model, *offer.labels)
        if (key := tuple(e[name] for name in offer.labels)) in effects
    ]
    return sorted(rows, key=lambda row: -abs(row.effect))


def count_found_effects(offer: Demo, rows: list[PlantedEffect]) -> str:
    """Say how many differences were found, with and without a planted effect."""
    outcomes = [[row.is_found for row in rows if bool(row.effect) is has_effect] for has_effect in (True, False)]
    caveats = counted_caveats(row.estimate.caveat for row in rows if row.is_found)
    return (
        f"Found: {sum(outcomes[0])} of {len(outcomes[0])} {offer.plural} with a planted effect, "
        f"{sum(outcomes[1])} of {len(outcomes[1])} without one{caveats}."
    )


def planted_section(offer: Demo, rows: list[PlantedEffect]) -> SectionContent:
    """A table for the page."""
    heads = (TableHead(offer.heading[:1].upper() + offer.heading[1:]), TableHead("Planted", number=True),
             TableHead("Estimated [95% interval]", number=True), TableHead(""))  # fmt: skip
    table: list[tuple[TableCell, ...]] = []
    for row in rows[:_SHOWN]:
        e = row.estimate
        estimated = TableCell(
            number(e.value, e.written_unit, signed=True), interval(e, signed=True), sort=e.value, of=e
        )
        effect = TableCell(number(row.effect, e.written_unit, signed=True), sort=row.effect)
        table.append(
            (TableCell(row.title), effect, estimated, TableCell(add_caveat("found", e.caveat) if row.is_found else ""))
        )
    lead = TextContent(
        "The bias of this model was planted, so the truth is known: what was planted for these very pictures, and what "
        f"the audit found. {count_found_effects(offer, rows)}"
    )
    note = [TextContent(f"The {_SHOWN} largest of {len(rows)}.", "small")] if len(rows) > _SHOWN else []
    title = "Planted and found"
    return SectionContent("planted", title, title, [lead, TableContent(title, heads, table), *note])


@dataclass(frozen=True, slots=True)
class Built:
    """Page of a report as it was built, with all that it shows of its estimates."""

    page: Page
    """Declaration of the page."""
    view: View
    """The estimates, and how they are written."""
    comparisons: PageComparisons
    """Everything that is compared."""
    answer: Headline
    passages: list[tuple[str, str]]
    """The answer's sentences, each with the section that shows what it only counts; empty for none."""
    chart: FirstChart | None
    steps: list[NextStep]
    cards: list[Card]
    judged: HowJudged | None
    sections: list[SectionContent]
    changed: list[Changed]
    """Charts of the answer, what to do next; reasons to trust or doubt, how numbers were judged, the study's sections,
    what interventions changed."""
    differences: tuple[Difference, ...]
    """Differences of the models from the first one."""
    differences_json: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Answer of a page, and the estimates that it answers from."""

    view: View
    comparisons: PageComparisons
    answer: Headline
    is_answered: bool
    """Whether there are valid answers; else the answer says that there are none."""


def page_answer(data: ReportData) -> PageAnswer:
    """Find the answer of a page, without its sections."""
    page = data.page or page_of(data.study.name)
    view = page_view(page, data.estimates, data.study.measures, data.titles, [run.model for run in data.runs])
    view.sizes = _sizes(page, view)
    counts = counts_of(data.runs)
    none = unanswered_headline(list(counts.values())) if len(counts) == len({run.model for run in data.runs}) else None
    comparisons = PageComparisons(page, view)
    answer = none or before(answer_of_page(comparisons, counts), data.between, data.names, view.titles)
    return PageAnswer(view, comparisons, answer, none is None)


def counts_of(runs: Sequence[RunFacts]) -> dict[str, ReplyCounts]:
    """Numbers of questions and replies of each model, of whose runs all were counted."""
    by_model: dict[str, list[ReplyCounts | None]] = {}
    for run in runs:
        by_model.setdefault(run.model, []).append(run.counts)
    counted = {model: [counts for counts in of_model if counts is not None] for model, of_model in by_model.items()}
    return {model: counts_together(counted[model]) for model in by_model if len(counted[model]) == len(by_model[model])}


_READY: WeakKeyDictionary[ReportData, Built] = WeakKeyDictionary()


def build_page(data: ReportData) -> Built:
    """Build a page once, for HTML, JSON and notebook alike."""
    if data not in _READY:
        _READY[data] = _build_page(data)
    return _READY[data]


def _build_page(data: ReportData) -> Built:
    page = data.page or page_of(data.study.name)
    first = page_answer(data)
    view, comparisons, answer = first.view, first.comparisons, first.answer
    numbers, titles = view.numbers, view.titles
    checks = [
        *sight_card(numbers),
        *cards(comparisons, data),
        *missing_card(view),
        *drift_card(numbers, data.runs, view.measures),
        *self_check(data.runs),
        *review_card(data.runs),
        *findings_card(data.runs),
    ]
    sections = (*sections_of(page, view), *missing_sections(view))
    if not first.is_answered:  # all else would say "not measurable" of everything
        checks = [card for card in checks if card.value.lower() != NOT_MEASURABLE and card.name != "bounds"]
        rates = {name for rate in page.rates for name in rate.of.measures}
        sections = tuple(section for section in sections if any(rates & {*of.measures} for of in selections(section)))
    section_contents = [Builder.from_view(view, data.examples).section(section) for section in sections]
    section_contents = [section for section in section_contents if section.contents]
    sections = tuple(s for s in sections if s.id in {section.id for section in section_contents})
    if data.demo is not None:
        offer, study = data.demo
        section_contents.insert(0, planted_section(offer, planted_effects(offer, study, numbers, offer.model)))
    return Built(
        page,
        view,
        comparisons,
        answer,
        [(passage.text, _shown_in(passage, sections)) for passage in answer.passages],
        first_chart(comparisons) if first.is_answered else None,
        next_steps(comparisons, answer, checks, sections, data.kind),
        checks,
        how_judged(data, numbers) if first.is_answered else None,
        section_contents,
        list_changes(numbers, titles, data.study.measures),
        report_differences(data.between, data.names, titles),
        as_json(data.between),
    )


def _shown_in(passage: Passage, sections: Sequence[Section]) -> str:
    """The section that shows what a passage only counts."""
    section = section_about(passage.measures, sections) if passage.measures else None
    return "" if section is None else section.id


def _sizes(page: Page, view: View) -> dict[str, int]:
    """Cells of the page's grids, by model."""
    grids = [block.of for block in _grids(page.sections)]
    return {model: sum(view.frame(of, model).height for of in grids) for model in view.models}


def _grids(value: object) -> Iterator[Grid]:
    if isinstance(value, Grid):
        yield value
    elif isinstance(value, tuple):
        for member in value:
            yield from _grids(member)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _grids(getattr(value, field.name))


VERSION = 1
_NUMBERS = (
    "value", "low", "high", "level", "n", "clusters", "p", "q", "q_page", "page_low", "page_high", "page_level",
    "floor", "floor_high", "mde", "margin", "bound_low", "bound_high",
)  # fmt: skip
_WORDS = ("unit", "family", "kind", "verdict", "why", "method", "detail", "source")
"""Columns of an estimate that stand in the JSON under their own names."""

Data = dict[str, Any]


def page_json(page: Built) -> Data:
    """Content of a report about estimates, as JSON; see docs/reference/report.md."""
    answer = page.answer
    return {
        "facevalue_page": VERSION,
        "models": list(page.view.models),
        "headline": {
            "outcome": answer.verdict.value,
            "caveat": answer.caveat,
            "sentence": answer.sentence,
            "more": list(answer.more),
        },
        "strongest": [] if page.chart is None else list(map(content_json, page.chart.panels)),
        "next": [{"text": step.text, "section": step.anchor} for step in page.steps],
        "cards": [
            {"name": c.name, "title": c.title, "status": c.status.value, "value": c.value, "note": c.note,
             "lines": list(c.lines)}
            for c in page.cards
        ],
        "sections": [
            {"id": s.id, "title": s.title, "heading": s.heading, "blocks": list(map(content_json, s.contents))}
            for s in page.sections
        ],
        "interventions": [
            {"model": c.model, "intervention": c.title, "missing": c.missing, "tested": c.tested, "found": c.found}
            for c in page.changed
        ],
        "models_compared": page.differences_json,
    }  # fmt: skip


def content_json(content: ready.Content) -> Data:
    """A block, with everything in it."""
    return {"kind": content.kind, **_fields(content)}


def _fields(content: ready.Content) -> Data:
    match content:
        case ready.TextContent():
            return {"text": content.text, "how": content.how, "note": content.note}
        case ready.Facts():
            return {"items": list(content.items)}
        case ready.StripsContent():
            rows = [{"label": r.label, "note": r.note, **estimate_json(r.of)} for r in content.rows]
            return {"title": content.title, "first": content.first, "what": content.what, "rows": rows}
        case ready.Lines():
            rows = [{"texts": list(r.labels), **estimate_json(r.of)} for r in content.rows]
            return {"title": content.title, "heads": list(content.heads), "rows": rows}
        case ready.HeatContent():
            rows = [
                {"section": r.section, "label": r.label, "cells": [_estimate_or_none(c.of) for c in r.cells]}
                for r in content.rows
            ]
            columns = [title for title, _ in content.columns]
            return {"title": content.title, "first": content.first, "columns": columns, "rows": rows}
        case ready.GridContent():
            rows = [{"row": row, "column": column, **_row(cell)} for row, column, cell in content.values]
            return {"title": content.title, "scale": content.scale, "rows": rows}
        case ready.Bars():
            rows = [
                {"label": r.label, "parts": [{"part": name, **estimate_json(e)} for name, e in r.parts],
                 "beside": _estimate_or_none(r.of)}
                for r in content.rows
            ]  # fmt: skip
            return {
                "title": content.title,
                "what": content.what,
                "legend": {k.letter: k.text for k in content.keys},
                "rows": rows,
            }
        case ready.Figure():
            return {"title": content.title, "words": content.words, "rows": list(map(estimate_json, content.rows))}
        case ready.TableContent():
            table = [[_cell(cell) for cell in row] for row in content.rows]
            return {"title": content.title, "heads": [head.text for head in content.heads], "rows": table}
        case ready.Panels():
            return {
                "panels": [
                    {"title": p.title, "legend": {k.letter: k.text for k in p.keys}, "heads": list(p.heads),
                     "rows": [{"label": name, "marks": [text or None for _, text in marks]} for name, marks in p.rows]}
                    for p in content.panels
                ]
            }  # fmt: skip
        case ready.PictureRow():
            replies = [p.reply for p in content.pictures if p.reply]
            return {"title": content.title, "captions": [p.caption for p in content.pictures]} | (
                {"replies": replies} if replies else {}
            )
        case ready.AnswersContent():
            return {
                "answers": [
                    {"title": a.title, "finding": a.finding, "model": a.model, "prompt": a.prompt,
                     "options": list(a.options), "replies": [{"reply": s[2], "choice": s[3]} for s in a.sides]}
                    for a in content.items
                ]
            }  # fmt: skip
        case ready.PartContent():
            return {"title": content.title, "note": content.note, "blocks": list(map(content_json, content.contents))}
        case ready.SideContent():
            return {"blocks": list(map(content_json, content.contents))}


def estimate_json(e: Estimate) -> Data:
    """An estimate: measure, model, labels and numbers; null is not measurable, or not taken."""
    labels = {name: level for name, level in e.labels.items() if level is not None}
    return {
        "measure": e.measure,
        "model": e.model,
        "labels": labels,
        **{name: getattr(e, name) for name in (*_NUMBERS, *_WORDS)},
        "caveat": e.caveat,
    }


def _estimate_or_none(e: Estimate | None) -> Data | None:
    return None if e is None else estimate_json(e)


def _row(cell: Mapping[str, object]) -> Data:
    return {
        **{name: cell[name] for name in ("measure", "model", *_NUMBERS, *_WORDS) if name in cell},
        "caveat": caveat_of(str(cell.get("why") or "")),
    }


def _cell(cell: ready.TableCell) -> Data:
    text = "".join(piece for piece, _ in cell.marked) or cell.text
    return {"text": " ".join([text, cell.small, *cell.below]).strip(), "estimate": _estimate_or_none(cell.of)}
