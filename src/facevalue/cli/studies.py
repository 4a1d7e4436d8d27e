"""`facevalue studies`: the studies that are known."""

import json

import click
from rich.table import Table
from rich.text import Text

from facevalue.studies import available
from facevalue.terminal import terminal


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
