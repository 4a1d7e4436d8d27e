"""Variants of a study: the trials of each, the estimates of their changes, and how a study declares them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures import paired_changes
from facevalue.measures.cells import unit_of
from facevalue.measures.definitions import NO_INTERVENTION, Measure
from facevalue.measures.estimates import EstimateTable, stack_estimates
from facevalue.measures.estimators import SumTable
from facevalue.measures.paired_changes import ChangeSet, add_readings, reduce_estimates
from facevalue.prompts import caesar
from facevalue.prompts.phrases import check_unfilled
from facevalue.prompts.variants import PLAIN, Variant, check_distinct
from facevalue.protocol.asks import Ask
from facevalue.protocol.compiler import asked_variants, compile_study
from facevalue.protocol.conditions import FACTOR, READING, Conditions, varied_design
from facevalue.protocol.kept_answers import COLUMNS, MOST_ROWS, Groups, KeptAnswers, UnitNames, grouped, left_out
from facevalue.protocol.replies import Options
from facevalue.protocol.study import Study
from facevalue.protocol.tasks import TASK
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.captions import Caption
from facevalue.stimuli.pairs import TEXT
from facevalue.stimuli.pixels import WITHOUT, blank_stimulus
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import OptionValue, Stimulus

if TYPE_CHECKING:
    from facevalue.protocol.protocol import Protocol


# Trials of variants: any study asked as it is and in other ways, on the same trials.


def add_interventions(study: Study, interventions: Sequence[Variant]) -> Study:
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
    out = add_variants(study.changes.plain or study, variants, study.changes.versions)
    return replace(out, options={**study.options, INTERVENTIONS: [variant.text() for variant in interventions]})


def add_variants(study: Study, variants: Sequence[Variant], versions: Mapping[str, Study]) -> Study:
    """Ask a plain study as it is and in each variant.

    Returns a study whose design is the plain one followed by it once more per variant, so that trial t of the plain
    study is trial t here, and t + c `size` in variant c = 1, 2, ..., unless one is asked of some blocks alone. The
    column `intervention` names the condition. Samples have the same trials in all conditions.

    Parameters
    ----------
    versions:
        The study with the wording of each variant that has one of its own, by name.
    """
    variants = check_distinct(variants)
    for variant in variants:
        with error_place(variant.where):
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
                FACTOR: {PLAIN: "Unchanged", **{variant.name: variant.label for variant in variants}},
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

    return analyse(conditions, answers)


def _reading_shares(study: Study) -> tuple[Measure, ...]:
    from facevalue.measures.cells import unit_of  # noqa: PLC0415
    from facevalue.measures.paired_changes import reading_share  # noqa: PLC0415

    return (reading_share(unit_of(study.estimates.measures)),)


class ConditionStimuli:
    """Stimuli of the conditions: the plain study's picture, none, or a blank one; and the caption below it."""

    def __init__(self, source: Source, conditions: Conditions) -> None:
        self.plain = source
        self._conditions = conditions
        self._pictures = ["keep", *(variant.picture for variant in conditions.variants)]
        captions = (variant.caption for variant in conditions.variants)
        self._captions = [None, *(Caption(text) if text else None for text in captions)]

    @property
    def kind(self) -> Kind:
        """Kind of pictures that the plain study shows."""
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
        stimulus = blank_stimulus(plain) if picture == "blank" and levels.get("shown") != TEXT else plain
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
    """Precision of the plain condition alone; all conditions have the same trials."""
    size = conditions.study.design.size

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        return plain.units(numbers[numbers < size])

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_plain = (chunk.filter(pl.col("trial") < size) for chunk in chunks)
        return plain.spread((conditions.plain(chunk) for chunk in of_plain if chunk.height), source)

    return replace(plain, units=units, spread=spread)


# Estimates of variants: those of the plain study in each condition, and their paired changes.


_UNIT = COLUMNS[0]


