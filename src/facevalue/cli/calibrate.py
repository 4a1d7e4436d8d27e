"""`facevalue calibrate`: audits with known bias."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from rich import progress
from rich.console import RenderableType

from facevalue import studies
from facevalue.cli.output import Document, Output
from facevalue.cli.schema import Row
from facevalue.cli.tables import markdown, rich_table
from facevalue.errors import SettingError, UnknownNameError
from facevalue.protocol.offers import Calibrated, T
from facevalue.runs import RichProgress
from facevalue.store.files import write_whole
from facevalue.studies.offers import listed
from facevalue.terminal import terminal

_MODELS = ("planted", "reference", "reference/VARIANT")
_MOST = {"planted": 64, "reference": 1_000}
"""Largest size of an audit."""
_USUAL = {"planted": "1,2,4", "reference": "20,60"}


@dataclass(frozen=True)
class CalibrationDocument(Document):
    """Audits whose bias is known: false findings, coverage, power."""

    FORMAT: ClassVar[str] = "calibration"
    model: str
    """What was audited."""
    studies: tuple[str, ...]
    tables: Mapping[str, Sequence[Row]]
    """The numbers by table, "summary" first; columns are those of the .csv files that --out writes."""


def calibrate(
    study: tuple[str, ...],
    model: str,
    repetitions: int,
    sizes: str | None,
    out: tuple[Path, ...],
    keep: Path | None,
    processes: int,
    outside: bool,
) -> Output[CalibrationDocument]:
    """Audit answers whose bias is known."""
    kind, _, variant = model.partition("/")
    if model not in _MODELS and not (kind == "reference" and variant):
        raise UnknownNameError("model to calibrate on", model, _MODELS)
    names = study or (next(iter(studies.STUDIES)),)
    protocols = [studies.protocol(name, outside=outside) for name in names]
    numbers = _sizes(sizes or _USUAL[kind], kind)
    if kind == "planted":
        from facevalue.calibration.repetitions import Workshop  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.calibration.tables import calibrated  # noqa: PLC0415

        with Workshop(_track, keep, processes) as workshop:
            results = calibrated(names, repetitions, workshop, numbers, outside=outside)
    else:
        from facevalue.calibration.learned_tables import audited  # noqa: PLC0415

        declared = protocols[0].extras.reference
        if declared is None or len(protocols) > 1:
            others = [name for name, protocol in studies.STUDIES.items() if protocol.extras.reference]
            raise SettingError(
                f"The reference model is not audited by {' and '.join(protocol.name for protocol in protocols)}: leave "
                f"out --model reference, or calibrate {listed(others, 'or')}."
            )
        progress = RichProgress(terminal(stderr=True))
        results = audited(protocols[0], declared(), variant, numbers, repetitions, _track, progress)
    tables = {ending.lstrip("-") or "summary": frame.to_dicts() for ending, frame in results.frames.items()}
    document = CalibrationDocument(model, tuple(protocol.name for protocol in protocols), tables)
    return Output(document, _text(results, list(_written(results, out))))


def _sizes(text: str, kind: str) -> tuple[int, ...]:
    smallest = 2 if kind == "reference" else 1
    if not all(size.strip().isdigit() and smallest <= int(size) <= _MOST[kind] for size in text.split(",")):
        unit = "faces" if kind == "reference" else "times the smallest audit"
        raise click.BadParameter(
            f"write numbers of {unit} from {smallest} to {_MOST[kind]}, such as {_USUAL[kind]}", param_hint="--sizes"
        )
    return tuple(int(size) for size in text.split(","))


def _written(results: Calibrated, out: Sequence[Path]) -> Iterator[Path]:
    """Write the tables, each as its file's ending says."""
    for path in out:
        if path.suffix == ".md":
            files = {path: markdown("Calibration", results.tables)}
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
