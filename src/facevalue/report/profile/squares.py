"""Squares of a profile's table: what one kind of question says of one group, in one sign and one size."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol.facets import CONTRASTS, GroupName
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
    """Results of a kind of question for a group: its comparisons, never averaged.

    `cells`: one for each trait, or each group that it is compared with.
    """

    cells: tuple[ProfileCell, ...]

    @cached_property
    def found_cells(self) -> tuple[ProfileCell, ...]:
        """Comparisons that are found at the level of the audit; where there are none, those found on their page."""
        of_audit, of_page = (
            tuple(cell for cell in self.cells if cell.outcome == outcome)
            for outcome in (Outcome.FOUND, Outcome.ON_PAGE)
        )
        return of_audit or of_page

    @property
    def is_of_page(self) -> bool:
        """True if what is found is found on its page alone."""
        return bool(self.found_cells) and self.found_cells[0].outcome == Outcome.ON_PAGE

    @cached_property
    def mark(self) -> SquareMark:
        """The sign of the square."""
        if not self.found_cells:
            outcomes = {cell.outcome for cell in self.cells}
            if outcomes == {Outcome.NOT_MEASURABLE}:
                return SquareMark.UNMEASURED
            if Outcome.NOT_ANSWERED in outcomes:
                return SquareMark.UNANSWERED
            return SquareMark.EQUAL if outcomes <= {Outcome.EQUIVALENT, Outcome.NOT_MEASURABLE} else SquareMark.NONE
        favours = {cell.favour for cell in self.found_cells}
        if 0 not in favours:
            return SquareMark.MIXED if len(favours) > 1 else SquareMark.FOR if 1 in favours else SquareMark.AGAINST
        signs = {cell.sign for cell in self.found_cells}
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
        return max(self.found_cells, key=_strength, default=None)

    @property
    def missed_size(self) -> str:
        """Difference that the typical comparison could have missed."""
        open_cells = [cell for cell in self.cells if cell.outcome == Outcome.UNDECIDED]
        if not open_cells:
            return ""
        return sorted(open_cells, key=lambda cell: cell.missable)[len(open_cells) // 2].missed_size

    @property
    def label(self) -> str:
        """The square in a few words."""
        if self.strongest is None:
            return {
                SquareMark.NONE: self.missed_size,
                SquareMark.UNANSWERED: "not answered",
                SquareMark.UNMEASURED: "not measurable",
                SquareMark.EQUAL: "within the margin",
            }[self.mark]
        return self.strongest.size

    @property
    def caveat(self) -> str:
        """Caveats of what is found: of one comparison, or counted over several; empty for none."""
        return counted_caveats(cell.caveat for cell in self.found_cells).removeprefix(", ")

    @property
    def count(self) -> str:
        """Number of comparisons that are found, of all; empty where there is one."""
        return f"{len(self.found_cells)} of {len(self.cells)}" if len(self.cells) > 1 else ""

    @property
    def change(self) -> str:
        """Change by an intervention: the number of comparisons changed, and the clearest; empty without one."""
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
    """Number of standard errors by which a change differs from none."""
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
        """True if some kinds of question find something in favour of the group, and others against it."""
        return {1, -1} <= {square.favour for square in self.squares.values() if not square.is_of_page}

    @property
    def found_count(self) -> int:
        """Kinds of question that find something at the level of the audit."""
        return sum(bool(square.found_cells) and not square.is_of_page for square in self.squares.values())

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


# Contrasts: what two kinds of question, two models, or a request with and without an intervention say of one group.


AGREE, OPPOSITE, NEITHER, UNLIKE = "agree", "opposite", "neither", "unlike"
Side = tuple[tuple[str, Square], ...]
"""Squares of one side, each with the name of its column."""


@dataclass(frozen=True)
class SideBySide:
    """Results for a group on either side of a contrast.

    `change`: what the intervention changed, of the same trials with and without it; empty where there is none.
    `reading`: in words; `kind`: "agree", "opposite", "neither", "unlike" (found both times, with directions that do not
    compare), or "first" or "second" where one side alone finds something.
    """

    group: str
    first: Side
    second: Side
    kind: str
    reading: str
    change: str = ""


@dataclass(frozen=True)
class Contrast:
    """Comparison of two ways to ask, for each group that both show; none of it is averaged."""

    first: str
    second: str
    rows: tuple[SideBySide, ...]

    @property
    def title(self) -> str:
        """Names of the two sides."""
        return f"{self.heads[0]} beside {self.second}"

    @property
    def heads(self) -> tuple[str, str]:
        """Names of the sides as titles: a kind of question in a capital, a model as it is called."""
        kinds = {kind for _, *of_field in CONTRASTS for kind in of_field}
        first, second = (f"{s[:1].upper()}{s[1:]}" if s in kinds else s for s in (self.first, self.second))
        return first, second

    @property
    def has_changes(self) -> bool:
        """True if it contains paired changes of an intervention."""
        return any(row.change for row in self.rows)

    @property
    def summary(self) -> str:
        """Numbers of groups on which the sides agree, differ, or find nothing."""
        kinds = [row.kind for row in self.rows]
        words = {
            AGREE: "agree", OPPOSITE: "opposite", "first": f"{self.first} alone", "second": f"{self.second} alone",
            UNLIKE: "found both times, in directions that do not compare", NEITHER: "nothing found",
        }  # fmt: skip
        return "; ".join(f"{word}: {kinds.count(kind)}" for kind, word in words.items() if kind in kinds)


def kinds_of_question(rows: Sequence[GroupRow]) -> list[Contrast]:
    """Contrasts of one model: those kinds of question that one and the same group was asked about."""
    out = []
    for name, first, second in CONTRASTS:
        pairs = [
            side_by_side(row.name, _side(row, name, first), _side(row, name, second), (first, second))
            for row in rows
            if any(getattr(column.kinds, name) == first for column in row.squares)
            and any(getattr(column.kinds, name) == second for column in row.squares)
        ]
        if pairs:
            out.append(Contrast(first, second, tuple(pairs)))
    return out


def contrasts_of_models(names: tuple[str, str], first: Sequence[GroupRow], second: Sequence[GroupRow]) -> Contrast:
    """The same questions of two models, or of one with and without an intervention, for each group and question."""
    others = {row.name: row for row in second}
    pairs = []
    for row in first:
        for column, square in row.squares.items() if row.name in others else ():
            if (changed := others[row.name].squares.get(column)) is not None:
                sides = ((column.name, square),), ((column.name, changed),)
                pair = side_by_side(f"{row.name}, {column.title}", *sides, names)
                pairs.append(replace(pair, change=changed.change))
    return Contrast(*names, tuple(pairs))


def side_by_side(group: str, first: Side, second: Side, names: tuple[str, str]) -> SideBySide:
    """Read two sides together: signs that agree, that are opposite, or that one side alone has."""
    reading = _side_by_side(group, first, second, names)
    squares = [square for _, square in (*first, *second) if square.found_cells and not square.is_of_page]
    caveats = [cell.caveat for square in squares for cell in square.found_cells]
    return replace(reading, reading=f"{reading.reading}{counted_caveats(caveats)}")


def _side_by_side(group: str, first: Side, second: Side, names: tuple[str, str]) -> SideBySide:
    """The same without the caveats of what is found."""
    sure = [[square for _, square in side if square.found_cells and not square.is_of_page] for side in (first, second)]
    if not any(sure):
        return SideBySide(group, first, second, NEITHER, "nothing is found on either side")
    if not all(sure):
        at = 0 if sure[0] else 1
        missed = ", ".join(dict.fromkeys(filter(None, (square.missed_size for _, square in (second, first)[at]))))
        could = f"; {names[1 - at]} could have missed {missed}" if missed else ""
        return SideBySide(group, first, second, ("first", "second")[at], f"{names[at]} alone{could}")
    favours = [{square.favour for square in squares} - {0} for squares in sure]
    if not all(favours):
        marks = [{square.mark for square in squares} for squares in sure]
        if marks[0] == marks[1] and len(marks[0]) == 1 and _one_question(first, second):
            return SideBySide(group, first, second, AGREE, "both find it, in one direction")
        return SideBySide(group, first, second, UNLIKE, "both find something, in directions that do not compare")
    if favours[0] == favours[1] and len(favours[0]) == 1:
        word = "in favour of" if 1 in favours[0] else "against"
        return SideBySide(group, first, second, AGREE, f"both are {word} the group")
    return SideBySide(group, first, second, OPPOSITE, "they disagree: one is in favour, the other against")


def _side(row: GroupRow, name: str, level: str) -> Side:
    return tuple(
        (column.name, square) for column, square in row.squares.items() if getattr(column.kinds, name) == level
    )


def _one_question(first: Side, second: Side) -> bool:
    return {name for name, _ in first} == {name for name, _ in second}


def columns_of(rows: Iterable[GroupRow]) -> list[QuestionColumn]:
    """Columns that any row has, those of a study together."""
    columns = list(dict.fromkeys(column for row in rows for column in row.squares))
    studies = list(dict.fromkeys(column.study for column in columns))
    return sorted(columns, key=lambda column: studies.index(column.study))
