"""Terminal summary: headline, strongest estimates with their intervals, and cautions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import polars as pl
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import POOLED, Measure
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.page import Page
from facevalue.report import formatting
from facevalue.report.blocks.view import page_view
from facevalue.report.formatting import DASH, count, interval, number, page_interval, share_of_chance, writing
from facevalue.report.sections.answer import answer_of_page, unanswered_headline
from facevalue.report.sections.cards import warnings
from facevalue.report.sections.differences import change_lines
from facevalue.report.sections.findings import HEADS, LeadComparison, PageComparisons, row, table_rows
from facevalue.report.sections.headline import SHORT, HeadlineKind, page_of, verdict_of
from facevalue.report.sections.judgment_basis import declared_families, margin_lines
from facevalue.runs.reply_counts import ReplyCounts

# Ranking of the strongest comparisons as a table, as wide as the terminal allows.


@dataclass(frozen=True, slots=True)
class Ranking:
    """Comparisons of one kind, of one unit."""

    title: str
    value: str
    """Titles of what is compared, and of the values."""
    rows: list[tuple[str, Estimate]]
    """Labels and estimates, in order."""


_BAR = 25
_LABEL, _NARROW = 24, 12
"""Least width of the column that says what a row is of; where nothing else is left to leave out."""
_ANY = 1000
_FAR = 1.5
"""Factor by which intervals of the page may reach farther than all else in a bar; beyond, they run to its end."""
SIGNS = {
    Verdict.DIFFERENCE: "●",
    Verdict.EQUIVALENT: "◆",
    Verdict.INCONCLUSIVE: "○",
    Verdict.NOT_MEASURABLE: "□",
}


class Ranked:
    """A table of comparisons of one kind: value, intervals, n, q, verdict; unsigned ones beside their noise floor.

    Bars, then the intervals at the page's level, then the words of verdicts, are left out where the terminal is too
    narrow for them. No number is cut.
    """

    def __init__(self, ranking: Ranking, numbers: EstimateIndex, signed: bool, of: int) -> None:
        self._ranking = ranking
        self._numbers = numbers
        self._signed = signed
        self._of = of

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the widest table that fits."""
        more = f", {len(self._ranking.rows)} of {self._of:,}" if self._of > len(self._ranking.rows) else ""
        yield Text(f"{self._ranking.title}{more}", style="bold")
        tested = any(e.page_low is not None for _, e in self._ranking.rows)
        steps = ((tested, True, True), (tested, False, True), (False, False, True), (False, False, False))
        for page, bars, words in steps:
            measurement = Measurement.get(
                console, options.update(max_width=_ANY), self._table(page, bars, words, _LABEL)
            )
            if measurement.maximum <= options.max_width or not words:
                yield self._table(
                    page, bars, words, min_width=_NARROW if measurement.maximum > options.max_width else _LABEL
                )
                if not words and self._numbers.judged:
                    yield Text("  ".join(f"{SIGNS[v]} {SHORT[v]}" for v in self._verdicts()), style="dim")
                yield from (Text(f"{mark} {caveat}", style="dim") for caveat, mark in self._marks.items())
                return

    @cached_property
    def _marks(self) -> dict[str, str]:
        """A mark for each caveat of its rows, which a line below the table explains."""
        caveats = dict.fromkeys(filter(None, (e.caveat for _, e in self._ranking.rows)))
        return {caveat: "*" * place for place, caveat in enumerate(caveats, start=1)}

    def _verdicts(self) -> list[Verdict]:
        verdicts = {verdict_of(e.verdict) for _, e in self._ranking.rows}
        return [verdict for verdict in SIGNS if verdict in verdicts]

    def _table(
        self, page: bool, bars: bool, words: bool, max_width: int | None = None, min_width: int = _LABEL
    ) -> Table:
        rows, signed = self._ranking.rows, self._signed
        ends = [abs(v) for _, e in rows for v in (e.value, e.low, e.high) if v is not None]
        wider = [abs(v) for _, e in rows for v in (e.page_low, e.page_high) if v is not None]
        farthest = max(ends, default=0.0)
        reach = min(max(wider, default=0.0), _FAR * farthest) if wider else farthest
        reach = max(reach, farthest) or 1.0
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("", min_width=min_width, max_width=max_width)
        table.add_column(self._ranking.value, justify="right", no_wrap=True)
        table.add_column("95% interval", no_wrap=True)
        if page:
            table.add_column("at the page's level", no_wrap=True)
        if not signed:
            table.add_column("by chance (95% below)", no_wrap=words, justify="right")
        for name in ("n", "q"):
            table.add_column(name, justify="right", no_wrap=True)
        if self._numbers.judged:
            table.add_column("verdict" if words else "", no_wrap=True)
        if bars:
            table.add_column(_axis(reach, rows[0][1].written_unit, signed), no_wrap=True)
        for label, e in rows:
            style = "bold" if self._numbers.is_moved(e) else "dim"
            cells = [
                Text(label, style=style),
                Text(number(e.value, e.written_unit, signed=signed, bare=True), style=style),
                Text(interval(e, signed=signed) or "(no interval)", style="dim"),
                *([Text(page_interval(e, signed=signed) or DASH, style="dim")] if page else []),
                *([] if signed else [Text(_floor(e), style="dim")]),
                Text(count(e.n), style="dim"),
                Text(share_of_chance(e.verdict_q), style="dim"),
                *([self._verdict(e, style, words)] if self._numbers.judged else []),
                *([Text(bar(e, reach, signed=signed))] if bars else []),
            ]
            table.add_row(*cells)
        return table

    def _verdict(self, e: Estimate, style: str, words: bool) -> Text:
        verdict = verdict_of(e.verdict)
        if verdict is None:
            return Text(DASH, style=style)
        text = f"{SIGNS[verdict]} {SHORT[verdict]}" if words else SIGNS[verdict]
        return Text(f"{text} {self._marks[e.caveat]}" if e.caveat else text, style=style)


