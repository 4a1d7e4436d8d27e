"""The study by which pictures are inspected: every quantity that an inspector can compute, and who passes the rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from facevalue.errors import DataError, UnknownNameError
from facevalue.inspection.quantities import BY_NAME, OPENING, QUANTITIES, Need
from facevalue.protocol import settings as given
from facevalue.protocol.asks import Ask
from facevalue.protocol.compiler import compile_study
from facevalue.protocol.inspected_pictures import LOOKED_FOR, MADE_FROM, InspectedPictures
from facevalue.protocol.look import Look, Of
from facevalue.protocol.making import IMAGE
from facevalue.protocol.open_answers import Field
from facevalue.protocol.page import Described, Findings, Page
from facevalue.protocol.picture_checks import PictureVerdicts, read_verdicts, reason_in_words
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.protocol.structured_replies import Measurements
from facevalue.statistics.breakdown import CONTRAST
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.rivals import OTHERS
from facevalue.statistics.statistic import Score
from facevalue.types import OptionValue

if TYPE_CHECKING:
    import polars as pl

    from facevalue.protocol.study import Study


# The page of pictures that were inspected: how many pass, which groups fail more, why, and what to do.


_NAMED = 3
_FEW = 0.5
"""Share of pictures that pass below which a rule or the generator is to be looked at first."""


def page_of_checks(page: Page, verdicts: PictureVerdicts | None) -> Page:
    """The usual page of these takes; where rules were applied, it opens with what they leave."""
    if verdicts is None:
        return replace(page, opening=_no_rules)
    lead = tuple(lead for lead in page.lead if isinstance(lead, Findings))
    overall = Described(of=Of("mean.passes"), text="of the pictures pass their rules", row="{value}")
    return replace(
        page,
        lead=lead or (overall,),
        opening=partial(_opening, verdicts),
        steps=partial(_steps, verdicts, tuple(of for findings in lead for of in findings.of)),
    )


def _no_rules(_: Look) -> Sequence[str]:
    return ("No rules were applied to these pictures yet, or not to all: facevalue inspect-pictures does that.",)


def _opening(verdicts: PictureVerdicts, look: Look) -> Sequence[str]:
    """Number of pictures that pass, and reasons why others do not."""
    judged = verdicts.table[PictureVerdicts.PASSES].drop_nulls()
    passed = int(judged.sum())
    share = look.find("mean", score="passes")
    interval = f" ({look.value(share)} {look.interval(share)})" if share is not None else ""
    sentences = [f"{passed:,} of {len(judged):,} pictures pass{interval}."]
    counts = [(reason, int(verdicts.table[reason].sum())) for reason in verdicts.reasons[:_NAMED]]
    if counts:
        reasons = "; ".join(f"{reason_in_words(reason)} ({count:,} do not)" for reason, count in counts)
        more = len(verdicts.reasons) - len(counts)
        others = f"; and {more} more reason{'s' if more > 1 else ''}" if more else ""
        sentences.append(f"What others fail: {reasons}{others}.")
    return sentences


def _steps(verdicts: PictureVerdicts, gaps: Sequence[Of], look: Look) -> Sequence[str]:
    """Leave out what fails; make more for those who pass less; look at rules that most pictures fail."""
    judged = verdicts.table[PictureVerdicts.PASSES].drop_nulls()
    if not verdicts.reasons:
        return ("Every picture passes: go on with all of them.",)
    steps = ["Leave out what fails: facevalue run STUDY --manifest LIST --exclude CHECKS."]
    if judged.sum() < _FEW * len(judged):
        steps.insert(0, "More than half fail: look at some of them, then change the rule, or the generator or editor.")
    if behind := _behind(gaps, look):
        steps.append(
            f"What is left is not balanced: have more made of those who pass less ({', '.join(behind[:_NAMED])}), "
            "by make --draws or a new seed, until groups pass alike."
        )
    return steps


def _behind(gaps: Sequence[Of], look: Look) -> list[str]:
    """Groups of which fewer pictures pass, as far as that was found."""
    names: dict[str, None] = {}
    for of in gaps:
        factor = of.by[-2]
        for e in look.rows(of):
            if look.found(e) and e.value is not None:
                level = e.labels[factor] if e.value < 0 else e.labels[CONTRAST]
                if level != OTHERS:
                    names[look.title(factor, level)] = None
    return list(names)


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
        """Scores of a picture: passing, failing for each reason, and one score per quantity."""
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


def _declare_protocol(
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
    """Estimands of acceptance: shares that pass, compared between groups, and reasons why others do not."""
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
    """Estimands of what pictures show, by what was edited and who is shown."""
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
    return _compile_study(options, table, None)


def _compile_study(
    options: Mapping[str, OptionValue], table: "pl.DataFrame", verdicts: PictureVerdicts | None
) -> "Study":
    """The study, with what rules left of its pictures where that is known."""
    levels = {name: table[name].drop_nulls().unique().to_list() for name in _STIMULI.sets(table).factors}
    study = compile_study(_declare_protocol(given.names(options, MODELS), levels, verdicts), options, table)
    reading = replace(study.reading, from_place=partial(_with_verdicts, options, table))
    followed = {name: share for name, share in study.watched.followed.items() if name in BY_NAME}
    watched = replace(study.watched, followed=followed)
    return replace(study, reading=reading, watched=watched, page=partial(_page, study, verdicts))


def _with_verdicts(options: Mapping[str, OptionValue], table: "pl.DataFrame", place: Path | str) -> "Study":
    """The study with the verdicts that lie beside a run; without them where there are none that can be read."""
    try:
        verdicts = PictureVerdicts.from_rows(read_verdicts(place))
    except DataError:
        verdicts = None
    return _compile_study(options, table, verdicts)


def _page(study: "Study", verdicts: PictureVerdicts | None) -> "Page":
    from facevalue.protocol.page import with_people  # noqa: PLC0415 - a page's parts take their time

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
