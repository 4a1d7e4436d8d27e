"""Cells of a profile, and the squares of its table: what one kind of question says of one group."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import inf

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.facets import CONTRASTS, Facet, GroupName, Kinds, group_name
from facevalue.protocol.lookup import Condition, Estimate
from facevalue.protocol.page import Findings
from facevalue.report.blocks.view import View
from facevalue.report.sections.findings import LeadComparison, negative_of, rows_of
from facevalue.report.sections.sizes import ToldScale, missable_size


class Outcome(StrEnum):
    """Outcome of a comparison in a profile."""

    FOUND = "found"
    ON_PAGE = "found on its page alone"
    EQUIVALENT = "equivalent within the margin"
    UNDECIDED = "not found"
    NOT_ANSWERED = "not answered"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True)
class QuestionColumn:
    """A kind of question of a study: a column of the profile."""

    study: str
    title: str
    kinds: Kinds

    @property
    def name(self) -> str:
        """Name of the quantity among the columns of all studies."""
        return f"{self.study}: {self.title}"


@dataclass(frozen=True)
class ProfileCell:
    """A comparison of one model by a study.

    Attributes
    ----------
    study:
        Name of the study.
    model, intervention:
        Model that was asked, and what was done to the requests; empty for nothing.
    column:
        The kind of question; None for what is about no single group.
    group_name:
        The group, by the name that studies have in common.
    trait, versus:
        Trait that the question is about, and the group that this one is compared with; may be empty.
    estimate:
        Judged at the level of the whole audit: its verdict, what would have gone unnoticed, and the interval
        `page_low`, `page_high`.
    outcome:
        What may be said of it.
    sign, favour:
        Direction of the value, and whether it is in favour of the group (1) or against it (-1); 0 where neither.
    scale:
        Unit in which people are told its size.
    possible:
        Largest possible size in the measure's unit; None where there is none.
    text:
        The difference in words, with its caveat.
    caveat:
        What else could explain what is found of it; empty for nothing.
    mirrored:
        Whether it is the other side of a comparison of two groups: the same test, told of the other group.
    change, is_changed:
        What the intervention changed of the value, on the same trials with and without it, and whether its page finds
        that; None without an intervention, and where the study takes no such change.
    """

    study: str
    model: str
    intervention: str
    column: QuestionColumn | None
    group_name: GroupName
    trait: str
    versus: str
    estimate: Estimate
    outcome: Outcome
    sign: int
    favour: int
    scale: ToldScale
    possible: float | None
    text: str
    caveat: str = ""
    mirrored: bool = False
    change: Estimate | None = None
    is_changed: bool = False

    @property
    def condition(self) -> Condition:
        """The model, with or without something that was done to the requests."""
        return Condition(self.model, self.intervention or None)

    def mirror(self) -> "ProfileCell":
        """The same comparison, told of the one group that this one is compared with."""
        return replace(
            self, group_name=group_name(self.group_name.dimension, self.versus), versus=self.group_name.group,
            sign=-self.sign, favour=-self.favour, estimate=negative_of(self.estimate), mirrored=True,
            change=None if self.change is None else negative_of(self.change),
        )  # fmt: skip

    def as_unanswered(self) -> "ProfileCell":
        """The same of a study that is not answered: that nothing was found says nothing then."""
        open_outcomes = (Outcome.UNDECIDED, Outcome.EQUIVALENT)
        return replace(self, outcome=Outcome.NOT_ANSWERED) if self.outcome in open_outcomes else self

    @property
    def outcome_words(self) -> str:
        """Outcome in words, with its caveat."""
        return add_caveat(self.outcome.value, self.caveat)

    @property
    def size(self) -> str:
        """Size of the value in the protocol's own unit, in the direction of the value."""
        return self.scale.text(self.estimate.value or 0.0, signed=bool(self.sign))

    @property
    def of_possible(self) -> float | None:
        """Size in points of what is possible; None where there is no largest size."""
        size = self.estimate.value
        if size is None or not self.possible or self.scale.curve is not None:
            return None
        return 100 * min(abs(size) / self.possible, 1.0)

    @property
    def missable(self) -> float:
        """Size that would have gone unnoticed, in the measure's unit; infinite where any would."""
        return missable_size(inf if self.estimate.mde is None else self.estimate.mde, self.possible)

    @property
    def missed_size(self) -> str:
        """Size that would have gone unnoticed, in words."""
        return "any" if self.missable == inf else f"up to {self.scale.up_to(self.missable)}"

    @property
    def interval(self) -> str:
        """95% interval of the comparison by itself, in the protocol's own unit."""
        return self.scale.interval(self.estimate)

    @property
    def change_text(self) -> str:
        """The change by the intervention with its 95% interval, in the protocol's own unit; empty without one."""
        if self.change is None:
            return ""
        if self.change.value is None:
            return "not measurable"
        size = self.scale.text(self.change.value, signed=True)
        return f"{size} {self.scale.interval(self.change)}".strip()

    @property
    def interval_of_audit(self) -> str:
        """The interval among all comparisons of the audit; clear of zero where a difference is found."""
        return self.scale.interval(replace(self.estimate, low=self.estimate.page_low, high=self.estimate.page_high))