def _axis(reach: float, unit: str, signed: bool) -> str:
    reach *= writing(unit).per
    digits = 2 if reach < 10 else 0
    low = f"{-reach:+.{digits}f}".replace("-", "−") if signed else "0"
    high = f"{reach:{'+' if signed else ''}.{digits}f}"
    return low + " " * (_BAR - len(low) - len(high)) + high


def _floor(e: Estimate) -> str:
    if e.floor_high is None:
        return DASH
    mean, high = (number(end, e.written_unit, bare=True) for end in (e.floor, e.floor_high))
    return f"{mean} ({high})"


def bar(e: Estimate, reach: float, width: int = _BAR, *, signed: bool = True) -> str:
    """Draw an interval, thinner that of the page, over -reach to +reach; over 0 to reach if there is no direction.

    Examples
    --------
    >>> bar(Estimate("shift", "m", value=0.5, low=0.25, high=1.0), 1.0, 9)
    '    │━●━━'
    >>> bar(Estimate("shift", "m", value=0.5, low=0.25, high=0.75, page_low=-0.25, page_high=1.0), 1.0, 9)
    '   ─┼━●━─'
    >>> bar(Estimate("spread", "m", value=0.5, low=0.25, high=1.0), 1.0, 9, signed=False)
    '│ ━━●━━━━'
    """
    zero = width // 2 if signed else 0
    span = width - 1 - zero

    def column_of(value: float) -> int:
        return min(max(round(zero + span * value / reach), 0), width - 1)

    cells = [" "] * width
    for low, high, sign in ((e.page_low, e.page_high, "─"), (e.low, e.high, "━")):
        if low is not None and high is not None:
            cells[column_of(low) : column_of(high) + 1] = sign * (column_of(high) + 1 - column_of(low))
    cells[zero] = {"━": "┿", "─": "┼"}.get(cells[zero], "│")
    if e.value is not None:
        cells[column_of(e.value)] = "●"
    return "".join(cells)


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
    if none := unanswered_headline(list(replies.values())):  # all else would say "not measurable" of everything
        rates = [*(name for rate in page.rates for name in rate.of.measures), MISSING_SHARE.name]
        return Group(Text(none.sentence, style="bold yellow"), Text(""), _wholes(numbers, measures, models, rates))
    comparisons = PageComparisons(page, view)
    answer = answer_of_page(comparisons, replies)
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
        ranking
        for comparison in comparisons.of_model()
        if comparison.coarser is None
        for ranking in _rankings(comparison)
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
    if declared := _list_declared(numbers, view.measures):
        blocks += [Text(""), *map(Text, declared)]
    if lines := change_lines(numbers, view.titles, measures):
        blocks += [Text(""), Text("Changes by intervention", style="bold"), *map(Text, lines)]
    if notes := warnings(comparisons, exact=exact):
        blocks += [Text(""), *(Text.assemble(("! ", "bold yellow"), note) for note in notes)]
    return Group(*blocks)


def _rankings(comparison: LeadComparison) -> list[Ranking]:
    """Rank the estimates of a comparison, found ones first; apart by unit, as values of two units share no scale."""
    lead, view = comparison.lead, comparison.view
    rows = sorted(comparison.rows, key=lambda e: not view.found(e))
    out = []
    for unit in dict.fromkeys(e.written_unit for e in rows):
        labelled = [(row(lead, view, e), e) for e in rows if e.written_unit == unit]
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
        estimates = [numbers.find(name, model, **score) for model in models]
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
    text = Text(formatting.number(e.value, e.written_unit, signed=signed))
    text.append(" " + (formatting.interval(e, signed=signed) or "(no interval)"), style="dim")
    if e.floor is not None:
        text.append(f" by chance {formatting.number(e.floor, e.written_unit)}", style="dim")
    return text


def _list_declared(numbers: EstimateIndex, measures: Mapping[str, Measure]) -> list[str]:
    """List families and margins that were declared before the run, or chosen after it."""
    if not numbers.judged:
        return []
    many = len(numbers.models) > 1
    out = [
        f"Family declared before the run: {family.name}{', ' + family.model if many else ''}: {family.outcome}."
        for family in declared_families(numbers)
    ]
    return out + margin_lines(numbers, measures)
