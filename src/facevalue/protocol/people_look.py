"""People's answers about pictures that were made: estimates that join those of a run later, and part of a page."""

from dataclasses import replace

from facevalue.protocol.blocks import Strips
from facevalue.protocol.look import Of
from facevalue.protocol.page import Page, Section

FINE, TICKED, AGREEMENT = "people_fine", "people_ticked", "people_agreement"
"""Measures: shares of answers that speak for the pictures, and of things that were ticked; how far raters agree."""
QUESTION, FACTOR, SHOWN, PRINTED = "question", "factor", "shown", "printed"
"""Their labels: what was asked; a factor and its level, of whom is shown; and what the paper prints, in words."""
_NOBODY = "Nobody has looked yet: facevalue review MADE --task picture --out DIR writes pages for people."
_MOST = 80
"""Levels that a chart holds."""
_SECTION = Section(
    "people",
    "People look",
    (
        Strips(
            of=(Of(FINE, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),),
            first="Question", what="Share", title="Answers that speak for the pictures", empty=_NOBODY,
        ),
        Strips(
            of=(Of(TICKED, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),),
            first="Ticked", what="Share", title="What was ticked",
        ),
        Strips(
            of=(Of(FINE, (QUESTION, FACTOR, SHOWN, f"{PRINTED}?"), label="{question}: {shown}",
                   note="{factor:lower}[, paper: {printed:raw}]", most=_MOST),),
            first="Question and group", what="Share", title="By who is shown",
        ),
        Strips(
            of=(Of(AGREEMENT, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),
                Of(AGREEMENT, (QUESTION, FACTOR, SHOWN, f"{PRINTED}?"), label="{question}: {shown}",
                   note="{factor:lower}[, paper: {printed:raw}]", most=_MOST)),
            first="Question", what="Kappa", title="How far raters agree, beyond chance",
        ),
    ),
    each_model=True,
    lead="People looked at a sample, each by themselves. Groups of which one unit alone was looked at are left out.",
)  # fmt: skip


def with_people(page: Page) -> Page:
    """The page with what people say of the pictures, above its examples."""
    names = [section.id for section in page.sections]
    place = names.index("examples") if "examples" in names else len(names)
    sections = (*page.sections[:place], _SECTION, *page.sections[place:])
    return replace(page, sections=sections, added=(*page.added, FINE, TICKED, AGREEMENT))
