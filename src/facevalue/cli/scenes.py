"""`facevalue scenes`: folders of scenes that shall show nobody."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
import polars as pl

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
from facevalue.models.detectors import load_detector
from facevalue.runs.manifest_check import check_scenes
from facevalue.stimuli.folders import read_scenes
from facevalue.store.files import write_whole


@dataclass(frozen=True, slots=True)
class CheckedScene:
    """Pictures of a scene."""

    scene: str
    pictures: int
    kept: int
    """Pictures that show nobody."""
    peopled: int
    broken: int
    """Pictures that cannot be read."""


@dataclass(frozen=True)
class ScenesDocument(Document):
    """Scenes that were looked at for people."""

    FORMAT: ClassVar[str] = "scenes"
    scenes: tuple[CheckedScene, ...]
    detector: str
    file: str
    """Scores of every picture."""


def check(folder: Path, detector: Path, out: Path, threshold: float) -> Output[ScenesDocument]:
    """Look for people in the pictures of scenes, and list which are kept, with scores."""
    if out.suffix != ".csv":
        raise SettingError(f"{out.name} is no .csv file: a check is written as CSV.")
    table = read_scenes(folder)
    people_detector = load_detector(detector)
    rows: list[dict[str, object]] = []
    with click.progressbar(check_scenes(table, folder, people_detector, threshold), table.height, "Looking for people",
                           file=sys.stderr) as progress:  # fmt: skip
        rows.extend(progress)
    checked = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    write_whole(out, csv_bytes(checked))
    scenes = []
    for (scene,), pictures in checked.group_by("scene", maintain_order=True):
        clear, broken = int((pictures["kept"] == "true").sum()), pictures["score"].null_count()
        scenes.append(CheckedScene(str(scene), pictures.height, clear, pictures.height - clear - broken, broken))
    document = ScenesDocument(tuple(scenes), people_detector.name, str(out))
    return Output(document, _lines(document), Exit.DONE if all(scene.kept for scene in scenes) else Exit.REFUSED)


def _lines(checked: ScenesDocument) -> Iterator[str]:
    for scene in checked.scenes:
        damaged = f", {scene.broken:,} cannot be read" if scene.broken else ""
        yield f"{scene.scene}: {scene.kept:,} of {scene.pictures:,} kept; {scene.peopled:,} show a person{damaged}."
    yield f"Scores of {checked.detector}: {checked.file}"
