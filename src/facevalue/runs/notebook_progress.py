"""Progress in notebooks: one line that changes in place, without widgets."""

import sys
from typing import Any

from facevalue.runs.progress import Progress, Snapshot
from facevalue.runs.rich_progress import RichProgress, conclusion_line, progress_line
from facevalue.runs.settings import RunSummary

_BAR = 24


def progress() -> Progress:
    """Progress for people wherever they are: `NotebookProgress` in Jupyter, `RichProgress` elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return NotebookProgress() if hasattr(shell, "kernel") else RichProgress()


class NotebookProgress:
    """Reports below the cell, as plain text that Jupyter replaces."""

    def __init__(self) -> None:
        from IPython.display import display  # noqa: PLC0415 - there in notebooks alone

        self._display = display
        self._line: Any = None

    def start(self, done: int, total: int) -> None:
        """Show the line."""
        self._line = self._display({"text/plain": f"{done:,}/{total:,}"}, raw=True, display_id=True)

    def update(self, now: Snapshot) -> None:
        """Change the line."""
        full = round(_BAR * now.done / now.total) if now.total else _BAR
        self._change(f"{'█' * full}{'░' * (_BAR - full)} {progress_line(now)}")

    def note(self, message: str) -> None:
        """Add a line."""
        self._display({"text/plain": message}, raw=True)

    def finish(self, summary: RunSummary | None) -> None:
        """Say where things stand; an exception leaves the line as it was."""
        if summary is not None:
            self._change(conclusion_line(summary))

    def _change(self, text: str) -> None:
        if self._line is not None:
            self._line.update({"text/plain": text}, raw=True)
