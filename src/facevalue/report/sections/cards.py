"""Cards that follow from a page's declaration and its lead, and the next steps: is it enough to decide by?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log10
from statistics import median

import polars as pl

from facevalue.answers import NA
from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import key_of
from facevalue.printable import join_names
from facevalue.protocol.cards import Rate, StatedCard
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings, Page, Section, selections
from facevalue.report.blocks.view import View
from facevalue.report.data import ReportData
from facevalue.report.formatting import NOT_MEASURABLE, count, interval, number, worst_case
from facevalue.report.sections.checks import (
    FEW,
    FEWEST,
    KINDS,
    Card,
    CardStatus,
    editor_card,
    kind_card,
    of_runs,
    worst,
)
from facevalue.report.sections.findings import Finding, LeadComparison, PageComparisons, findings, row, rows_of
from facevalue.report.sections.headline import Headline, HeadlineKind
from facevalue.report.sections.missing import STEP, is_problem
from facevalue.report.sections.sizes import POINTS, scale_of
from facevalue.stimuli.base import Kind

_HIDDEN = "Requests failed: refusals in a form that is not known may be among them."


def cards(of_page: PageComparisons, data: ReportData) -> list[Card]:
    """All cards of a page, in the order in which they are shown."""
    page = of_page.page
    exact = any(run.exact for run in data.runs)
    pictures = [kind_card(data.kind, page.pictures), *([editor_card(data.editor)] if data.editor else [])]
    return [*of_estimates(of_page, exact=exact), *pictures, *of_runs(data.runs, data.kind)]


def of_estimates(of_page: PageComparisons, *, exact: bool) -> list[Card]:
    """Cards that need nothing but the estimates."""
    page, view = of_page.page, of_page.view
    rates = (_rate(rate, view, exact=exact) for rate in page.rates)
    stated = (_statement_card(statement(view) if callable(statement) else statement, view) for statement in page.stated)
    leads = of_page.leads
    return [
        *(card for card in rates if card is not None),
        *(_bounds(leads[0], view) if leads else []),
        *(card for card in stated if card is not None),
        *([_floor(page, leads, view)] if page.units.floor else []),
        _units(of_page),
    ]


def warnings(of_page: PageComparisons, *, exact: bool) -> list[str]:
    """List what to be careful about, for the terminal: cards that are no more than cautions."""
    grave = [c for c in of_estimates(of_page, exact=exact) if c.status in (CardStatus.CAUTION, CardStatus.PROBLEM)]
    return [f"{card.title}: {'; '.join(card.lines) or card.value}. {card.note}".replace("..", ".") for card in grave]


def _judge_rate(rate: Rate, e: Estimate) -> CardStatus:
    away = abs((e.value or 0.0) - rate.neutral)
    return CardStatus.OK if away < rate.fine else CardStatus.CAUTION if away < rate.problem else CardStatus.PROBLEM


def _rate(rate: Rate, view: View, *, exact: bool) -> Card | None:
    """The number farthest from where it should be, of each model."""
    score = rate.of.where.get("score")
    name = rate.name or key_of(rate.of.measures[0], score if isinstance(score, str) else None)
    rows_by_model = {model: view.narrow(model).rows(rate.of) for model in view.models}
    extremes = {
        model: max(measured, key=lambda e: abs((e.value or 0.0) - rate.neutral))
        for model, rows in rows_by_model.items() if (measured := [e for e in rows if e.value is not None])
    }  # fmt: skip
    if not extremes:
        if not rate.missing and not any(rows_by_model.values()):
            return None
        if rate.exact and exact:
            return Card(name, rate.title, NOT_MEASURABLE, rate.exact, CardStatus.NOTE)
        status = CardStatus(rate.missing) if rate.missing else CardStatus.PROBLEM
        return Card(name, rate.title, rate.unmeasured, rate.unmeasured_note or rate.note, status)

    def text(e: Estimate | None) -> str:
        if e is None:
            return NOT_MEASURABLE
        signed = view.is_signed(e)
        place = view.said(rate.where, e) if rate.where else ""
        value_text = f"{number(e.value, e.written_unit, signed=signed)} {interval(e, signed=signed) or '(no interval)'}"
        return f"{value_text} {place}".strip()

    many = len(view.models) > 1
    lines = tuple(f"{model}: {text(extremes.get(model))}" for model in view.models) if many else ()
    gravest = max(extremes.values(), key=lambda e: abs((e.value or 0.0) - rate.neutral))
    lost = len(extremes) < len(view.models) and rate.missing != "note"
    status = worst([_judge_rate(rate, e) for e in extremes.values()] + [CardStatus.PROBLEM] * lost)
    note = rate.note
    if "refusal_rate" in rate.of.measures and _failed_most(view) >= rate.fine:
        note, status = f"{note} {_HIDDEN}", worst([status, CardStatus.CAUTION])
    if rate.exact and status is CardStatus.PROBLEM and exact:
        note, status = rate.exact, CardStatus.CAUTION
    return Card(name, rate.title, text(gravest) + (" at worst" if many else ""), note, status, lines)


def _failed_most(view: View) -> float:
    """Largest share of questions of which the request failed, of all and of any group."""
    shares = [
        e.value or 0.0
        for model in view.models
        for by in ((), ("dimension", "group"))
        for e in view.narrow(model).rows(Of(MISSING_SHARE.name, by, {"reason": NA.ERROR.value}))
    ]
    return max(shares, default=0.0)


def _statement_card(statement: StatedCard, view: View) -> Card | None:
    views = [view.narrow(model) for model in view.models]
    if statement.when and not any(model_view.rows(of) for model_view in views for of in statement.when):
        return None
    if any(e.value is not None for model_view in views for of in statement.unless for e in model_view.rows(of)):
        return None
    return Card(statement.name, statement.title, statement.value, statement.note, CardStatus(statement.status))


def _bounds(lead: Findings, view: View) -> list[Card]:
    """Findings whose sign hangs on what the missing answers were; no card where that is not known."""
    rows = [e for model in view.models for e in rows_of(lead, view.narrow(model)) if e.has_bounds]
    if not rows:
        return []
    title = "If missing answers went one way"
    moved = [e for e in rows if view.numbers.is_moved(e)]
    turned = [e for e in moved if e.open_to_missing]
    rule = "Worst case: every missing answer one way on one side of a comparison and the other way on the other."
    if not moved:
        return [Card("bounds", title, "No difference to check", rule, CardStatus.NOTE)]
    if not turned:
        note = f"{rule} Each {lead.effect} found keeps its sign, whatever the missing answers were."
        return [Card("bounds", title, "Every sign holds", note, CardStatus.OK)]
    many = len(view.models) > 1
    lines = tuple(f"{e.model + ': ' if many else ''}{row(lead, view, e)}: {worst_case(e, signed=True)}" for e in turned)
    note = (
        f"{rule} The direction of the {lead.effect}s named here is not certain: a difference found may be due to who "
        "answered."
    )
    return [Card("bounds", title, f"{len(turned)} of {len(moved)} signs not certain", note, CardStatus.CAUTION, lines)]


def _floor(page: Page, leads: Sequence[Findings], view: View) -> Card:
    title = page.units.floor
    rows = rows_of(leads[0], view) if leads else []
    floors = [f for f in map(view.numbers.floor, rows) if f is not None]
    if not floors:
        if any(e.value is not None and e.p is not None for e in rows):
            note = "Each comparison is judged by its own test, which needs no floor."
            has_floors = any(True for _ in view.numbers.filter_estimates(pl.col("floor").is_not_null()))
            if has_floors:
                note += " Other numbers of this page are never zero, and stand beside what chance gives."
            value = f"None for {leads[0].noun[1]}" if has_floors else "None needed"
            return Card("floor", title, value, note, CardStatus.NOTE)
        status = CardStatus.PROBLEM if rows else CardStatus.NOTE
        return Card("floor", title, NOT_MEASURABLE, page.units.floor_none, status)
    lead, unit = leads[0], rows[0].written_unit
    scale = scale_of(lead, rows[0], view.definition(rows[0]))
    noun, typical = lead.noun[0], median(floors)
    note = f"Without any effect, the typical {noun} stays within this in 95 of 100 audits."
    if page.units.floor_note:
        note = page.units.floor_note.format(least=number(min(floors), unit), most=number(max(floors), unit))
    smallest = view.detectable(rows)
    if smallest == inf:
        note += f" For the typical {noun}, no {lead.effect}, however large, would have been found with 80% power."
    elif smallest is not None:
        size = scale.text(smallest)
        note += f" For the typical {noun}, a {lead.effect} is found with 80% power from about {size} up."
    if not view.numbers.judged:
        above = sum(1 for e in rows if e.value is not None and abs(e.value) > (view.numbers.floor(e) or 0.0))
        note += f" {above} of {len(rows)} are above their own floor."
    size = scale.text(typical if lead.largest is None else min(typical, lead.largest))
    return Card("floor", title, f"±{size}" if view.is_signed(rows[0]) else size, note, CardStatus.NOTE)


def unit_counts(of_page: PageComparisons) -> list[int]:
    """Numbers of units sampled for each subject of the card on units."""
    units, view = of_page.page.units, of_page.view
    rows = [e for of in units.of for e in view.rows(of)]
    rows = rows or [e for lead in of_page.leads[:1] for e in rows_of(lead, view)]
    return [e.clusters for e in rows if e.clusters]


def _units(of_page: PageComparisons) -> Card:
    units, sizes = of_page.page.units, unit_counts(of_page)
    if not sizes:
        return Card(
            units.name, units.title, NOT_MEASURABLE, units.none, CardStatus.PROBLEM if units.strict else CardStatus.NOTE
        )
    fewest, middle = min(sizes), int(median(sizes))
    value = count(middle) if fewest == middle else f"{count(middle)} typical, {count(fewest)} at least"
    if fewest < FEW:
        some = "" if fewest == middle else " for some"
        status = CardStatus.CAUTION if fewest >= FEWEST else CardStatus.PROBLEM
        return Card(units.name, units.title, value, f"Fewer than {FEW}{some}: {units.few}", status)
    return Card(units.name, units.title, value, units.enough, CardStatus.OK)


MOST = 4
"""Steps that the first screen shows."""
_WORTH = 0.1
"""Share of the largest possible difference that an audit should find; ten points of a hundred."""
_NAMED = 3
_READ = "Read some replies (facevalue export RUN --out FILE.csv), then mend the prompt."
_REMEDIES = {
    HeadlineKind.NO_ANSWER: _READ,
    HeadlineKind.ALMOST_NONE: _READ,
    HeadlineKind.NOT_ANSWERED: (
        "Give the run's command again, which asks what is left; where replies cannot be read, read some of them first "
        "(facevalue export RUN --out FILE.csv)."
    ),
    HeadlineKind.DESCRIBED: "Nothing here is tested. Compare intervals, or ask what sets groups side by side.",
    HeadlineKind.NOT_MEASURABLE: "Ask about more people or pictures: facevalue plan says how many it takes.",
}
"""What to do where nothing was compared."""
_MISSING = "missing"
"""Section about answers that are missing."""
_PLAIN = {"Drift while the run lasted": "Change of the model during the run"}
"""Titles of cards that the first screen says in other words."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, and the section of the page where it is told."""

    text: str
    anchor: str = ""
    title: str = ""
    grave: bool = False


