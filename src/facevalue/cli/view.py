"""`facevalue view`: runs in the browser."""

import ctypes
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.output import Document, Output
from facevalue.cli.results import open_all, unasked_of
from facevalue.errors import DependencyError, SettingError
from facevalue.places import folder_or_url
from facevalue.runs.audit_folder import is_audit
from facevalue.view.open_runs import OpenedRuns

# Memory of a process that stays: what libraries free goes back to the system soon. Imported before those libraries.


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of settings of glibc's allocator."""
_BYTES, _ARENAS = 4 * 2**20, 2
"""Blocks from this size are the system's again once they are freed; arenas in which threads keep what they freed."""


def _set() -> None:
    os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0")  # Polars'
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for name, value in ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _BYTES), (_TRIM_THRESHOLD, _BYTES)):
            mallopt(name, value)


_set()


@dataclass(frozen=True)
class ViewDocument(Document):
    """Address of a viewer, which is served until the command is interrupted."""

    FORMAT: ClassVar[str] = "view"
    address: str
    """With the token; only this machine can open it. Empty where a folder was written."""
    runs: tuple[str, ...]
    """Folders or URLs, in the order in which the viewer numbers them."""
    page: str = ""
    """The page of the folder that was written; empty for none."""


def view(
    runs: tuple[str, ...], port: int, no_browser: bool, folder: Path | None, public: bool, pictures: Path | None
) -> Output[ViewDocument]:
    """Look at runs in the browser, or write the pages into a folder."""
    if public and folder is None:
        raise SettingError("--public is about what --export DIR writes: name the folder.")
    if folder is not None:
        return _export_pages(runs, folder, public, pictures)
    try:
        from facevalue.view.app import PATIENCE, Viewer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise DependencyError("starlette with uvicorn", "view") from error
    opened = _open_runs(runs, pictures, PATIENCE)
    viewer = Viewer(opened, port)
    document = ViewDocument(viewer.address, _places(opened))
    lines = [*opened.waiting, viewer.address, "Ctrl-C ends it."]
    return Output(document, lines, then=lambda: viewer.serve(browser=not no_browser))


def _open_runs(runs: Sequence[str], pictures: Path | None, patience: float | None = None) -> OpenedRuns:
    is_of_audit = len(runs) == 1 and is_audit(folder_or_url(runs[0]))
    stored = open_all(runs, pictures, in_place=patience is not None)
    return OpenedRuns(stored, audit=is_of_audit, waiting=unasked_of(runs), patience=patience)


def _places(opened: OpenedRuns) -> tuple[str, ...]:
    return tuple(state.run.place for state in opened.states())


def _export_pages(runs: Sequence[str], folder: Path, public: bool, pictures: Path | None) -> Output[ViewDocument]:
    """Write the pages, which takes no server."""
    from facevalue.view.export import export_folder  # noqa: PLC0415

    opened = _open_runs(runs, pictures)
    written = export_folder(opened, folder, public=public)
    document = ViewDocument("", _places(opened), str(written.page))
    lines = [f"{written.answers:,} answers, {written.pictures:,} pictures: {written.page}"]
    return Output(document, [*opened.waiting, *lines, *filter(None, [written.note])])
