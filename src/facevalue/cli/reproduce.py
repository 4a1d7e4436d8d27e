"""`facevalue reproduce`: published figures beside recomputed ones, cell by cell."""

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import click
from rich.table import Table

from facevalue.protocol.reproduction import Cell, Reproduction, Value
from facevalue.studies.offers import listed, offered, offering
from facevalue.terminal import say, terminal

_SHOWN = {False: "differs", None: "-", True: "same"}


def _help() -> str:
    return (
        f"Recompute what the paper of STUDY prints: {listed(list(offering('reproduce')), 'or')}.\n\n"
        "Exits with 0 if every cell is the same or differs for a known reason."
    )


def _data() -> str:
    offers = [(name, offer) for name, protocol in offering("reproduce").items() if (offer := protocol.extras.reproduce)]
    released = [name for name, offer in offers if offer.released]
    others = [f"{offer.checks} ({name})" for name, offer in offers if offer.checks]
    return listed([f"the released answers ({listed(released)})", *others], "or")


@click.command(help=_help())
@click.argument("study")
@click.option("--data", type=click.Path(path_type=Path), help=f"Folder of {_data()}.")
@click.option("--json", "as_json", is_flag=True, help="Print cells as JSON.")
def reproduce(study: str, data: Path | None, as_json: bool) -> int:
    """Recompute published figures."""
    paper = offered(study, "reproduce", "paper to recompute").extras.reproduce
    assert paper is not None
    if paper.released and data is None:
        raise click.UsageError(f"{study} is recomputed from its released answers: say where they are, --data DIR.")
    if data is not None and not (paper.released or paper.checks):
        raise click.UsageError(f"{study} is recomputed from what its paper prints: there is no --data.")
    reproduction = paper.cells(data)
    if as_json:
        click.echo(json.dumps(reproduction.json(), indent=1, ensure_ascii=False))
        for notice in reproduction.notices:
            say(notice, err=True)
    else:
        _print(reproduction)
    return 0 if reproduction.explained else 1


def _print(reproduction: Reproduction) -> None:
    console = terminal()
    for name, group in groupby(reproduction.cells, key=lambda cell: cell.table):
        cells = sorted(group, key=lambda cell: list(_SHOWN).index(cell.same))
        console.print(_table(f"{reproduction.titles[name]}: {_counts(cells)}", cells))
    for notice in reproduction.notices:
        console.print(notice, markup=False, highlight=False, soft_wrap=True)
    line = f"In all: {_counts(reproduction.cells)}"
    unexplained = sum(cell.unexplained for cell in reproduction.cells)
    line += f", {unexplained} for no known reason." if unexplained else "."
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _counts(cells: Iterable[Cell]) -> str:
    matches = [cell.same for cell in cells]
    compared = [match for match in matches if match is not None]
    text = f"{sum(compared)} of {len(compared)} the same"
    return text + (f", {len(matches) - len(compared)} not comparable" if len(matches) > len(compared) else "")


def _table(title: str, cells: Iterable[Cell]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("row", "column"):
        table.add_column(column, overflow="fold")
    for column in ("published", "recomputed"):
        table.add_column(column, overflow="fold", justify="right")
    table.add_column("")
    table.add_column("note", overflow="fold", ratio=1)
    for cell in cells:
        values = (_value(cell.published), _value(cell.recomputed))
        table.add_row(
            *(_plain(text) for text in (cell.row, cell.column, *values)), _SHOWN[cell.same], _plain(cell.note or "")
        )
    return table


def _plain(text: str) -> str:
    """Brackets in a paper's words are no markup."""
    return text.replace("[", r"\[")


def _value(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return " ".join(value)
    return value if isinstance(value, str) else f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
