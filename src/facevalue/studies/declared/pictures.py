"""The study by which pictures are inspected: every quantity that an inspector can compute, of every picture."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from facevalue.errors import UnknownNameError
from facevalue.inspection.expectation import OPENING
from facevalue.inspection.quantities import QUANTITIES, Need
from facevalue.protocol import settings as given
from facevalue.protocol.asks import Ask
from facevalue.protocol.compiled import compiled
from facevalue.protocol.inspected_pictures import LOOKED_FOR, MADE_FROM, InspectedPictures
from facevalue.protocol.measured import Measurements
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.protocol.takes import Take
from facevalue.protocol.written import Field
from facevalue.types import OptionValue

if TYPE_CHECKING:
    import polars as pl

    from facevalue.protocol.page import Page
    from facevalue.protocol.study import Study

GROUPS = ("gender", "age", "race", "ethnicity", "skin_tone", "group")
"""Columns by which quantities and acceptance are broken down, where a list of pictures has them."""
MODELS = "models"
"""Setting: what the inspector has models for, by which it is known what it can compute."""
_STIMULI = InspectedPictures()
_PROMPT = f"{OPENING}\ntext: {{{MADE_FROM}}}\nattribute: {{{LOOKED_FOR}}}"
_NEEDS = tuple(need.value for need in Need if need)


def _declared(models: Sequence[str], factors: Collection[str]) -> Protocol:
    """The declaration for an inspector with models for these, and pictures with these factors."""
    for name in models:
        if name not in _NEEDS:
            raise UnknownNameError("model of an inspector", name, _NEEDS)
    fields = {
        quantity.name: Field(quantity.unit, quantity.least, quantity.greatest, title=quantity.title)
        for quantity in QUANTITIES
        if not quantity.need or quantity.need.value in models
    }
    return replace(
        PROTOCOL,
        build=None,
        stimuli=_STIMULI,
        ask=Ask((_PROMPT,), Measurements(fields)),
        takes=(
            Take("mean"),
            *(Take("mean", by=(name,)) for name in (LOOKED_FOR, *GROUPS) if name in factors),
        ),
    )


def _build(options: Mapping[str, OptionValue], manifest: "pl.DataFrame | None") -> "Study":
    table = _STIMULI.table(options) if manifest is None else manifest
    declared = _declared(given.names(options, MODELS), _STIMULI.sets(table).factors)
    study = compiled(declared, options, table)
    return replace(study, page=partial(_page, study))


def _page(study: "Study") -> "Page":
    """The page of the declaration, with what people say of the pictures."""
    from facevalue.protocol.people_look import with_people  # noqa: PLC0415 - a page's parts take their time

    assert study.page is not None
    return with_people(study.page())


PROTOCOL = Protocol(
    name="pictures",
    title="What do the pictures show, and what did their editor change?",
    citation="FaceValue; each quantity names its source",
    content_note="The pictures show faces; groups are those that the pictures were made to show.",
    needs="your own list of pictures (--manifest), as `make` writes it: source, gender and others where known",
    temperature=0.0,
    max_tokens=1024,
    settings=(
        *_STIMULI.settings,
        Setting(MODELS, f"What the inspector has models for: {', '.join(_NEEDS)}.", [], levels=_NEEDS),
        *(given.seed_setting(1), given.temperature_setting(0.0)),
    ),
    columns=lambda: _STIMULI.columns,
    build=_build,
)
