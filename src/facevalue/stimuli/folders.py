"""Files below a folder, in an order that any machine gives."""

import os
from collections.abc import Iterator
from pathlib import Path

from facevalue.errors import DataError

MAX_FILES = 1_000_000
"""Most files below a folder."""


def files_below(root: Path) -> Iterator[str]:
    """Paths of files, relative to the folder, sorted within each folder.

    Hidden files and folders are passed over, and links to folders are not followed.
    """
    if not root.is_dir():
        raise DataError(f"{root}: is not a folder with pictures.")
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = Path(folder).relative_to(root).as_posix()
        for name in sorted(names):
            if name.startswith("."):
                continue
            seen += 1
            if seen > MAX_FILES:
                raise DataError(f"{root}: more than {MAX_FILES:,} files.")
            yield name if below == "." else f"{below}/{name}"
