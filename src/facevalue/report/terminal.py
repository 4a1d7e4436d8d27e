"""A summary for the terminal: headline, strongest cues with their intervals, and what to be careful about."""

from collections.abc import Sequence

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.measures.base import Measure
from facevalue.measures.verdicts import Verdict
from facevalue.report.headline import Outcome, cues, headline
from facevalue.report.judged import declared_families, margin_lines
from facevalue.report.numbers import POOLED, Estimate, Numbers
from facevalue.report.trust import FEW_FACES
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
_HEADLINES = (
    "sbs", "cohens_d", "zero_share", "large_share", "variations_to_80", "position_bias", "letter_bias", "na_rate",
    "refusal_rate",
)  # fmt: skip

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
        How many cues to list per model, or for the mean over models if there is one.

    Returns
    -------
    Something that a `rich` console prints.
    """
    numbers = Numbers(estimates)
    study = str(estimates["study"][0]) if estimates.height else ""
    titles = Titles(study)
    known = {m.name: m for m in measures}
    model = numbers.primary
    answer = headline(numbers, titles, model)
    parts: list[RenderableType] = [
        Text(answer.sentence, style="bold yellow" if answer.verdict is Outcome.NOT_MEASURABLE else "bold")
    ]
    parts += [Text(more) for more in answer.more]
    models = [*numbers.models, *([POOLED] if numbers.pooled else [])]
    if models:
        parts += [Text(""), _headlines(numbers, known, models)]
    rows = [e for e in cues(numbers, model) if e.value is not None][:strongest]
    if rows:
        parts += [Text(""), _cues(numbers, titles, rows)]
    declared = _declared(numbers, known)
    if declared:
        parts += [Text(""), *map(Text, declared)]
    notes = _warnings(numbers, titles)
    if notes:
        parts += [Text(""), *(Text.assemble(("! ", "bold yellow"), note) for note in notes)]
    return Group(*parts)


def _headlines(numbers: Numbers, known: dict[str, Measure], models: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, title=None, header_style="dim")
    table.add_column("")
    for model in models:
        table.add_column(Text(model), justify="left")
    for name in _HEADLINES:
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


def _cues(numbers: Numbers, titles: Titles, rows: Sequence[Estimate]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    ends = [abs(v) for e in rows for v in (e.value, e.low, e.high) if v is not None]
    reach = max(ends, default=0.0) or 1.0
    table.add_column("Strongest cues")
    table.add_column("shift", justify="right")
    table.add_column("95% interval")
    table.add_column("q", justify="right")
    if numbers.judged:
        table.add_column("verdict")
    table.add_column(f"{-reach:+.2f}".replace("-", "−") + " " * (_BAR - 10) + f"{reach:+.2f}", no_wrap=True)
    for e in rows:
        moved = numbers.moved(e)
        style = "bold" if moved else "dim"
        label = f"{titles.variation(e.attribute, e.variation)} ({titles.get('attribute', e.attribute).lower()})"
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


def _warnings(numbers: Numbers, titles: Titles) -> list[str]:
    out = []
    overall = numbers.one("sbs", numbers.primary)
    if overall is not None and overall.clusters is not None and 0 < overall.clusters < FEW_FACES:
        out.append(
            f"{overall.clusters} faces, fewer than {FEW_FACES}: intervals may be too narrow. "
            "Take this as a trial, not as a finding."
        )
    for model in numbers.models:
        whose = f"{model}: " if len(numbers.models) > 1 else ""
        rate = numbers.one("na_rate", model)
        if rate is not None and rate.value is not None and rate.value >= 0.05:
            out.append(f"{whose}{number(rate.value, 'share')} of replies have no valid answer; they are left out.")
        place = numbers.one("position_bias", model)
        if place is not None and place.value is not None and abs(place.value) >= 0.05:
            side = "first" if place.value > 0 else "last"
            out.append(f"{whose}the model prefers the option shown {side}, by {number(abs(place.value), 'share')}.")
        turned = [e for e in cues(numbers, model) if numbers.moved(e) and e.sign_open]
        if turned:
            names = "; ".join(titles.cue(e.attribute, e.variation) for e in turned)
            out.append(f"{whose}the direction is not certain if missing answers are counted worst-case: {names}.")
    return out
