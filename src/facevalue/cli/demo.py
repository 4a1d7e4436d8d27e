"""`facevalue demo`: a whole audit without key or network, of a model whose bias is known."""

from pathlib import Path

import click
import polars as pl
from rich.progress import track
from rich.table import Table

from facevalue import studies
from facevalue.cli.results import write_report
from facevalue.cli.run import INTERRUPTED, execute
from facevalue.models import load
from facevalue.protocol.study import Study
from facevalue.run import RunSettings
from facevalue.run.stored import StoredRun
from facevalue.stimuli.drawn import default_cache, draw_all
from facevalue.store.files import ESTIMATES
from facevalue.terminal import terminal
from facevalue.types import OptionValue

MODEL = "reference"
OPTIONS: dict[str, OptionValue] = {"faces": "12M,12F", "seeds": ["1"], "fashion_base": "portrait"}
"""Fashion is compared as in the paper: the reference model never saw a full body in plain clothes while it learned."""
SHOWN = 8
"""Cues of the table, the largest planted ones first."""


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Where it goes."
)
def demo(out: Path) -> int:
    """Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds."""
    console = terminal(stderr=True)
    study = studies.build("stylisticbias", OPTIONS)
    people = study.manifest["identity"].n_unique()
    console.print(
        f"{study.title}\n{study.manifest.height:,} pictures of {people} drawn faces, 25 scenarios, 4 orderings, asked "
        f"of {MODEL}: a small vision-language model that comes with FaceValue, whose bias was planted at random.\n"
        f"{study.content_note}",
        highlight=False,
    )
    drawing = draw_all(study.manifest, default_cache())
    for _ in track(drawing, "Drawing portraits", total=study.manifest.height, console=console, transient=True):
        pass
    from facevalue.run.estimates_file import read_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

    status = execute(study, load(MODEL), out / "run", RunSettings(exact=True))
    if status == INTERRUPTED:
        return status
    write_report([StoredRun.open(out / "run")], out / "report.html")
    console.print()
    console.print(_found(study, read_estimates(out / "run" / ESTIMATES, study, [MODEL])))
    console.print(
        "\nThat model says nothing about anybody. For a real one, on any OpenAI-compatible server:\n"
        "  facevalue run stylisticbias --model http://127.0.0.1:8000/v1#NAME --sample 20000",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return status


def _found(study: Study, estimates: pl.DataFrame) -> Table:
    """What was planted in these very pictures, beside what the audit found."""
    from facevalue.models.reference.truth import SCENARIOS  # noqa: PLC0415 - slow to import
    from facevalue.protocol.lookup import EstimateIndex  # noqa: PLC0415
    from facevalue.report.formatting import Titles, interval, number  # noqa: PLC0415
    from facevalue.studies.stylisticbias.calibration_population import planted_scores  # noqa: PLC0415

    cue = ["attribute", "variation"]
    phi = planted_scores(study.manifest, list(SCENARIOS), study.sampling.temperature).mean(axis=1)
    frame = study.manifest.select("identity", *cue).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    changed = frame.filter(pl.col("attribute").is_not_null()).join(base, on="identity")
    means = changed.group_by(cue).agg((pl.col("phi") - pl.col("base")).mean())
    planted = {(kind, name): shift for kind, name, shift in means.iter_rows()}

    numbers, titles = EstimateIndex(estimates), Titles(study.titles)
    rows = [(planted[str(e["attribute"]), str(e["variation"])], e) for e in numbers.all("sbs", MODEL, *cue)]
    found = [[numbers.moved(e) for shift, e in rows if bool(shift) is kind] for kind in (True, False)]
    table = Table(
        title="Planted and found",
        title_justify="left",
        caption=f"Found: {sum(found[0])} of {len(found[0])} cues with a planted effect, "
        f"{sum(found[1])} of {len(found[1])} without one.\n"
        "Many audits of this model: facevalue calibrate --model reference",
        caption_justify="left",
        header_style="bold",
    )
    for name in ("visual cue", "planted", "estimated", "95% interval", ""):
        table.add_column(name, justify="left" if name == "visual cue" else "right")
    for shift, e in sorted(rows, key=lambda row: -abs(row[0]))[:SHOWN]:
        both = [number(value, e.unit, signed=True) for value in (shift, e.value)]
        told = "found" if numbers.moved(e) else ""
        table.add_row(titles.cue(e["attribute"], e["variation"]), *both, interval(e, signed=True), told)
    return table
