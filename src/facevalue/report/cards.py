"""Cards that follow from a page's declaration and its lead: rates, bounds, noise floor, sampled units."""

from collections.abc import Sequence
from math import inf
from statistics import median

import polars as pl

from facevalue.answers import NA
from facevalue.measures.definitions import key_of
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.protocol.cards import Rate, StatedCard
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings, Page
from facevalue.report.blocks.view import View
from facevalue.report.checks import FEW, FEWEST, Card, CardStatus, editor_card, kind_card, of_runs, worst
from facevalue.report.data import ReportData
from facevalue.report.findings import PageComparisons, row, rows_of
from facevalue.report.formatting import NOT_MEASURABLE, count, interval, number, worst_case
from facevalue.report.sizes import scale_of

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
