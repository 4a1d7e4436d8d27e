"""Places that users name: folders or URLs for runs, files for studies. Nothing here is slow to import."""

import os
import re
from pathlib import Path
from typing import TypeGuard

SCHEMES = ("s3", "gs", "az", "file")
"""Beginnings of the URLs that runs can lie under."""

MAKING_FOLDER = "making"
"""Folder, below that of pictures that were made, of the run that made them."""
_RUN = "run.toml"


def run_of(folder: Path) -> Path:
    """The folder of a run; of a folder with pictures that were made, that of their making.

    Examples
    --------
    >>> run_of(Path("no-such-run"))
    PosixPath('no-such-run')
    """
    making = folder / MAKING_FOLDER
    return making if not (folder / _RUN).exists() and (making / _RUN).exists() else folder


def is_url(text: object) -> TypeGuard[str]:
    """Return whether a text names objects rather than a folder; also where a slash is missing, as `Path` takes one out.

    Examples
    --------
    >>> is_url("s3://bucket/run"), is_url("runs/first"), is_url("file:///runs/first")
    (True, False, True)
    """
    return isinstance(text, str) and re.match(rf"[a-z][a-z0-9+.-]*://|({'|'.join(SCHEMES)}):/", text, re.I) is not None


def folder_or_url(text: Path | str) -> Path | str:
    """A place as it was named: the path of a folder, or a URL as it is.

    Examples
    --------
    >>> folder_or_url("s3://bucket/run"), folder_or_url("runs/first").as_posix()
    ('s3://bucket/run', 'runs/first')
    """
    return text if is_url(text) else Path(text)


def cache_folder() -> Path:
    """Folder for what can be made or downloaded again: FACEVALUE_CACHE, or the user's cache folder."""
    root = os.environ.get("FACEVALUE_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "facevalue"


def is_study_file(name: str) -> bool:
    """Return whether a text in place of a study's name is a file.

    Examples
    --------
    >>> is_study_file("my-study.toml"), is_study_file("stylisticbias")
    (True, False)
    """
    return name.endswith(".toml") or Path(name).is_file()