def next_steps(
    of_page: PageComparisons, answer: Headline, cards: Sequence[Card], sections: Sequence[Section], kind: Kind
) -> list[NextStep]:
    """Next steps after this audit, the most important first."""
    comparisons, units = of_page.everything, of_page.page.units.name
    steps = [*_missing_decides(comparisons), *_warnings(cards, kind, units)]
    decisive = None if answer.verdict is HeadlineKind.UNSEEN else _decide(of_page, answer, kind)
    steps = [step for step in (decisive, *steps) if step is not None]
    if of_page.page.steps is not None:
        steps = [*map(NextStep, of_page.page.steps(of_page.view)), *steps]
    steps = [*_unseen(cards), *steps]
    if answer.verdict is HeadlineKind.ALMOST_NONE:
        reading = next((NextStep("Read next:", s.id, s.title) for s in sections if s.id == _MISSING), None)
    else:
        reading = _reading(comparisons, sections)
    return steps[:MOST] if reading is None else [*steps[: MOST - 1], reading]


def more_needed(comparison: LeadComparison) -> tuple[float, str, bool] | None:
    """Factor of units needed to find a difference worth finding, that difference, and whether it is half of today's.

    The smallest difference that would be found shrinks with the square root of the number of units: `(mde / d)²` times
    as many find `d`: the margin where there is one, else a tenth of what is possible, else half of what is found today.
    None where nothing is undecided, or where not even the largest difference would be found.
    """
    smallest = comparison.missable
    if smallest is None or smallest == inf:
        return None
    e = comparison.open_rows[0]
    largest = comparison.possible
    worth = e.margin or (_WORTH * largest if largest is not None else smallest / 2)
    scale = comparison.scale(e)
    if scale.unit == POINTS and scale.curve is None and e.margin is None:
        worth = 10.0 / scale.per
    half = smallest <= worth or (largest is None and e.margin is None)
    worth = smallest / 2 if half else worth
    return (smallest / worth) ** 2, scale.text(worth), half


