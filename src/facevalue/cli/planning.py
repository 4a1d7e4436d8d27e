"""The cost of a study, made and shown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from facevalue.api.rehearsed import rehearse
from facevalue.protocol.expected_precision import Precision
from facevalue.protocol.printed_plans import PrintedPlan
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.variant_files import chosen
from facevalue.protocol.variant_trials import intervened
from facevalue.runs.checks import check_pictures
from facevalue.runs.plan import Plan
from facevalue.runs.plan import plan as make_plan
from facevalue.studies import available
from facevalue.studies.offers import listed
from facevalue.terminal import say, terminal
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.runs.power import Detection

_LOOKED_AT = 20_000
"""Pictures up to which a plan looks at each: some seconds."""


def plan(
    protocol: Protocol,
    options: dict[str, OptionValue],
    as_json: bool,
    detect: float | None,
    compare: bool,
    pilot: Path | str | None,
    interventions: tuple[str, ...],
    paper_table: str | None,
    **choices: Any,
) -> None:
    """Show what a study takes, or what its paper says it took."""
    if paper_table is not None:
        _show_printed(_printed(protocol, paper_table), as_json)
        return
    study = protocol.study(options)
    if study.manifest.height <= _LOOKED_AT or "path" not in study.manifest.columns:
        check_pictures(study)
    else:
        say(f"{study.manifest.height:,} pictures are too many to look at here: a run looks at them first.", err=True)
    study = intervened(study, chosen(interventions))
    study_plan = make_plan(study, **choices)
    rehearse(protocol, study, exact=choices["exact"])
    power: Detection | None = None
    sampled = choices["sample"] is not None and study.planned.precision is not None
    if detect is not None or pilot is not None or sampled or compare:
        from facevalue.runs.power import detection  # noqa: PLC0415 - slow to import
        from facevalue.runs.stored import StoredRun  # noqa: PLC0415

        shared = {name: choices[name] for name in ("sample", "seed", "exact")}
        run = None if pilot is None else StoredRun.open(pilot)
        power = detection(study, requests=study_plan.asked, effect=detect, pilot=run, compare=compare, **shared)
    if as_json:
        extra = {} if power is None else {"detection": power.json()}
        click.echo(json.dumps({**study_plan.json(), **extra}, indent=2))
        return
    show(study_plan, sampled=choices["sample"] is not None)
    if study.planned.unshown:
        terminal().print(study.planned.unshown, style="bold", highlight=False)
    if power is not None:
        from facevalue.runs.power import planned  # noqa: PLC0415 - slow to import

        _show_detection(power, planned(study, compare=compare))


def _printed(protocol: Protocol, name: str) -> PrintedPlan:
    plans = protocol.extras.plans
    if not plans:
        others = [other_name for other_name, protocol in available()[0].items() if protocol.extras.plans]
        elsewhere = f"; {listed(others)} {'do' if len(others) > 1 else 'does'}" if others else ""
        raise click.UsageError(f"{protocol.name} offers no plan of its paper{elsewhere}.")
    if name not in plans:
        raise click.BadParameter(
            f"the paper's plans of {protocol.name} are {listed(list(plans))}", param_hint="--paper-table"
        )
    return plans[name]()


def _show_printed(printed: PrintedPlan, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(printed.json(), indent=2))
        return
    console = terminal()
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
    console.print(table)
    for note in printed.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _show_detection(power: "Detection", precision: Precision) -> None:
    console = terminal()
    items = f"{power.items:,.0f}" if power.items >= 100 else f"{power.items:.3g}"
    per = f"{power.clusters:,} {precision.cluster} with {items} {precision.item} each"
    detects = f"this detects {power.what} {_from(power.detectable)}"
    if power.detectable is None:
        detects = f"this may miss {power.what} of any size"
    console.print(f"\nWith {per}, {detects}.", highlight=False)
    if len(power.reaches) > 1:
        for reach in power.reaches:
            rest = "rests" if reach.tests == 1 else "rest"
            line = f"  {reach.tests} of {power.tests} {rest} on {reach.clusters:,} {precision.cluster}: "
            console.print(line + _from(reach.detectable), highlight=False)
    if power.effect is not None:
        console.print(
            f"To detect {power.effect:g}: {power.needed:,} {precision.cluster}, about {power.requests:,} requests",
            style="bold",
            highlight=False,
        )
        for reach in power.reaches[:-1]:
            if reach.needed is not None and reach.needed != power.needed:
                few = f"  {reach.needed:,} {precision.cluster} are enough for {reach.tests} of the {power.tests}"
                console.print(few, highlight=False)
        if power.sample is not None:
            console.print(
                f"Or, with the {precision.cluster} of this plan: --sample {power.sample}",
                style="bold",
                highlight=False,
            )
    console.print(
        f"80% power; two-sided level {power.level:.4f}, that is {power.level * power.tests:.2f} (of .05 for the page) "
        f"over {power.tests} tests; SD between {precision.cluster} {power.sd:.3f} ({power.source}).",
        style="dim",
        highlight=False,
    )
    if power.advice:
        console.print(power.advice, highlight=False)


def _from(effect: float | None) -> str:
    return "may be missed at any size" if effect is None else f"of {effect:.3f} or more"


def show(plan: Plan, sampled: bool) -> None:
    """Print a plan for people."""
    console = terminal()
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
    console.print(table)
    for name, counts in plan.counted.items():
        listed = ", ".join(f"{level} {count:,}" for level, count in counts.items())
        console.print(f"By {name}: {listed}.", highlight=False)
    if plan.shown_blocks is not None:
        stimuli = sum(block.stimuli for block in plan.shown_blocks)
        trials = sum(block.trials for block in plan.shown_blocks)
        console.print(
            f"Of these the pictures at hand show {stimuli:,} stimuli, {trials:,} requests. Left out:", highlight=False
        )
    elif plan.left_out:
        console.print("Pictures at hand that are left out:", highlight=False)
    for omission in plan.left_out:
        line = Text.assemble("  ", omission.what, (f"  {omission.why}", "dim"))
        console.print(line)
    scope = "The sample" if sampled else "Everything" if plan.shown_blocks is None else "Everything that can be shown"
    base = ", base images included," if plan.baseline and not sampled else ""
    about = f"about {plan.shown:,} pictures" if plan.shown else "without a picture"
    console.print(f"{scope}{base} takes {plan.asked:,} requests {about}.", highlight=False)
    console.print(
        f"Tokens, roughly: {plan.prompt_tokens:,} in, {plan.completion_tokens:,} out.",
        highlight=False,
        style="dim",
    )
    if plan.cost is not None:
        console.print(f"Cost, roughly: {plan.cost:,.2f}.", highlight=False)
