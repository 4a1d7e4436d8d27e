"""The study by which pictures are inspected: every quantity that an inspector can compute, and who passes the rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from facevalue.errors import DataError, UnknownNameError
from facevalue.inspection.expectation import OPENING
from facevalue.inspection.quantities import BY_NAME, QUANTITIES, Need
from facevalue.protocol import settings as given
from facevalue.protocol.asks import Ask
from facevalue.protocol.checked_pictures import PictureVerdicts, read_verdicts
from facevalue.protocol.compiled import compiled
from facevalue.protocol.inspected_pictures import LOOKED_FOR, MADE_FROM, InspectedPictures
from facevalue.protocol.making import IMAGE
from facevalue.protocol.measured import Measurements
from facevalue.protocol.picture_rules import reason_in_words
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.protocol.written import Field
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.statistic import Score
from facevalue.types import OptionValue

if TYPE_CHECKING:
    import polars as pl

    from facevalue.protocol.page import Page
    from facevalue.protocol.study import Study

GROUPS = ("gender", "age", "race", "ethnicity", "skin_tone", "group")
"""Columns by which quantities and acceptance are broken down, where a list of pictures has them."""
MODELS = "models"
"""Setting: what the inspector has models for, by which it is known what it can compute."""
PASSES, FAILS = "passes", "fails_{}"
"""Scores of whether a picture passes its rules, and whether it fails for a reason, by its number."""
WHO, WHY = "pictures that pass", "why pictures fail"
_SHOWN = "what the pictures show"
_OF_FILES = ("readable", "width", "height", "size_change", "aspect_change", "format_same")
"""Facts of files: rules are about them, and no mean is."""
_STIMULI = InspectedPictures()
_PROMPT = f"{OPENING}\ntext: {{{MADE_FROM}}}\nattribute: {{{LOOKED_FOR}}}"
_NEEDS = tuple(need.value for need in Need if need)


@dataclass(frozen=True)
class JudgedMeasurements(Measurements):
    """Measurements of pictures, and whether each passes its rules.

    Attributes
    ----------
    verdicts:
        What rules left; None where none were applied yet.

    Examples
    --------
    >>> JudgedMeasurements({"shift": Field("%", 0, 100)}).scores[0].name
    'shift'
    """

    verdicts: PictureVerdicts | None = field(default=None, compare=False, repr=False)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Whether it passes, whether it fails for each reason, and a score per quantity."""
        if self.verdicts is None:
            return super().scores
        passing = Score(
            PASSES, "Pictures that pass", "share", 0.0, 1.0, quantity="pictures that pass",
            moved=("pass {size} more often", "pass {size} less often"),
        )  # fmt: skip
        reasons = (
            Score(FAILS.format(number), f"Fail: {reason_in_words(reason)}", "share", 0.0, 1.0)
            for number, reason in enumerate(self.verdicts.reasons, start=1)
        )
        return (passing, *reasons, *super().scores)

    def read(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """The fields of each reply, and what became of its picture."""
        answers = super().read(frame)
        if self.verdicts is None:
            return answers
        verdicts = self.verdicts.of_images(frame[IMAGE])
        names = {reason: FAILS.format(number) for number, reason in enumerate(self.verdicts.reasons, start=1)}
        return answers.with_columns(verdicts.rename({PictureVerdicts.PASSES: PASSES, **names}))


def _declared(
    models: Sequence[str], levels: Mapping[str, Collection[str]], verdicts: PictureVerdicts | None
) -> Protocol:
    """The declaration for an inspector with models for these, and pictures with these factors and their levels."""
    for name in models:
        if name not in _NEEDS:
            raise UnknownNameError("model of an inspector", name, _NEEDS)
    fields = {
        quantity.name: Field(quantity.unit, quantity.least, quantity.greatest, title=quantity.title)
        for quantity in QUANTITIES
        if not quantity.need or quantity.need.value in models
    }
    groups = [name for name in GROUPS if name in levels]
    return replace(
        PROTOCOL,
        build=None,
        stimuli=_STIMULI,
        ask=Ask((_PROMPT,), JudgedMeasurements(fields, verdicts)),
        estimands=(
            *(_acceptance(groups, levels, verdicts) if verdicts else ()),
            *_descriptions(fields, groups, levels),
        ),
    )


def _acceptance(
    groups: Sequence[str], levels: Mapping[str, Collection[str]], verdicts: PictureVerdicts
) -> list[Estimand]:
    """Who passes, compared between groups, and why others do not."""
    compared = [name for name in groups if len(levels[name]) > 1]
    estimands = [Estimand(Mean(), scores=(PASSES,), family=WHO)]
    for name in compared:
        family = f"{WHO}, by {name.replace('_', ' ')}"
        estimands.append(Estimand(Gap(factor=name), scores=(PASSES,), family=family))
        estimands.append(Estimand(Mean(), by=(name,), scores=(PASSES,), family=family))
    if LOOKED_FOR in levels:
        estimands.append(Estimand(Mean(), by=(LOOKED_FOR,), scores=(PASSES,), family=f"{WHO}, by edit"))
    if reasons := tuple(FAILS.format(number) for number in range(1, len(verdicts.reasons) + 1)):
        estimands.append(Estimand(Mean(), scores=reasons, family=WHY))
        estimands += [
            Estimand(Mean(), by=(name,), scores=reasons, family=f"{WHY}, by {name.replace('_', ' ')}")
            for name in compared
        ]
    return estimands


def _descriptions(
    fields: Collection[str], groups: Sequence[str], levels: Mapping[str, Collection[str]]
) -> list[Estimand]:
    """What pictures show, by what was edited and who is shown."""
    scores = tuple(name for name in fields if name not in _OF_FILES)
    estimands = [Estimand(Mean(), scores=scores, family=_SHOWN)]
    if LOOKED_FOR in levels:
        estimands.append(Estimand(Mean(), by=(LOOKED_FOR,), scores=scores, family=f"{_SHOWN}, by edit"))
    return [
        *estimands,
        *(
            Estimand(Mean(), by=(name,), scores=scores, family=f"{_SHOWN}, by {name.replace('_', ' ')}")
            for name in groups
        ),
    ]


def _build(options: Mapping[str, OptionValue], manifest: "pl.DataFrame | None") -> "Study":
    table = _STIMULI.table(options) if manifest is None else manifest
    return _compiled(options, table, None)


def _compiled(options: Mapping[str, OptionValue], table: "pl.DataFrame", verdicts: PictureVerdicts | None) -> "Study":
    """The study, with what rules left of its pictures where that is known."""
    levels = {name: table[name].drop_nulls().unique().to_list() for name in _STIMULI.sets(table).factors}
    study = compiled(_declared(given.names(options, MODELS), levels, verdicts), options, table)
    reading = replace(study.reading, from_place=partial(_with_verdicts, options, table))
    followed = {name: share for name, share in study.watched.followed.items() if name in BY_NAME}
    watched = replace(study.watched, followed=followed)
    return replace(study, reading=reading, watched=watched, page=partial(_page, study, verdicts))


def _with_verdicts(options: Mapping[str, OptionValue], table: "pl.DataFrame", place: Path | str) -> "Study":
    """The study with the verdicts that lie beside a run; without them where there are none that can be read."""
    try:
        verdicts = PictureVerdicts.of(read_verdicts(place))
    except DataError:
        verdicts = None
    return _compiled(options, table, verdicts)


def _page(study: "Study", verdicts: PictureVerdicts | None) -> "Page":
    from facevalue.protocol.people_look import with_people  # noqa: PLC0415 - a page's parts take their time
    from facevalue.studies.declared.pictures_page import page_of_checks  # noqa: PLC0415

    assert study.page is not None
    return with_people(page_of_checks(study.page(), verdicts))


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
