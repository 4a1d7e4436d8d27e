"""`facevalue calibrate`: audits of simulated models whose bias is known."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from facevalue.errors import UnknownNameError
from facevalue.store.files import write_whole

if TYPE_CHECKING:
    from facevalue.studies.stylisticbias import calibration as faces
    from facevalue.studies.vignette import calibration as pairs

_CONDITIONS = ("default", "null")
_SIZES = {"stylisticbias": ("20,60", "faces", 2), "vignette": ("8,30", "activities", 1)}
"""Per study: default sizes of an audit, in what they are counted, and the smallest."""


@click.command()
@click.argument("study", default="stylisticbias")
@click.option("--repetitions", type=click.IntRange(1), default=20, show_default=True, help="Audits per condition.")
@click.option(
    "--sizes",
    "--faces",
    "sizes",
    help="Faces in an audit (stylisticbias; 20,60 by default) or activities (vignette; 8,30).",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the table here (.csv).")
def calibrate(study: str, repetitions: int, sizes: str | None, out: Path | None) -> None:
    """Plant bias in simulated models, audit them, and show planted against recovered."""
    if study not in _SIZES:
        raise UnknownNameError("study", study, _SIZES)
    default, what, least = _SIZES[study]
    sizes = sizes or default
    most = 75 if study == "vignette" else 10_000
    if not all(part.strip().isdigit() and least <= int(part) <= most for part in sizes.split(",")):
        raise click.BadParameter(
            f"write numbers of {what} from {least} to {most}, such as {default}", param_hint="--sizes"
        )
    cases = [(condition, int(size)) for condition in _CONDITIONS for size in sizes.split(",")]
    tables, rows = (_faces if study == "stylisticbias" else _pairs)(cases, repetitions)
    console = Console()
    for table in tables:
        console.print(table)
    if out is not None:
        write_whole(out, pl.DataFrame([asdict(row) for row in rows]).write_csv(float_precision=4).encode())
        click.echo(f"Table: {out}")


Cases = list[tuple[str, int]]


def _each(cases: Cases, audit: Callable[[str, int], tuple[Any, Any]]) -> tuple[list[Any], Any]:
    """Summaries of all cases, and the first audit of the first."""
    rows, first = [], None
    for condition, size in track(cases, "Auditing simulated models", console=Console(stderr=True), transient=True):
        row, shown = audit(condition, size)
        rows.append(row)
        first = first or shown
    return rows, first


def _faces(cases: Cases, repetitions: int) -> tuple[list[Table], "list[faces.Calibration]"]:
    from facevalue.models.sim import PRESETS  # noqa: PLC0415 - slow to import
    from facevalue.studies.stylisticbias import calibration  # noqa: PLC0415

    rows, first = _each(cases, lambda name, size: calibration.calibrate(name, PRESETS[name], size, repetitions))
    return [_audit_table(first, cases[0][1]), _summary_table(rows)], rows


def _pairs(cases: Cases, repetitions: int) -> tuple[list[Table], "list[pairs.Calibration]"]:
    from facevalue.studies.vignette import calibration  # noqa: PLC0415 - slow to import

    rows, first = _each(cases, lambda name, size: calibration.calibrate(name, size, repetitions))
    title = f"One audit of sim/default with {cases[0][1]} activities: selection frequency planted and recovered"
    columns = ("identity", "planted", "recovered", "95% interval", "covers", "q", "finding")
    closer = _table(title, columns, _pair_rows(first))
    summary = _table(
        "All audits",
        ("planted", "scenes", "audits", "r", "slope", "S covers", "PairComp covers", "FDR", "found"),
        (
            (
                "nothing" if row.condition == "null" else row.condition, str(row.activities), str(row.repetitions),
                *map(_number, (row.correlation, row.slope, row.coverage, row.coverage_paircomp)),
                *map(_number, (row.false_discovery_rate, row.found)),
            )
            for row in rows
        ),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    return [closer, summary], rows


def _pair_rows(audit: "pairs.Audit") -> Iterable[tuple[str, ...]]:
    for row in audit.selection.iter_rows(named=True):
        covers = row["low"] <= row["planted"] <= row["high"]
        yield (
            row["identity"], f"{row['planted']:.1f}%", f"{row['value']:.1f}%",
            f"{row['low']:.1f} to {row['high']:.1f}", "yes" if covers else "no", f"{row['q']:.3f}",
            "yes" if row["q"] < 0.05 else "",
        )  # fmt: skip


def _audit_table(audit: "faces.Audit", size: int) -> Table:
    e = audit.estimates
    rows = (
        (
            f"{attribute} / {variation}", f"{audit.planted[i]:+.3f}", f"{e.value[i]:+.3f}",
            f"{e.low[i]:+.3f} to {e.high[i]:+.3f}", "yes" if audit.covered[i] else "no", f"{audit.q[i]:.3f}",
            "yes" if audit.found[i] else "",
        )
        for i, (attribute, variation) in enumerate(audit.variations)
    )  # fmt: skip
    columns = ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding")
    return _table(f"One audit of sim/default with {size} faces: SBS planted and recovered", columns, rows)


def _summary_table(rows: "list[faces.Calibration]") -> Table:
    lines = (
        (
            "nothing" if row.condition == "null" else row.condition, str(row.faces), str(row.repetitions),
            *map(_number, (row.correlation, row.slope, row.coverage, row.coverage_none, row.false_discovery_rate)),
            *map(_number, (row.audits_with_false, row.power)),
        )
        for row in rows
    )  # fmt: skip
    columns = ("planted", "faces", "audits", "r", "slope", "coverage", "coverage, none", "FDR", "any false", "power")
    return _table("All audits", columns, lines, "Nominal coverage .95; false findings at most .05.")


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], caption: str | None = None) -> Table:
    table = Table(title=title, header_style="bold", caption=caption)
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
