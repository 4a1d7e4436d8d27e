"""Trials of interventions: any study asked twice, as it is and with changed requests, on the same trials."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design
from facevalue.errors import DataError
from facevalue.measures.base import Measure
from facevalue.prompts.interventions import PLAIN, Intervention, checked
from facevalue.protocol.expected_precision import Precision, Spread
from facevalue.protocol.study import Study
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.blank import WITHOUT, blanked
from facevalue.stimuli.captions import Caption
from facevalue.stimuli.pair_source import TEXT
from facevalue.store.manifest import INTERVENTIONS
from facevalue.studies.intervention_conditions import FACTOR, READING, Conditions, asked_blocks
from facevalue.types import OptionValue, Stimulus


def intervened(study: Study, interventions: Sequence[Intervention]) -> Study:
    """Ask a study as it is and with each intervention.

    Returns a study whose design is the plain one followed by it once more per intervention, so that trial t of the
    plain study is trial t here, and t + c `size` with intervention c = 1, 2, ..., unless one is asked of some blocks
    alone (`Changes.intervened`). The column `intervention` names the condition. Samples have the same trials in all
    conditions; the requests wanted are those of all together. Without an
    intervention it is the study itself.
    """
    done = checked(interventions)
    if not done:
        return study
    if INTERVENTIONS in study.options:
        raise DataError(f"{study.name} has interventions already: give all of them at once.")
    for block in study.design.blocks:
        if FACTOR in block.choices():
            raise DataError(f"{study.name} has a factor {FACTOR!r} of its own: it cannot be intervened in.")
    _check_captions(study, done)
    conditions = Conditions(study, done)
    recorded: dict[str, OptionValue] = {INTERVENTIONS: [one.text() for one in done]}
    return replace(
        study,
        options={**study.options, **recorded},
        design=_design(study, study.design, done),
        planned=replace(
            study.planned,
            protocol=None if study.planned.protocol is None else _design(study, study.planned.protocol, done),
            precision=None if study.planned.precision is None else _precision(study.planned.precision, conditions),
        ),
        source=Shown(study.source, conditions),
        ask=conditions.ask,
        sample=conditions.sample,
        answer=conditions.answer,
        analyse=partial(_analyse, conditions),
        estimates=replace(
            study.estimates,
            measures=(*study.estimates.measures, *_measures(study, done)),
            labels=tuple(
                dict.fromkeys([*study.estimates.labels, *([READING] if any(one.cipher for one in done) else [])])
            ),
        ),
        about=replace(
            study.about,
            titles={**study.about.titles, FACTOR: {PLAIN: "As it is", **{one.name: one.label for one in done}}},
        ),
    )


def _check_captions(study: Study, done: Sequence[Intervention]) -> None:
    bare = next((block.name for block in study.design.blocks if TEXT in block.choices().get("shown", ())), None)
    captioned = next((one.name for one in done if one.caption), None)
    if bare is not None and captioned is not None:
        raise DataError(
            f"{captioned} writes below a picture, and {study.name} shows none in {bare!r}: leave out these "
            f"questions, or {captioned}."
        )


def _analyse(conditions: Conditions, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    from facevalue.studies.intervention_effects import analyse  # noqa: PLC0415 - scipy.stats takes a second to import

    return analyse(conditions, answers)


def _measures(study: Study, done: Sequence[Intervention]) -> tuple[Measure, ...]:
    from facevalue.studies.intervention_effects import measures  # noqa: PLC0415

    return measures(study.estimates.measures, ciphered=any(one.cipher for one in done))


def _design(study: Study, plain: Design, done: Sequence[Intervention]) -> Design:
    """The plain blocks, then those that each intervention is asked of; the column `intervention` comes last."""
    names = (PLAIN, *(one.name for one in done))
    return Design(
        tuple(
            replace(block, name=_block_name(block, condition), constants={**block.constants, FACTOR: condition})
            for condition, asked in zip(names, asked_blocks(study, plain, done), strict=True)
            for block in (plain.blocks[at] for at in asked.tolist())
        )
    )


def _block_name(block: Block, condition: str) -> str:
    return block.name if condition == PLAIN else f"{block.name} + {condition}"


class Shown:
    """What the conditions show: the plain study's picture, none, or a blank one; and what is written below it."""

    def __init__(self, source: Source, conditions: Conditions) -> None:
        self.plain = source
        design = conditions.study.design
        self._conditions = conditions
        done = conditions.interventions
        self._pictures = ["keep", *(one.picture for one in done)]
        self._captions = [None, *(Caption(one.caption) if one.caption else None for one in done)]
        self._of = {PLAIN: "keep", **{one.name: one.picture for one in done}}
        self._block = {_block_name(b, c): b.name for b in design.blocks for c in self._of}

    @property
    def kind(self) -> Kind:
        """What kind of pictures the plain study shows."""
        return self.plain.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown; see `Source.stimulus`. A kept picture is the very stimulus of the plain study."""
        condition, plain_number = self._conditions.stimulus(number)
        picture, caption = self._pictures[condition], self._captions[condition]
        if picture == "none" and levels.get("shown") != TEXT:
            return WITHOUT
        own = {name: value for name, value in levels.items() if name != FACTOR}
        if own.get("block") is not None:
            own["block"] = self._block[str(own["block"])]
        plain = self.plain.stimulus(plain_number, own)
        shown = blanked(plain) if picture == "blank" and levels.get("shown") != TEXT else plain
        return shown if caption is None else caption.below(shown)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Let the plain study's source look at every picture whose content or size is needed; see `Source.check`."""
        shown = [self._of[str(name)] != "none" for name in levels[FACTOR]]
        if not any(shown):
            return
        own = {
            name: [value for value, keep in zip(values, shown, strict=True) if keep]
            for name, values in levels.items()
            if name != FACTOR
        }
        if "block" in own:
            own["block"] = [self._block[str(name)] for name in own["block"]]
        self.plain.check(own)


def _precision(plain: Precision, conditions: Conditions) -> Precision:
    """What the plain condition alone can detect; all conditions have the same trials."""
    size = conditions.study.design.size

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        return plain.units(numbers[numbers < size])

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        return plain.spread(
            (conditions.plain(part) for chunk in chunks if (part := chunk.filter(pl.col("trial") < size)).height),
            source,
        )

    return replace(plain, units=units, spread=spread)
