"""A summary for the terminal: headline, strongest estimates with their intervals, and what to be careful about."""

from collections.abc import Sequence

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.measures.base import Measure
from facevalue.measures.verdicts import Verdict
from facevalue.report.changes import change_lines
from facevalue.report.headline import Outcome
from facevalue.report.judged import declared_families, margin_lines
from facevalue.report.numbers import POOLED, Estimate, Numbers
from facevalue.report.page import Outline
from facevalue.report.sections import page_of
from facevalue.report.verdict import SHORT, verdict_of
from facevalue.report.words import (
    DASH,
    NOT_MEASURABLE,
    Titles,
    interval,
    is_signed,
    number,
    share_of_chance,
    why_no_interval,
)

_BAR = 25
_SIGNS = {
    Verdict.DIFFERENCE: "●",
    Verdict.EQUIVALENT: "◆",
    Verdict.INCONCLUSIVE: "○",
    Verdict.NOT_MEASURABLE: "□",
}


def summary(estimates: pl.DataFrame, measures: Sequence[Measure], *, strongest: int = 10) -> Group:
    """Summarise the estimates of one study.

    Parameters
    ----------
    estimates:
        As `facevalue measure` wrote them.
    measures:
        Definitions.
    strongest:
        How many estimates to list per model, or for the mean over models if there is one.

    Returns
    -------
    Something that a `rich` console prints.
    """
    page = page_of(str(estimates["study"][0]) if estimates.height else "")
    numbers = Numbers(estimates, reading=page.reading)
    titles = Titles(page.wording())
    known = {m.name: m for m in measures}
    model = numbers.primary
    answer = page.headline(numbers, titles, model)
    parts: list[RenderableType] = [
        Text(answer.sentence, style="bold yellow" if answer.verdict is Outcome.NOT_MEASURABLE else "bold")
    ]
    parts += [Text(more) for more in answer.more]
    models = [*numbers.models, *([POOLED] if numbers.pooled else [])]
    if models:
        parts += [Text(""), _wholes(numbers, known, models, page.outline.measures or numbers.wholes())]
    rows = [e for e in page.outline.strongest(numbers, model) if e.value is not None][:strongest]
    if rows:
        parts += [Text(""), _strongest(numbers, titles, rows, page.outline)]
    declared = _declared(numbers, known)
    if declared:
        parts += [Text(""), *map(Text, declared)]
    changed = change_lines(numbers, titles, measures)
    if changed:
        parts += [Text(""), Text("Changes by intervention", style="bold"), *map(Text, changed)]
    notes = page.outline.warnings(numbers, titles)
    if notes:
        parts += [Text(""), *(Text.assemble(("! ", "bold yellow"), note) for note in notes)]
    return Group(*parts)


def _wholes(numbers: Numbers, known: dict[str, Measure], models: Sequence[str], measures: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, title=None, header_style="dim")
    table.add_column("")
    for model in models:
        table.add_column(Text(model), justify="left")
    for name in measures:
        found = [numbers.one(name, model) for model in models]
        if not any(e is not None for e in found):
            continue
        measure = known.get(name)
        title = measure.title if measure else name
        cells = [_cell(e, measure) for e in found]
        table.add_row(Text(title), *cells)
    return table


def _cell(e: Estimate | None, measure: Measure | None) -> Text:
    if e is None:
        return Text(DASH, style="dim")
    if e.value is None:
        return Text(NOT_MEASURABLE, style="yellow")
    signed = is_signed(measure)
    text = Text(number(e.value, e.unit, signed=signed))
    text.append(" " + (interval(e, signed=signed) or "(no interval)"), style="dim")
    if e.floor is not None:
        text.append(f" by chance {number(e.floor, e.unit)}", style="dim")
    return text


def _strongest(numbers: Numbers, titles: Titles, rows: Sequence[Estimate], outline: Outline) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    ends = [abs(v) for e in rows for v in (e.value, e.low, e.high) if v is not None]
    reach = max(ends, default=0.0) or 1.0
    table.add_column(outline.what)
    table.add_column(outline.value, justify="right")
    table.add_column("95% interval")
    table.add_column("q", justify="right")
    if numbers.judged:
        table.add_column("verdict")
    digits = 2 if reach < 10 else 0
    ends_text = (f"{-reach:+.{digits}f}".replace("-", "−"), f"{reach:+.{digits}f}")
    table.add_column(ends_text[0] + " " * (_BAR - sum(map(len, ends_text))) + ends_text[1], no_wrap=True)
    for e in rows:
        moved = numbers.moved(e)
        style = "bold" if moved else "dim"
        label = outline.label(e, titles)
        table.add_row(
            Text(label, style=style),
            Text(number(e.value, e.unit, signed=True), style=style),
            Text(interval(e, signed=True) or why_no_interval(e), style="dim"),
            Text(share_of_chance(e.q), style="dim"),
            *([_verdict(e, style)] if numbers.judged else []),
            Text(bar(e, reach)),
        )  # fmt: skip
    return table


def _verdict(e: Estimate, style: str) -> Text:
    verdict = verdict_of(e.verdict)
    return Text(DASH if verdict is None else f"{_SIGNS[verdict]} {SHORT[verdict]}", style=style)


def _declared(numbers: Numbers, known: dict[str, Measure]) -> list[str]:
    """What was declared before the run, or chosen after it."""
    if not numbers.judged:
        return []
    many = len(numbers.models) > 1
    out = [
        f"Family declared before the run: {family.name}{', ' + family.model if many else ''}: "
        f"a difference found in {family.found} of {family.tests}."
        for family in declared_families(numbers)
    ]
    return out + margin_lines(numbers, {name: measure.title for name, measure in known.items()})


def bar(e: Estimate, reach: float, width: int = _BAR) -> str:
    """Draw an interval over -reach to +reach with characters.

    Examples
    --------
    >>> bar(Estimate("sbs", "m", value=0.5, low=0.25, high=1.0), 1.0, 9)
    '    │━●━━'
    """
    middle = width // 2

    def at(value: float) -> int:
        return min(max(round(middle + middle * value / reach), 0), width - 1)

    cells = [" "] * width
    cells[middle] = "│"
    if e.low is not None and e.high is not None:
        for i in range(at(e.low), at(e.high) + 1):
            cells[i] = "━"
    if e.value is not None:
        cells[at(e.value)] = "●"
    return "".join(cells)
