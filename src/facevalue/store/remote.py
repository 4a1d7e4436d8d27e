"""A run in object storage: `run.json`, and units of answers that say by themselves whether they are whole."""

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal, overload

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes
from facevalue.places import MAKING_FOLDER, cache_folder
from facevalue.seals import digest_of
from facevalue.stimuli.images import MAX_BYTES, bring_to
from facevalue.store.album import check_digest
from facevalue.store.files import RESPONSES_FOLDER, STIMULI, make_folder, write_whole
from facevalue.store.manifest import RunManifest, of_document, to_document
from facevalue.store.objects import ListedObject, Objects, Tag, checked_url
from facevalue.store.schema import FORMAT
from facevalue.untrusted_files import to_json

# Lists of pictures in object storage: brought into the cache, and each picture of them when it is first looked for.


_LISTS = (".csv", ".jsonl", ".parquet")
_DIGEST_PATTERN = re.compile("[0-9a-f]{64}")


def place_of_list(url: str) -> str:
    """The URL that a list lies under: that of the pictures that `make` put there, or of what holds the list itself.

    Examples
    --------
    >>> place_of_list("s3://bucket/made"), place_of_list("s3://bucket/faces/list.csv")
    ('s3://bucket/made', 's3://bucket/faces')
    """
    url = checked_url(url)
    return url.rpartition("/")[0] if _is_list(url) else url


def brought_list(url: str) -> Path:
    """Bring the list of pictures under a URL as it is now; the pictures it names are brought as they are looked for.

    Pictures that are called by the digest of their bytes, as `make` calls them, are brought once, others once a
    command.

    `url`: of a list (.csv, .jsonl or .parquet), or of pictures that `make` put into object storage.

    Raises
    ------
    DataError
        There is no such list.
    RunError, DependencyError
        The store cannot be read.
    """
    place = place_of_list(url)
    key = PurePosixPath(checked_url(url)).name if _is_list(url) else STIMULI
    objects = Objects.at(place)
    content = objects.get(key)
    if content is None:
        raise DataError(f"{place} holds no {key}: name the place of a make, or a list of pictures.")
    folder = _folder_of(objects.url)
    _forget(folder)
    write_whole(folder / key, content[0])
    _bring_pictures(objects, folder)
    return folder / key


def _forget(folder: Path) -> None:
    """Remove what another file may have taken the place of since; what is called by its digest stays, and `.` files."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and not _DIGEST_PATTERN.fullmatch(path.stem):
            path.unlink(missing_ok=True)


def _bring_pictures(objects: Objects, folder: Path) -> None:
    def bring(name: str, path: Path) -> None:
        try:
            picture = objects.get(name, lambda data: _check(data, name, objects))
        except RunError as error:  # of this picture alone
            raise DataError(str(error)) from None
        if picture is None:
            raise DataError(f"{name}: not under {objects.url}.")
        if len(picture[0]) > MAX_BYTES:
            raise DataError(f"{name}: an image file has at most {MAX_BYTES / 1e6:.0f} MB.")
        make_folder(path.parent)
        write_whole(path, picture[0])

    bring_to(folder, bring)


def _check(data: bytes, name: str, objects: Objects) -> None:
    """Compare a picture that is called by its digest, as those of `make` are, with that."""
    digest = PurePosixPath(name).stem
    if _DIGEST_PATTERN.fullmatch(digest):
        check_digest(data, digest, objects.called(name))


def cached_folder(kind: str, url: str, key: str) -> Path:
    """Local folder for the copy of something under a URL: by its kind, and the digest of its key."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", url)[-60:].strip("-.")
    return cache_folder() / kind / f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def make_private(folder: Path) -> None:
    """Make a folder of the cache, which may lie where others can read."""
    make_folder(folder)
    folder.parent.chmod(stat.S_IRWXU)


def _folder_of(url: str) -> Path:
    """Local folder for the lists and pictures under a URL."""
    folder = cached_folder("pictures", url, url)
    make_private(folder)
    return folder


