"""Sections of a page that declares none: every measure as charts and tables."""

from facevalue.measures.definitions import Measure, change_of
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
        for measure, over in view.numbers.kinds(model):
            kinds[measure, over] = None
    definitions = {measure.name: measure for measure in view.measures.values()}
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
        for title in [_title(definitions.get(measure), measure, is_change="versus" in over)]
    )


def _title(definition: Measure | None, name: str, *, is_change: bool) -> str:
    """Title of a measure of any score, or of the changes in it."""
    if definition is None:
        return name
    return change_of(definition).title if is_change else definition.title


def _words(over: tuple[str, ...]) -> str:
    return ", ".join(name.replace("_", " ") for name in over if name != "versus")
