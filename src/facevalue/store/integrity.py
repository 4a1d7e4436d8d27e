"""Integrity of a run folder: every listed shard present, each whole, none of another run."""

import hashlib
import time
from pathlib import Path

from facevalue.errors import RunError
from facevalue.store.files import MANIFEST, RESPONSES_FOLDER, STIMULI
from facevalue.store.manifest import RunManifest, read_manifest
from facevalue.store.shards import Shard, checked, shard_paths

_ATTEMPTS, _PAUSE = 40, 0.05  # tries, and seconds between them


def check_folder(folder: Path) -> RunManifest:
    """Check the files of a run folder at the speed of reading them; it may be one that a run is writing."""
    facts = read_manifest(folder)
    check_stimuli(folder, facts)
    for _ in range(_ATTEMPTS):
        try:
            check_shards(folder, facts)
        except (RunError, OSError) as error:
            again = read_manifest(folder)
            if again.shards == facts.shards and not isinstance(error, FileNotFoundError):
                raise
            facts = again  # the run has just merged shards, perhaps while they were looked at
            time.sleep(_PAUSE)
        else:
            return facts
    raise RunError(f"The files in {folder} keep changing: look at them when the run has ended.")


def check_stimuli(folder: Path, facts: RunManifest) -> None:
    """Check the table of pictures, by which trial numbers have their meaning."""
    path = folder / STIMULI
    if facts.stimuli is None:
        return
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}. Restore it from a copy.") from None
    if digest != facts.stimuli:
        raise RunError(
            f"{path} is not the table of pictures that the run began with: its digest is another one. It was damaged "
            "or replaced. Restore it from a copy."
        )


def check_shards(folder: Path, facts: RunManifest) -> list[Shard]:
    """Check every shard, and that none that is listed is missing."""
    paths = shard_paths(folder)
    missing = sorted(set(facts.shards) - {path.name for path in paths})
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RunError(
            f"{folder / RESPONSES_FOLDER / missing[0]}{more}: listed in {MANIFEST}, but not there. Restore it from a "
            "copy, or give the command of the run again: only its trials are asked once more."
        )
    shards = []
    for path in paths:
        shard = checked(path)
        check_owner(shard, facts, folder)
        shards.append(shard)
    return shards


def check_owner(shard: Shard, facts: RunManifest, folder: Path) -> None:
    """Refuse a shard of another run."""
    if shard.run != facts.id:
        raise RunError(
            f"{shard.path} belongs to another run ({shard.run}) than {folder} ({facts.id}): "
            "its answers may be another model's, to other questions. Take it out."
        )
