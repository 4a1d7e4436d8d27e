"""`facevalue studies` and `facevalue plan`: what there is, and what it takes."""

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from facevalue.cli.study_command import StudyGroup
from facevalue.run.plan import IMAGE_TOKENS, Plan
from facevalue.run.plan import plan as make_plan
from facevalue.studies import STUDIES, StudyEntry
from facevalue.types import OptionValue

SAMPLE = click.Option(["--sample"], type=click.IntRange(1), help="Ask only about this many requests; all by default.")
SEED = click.Option(["--seed"], type=int, default=0, show_default=True, help="Which sample.")
EXACT = click.Option(
    ["--exact"], is_flag=True, help="Read option probabilities instead of sampling; each prompt is asked once."
)
PRICES = (
    click.Option(["--price-in"], type=click.FloatRange(0), help="Price per million prompt tokens."),
    click.Option(["--price-out"], type=click.FloatRange(0), help="Price per million reply tokens."),
)


@click.command()
def studies() -> None:
    """List the studies that can be run."""
    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold")
    table.add_column("what it asks")
    for entry in STUDIES.values():
        table.add_row(entry.name, entry.title)
    Console().print(table)


def _plan(study: StudyEntry, options: dict[str, OptionValue], as_json: bool, **choices: Any) -> None:
    made = make_plan(study.build(options), **choices)
    if as_json:
        click.echo(json.dumps(made.json(), indent=2))
    else:
        show(made, sampled=choices["sample"] is not None)


def show(made: Plan, sampled: bool) -> None:
    """Print a plan for people."""
    console = Console()
    table = Table(title=f"{made.study}: what the whole study takes", title_justify="left", header_style="bold")
    table.add_column("block")
    table.add_column("stimuli", justify="right")
    table.add_column("requests", justify="right")
    for block in made.blocks:
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}")
    table.add_section()
    table.add_row("judged", f"{made.stimuli:,}", f"{made.trials:,}", style="bold")
    for block in made.baseline:
        table.add_row(block.name, f"{block.stimuli:,}", f"{block.trials:,}", style="dim")
    console.print(table)
    what = "The sample" if sampled else "Everything, base images included,"
    console.print(f"{what} takes {made.asked:,} requests about {made.shown:,} pictures.", highlight=False)
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
        click.Option(["--image-tokens"], type=click.IntRange(0), default=IMAGE_TOKENS, show_default=True,
                     help="Tokens that the model spends on one picture."),
        *PRICES,
        click.Option(["--json", "as_json"], is_flag=True, help="Print the plan as JSON."),
    ),
    help="Say what a study takes before anything is spent.",
)  # fmt: skip
