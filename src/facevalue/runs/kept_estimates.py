"""Estimates that are kept beside a run, with the digest of all that they were taken of: they need not be taken again.

A run in object storage has them beside it, too, so that who looks at it there needs no answer for them; of a folder
that cannot be written to they are in the cache.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import polars as pl

from facevalue.annotations.scores import ANNOTATIONS
from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, RunError
from facevalue.measures.estimates import FIXED_COLUMNS, complete_columns, estimate_schema, label_columns
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.protocol import picture_checks
from facevalue.protocol.study import Study
from facevalue.runs.joined_runs import estimate
from facevalue.runs.storage.mirror import place_of
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store.files import (
    ESTIMATES,
    MANIFEST,
    PREREGISTRATION,
    RESPONSES_FOLDER,
    ROOTS,
    STIMULI,
    check_ending,
    write_whole,
)
from facevalue.store.manifest import read_manifest, versions
from facevalue.store.objects import Objects
from facevalue.store.remote import cached_folder, make_private, run_data, unit_digest
from facevalue.store.shards import shard_paths
from facevalue.studies.registry import PUBLISHED
from facevalue.types import STUDY_TEXT

# Estimates file of a run folder.


VERSION = 4
"""Of the table."""
_KEY = "facevalue.estimates"
_ALWAYS = ("study", "measure", "model", "value")


def estimates_bytes(estimates: pl.DataFrame, metadata: Mapping[str, str] | None = None) -> bytes:
    """The file's bytes, with what is told of them beside the version."""
    return parquet_bytes(estimates, {_KEY: str(VERSION), **(metadata or {})})


def write_estimates(estimates: pl.DataFrame, path: Path) -> None:
    """Write a .parquet or .csv file that is whole or absent."""
    check_ending(path, ".csv", ".parquet")
    if path.suffix == ".parquet":
        write_whole(path, estimates_bytes(estimates))
        return
    write_whole(path, csv_bytes(estimates))