def _unseen(cards: Sequence[Card]) -> list[NextStep]:
    """Step to take first where nothing shows that a model sees the pictures."""
    return [NextStep(STEP, "trust", "why it matters", grave=True)] if any(map(is_problem, cards)) else []


def _decide(of_page: PageComparisons, answer: Headline, kind: Kind) -> NextStep | None:
    """Step that says whether there is enough to decide by, or how much more is needed."""
    comparisons = of_page.everything
    moved = findings(comparisons)
    unsure = {comparison.subject(e) for comparison, e in moved if e.caveat}
    sure = [(comparison, e) for comparison, e in moved if comparison.subject(e) not in unsure]
    names = list(dict.fromkeys(comparison.subject(e) for comparison, e in sure))
    undecided = next((c for c in comparisons if c.coarser is None and c.missable is not None), None)
    if answer.verdict in _REMEDIES:
        return NextStep(_REMEDIES[answer.verdict])
    text = ""
    if names:
        plural = "s" if len(names) > 1 else ""
        listed = join_names(names) if len(names) <= _NAMED else ""
        differences = f"the difference{plural} found for {listed}" if listed else f"the {len(names)} differences found"
        if few := _too_few(of_page, sure):
            text = f"Confirm {differences} first: {few} are too few to act on. "
        elif kind is Kind.ILLUSTRATED:
            text = f"Check in photographs whether {differences} hold{'' if plural else 's'}. "
        else:
            text = f"There is enough data to act on {differences}. "
    if undecided is not None and (need := more_needed(undecided)) is not None:
        times, size, half = need
        aim = "differences half this size" if half else f"differences of {size}"
        text += f"To detect {aim}{' elsewhere' if names else ''}, ask about {_units_wanted(times, undecided)}."
    elif undecided is not None:
        whom = "the others" if names else "anything"
        text += f"{undecided.units} {undecided.unit_name} cannot decide {whom}: see facevalue plan --detect."
    elif answer.verdict is HeadlineKind.EQUIVALENT and not answer.caveat:
        text += "There is enough data to decide: differences larger than the margin are ruled out."
    return NextStep(text.strip()) if text else None


