"""`facevalue demo`: a whole audit without key or network."""

from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from facevalue import studies
from facevalue.cli.results import write_report
from facevalue.cli.run import INTERRUPTED, execute
from facevalue.models import load
from facevalue.run import RunSettings
from facevalue.run.stored import StoredRun
from facevalue.stimuli.drawn import default_cache, draw_all
from facevalue.types import OptionValue

MODEL = "sim/default"
OPTIONS: dict[str, OptionValue] = {"faces": "16M,16F", "seeds": ["1"]}


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Where it goes."
)
def demo(out: Path) -> int:
    """Draw portraits, ask a simulated model whose bias is planted, and report what the audit finds."""
    console = Console(stderr=True)
    study = studies.build("stylisticbias", OPTIONS)
    console.print(
        f"{study.title}\n{study.manifest.height:,} pictures of 32 drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{MODEL}.\n{study.content_note}",
        highlight=False,
    )
    drawing = draw_all(study.manifest, default_cache())
    for _ in track(drawing, "Drawing portraits", total=study.manifest.height, console=console, transient=True):
        pass
    model = load(MODEL)
    status = execute(study, model, out / "run", RunSettings())
    if status == INTERRUPTED:
        return status
    write_report([StoredRun.open(out / "run")], out / "report.html")
    console.print(
        "\nThat model was simulated. For a real one, on any OpenAI-compatible server:\n"
        "  facevalue run stylisticbias --model http://127.0.0.1:8000/v1#NAME --sample 20000",
        highlight=False,
        markup=False,
    )
    return 0
