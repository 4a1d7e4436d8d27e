"""`facevalue reproduce`: published figures beside recomputed ones, cell by cell."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import click
from rich.console import RenderableType
from rich.table import Table

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.protocol.reproduction import Cell, Reproduction, Value
from facevalue.studies.offers import find_offering

_SHOWN = {False: "differs", None: "-", True: "same"}


@dataclass(frozen=True)
class ReproduceDocument(Document):
    """Figures that a paper prints beside those that were recomputed."""

    FORMAT: ClassVar[str] = "reproduce"
    study: str
    titles: Mapping[str, str]
    """What each table is about, by its number."""
    cells: tuple[Cell, ...]
    """In the order of the tables."""
    unexplained: int
    """Cells that differ for no known reason."""


def reproduce(study: str, data: Path | None) -> Output[ReproduceDocument]:
    """Recompute published figures."""
    paper = find_offering(study, "reproduce", "paper to recompute").extras.reproduce
    assert paper is not None
    if paper.released and data is None:
        raise click.UsageError(f"{study} is recomputed from its released answers: say where they are, --data DIR.")
    if data is not None and not (paper.released or paper.checks):
        raise click.UsageError(f"{study} is recomputed from what its paper prints: there is no --data.")
    reproduction = paper.cells(data)
    unexplained = sum(cell.is_unexplained for cell in reproduction.cells)
    document = ReproduceDocument(study, reproduction.titles, reproduction.cells, unexplained)
    status = Exit.DONE if reproduction.is_explained else Exit.REFUSED
    return Output(document, _text(reproduction, unexplained), status, reproduction.notices)


def _text(reproduction: Reproduction, unexplained: int) -> Iterator[RenderableType]:
    for name, group in groupby(reproduction.cells, key=lambda cell: cell.table):
        cells = sorted(group, key=lambda cell: list(_SHOWN).index(cell.same))
        yield _table(f"{reproduction.titles[name]}: {_counts(cells)}", cells)
    line = f"In all: {_counts(reproduction.cells)}"
    yield line + (f", {unexplained} for no known reason." if unexplained else ".")


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
