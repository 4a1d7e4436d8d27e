"""Page of a profile: its answer, a table of groups and kinds of question, what stands side by side, every number."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from facevalue import __version__
from facevalue.protocol.lookup import Condition
from facevalue.report.html import environment, rendered
from facevalue.report.profile.cells import Outcome, ProfileCell, QuestionColumn
from facevalue.report.profile.contrasts import Contrast, columns_of
from facevalue.report.profile.profile import Profile
from facevalue.report.profile.squares import SIGNS, GroupRow, Square
from facevalue.report.profile.wording import POOLED, answer, contrast_note, level
from facevalue.store.files import write_whole

_UNFOLDED = 10
"""Rows up to which groups of which nothing is found stand in a table; of more such groups the rest are folded."""
_MOST_ROWS = 14
"""Comparisons of a square whose numbers are listed: what is found, then the clearest; the rest are in the JSON."""
_MOST_OTHERS = 20
"""Findings about no single group that are listed."""


@dataclass(frozen=True)
class Member:
    """A row of the table: the group, its anchor, and a square or none for each column."""

    row: GroupRow
    anchor: str
    squares: tuple[tuple[QuestionColumn, str, Square | None], ...]


@dataclass(frozen=True)
class GroupTable:
    """Groups of one dimension beside the kinds of question that show any of them."""

    dimension: str
    heads: tuple[tuple[str, tuple[QuestionColumn, ...]], ...]
    members: tuple[Member, ...]
    folded: tuple[Member, ...]


@dataclass(frozen=True)
class ConditionPart:
    """A model, with or without an intervention: its tables, its contrasts, its numbers."""

    condition: Condition
    findings: int
    tables: tuple[GroupTable, ...]
    contrasts: tuple[Contrast, ...]
    others: tuple[ProfileCell, ...]


def render(profile: Profile, generated: datetime | None = None) -> str:
    """Render a profile as a page that needs no network; untrusted texts are escaped.

    `generated`: when it was made, as the page says; now by default.
    """
    return rendered(
        "profile.html.j2",
        further_style="profile.css",
        head=head(profile),
        profile=profile,
        who=_who(profile),
        generated=generated or datetime.now(UTC),
        version=__version__,
    )


def head(profile: Profile) -> Markup:
    """A profile as a part of another page, whose style holds `profile.css` and whose script is the report's."""
    html = environment().get_template("profile_head.html.j2").render(
        profile=profile,
        sentences=answer(profile),
        level=level(profile),
        pooled=POOLED,
        parts=[_part(profile, number, condition) for number, condition in enumerate(profile.conditions)],
        pairs=profile.pairs,
        note=contrast_note,
        signs=[(mark, sign, meaning) for mark, (sign, meaning) in SIGNS.items()],
        sign_of=lambda mark: SIGNS[mark][0],
        clearest=_clearest,
        Outcome=Outcome,
    )  # fmt: skip
    return Markup(html)  # noqa: S704 rendered with escapes


def write(path: Path, profile: Profile) -> None:
    """Write the page, whole or not at all; an older one there is replaced."""
    write_whole(path, render(profile).encode())


def _part(profile: Profile, number: int, condition: Condition) -> ConditionPart:
    findings = [cell for cell in profile.found if cell.condition == condition]
    on_page = [cell for cell in profile.on_page if cell.condition == condition]
    others = [cell for cell in (*findings, *on_page) if cell.column is None]
    anchored = [(f"g{number}-{place}", row) for place, row in enumerate(profile.rows(condition))]
    tables = [
        _table(dimension, list(rows)) for dimension, rows in groupby(anchored, key=lambda pair: pair[1].dimension)
    ]
    return ConditionPart(
        condition, len(findings), tuple(tables), tuple(profile.questions(condition)), tuple(others[:_MOST_OTHERS])
    )


def _table(dimension: str, anchored: Sequence[tuple[str, GroupRow]]) -> GroupTable:
    """Groups of one dimension, each with its anchor; most of those of which nothing is found are folded."""
    columns = columns_of(row for _, row in anchored)
    members = [
        Member(
            row, anchor,
            tuple((column, f"{anchor}-{place}", row.squares.get(column)) for place, column in enumerate(columns)),
        )
        for anchor, row in anchored
    ]  # fmt: skip
    silent = [member.anchor for member in members if not any(s.found for s in member.row.squares.values())]
    unfolded = max(_UNFOLDED - (len(members) - len(silent)), 0)
    folded = set(silent[unfolded:] if len(silent) > _UNFOLDED else [])
    return GroupTable(
        dimension,
        tuple((study, tuple(of_study)) for study, of_study in groupby(columns, key=lambda column: column.study)),
        tuple(member for member in members if member.anchor not in folded),
        tuple(member for member in members if member.anchor in folded),
    )


def _clearest(square: Square) -> tuple[Sequence[ProfileCell], int]:
    """Comparisons of a square whose numbers are shown, and how many more there are."""
    order = list(Outcome)

    def place(cell: ProfileCell) -> tuple[int, float]:
        return order.index(cell.outcome), 1.0 if cell.estimate.p is None else cell.estimate.p

    ordered = sorted(square.cells, key=place)
    return ordered[:_MOST_ROWS], max(len(ordered) - _MOST_ROWS, 0)


def _who(profile: Profile) -> str:
    names = [condition.name for condition in profile.models]
    return names[0] if len(names) == 1 else f"{len(names)} models"
