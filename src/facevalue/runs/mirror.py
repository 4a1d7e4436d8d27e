"""Mirror of a run in object storage: a run folder in the cache, into which each object is brought once."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

from facevalue.errors import DataError, RunError
from facevalue.seals import digest_of
from facevalue.store.files import (
    ASIDE,
    LOCK,
    MANIFEST,
    PREREGISTRATION,
    RESPONSES_FOLDER,
    STIMULI,
    make_folder,
    write_whole,
)
from facevalue.store.lease import RunLock
from facevalue.store.manifest import MAX_BYTES, RunManifest, write_manifest
from facevalue.store.objects import ListedObject, Objects
from facevalue.store.remote import RUN, cached_folder, checked, listed_units, make_private, run_under, unit_data
from facevalue.store.shards import UNREADABLE, inspect, shard_path, shard_paths
from facevalue.untrusted_files import read_file, to_json

REPORT = "report.html"
_INDEX = ".objects.json"
_READERS = 8
_AT_ONCE = 64
_KEPT = 10_000  # generations of one range; a shard's number holds both


def mirror_run(url: str, *, again: bool = False) -> Path:
    """Bring what is new of a run, and return the folder that holds all of it.

    Objects never change, so each is brought once, compared with its digest and kept; one that was replaced or removed
    in the store is noticed by its tag. `again`: bring everything once more, to check it.
    """
    objects, run, listed = listed_run(url)
    folder = place_of(objects.url, run.id)
    make_private(folder)
    with RunLock(folder):
        make_folder(folder / RESPONSES_FOLDER)
        bring_tables(objects, folder, run, again=again)
        index = {} if again else _read_index(folder)
        copies = {unit.key: index[unit.key] for unit in listed if index.get(unit.key, ("",))[0] == _mark(unit)}
        missing = iter([unit for unit in listed if unit.key not in copies])
        with ThreadPoolExecutor(_READERS) as pool:
            while some := list(islice(missing, _AT_ONCE)):  # what was brought before an error or Ctrl-C stays
                for unit, name in zip(
                    some, pool.map(lambda unit: _bring(objects, folder, unit, run), some), strict=True
                ):
                    copies[unit.key] = (_mark(unit), name)
                write_whole(folder / _INDEX, json.dumps(copies).encode())
        names = {name for _, name in copies.values()}
        for path in shard_paths(folder):
            if path.name not in names:
                path.unlink()
        write_manifest(folder, replace(run, shards=tuple(sorted(names))))
    return folder


def listed_run(url: str) -> tuple[Objects, RunManifest, list[ListedObject]]:
    """The run under a URL, and its units, of which none is missing."""
    objects, run = run_under(url)
    listed = listed_units(objects, run.shards)
    gone = sorted(set(run.shards) - {unit.key.partition("/")[2] for unit in listed})
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise RunError(
            f"{objects.called(f'{RESPONSES_FOLDER}/{gone[0]}')}{more}: listed in {RUN}, but not there. Restore it from "
            "a copy, or give the command of the run again: only its trials are asked once more."
        )
    return objects, run, listed


def current_mirror(objects: Objects, run: RunManifest, listed: Sequence[ListedObject]) -> Path | None:
    """The mirror of a run, if it holds every unit as it is in the store now; else None."""
    folder = place_of(objects.url, run.id)
    if not listed or not (folder / MANIFEST).exists():
        return None
    index = _read_index(folder)
    is_whole = all(index.get(unit.key, ("",))[0] == _mark(unit) for unit in listed) and len(index) == len(listed)
    return mirror_run(objects.url) if is_whole else None


def bring_tables(objects: Objects, folder: Path, run: RunManifest, *, again: bool = False) -> None:
    """Bring the table of pictures of a run, and its declaration, if there is one."""
    _bring_file(objects, folder, STIMULI, run.stimuli, again=again)
    if run.preregistration is not None:
        _bring_file(objects, folder, PREREGISTRATION, run.preregistration, again=again)


def number_of_unit(key: str, generation: int) -> int:
    """Number of a unit's shard, by which shards stand in the order of asking."""
    return int(key.partition("/")[2][:12]) * _KEPT + generation


def copy_run(url: str, folder: Path) -> None:
    """Bring a run into a new folder, where it can be written to and goes on like any other."""
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} is not empty: name a new folder.")
    mirror = mirror_run(url)
    make_folder(folder.absolute().parent)
    shutil.copytree(mirror, folder, ignore=shutil.ignore_patterns(_INDEX, LOCK), dirs_exist_ok=True)


def publish_file(url: str, path: Path) -> None:
    """Put a file that was made of a run beside it, in place of an earlier one."""
    Objects.at(url).overwrite(path.name, path.read_bytes())


def place_of(url: str, run: str) -> Path:
    """Folder of a run's mirror."""
    return cached_folder("runs", url, f"{url} {run}")


def _bring(objects: Objects, folder: Path, unit: ListedObject, run: RunManifest) -> str:
    """Bring a unit, and return its name here."""
    data = unit_data(objects, unit.key, run.id)
    if data is None:
        raise RunError(f"{objects.called(unit.key)} was there, and is no longer: give the command again.")
    facts = checked(data, unit.key, objects.called(unit.key), run.id)
    path = shard_path(folder, number_of_unit(unit.key, facts.generation), digest_of(data))
    aside = path.with_name(f".{path.name}{ASIDE}")
    aside.write_bytes(data)  # it can be brought again: no need to force it to the disk
    aside.replace(path)
    return path.name


def _bring_file(objects: Objects, folder: Path, key: str, digest: str | None, *, again: bool) -> None:
    """Bring a file of which the digest is known."""
    path = folder / key
    if not again and path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
        return

    def check(data: bytes) -> None:
        if hashlib.sha256(data).hexdigest() != digest:
            raise RunError(
                f"{objects.called(key)} is not what the run began with: its digest is another one. Restore it from a "
                "copy."
            )

    content = objects.get(key, check)
    if content is None:
        raise RunError(f"{objects.called(key)} is not there: restore it from a copy.")
    write_whole(path, content[0])


def _read_index(folder: Path) -> dict[str, tuple[str, str]]:
    """Read the list of objects that were brought before, each with its mark and its name here."""
    path = folder / _INDEX
    if not path.exists():
        return {}
    try:
        index = to_json(read_file(path, MAX_BYTES, "list of objects"), str(path))
        return {
            str(key): (str(mark), str(name)) for key, (mark, name) in index.items() if _is_intact(folder, str(name))
        }
    except (DataError, AttributeError, TypeError, ValueError):
        return {}


def _is_intact(folder: Path, name: str) -> bool:
    """Return whether an object that was brought is intact; one damaged since is brought again."""
    path = folder / RESPONSES_FOLDER / Path(name).name
    try:
        inspect(path)
    except (*UNREADABLE, RunError, OSError):
        return False
    return True


def _mark(unit: ListedObject) -> str:
    return f"{unit.tag} {unit.size}"
