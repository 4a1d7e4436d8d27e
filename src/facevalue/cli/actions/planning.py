"""The cost of a study, made and shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.api.study import rehearse
from facevalue.cli.output import Document, Output
from facevalue.printable import join_names
from facevalue.protocol.offers import PrintedPlan
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import LeftOut
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs.checks import check_pictures
from facevalue.runs.own_pictures.manifest_check import warning_of
from facevalue.runs.pictures import same_shown
from facevalue.runs.plan import BlockPlan, Detection, Plan, detection, planned_precision
from facevalue.runs.plan import plan as make_plan
from facevalue.runs.sight import REQUESTS
from facevalue.statistics.precision import Precision
from facevalue.stimuli.manifest_rows import persons_of
from facevalue.studies import available
from facevalue.types import OptionValue

_LOOKED_AT = 20_000
"""Pictures up to which a plan looks at each: some seconds."""


@dataclass(frozen=True)
class PlannedBlocks:
    """Blocks of a study."""

    stimuli: int
    trials: int
    """Pictures, and requests about them, seeds included."""
    blocks: tuple[BlockPlan, ...]


@dataclass(frozen=True)
class PlanDocument(Document):
    """Requests, tokens and cost of a study, and what it can detect."""

    FORMAT: ClassVar[str] = "plan"
    study: str
    stimuli: int
    """Pictures of the whole study that are judged, the baseline not counted."""
    trials: int
    """Requests about them, seeds included."""
    counted: Mapping[str, Mapping[str, int]]
    """Trials by what the study counts by, such as {"paradigm": {"decision": 2446}}."""
    blocks: tuple[BlockPlan, ...]
    baseline: PlannedBlocks
    """Blocks that serve as reference alone."""
    added: PlannedBlocks
    """References that the published protocol doesn't have."""
    available: PlannedBlocks | None
    """Part of the blocks that the pictures at hand can show; null where that is all."""
    left_out: tuple[LeftOut, ...]
    """Parts that are not shown, and why."""
    requests: int
    """Requests of the sample; all of them without one."""
    pictures: int
    """Pictures in the sample."""
    unit: str
    """What is sampled of a list of one's own pictures, and how many there are; empty for other pictures."""
    prompt_tokens: int
    completion_tokens: int
    """Estimates for the sample."""
    cost: float | None
    """In the currency of the prices; null if none were given."""
    detection: Detection | None
    """What the plan can detect; null unless it was asked for by --sample, --detect, --pilot or --compare."""


@dataclass(frozen=True, slots=True)
class CountedBlock:
    """A row of requests that a paper counts."""

    name: str
    images: int
    prompts: int
    seeds: int
    models: int
    interventions: int
    trials: int
    """Requests: the product of the others."""


@dataclass(frozen=True)
class PaperPlanDocument(Document):
    """Questions that a paper says it asked (`plan --paper-table`)."""

    FORMAT: ClassVar[str] = "paper-plan"
    study: str
    title: str
    blocks: tuple[CountedBlock, ...]
    total: int
    """Requests of all rows."""
    distinct: int
    """Requests, each counted once."""
    notes: tuple[str, ...]
    """Where the paper disagrees with itself, or leaves out what the count needs."""