def analyse(conditions: Conditions, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything in every condition, and the changes.

    Returns the plain study's estimates from the plain answers; then, for each model and variant, its estimates and
    their changes, with the label `intervention`. A condition without answers has none.
    """
    study = conditions.study
    with TemporaryDirectory(prefix="facevalue-") as folder:
        by_model = {
            model: _split(conditions, model, chunks, Path(folder) / str(at))
            for at, (model, chunks) in enumerate(answers.items())
        }
        tables = [study.analyse({model: conditions_of[0].chunks() for model, conditions_of in by_model.items()})]
        for model, conditions_of in by_model.items():
            plain = tables[0].filter(pl.col("model") == model) if tables[0].height else tables[0]
            tables += _model(conditions, model, conditions_of, plain)
    return stack_estimates([table for table in tables if table.height] or tables[:1])


def _split(conditions: Conditions, model: str, chunks: Iterator[pl.DataFrame], folder: Path) -> list[KeptAnswers]:
    """One model's answers by condition."""
    units = UnitNames().study_units(conditions.study)
    count = 1 + len(conditions.variants)
    out = [KeptAnswers(conditions.study, model, units, folder / str(condition)) for condition in range(count)]
    for chunk in chunks:
        plain = conditions.plain(chunk)
        condition = pl.Series(conditions.conditions_of_trials(chunk))
        for c, answers in enumerate(out):
            of_condition = plain.filter(condition == c)
            if of_condition.height:
                answers.add(of_condition, to_disk=sum(a.rows for a in out) > MOST_ROWS)
    return out


def _model(
    conditions: Conditions, model: str, by_condition: Sequence[KeptAnswers], plain: pl.DataFrame
) -> list[pl.DataFrame]:
    """Estimates and changes of one model in every variant."""
    study, unit = conditions.study, unit_of(conditions.study.estimates.measures)
    base = by_condition[0]
    groups = grouped(by_condition, paired=True)
    plain_taken: dict[bytes, tuple[pl.DataFrame, list[pl.DataFrame]]] = {}
    tables = []
    for variant, changed in zip(conditions.variants, by_condition[1:], strict=True):
        if not changed.rows:
            continue
        name = variant.name
        estimates = changed.estimates()
        tables.append(estimates.with_columns(pl.lit(name).alias("intervention")))
        table = EstimateTable(study.name, model, (READING,) if variant.cipher else (), name)
        if variant.cipher:
            _add_readings(table, changed, unit)
        if base.rows:
            shared = np.intersect1d(base.trials(), changed.trials())
            is_whole = shared.size == base.trials().size == changed.trials().size
            first, second = (base, changed) if is_whole else (base.of_trials(shared), changed.of_trials(shared))
            if shared.tobytes() not in plain_taken:
                plain_taken[shared.tobytes()] = _estimate_condition(first, groups, plain if is_whole else None)
            before, after = (
                plain_taken[shared.tobytes()],
                _estimate_condition(second, groups, estimates if is_whole else None),
            )
            changes = ChangeSet(before[0], after[0], left_out(before[1], after[1], groups))
            tables.append(changes.table(study.estimates.measures, study.name, model, name))
            add_missing_change(table, first, second, unit, NO_INTERVENTION)
            if study.changes.alike is not None:
                tables.append(study.changes.alike(model, name, first.chunks(), second.chunks()))
        tables.append(table.frame())
    return tables


def _estimate_condition(
    answers: KeptAnswers, groups: Groups, ready: pl.DataFrame | None
) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """The estimates of one condition, and their values without each group."""
    estimates = answers.estimates() if ready is None else ready
    return reduce_estimates(estimates), list(answers.without(groups))


def add_missing_change(table: EstimateTable, first: KeptAnswers, second: KeptAnswers, unit: str, versus: str) -> None:
    """Add the change in the share of replies without a valid answer, over the units on either side of each pair."""
    totals = _totals(first).join(_totals(second), on=["unit_1", "unit_2"], how="full", coalesce=True, suffix="_other")
    paired_changes.add_missing_change(table, totals.fill_null(0.0), unit, versus)


def _totals(answers: KeptAnswers) -> pl.DataFrame:
    """Replies and those without a valid answer, by pair of units."""
    ranks, totals = answers.units.names.ranks(), SumTable(("unit_1", "unit_2"), ("replies", "missing"))
    for rows in answers.raw():
        valid = pl.col("mass").cast(pl.Float64) if "mass" in rows.columns else pl.lit(1.0)
        mass = pl.when(pl.col("na").is_null()).then(valid).fill_null(0.0)
        first, second = (pl.Series(ranks[rows[name].to_numpy()]) for name in COLUMNS)
        totals.add(
            rows.select(
                unit_1=pl.min_horizontal(first, second), unit_2=pl.max_horizontal(first, second),
                replies=pl.lit(1.0), missing=1 - mass,
            )
        )  # fmt: skip
    return totals.frame().sort("unit_1", "unit_2")


def _add_readings(table: EstimateTable, answers: KeptAnswers, unit: str) -> None:
    counts_of = [chunk.filter(pl.col(READING).is_not_null()).group_by(_UNIT, READING).len() for chunk in answers.raw()]
    counted = pl.concat(counts_of).group_by(_UNIT, READING).agg(pl.col("len").sum()).sort(_UNIT)
    if not counted.height:
        return
    kinds = [kind.value for kind in caesar.CipherKind]
    cluster = counted[_UNIT].rank("dense").to_numpy().astype(np.int64) - 1
    kind = counted[READING].cast(pl.Enum(kinds)).to_physical().to_numpy().astype(np.int64)
    counts = np.zeros((int(cluster.max()) + 1, len(kinds)))
    np.add.at(counts, (cluster, kind), counted["len"].to_numpy())
    add_readings(table, counts, kinds, unit)


# Variants that a study declares: its questions in their wording, and the study that asks them besides.


def in_variants(protocol: "Protocol", study: Study, options: Mapping[str, OptionValue]) -> Study:
    """Ask a compiled study in the variants of its protocol, too: those of tasks that are asked."""
    variants = asked_variants(protocol, {block.constants.get(TASK, "") for block in study.design.blocks})
    if not variants:
        return study
    versions = {
        variant.name: compile_study(_in_words_of(variant, protocol), options, study.manifest)
        for variant in variants if variant.reworded
    }  # fmt: skip
    return add_variants(study, variants, versions)


def check_variants(protocol: "Protocol") -> None:
    """Refuse variants that this study cannot be asked in.

    Raises
    ------
    DataError
        Two have one name, or one changes what the questions have not, or nothing.
    UnknownNameError
        There is no such task or option.
    """
    if protocol.variants and protocol.build is not None:
        raise DataError(f"The study {protocol.name!r} is built in Python, which declares no variants.")
    for variant in check_distinct(protocol.variants):
        reword_asks(variant, protocol.asks)


def _in_words_of(variant: Variant, protocol: "Protocol") -> "Protocol":
    asks = reword_asks(variant, protocol.asks)
    return replace(protocol, variants=(), **({"ask": asks[""]} if protocol.ask is not None else {"tasks": asks}))


def reword_asks(variant: Variant, asks: Mapping[str, Ask]) -> dict[str, Ask]:
    """Questions by task, in the wording of a variant."""
    with error_place(variant.where):
        for task in variant.tasks:
            if "" in asks:
                raise DataError(f"{variant.name!r} names tasks, and the study asks one question.")
            if task not in asks:
                raise UnknownNameError("task", task, asks)
        tasks = variant.tasks or tuple(asks)
        if variant.prompt and len(tasks) > 1:
            raise DataError(f"{variant.name!r} is one wording of {len(tasks)} tasks: name one, tasks = [{tasks[0]!r}].")
        return {name: _reword_ask(variant, ask) if name in tasks else ask for name, ask in asks.items()}


def _reword_ask(variant: Variant, ask: Ask) -> Ask:
    prompts, reply = ask.prompts, ask.reply
    if variant.prompt and len(prompts) > 1:
        raise DataError(
            f"{variant.name!r} is another wording of a question that has {len(prompts)}: make it one of the "
            "paraphrases, or leave these out."
        )
    if variant.prompt in prompts:
        raise DataError(f"{variant.name!r} words the question as it is.")
    if variant.options:
        if not isinstance(reply, Options) or reply.parser != "choice":
            raise DataError(f"{variant.name!r} words options anew, and the answer is no choice among options.")
        if reply.languages:
            raise DataError(f"{variant.name!r} words options anew, and the answer has options in several languages.")
        for name in variant.options:
            if name not in reply.texts:
                raise UnknownNameError("option", name, reply.texts)
        reply = replace(reply, texts={**reply.texts, **variant.options}, where="")
    return replace(ask, prompts=(variant.prompt,) if variant.prompt else prompts, reply=reply, where=variant.where)
