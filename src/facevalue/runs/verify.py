"""Verification of run folders: digests, rows within the design, one run's answers only."""

from typing import NamedTuple

from facevalue.runs.stored import StoredRun, answers
from facevalue.store.shards import inspect, shard_paths


class Sound(NamedTuple):
    """What was checked of a sound run."""

    replies: int
    """Replies that count."""
    shards: int
    """Files they lie in."""
    digests: bool
    """Whether the run's format has digests; without them, damage that leaves a file readable is not seen."""


def verify(run: StoredRun) -> Sound:
    """Check an opened run: its pre-registration, every shard by its digest, every row by the design."""
    run.declared()
    shards = [inspect(path) for path in shard_paths(run.folder)]
    return Sound(sum(chunk.height for chunk in answers(run, failed=True)), len(shards), bool(run.facts.id))
