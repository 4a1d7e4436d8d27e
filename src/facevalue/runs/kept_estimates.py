"""Estimates that a run's folder keeps, with the digest of all that they were taken of: they need not be taken again."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import polars as pl

from facevalue.annotations.scores import ANNOTATIONS
from facevalue.errors import RunError
from facevalue.parquet import read_metadata
from facevalue.protocol import checked_pictures
from facevalue.runs.estimates_file import parquet, read_estimates, write_estimates
from facevalue.runs.joined import estimate
from facevalue.runs.stored import ReplyTally, StoredRun
from facevalue.store.files import ESTIMATES, MANIFEST, PREREGISTRATION, RESPONSES_FOLDER, STIMULI, write_whole
from facevalue.store.manifest import versions
from facevalue.studies.registry import PUBLISHED
from facevalue.types import STUDY_TEXT

_OF, _TALLY, _SEAL = "facevalue.of", "facevalue.tally", "facevalue.seal"
_BLANK = b"0" * 64  # where the seal will stand
CHECKS = (checked_pictures.TABLE, checked_pictures.SEAL)
_PACKAGE = Path(__file__).parents[1]


def taken(
    runs: Sequence[StoredRun], margins: Mapping[str, float] | None = None, *, again: bool = False
) -> tuple[pl.DataFrame, Mapping[str, ReplyTally]]:
    """Estimates of runs, as `estimate` takes them; those of a single run are kept in its folder.

    `runs`, `margins`: as for `estimate`. `again`: whether to take them in any case. Else those of a single run are
    read, if they are of these very files, margins and version of FaceValue.
    """
    if len(runs) > 1:
        return estimate(runs, margins)
    (run,) = runs
    of = _digest(run, margins or {})
    stored = None if again or not of else _read(run, of)
    if stored is not None:
        return stored
    estimates, tallies = estimate(runs, margins)
    tally = tallies[str(run.folder)]
    if not of:
        write_estimates(estimates, run.folder / ESTIMATES)
        return estimates, tallies
    metadata = {_OF: of, _TALLY: json.dumps(asdict(tally)), _SEAL: _BLANK.decode()}
    write_whole(run.folder / ESTIMATES, _sealed(parquet(estimates, metadata)))
    return estimates, tallies


def are_kept(run: StoredRun) -> bool:
    """Whether the folder of a run keeps its estimates, so that `taken` only reads them."""
    of = _digest(run, {})
    try:
        return bool(of) and read_metadata(run.folder / ESTIMATES).get(_OF) == of
    except (OSError, RunError, pl.exceptions.PolarsError):
        return False


def _sealed(data: bytes) -> bytes:
    """A file with the digest of its other bytes: damage is known before anything reads it, which it could crash."""
    at = data.rfind(_BLANK)
    return data[:at] + hashlib.sha256(data).hexdigest().encode() + data[at + len(_BLANK) :]


def _is_whole(data: bytes) -> bool:
    """Whether a file is as it was sealed."""
    at = data.rfind(_SEAL.encode()) + len(_SEAL) + 2  # in its metadata a type and a length stand between the two
    blank = data[:at] + _BLANK + data[at + len(_BLANK) :]
    return data[at : at + len(_BLANK)] == hashlib.sha256(blank).hexdigest().encode()


def _read(run: StoredRun, of: str) -> tuple[pl.DataFrame, Mapping[str, ReplyTally]] | None:
    path = run.folder / ESTIMATES
    try:
        if not _is_whole(path.read_bytes()):
            return None
        metadata = read_metadata(path)
        if metadata.get(_OF) != of:
            return None
        counted = json.loads(metadata[_TALLY])
        na = {str(reason): int(n) for reason, n in counted["na"].items()}
        tally = ReplyTally(int(counted["asked"]), int(counted["failed"]), na)
        return read_estimates(path, run.study), {str(run.folder): tally}
    except (OSError, pl.exceptions.PolarsError, RunError, LookupError, ValueError, TypeError, AttributeError):
        return None  # whatever is wrong with the file, the answers are there


def _digest(run: StoredRun, margins: Mapping[str, float]) -> str:
    """Of everything that estimates come from; empty for a study whose code is not ours, as it may have changed."""
    if run.given is not None or (run.facts.study not in PUBLISHED and STUDY_TEXT not in run.facts.options):
        return ""
    if run.url and run.study.reading.from_place:  # what lies there is no part of the mirror
        return ""
    out = hashlib.sha256(json.dumps([_code(), versions(), sorted(margins.items()), _named(run)]).encode())
    for path in _files(run.folder):
        out.update(f"{path.relative_to(run.folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            out.update(hashlib.file_digest(file, "sha256").digest())
    return out.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for name in (MANIFEST, STIMULI, PREREGISTRATION, *CHECKS) if (path := folder / name).is_file())
    for name in (RESPONSES_FOLDER, ANNOTATIONS):
        yield from sorted(p for p in (folder / name).rglob("*") if p.is_file() and not p.name.startswith("."))


def _named(run: StoredRun) -> list[tuple[str, int, int]]:
    """Files of the user's, such as lists of words, that the study's options name: their size, and when they changed."""
    out = []
    for value in run.facts.options.values():
        try:
            file_facts = Path(value).stat() if isinstance(value, str) and value else None
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
