"""Strongest findings of a model: those that the first screen names, in its sentence and in its chart."""

from collections.abc import Sequence

from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.view import View, beyond
from facevalue.report.findings import LeadComparison

Finding = tuple[LeadComparison, Estimate]
_NAMED = 3


def most_named(view: View) -> int:
    """How many findings of each model the first screen names: one where other models or changes stand beside them."""
    return 1 if len(view.numbers.plain) > 1 or view.interventions else _NAMED


def findings(comparisons: Sequence[LeadComparison]) -> list[Finding]:
    """Differences that were found, the largest first; the clearest first where they have no common unit.

    A difference between two groups is told once, of the one that has more.
    """
    out = [(comparison, e) for comparison in comparisons if comparison.speaks for e in comparison.found_once]
    alike = len({comparison.scale(e) for comparison, e in out}) == 1
    return sorted(out, key=lambda finding: -(abs(finding[1].value or 0.0) if alike else beyond(finding[1])))


def strongest(comparisons: Sequence[LeadComparison], limit: int) -> list[Finding]:
    """The strongest findings, of as many subjects as there are; those of one subject follow one another."""
    by_subject: dict[str, list[Finding]] = {}
    for comparison, e in findings(comparisons):
        by_subject.setdefault(comparison.subject(e), []).append((comparison, e))
    groups = list(by_subject.values())[:limit]
    longest = max(map(len, groups), default=0)
    in_turns = [(turn, group) for turn in range(longest) for group in range(len(groups)) if turn < len(groups[group])]
    return [groups[group][turn] for group, turn in sorted((group, turn) for turn, group in in_turns[:limit])]


def hint(comparisons: Sequence[LeadComparison]) -> Finding | None:
    """The clearest difference that would count by itself, and among so many may be chance; None without one."""
    alone = [
        (comparison, e) for comparison in comparisons if comparison.coarser is None for e in comparison.undecided
        if e.low is not None and e.high is not None and e.low * e.high > 0 and comparison.view.signed(e)
    ]  # fmt: skip
    return max(alone, key=lambda finding: beyond(finding[1]), default=None)
