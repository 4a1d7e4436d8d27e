"""`facevalue reproduce` and `calibrate`: published figures recomputed, and audits with known bias."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import click
from rich import progress
from rich.console import RenderableType
from rich.table import Table

from facevalue import studies
from facevalue.cli.actions.schema import Row
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output, markdown_table, rich_table
from facevalue.protocol.offers import Calibrated, T
from facevalue.protocol.reproduction import Cell, Reproduction, Value
from facevalue.store.files import write_whole
from facevalue.studies.offers import find_offering
from facevalue.terminal import terminal

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
    return Output(document, _figures(reproduction, unexplained), status, reproduction.notices)


def _figures(reproduction: Reproduction, unexplained: int) -> Iterator[RenderableType]:
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


_MOST = 64
"""Largest size of an audit."""


@dataclass(frozen=True)
class CalibrationDocument(Document):
    """Audits whose bias is known: false findings, coverage, power."""

    FORMAT: ClassVar[str] = "calibration"
    studies: tuple[str, ...]
    tables: Mapping[str, Sequence[Row]]
    """The numbers by table, "summary" first; columns are those of the .csv files that --out writes."""


def calibrate(
    study: tuple[str, ...],
    repetitions: int,
    sizes: str,
    out: tuple[Path, ...],
    keep: Path | None,
    processes: int,
    outside: bool,
) -> Output[CalibrationDocument]:
    """Audit answers whose bias is known."""
    names = study or (next(iter(studies.STUDIES)),)
    protocols = [studies.protocol(name, outside=outside) for name in names]
    numbers = _sizes(sizes)
    from facevalue.calibration.repetitions import Workshop  # noqa: PLC0415 - scipy.stats takes a second to import
    from facevalue.calibration.runner import calibrate_studies  # noqa: PLC0415

    with Workshop(_track, keep, processes) as workshop:
        results = calibrate_studies(names, repetitions, workshop, numbers, outside=outside)
    tables = {ending.lstrip("-") or "summary": frame.to_dicts() for ending, frame in results.frames.items()}
    document = CalibrationDocument(tuple(protocol.name for protocol in protocols), tables)
    return Output(document, _results(results, list(_write_tables(results, out))))


def _sizes(text: str) -> tuple[int, ...]:
    if not all(size.strip().isdigit() and 1 <= int(size) <= _MOST for size in text.split(",")):
        raise click.BadParameter(
            f"write numbers of times the smallest audit from 1 to {_MOST}, such as 1,2,4", param_hint="--sizes"
        )
    return tuple(int(size) for size in text.split(","))


def _write_tables(results: Calibrated, out: Sequence[Path]) -> Iterator[Path]:
    """Write the tables, each as its file's ending says."""
    for path in out:
        if path.suffix == ".md":
            files = {path: markdown_table("Calibration", results.tables)}
        else:
            written = {ending: frame.write_csv(float_precision=4) for ending, frame in results.frames.items()}
            files = {path.with_stem(path.stem + ending): text for ending, text in written.items()}
        for file, text in files.items():
            write_whole(file, text.encode())
            yield file


def _results(results: Calibrated, files: Sequence[Path]) -> Iterator[RenderableType]:
    for number, table in enumerate(results.tables):
        if number:
            yield ""
        yield rich_table(table)
    for file in files:
        yield f"Table: {file}"


def _track(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return progress.track(items, label, total=total, console=terminal(stderr=True), transient=True)
