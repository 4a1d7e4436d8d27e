"""`facevalue calibrate`: audits of models whose bias is known."""

from collections.abc import Iterable
from pathlib import Path

import click
from rich import progress

from facevalue.cli.offering import example, listed, offered, offering
from facevalue.cli.tables import rich_table
from facevalue.errors import ModelError, UnknownNameError
from facevalue.protocol.offers import Calibration, CalibrationRequest, T
from facevalue.store.files import write_whole
from facevalue.terminal import say, terminal

_WRITTEN = {"sim": ("sim",), "reference": ("reference", "reference/VARIANT")}
"""How kinds of models are written."""


def _sizes(calibration: Calibration) -> str:
    return ",".join(map(str, calibration.sizes))


def _help() -> str:
    known = (f"{one.extras.calibrate.counted} ({name}; {_sizes(one.extras.calibrate)})"
             for name, one in offering("calibrate").items() if one.extras.calibrate)  # fmt: skip
    return f"Sizes of an audit: {listed(list(known), 'or')} by default."


@click.command()
@click.argument("study", default=lambda: example("calibrate"))
@click.option(
    "--model",
    default="sim",
    show_default=True,
    help="Model to audit: sim, reference or reference/VARIANT (a name or folder).",
)
@click.option("--repetitions", type=click.IntRange(1), default=20, show_default=True, help="Audits per condition.")
@click.option("--sizes", "--faces", "sizes", help=_help())
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the table here (.csv).")
def calibrate(study: str, model: str, repetitions: int, sizes: str | None, out: Path | None) -> None:
    """Audit models whose bias is known, and show planted against recovered."""
    found = offered(study, "calibrate", "calibration").extras.calibrate
    assert found is not None
    kind, _, variant = model.partition("/")
    written = [name for names in _WRITTEN.values() for name in names]
    if model not in written and not (kind == "reference" and variant):
        raise UnknownNameError("model to calibrate on", model, written)
    if kind not in found.most:
        others = [name for name, one in offering("calibrate").items()
                  if one.extras.calibrate and kind in one.extras.calibrate.most]  # fmt: skip
        raise ModelError(
            f"{study} is calibrated on simulated models alone so far: leave out --model {kind}, or calibrate "
            f"{listed(others, 'or')}."
        )
    usual, most = _sizes(found), found.most[kind]
    sizes = sizes or usual
    if not all(part.strip().isdigit() and found.least <= int(part) <= most for part in sizes.split(",")):
        raise click.BadParameter(
            f"write numbers of {found.counted} from {found.least} to {most}, such as {usual}", param_hint="--sizes"
        )
    numbers = tuple(int(size) for size in sizes.split(","))
    shown = found.audit(CalibrationRequest(numbers, repetitions, kind, variant, _track, _say))
    console = terminal()
    for number, table in enumerate(shown.tables):
        if number:
            console.print()
        console.print(rich_table(table))
    if out is not None:
        for ending, frame in shown.frames.items():
            path = out.with_stem(out.stem + ending)
            write_whole(path, frame.write_csv(float_precision=4).encode())
            say(f"Table: {path}")


def _track(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    return progress.track(items, what, total=total, console=terminal(stderr=True), transient=True)


def _say(line: str) -> None:
    terminal(stderr=True).print(line, highlight=False)
