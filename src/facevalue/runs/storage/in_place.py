"""Runs in object storage that are looked at where they lie: little of them is brought, and only what a page shows."""

import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

from facevalue.places import cache_folder
from facevalue.printable import shell_command
from facevalue.runs.storage.mirror import bring_tables, current_mirror, listed_run, number_of_unit
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import RESPONSES_FOLDER, make_folder
from facevalue.store.manifest import write_manifest
from facevalue.store.objects import ListedObject
from facevalue.store.ranges import RunRanges, checked_units, is_in_place, read_in_place
from facevalue.store.remote import unit_facts_of


def opened_in_place(url: str, pictures: Path | None = None) -> StoredRun:
    """Open a run in object storage where it lies, or its mirror, should that hold all of it already.

    No digest of a unit can be compared with a part of it; it is read only while its tag is that of the listing. What is
    read whole is compared (`describe_unchecked`).
    """
    return StoredRun.open(url, pictures=pictures, bring=_lay_folder)


def describe_unchecked(run: StoredRun) -> str:
    """Sentence on the files of a run read in place that were not compared with a digest; empty if all were."""
    complete, units = checked_units(run.folder)
    if complete == units:
        return ""
    return (
        f"The run is read where it lies: {complete:,} of its {units:,} files came whole so far and are as they were "
        "stored; of the others only parts are read, which have no digest to be compared with. To check all: "
        f"{shell_command('verify', run.url)}"
    )


def bring_run(run: StoredRun) -> StoredRun:
    """The same run with all of it here, for what reads every answer."""
    if not is_in_place(run.folder):
        return run
    again = StoredRun.open(run.url)
    return replace(again, facts=replace(again.facts, name=run.facts.name))


def _lay_folder(url: str) -> Path:
    """A folder that holds of a run what is small, and files for the rest."""
    objects, run, listed = listed_run(url)
    if (mirror := current_mirror(objects, run, listed)) is not None:
        return mirror
    make_folder(cache_folder())
    folder = Path(tempfile.mkdtemp(prefix="in-place-", dir=cache_folder()))
    ranges = RunRanges(objects, run.id)
    weakref.finalize(ranges, shutil.rmtree, folder, ignore_errors=True)
    make_folder(folder / RESPONSES_FOLDER)
    bring_tables(objects, folder, run)
    names: set[str] = set()

    def place(unit: ListedObject, end: bytes) -> Path:
        number = number_of_unit(unit.key, unit_facts_of(end, unit.key, objects, run.id).generation)
        while (name := f"part-{number:08d}.parquet") in names:
            number += 1
        names.add(name)
        return folder / RESPONSES_FOLDER / name

    ranges.add(listed, place)
    write_manifest(folder, replace(run, shards=tuple(sorted(names))))
    read_in_place(folder, ranges)
    return folder
