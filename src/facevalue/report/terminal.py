"""Terminal summary: headline, strongest estimates with their intervals, and cautions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from facevalue.measures.definitions import POOLED, Measure
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.page import Page
from facevalue.report import formatting
from facevalue.report.answer import answered, unanswered
from facevalue.report.blocks.view import page_view
from facevalue.report.cards import warnings
from facevalue.report.changes import change_lines
from facevalue.report.compared_table import HEADS, table_rows
from facevalue.report.findings import LeadComparison, PageComparisons, row
from facevalue.report.headline import HeadlineKind
from facevalue.report.judged import declared_families, margin_lines
from facevalue.report.ranked import Ranked, Ranking
from facevalue.report.sections import page_of
from facevalue.runs.reply_counts import ReplyCounts

_OPEN = (HeadlineKind.NOT_MEASURABLE, HeadlineKind.NOT_ANSWERED, HeadlineKind.UNSEEN)
_MOST_RANKINGS = 6
"""Kinds of comparisons of which all have their clearest listed; of more, those with findings have."""


def summary(
    estimates: pl.DataFrame,
    measures: Sequence[Measure],
    *,
    strongest: int = 10,
    page: Page | None = None,
    exact: bool = False,
    replies: Mapping[str, ReplyCounts] = MappingProxyType({}),
) -> Group:
    """Summarise the estimates of one study.

    `estimates`: as `facevalue measure` wrote them. `measures`: definitions. `strongest`: how many estimates to list of
    the first model, or of the mean over models if there is one; half as many of each kind where there are several kinds
    of comparison. `page`: what the study's report shows; looked up by its name by default. `exact`: whether
    probabilities were read, so that some rates cannot be told. `replies`: numbers of questions and replies of each
    model, where they are known.

    Returns something that a `rich` console prints.
    """
    page = page or page_of(str(estimates["study"][0]) if estimates.height else "")
    view = page_view(page, estimates, measures)
    numbers = view.numbers
    models = [*numbers.models, *([POOLED] if numbers.pooled else [])]
    if none := unanswered(list(replies.values())):  # all else would say "not measurable" of everything
        rates = [*(name for rate in page.rates for name in rate.of.measures), MISSING_SHARE.name]
        return Group(Text(none.sentence, style="bold yellow"), Text(""), _wholes(numbers, measures, models, rates))
    comparisons = PageComparisons(page, view)
    answer = answered(comparisons, replies)
    blocks: list[RenderableType] = [Text(answer.sentence, style="bold yellow" if answer.verdict in _OPEN else "bold")]
    blocks += [Text(more) for more in answer.more]
    if kind_rows := table_rows(comparisons):
        table = Table(*(Column(title) for title in HEADS), box=None, pad_edge=False, header_style="dim")
        for cells in kind_rows:
            table.add_row(*map(Text, cells))
        blocks += [Text(""), table]
    if models:
        blocks += [Text(""), _wholes(numbers, measures, models, page.wholes or numbers.wholes())]
    rankings = [
        ranking for comparison in comparisons.of() if comparison.coarser is None for ranking in _rankings(comparison)
    ]
    limit = strongest if len(rankings) == 1 else max(strongest // 2, 1)
    listed = rankings
    if len(rankings) > _MOST_RANKINGS:
        listed = [ranking for ranking in rankings if any(view.found(e) for _, e in ranking.rows)]
    for ranking in listed:
        signed = all((m := view.definition(e)) is None or m.signed for _, e in ranking.rows)
        top = replace(ranking, rows=ranking.rows[:limit])
        blocks += [Text(""), Ranked(top, numbers, signed, len(ranking.rows))]
    if left := len(rankings) - len(listed):
        blocks += [Text(""), Text(f"The clearest of the other {left} kinds, of which none is found, are on the page.")]
    declared = _declared(numbers, view.measures)
    if declared:
        blocks += [Text(""), *map(Text, declared)]
    lines = change_lines(numbers, view.titles, measures)
    if lines:
        blocks += [Text(""), Text("Changes by intervention", style="bold"), *map(Text, lines)]
    notes = warnings(comparisons, exact=exact)
    if notes:
        blocks += [Text(""), *(Text.assemble(("! ", "bold yellow"), note) for note in notes)]
    return Group(*blocks)


def _rankings(comparison: LeadComparison) -> list[Ranking]:
    """Rank the estimates of a comparison, found ones first; apart by unit, as values of two units share no scale."""
    lead, view = comparison.lead, comparison.view
    rows = sorted(comparison.rows, key=lambda e: not view.found(e))
    out = []
    for unit in dict.fromkeys(e.written for e in rows):
        labelled = [(row(lead, view, e), e) for e in rows if e.written == unit]
        value = lead.value if lead.value == unit else formatting.in_unit(lead.value, [unit])
        out.append(Ranking(lead.title, value.removeprefix("value, "), labelled))
    return out


def _wholes(
    numbers: EstimateIndex, definitions: Sequence[Measure], models: Sequence[str], measures: Sequence[str]
) -> Table:
    table = Table(box=None, pad_edge=False, title=None, header_style="dim")
    table.add_column("")
    for model in models:
        table.add_column(Text(model), justify="left")
    titles = set()
    of_names: list[tuple[str, Measure | None]] = []
    for name in measures:
        of_name = [(name, measure) for measure in definitions if measure.name == name]
        of_names += of_name or [(name, None)]
    for name, measure in of_names:
        score = {"score": measure.score} if measure and measure.score else {}
        estimates = [numbers.one(name, model, **score) for model in models]
        title = measure.title if measure else name
        if title in titles or not any(e is not None for e in estimates):
            continue  # of one share by two definitions the study's own comes first
        titles.add(title)
        cells = [_cell(e, measure) for e in estimates]
        table.add_row(Text(title), *cells)
    return table


def _cell(e: Estimate | None, measure: Measure | None) -> Text:
    if e is None:
        return Text(formatting.DASH, style="dim")
    if e.value is None:
        return Text(formatting.NOT_MEASURABLE, style="yellow")
    signed = formatting.is_signed(measure)
    text = Text(formatting.number(e.value, e.written, signed=signed))
    text.append(" " + (formatting.interval(e, signed=signed) or "(no interval)"), style="dim")
    if e.floor is not None:
        text.append(f" by chance {formatting.number(e.floor, e.written)}", style="dim")
    return text


def _declared(numbers: EstimateIndex, measures: Mapping[str, Measure]) -> list[str]:
    """List families and margins that were declared before the run, or chosen after it."""
    if not numbers.judged:
        return []
    many = len(numbers.models) > 1
    out = [
        f"Family declared before the run: {family.name}{', ' + family.model if many else ''}: {family.outcome}."
        for family in declared_families(numbers)
    ]
    return out + margin_lines(numbers, measures)
