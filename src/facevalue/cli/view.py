"""`facevalue view`: runs in the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.output import Document, Output
from facevalue.cli.results import open_all
from facevalue.errors import DependencyError
from facevalue.places import folder_or_url
from facevalue.runs.audit_folder import is_audit


@dataclass(frozen=True)
class ViewDocument(Document):
    """Address of a viewer, which is served until the command is interrupted."""

    FORMAT: ClassVar[str] = "view"
    address: str
    """With the token; only this machine can open it."""
    runs: tuple[str, ...]
    """Folders or URLs, in the order in which the viewer numbers them."""


def view(runs: tuple[str, ...], port: int, no_browser: bool, pictures: Path | None) -> Output[ViewDocument]:
    """Look at runs in the browser."""
    try:
        from facevalue.view.server import Viewer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise DependencyError("starlette with uvicorn", "view") from error
    from facevalue.view.opened import OpenedRuns  # noqa: PLC0415

    stored = open_all(runs, pictures)
    audit = len(runs) == 1 and is_audit(folder_or_url(runs[0]))
    viewer = Viewer(OpenedRuns(stored, audit=audit), port)
    document = ViewDocument(viewer.address, tuple(run.place for run in stored))
    lines = [viewer.address, "Ctrl-C ends it."]
    return Output(document, lines, then=lambda: viewer.serve(browser=not no_browser))
