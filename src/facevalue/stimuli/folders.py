"""Files below a folder, in an order that any machine gives.

ModSCAN (section 4) filters its scenes with a detector of people, so that a model judges by what stands there alone. A
check is a table with a row per picture, and knows it by its content: a picture that was replaced has not been checked.
"""

import csv
import io
import os
import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.images import ImageFiles
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.untrusted_files import read_text

MAX_FILES = 1_000_000
"""Most files below a folder."""
_LISTED = 10_000
_DIGITS = re.compile(r"(\d+)")


def files_below(
    root: Path, endings: tuple[str, ...] = ("",), limit: int = MAX_FILES, noun: str = "files", *, follow: bool = False
) -> Iterator[str]:
    """Paths of files with one of these endings, in any case, relative to the folder and sorted within each folder.

    Hidden files and folders are passed over, and so are links to folders; with `follow` they are followed, but for
    those to a folder above them, and one that leads out of the root is an error.
    """
    if not root.is_dir():
        raise DataError(f"{root}: is not a folder with pictures.")

    def unreadable(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}.") from error

    seen = 0
    for folder, folders, names in os.walk(root, onerror=unreadable, followlinks=follow):
        if follow and Path(folder).is_symlink() and Path(folder) != root:
            place = Path(folder).resolve()
            if not place.is_relative_to(root.resolve()):
                raise DataError(f"{folder}: a link that leads out of the folder with pictures.")
            if Path(folder).parent.resolve().is_relative_to(place):  # it would never end
                folders.clear()
                continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = Path(folder).relative_to(root).as_posix()
        for name in sorted(names):
            if name.startswith(".") or not name.lower().endswith(endings):
                continue
            seen += 1
            if seen > limit:
                raise DataError(f"{root}: more than {limit:,} {noun}.")
            yield name if below == "." else f"{below}/{name}"


def nearest_file(root: Path, name: str, taken: Collection[str] = ()) -> str:
    """The file that a path below the root may mean, where it leads nowhere; "" if there is none like it.

    With slashes for backslashes, in another case, or of nearly that name; none of `taken`.
    """
    straight = name.replace("\\", "/")
    folder, _, last = straight.rpartition("/")
    place = root / folder
    try:
        if not place.resolve().is_relative_to(root.resolve()):
            return ""
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, _LISTED) if entry.is_file())
    except (OSError, ValueError):
        return ""
    paths = {name.casefold(): f"{folder}/{name}" if folder else name for name in names}
    near = get_close_matches(last.casefold(), paths, n=1, cutoff=0.8)
    return paths[near[0]] if near and paths[near[0]] not in taken else ""


def natural(path: str) -> list[tuple[int, str]]:
    """Key of a path that sorts 2 before 10."""
    return [(int(piece), "") if piece.isascii() and piece.isdigit() else (-1, piece) for piece in _DIGITS.split(path)]


# Scenes without people: folders of pictures, and the table that says in which of them a detector found nobody.


COLUMNS = ("path", "scene", "score", "kept", "problem", "digest", "detector", "threshold")
"""Of a check: highest score of a person, whether the picture is kept, and why it could not be looked at."""
MAX_BYTES = 64 * 2**20
"""Largest check."""

_SHOWN = 5


class CheckedScenes(NamedTuple):
    """Scenes that a detector looked at."""

    table: pl.DataFrame
    """Those without people."""
    dropped: int
    """How many show people or could not be looked at."""
    detector: str
    threshold: str
    """Who looked, and the score from which a person counts."""


def read_scenes(root: Path) -> pl.DataFrame:
    """List pictures of scenes, a folder each: `ArtLover/1.png`.

    `root`: the folder that holds the folders, or one of them.

    Returns a table with the columns of a manifest, by scene and then by number: `image`, `path` (relative to `root`),
    `identity` (the image), `set` (null) and `scene`, the folder's name as it is.
    """
    paths = list(files_below(root, SUFFIXES))
    rows = [(path, path.rpartition("/")[0].rpartition("/")[2] or root.resolve().name) for path in paths]
    if not rows:
        raise DataError(f"{root}: holds no picture. Scenes are pictures in a folder each, such as ArtLover/1.png.")
    empty = sorted(
        {entry.name for entry in os.scandir(root) if entry.is_dir()} - {path.split("/")[0] for path in paths}
    )
    empty = [name for name in empty if not name.startswith(".")]
    if empty:
        more = f" and {len(empty) - _SHOWN} more" if len(empty) > _SHOWN else ""
        raise DataError(
            f"{root}: no picture in {', '.join(empty[:_SHOWN])}{more}. Put some there, or remove the folder."
        )
    rows.sort(key=lambda row: (row[1], natural(row[0])))
    path = pl.Series("path", [row[0] for row in rows])
    nothing = pl.Series("set", [None] * len(rows), pl.String)
    return pl.DataFrame(
        [path.alias("image"), path, path.alias("identity"), nothing, pl.Series("scene", [r[1] for r in rows])]
    )


def without_people(table: pl.DataFrame, root: Path, check: Path) -> CheckedScenes:
    """Keep the scenes in which a detector found nobody.

    `table`, `root`: as of `read_scenes`. `check`: the CSV file that `facevalue scenes check` wrote.
    """
    reader = csv.DictReader(io.StringIO(read_text(check, MAX_BYTES, "a check of scenes"), newline=""), strict=True)
    try:
        for column in ("digest", "kept", "detector", "threshold"):
            if column not in (reader.fieldnames or ()):
                raise UnknownNameError(f"column of {check.name}", column, list(reader.fieldnames or ()))
        rows = list(reader)
    except csv.Error as error:
        raise DataError(f"{check.name}: line {reader.line_num}: {error}.") from error
    verdicts = {row["digest"]: row["kept"] == "true" for row in rows}
    files = ImageFiles(table, root)
    is_clear = [verdicts.get(files.digest(path)) for path in table["path"]]
    unknown = table["path"].filter(pl.Series([verdict is None for verdict in is_clear]))
    if unknown.len():
        more = ", ..." if unknown.len() > _SHOWN else ""
        raise DataError(
            f"{check.name}: {unknown.len():,} pictures are not in it, or were changed since: "
            f"{', '.join(unknown.head(_SHOWN))}{more}. Check them: facevalue scenes check {root}"
        )
    clear = table.filter(pl.Series([bool(verdict) for verdict in is_clear]))
    if lost := sorted(set(table["scene"]) - set(clear["scene"])):
        raise DataError(f"{check.name}: no picture without people is left of {', '.join(lost)}.")
    return CheckedScenes(clear, table.height - clear.height, rows[0]["detector"], rows[0]["threshold"])
