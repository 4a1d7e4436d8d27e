"""Sections that fold to their heading and one sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import (
    Bars,
    Content,
    Figure,
    HeatContent,
    Lines,
    PartContent,
    SectionContent,
    SideContent,
    StripsContent,
    TableContent,
    TextContent,
)

_FIRST = re.compile(r"(?<=[.!?])\s+(?=[^a-z(])")
"""Where a sentence ends and the next one begins."""


@dataclass(frozen=True, slots=True)
class FoldedSection:
    """A section as it is shown: its heading and its sentence in sight, its contents below them when it is open."""

    id: str
    heading: str
    sentence: str
    contents: Sequence[Content]
    open: bool = False


def folds(sections: Sequence[SectionContent]) -> list[FoldedSection]:
    """FoldedSection sections, all but the first."""
    return [_fold(section, is_first=place == 0) for place, section in enumerate(sections)]


def _fold(section: SectionContent, *, is_first: bool) -> FoldedSection:
    """Take the sentence of a section from the text that it begins with; how much was found in it follows."""
    sentence, contents = "", list(section.contents)
    if contents and isinstance(contents[0], TextContent) and contents[0].how in ("lead", "empty"):
        sentence, *more = _FIRST.split(contents[0].text, maxsplit=1)
        contents[:1] = [replace(contents[0], text=text) for text in more]
    return FoldedSection(
        section.id, section.heading, f"{sentence} {counted(section.contents)}".strip(), contents, is_first
    )


def counted(contents: Sequence[Content]) -> str:
    """Say in how many of the comparisons of some contents a difference was found; empty where nothing is compared."""
    estimates = {(e.measure, e.model, frozenset(e.labels.items())): e for c in contents for e in shown_in(c)}
    compared = [e for e in estimates.values() if e.verdict is not None]
    judged = [e for e in compared if e.verdict != Verdict.NOT_MEASURABLE]
    caveats = [e.caveat for e in judged if e.verdict == Verdict.DIFFERENCE]
    differing, unless = len(caveats), counted_caveats(caveats)
    if compared and not judged:
        return "No comparison can be judged."
    if len(judged) == 1:
        return f"A difference was found{unless}." if differing else "No difference was found in the one comparison."
    return f"A difference was found in {differing or 'none'} of {len(judged):,}{unless}." if judged else ""


def shown_in(content: Content) -> Iterator[Estimate]:
    """Go through the estimates that a content shows, each as often as it stands there."""
    match content:
        case StripsContent() | Lines() | Bars():
            yield from (row.of for row in content.rows if row.of is not None)
        case Figure():
            yield from content.rows
        case HeatContent() | TableContent():
            rows = content.rows if isinstance(content, TableContent) else [row.cells for row in content.rows]
            yield from (cell.of for cells in rows for cell in cells if cell.of is not None)
        case PartContent() | SideContent():
            for inner in content.contents:
                yield from shown_in(inner)
        case _:
            return
