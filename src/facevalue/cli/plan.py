"""`facevalue studies` and `facevalue plan`: the known studies, and the cost of one."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from facevalue.cli.offering import listed
from facevalue.cli.places import Place
from facevalue.cli.study_command import StudyGroup
from facevalue.models.base import IMAGE_TOKENS
from facevalue.prompts.interventions import chosen
from facevalue.protocol.printed_plans import PrintedPlan
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Precision
from facevalue.studies import available
from facevalue.terminal import say, terminal
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.runs.plan import Plan
    from facevalue.runs.power import Detection

_LOOKED_AT = 20_000
"""Pictures up to which a plan looks at each: some seconds."""
SAMPLE = click.Option(["--sample"], type=click.IntRange(1), help="Ask about this many requests only; all by default.")
SEED = click.Option(["--seed"], type=click.IntRange(0), default=0, show_default=True, help="Seed of the sample.")
EXACT = click.Option(
    ["--exact"], is_flag=True, help="Read option probabilities instead of sampling; each prompt is asked once."
)
WITH = click.Option(
    ["--with", "interventions"],
    multiple=True,
    metavar="NAME|FILE.toml",
    help="Ask everything a second time with this intervention, and report the change: no-image, blank-image, cipher, "
    "sr, debiasing, or your own from a file. May be given several times.",
)
PRICES = (
    click.Option(["--price-in"], type=click.FloatRange(0), help="Price per million prompt tokens."),
    click.Option(["--price-out"], type=click.FloatRange(0), help="Price per million reply tokens."),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def studies(as_json: bool) -> None:
    """List the studies, and what each offers besides plan, run, measure, report and compare."""
    found, missing = available()
    if as_json:
        listed = [{"name": one.name, "title": one.title, "offers": list(one.extras.commands)} for one in found.values()]
        click.echo(json.dumps({"studies": listed, "unavailable": missing}, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold", no_wrap=True)
    table.add_column("what it asks")
    table.add_column("also offers")
    for known in found.values():
        table.add_row(known.name, Text(known.title), ", ".join(known.extras.commands))
    for name, why in missing.items():
        table.add_row(name, Text(f"Unavailable: {why}"), "")
    terminal().print(table)


def _plan(
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
    if paper_table is not None:
        _show_printed(_printed(protocol, paper_table), as_json)
        return
    from facevalue.runs.checks import check_pictures  # noqa: PLC0415 - help needs nothing of it
    from facevalue.runs.plan import plan as make_plan  # noqa: PLC0415
    from facevalue.studies.intervention_trials import intervened  # noqa: PLC0415

    study = protocol.study(options)
    if study.manifest.height <= _LOOKED_AT or "path" not in study.manifest.columns:
        check_pictures(study)
    else:
        say(f"{study.manifest.height:,} pictures are too many to look at here: a run looks at them first.", err=True)
    study = intervened(study, chosen(interventions))
    made = make_plan(study, **choices)
    if protocol.build is None:
        from facevalue.report.rehearsal import rehearse  # noqa: PLC0415 - slow to import

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


def show(made: "Plan", sampled: bool) -> None:
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


plan = StudyGroup(
    "plan",
    _plan,
    (
        SAMPLE,
        SEED,
        EXACT,
        WITH,
        click.Option(["--image-tokens"], type=click.IntRange(0), default=IMAGE_TOKENS, show_default=True,
                     help="Tokens that the model spends on one picture."),
        *PRICES,
        click.Option(["--detect"], type=float, metavar="SHIFT",
                     help="Also show how many units detect this shift with 80% power."),
        click.Option(["--compare"], is_flag=True,
                     help="Plan for the difference between two such runs, as `facevalue compare` finds it."),
        click.Option(["--pilot"], type=Place(),
                     help="A run to take the spread from, instead of a stated default."),
        click.Option(["--paper-table"], metavar="NAME",
                     help="Show instead what the study's paper says it asked, where that is known."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the plan as JSON."),
    ),
    help="Show what a study costs before anything is spent.",
)  # fmt: skip
