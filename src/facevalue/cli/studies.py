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
    protocols, missing = available()
    if as_json:
        listed = [
            {"name": protocol.name, "title": protocol.title, "offers": list(protocol.extras.commands)}
            for protocol in protocols.values()
        ]
        click.echo(json.dumps({"studies": listed, "unavailable": missing}, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold", no_wrap=True)
    table.add_column("what it asks")
    table.add_column("also offers")
    for protocol in protocols.values():
        table.add_row(protocol.name, Text(protocol.title), ", ".join(protocol.extras.commands))
    for name, reason in missing.items():
        table.add_row(name, Text(f"Unavailable: {reason}"), "")
    terminal().print(table)
