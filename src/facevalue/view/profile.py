"""Profile of all runs, as the report's own page has it: groups beside kinds of question."""

from collections.abc import Iterator
from dataclasses import dataclass

from facevalue.errors import DataError
from facevalue.protocol.lookup import Condition
from facevalue.report.profile import profile_of
from facevalue.report.profile.cells import SIGNS, GroupRow, ProfileCell, QuestionColumn, Square, SquareMark, columns_of
from facevalue.report.profile.page import POOLED, level_sentence, profile_answer
from facevalue.report.profile.profile import Profile
from facevalue.runs.joined_runs import names_for_people
from facevalue.view.estimates import key_of
from facevalue.view.open_runs import OpenedRuns

_SIGNS = {
    SquareMark.AGAINST: "worse",
    SquareMark.FOR: "better",
    SquareMark.EQUAL: "none",
    SquareMark.NONE: "undecided",
}
"""Whether a square is good or bad for its group; the other marks are neither."""


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """A kind of question of a study."""

    id: str
    study: str
    title: str


@dataclass(frozen=True, slots=True)
class ProfileMark:
    """A sign of the table, and its meaning."""

    mark: str
    symbol: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ProfileSquare:
    """Results of a kind of question for a group; `run` and `key` lead to its strongest, or first, estimate.

    `page_only`: found on the study's own page alone.
    """

    kind: str
    sign: str | None
    mark: str
    symbol: str
    text: str
    reading: str
    page_only: bool
    run: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """A group of people, as one model treats it."""

    model: str
    dimension: str
    group: str
    title: str
    squares: tuple[ProfileSquare, ...]


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """Profile of runs."""

    sentences: tuple[str, ...]
    marks: tuple[ProfileMark, ...]
    kinds: tuple[ProfileKind, ...]
    groups: tuple[ProfileGroup, ...]
    notes: tuple[str, ...]


def profile(runs: OpenedRuns) -> ProfilePage:
    """The profile of all runs.

    Raises
    ------
    DataError
        There is one run only.
    """
    if len(runs) < 2:
        raise DataError("A profile is of several runs; this is one.")
    states = runs.states()
    opened = [state.run for state in states]
    return runs.make_once("profile", states, lambda: _document(profile_of(opened, runs.waiting), runs))


def _document(profile: Profile, runs: OpenedRuns) -> ProfilePage:
    states = runs.states()
    names = names_for_people([state.run for state in states])
    places = {(state.run.study.name, names[state.run.model]): state.number for state in reversed(states)}
    rows = [(condition, row) for condition in profile.conditions for row in profile.rows(condition)]
    columns = columns_of([row for _, row in rows])
    return ProfilePage(
        tuple(profile_answer(profile)),
        tuple(ProfileMark(mark.value, symbol, meaning) for mark, (symbol, meaning) in SIGNS.items()),
        tuple(ProfileKind(column.name, column.study, column.title) for column in columns),
        tuple(_group(condition, row, places) for condition, row in rows),
        (level_sentence(profile), *POOLED),
    )


def _group(condition: Condition, row: GroupRow, places: dict[tuple[str, str], str]) -> ProfileGroup:
    return ProfileGroup(condition.name, row.dimension, row.group, row.name, tuple(_squares(row, places)))


def _squares(row: GroupRow, places: dict[tuple[str, str], str]) -> Iterator[ProfileSquare]:
    for column, square in row.squares.items():
        yield _square(column, square, places)


def _square(column: QuestionColumn, square: Square, places: dict[tuple[str, str], str]) -> ProfileSquare:
    cell: ProfileCell = square.strongest or square.cells[0]
    e = cell.estimate
    return ProfileSquare(
        column.name,
        _SIGNS.get(square.mark),
        square.mark.value,
        SIGNS[square.mark][0],
        " ".join(filter(None, [square.label, square.count and f"({square.count})", square.caveat])),
        square.reading,
        square.is_of_page,
        places.get((cell.study, cell.model)),
        key_of(e.measure, cell.intervention or None, e.labels),
    )