def cells_of(study: str, leads: list[Findings], page: View, audit: View) -> Iterator[ProfileCell]:
    """Every comparison that a study's page leads with.

    `page`, `audit`: the same estimates as their own page and as the whole audit judges them.
    """
    for model in audit.numbers.models:
        views = page.narrow(model), audit.narrow(model)
        condition = audit.numbers.condition(model)
        for lead in leads:
            plain = replace(lead, of=tuple(replace(of, order="given", most=None) for of in lead.of), order="given")
            rows = [rows_of(plain, view) for view in views]
            comparison = LeadComparison(lead, views[1], tuple(rows[1]))
            for before, estimate in zip(*rows, strict=True):
                cell = _cell(study, comparison, estimate, before, condition.model, condition.intervention or "")
                change = views[0].numbers.companion(before.measure, before.cell_versus(NO_INTERVENTION))
                if change is not None:
                    cell = replace(cell, change=change, is_changed=views[0].numbers.is_found(change))
                yield cell
                if cell.versus and audit.is_signed(estimate):
                    yield cell.mirror()


def _cell(
    study: str, comparison: LeadComparison, estimate: Estimate, before: Estimate, model: str, intervention: str
) -> ProfileCell:
    facet, view = comparison.lead.facet, comparison.view
    column, group, trait, versus = None, GroupName("", ""), "", ""
    if facet is not None:
        column = QuestionColumn(study, facet.title, facet.kinds)
        group = group_name(view.said(facet.dimension, estimate), view.said(facet.group, estimate))
        trait, versus = view.said(facet.trait, estimate), view.said(facet.versus, estimate)
        versus = group_name(group.dimension, versus).group if versus else ""
    caveat = before.caveat or estimate.caveat
    phrase = f"{comparison.subject(estimate)}: {comparison.phrase(estimate, caveat)}"
    return ProfileCell(
        study, model, intervention, column, group, trait, versus, estimate, _outcome(view, estimate, before),
        *_direction(facet, view, estimate), comparison.scale(estimate), comparison.largest(estimate),
        add_caveat(phrase, caveat) if estimate.value is not None else "", caveat, comparison.is_mirror(estimate),
    )  # fmt: skip


def _direction(facet: Facet | None, view: View, estimate: Estimate) -> tuple[int, int]:
    if facet is None or not view.is_signed(estimate):
        return 0, 0
    return facet.sign(estimate), facet.favour(estimate)


def _outcome(view: View, estimate: Estimate, before: Estimate) -> Outcome:
    """Found at the level of the audit only if it is on its own page, too."""
    if estimate.value is None or before.verdict == Verdict.NOT_MEASURABLE:
        return Outcome.NOT_MEASURABLE
    on_page = view.numbers.is_moved(before)
    if on_page and view.numbers.is_moved(estimate):
        return Outcome.FOUND
    if on_page:
        return Outcome.ON_PAGE
    return Outcome.EQUIVALENT if before.verdict == Verdict.EQUIVALENT else Outcome.UNDECIDED


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
    SquareMark.MIXED: ("▲▼", "found in both directions, on different traits"),
    SquareMark.APART: ("≠", "differs, in no direction"),
    SquareMark.EQUAL: ("=", "no difference larger than the margin"),
    SquareMark.NONE: ("·", "nothing found; below it, the largest difference that would have gone unnoticed"),
    SquareMark.UNANSWERED: ("?", "not answered: not everything was asked, or half of the replies cannot be read"),
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
            AGREE: "found in both", OPPOSITE: "opposite", "first": f"found in {self.first} alone",
            "second": f"found in {self.second} alone",
            UNLIKE: "found in both, in directions that cannot be compared", NEITHER: "nothing found",
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
        return SideBySide(group, first, second, NEITHER, "nothing is found in either")
    if not all(sure):
        at = 0 if sure[0] else 1
        missed = ", ".join(dict.fromkeys(filter(None, (square.missed_size for _, square in (second, first)[at]))))
        could = f"; in {names[1 - at]}, {missed} would have gone unnoticed" if missed else ""
        return SideBySide(group, first, second, ("first", "second")[at], f"{names[at]} alone{could}")
    favours = [{square.favour for square in squares} - {0} for squares in sure]
    if not all(favours):
        marks = [{square.mark for square in squares} for squares in sure]
        if marks[0] == marks[1] and len(marks[0]) == 1 and _one_question(first, second):
            return SideBySide(group, first, second, AGREE, "found in both, in the same direction")
        return SideBySide(group, first, second, UNLIKE, "found in both, in directions that cannot be compared")
    if favours[0] == favours[1] and len(favours[0]) == 1:
        word = "in favour of" if 1 in favours[0] else "against"
        return SideBySide(group, first, second, AGREE, f"both are {word} the group")
    return SideBySide(group, first, second, OPPOSITE, "opposite: one is in favour of the group, the other against it")


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