def plan(
    protocol: Protocol,
    options: dict[str, OptionValue],
    detect: float | None,
    compare: bool,
    pilot: Path | str | None,
    interventions: tuple[str, ...],
    paper_table: str | None,
    **choices: Any,
) -> Output[PlanDocument | PaperPlanDocument]:
    """Show what a study takes, or what its paper says it took."""
    if paper_table is not None:
        printed = _paper_plan(protocol, paper_table)
        return Output(_paper_document(protocol.name, printed), _printed_text(printed))
    study, warnings = protocol.study(options), []
    if study.manifest.height <= _LOOKED_AT or "path" not in study.manifest.columns:
        check_pictures(study)
        if passed_over := warning_of(study, protocol):
            warnings.append(passed_over)
        warnings += filter(None, [same_shown(study).sentence])
    else:
        warnings.append(f"{study.manifest.height:,} pictures are too many to look at here: a run looks at them first.")
    persons = persons_of(study.manifest, protocol.columns())
    if persons is not None and persons.question:
        warnings.append(f"{persons.question[0].upper()}{persons.question[1:]}.")
    study = add_interventions(study, find_variants(interventions))
    study_plan = make_plan(study, **choices)
    rehearse(protocol, study, exact=choices["exact"])
    power: Detection | None = None
    sampled = choices["sample"] is not None and study.planned.precision is not None
    if detect is not None or pilot is not None or sampled or compare:
        from facevalue.runs.stored_run import StoredRun  # noqa: PLC0415

        shared = {name: choices[name] for name in ("sample", "seed", "exact")}
        run = None if pilot is None else StoredRun.open(pilot)
        power = detection(study, requests=study_plan.asked, effect=detect, pilot=run, compare=compare, **shared)

    def text() -> Iterator[RenderableType]:
        yield from _text(study_plan, sampled=choices["sample"] is not None)
        if persons is not None:
            yield Text(persons.unit)
        if study.planned.unshown:
            yield Text(study.planned.unshown, style="bold")
        if power is not None:
            yield from _detection(power, planned_precision(study, compare=compare))

    return Output(_document(study_plan, power, "" if persons is None else persons.unit), text(), warnings=warnings)


def _document(plan: Plan, power: Detection | None, unit: str) -> PlanDocument:
    return PlanDocument(
        study=plan.study,
        stimuli=plan.stimuli,
        trials=plan.trials,
        counted=plan.trial_counts,
        blocks=plan.blocks,
        baseline=_sum_blocks(plan.baseline),
        added=_sum_blocks(plan.added),
        available=None if plan.available is None else _sum_blocks(plan.available),
        left_out=plan.left_out,
        requests=plan.asked,
        pictures=plan.pictures,
        unit=unit,
        prompt_tokens=plan.prompt_tokens,
        completion_tokens=plan.completion_tokens,
        cost=plan.cost,
        detection=power,
    )


def _sum_blocks(blocks: Sequence[BlockPlan]) -> PlannedBlocks:
    return PlannedBlocks(sum(block.stimuli for block in blocks), sum(block.trials for block in blocks), tuple(blocks))


def _paper_document(study: str, printed: PrintedPlan) -> PaperPlanDocument:
    blocks = tuple(
        CountedBlock(
            block.name, block.images, block.prompts, block.seeds, block.models, block.interventions, block.trials
        )
        for block in printed.blocks
    )
    return PaperPlanDocument(study, printed.title, blocks, printed.total, printed.distinct, printed.notes)


def _paper_plan(protocol: Protocol, name: str) -> PrintedPlan:
    plans = protocol.extras.plans
    if not plans:
        others = [other_name for other_name, study in available()[0].items() if study.extras.plans]
        elsewhere = f"; {join_names(others)} {'do' if len(others) > 1 else 'does'}" if others else ""
        raise click.UsageError(f"{protocol.name} offers no plan of its paper{elsewhere}.")
    if name not in plans:
        raise click.BadParameter(
            f"the paper's plans of {protocol.name} are {join_names(list(plans))}", param_hint="--paper-table"
        )
    return plans[name]()


