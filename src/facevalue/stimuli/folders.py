"""Files below a folder, in an order that any machine gives."""

import os
import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from facevalue.errors import DataError

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