def _too_few(of_page: PageComparisons, moved: Sequence[Finding]) -> str:
    """Number of units behind the findings, as the card on units counts them; empty where they are enough."""
    comparison, e = min(moved, key=lambda finding: finding[1].clusters or inf)
    counts, units = unit_counts(of_page), of_page.page.units
    typical = int(median(counts)) if counts else None
    if typical is not None and typical < min(FEWEST, e.clusters or FEWEST):
        return f"{typical:,} {_lower(units.title) if units.of else comparison.unit_name}"
    return f"{e.clusters:,} {comparison.unit_name}" if e.clusters and e.clusters < FEWEST else ""


def _units_wanted(times: float, comparison: LeadComparison) -> str:
    """Number of further units that are wanted, beside those that a comparison has now.

    `times`: how many times as many there have to be.
    """
    if not comparison.units:
        return f"{_round_up(times)} times as many {comparison.unit_name}"
    more = _round_up((times - 1) * comparison.units)
    return f"{more} more {comparison.unit_name} for each comparison ({comparison.units:,} now)"


def _round_up(number: float) -> str:
    """A number that claims no more than it knows, rounded up: two digits that count.

    >>> _round_up(3.2), _round_up(24.3), _round_up(1234.0)
    ('4', '25', '1,300')
    """
    step = 10.0 ** max(int(log10(max(number, 1.0))) - 1, 0)
    return f"{ceil(number / step - 1e-9) * step:,.0f}"


