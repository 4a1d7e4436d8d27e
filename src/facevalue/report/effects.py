"""Effects in words: what each intervention changed, before and after, and how the models of a report differ."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings
from facevalue.report.findings import LeadComparison
from facevalue.report.headline import detectable
from facevalue.report.sizes import ToldScale, scale_of

_INTERVENTIONS, _SUBJECTS = 3, 2
"""Interventions that are told, and subjects of which the change is told: of each one where there are several."""


def changes_said(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Say of each intervention in the requests of a model what it changed, a sentence each."""
    if not comparisons:
        return []
    names = comparisons[0].view.interventions
    texts = [_change(name, comparisons) for name in names[:_INTERVENTIONS]]
    left = len(names) - len(texts)
    return [*texts, *([f"{left} more intervention{'s' if left > 1 else ''} below."] if left else [])]


def changes_of(name: str, comparison: LeadComparison) -> list[Estimate]:
    """Changes that an intervention made in what a lead compares."""
    selections = (
        replace(of, where={**of.where, "versus": NO_INTERVENTION}, intervention=name) for of in comparison.lead.of
    )
    return [e for of in selections for e in comparison.view.rows(of) if e.value is not None]


def _change(name: str, comparisons: Sequence[LeadComparison]) -> str:
    view = comparisons[0].view
    title = view.titles.get("intervention", name)
    rows = [
        (comparison, e)
        for comparison in comparisons
        if comparison.coarser is None
        for e in changes_of(name, comparison)
    ]
    moved = [(comparison, e) for comparison, e in rows if view.numbers.tested(e)]
    moved.sort(key=lambda row: (not _found_before(*row), -abs(row[1].value or 0.0) * row[0].scale(row[1]).per))
    model = view.numbers.under(view.model, name) or ""
    missing = view.numbers.one(MISSING_SHARE.name, model, versus=NO_INTERVENTION)
    lost = ""
    if missing is not None and missing.value and view.numbers.tested(missing):
        size = scale_of(Findings(of=()), missing, None).text(abs(missing.value))
        lost = f"; missing answers {'rose' if missing.value > 0 else 'fell'} by {size}"
    if not moved:
        return f"{title}: no change was found{_missed(rows)}{lost}."
    texts = [
        _before_and_after(comparison, e) for comparison, e in moved[: 1 if len(view.interventions) > 1 else _SUBJECTS]
    ]
    left = len(moved) - len(texts)
    return f"{title}: {'; '.join(texts)}{f'; {left:,} more changed' if left else ''}{lost}."


def _missed(rows: Sequence[tuple[LeadComparison, Estimate]]) -> str:
    """The size of a change that could have been missed, where all have one unit; empty where that is not known."""
    smallest = detectable([e for _, e in rows])
    smallest = None if smallest is None else abs(smallest)
    if smallest is None or len({e.unit for _, e in rows}) > 1:
        return ""
    scale = _scale(*rows[0])
    return (
        " (any could have been missed)"
        if smallest == inf
        else f" (up to about {scale.up_to(smallest)} could have been missed)"
    )


def _scale(comparison: LeadComparison, e: Estimate) -> ToldScale:
    return comparison.scale(e.cell_versus(None))


def _plain(comparison: LeadComparison, e: Estimate) -> Estimate | None:
    """The estimate without the intervention."""
    return comparison.view.numbers.beside(e.measure, replace(e.cell_versus(None), model=comparison.view.model))


def _found_before(comparison: LeadComparison, e: Estimate) -> bool:
    plain = _plain(comparison, e)
    return plain is not None and comparison.view.numbers.moved(plain)


def _before_and_after(comparison: LeadComparison, e: Estimate) -> str:
    """A change, with what it is a change from and to."""
    plain, changed = _plain(comparison, e), comparison.view.numbers.beside(e.measure, e.cell_versus(None))
    first, second = (None if estimate is None else estimate.value for estimate in (plain, changed))
    signed = plain is not None and comparison.view.signed(plain)
    ends, by = _scale(comparison, e).passage(e, first or 0.0, second or 0.0, signed=signed)
    subject = comparison.subject(plain or e)
    return f"{subject} by {by}" if first is None or second is None else f"{subject} from {ends}: {by}"
