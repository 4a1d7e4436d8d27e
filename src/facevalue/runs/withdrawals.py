"""Withdrawal of stored replies: each becomes a failure that keeps what it said, and is asked for again."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

from facevalue.errors import RunError
from facevalue.parquet import read_table
from facevalue.protocol.study import Study
from facevalue.runs.progress import Progress
from facevalue.runs.retries import without_answer
from facevalue.runs.unit_worker import facts_of, read_unit
from facevalue.store.journal import recover
from facevalue.store.lease import Lease
from facevalue.store.lock import RunLock
from facevalue.store.manifest import read_manifest, write_manifest
from facevalue.store.objects import Objects
from facevalue.store.remote import UnitFacts, encoded, listed_units, read_run, unit_facts
from facevalue.store.schema import STATUS
from facevalue.store.shards import UNREADABLE, inspect, number_of, shard_paths, write_shard
from facevalue.types import Status


def withdraw(study: Study, place: Path | str, reasons: Mapping[int, str], progress: Progress) -> None:
    """Make failures of the replies to these trials; the next session of the run asks for them again.

    Parameters
    ----------
    study:
        What was asked.
    place:
        Folder or URL of the run.
    reasons:
        By trial: why its reply no longer counts.
    progress:
        What is told on the way.

    Raises
    ------
    RunError
        Another process writes the run, or it cannot be written.
    """
    table = pl.DataFrame({"trial": [*reasons], "why": [*reasons.values()]}, {"trial": pl.UInt64, "why": pl.String})
    if isinstance(place, str):
        _of_objects(study, Objects.at(place), table, progress)
    else:
        _of_folder(place, table)


def _of_folder(folder: Path, reasons: pl.DataFrame) -> None:
    with RunLock(folder):
        run = read_manifest(folder)
        recover(folder, run.id)
        for path in shard_paths(folder):
            try:
                inspect(path)
            except UNREADABLE:
                continue  # it is set aside when the run goes on
            rows = read_table(path)
            if (changed := _withdrawn(rows, reasons)).equals(rows):
                continue
            write_shard(folder, number_of(path), changed, run.id)
            run = replace(run, shards=tuple(other.name for other in shard_paths(folder) if other != path))
            write_manifest(folder, run)
            path.unlink()  # a kill before this leaves the reply as it was


def _of_objects(study: Study, objects: Objects, reasons: pl.DataFrame, progress: Progress) -> None:
    with Lease(objects, progress.note):
        run, _ = read_run(objects)
        for unit in listed_units(objects, run.shards):
            rows = read_unit(objects, unit.key, run.id)
            if (changed := _withdrawn(rows, reasons)).equals(rows):
                continue
            stored, facts = objects.get(unit.key), unit_facts(objects, unit.key, run.id)
            if stored is not None and facts is not None:
                na = int(without_answer(study, changed).sum())
                counts = UnitFacts(**asdict(facts) | facts_of(changed, na, exact=run.exact))
                if objects.replace(unit.key, encoded(changed, counts), stored[1]) is not None:
                    continue
            raise RunError(f"{objects.called(unit.key)} was changed by another process: give the command again.")


def _withdrawn(rows: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    """Rows of a shard, those withdrawn as failures."""
    why = rows.select("trial").join(reasons, on="trial", how="left", maintain_order="left")["why"]
    withdrawn = why.is_not_null() & (rows["status"] != Status.ERROR.value)
    return rows.with_columns(
        pl.when(withdrawn).then(pl.lit(Status.ERROR.value).cast(STATUS)).otherwise("status").alias("status"),
        pl.when(withdrawn).then(why).otherwise("error").alias("error"),
    )