def _missing_decides(comparisons: Sequence[LeadComparison]) -> list[NextStep]:
    """Differences that hang on what the missing answers were."""
    turned = [
        comparison.subject(e)
        for comparison in comparisons if comparison.speaks
        for e in comparison.differences if e.open_to_missing
    ]  # fmt: skip
    if not turned:
        return []
    names = join_names(list(dict.fromkeys(turned))[:_NAMED])
    return [
        NextStep(
            f"Missing answers could undo some of what was found of {names}.",
            "trust",
            "worst case",
            grave=True,
        )
    ]


def _warnings(cards: Sequence[Card], kind: Kind, units: str) -> list[NextStep]:
    """Reasons to doubt, a line each: those of the pictures and the model first, problems before cautions."""
    order = {"kind": 0, "planted": 1, "simulated": 1}
    grave = [card for card in cards if card.status in (CardStatus.CAUTION, CardStatus.PROBLEM)]
    grave.sort(key=lambda card: (order.get(card.name, 2), card.status is not CardStatus.PROBLEM))
    about = [card for card in grave if card.name in order]
    further = [card for card in grave if card.name not in order and card.value.lower() != "none found"]
    further = [card for card in further if not is_problem(card)]  # told first
    joined = " ".join(_first_sentence(KINDS[kind][1] if card.name == "kind" else card.note) for card in about)
    steps = [NextStep(joined, "trust", "", grave=True)] if joined else []
    return [*steps, *(NextStep(_in_a_line(card, units), "trust", "why it matters", grave=True) for card in further)]


def _in_a_line(card: Card, units: str) -> str:
    """A card's number or word; of the number of units that were sampled also what follows from it."""
    text = f"{_PLAIN.get(card.title, card.title)}: {_lower(card.value)}."
    return f"{text} {_first_sentence(card.note)}" if card.name == units else text


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:1].isalpha() and not text[:2].isupper() else text


def _reading(comparisons: Sequence[LeadComparison], sections: Sequence[Section]) -> NextStep | None:
    """The section that says more of what was found, or the first one."""
    clear = next((comparison for comparison in comparisons if comparison.differences), next(iter(comparisons), None))
    section = section_about(() if clear is None else clear.lead.measures, sections)
    return None if section is None else NextStep("Read next:", section.id, section.title)


def section_about(measures: Sequence[str], sections: Sequence[Section]) -> Section | None:
    """The section that shows most of these measures, the first of those; the first of all where none does."""
    names = {*measures}
    counts = [len(names & {name for of in selections(section) for name in of.measures}) for section in sections]
    return sections[counts.index(max(counts))] if sections else None
