"""Mirror of a run in object storage, into which each object is brought once, and pictures beside the run."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.protocol.study import Study
from facevalue.runs.requests import Index, stimulus_columns
from facevalue.seals import digest_of
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import ImageFiles, bring_to
from facevalue.store.files import (
    ASIDE,
    LOCK,
    MANIFEST,
    PICTURES,
    PREREGISTRATION,
    RESPONSES_FOLDER,
    ROOTS,
    STIMULI,
    make_folder,
    write_whole,
)
from facevalue.store.lease import RunLock
from facevalue.store.manifest import MAX_BYTES, RunManifest, write_manifest
from facevalue.store.objects import ListedObject, Objects
from facevalue.store.remote import RUN, cached_folder, checked, listed_units, make_private, run_under, unit_data
from facevalue.store.shards import UNREADABLE, inspect, shard_path, shard_paths
from facevalue.types import OptionValue
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


_PICTURES_AT_ONCE = 8


def own_roots(options: Mapping[str, OptionValue]) -> list[str]:
    """The options that say where the user's own pictures lie."""
    return [name for name in ROOTS if options.get(name)]


def own_folder(options: Mapping[str, OptionValue]) -> Path | None:
    """The folder of the user's own pictures; None where options name none."""
    return next((Path(str(options[name])) for name in own_roots(options)), None)


def put_pictures(study: Study, objects: Objects) -> int:
    """Put the pictures of a study's table beside the run, those that are not there yet; return how many."""
    roots = [Path(str(study.options[name])) for name in own_roots(study.options)]
    if not roots or "path" not in study.manifest.columns:
        return 0
    stored = {listed.key for listed in objects.list(PICTURES)}
    columns = [study.manifest[name].rename("path") for name in ("path", OTHER_PATH) if name in study.manifest.columns]
    names = pl.concat(columns).drop_nulls().str.replace(r"#\d+$", "").unique(maintain_order=True)
    missing = [name for name in names if key_of(name) not in stored]

    def put(name: str) -> None:
        path = _find_picture(study, roots, name)
        try:
            objects.create(key_of(name), path.read_bytes())
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None

    with ThreadPoolExecutor(_PICTURES_AT_ONCE) as pool:
        for _ in pool.map(put, missing):
            pass
    return len(missing)


def pictures_at(objects: Objects, folder: Path) -> Path:
    """A folder into which each picture is brought when it is first looked for."""
    make_folder(folder)

    def bring(name: str, path: Path) -> None:
        picture = objects.get(key_of(name))
        if picture is None:
            raise DataError(f"{name}: not among the pictures of {objects.url}.")
        make_folder(path.parent)
        write_whole(path, picture[0])

    bring_to(folder, bring)
    return folder


def look_ahead(study: Study, trials: Index) -> None:
    """Have the pictures of some trials brought, several at once; what fails is told when it is shown."""
    design = study.design
    numbers = design.stimulus_numbers(trials)
    firsts = dict(zip(numbers.tolist(), trials.tolist(), strict=True))
    rows = design.trials(list(firsts.values())).select(stimulus_columns(study)).to_dicts()

    def look(number: int, levels: Mapping[str, str | None]) -> None:
        try:
            study.source.stimulus(number, levels)
        except DataError:
            return

    with ThreadPoolExecutor(_PICTURES_AT_ONCE) as pool:
        for _ in pool.map(look, firsts, rows):
            pass


def key_of(name: str) -> str:
    """Key of a picture: names of files may hold what keys may not.

    Examples
    --------
    >>> key_of("women/1 (2).png")
    'pictures/c658f8b2d9079dd57bf29765e5dfd2f1.png'
    """
    return f"{PICTURES}/{hashlib.sha256(name.encode()).hexdigest()[:32]}{PurePosixPath(name).suffix.lower()}"


def _find_picture(study: Study, roots: list[Path], name: str) -> Path:
    """Path of a picture in the first of the folders that has it; never outside."""
    for root in roots:
        path = ImageFiles(study.manifest, root).resolve(name)
        if path.is_file():
            return path
    raise DataError(f"{name}: missing or not readable.")
