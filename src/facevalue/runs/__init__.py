"""Runs: planning, asking, resuming, and what becomes of the answers."""

from facevalue.runs.progress import Progress, SilentProgress, Snapshot
from facevalue.runs.rich_progress import RichProgress
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings, RunSummary

__all__ = ["Progress", "RichProgress", "RunSettings", "RunSummary", "SilentProgress", "Snapshot", "run"]
