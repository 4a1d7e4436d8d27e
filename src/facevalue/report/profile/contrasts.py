"""Contrasts: what two kinds of question, two models, or a request with and without an intervention say of one group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol.facets import CONTRASTS
from facevalue.report.profile.cells import QuestionColumn
from facevalue.report.profile.squares import GroupRow, Square

AGREE, OPPOSITE, NEITHER, UNLIKE = "agree", "opposite", "neither", "unlike"
Side = tuple[tuple[str, Square], ...]
"""Squares of one side, each with the name of its column."""


@dataclass(frozen=True)
class SideBySide:
    """What is said of a group on either side of a contrast.

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
    """Two ways to ask, side by side, for each group that both show; none of it is averaged."""

    first: str
    second: str
    rows: tuple[SideBySide, ...]

    @property
    def title(self) -> str:
        """What stands beside what."""
        return f"{self.heads[0]} beside {self.second}"

    @property
    def heads(self) -> tuple[str, str]:
        """Names of the sides as titles: a kind of question in a capital, a model as it is called."""
        kinds = {kind for _, *of_field in CONTRASTS for kind in of_field}
        first, second = (f"{s[:1].upper()}{s[1:]}" if s in kinds else s for s in (self.first, self.second))
        return first, second

    @property
    def has_changes(self) -> bool:
        """Whether paired changes of an intervention are among it."""
        return any(row.change for row in self.rows)

    @property
    def summary(self) -> str:
        """How many groups they agree about."""
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


def between(names: tuple[str, str], first: Sequence[GroupRow], second: Sequence[GroupRow]) -> Contrast:
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
    squares = [square for _, square in (*first, *second) if square.found and not square.is_of_page]
    caveats = [cell.caveat for square in squares for cell in square.found]
    return replace(reading, reading=f"{reading.reading}{counted_caveats(caveats)}")


def _side_by_side(group: str, first: Side, second: Side, names: tuple[str, str]) -> SideBySide:
    """The same without the caveats of what is found."""
    sure = [[square for _, square in side if square.found and not square.is_of_page] for side in (first, second)]
    if not any(sure):
        return SideBySide(group, first, second, NEITHER, "nothing is found on either side")
    if not all(sure):
        at = 0 if sure[0] else 1
        missed = ", ".join(dict.fromkeys(filter(None, (square.missed for _, square in (second, first)[at]))))
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
