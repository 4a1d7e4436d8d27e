"""The cost of a study, made and shown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from facevalue.api.rehearsed import rehearse
from facevalue.cli.offering import listed
from facevalue.prompts.interventions import chosen
from facevalue.protocol.printed_plans import PrintedPlan
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Precision
from facevalue.runs.checks import check_pictures
from facevalue.runs.plan import Plan
from facevalue.runs.plan import plan as make_plan
from facevalue.studies import available
from facevalue.studies.intervention_trials import intervened
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
    made = make_plan(study, **choices)
    rehearse(protocol, study, exact=choices["exact"])
    found: Detection | None = None
    sampled = choices["sample"] is not None and study.precision is not None
    if detect is not None or pilot is not None or sampled or compare:
        from facevalue.runs.power import detection  # noqa: PLC0415 - slow to import
        from facevalue.runs.stored import StoredRun  # noqa: PLC0415

        shared = {name: choices[name] for name in ("sample", "seed", "exact")}
        run = None if pilot is None else StoredRun.open(pilot)
        found = detection(study, requests=made.asked, effect=detect, pilot=run, compare=compare, **shared)
    if as_json:
        power = {} if found is None else {"detection": found.json()}
        click.echo(json.dumps({**made.json(), **power}, indent=2))
        return
    show(made, sampled=choices["sample"] is not None)
    if study.unshown:
        terminal().print(study.unshown, style="bold", highlight=False)
    if found is not None:
        from facevalue.runs.power import planned  # noqa: PLC0415 - slow to import

        _show_detection(found, planned(study, compare=compare))


def _printed(protocol: Protocol, name: str) -> PrintedPlan:
    plans = protocol.extras.plans
    if not plans:
        others = [other for other, one in available()[0].items() if one.extras.plans]
        there = f"; {listed(others)} {'do' if len(others) > 1 else 'does'}" if others else ""
        raise click.UsageError(f"{protocol.name} offers no plan of its paper{there}.")
    if name not in plans:
        raise click.BadParameter(
            f"the paper's plans of {protocol.name} are {listed(list(plans))}", param_hint="--paper-table"
        )
    return plans[name]()


def _show_printed(made: PrintedPlan, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.json(), indent=2))
        return
    console = terminal()
    table = Table(title=made.title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("block", overflow="fold")
    factors = [name for name in ("images", "prompts", "seeds", "models", "interventions")
               if any(getattr(block, name) > 1 for block in made.blocks)]  # fmt: skip
    for name in (*factors, "trials"):
        table.add_column("requests" if name == "trials" else name, justify="right", overflow="fold")
    for block in made.blocks:
        table.add_row(block.name, *(f"{getattr(block, name):,}" for name in (*factors, "trials")))
    table.add_section()
    for what, count in (("total", made.total), ("distinct", made.distinct)):
        table.add_row(what, *[""] * len(factors), f"{count:,}", style="bold")
    console.print(table)
    for note in made.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _show_detection(found: "Detection", precision: Precision) -> None:
    console = terminal()
    items = f"{found.items:,.0f}" if found.items >= 100 else f"{found.items:.3g}"
    per = f"{found.clusters:,} {precision.cluster} with {items} {precision.item} each"
    detects = f"this detects {found.what} {_from(found.detectable)}"
    if found.detectable is None:
        detects = f"this may miss {found.what} of any size"
    console.print(f"\nWith {per}, {detects}.", highlight=False)
    if len(found.reaches) > 1:
        for part in found.reaches:
            rest = "rests" if part.tests == 1 else "rest"
            line = f"  {part.tests} of {found.tests} {rest} on {part.clusters:,} {precision.cluster}: "
            console.print(line + _from(part.detectable), highlight=False)
    if found.effect is not None:
        console.print(
            f"To detect {found.effect:g}: {found.needed:,} {precision.cluster}, about {found.requests:,} requests",
            style="bold",
            highlight=False,
        )
        for part in found.reaches[:-1]:
            if part.needed is not None and part.needed != found.needed:
                few = f"  {part.needed:,} {precision.cluster} are enough for {part.tests} of the {found.tests}"
                console.print(few, highlight=False)
        if found.sample is not None:
            console.print(
                f"Or, with the {precision.cluster} of this plan: --sample {found.sample}", style="bold", highlight=False
            )
    console.print(
        f"80% power; two-sided level {found.level:.4f}, that is {found.level * found.tests:.2f} (of .05 for the page) "
        f"over {found.tests} tests; SD between {precision.cluster} {found.sd:.3f} ({found.source}).",
        style="dim",
        highlight=False,
    )
    if found.advice:
        console.print(found.advice, highlight=False)


def _from(effect: float | None) -> str:
    return "may be missed at any size" if effect is None else f"of {effect:.3f} or more"


def show(made: Plan, sampled: bool) -> None:
    """Print a plan for people."""
    console = terminal()
    table = Table(title=f"{made.study}: what the whole study takes", title_justify="left", header_style="bold")
    table.add_column("block")
    table.add_column("stimuli", justify="right")
    table.add_column("requests", justify="right")
    for block in made.blocks:
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}")
    table.add_section()
    table.add_row("judged", f"{made.stimuli:,}", f"{made.trials:,}", style="bold")
    for block in (*made.baseline, *made.added):
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}", style="dim")
    console.print(table)
    for name, counts in made.counted.items():
        listed = ", ".join(f"{level} {count:,}" for level, count in counts.items())
        console.print(f"By {name}: {listed}.", highlight=False)
    if made.shown_blocks is not None:
        stimuli = sum(block.stimuli for block in made.shown_blocks)
        trials = sum(block.trials for block in made.shown_blocks)
        console.print(
            f"Of these the pictures at hand show {stimuli:,} stimuli, {trials:,} requests. Left out:", highlight=False
        )
    elif made.left_out:
        console.print("Pictures at hand that are left out:", highlight=False)
    for one in made.left_out:
        line = Text.assemble("  ", one.what, (f"  {one.why}", "dim"))
        console.print(line)
    what = "The sample" if sampled else "Everything" if made.shown_blocks is None else "Everything that can be shown"
    base = ", base images included," if made.baseline and not sampled else ""
    console.print(f"{what}{base} takes {made.asked:,} requests about {made.shown:,} pictures.", highlight=False)
    console.print(
        f"Tokens, roughly: {made.prompt_tokens:,} in, {made.completion_tokens:,} out.", highlight=False, style="dim"
    )
    if made.cost is not None:
        console.print(f"Cost, roughly: {made.cost:,.2f}.", highlight=False)