def _is_list(url: str) -> bool:
    return url.lower().endswith(_LISTS)


RUN = "run.json"
STATUS = "status.json"
KEY = re.compile(rf"{RESPONSES_FOLDER}/(\d{{12}})-(\d{{12}})-([0-9a-f]{{16}})\.parquet")
"""Key of a unit: its first and last place in the order of asking, and the hash of what is asked."""
_TIMES = ("start", "end")
_UNIT, _DIGEST = "facevalue.unit", "facevalue.sha256"
_BLANK = b"0" * 64
_TAIL = 64 * 2**10
_NOTE = re.compile(rb"facevalue\.unit.{1,4}?([0-9a-f]{16})(\{[^{}]*\})", re.DOTALL)
_PLACE = re.compile(rb"facevalue\.sha256.{1,4}?([0-9a-f]{64})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class UnitFacts:
    """Facts that a stored unit states about itself."""

    key: str
    run: str
    """Id of its run."""
    again: int
    """0 for the protocol's own requests; each later round asks again where there was no valid answer."""
    generation: int
    """How many units had been stored for the same trials before."""
    wanted: int
    """Requests that were to be asked."""
    rows: int
    """Requests that were; fewer if it was stopped."""
    errors: int
    refused: int
    truncated: int
    na: int
    """Replies without a valid answer."""
    drawn: int
    """Of an exact run: replies drawn, as probabilities could not be read."""
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    """Replies whose tokens the model did not count."""


def encoded(frame: pl.DataFrame, facts: UnitFacts) -> bytes:
    """A unit as a Parquet file that holds its own digest."""
    note = json.dumps(asdict(facts), separators=(",", ":"))
    metadata = {
        "facevalue.responses": str(FORMAT),
        "facevalue.rows": str(frame.height),
        "facevalue.run": facts.run,
        _UNIT: digest_of(note.encode()) + note,
        _DIGEST: _BLANK.decode(),
    }
    data = bytearray(parquet_bytes(frame, metadata))
    start, stop = _place(bytes(data))
    data[start:stop] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def checked(data: bytes, key: str, name: str, run: str) -> UnitFacts:
    """Look whether a unit is as it was written, and of this run."""
    try:
        start, stop = _place(data)
    except ValueError:
        raise _damaged(name, "it is cut short, or was not written by FaceValue") from None
    if hashlib.sha256(data[:start] + _BLANK + data[stop:]).hexdigest().encode() != data[start:stop]:
        raise _damaged(name, "its content is not what was written")
    return _facts(data[-_TAIL:], key, name, run)


def unit_facts(objects: Objects, key: str, run: str, size: int | None = None) -> UnitFacts | None:
    """Facts about a unit, read from its end; None if it is not there."""
    if size is None:
        listed = objects.head(key)
        size = None if listed is None else listed.size
    tail = None if size is None else objects.tail(key, size, _TAIL)
    if tail is None:
        return None
    try:
        return _facts(tail, key, objects.called(key), run)
    except RunError:  # the whole of it says whether it is damaged, or was so on its way
        data = unit_data(objects, key, run)
        return None if data is None else _facts(data[-_TAIL:], key, objects.called(key), run)


def unit_facts_of(end: bytes, key: str, objects: Objects, run: str) -> UnitFacts:
    """Facts about a unit from its end; raises an error that names a unit of another run or format."""
    return _facts(end, key, objects.called(key), run)


def unit_data(objects: Objects, key: str, run: str) -> bytes | None:
    """A unit, if it is as it was written and of this run; None if it is not there."""
    content = objects.get(key, lambda data: checked(data, key, objects.called(key), run))
    return None if content is None else content[0]


def unit_digest(path: Path) -> str:
    """Digest of a unit's other bytes, as the end of its file says."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL, 0))
        end = file.read()
    try:
        start, stop = _place(end)
    except ValueError:
        raise _damaged(str(path), "it is cut short, or was not written by FaceValue") from None
    return end[start:stop].decode()


def _facts(tail: bytes, key: str, name: str, run: str) -> UnitFacts:
    notes = list(_NOTE.finditer(tail))
    if not notes or digest_of(notes[-1][2]).encode() != notes[-1][1]:
        raise _damaged(name, "it is cut short, or was not written by FaceValue")
    try:
        facts = UnitFacts(**json.loads(notes[-1][2]))
    except (TypeError, ValueError):
        raise _damaged(name, "it was written by another version of FaceValue") from None
    if facts.run != run:
        raise RunError(f"{name} belongs to another run ({facts.run}) than this one ({run}). Take it out.")
    if facts.key != key:
        raise RunError(f"{name} was stored as {facts.key}: it was copied or renamed. Take it out.")
    return facts


def listed_units(objects: Objects, names: Iterable[str] = ()) -> list[ListedObject]:
    """List stored units, also known ones that a listing does not show yet; an error names a stray object."""
    listed = objects.list(RESPONSES_FOLDER)
    for key in sorted({f"{RESPONSES_FOLDER}/{name}" for name in names} - {unit.key for unit in listed}):
        if KEY.fullmatch(key) and (late := objects.head(key)) is not None:
            listed.append(late)
    for unit in listed:
        if KEY.fullmatch(unit.key) is None:
            raise RunError(f"{objects.called(unit.key)} is nothing that FaceValue wrote. Take it out.")
    return listed


@overload
def read_run(objects: Objects, *, missing: Literal[True]) -> tuple[RunManifest, Tag] | None: ...
@overload
def read_run(objects: Objects) -> tuple[RunManifest, Tag]: ...
def read_run(objects: Objects, *, missing: bool = False) -> tuple[RunManifest, Tag] | None:
    """Read `run.json`, and its tag."""
    name = objects.called(RUN)
    content = objects.get(RUN, lambda data: _document(data, name))
    if content is None:
        if missing:
            return None
        raise RunError(f"{objects.url} holds no run: there is no {RUN}.")
    return of_document(_with_times(_document(content[0], name)), name), content[1]


def run_under(url: str) -> tuple[Objects, RunManifest]:
    """The run under a URL; under one of pictures that were made, that of their making."""
    objects = Objects.at(url)
    stored = read_run(objects, missing=True)
    if stored is None:
        making = None
        with suppress(RunError):  # a folder that is not there
            making = Objects.at(f"{objects.url}/{MAKING_FOLDER}")
        if making is None or (stored := read_run(making, missing=True)) is None:
            raise RunError(f"{objects.url} holds no run: there is no {RUN}.")
        objects = making
    return objects, stored[0]


def _document(data: bytes, name: str) -> dict[str, Any]:
    try:
        document = to_json(data, name)
    except DataError as error:
        raise RunError(str(error)) from None
    if not isinstance(document, dict) or document.pop("sha256", None) != _sealing(document):
        raise RunError(f"{name} is not as FaceValue wrote it: its digest is another one. Restore it from a copy.")
    return document


def run_data(manifest: RunManifest) -> bytes:
    """The text of `run.json`."""
    document = json.loads(json.dumps(to_document(manifest), default=_iso))
    return json.dumps({"sha256": _sealing(document), **document}, indent=1, ensure_ascii=False).encode()


def _sealing(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _iso(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


def _with_times(document: dict[str, Any]) -> dict[str, Any]:
    for table in (document, *(session for session in document.get("sessions", ()) if isinstance(session, dict))):
        for name in _TIMES:
            if isinstance(table.get(name), str):
                table[name] = datetime.fromisoformat(table[name])
    return document


def _place(data: bytes) -> tuple[int, int]:
    matches = list(_PLACE.finditer(data, max(len(data) - _TAIL, 0)))
    if not matches:
        raise ValueError
    return matches[-1].span(1)


def _damaged(name: str, reason: str) -> RunError:
    return RunError(
        f"{name} is damaged: {reason}. Delete it and give the command of the run again: only its trials are asked once "
        "more."
    )
