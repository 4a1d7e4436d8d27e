"""Checks of scenes for people."""

from collections.abc import Iterator
from pathlib import Path

import PIL.Image
import PIL.ImageOps
import polars as pl

from facevalue.errors import DataError
from facevalue.models.detectors import Detector
from facevalue.stimuli.images import ImageFiles, content_hash
from facevalue.stimuli.opened import picture_on_white
from facevalue.stimuli.scene_folders import COLUMNS


def check_scenes(table: pl.DataFrame, root: Path, detector: Detector, threshold: float) -> Iterator[dict[str, object]]:
    """Look at one scene after the other.

    `table`, `root`: as of `stimuli.scene_folders.read_scenes`. `detector`: who looks. `threshold`: score from which a
    person counts, in (0, 1].

    Yields a row with `COLUMNS` per picture, as soon as it was looked at. One that cannot be read is not kept; its score
    is null.
    """
    files = ImageFiles(table, root)
    for path, scene in table.select("path", "scene").iter_rows():
        score, digest, problem = None, "", ""
        try:
            data = files.read(path)
            digest = content_hash(data)
            (score,) = detector.scores([_opened(data, path)])
        except DataError as error:
            problem = str(error)
        verdict = "true" if score is not None and score < threshold else "false"
        row = (path, scene, score, verdict, problem, digest, detector.name, f"{threshold:g}")
        yield dict(zip(COLUMNS, row, strict=True))


def _opened(data: bytes, path: str) -> PIL.Image.Image:
    return picture_on_white(data, path)
