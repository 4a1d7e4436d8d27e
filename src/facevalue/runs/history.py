"""Runs of a history: those below a folder, or named one by one, put together by study in the order of their dates."""

from collections.abc import Sequence
from pathlib import Path

from facevalue.errors import RunError
from facevalue.places import MAKING_FOLDER, is_url
from facevalue.runs.audit_folder import AUDIT, is_audit, runs_of
from facevalue.runs.joined import by_study, repeated
from facevalue.runs.stored import StoredRun
from facevalue.store.files import MANIFEST

_DEEPEST = 5
"""Folders below each other that are looked through."""


def runs_below(place: Path | str) -> list[str]:
    """Runs in a folder: itself, an audit's, or all below it; not those that made pictures.

    Raises
    ------
    RunError
        There is none.
    """
    if is_url(place) or is_audit(place) or (Path(place) / MANIFEST).is_file():
        return runs_of(place)
    runs = [str(path) for path in _folders_with(MANIFEST, Path(place)) if path.name != MAKING_FOLDER]
    if not runs:
        raise RunError(f"{place} is no folder of runs or audits: there is no {MANIFEST} in it.")
    return runs


def audits_below(place: Path | str) -> list[Path | str]:
    """Audits whose runs are in a folder, as `runs_below` names these: itself, or all below it."""
    if is_audit(place):
        return [place]
    if is_url(place) or (Path(place) / MANIFEST).is_file():
        return []
    return [path for path in _folders_with(AUDIT, Path(place)) if is_audit(path)]


def _folders_with(name: str, place: Path) -> list[Path]:
    """Folders below one that hold a file, those that are hidden left out."""
    depths = ("/".join(["*"] * depth + [name]) for depth in range(1, _DEEPEST + 1))
    folders = {path.parent for pattern in depths for path in place.glob(pattern)}
    return sorted((path for path in folders if not _hidden(path, place)), key=str)


def _hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)


def dated_runs(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """Runs of each study, oldest first.

    Raises
    ------
    RunError
        No study has two, or one is named twice.
    """
    ordered = sorted(runs, key=lambda run: run.facts.start)
    if (again := repeated(ordered)) is not None:
        raise RunError(f"{again.place} is named twice.")
    out = by_study(ordered)
    if all(len(of_study) < 2 for of_study in out.values()):
        names = ", ".join(f"one of {study}" for study in out)
        raise RunError(f"A history takes two runs or more of one study; there is {names}.")
    return out
