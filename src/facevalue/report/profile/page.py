"""Page of a profile: its answer, a table of groups and kinds of question, what stands side by side, every number."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from facevalue import __version__
from facevalue.report.html import asset, content_policy, environment
from facevalue.report.profile.cells import Outcome, ProfileCell, QuestionColumn
from facevalue.report.profile.contrasts import Contrast, columns_of
from facevalue.report.profile.profile import AskedModel, Profile
from facevalue.report.profile.squares import SIGNS, GroupRow, Square
from facevalue.report.profile.wording import POOLED, answer, contrast_note, level
from facevalue.store.files import write_whole

_FOLDED = 10
"""Groups of a dimension of which nothing is found that stand in its table; the others are folded."""
_LISTED = 14
"""Comparisons of a square whose numbers are listed: what is found, then the clearest; the rest are in the JSON."""
_OTHERS = 20
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

    condition: AskedModel
    findings: int
    tables: tuple[GroupTable, ...]
    contrasts: tuple[Contrast, ...]
    others: tuple[ProfileCell, ...]


def render(profile: Profile, generated: datetime | None = None) -> str:
    """Render a profile as a page that needs no network; untrusted texts are escaped.

    `generated`: when it was made, as the page says; now by default.
    """
    style, script = asset("style.css") + asset("profile.css"), asset("profile.js")
    return environment().get_template("profile.html.j2").render(
        head=head(profile),
        profile=profile,
        who=_who(profile),
        now=generated or datetime.now(UTC),
        version=__version__,
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=content_policy(style, script),
    )  # fmt: skip


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
        listed=_listed,
        Outcome=Outcome,
    )  # fmt: skip
    return Markup(html)  # noqa: S704 rendered with escapes


def write(path: Path, profile: Profile) -> None:
    """Write the page, whole or not at all; an older one there is replaced."""
    write_whole(path, render(profile).encode())


def _part(profile: Profile, number: int, condition: AskedModel) -> ConditionPart:
    rows = profile.rows(condition)
    cells = [cell for cell in profile.found if (cell.model, cell.intervention) == _key(condition)]
    on_page = [cell for cell in profile.on_page if (cell.model, cell.intervention) == _key(condition)]
    others = [cell for cell in (*cells, *on_page) if cell.column is None]
    tables = []
    place = 0
    for dimension, group in groupby(rows, key=lambda row: row.dimension):
        members = list(group)
        columns = columns_of(members)
        out = []
        for row in members:
            anchor = f"g{number}-{place}"
            place += 1
            squares = tuple((column, f"{anchor}-{at}", row.squares.get(column)) for at, column in enumerate(columns))
            out.append(Member(row, anchor, squares))
        telling = [member for member in out if _tells(member.row)]
        rest = [member for member in out if not _tells(member.row)]
        first = max(_FOLDED - len(telling), 0) if len(rest) > _FOLDED else len(rest)
        listed_rows = {id(member) for member in (*telling, *rest[:first])}
        heads = tuple((study, tuple(of)) for study, of in groupby(columns, key=lambda column: column.study))
        tables.append(
            GroupTable(
                dimension, heads, tuple(member for member in out if id(member) in listed_rows),
                tuple(member for member in out if id(member) not in listed_rows),
            )
        )  # fmt: skip
    return ConditionPart(
        condition, len(cells), tuple(tables), tuple(profile.questions(condition)), tuple(others[:_OTHERS])
    )


def _key(condition: AskedModel) -> tuple[str, str]:
    return condition.model, condition.intervention


def _tells(row: GroupRow) -> bool:
    return any(square.found for square in row.squares.values())


def _listed(square: Square) -> tuple[Sequence[ProfileCell], int]:
    """Comparisons of a square whose numbers are shown, and how many are left."""
    order = list(Outcome)
    ordered = sorted(square.cells, key=lambda cell: (order.index(cell.outcome), cell.estimate.p or 1.0))
    return ordered[:_LISTED], max(len(ordered) - _LISTED, 0)


def _who(profile: Profile) -> str:
    names = [condition.name for condition in profile.models]
    return names[0] if len(names) == 1 else f"{len(names)} models"
