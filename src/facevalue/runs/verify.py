"""Verification of run folders: digests, rows within the design, one run's answers only."""

from typing import NamedTuple

from facevalue.errors import RunError
from facevalue.parquet import read_table
from facevalue.runs.makings.records import faulty_pictures
from facevalue.runs.stored_run import StoredRun, answers, describe_bad_rows, odd_rows
from facevalue.store.shards import inspect, shard_paths
from facevalue.studies import MAKING


class Sound(NamedTuple):
    """Counts of replies and files in a sound run."""

    replies: int
    """Replies that count."""
    shards: int
    """Files they lie in."""
    digests: bool
    """Whether the run's format has digests; without them, damage that leaves a file readable is not seen."""
    odd: tuple[str, ...] = ()
    """Of each file with rows that cannot count, how many, and one of them; the run asks them again."""


def verify(run: StoredRun) -> Sound:
    """Check an opened run: its pre-registration, every shard by its digest, every row by the design."""
    run.read_declaration()
    width = len(run.facts.seeds) * (1 + run.facts.reasks)
    shards = [inspect(path) for path in shard_paths(run.folder)]
    odd = []
    for shard in shards:
        rows = read_table(shard.path)
        if fault := describe_bad_rows(rows, odd_rows(run.study, rows, width)):
            odd.append(f"{shard.path}: {fault}")
    if run.study.name == MAKING and (fault := faulty_pictures(run)):
        raise RunError(fault)
    replies = sum(chunk.height for chunk in answers(run))
    return Sound(replies, len(shards), bool(run.facts.id), tuple(odd))