def read_estimates(path: Path, study: Study) -> pl.DataFrame:
    """Read estimates that were kept in a file."""
    again = "Take the estimates again with `facevalue measure`."
    try:
        version = read_metadata(path).get(_KEY, "")
        table = read_table(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. {again}") from error
    if version != str(VERSION):
        raise RunError(f"{path} holds estimates of version {version!r}; this FaceValue reads {VERSION}. {again}")
    try:
        _check(table, study)
        return complete_columns(table)
    except (DataError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise RunError(f"{path} holds no estimates of {study.name}: {reason} {again}") from error


def _check(table: pl.DataFrame, study: Study) -> None:
    """Refuse what is no table of estimates of this study; missing numbers are null."""
    lacking = [name for name in _ALWAYS if name not in table.columns]
    if lacking:
        raise DataError(f"it has no column {lacking[0]!r}.")
    expected = {
        **estimate_schema(name for name in label_columns(table) if name not in estimate_schema()),
        **FIXED_COLUMNS,
    }
    for name, dtype in table.schema.items():
        if dtype not in (expected[name], pl.Null):
            raise DataError(f"its column {name!r} is {dtype}, not {expected[name]}.")
    if table["measure"].null_count() or table["model"].null_count():
        raise DataError("some name no measure or no model.")
    others = table.filter(pl.col("study").ne_missing(study.name))
    if others.height:
        raise DataError(f"some are of {others['study'][0]!r}.")


_OF, _TALLY, _SEAL = "facevalue.of", "facevalue.tally", "facevalue.seal"
_BLANK = b"0" * 64  # where the seal will stand
CHECKS = (picture_checks.TABLE, picture_checks.SEAL)
_LARGEST = 2**28
"""Bytes of estimates that are brought from object storage."""
_PACKAGE = Path(__file__).parents[1]


def take_estimates(
    runs: Sequence[StoredRun], margins: Mapping[str, float] | None = None, *, again: bool = False
) -> tuple[pl.DataFrame, Mapping[str, ReplyTally]]:
    """Estimates of runs, as `estimate` takes them; those of a single run are kept beside it.

    `runs`, `margins`: as for `estimate`. `again`: whether to take them in any case. Else those of a single run are
    read, if they are of these very files, margins, name and version of FaceValue.
    """
    if len(runs) > 1:
        return estimate(runs, margins)
    (run,) = runs
    of = digest_of_run(run, margins or {})
    stored = None if again else _read(run, of)
    if stored is not None:
        return stored[0], {str(run.folder): stored[1]}
    estimates, tallies = estimate(runs, margins)
    _keep(run, estimates, tallies[str(run.folder)], of)
    return estimates, tallies


def read_kept_estimates(run: StoredRun) -> tuple[pl.DataFrame, ReplyTally] | None:
    """Estimates of a run and the tally of its replies, if they are kept: none of its answers is read for them."""
    return _read(run, digest_of_run(run))


def keep(run: StoredRun) -> Path:
    """Take the estimates of a run, and keep them; returns where."""
    of = digest_of_run(run)
    estimates, tallies = estimate([run])
    return _keep(run, estimates, tallies[str(run.folder)], of)


def read_kept(path: Path, run: StoredRun) -> tuple[pl.DataFrame, ReplyTally]:
    """Estimates of a run and the tally of its replies that were just kept.

    Raises
    ------
    RunError
        They are no longer there.
    """
    if (stored := _read_file(path, run)) is None:
        raise RunError(f"{path} is not what was kept there.")
    return stored


def are_kept(run: StoredRun) -> bool:
    """Return whether the estimates of a run are kept, so that `take_estimates` only reads them."""
    of = digest_of_run(run)
    return any(_is_of(path, of) for path in _places(run))


def _keep(run: StoredRun, estimates: pl.DataFrame, tally: ReplyTally, of: str) -> Path:
    """Keep estimates beside the run, of a folder that cannot be written to in the cache; returns where."""
    data = _add_digest(estimates_bytes(estimates, {_OF: of, _TALLY: json.dumps(asdict(tally)), _SEAL: _BLANK.decode()}))
    path, *_, cached = _places(run)
    try:
        write_whole(path, data)
    except RunError:
        path = cached
        make_private(path.parent)
        write_whole(path, data)
    if of and run.url and run.facts.end is not None:
        with suppress(RunError):  # who may read there alone is to see estimates no less
            Objects.at(run.url).overwrite(ESTIMATES, data, once=True)
    return path


def _places(run: StoredRun) -> Sequence[Path]:
    """Places of a run's estimates on this machine: beside it or its mirror, or else in the cache."""
    place = str(run.folder.resolve())
    mirrors = [place_of(run.url, run.facts.id)] if run.url else []
    return [folder / ESTIMATES for folder in (run.folder, *mirrors, cached_folder("estimates", place, place))]


def _is_brought(run: StoredRun) -> bool:
    """Bring what is kept beside a run in object storage; whether anything is."""
    if not run.url or run.facts.end is None:
        return False
    try:
        objects = Objects.at(run.url)
        listed = objects.head(ESTIMATES)
        if listed is None or listed.size > _LARGEST:
            return False
        write_whole(run.folder / ESTIMATES, objects.part(listed, 0, listed.size))
    except RunError:  # without them, they are taken
        return False
    return True


def _add_digest(data: bytes) -> bytes:
    """A file with the digest of its other bytes: damage is known before anything reads it, which it could crash."""
    at = data.rfind(_BLANK)
    return data[:at] + hashlib.sha256(data).hexdigest().encode() + data[at + len(_BLANK) :]


def _is_whole(data: bytes) -> bool:
    """Return whether a file is as it was sealed."""
    at = data.rfind(_SEAL.encode()) + len(_SEAL) + 2  # in its metadata a type and a length stand between the two
    blank = data[:at] + _BLANK + data[at + len(_BLANK) :]
    return data[at : at + len(_BLANK)] == hashlib.sha256(blank).hexdigest().encode()


def _read(run: StoredRun, of: str) -> tuple[pl.DataFrame, ReplyTally] | None:
    """Read the estimates kept of these very files; None where there are none."""
    if not of:
        return None
    for path in _places(run):
        if _is_of(path, of) and (stored := _read_file(path, run)) is not None:
            return stored
    path = run.folder / ESTIMATES
    return _read_file(path, run) if _is_brought(run) and _is_of(path, of) else None


def _is_of(path: Path, of: str) -> bool:
    """Return whether a file is as it was kept, and of this digest."""
    try:
        return bool(of) and _is_whole(path.read_bytes()) and read_metadata(path).get(_OF) == of
    except (OSError, RunError, pl.exceptions.PolarsError):
        return False


def _read_file(path: Path, run: StoredRun) -> tuple[pl.DataFrame, ReplyTally] | None:
    try:
        counted = json.loads(read_metadata(path)[_TALLY])
        na = {str(reason): int(n) for reason, n in counted["na"].items()}
        return read_estimates(path, run.study), ReplyTally(int(counted["asked"]), na)
    except (OSError, pl.exceptions.PolarsError, RunError, LookupError, ValueError, TypeError, AttributeError):
        return None  # whatever is wrong with the file, the answers are there


def digest_of_run(run: StoredRun, margins: Mapping[str, float] = MappingProxyType({})) -> str:
    """Digest of all that estimates come from; empty for a study whose code is not ours, as it may have changed.

    Of a run in object storage it is the same where all of it is here and where it is read in place.
    """
    if run.given is not None or (run.facts.study not in PUBLISHED and STUDY_TEXT not in run.facts.options):
        return ""
    if run.url and run.study.reading.from_place:  # what lies there is no part of the mirror
        return ""
    taken_by = [_code(), versions(), sorted(margins.items()), run.model, _named_files(run)]
    out = hashlib.sha256(json.dumps(taken_by).encode())
    for name, size, digest in _contents(run):
        out.update(f"{name}\0{size}\0{digest}\0".encode())
    return out.hexdigest()


def _contents(run: StoredRun) -> Iterator[tuple[str, int, str]]:
    """Names, sizes and digests of all files that estimates come from."""
    folder, units = run.folder, shard_paths(run.folder) if run.url else []
    if run.url:  # shards here are called otherwise in place than in the mirror, and hold the digests of their units
        facts = run_data(replace(read_manifest(folder), shards=()))
        yield MANIFEST, len(facts), hashlib.sha256(facts).hexdigest()
        for path in units:
            yield RESPONSES_FOLDER, path.stat().st_size, unit_digest(path)
    for path in _files(folder):
        if not run.url or (path.parent.name != RESPONSES_FOLDER and path.name != MANIFEST):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield str(path.relative_to(folder)), path.stat().st_size, digest


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for name in (MANIFEST, STIMULI, PREREGISTRATION, *CHECKS) if (path := folder / name).is_file())
    for name in (RESPONSES_FOLDER, ANNOTATIONS):
        yield from sorted(p for p in (folder / name).rglob("*") if p.is_file() and not p.name.startswith("."))


def _named_files(run: StoredRun) -> list[tuple[str, int, int]]:
    """Files of the user's, such as lists of words, that the study's options name: their size, and when they changed."""
    out = []
    for name, value in run.facts.options.items():
        try:
            is_file = isinstance(value, str) and value and not (run.url and name in ROOTS)  # pictures are in the cache
            file_facts = Path(str(value)).stat() if is_file else None
        except (OSError, ValueError):
            continue
        if file_facts is not None:
            out.append((str(value), file_facts.st_size, file_facts.st_mtime_ns))
    return out


@cache
def _code() -> str:
    """Digest of this package: a version may still change."""
    out = hashlib.sha256()
    for path in sorted(path for path in _PACKAGE.rglob("*") if path.suffix in (".py", ".toml", ".json", ".txt")):
        out.update(path.read_bytes())
    return out.hexdigest()
