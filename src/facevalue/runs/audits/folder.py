"""Folder of an audit: `audit.toml`, which says what is asked of one model, and a run folder for each study."""

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from facevalue.errors import DataError, RunError
from facevalue.places import folder_or_url, is_url
from facevalue.protocol.study import LeftOut
from facevalue.runs.settings import utc_now
from facevalue.seals import sealed, unsealed
from facevalue.store.files import MANIFEST, make_folder, read_placed, write_placed
from facevalue.store.journal import store_left_over
from facevalue.store.manifest import MAX_BYTES, read_manifest, utc_time, without_none
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units, read_run
from facevalue.store.shards import shard_paths
from facevalue.types import OptionValue
from facevalue.untrusted_files import to_toml

AUDIT = "audit.toml"
RUNS = "runs"
"""Folder of an audit's runs."""
FORMAT, VERSION = "facevalue-audit", 1
_ENDS = ".toml"


@dataclass(frozen=True, slots=True)
class AuditedStudy:
    """A study of an audit.

    Attributes
    ----------
    name:
        Folder of its run, below `runs`.
    study:
        Its name, or the file of the user's own as it was typed.
    options:
        The settings that the audit chose; all others have their defaults.
    pilot:
        Requests that are asked first, to see how far answers spread.
    sample:
        Requests wanted in all; None while the plan is not made, and where there is no budget.
    digest:
        SHA-256 of the study's file; empty for a study that comes with FaceValue or another package.
    dealt:
        Requests of `sample` that were not asked, as enough was known, and went to the studies after it.
    stopped:
        Why nothing more is asked of it after its pilot; empty if it is.

    Examples
    --------
    >>> AuditedStudy("visbias", "visbias", {}, pilot=200).planned_requests
    200
    """

    name: str
    study: str
    options: Mapping[str, OptionValue]
    pilot: int
    sample: int | None = None
    digest: str = ""
    dealt: int = 0
    stopped: str = ""

    @property
    def planned_requests(self) -> int:
        """Requests wanted as far as the plan is made: those of the pilot, or all."""
        return self.pilot if self.sample is None else self.sample


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Content of `audit.toml`, without secrets.

    Attributes
    ----------
    model:
        Its name, as the user typed it.
    studies:
        What is asked, in order.
    left_out:
        Studies that are not asked, and why.
    settings:
        What else decides what is asked, by the name of the option.
    budget:
        As it was typed; empty where there is none, and only a pilot is taken.
    started:
        When the audit began, in UTC.
    planned:
        Whether the plan is made: what each study is asked in all.
    ended:
        When all was asked; None until then.

    Examples
    --------
    >>> record = AuditRecord("reference", (AuditedStudy("visbias", "visbias", {}, 200),))
    >>> record.planned, record.studies[0].planned_requests
    (False, 200)
    """

    model: str
    studies: tuple[AuditedStudy, ...]
    left_out: tuple[LeftOut, ...] = ()
    settings: Mapping[str, OptionValue] = field(default_factory=dict)
    budget: str = ""
    started: datetime = field(default_factory=utc_now)
    planned: bool = False
    ended: datetime | None = None

    @property
    def stopped_studies(self) -> frozenset[str]:
        """Names of the studies that are asked no more."""
        return frozenset(study.name for study in self.studies if study.stopped)


def is_audit(place: Path | str) -> bool:
    """Return whether a folder or URL holds an audit.

    Examples
    --------
    >>> is_audit(Path("no-such-folder"))
    False
    """
    if not is_url(place):
        return (Path(place) / AUDIT).is_file() and not (Path(place) / MANIFEST).exists()
    with suppress(RunError):  # a folder that is not there
        return Objects.at(place).head(AUDIT) is not None
    return False


def check_no_audit(place: Path | Objects) -> None:
    """Refuse to begin a run where an audit is: it would no longer be one.

    Raises
    ------
    RunError
        There is an audit.
    """
    if isinstance(place, Path):
        has_record, name = is_audit(place), str(place)
    else:
        has_record, name = place.head(AUDIT) is not None, place.url
    if has_record:
        raise RunError(f"{name} is an audit: name another place for a run.")


def runs_of(place: Path | str, *, whole: bool = False) -> list[str]:
    """Runs of an audit that have begun, in its order; a run is itself.

    Parameters
    ----------
    place:
        The folder or URL of an audit or of a run.
    whole:
        Whether each of its studies must have begun.

    Raises
    ------
    RunError
        An audit of which no run has begun, or one is gone, or whose record was damaged.

    Examples
    --------
    >>> runs_of("runs/first")
    ['runs/first']
    """
    if not is_audit(place):
        return [str(place)]
    record = read_audit(place)
    begun = begun_runs(place, record)
    if not begun:
        raise RunError(f"{place} is an audit that has asked nothing yet: give its command again.")
    waiting = waiting_studies(record, begun)
    if waiting and record.ended is not None:
        raise RunError(
            f"{run_place(place, waiting[0])} is gone, and {AUDIT} says that all was asked: restore it from a copy, or "
            "give the command of the audit again."
        )
    if waiting and whole:
        raise RunError(f"{_not_yet(place, waiting)}: give the command of the audit again first.")
    return [str(run) for run in begun.values()]


def whole_runs_of(place: Path | str) -> list[str]:
    """Runs of an audit as `runs_of` names them, where each has begun: nothing is to pass that was never asked.

    Raises
    ------
    RunError
        Also where a study has not begun.

    Examples
    --------
    >>> whole_runs_of("runs/first")
    ['runs/first']
    """
    return runs_of(place, whole=True)


def waiting_studies(record: AuditRecord, begun: Container[str]) -> tuple[str, ...]:
    """Studies of an audit of which no run has begun; `begun`: names of those that have."""
    return tuple(study.name for study in record.studies if study.name not in begun)


class WaitingRun(NamedTuple):
    """Run of an audit of which nothing was asked yet."""

    place: str
    study: str
    model: str


def waiting_runs(places: Iterable[Path | str]) -> list[WaitingRun]:
    """Runs of audits that have not begun, of runs and audits.

    Examples
    --------
    >>> waiting_runs(["runs/first"])
    []
    """
    audits = {str(place): read_audit(place) for place in places if is_audit(place)}
    return [
        WaitingRun(str(run_place(audit, name)), name, record.model)
        for audit, record in audits.items()
        for name in waiting_studies(record, begun_runs(audit, record))
    ]


def describe_unasked(places: Iterable[Path | str]) -> tuple[str, ...]:
    """Sentences on the studies of audits that have not begun, one for each audit that has such, of runs and audits.

    Examples
    --------
    >>> describe_unasked(["runs/first"])
    ()
    """
    audits = dict.fromkeys(str(place) for place in places if is_audit(place))
    records = {audit: read_audit(audit) for audit in audits}
    waiting = {audit: waiting_studies(record, begun_runs(audit, record)) for audit, record in records.items()}
    return tuple(f"{_not_yet(name, names)}: this is of its other studies." for name, names in waiting.items() if names)


def _not_yet(audit: Path | str, waiting: Sequence[str]) -> str:
    return f"{audit} has not asked {', '.join(waiting)} yet"


def check_one_run(place: Path | str) -> None:
    """Refuse an audit where one run is meant, and say which runs are in it.

    Raises
    ------
    RunError
        There is an audit.
    """
    if is_audit(place):
        runs = ", ".join(runs_of(place))
        raise RunError(f"{place} is an audit, whose folder {RUNS} holds a run of each study. Name one of them: {runs}.")


def begun_runs(audit: Path | str, record: AuditRecord) -> dict[str, Path | str]:
    """Runs of an audit that hold a response, by name."""
    places = {study.name: run_place(audit, study.name) for study in record.studies}
    return {name: place for name, place in places.items() if _has_begun(place)}


def run_place(audit: Path | str, name: str) -> Path | str:
    """Place of a study's run.

    Examples
    --------
    >>> run_place("s3://bucket/audit", "visbias"), run_place(Path("audit"), "visbias").as_posix()
    ('s3://bucket/audit/runs/visbias', 'audit/runs/visbias')
    """
    if is_url(audit):
        return f"{audit.rstrip('/')}/{RUNS}/{name}"
    return Path(audit) / RUNS / name


def _has_begun(run: Path | str) -> bool:
    if isinstance(run, Path):
        if (run / MANIFEST).is_file():
            store_left_over(run, read_manifest(run).id)
            return bool(shard_paths(run))
        return False
    with suppress(RunError):  # a folder that is not there
        objects = Objects.at(run)
        return read_run(objects, missing=True) is not None and bool(listed_units(objects))
    return False


def run_name(study: str) -> str:
    """Name of a study's run: the study's name, or that of its file.

    Examples
    --------
    >>> run_name("visbias"), run_name("mine/hiring.toml")
    ('visbias', 'hiring')
    """
    return Path(study).name.removesuffix(_ENDS)


def write_audit(place: Path | str, record: AuditRecord) -> None:
    """Write `audit.toml`, whole or not at all."""
    place = folder_or_url(place)
    if isinstance(place, Path):
        make_folder(place)
    write_placed(place, AUDIT, record_bytes(record))


def record_bytes(record: AuditRecord) -> bytes:
    """A record as `audit.toml` holds it, with its digest."""
    return sealed(tomli_w.dumps(_document(record)).encode())


def read_audit(place: Path | str) -> AuditRecord:
    """Read `audit.toml`.

    Raises
    ------
    RunError
        There is none, it was damaged or edited, or another version of FaceValue wrote it.
    """
    name = f"{str(place).rstrip('/')}/{AUDIT}"
    try:
        data = read_placed(folder_or_url(place), AUDIT, MAX_BYTES, "record of an audit")
        if data is None:
            raise RunError(f"There is no {name}.")
        rest = unsealed(data, name)
        document = to_toml(rest, name)
    except DataError as error:
        raise RunError(str(error)) from None
    if document.get("format") != FORMAT:
        raise RunError(f"{name} is not the record of an audit, which FaceValue writes itself. Name another folder.")
    if rest is data:
        raise RunError(f"{name} lacks the digest in its first line: it was damaged or edited. Restore it from a copy.")
    if document.get("version") != VERSION:
        version = document.get("version")
        raise RunError(f"{name} has version {version!r}; this FaceValue reads {VERSION}. Use the one that wrote it.")
    try:
        return _parse_record(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{name} is not as FaceValue writes it ({type(error).__name__}: {error}).") from error


def _document(record: AuditRecord) -> dict[str, Any]:
    document = {
        "format": FORMAT,
        "version": VERSION,
        "model": record.model,
        "budget": record.budget,
        "started": record.started,
        "planned": record.planned,
        "ended": record.ended,
        "settings": dict(record.settings),
        "study": [
            without_none(
                {
                    "name": study.name,
                    "study": study.study,
                    "pilot": study.pilot,
                    "sample": study.sample,
                    "digest": study.digest or None,
                    "dealt": study.dealt or None,
                    "stopped": study.stopped or None,
                    "options": dict(study.options),
                }
            )
            for study in record.studies
        ],
        "left_out": [{"study": omission.what, "why": omission.why} for omission in record.left_out],
    }
    return without_none(document)


def _parse_record(document: Mapping[str, Any]) -> AuditRecord:
    return AuditRecord(
        model=str(document["model"]), studies=tuple(map(_study, document.get("study", ()))),
        left_out=tuple(LeftOut(str(table["study"]), str(table["why"])) for table in document.get("left_out", ())),
        settings=dict(document["settings"]), budget=str(document["budget"]), started=utc_time(document["started"]),
        planned=bool(document["planned"]), ended=utc_time(document["ended"]) if "ended" in document else None,
    )  # fmt: skip


def _study(table: Mapping[str, Any]) -> AuditedStudy:
    name = str(table["name"])
    if name != run_name(name) or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not the name of a run")
    return AuditedStudy(
        name, str(table["study"]), dict(table["options"]), int(table["pilot"]),
        sample=int(table["sample"]) if "sample" in table else None, digest=str(table.get("digest", "")),
        dealt=int(table.get("dealt", 0)), stopped=str(table.get("stopped", "")),
    )  # fmt: skip
