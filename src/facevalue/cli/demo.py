"""`facevalue demo`: a whole audit of a model whose bias is known, without key or network."""

from pathlib import Path

import click
import polars as pl
from rich.progress import track
from rich.table import Table

from facevalue.cli.offering import offering
from facevalue.cli.results import write_report
from facevalue.cli.run import INTERRUPTED, execute
from facevalue.models import load
from facevalue.protocol.offers import Demo
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings
from facevalue.runs.prepared import Prepared
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.drawn import default_cache, draw_all
from facevalue.store.files import ESTIMATES
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
    console.print(f"{study.title}\n{offer.said(study)}\n{study.content_note}", highlight=False)
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
    """What was planted in these very pictures, beside what the audit found."""
    from facevalue.protocol.lookup import EstimateIndex  # noqa: PLC0415 - slow to import
    from facevalue.report.formatting import interval, number  # noqa: PLC0415

    truth = offer.planted(study).select(*offer.labels, "title", "planted")
    known = {tuple(labels): (title, planted) for *labels, title, planted in truth.iter_rows()}
    numbers = EstimateIndex(estimates)
    every = numbers.all(offer.measure, offer.model, *offer.labels)
    rows = [(*known[tuple(e[name] for name in offer.labels)], e) for e in every]
    found = [[numbers.moved(e) for _, planted, e in rows if bool(planted) is kind] for kind in (True, False)]
    table = Table(
        title="Planted and found",
        title_justify="left",
        caption=f"Found: {sum(found[0])} of {len(found[0])} {offer.plural} with a planted effect, "
        f"{sum(found[1])} of {len(found[1])} without one.\n"
        f"Many audits of this model: facevalue calibrate --model {offer.model}",
        caption_justify="left",
        header_style="bold",
    )
    table.add_column(offer.heading)
    for name in ("planted", "estimated", "95% interval", ""):
        table.add_column(name, justify="right")
    for title, planted, e in sorted(rows, key=lambda row: -abs(row[1]))[:SHOWN]:
        both = [number(value, e.unit, signed=True) for value in (planted, e.value)]
        told = "found" if numbers.moved(e) else ""
        table.add_row(title, *both, interval(e, signed=True), told)
    return table
