"""`facevalue scenes`: folders of scenes that shall show nobody."""

import io
import sys
from pathlib import Path

import click
import polars as pl

from facevalue.csv_text import write_csv
from facevalue.errors import RunError
from facevalue.models.detectors import load_detector
from facevalue.runs.scene_check import check_scenes
from facevalue.stimuli.scene_folders import read_scenes
from facevalue.store.files import write_whole
from facevalue.terminal import say


@click.group()
def scenes() -> None:
    """Check folders of scenes for people."""


@scenes.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--detector", required=True, metavar="FOLDER", type=click.Path(path_type=Path),
              help="An object detector of transformers that has a label 'person'. Nothing is downloaded.")  # fmt: skip
@click.option("--to", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A .csv file.")
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True,
              help="Score from which a person counts.")  # fmt: skip
def check(folder: Path, detector: Path, to: Path, threshold: float) -> int:
    """Look for people in the pictures of DIR, which holds a folder per scene, and list which are kept, with scores.

    Ends with status 1 if a scene keeps no picture.
    """
    if to.suffix != ".csv":
        raise RunError(f"{to.name} is no .csv file: a check is written as CSV.")
    table = read_scenes(folder)
    found = load_detector(detector)
    rows: list[dict[str, object]] = []
    with click.progressbar(check_scenes(table, folder, found, threshold), table.height, "Looking for people",
                           file=sys.stderr) as looked:  # fmt: skip
        rows.extend(looked)
    checked = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    buffer = io.BytesIO()
    write_csv(checked, buffer)
    write_whole(to, buffer.getvalue())
    lost = False
    for (scene,), part in checked.group_by("scene", maintain_order=True):
        kept, broken = (part["kept"] == "true").sum(), part["score"].null_count()
        damaged = f", {broken:,} cannot be read" if broken else ""
        say(f"{scene}: {kept:,} of {part.height:,} kept; {part.height - kept - broken:,} show a person{damaged}.")
        lost = lost or not kept
    say(f"Scores of {found.name}: {to}")
    return int(lost)
