"""`facevalue demo`: a whole audit without key or network, of a model whose bias is known."""

from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from facevalue import studies
from facevalue.cli.results import write_report
from facevalue.cli.run import INTERRUPTED, execute
from facevalue.measures.verdicts import Verdict
from facevalue.models import load
from facevalue.run import RunSettings
from facevalue.run.stored import StoredRun
from facevalue.stimuli.drawn import default_cache, draw_all
from facevalue.types import OptionValue

MODEL = "reference"
OPTIONS: dict[str, OptionValue] = {"faces": "8M,8F", "seeds": ["1"]}
SHOWN = 8
"""Cues of the table, the largest planted ones first."""


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Where it goes."
)
def demo(out: Path) -> int:
    """Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds."""
    console = Console(stderr=True)
    study = studies.build("stylisticbias", OPTIONS)
    console.print(
        f"{study.title}\n{study.manifest.height:,} pictures of 16 drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{MODEL}: a small vision-language model that comes with FaceValue, whose bias was planted at random.\n"
        f"{study.content_note}",
        highlight=False,
    )
    drawing = draw_all(study.manifest, default_cache())
    for _ in track(drawing, "Drawing portraits", total=study.manifest.height, console=console, transient=True):
        pass
    status = execute(study, load(MODEL), out / "run", RunSettings(exact=True))
    if status == INTERRUPTED:
        return status
    write_report([StoredRun.open(out / "run")], out / "report.html")
    console.print()
    console.print(_found(study, pl.read_parquet(out / "run" / "estimates.parquet")))
    console.print(
        "\nThat model says nothing about anybody. For a real one, on any OpenAI-compatible server:\n"
        "  facevalue run stylisticbias --model http://127.0.0.1:8000/v1#NAME --sample 20000",
        highlight=False,
        markup=False,
    )
    return status


def _found(study: studies.Study, estimates: pl.DataFrame) -> Table:
    """What was planted in these very pictures, beside what the audit found."""
    from facevalue.models.reference.truth import SCENARIOS  # noqa: PLC0415 - slow to import
    from facevalue.studies.stylisticbias.calibration_population import planted_scores  # noqa: PLC0415

    cue = ["attribute", "variation"]
    phi = planted_scores(study.manifest, list(SCENARIOS), study.sampling.temperature).mean(axis=1)
    frame = study.manifest.select("identity", *cue).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    planted = (
        frame.filter(pl.col("attribute").is_not_null())
        .join(base, on="identity")
        .group_by(cue)
        .agg(planted=(pl.col("phi") - pl.col("base")).mean())
    )
    both = estimates.filter(measure="sbs").join(planted, on=cue).sort(pl.col("planted").abs(), *cue, descending=True)
    found, something = both["verdict"] == Verdict.DIFFERENCE, both["planted"] != 0
    counts = [(found & kind).sum() for kind in (something, ~something)]
    table = Table(
        title="Planted and found",
        title_justify="left",
        caption=f"{counts[0]} of {something.sum()} cues with a planted effect were found, and {counts[1]} of "
        f"{(~something).sum()} without one. Many audits of it: facevalue calibrate --model reference",
        caption_justify="left",
        header_style="bold",
    )
    for name in ("visual cue", "planted", "estimated", "95% interval", ""):
        table.add_column(name, justify="left" if name == "visual cue" else "right")
    for row in both.head(SHOWN).iter_rows(named=True):
        table.add_row(
            f"{study.titles.get(row['variation'], row['variation'])} ({row['attribute'].replace('_', ' ')})",
            f"{row['planted']:+.3f}",
            f"{row['value']:+.3f}",
            f"{row['low']:+.3f} to {row['high']:+.3f}",
            "found" if row["verdict"] == Verdict.DIFFERENCE else "",
        )
    return table