def _printed_text(printed: PrintedPlan) -> Iterator[RenderableType]:
    table = Table(title=printed.title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("block", overflow="fold")
    factors = [name for name in ("images", "prompts", "seeds", "models", "interventions")
               if any(getattr(block, name) > 1 for block in printed.blocks)]  # fmt: skip
    for name in (*factors, "trials"):
        table.add_column("requests" if name == "trials" else name, justify="right", overflow="fold")
    for block in printed.blocks:
        table.add_row(block.name, *(f"{getattr(block, name):,}" for name in (*factors, "trials")))
    table.add_section()
    for label, count in (("total", printed.total), ("distinct", printed.distinct)):
        table.add_row(label, *[""] * len(factors), f"{count:,}", style="bold")
    yield table
    yield from printed.notes


def _detection(power: Detection, precision: Precision) -> Iterator[RenderableType]:
    per = precision.sample_of(power.clusters, power.items)
    detects = f"this detects {power.what} {_effect_text(power.detectable)}"
    if power.detectable is None:
        detects = f"this may miss {power.what} of any size"
    yield Text(f"\nWith {per}, {detects}.")
    if len(power.reaches) > 1:
        for reach in power.reaches:
            rest = "rests" if reach.tests == 1 else "rest"
            line = f"  {reach.tests} of {power.tests} {rest} on {reach.clusters:,} {precision.cluster}: "
            yield Text(line + _effect_text(reach.detectable))
    if power.effect is not None:
        takes = f"{power.needed:,} {precision.cluster}, about {power.requests:,} requests"
        yield Text(f"To detect {power.effect:g}: {takes}", style="bold")
        for reach in power.reaches[:-1]:
            if reach.needed is not None and reach.needed != power.needed:
                yield Text(f"  {reach.needed:,} {precision.cluster} are enough for {reach.tests} of the {power.tests}")
        if power.sample is not None:
            yield Text(f"Or, with the {precision.cluster} of this plan: --sample {power.sample}", style="bold")
    level, tests = power.level / (2 if precision.one_sided else 1), power.tests
    share = f"{level * tests:.2f} of the page's .05, for {tests} test{'s' if tests != 1 else ''}"
    if precision.of_question:
        share = "for each question; their count is compared with the count expected by chance"
    yield Text(
        f"80% power; {'one' if precision.one_sided else 'two'}-sided level {level:.4f}, {share}; SD between "
        f"{precision.cluster} {power.sd:.3f} ({power.source}).",
        style="dim",
    )
    yield from (Text(sentence) for sentence in (power.advice, power.unplanned) if sentence)


def _effect_text(effect: float | None) -> str:
    return "of any size may go unnoticed" if effect is None else f"of {effect:.3f} or more"


def _text(plan: Plan, sampled: bool) -> Iterator[RenderableType]:
    table = Table(title=f"{plan.study}: what the whole study takes", title_justify="left", header_style="bold")
    table.add_column("block")
    table.add_column("stimuli", justify="right")
    table.add_column("requests", justify="right")
    for block in plan.blocks:
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}")
    table.add_section()
    table.add_row("judged", f"{plan.stimuli:,}", f"{plan.trials:,}", style="bold")
    for block in (*plan.baseline, *plan.added):
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}", style="dim")
    yield table
    for name, counts in plan.trial_counts.items():
        listed = ", ".join(f"{level} {count:,}" for level, count in counts.items())
        yield Text(f"By {name}: {listed}.")
    if plan.available is not None:
        at_hand = _sum_blocks(plan.available)
        yield Text(
            f"Of these the pictures at hand show {at_hand.stimuli:,} stimuli, {at_hand.trials:,} requests. Left out:"
        )
    elif plan.left_out:
        yield "Left out, or less than the study asks for:"
    for omission in plan.left_out:
        yield Text.assemble("  ", omission.what, (f"  {omission.why}", "dim"))
    scope = "The sample" if sampled else "Everything" if plan.available is None else "Everything that can be shown"
    base = ", base images included," if plan.baseline and not sampled else ""
    about = f"about {plan.pictures:,} {plan.nouns[plan.pictures != 1]}" if plan.pictures else "without a picture"
    yield Text(f"{scope}{base} takes {plan.asked:,} requests {about}.")
    yield Text(f"Tokens, roughly: {plan.prompt_tokens:,} in, {plan.completion_tokens:,} out.", style="dim")
    if plan.pictures:
        text = f"Before, {REQUESTS} requests tell whether the model sees, unless it says so itself (--no-sight-check)."
        yield Text(text, style="dim")
    if plan.cost is not None:
        yield Text(f"Cost, roughly: {plan.cost:,.2f}.")
