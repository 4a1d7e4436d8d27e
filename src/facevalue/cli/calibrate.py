"""`facevalue calibrate`: audits with known bias."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from rich import progress
from rich.console import RenderableType

from facevalue import studies
from facevalue.cli.output import Document, Output, markdown_table, rich_table
from facevalue.cli.schema import Row
from facevalue.protocol.offers import Calibrated, T
from facevalue.store.files import write_whole
from facevalue.terminal import terminal

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
    return Output(document, _text(results, list(_write_tables(results, out))))


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


def _text(results: Calibrated, files: Sequence[Path]) -> Iterator[RenderableType]:
    for number, table in enumerate(results.tables):
        if number:
            yield ""
        yield rich_table(table)
    for file in files:
        yield f"Table: {file}"


def _track(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return progress.track(items, label, total=total, console=terminal(stderr=True), transient=True)
