"""What was not found: of whom, and how large a difference could have been missed."""

from collections.abc import Sequence
from math import inf

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol.lookup import Estimate
from facevalue.report.findings import LeadComparison, row, upper
from facevalue.report.formatting import when_declared

_BRIEF = 3
"""Subjects that are named where nothing was found of them; of more their number is told."""
_UNITS = 2
"""Units in which is told what could have been missed."""


def listed(phrases: Sequence[str]) -> str:
    """Parts of a sentence, the last after "and"."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def not_found(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Say where no difference was found and what could have been missed, and where one is ruled out."""
    blank = [comparison for comparison in comparisons if comparison.undecided]
    texts = [f"No difference was found {_where(blank, comparisons)}, {missed(blank)}."] if blank else []
    same: dict[str, list[LeadComparison]] = {}
    for comparison in comparisons:
        if comparison.same:
            same.setdefault(margin_of(comparison, comparison.same[0]), []).append(comparison)
    for margin, equal in same.items():
        count = sum(len(comparison.same) for comparison in equal)
        whom = _names(equal[0], equal[0].same, "") if len(equal) == 1 else f"{count:,} comparisons"
        unless = counted_caveats(e.caveat for comparison in equal for e in comparison.same)
        texts.append(f"For {whom} a difference beyond {margin} is ruled out{unless}.")
    return texts


def _where(blank: Sequence[LeadComparison], comparisons: Sequence[LeadComparison]) -> str:
    """Of whom nothing was found, and in what."""
    is_rest = any(comparison.moved or comparison.same for comparison in comparisons)
    if len(blank) == 1:
        several = len({comparison.lead.quantity for comparison in comparisons}) > 1
        about = f" in {blank[0].lead.quantity}" if several and blank[0].lead.quantity else ""
        return f"for {_names(blank[0], blank[0].undecided, 'other ' if blank[0].moved else '')}{about}"
    names = [[row(comparison.lead, comparison.view, e) for e in comparison.undecided] for comparison in blank]
    if len(names[0]) <= _BRIEF and all(set(of) == set(names[0]) for of in names):
        return f"for {listed(names[0])} in {'' if is_rest else 'any of '}{len(blank)} kinds of comparison"
    total = sum(len(comparison.undecided) for comparison in blank)
    return f"in the other {total:,} comparisons" if is_rest else f"in any of {total:,} comparisons"


def _names(comparison: LeadComparison, rows: Sequence[Estimate], word: str) -> str:
    """The subjects of some rows: by name where they are few, else their number."""
    if len(rows) <= _BRIEF:
        return listed([row(comparison.lead, comparison.view, e) for e in rows])
    subjects = len(set(map(comparison.subject, rows)))
    if subjects < len(rows) and word:
        return f"the {word}{len(rows):,} comparisons"
    return f"the {word}{subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else comparison.subject(rows[0])


def missed(blank: Sequence[LeadComparison]) -> str:
    """How large a difference could have been missed: the least and the most of each unit."""
    sizes: dict[str, list[tuple[float, str]]] = {}
    unsure = False
    for comparison in blank:
        scale = comparison.scale(comparison.undecided[0])
        if comparison.missable is None or comparison.missable == inf:
            unsure = True
        else:
            text = scale.up_to(comparison.missable)
            sizes.setdefault(scale.unit, []).append((scale.size(comparison.missable), text))
    if not sizes:
        return "where any difference could have been missed"
    texts = [_between(min(ends)[1], max(ends)[1], unit) for unit, ends in list(sizes.items())[:_UNITS]]
    rest = ", or others as listed below" if len(sizes) > _UNITS else ""
    rest += ", in some of them any difference" if unsure else ""
    return f"where up to about {' or '.join(texts)} could have been missed{rest}"


def _between(least: str, most: str, unit: str) -> str:
    """Two sizes with their unit once; one where they are the same.

    >>> _between("6.6 points", "11 points", "points"), _between("1.0 point", "1.0 point", "points")
    ('6.6 to 11 points', '1.0 point')
    """
    return most if least == most else f"{least.removesuffix(unit).removesuffix('point').strip()} to {most}"


def too_few(comparisons: Sequence[LeadComparison], of: str = "") -> str:
    """Say that nothing can be concluded, as even strong differences could have been missed.

    `comparisons`: by the same lead of one model, or of each of several, `of` these.
    """
    comparison = min(comparisons, key=lambda candidate: inf if candidate.missable is None else candidate.missable)
    subjects = len({comparison.subject(e) for e in comparison.rows})
    units = f"{comparison.units:,} {comparison.unit_name}".removesuffix("s" if comparison.units == 1 else "")
    only = upper(row(comparison.lead, comparison.view, comparison.rows[0]))
    whom = f"each of {subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else only
    size = comparison.missable
    difference = (
        "any difference"
        if size is None or size == inf
        else f"even a difference of {comparison.scale(comparison.undecided[0]).up_to(size)}"
    )
    return f"Too little was asked{of} to tell: with {units} for {whom}, {difference} could have been missed."


def margin_of(comparison: LeadComparison, e: Estimate) -> str:
    """The margin, and whether it was named beforehand."""
    return f"the margin of {comparison.scale(e).text(e.margin or 0.0)} ({when_declared(e.declared)})"
