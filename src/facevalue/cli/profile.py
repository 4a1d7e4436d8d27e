"""`facevalue profile`: what several studies say of the same groups, side by side and judged at one level."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.cli.output import Document, Output
from facevalue.cli.results import open_all, unasked_of
from facevalue.errors import SettingError
from facevalue.protocol.lookup import Condition
from facevalue.report.profile import Profile, profile_of
from facevalue.report.profile.page import (
    ComparisonRow,
    ContrastRow,
    comparison_rows,
    contrast_rows,
    level_sentence,
    profile_answer,
    write,
)
from facevalue.report.profile.squares import CHANGED, OPPOSITE, SIGNS, Square, columns_of

_ROWS = 40
"""Groups that a table in the terminal shows."""


@dataclass(frozen=True, slots=True)
class StudyOfProfile:
    """A study of a profile."""

    name: str
    title: str
    models: tuple[str, ...]
    families: int
    """Families of tests that its pages lead with, judged together with those of all other studies."""
    unmeasured: tuple[str, ...]
    """Models without a valid answer."""
    unanswered: Mapping[str, str]
    """Models that were not asked all of it, or of whose replies half cannot be read, each with the reason."""


@dataclass(frozen=True)
class ProfileDocument(Document):
    """Results of several studies about the same groups, judged at one level."""

    FORMAT: ClassVar[str] = "profile"
    studies: tuple[StudyOfProfile, ...]
    alpha: float
    """Chance that a profile of models without any bias holds a finding, at most."""
    answer: tuple[str, ...]
    """The profile in a few sentences."""
    comparisons: tuple[ComparisonRow, ...]
    """Every comparison that the pages lead with; docs/how-to/profile.md."""
    side_by_side: tuple[ContrastRow, ...]
    """Kinds of question, models and interventions side by side, never averaged."""
    page: str
    """The HTML file that was written; empty for none."""


def profile(runs: tuple[str, ...], out: Path | None) -> Output[ProfileDocument]:
    """Set what runs of several studies say side by side."""
    if out is not None and out.suffix.lower() != ".html":
        raise SettingError(f"{out.name} is not a .html file.")
    built = profile_of(open_all(runs), unasked_of(runs))
    if out is not None:
        write(out, built)
    return Output(lambda: document(built, out), _text(built, out))


def document(built: Profile, out: Path | None) -> ProfileDocument:
    """A profile for machines; `out`: the page that was written, if any."""
    return ProfileDocument(
        tuple(
            StudyOfProfile(s.name, s.title, s.models, s.families, s.unmeasured, dict(s.unanswered))
            for s in built.studies
        ),
        built.alpha,
        tuple(profile_answer(built)),
        tuple(comparison_rows(built)),
        tuple(contrast_rows(built)),
        "" if out is None else str(out),
    )


def _text(built: Profile, out: Path | None) -> Iterator[RenderableType]:
    """A profile for people."""
    first, *rest = profile_answer(built)
    yield Text(first, style="bold")
    yield from map(Text, rest)
    for condition in built.conditions:
        yield from _tables(built, condition)
    for contrast in (*(c for condition in built.models for c in built.questions(condition)), *built.pairs):
        yield Text(f"{contrast.title}: {contrast.summary}")
        for row in contrast.rows:
            if row.kind == OPPOSITE or CHANGED in row.change:
                yield Text(f"  {row.group}: {'; '.join(filter(None, (row.change, row.reading)))}")
    yield Text("  ".join(f"{sign} {meaning.partition(';')[0]}" for sign, meaning in SIGNS.values()), style="dim")
    yield Text("(…): found on its study's page alone. Empty: the group is not shown.", style="dim")
    yield Text(level_sentence(built), style="dim")
    if out is not None:
        yield f"Profile: {out}"


def _tables(built: Profile, condition: Condition) -> Iterator[RenderableType]:
    """Groups of which something is found, a table for each study: a terminal has no room for all side by side."""
    rows = built.rows(condition)
    columns = columns_of(rows)
    measured = {cell.study for cell in built.cells if cell.condition == condition and cell.estimate.value is not None}
    for study in dict.fromkeys(column.study for column in columns):
        of_study = [column for column in columns if column.study == study]
        members = [row for row in rows if any(column in row.squares for column in of_study)]
        telling = [row for row in members if any(row.squares[c].found_cells for c in of_study if c in row.squares)]
        if not telling:
            verb = "found" if study in measured else "measured"
            yield Text(f"{condition.name}, {study}: nothing {verb} of {len(members):,} groups.")
            continue
        further = len(members) - len(telling[:_ROWS])
        title = f"{condition.name}, {study}" + (f" ({further:,} more groups)" if further else "")
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("group")
        for column in of_study:
            table.add_column(escape(column.title), overflow="fold")
        for row in telling[:_ROWS]:
            table.add_row(escape(row.name), *(_square(row.squares.get(column)) for column in of_study))
        yield table


def _square(square: Square | None) -> str:
    if square is None:
        return ""
    count = f"({square.count})" if square.found_cells and square.count else ""
    text = " ".join(filter(None, [SIGNS[square.mark][0], square.label, count, square.caveat]))
    return escape(f"({text})" if square.is_of_page else text)
