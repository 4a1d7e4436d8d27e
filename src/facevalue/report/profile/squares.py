"""Squares of a profile's table: what one kind of question says of one group, in one sign and one size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol.group_names import GroupName
from facevalue.report.profile.cells import Outcome, ProfileCell, QuestionColumn


class SquareMark(StrEnum):
    """Sign of a square: what is found, which way, and how sure."""

    FOR = "for"
    AGAINST = "against"
    MORE = "more"
    LESS = "less"
    MIXED = "mixed"
    APART = "apart"
    EQUAL = "equal"
    NONE = "none"
    UNANSWERED = "unanswered"
    UNMEASURED = "unmeasured"


SIGNS: Mapping[SquareMark, tuple[str, str]] = {
    SquareMark.FOR: ("▲", "in favour of the group"),
    SquareMark.AGAINST: ("▼", "against the group"),
    SquareMark.MORE: ("↑", "more often or higher, which is neither for nor against"),
    SquareMark.LESS: ("↓", "less often or lower, which is neither for nor against"),
    SquareMark.MIXED: ("▲▼", "found both ways, of different traits"),
    SquareMark.APART: ("≠", "differs, in no direction"),
    SquareMark.EQUAL: ("=", "no difference beyond the margin"),
    SquareMark.NONE: ("·", "nothing found; below it how much could have been missed"),
    SquareMark.UNANSWERED: ("?", "not answered: not all was asked, or half cannot be read"),
    SquareMark.UNMEASURED: ("–", "not measurable"),
}
"""Sign of each mark and what it means."""
CHANGED = "found on its page"
"""How a change by an intervention is told that the study's page finds."""


@dataclass(frozen=True)
class Square:
    """What a kind of question says of a group: its comparisons, never averaged.

    `cells`: one for each trait, or each group that it is compared with.
    """

    cells: tuple[ProfileCell, ...]

    @cached_property
    def found(self) -> tuple[ProfileCell, ...]:
        """Comparisons that are found at the level of the audit; where there are none, those found on their page."""
        of_audit, of_page = (
            tuple(cell for cell in self.cells if cell.outcome == outcome)
            for outcome in (Outcome.FOUND, Outcome.ON_PAGE)
        )
        return of_audit or of_page

    @property
    def is_of_page(self) -> bool:
        """Whether what is found is found on its page alone."""
        return bool(self.found) and self.found[0].outcome == Outcome.ON_PAGE

    @cached_property
    def mark(self) -> SquareMark:
        """The sign of the square."""
        if not self.found:
            outcomes = {cell.outcome for cell in self.cells}
            if outcomes == {Outcome.NOT_MEASURABLE}:
                return SquareMark.UNMEASURED
            if Outcome.NOT_ANSWERED in outcomes:
                return SquareMark.UNANSWERED
            return SquareMark.EQUAL if outcomes <= {Outcome.EQUIVALENT, Outcome.NOT_MEASURABLE} else SquareMark.NONE
        favours = {cell.favour for cell in self.found}
        if 0 not in favours:
            return SquareMark.MIXED if len(favours) > 1 else SquareMark.FOR if 1 in favours else SquareMark.AGAINST
        signs = {cell.sign for cell in self.found}
        if signs == {0}:
            return SquareMark.APART
        return SquareMark.MIXED if len(signs - {0}) > 1 else SquareMark.MORE if 1 in signs else SquareMark.LESS

    @property
    def favour(self) -> int:
        """1 or -1 where all that is found is in favour of the group or against it; 0 elsewhere."""
        return {SquareMark.FOR: 1, SquareMark.AGAINST: -1}.get(self.mark, 0)

    @property
    def strongest(self) -> ProfileCell | None:
        """The largest of what is found, in points of what is possible; None where nothing is."""
        return max(self.found, key=_strength, default=None)

    @property
    def missed(self) -> str:
        """How much the typical comparison could have missed."""
        open_cells = [cell for cell in self.cells if cell.outcome == Outcome.UNDECIDED]
        if not open_cells:
            return ""
        return sorted(open_cells, key=lambda cell: cell.missable)[len(open_cells) // 2].missed

    @property
    def label(self) -> str:
        """The square in a few words."""
        if self.strongest is None:
            return {
                SquareMark.NONE: self.missed,
                SquareMark.UNANSWERED: "not answered",
                SquareMark.UNMEASURED: "not measurable",
                SquareMark.EQUAL: "within the margin",
            }[self.mark]
        return self.strongest.size

    @property
    def caveat(self) -> str:
        """What else could explain what is found: of one comparison, or of how many; empty for nothing."""
        return counted_caveats(cell.caveat for cell in self.found).removeprefix(", ")

    @property
    def count(self) -> str:
        """How many comparisons are found of how many; empty where there is one."""
        return f"{len(self.found)} of {len(self.cells)}" if len(self.cells) > 1 else ""

    @property
    def change(self) -> str:
        """What an intervention changed: how many of the comparisons, and the clearest; empty without one."""
        changes = [cell for cell in self.cells if cell.change is not None]
        if not changes:
            return ""
        changed = [cell for cell in changes if cell.is_changed]
        if len(changes) == 1:
            return f"{changes[0].change_text}, {CHANGED if changed else 'not found among all of its page'}"
        if not changed:
            return f"none of {len(changes):,} changes found among all of its page"
        clearest = max(changed, key=_clearness)
        return f"{len(changed):,} of {len(changes):,} changes {CHANGED}, the clearest {clearest.change_text}"

    @property
    def reading(self) -> str:
        """The square in words, for people who do not see it."""
        level = " (on its page alone)" if self.is_of_page else ""
        return f"{SIGNS[self.mark][1]}{level}: {', '.join(filter(None, [self.label, self.count, self.caveat]))}"


def _clearness(cell: ProfileCell) -> float:
    """How many standard errors a change is from none."""
    change = cell.change
    return abs(change.value or 0.0) / change.se if change is not None and change.se else 0.0


def _strength(cell: ProfileCell) -> tuple[float, float]:
    estimate = cell.estimate
    error = estimate.se or 0.0
    return cell.of_possible or 0.0, abs(estimate.value or 0.0) / error if error else 0.0


@dataclass(frozen=True)
class GroupRow:
    """A group of one model: a square for each column that shows it, and none for the others."""

    dimension: str
    group: str
    squares: Mapping[QuestionColumn, Square]

    @property
    def disagrees(self) -> bool:
        """Whether some kinds of question find something in favour of the group, and others against it."""
        return {1, -1} <= {square.favour for square in self.squares.values() if not square.is_of_page}

    @property
    def found(self) -> int:
        """Kinds of question that find something at the level of the audit."""
        return sum(bool(square.found) and not square.is_of_page for square in self.squares.values())

    @property
    def name(self) -> str:
        """The group with what it is a group of."""
        return f"{self.group} ({self.dimension})"


def rows_of_cells(cells: Sequence[ProfileCell]) -> list[GroupRow]:
    """Rows of one model under one condition: groups by dimension, in the order in which studies name them."""
    squares: dict[GroupName, dict[QuestionColumn, list[ProfileCell]]] = {}
    for cell in cells:
        if cell.column is not None:
            squares.setdefault(cell.group_name, {}).setdefault(cell.column, []).append(cell)
    order = list(dict.fromkeys(dimension for dimension, _ in squares))
    rows = [
        GroupRow(dimension, group, {column: Square(tuple(members)) for column, members in by_column.items()})
        for (dimension, group), by_column in squares.items()
    ]
    return sorted(rows, key=lambda row: order.index(row.dimension))
