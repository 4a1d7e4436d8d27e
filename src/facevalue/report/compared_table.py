"""What a page compares as a table: how many, how many differ, how many are undecided, and what could be missed."""

from collections import Counter
from math import inf

from facevalue.protocol.page import Page
from facevalue.report.blocks.view import View
from facevalue.report.findings import LeadComparison, compared, upper
from facevalue.report.formatting import DASH

HEADS = ("Compared", "Comparisons", "Differ", "No difference beyond the margin", "Undecided", "Typically found from")
"""Columns of the table."""
_CLEAREST = "Clearest: "
"""Beginning of a title in the terminal, where the clearest rows are listed below it."""


def table_rows(page: Page, view: View) -> list[tuple[str, ...]]:
    """A row for each comparison of each model."""
    models = list(view.numbers.plain) or [view.model]
    rows = []
    for model in models:
        comparisons = compared(page, view.at(model))
        counted = Counter(map(_name, comparisons))
        for comparison in comparisons:
            name = _name(comparison)
            name = comparison.lead.title.removeprefix(_CLEAREST) if counted[name] > 1 else name
            rows.append((f"{model}: {name}" if len(models) > 1 else upper(name), *_cells(comparison)))
    return rows


def _name(comparison: LeadComparison) -> str:
    """What is compared: its quantity, by what where another one is broken down; the title where these are alike."""
    name = comparison.lead.quantity or comparison.lead.noun[1]
    by = ", ".join(label.removesuffix("?").replace("_", " ") for label in comparison.lead.by)
    return f"{name} by {by}" if comparison.coarser is not None else name


def _cells(comparison: LeadComparison) -> tuple[str, ...]:
    counts = (f"{len(rows):,}" for rows in (comparison.rows, comparison.moved, comparison.same, comparison.undecided))
    smallest = comparison.missable
    if smallest is None:
        return (*counts, DASH)
    return (
        *counts,
        "not even the largest" if smallest == inf else comparison.scale(comparison.undecided[0]).up_to(smallest),
    )
