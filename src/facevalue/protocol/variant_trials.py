"""Trials of variants: any study asked as it is and in other ways, on the same trials."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, placed
from facevalue.measures.definitions import Measure
from facevalue.prompts.variants import PLAIN, Variant, checked
from facevalue.protocol.conditions import FACTOR, READING, Conditions, varied_design
from facevalue.protocol.slots import check_unfilled
from facevalue.protocol.study import Study
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.blank import WITHOUT, blanked
from facevalue.stimuli.captions import Caption
from facevalue.stimuli.pair_source import TEXT
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import Stimulus


def intervened(study: Study, interventions: Sequence[Variant]) -> Study:
    """Ask a study as it is, in the variants that it declares, and with each intervention.

    The requests wanted of a sample are those of all together. Without an intervention it is the study itself.
    """
    if not interventions:
        return study
    if INTERVENTIONS in study.options:
        raise DataError(f"{study.name} has interventions already: give all of them at once.")
    for variant in interventions:
        if variant.reworded:
            raise DataError(
                f"{variant.name!r} words the question anew, which only the study itself can do: declare it in the "
                f"study's file, [variant.{variant.name}]."
            )
    variants = (*study.changes.variants, *interventions)
    out = varied(study.changes.plain or study, variants, study.changes.versions)
    return replace(out, options={**study.options, INTERVENTIONS: [variant.text() for variant in interventions]})


def varied(study: Study, variants: Sequence[Variant], versions: Mapping[str, Study]) -> Study:
    """Ask a plain study as it is and in each variant.

    Returns a study whose design is the plain one followed by it once more per variant, so that trial t of the plain
    study is trial t here, and t + c `size` in variant c = 1, 2, ..., unless one is asked of some blocks alone. The
    column `intervention` names the condition. Samples have the same trials in all conditions.

    Parameters
    ----------
    versions:
        The study with the wording of each variant that has one of its own, by name.
    """
    variants = checked(variants)
    for variant in variants:
        with placed(variant.where):
            texts = (
                variant.before,
                variant.after,
                variant.system,
                variant.caption,
                *(text for _, text in variant.turns),
            )
            check_unfilled(texts, f"the texts that {variant.name!r} puts beside the prompt")
    for block in study.design.blocks:
        if FACTOR in block.choices():
            raise DataError(f"{study.name} has a factor {FACTOR!r} of its own: it cannot be asked in variants.")
    _check_captions(study, variants)
    conditions = Conditions(study, variants, versions)
    planned, labels = study.planned, study.estimates.labels
    ciphered = any(variant.cipher for variant in variants)
    return replace(
        study,
        design=conditions.design,
        planned=replace(
            planned,
            protocol=None if planned.protocol is None else varied_design(study, planned.protocol, variants)[0],
            precision=None if planned.precision is None else _precision(planned.precision, conditions),
        ),
        source=ConditionStimuli(study.source, conditions),
        ask=conditions.ask,
        sample=conditions.sample,
        answer=conditions.answer,
        analyse=partial(_analyse, conditions),
        estimates=replace(
            study.estimates,
            measures=(*study.estimates.measures, *(_reading_shares(study) if ciphered else ())),
            labels=tuple(dict.fromkeys([*labels, *([READING] if ciphered else [])])),
        ),
        about=replace(
            study.about,
            titles={
                **study.about.titles,
                FACTOR: {PLAIN: "As it is", **{variant.name: variant.label for variant in variants}},
            },
        ),
        changes=replace(study.changes, plain=study, variants=variants, versions=versions),
    )


def _check_captions(study: Study, variants: Sequence[Variant]) -> None:
    bare = next((block.name for block in study.design.blocks if TEXT in block.choices().get("shown", ())), None)
    captioned = next((variant.name for variant in variants if variant.caption), None)
    if bare is not None and captioned is not None:
        raise DataError(
            f"{captioned} writes below a picture, and {study.name} shows none in {bare!r}: leave out these "
            f"questions, or {captioned}."
        )


def _analyse(conditions: Conditions, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    from facevalue.protocol.variant_changes import analyse  # noqa: PLC0415 - scipy.stats takes a second to import

    return analyse(conditions, answers)


def _reading_shares(study: Study) -> tuple[Measure, ...]:
    from facevalue.measures.cells import unit_of  # noqa: PLC0415
    from facevalue.measures.paired_changes import reading_share  # noqa: PLC0415

    return (reading_share(unit_of(study.estimates.measures)),)


class ConditionStimuli:
    """What the conditions show: the plain study's picture, none, or a blank one; and what is written below it."""

    def __init__(self, source: Source, conditions: Conditions) -> None:
        self.plain = source
        self._conditions = conditions
        self._pictures = ["keep", *(variant.picture for variant in conditions.variants)]
        captions = (variant.caption for variant in conditions.variants)
        self._captions = [None, *(Caption(text) if text else None for text in captions)]

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
        plain_levels = {name: value for name, value in levels.items() if name != FACTOR}
        if plain_levels.get("block") is not None:
            plain_levels["block"] = self._conditions.plain_blocks[str(plain_levels["block"])]
        plain = self.plain.stimulus(plain_number, plain_levels)
        stimulus = blanked(plain) if picture == "blank" and levels.get("shown") != TEXT else plain
        return stimulus if caption is None else caption.below(stimulus)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Let the plain study's source look at every picture whose content or size is needed; see `Source.check`."""
        if FACTOR not in levels:
            self.plain.check(levels)
            return
        bare = {variant.name for variant in self._conditions.variants if variant.picture == "none"}
        rows = [at for at, name in enumerate(levels[FACTOR]) if name not in bare]
        if not rows:
            return
        plain_levels = {name: [values[at] for at in rows] for name, values in levels.items() if name != FACTOR}
        if "block" in plain_levels:
            plain_levels["block"] = [self._conditions.plain_blocks[str(name)] for name in plain_levels["block"]]
        self.plain.check(plain_levels)


def _precision(plain: Precision, conditions: Conditions) -> Precision:
    """What the plain condition alone can detect; all conditions have the same trials."""
    size = conditions.study.design.size

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        return plain.units(numbers[numbers < size])

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_plain = (chunk.filter(pl.col("trial") < size) for chunk in chunks)
        return plain.spread((conditions.plain(chunk) for chunk in of_plain if chunk.height), source)

    return replace(plain, units=units, spread=spread)
