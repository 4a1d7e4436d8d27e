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
              help="Lowest score at which a person counts.")  # fmt: skip
def check(folder: Path, detector: Path, to: Path, threshold: float) -> int:
    """Look for people in the pictures of DIR, which holds a folder per scene, and list which are kept, with scores.

    Ends with status 1 if a scene keeps no picture.
    """
    if to.suffix != ".csv":
        raise RunError(f"{to.name} is no .csv file: a check is written as CSV.")
    table = read_scenes(folder)
    people_detector = load_detector(detector)
    rows: list[dict[str, object]] = []
    with click.progressbar(check_scenes(table, folder, people_detector, threshold), table.height, "Looking for people",
                           file=sys.stderr) as progress:  # fmt: skip
        rows.extend(progress)
    checked = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    buffer = io.BytesIO()
    write_csv(checked, buffer)
    write_whole(to, buffer.getvalue())
    lost = False
    for (scene,), pictures in checked.group_by("scene", maintain_order=True):
        clear, broken = (pictures["kept"] == "true").sum(), pictures["score"].null_count()
        damaged = f", {broken:,} cannot be read" if broken else ""
        peopled = pictures.height - clear - broken
        say(f"{scene}: {clear:,} of {pictures.height:,} kept; {peopled:,} show a person{damaged}.")
        lost = lost or not clear
    say(f"Scores of {people_detector.name}: {to}")
    return int(lost)
