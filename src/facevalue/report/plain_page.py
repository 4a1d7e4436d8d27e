"""Plain pages: an answer and sections of the blocks that all pages are made of, such as of runs that are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from facevalue.report.blocks.content import TableCell, TableContent, TableHead
from facevalue.report.checks import kind_cautions
from facevalue.report.folds import FoldedSection
from facevalue.report.html import rendered
from facevalue.runs.stored import StoredRun
from facevalue.store.files import write_whole


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A page of its own."""

    title: str
    subject: str
    """What it is of, after the title."""
    kicker: str
    """Kind of answer, such as "Difference found"."""
    answer: str
    more: Sequence[str]
    """What stands below the answer, smaller."""
    sections: Sequence[FoldedSection]
    kind: str = "nothing"
    """Style of the answer: "found", "equal" or "nothing"."""
    notes: Sequence[str] = ()
    """What readers should be prepared to see, or must know beside the answer."""
    generated: datetime = field(default_factory=lambda: datetime.now(UTC))


def write_page(path: Path, page: PlainPage) -> None:
    """Write a page as one HTML file that needs no network; texts are escaped."""
    write_whole(path, rendered("plain_page.html.j2", page=page, generated=page.generated).encode())


def cautions(runs: Sequence[StoredRun]) -> list[str]:
    """What readers of a page about runs of one study should be prepared to see, and must know of their pictures."""
    note = runs[0].study.about.content_note
    return [*([note] if note else []), *kind_cautions(run.study.source.kind for run in runs)]


def text_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True
) -> TableContent:
    """A table of texts; columns after the first hold numbers, if they all look so and `numbers` may be in it."""
    are_numbers = [numbers and at > 0 and all(_is_number(row[at]) for row in rows) for at in range(len(heads))]
    return TableContent(
        title,
        tuple(TableHead(head, number=number, sort=False) for head, number in zip(heads, are_numbers, strict=True)),
        [tuple(TableCell(text) for text in row) for row in rows],
    )


def _is_number(text: str) -> bool:
    return text[:1] in "+−–[0123456789" or not text
