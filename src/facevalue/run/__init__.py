"""Running a study: what is still to be asked, in which order, and what becomes of the answers."""

from facevalue.run.progress import Progress, SilentProgress, Snapshot
from facevalue.run.rich_progress import RichProgress
from facevalue.run.runner import run
from facevalue.run.settings import RunSettings, RunSummary

__all__ = ["Progress", "RichProgress", "RunSettings", "RunSummary", "SilentProgress", "Snapshot", "run"]
