"""`facevalue studies`: the studies that are known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.cli.output import Document, Output
from facevalue.studies import available
from facevalue.studies import protocol as look_up
from facevalue.studies.registry import StudyEntry


@dataclass(frozen=True, slots=True)
class DescribedStudy:
    """Description of a study: its questions, its paper, what it takes and what it lacks."""

    name: str
    title: str
    """What it asks, in a sentence."""
    paper: str
    needs: str
    """What its user brings, such as pictures."""
    left_out: str
    """What of the paper it does not have; empty if nothing is known to be left out."""
    note: str
    """Content note: stereotypes and slurs that it shows."""
    offers: tuple[str, ...]
    """Commands beyond those that every study has."""


@dataclass(frozen=True)
class StudiesDocument(Document):
    """Studies that can be run."""

    FORMAT: ClassVar[str] = "studies"
    studies: tuple[DescribedStudy, ...]
    unavailable: Mapping[str, str]
    """Studies of other packages that cannot be imported, and why."""


def studies(study: str | None) -> Output[StudiesDocument]:
    """List the studies, or describe one."""
    listed, missing = available() if study is None else ({study: StudyEntry.from_protocol(look_up(study))}, {})
    described = tuple(
        DescribedStudy(
            name=entry.name,
            title=entry.title,
            paper=entry.citation,
            needs=entry.needs,
            left_out=entry.left_out,
            note=entry.content_note,
            offers=tuple(entry.extras.commands),
        )
        for entry in listed.values()
    )
    document = StudiesDocument(described, missing)
    return Output(document, _list_studies(document) if study is None else _describe_study(described[0]))


def _table(*, heading: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=heading)
    table.add_column("study", style="bold", no_wrap=True)
    table.add_column("what it asks, and needs")
    return table


def _describe_study(study: DescribedStudy) -> Iterator[RenderableType]:
    table = _table(heading=False)
    table.add_row(study.name, Text(study.title))
    for field in fields(DescribedStudy)[2:]:
        if value := getattr(study, field.name):
            text = value if isinstance(value, str) else ", ".join(value)
            table.add_row(field.name.replace("_", " "), Text(text))
    yield table


def _list_studies(document: StudiesDocument) -> Iterator[RenderableType]:
    table = _table(heading=True)
    table.add_column("also offers")
    for study in document.studies:
        needs = f"\nNeeds {study.needs}." if study.needs and not study.needs.startswith("nothing") else ""
        table.add_row(study.name, Text(study.title + needs), ", ".join(study.offers))
    for name, reason in document.unavailable.items():
        table.add_row(name, Text(f"Unavailable: {reason}"), "")
    yield table
    yield "\nfacevalue studies NAME: its paper, and what of that is left out."
