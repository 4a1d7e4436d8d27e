"""Upright copies of pictures that their EXIF turns, and a list that names them in place of the originals."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import PIL.Image
import PIL.ImageOps
import polars as pl

from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError
from facevalue.stimuli.images import FORMATS, image_files
from facevalue.stimuli.persons import person_numbers
from facevalue.store.files import write_whole

_SAVED: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}, "PNG": {}}


@dataclass(frozen=True, slots=True)
class Upright:
    """Upright copies that were written."""

    file: Path
    """The list that names them."""
    folder: Path
    """Where they are."""
    copies: int
    """How many there are."""


def write_upright(frame: pl.DataFrame, turned: Sequence[str], file: Path, root: Path) -> Upright:
    """Write a copy of each turned picture as it is meant to be seen, and the manifest with these in their place.

    Nothing is overwritten: folder and list are new ones, called like the list with "-upright" behind.

    Parameters
    ----------
    frame, file:
        The manifest as it was read, and its file.
    turned:
        Paths of the pictures to be copied.
    root:
        The folder that paths are relative to; the copies lie in it.
    """
    folder, listed = root / f"{file.stem}-upright", file.with_name(f"{file.stem}-upright.csv")
    for place in (folder, listed):
        if place.exists():
            raise DataError(f"{place} exists, and nothing is overwritten: remove it, or check the list that is there.")
    files, paths = image_files(frame, root), dict[str, str]()
    for path in turned:
        name = PurePosixPath(folder.name, path)
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, _upright(files.read(path), path))
        paths[path] = name.as_posix()
    has_ids = (frame["image"] != frame["path"]).any()
    columns = ["path", *(["image"] if has_ids else []), "identity", *frame.columns[3:]]
    if {*frame["identity"]} <= {*frame["image"]}:  # each picture is somebody else: names of files are nobody's
        frame = frame.with_columns(pl.Series("identity", person_numbers(frame["identity"]), pl.String))
    table = frame.with_columns(pl.col("path").replace(paths)).select(columns).rename({"image": "id"}, strict=False)
    filled = [name for name in table.columns if table[name].null_count() < table.height]
    write_whole(listed, csv_bytes(table.select(filled)))
    return Upright(listed, folder, len(paths))


def _upright(data: bytes, path: str) -> bytes:
    out = io.BytesIO()
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            kind = image.format if image.format in _SAVED else "JPEG"
            profile = image.info.get("icc_profile")
            upright = PIL.ImageOps.exif_transpose(image)
            upright.info.pop("exif", None)  # where a camera was is nobody's business
            upright.save(out, kind, **_SAVED[str(kind)], **({"icc_profile": profile} if profile else {}))
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise DataError(f"{path}: the image is damaged.") from error
    return out.getvalue()
