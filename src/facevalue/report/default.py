"""Sections of a page that declares none: every measure as charts and tables."""

from collections.abc import Sequence

from facevalue.measures.definitions import Measure, title_of_scores
from facevalue.protocol.blocks import Block, Pictures, StoredAnswers, Strips
from facevalue.protocol.look import Of
from facevalue.protocol.page import Page, Section
from facevalue.report.blocks.view import View

MOST_STRIPS, MOST_LINES = 60, 1000
DEFAULT = (
    Section("measures", "All measures", ()),
    Section("examples", "Examples", (StoredAnswers(lead="Stored answers.", empty="No example: none was chosen."),)),
)


def sections_of(page: Page, view: View) -> tuple[Section, ...]:
    """The sections of a page; of one without, every measure over every set of labels, and examples."""
    if page.sections:
        return page.sections
    measures, examples = DEFAULT
    blocks = _blocks(view) or ("Nothing was measured.",)
    return Section(measures.id, measures.title, (*blocks, Pictures("What was shown")), each_model=True), examples


def _blocks(view: View) -> tuple[Block, ...]:
    kinds: dict[tuple[str, tuple[str, ...]], None] = {}
    for model in view.models:
        for name, over in view.numbers.kinds(model):
            kinds[name, over] = None
    definitions: dict[str, list[Measure]] = {}
    for measure in view.measures.values():
        definitions.setdefault(measure.name, []).append(measure)
    order = {name: place for place, name in enumerate(definitions)}
    rows = sorted(kinds, key=lambda kind: (order.get(kind[0], len(order)), len(kind[1])))
    return tuple(
        Strips(
            of=(Of(measure, over, order="size", most=MOST_STRIPS),),
            heading=", by ".join(filter(None, (title, _words(over)))),
            title=title,
            first=_words(over).capitalize() or "Over",
            empty="Not measurable.",
            rows=(Of(measure, over, order="size", most=MOST_LINES, label="|".join(f"{{{name}}}" for name in over)),),
            heads=tuple(name.replace("_", " ").capitalize() for name in over) or ("Over",),
        )
        for measure, over in rows
        for title in [_title(definitions.get(measure, []), measure, is_change="versus" in over)]
    )


def _title(definitions: Sequence[Measure], name: str, *, is_change: bool) -> str:
    """Title of a measure of all its scores, or of the changes in it."""
    if not definitions:
        return name
    title = title_of_scores(definitions)
    return f"{title}: change" if is_change else title


def _words(over: tuple[str, ...]) -> str:
    return ", ".join(name.replace("_", " ") for name in over if name != "versus")
