"""`facevalue calibrate`: audits of simulated models whose bias is known."""

from dataclasses import asdict
from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from facevalue.errors import UnknownNameError
from facevalue.store.files import write_whole

_CONDITIONS = ("default", "null")


@click.command()
@click.argument("study", default="stylisticbias")
@click.option("--repetitions", type=click.IntRange(1), default=20, show_default=True, help="Audits per condition.")
@click.option("--faces", "sizes", default="20,60", show_default=True, help="Faces in an audit; several with commas.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the table here (.csv).")
def calibrate(study: str, repetitions: int, sizes: str, out: Path | None) -> None:
    """Plant bias in simulated models, audit them, and show planted against recovered."""
    if study != "stylisticbias":
        raise UnknownNameError("study", study, ["stylisticbias"])
    if not all(part.strip().isdigit() and 2 <= int(part) <= 10_000 for part in sizes.split(",")):
        raise click.BadParameter("write numbers of faces from 2 to 10000, such as 20,60", param_hint="--faces")
    from facevalue.models.sim import PRESETS  # noqa: PLC0415
    from facevalue.studies.stylisticbias import calibration  # noqa: PLC0415

    console = Console()
    rows: list[calibration.Calibration] = []
    cases = [(condition, int(size)) for condition in _CONDITIONS for size in sizes.split(",")]
    shown: calibration.Audit | None = None
    for condition, faces in track(cases, "Auditing simulated models", console=Console(stderr=True), transient=True):
        row, audit = calibration.calibrate(condition, PRESETS[condition], faces, repetitions)
        rows.append(row)
        shown = shown or audit
    assert shown is not None
    console.print(_audit_table(shown, cases[0][1]))
    console.print(_summary_table(rows))
    if out is not None:
        write_whole(out, pl.DataFrame([asdict(row) for row in rows]).write_csv(float_precision=4).encode())
        click.echo(f"Table: {out}")


def _audit_table(audit: "calibration.Audit", faces: int) -> Table:  # type: ignore[name-defined]  # noqa: F821
    table = Table(title=f"One audit of sim/default with {faces} faces: SBS planted and recovered", header_style="bold")
    for name in ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding"):
        table.add_column(name, justify="left" if name == "variation" else "right")
    e = audit.estimates
    for i, (attribute, variation) in enumerate(audit.variations):
        table.add_row(
            f"{attribute} / {variation}",
            f"{audit.planted[i]:+.3f}",
            f"{e.value[i]:+.3f}",
            f"{e.low[i]:+.3f} to {e.high[i]:+.3f}",
            "yes" if audit.covered[i] else "no",
            f"{audit.q[i]:.3f}",
            "yes" if audit.found[i] else "",
        )
    return table


def _summary_table(rows: "list[calibration.Calibration]") -> Table:  # type: ignore[name-defined]  # noqa: F821
    table = Table(title="All audits", header_style="bold", caption="Nominal coverage .95; false findings at most .05.")
    for name in ("planted", "faces", "audits", "r", "slope", "coverage", "coverage, none", "FDR", "any false", "power"):
        table.add_column(name, justify="left" if name == "planted" else "right")

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    for row in rows:
        table.add_row(
            "nothing" if row.condition == "null" else row.condition,
            str(row.faces),
            str(row.repetitions),
            *map(number, (row.correlation, row.slope, row.coverage, row.coverage_none, row.false_discovery_rate)),
            *map(number, (row.audits_with_false, row.power)),
        )
    return table
