"""`facevalue studies`: the studies that are known."""

import json

import click
from rich.table import Table
from rich.text import Text

from facevalue.protocol import Protocol
from facevalue.studies import available
from facevalue.studies import protocol as look_up
from facevalue.terminal import say, terminal


@click.command()
@click.argument("study", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def studies(study: str | None, as_json: bool) -> None:
    """List the studies: what each asks, needs, and offers besides plan, run, measure, report and compare.

    With STUDY, a name or a file: its paper, too, and what of that is left out.
    """
    protocols, missing = available() if study is None else ({study: look_up(study)}, {})
    if as_json:
        listed = [
            {"name": protocol.name, "title": protocol.title, **_described(protocol)} for protocol in protocols.values()
        ]
        click.echo(json.dumps({"studies": listed, "unavailable": missing}, indent=2))
        return
    table = Table(box=None, pad_edge=False, show_header=study is None)
    table.add_column("study", style="bold", no_wrap=True)
    table.add_column("what it asks, and needs")
    if study is not None:
        protocol = protocols[study]
        table.add_row(protocol.name, Text(protocol.title))
        for label, text in _described(protocol).items():
            if text:
                table.add_row(label.replace("_", " "), Text(text if isinstance(text, str) else ", ".join(text)))
        terminal().print(table)
        return
    table.add_column("also offers")
    for protocol in protocols.values():
        needs = f"\nNeeds {protocol.needs}." if protocol.needs and not protocol.needs.startswith("nothing") else ""
        table.add_row(protocol.name, Text(protocol.title + needs), ", ".join(protocol.extras.commands))
    for name, reason in missing.items():
        table.add_row(name, Text(f"Unavailable: {reason}"), "")
    terminal().print(table)
    say("\nfacevalue studies NAME: its paper, and what of that is left out.")


def _described(protocol: Protocol) -> dict[str, str | list[str]]:
    """What a study is from, takes and lacks, by label."""
    return {
        "paper": protocol.citation,
        "needs": protocol.needs,
        "left_out": protocol.left_out,
        "note": protocol.content_note,
        "offers": list(protocol.extras.commands),
    }
