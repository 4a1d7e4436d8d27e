"""`facevalue calibrate`: audits with known bias."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich import progress

from facevalue import studies
from facevalue.cli.tables import markdown, rich_table
from facevalue.errors import ModelError, UnknownNameError
from facevalue.protocol.offers import Calibrated, T
from facevalue.runs import RichProgress
from facevalue.store.files import write_whole
from facevalue.studies.offers import listed
from facevalue.terminal import say, terminal

_WRITTEN = ("planted", "reference", "reference/VARIANT")
_MOST = {"planted": 64, "reference": 1_000}
"""Largest size of an audit."""
_USUAL = {"planted": "1,2,4", "reference": "20,60"}


@click.command()
@click.argument("study", nargs=-1)
@click.option(
    "--model",
    default="planted",
    show_default=True,
    help="What is audited: answers in which differences are planted, or reference or reference/VARIANT (a name or "
    "folder), a model that was trained on planted effects.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Audits per condition and size; two and a half times as many where nothing is planted.",
)
@click.option(
    "--sizes",
    "--faces",
    "sizes",
    help="Sizes of an audit: how many times the smallest (1,2,4 by default); faces of the reference model (20,60).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Also write the tables here: .csv, or .md for people. May be given twice.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that keeps the audits: a calibration that was stopped resumes from it, and one with more repetitions "
    "adds to it. Audits made by other code or libraries are not reused.",
)
@click.option(
    "--processes", type=click.IntRange(0, 64), default=2, show_default=True, help="Audits that are made side by side."
)
@click.option("--outside", is_flag=True, help="Let studies' files name files that are not below their own folders.")
def calibrate(
    study: tuple[str, ...],
    model: str,
    repetitions: int,
    sizes: str | None,
    out: tuple[Path, ...],
    keep: Path | None,
    processes: int,
    outside: bool,
) -> None:
    """Audit answers whose bias is known: false findings, coverage, and power beside a simple test.

    STUDY: published studies, or files of your own; stylisticbias by default.
    """
    kind, _, variant = model.partition("/")
    if model not in _WRITTEN and not (kind == "reference" and variant):
        raise UnknownNameError("model to calibrate on", model, _WRITTEN)
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
            raise ModelError(
                f"The reference model is not audited by {' and '.join(protocol.name for protocol in protocols)}: leave "
                f"out --model reference, or calibrate {listed(others, 'or')}."
            )
        progress = RichProgress(terminal(stderr=True))
        results = audited(protocols[0], declared(), variant, numbers, repetitions, _track, progress)
    _show(results, out)


def _sizes(text: str, kind: str) -> tuple[int, ...]:
    smallest = 2 if kind == "reference" else 1
    if not all(size.strip().isdigit() and smallest <= int(size) <= _MOST[kind] for size in text.split(",")):
        unit = "faces" if kind == "reference" else "times the smallest audit"
        raise click.BadParameter(
            f"write numbers of {unit} from {smallest} to {_MOST[kind]}, such as {_USUAL[kind]}", param_hint="--sizes"
        )
    return tuple(int(size) for size in text.split(","))


def _show(results: Calibrated, out: Sequence[Path]) -> None:
    console = terminal()
    for number, table in enumerate(results.tables):
        if number:
            console.print()
        console.print(rich_table(table))
    for path in out:
        if path.suffix == ".md":
            files = {path: markdown("Calibration", results.tables)}
        else:
            written = {ending: frame.write_csv(float_precision=4) for ending, frame in results.frames.items()}
            files = {path.with_stem(path.stem + ending): text for ending, text in written.items()}
        for file, text in files.items():
            write_whole(file, text.encode())
            say(f"Table: {file}")


def _track(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return progress.track(items, label, total=total, console=terminal(stderr=True), transient=True)
