"""Built pages: everything that HTML, terminal and JSON show of a study."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from weakref import WeakKeyDictionary

from facevalue.protocol.blocks import Grid
from facevalue.protocol.page import Page, Section, selections
from facevalue.report import model_differences, planted
from facevalue.report.answer import answered, unanswered
from facevalue.report.blocks.content import SectionContent
from facevalue.report.blocks.layout import Builder
from facevalue.report.blocks.view import View, page_view
from facevalue.report.cards import cards
from facevalue.report.changes import Changed, changed
from facevalue.report.checks import Card, findings_card, review_card, self_check
from facevalue.report.data import ReportData, RunFacts
from facevalue.report.default import sections_of
from facevalue.report.drift import drift_card
from facevalue.report.findings import PageComparisons
from facevalue.report.first_chart import FirstChart, first_chart
from facevalue.report.formatting import NOT_MEASURABLE
from facevalue.report.headline import Headline, Passage
from facevalue.report.judged import HowJudged, how_judged
from facevalue.report.missing import missing_card
from facevalue.report.missing import sections as missing_sections
from facevalue.report.model_differences import Difference
from facevalue.report.next_steps import NextStep, next_steps, section_about
from facevalue.report.sections import page_of
from facevalue.report.sight import sight_card
from facevalue.runs.reply_counts import ReplyCounts, counts_together


@dataclass(frozen=True, slots=True)
class Built:
    """Everything that a report shows of its estimates."""

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
    """What a page answers, and the estimates that it answers from."""

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
    none = unanswered(list(counts.values())) if len(counts) == len({run.model for run in data.runs}) else None
    comparisons = PageComparisons(page, view)
    answer = none or model_differences.before(answered(comparisons, counts), data.between, data.names, view.titles)
    return PageAnswer(view, comparisons, answer, none is None)


def counts_of(runs: Sequence[RunFacts]) -> dict[str, ReplyCounts]:
    """Numbers of questions and replies of each model, of whose runs all were counted."""
    by_model: dict[str, list[ReplyCounts | None]] = {}
    for run in runs:
        by_model.setdefault(run.model, []).append(run.counts)
    counted = {model: [counts for counts in of_model if counts is not None] for model, of_model in by_model.items()}
    return {model: counts_together(counted[model]) for model in by_model if len(counted[model]) == len(by_model[model])}


_READY: WeakKeyDictionary[ReportData, Built] = WeakKeyDictionary()


def built(data: ReportData) -> Built:
    """Make a page ready, once for HTML, JSON and notebook alike."""
    if data not in _READY:
        _READY[data] = _built(data)
    return _READY[data]


def _built(data: ReportData) -> Built:
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
    section_contents = [Builder.of(view, data.examples).section(section) for section in sections]
    section_contents = [section for section in section_contents if section.contents]
    sections = tuple(s for s in sections if s.id in {section.id for section in section_contents})
    if data.demo is not None:
        offer, study = data.demo
        section_contents.insert(0, planted.section(offer, planted.planted(offer, study, numbers, offer.model)))
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
        changed(numbers, titles, data.study.measures),
        model_differences.shown(data.between, data.names, titles),
        model_differences.as_json(data.between),
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
