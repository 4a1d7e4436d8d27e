"""`facevalue view` and `show`: runs in the browser, and a trial of one in the terminal."""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text

from facevalue.cli.actions.results import open_all, unasked_of
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.errors import DependencyError, SettingError
from facevalue.places import folder_or_url
from facevalue.printable import printable
from facevalue.runs.audits.folder import is_audit
from facevalue.runs.storage.in_place import opened_in_place
from facevalue.runs.stored_run import StoredRun
from facevalue.view.open_runs import OpenedRuns, RunState
from facevalue.view.trial import ReplyRow, Trial, trial_of

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

    def serve() -> None:
        try:
            viewer.serve(browser=not no_browser)
        except KeyboardInterrupt:  # which is how it ends, and no error
            sys.exit(Exit.INTERRUPTED)

    return Output(document, lines, then=serve)


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


@dataclass(frozen=True)
class ShowDocument(Document):
    """A trial, whole."""

    FORMAT: ClassVar[str] = "show"
    run: str
    """Folder or URL."""
    study: str
    model: str
    trial: Trial
    """As the viewer has it; sources of pictures are names under a viewer's address."""


def show(run: Path | str, number: int, pictures: Path | None) -> Output[ShowDocument]:
    """Show a trial of a run."""
    stored = opened_in_place(run, pictures) if isinstance(run, str) else StoredRun.open(run, pictures=pictures)
    trial = trial_of(RunState(stored, 0), number)
    return Output(ShowDocument(stored.place, stored.study.name, stored.model, trial), _text(stored, trial))


def _text(run: StoredRun, trial: Trial) -> Iterator[RenderableType]:
    yield Text(f"{run.place}: trial {trial.trial:,} of {run.study.name} on {run.model}", style="bold")
    for name, level in trial.factors.items():
        yield _line(name.replace("_", " "), level)
    for picture in trial.pictures:
        size = "" if picture.width is None else f" ({picture.width} x {picture.height})"
        yield _line("picture", f"{picture.caption}{size}")
    if trial.no_picture:
        yield _line("picture", trial.no_picture)
    for turn in trial.turns:
        yield _quote_text(turn.role, turn.text)
    if trial.system:
        yield _quote_text("system", trial.system)
    yield _quote_text("prompt", trial.prompt)
    if trial.options:
        yield _line("options", "; ".join(trial.options))
    for reply in trial.replies:
        yield from _reply(reply)
    for judged in trial.judged:
        yield _line(judged.by, judged.text)
    for check in trial.checks:
        yield _line("check", check)
    for attention_map in trial.attention:
        yield _line("map", attention_map.caption)


def _reply(reply: ReplyRow) -> Iterator[Text]:
    cut = f" … and {reply.cut:,} more characters" if reply.cut else ""
    yield _quote_text(f"reply {reply.repeat}, {reply.status}", f"{reply.reply}{cut}")
    if reply.probs is not None:
        yield _line("  options", ", ".join(f"{of.option}: {of.share:.1%}" for of in reply.probs))
    counted = f"no valid answer: {reply.why}" if reply.answer is None else reply.answer
    yield _line("  counts as", counted)
    if reply.error:
        yield _line("  error", reply.error)


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{printable(label)}: ", "dim"), printable(text))


def _quote_text(label: str, text: str) -> Text:
    """A text of others, every line of it set in."""
    return Text.assemble((f"{printable(label)}:", "dim"), *(f"\n  {line}" for line in printable(text).split("\n")))
