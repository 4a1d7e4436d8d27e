"""Table of a page's comparisons: how many, how many differ or are undecided, and what could be missed."""

from collections import Counter
from math import inf

from facevalue.measures.caveats import VerdictCounts, counted_caveats
from facevalue.report.findings import LeadComparison, PageComparisons, upper
from facevalue.report.formatting import DASH

HEADS = ("Compared", "Comparisons", "Differ", "No difference beyond the margin", "Undecided", "Typically found from")
"""Columns of the table."""
_CLEAREST = "Clearest: "
"""Beginning of a title in the terminal, where the clearest rows are listed below it."""


def compared_kinds(of_page: PageComparisons) -> list[VerdictCounts]:
    """Each kind of comparison of each model."""
    kinds = []
    for model in of_page.models:
        comparisons = of_page.of_model(model)
        counted = Counter(map(_name, comparisons))
        for comparison in comparisons:
            name = _name(comparison)
            name = comparison.lead.title.removeprefix(_CLEAREST) if counted[name] > 1 else name
            kinds.append(
                VerdictCounts(
                    model=model,
                    compared=name,
                    comparisons=len(comparison.rows),
                    differ=len(comparison.differences),
                    caveats=counted_caveats(e.caveat for e in comparison.differences),
                    equivalent=len(comparison.equivalences),
                    undecided=len(comparison.open_rows),
                    found_from=_found_from(comparison),
                )
            )
    return kinds


def table_rows(of_page: PageComparisons) -> list[tuple[str, ...]]:
    """A row for each kind of comparison of each model."""
    many = len(of_page.models) > 1
    return [
        (
            f"{kind.model}: {kind.compared}" if many else upper(kind.compared),
            f"{kind.comparisons:,}",
            f"{kind.differ:,}{kind.caveats}",
            *(f"{count:,}" for count in (kind.equivalent, kind.undecided)),
            kind.found_from or DASH,
        )
        for kind in compared_kinds(of_page)
    ]


def _name(comparison: LeadComparison) -> str:
    """Name of a comparison: its quantity, and the breakdown where another has the same name otherwise."""
    name = comparison.lead.quantity or comparison.lead.noun[1]
    by = ", ".join(label.removesuffix("?").replace("_", " ") for label in comparison.lead.by)
    return f"{name} by {by}" if comparison.coarser is not None else name


def _found_from(comparison: LeadComparison) -> str:
    smallest = comparison.missable
    if smallest is None:
        return ""
    return "not even the largest" if smallest == inf else comparison.scale(comparison.open_rows[0]).up_to(smallest)
