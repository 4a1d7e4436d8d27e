"""`facevalue reproduce`: what a paper prints beside what is recomputed, cell by cell."""

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import click
from rich.table import Table

from facevalue.errors import UnknownNameError
from facevalue.studies.reproduction import Cell, Reproduction, Value
from facevalue.terminal import say, terminal

_STUDIES = ("visbias", "vignette", "stylisticbias")
_SHOWN = {False: "differs", None: "-", True: "same"}


@click.command()
@click.argument("study")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the released answers (visbias).")
@click.option("--json", "as_json", is_flag=True, help="Print cells as JSON.")
def reproduce(study: str, data: Path | None, as_json: bool) -> int:
    """Recompute what the paper of STUDY prints: visbias, vignette or stylisticbias.

    Exits with 0 if every cell is the same or differs for a known reason.
    """
    if study not in _STUDIES:
        raise UnknownNameError("study to reproduce", study, _STUDIES)
    found = _reproduction(study, data)
    if as_json:
        click.echo(json.dumps(found.json(), indent=1, ensure_ascii=False))
        for notice in found.notices:
            say(notice, err=True)
    else:
        _print(found)
    return 0 if found.explained else 1


def _reproduction(study: str, data: Path | None) -> Reproduction:
    if study == "visbias":
        if data is None:
            raise click.UsageError("VisBias is recomputed from its released answers: say where they are, --data DIR.")
        from facevalue.studies.visbias.reproduce import reproduce as from_answers  # noqa: PLC0415

        return from_answers(data)
    if data is not None:
        raise click.UsageError(f"{study} is recomputed from what its paper prints: there is no --data.")
    if study == "vignette":
        from facevalue.studies.vignette.reproduce import reproduce as from_paper  # noqa: PLC0415
    else:
        from facevalue.studies.stylisticbias.reproduce import reproduce as from_paper  # noqa: PLC0415
    return from_paper()


def _print(found: Reproduction) -> None:
    console = terminal()
    for name, part in groupby(found.cells, key=lambda cell: cell.table):
        cells = sorted(part, key=lambda cell: list(_SHOWN).index(cell.same))
        console.print(_table(f"{found.titles[name]}: {_counts(cells)}", cells))
    for notice in found.notices:
        console.print(notice, markup=False, highlight=False, soft_wrap=True)
    line = f"In all: {_counts(found.cells)}"
    unexplained = sum(cell.unexplained for cell in found.cells)
    line += f", {unexplained} for no known reason." if unexplained else "."
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _counts(cells: Iterable[Cell]) -> str:
    said = [cell.same for cell in cells]
    compared = [one for one in said if one is not None]
    text = f"{sum(compared)} of {len(compared)} the same"
    return text + (f", {len(said) - len(compared)} not comparable" if len(said) > len(compared) else "")


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
            *(_plain(part) for part in (cell.row, cell.column, *values)), _SHOWN[cell.same], _plain(cell.note or "")
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
