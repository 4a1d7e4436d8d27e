"""File names of a run folder, and atomic writes."""

import contextlib
import os
import secrets
from pathlib import Path

from facevalue.errors import RunError, SettingError
from facevalue.untrusted_files import read_file

MANIFEST = "run.toml"
STIMULI = "manifest.parquet"
PREREGISTRATION = "preregistration.toml"
ESTIMATES = "estimates.parquet"
RESPONSES_FOLDER = "responses"
PICTURES = "pictures"
"""Folder of a run whose pictures are shown without being named."""
ROOTS = ("root", "scenes", "species_root")
"""Options of studies that say where the user's own pictures lie."""
LISTS = (
    "manifest", "folder", "folders", "social", "cultural", "pata", "utkface", "fairface", "composed", "exclude",
)  # fmt: skip
"""Options that say where lists or folders of pictures are; what they list is in a run's own table of pictures."""
PLACES = (*ROOTS, *LISTS, "sources", "species", "words", "stereotype_words", "roles")
"""All options that say where files lie: these, and those whose files say what is asked or counted."""
LOCK = ".lock"
ASIDE = ".tmp"
"""Ends the name of a file that is still being written; readers ignore such files."""


def write_whole(path: Path, data: bytes, *, named: bool = True) -> None:
    """Write a file so that a kill or power cut at any moment leaves all of it, or what was there before.

    `named`: whether its name is forced to the disk, too; else that is left to the caller (`sync_folder`).

    The data go to a file aside, are forced to the disk, and the file is renamed; then the rename is forced, too. The
    name aside is a new one each time, so that several processes may write the same file: the last one's stays.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ASIDE}")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        if named:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # a leftover is ignored by readers, and removed by the next writer
            aside.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents, and force their names to the disk."""
    missing = [path, *path.parents]
    missing = missing[: next((at for at, folder in enumerate(missing) if folder.is_dir()), len(missing))]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for folder in reversed(missing):
            sync_folder(folder.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def sync_folder(path: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    if os.name != "posix":
        return
    try:
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> RunError:
    """Return the error for a file that cannot be written."""
    if not path.parent.exists():
        return RunError(f"Cannot write {path}: there is no folder {path.parent}. Make it first.")
    return RunError(f"Cannot write {path}: {error.strerror or error}. Everything stored before is kept.")


def check_ending(path: Path, first: str, second: str) -> None:
    """Raise a `SettingError` unless its ending is one of two formats in which it may be written."""
    if path.suffix not in (first, second):
        raise SettingError(f"{path.name} is neither {first} nor {second}: the file's ending chooses the format.")


# Files of a place, which is a folder or a URL in object storage: whole files by their names.


def write_placed(place: Path | str, name: str, data: bytes) -> None:
    """Write a file, or an object, in place of an earlier one; a kill leaves one or the other as a whole."""
    if isinstance(place, str):
        from facevalue.store.objects import Objects  # noqa: PLC0415 - asyncio and ssl: help needs none of it

        Objects.at(place, make=True).overwrite(name, data)
    else:
        write_whole(place / name, data)


def read_placed(place: Path | str, name: str, most_bytes: int, kind: str) -> bytes | None:
    """Read a file, or an object; None if it is not there. `kind`: what it is called where it is too large a file."""
    if isinstance(place, str):
        from facevalue.store.objects import Objects  # noqa: PLC0415 - asyncio and ssl: help needs none of it

        stored = Objects.at(place).get(name)
        return None if stored is None else stored[0]
    path = place / name
    return read_file(path, most_bytes, kind) if path.is_file() else None
