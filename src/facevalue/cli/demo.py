"""`facevalue demo`: a whole audit of a model whose bias is known, without key or network."""

from pathlib import Path

import click
import polars as pl
from rich.progress import track
from rich.table import Table

from facevalue.cli.results import write_report
from facevalue.cli.running import INTERRUPTED, execute
from facevalue.models import load
from facevalue.protocol.offers import Demo
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings
from facevalue.runs.prepared import Prepared
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.drawn import default_cache, draw_all
from facevalue.store.files import ESTIMATES
from facevalue.studies.offers import offering
from facevalue.terminal import terminal

SHOWN = 8
"""Rows of the table, the largest planted effects first."""


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Where to write."
)
def demo(out: Path) -> int:
    """Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds."""
    from facevalue.runs.estimates_file import read_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

    console = terminal(stderr=True)
    protocol = next(iter(offering("demo").values()))
    offer = protocol.extras.demo
    assert offer is not None
    study = protocol.study(offer.options)
    console.print(f"{study.about.title}\n{offer.said(study)}\n{study.about.content_note}", highlight=False)
    drawing = draw_all(study.manifest, default_cache())
    for _ in track(drawing, "Drawing portraits", total=study.manifest.height, console=console, transient=True):
        pass

    status = execute(Prepared(study, out / "run", RunSettings(exact=True)), load(offer.model))
    if status == INTERRUPTED:
        return status
    write_report([StoredRun.open(out / "run")], out / "report.html")
    console.print()
    console.print(_found(study, offer, read_estimates(out / "run" / ESTIMATES, study, [offer.model])))
    console.print(
        "\nThat model says nothing about real people. To audit a real model, on any OpenAI-compatible server:\n"
        f"  facevalue run {study.name} --model http://127.0.0.1:8000/v1#NAME --sample 20000",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return status


def _found(study: Study, offer: Demo, estimates: pl.DataFrame) -> Table:
    """Make a table of what was planted in these very pictures, beside what the audit found."""
    from facevalue.protocol.lookup import EstimateIndex  # noqa: PLC0415 - slow to import
    from facevalue.report.formatting import interval, number  # noqa: PLC0415
    from facevalue.report.planted import counted, planted  # noqa: PLC0415

    rows = planted(offer, study, EstimateIndex(estimates, measures=study.estimates.measures), offer.model)
    table = Table(
        title="Planted and found",
        title_justify="left",
        caption=f"{counted(offer, rows)}\nMany audits of this model: facevalue calibrate --model {offer.model}",
        caption_justify="left",
        header_style="bold",
    )
    table.add_column(offer.heading)
    for name in ("planted", "estimated", "95% interval", ""):
        table.add_column(name, justify="right")
    for row in rows[:SHOWN]:
        e = row.estimate
        values = [number(value, e.written, signed=True) for value in (row.effect, e.value)]
        table.add_row(row.title, *values, interval(e, signed=True), "found" if row.is_found else "")
    return table
