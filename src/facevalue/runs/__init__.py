"""Runs: planning, asking, resuming, and what becomes of the answers."""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.runs.progress import Progress, SilentProgress, Snapshot
    from facevalue.runs.rich_progress import RichProgress
    from facevalue.runs.runner import run
    from facevalue.runs.settings import RunSettings, RunSummary

__all__ = ["Progress", "RichProgress", "RunSettings", "RunSummary", "SilentProgress", "Snapshot", "run"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.runs.progress": ("Progress", "SilentProgress", "Snapshot"),
        "facevalue.runs.rich_progress": ("RichProgress",),
        "facevalue.runs.runner": ("run",),
        "facevalue.runs.settings": ("RunSettings", "RunSummary"),
    },
)
