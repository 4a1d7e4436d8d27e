"""`facevalue status`, `fetch` and `verify`: how far runs are, where they lie, whether they are whole."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Literal

from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.cli.params import place as place_of
from facevalue.errors import DataError, RunError, SettingError
from facevalue.places import is_url, run_of
from facevalue.printable import shell_command
from facevalue.runs.audits.folder import begun_runs, is_audit, read_audit, runs_of, waiting_studies
from facevalue.runs.rich_progress import duration
from facevalue.store.journal import store_left_over
from facevalue.store.lease import RunLock
from facevalue.store.manifest import RunManifest, read_manifest
from facevalue.store.objects import Objects
from facevalue.store.reader import count_replied
from facevalue.store.remote import STATUS, listed_units, run_under

_SILENT = 60.0  # seconds after which a driver that writes its status every few seconds may be dead
_NODES = 20  # named at most


@dataclass(frozen=True)
class StatusDocument(Document):
    """Progress of a run."""

    FORMAT: ClassVar[str] = "status"
    run: str
    """Folder or URL."""
    study: str
    model: str
    """As it was asked for."""
    state: Literal["running", "silent", "stopped"]
    """silent: the process that runs it has reported nothing for a minute, and may be dead."""
    complete: bool
    """Whether every request has been asked."""
    completed_at: datetime | None
    """When that was; null until then."""
    enough: str
    """What was known when the run's own rule (--stop-when) ended it; empty if it did not."""
    replies: int
    """Requests with a reply, valid or not."""
    requests: int
    """Requests of the run."""
    process: str
    """What runs it, or ran it last, for people; empty where that is not known."""
    units: int | None = None
    """Units stored, of a run in object storage; null in a folder, as all below."""
    answers_per_second: float | None = None
    cost: float | None = None
    """Cost of this session; null where no price is known."""
    units_given_up: int | None = None
    """Units that failed too often; the same command retries them."""
    workers_by_node: Mapping[str, int] = field(default_factory=dict)
    failures_by_node: Mapping[str, int] = field(default_factory=dict)
    """Requests that failed."""
    units_lost_by_node: Mapping[str, int] = field(default_factory=dict)
    """Units whose worker was lost."""


@dataclass(frozen=True)
class AuditStatusDocument(Document):
    """Progress of an audit."""

    FORMAT: ClassVar[str] = "audit-status"
    audit: str
    """Folder or URL."""
    model: str
    """As it was asked for."""
    planned: bool
    """Whether the plan is made: until then, only pilots are asked."""
    completed_at: datetime | None
    """When all was asked; null until then."""
    runs: tuple[StatusDocument, ...]
    """Runs that have begun."""
    waiting: tuple[str, ...]
    """Studies of which none has."""


def status(run: Path | str) -> Output[StatusDocument | AuditStatusDocument]:
    """Say how far a run is, or an audit."""
    if is_audit(run):
        audit = _of_audit(run)
        return Output(audit, _audit_lines(audit))
    document = _of_run(run)
    return Output(document, _lines(document))


def _of_run(run: Path | str) -> StatusDocument:
    return _of_objects(*run_under(run)) if isinstance(run, str) else _of_folder(run_of(run))


def _of_audit(audit: Path | str) -> AuditStatusDocument:
    record = read_audit(audit)
    begun = begun_runs(audit, record)
    waiting = waiting_studies(record, begun)
    runs = tuple(map(_of_run, begun.values()))
    return AuditStatusDocument(str(audit), record.model, record.planned, record.ended, runs, waiting)


def _audit_lines(status: AuditStatusDocument) -> Iterator[str]:
    yield f"{status.audit}: an audit of {status.model}"
    for run in status.runs:
        yield from _lines(run)
    if status.waiting:
        yield f"Not begun: {', '.join(status.waiting)}"
    if status.completed_at is not None:
        yield f"Complete since {status.completed_at:%Y-%m-%d %H:%M} UTC."


def _of_objects(objects: Objects, run: RunManifest) -> StatusDocument:
    status = _read_status(objects)
    answered, given_up = _number(status, "answered"), _number(status, "units_given_up")
    stored = run.counts.ok + run.counts.refused + run.counts.truncated
    state, process = _driver(status)
    return StatusDocument(
        run=objects.url, study=run.study, model=run.model, state=state, complete=run.end is not None,
        completed_at=run.end, enough=run.enough, replies=stored if answered is None else round(answered),
        requests=run.counts.requests, process=process, units=len(listed_units(objects)),
        answers_per_second=_number(status, "answers_per_second"), cost=_number(status, "cost"),
        units_given_up=None if given_up is None else round(given_up),
        workers_by_node=_counts(status.get("workers_by_node")),
        failures_by_node=_counts(status.get("failures_by_node")),
        units_lost_by_node=_counts(status.get("units_lost_by_node")),
    )  # fmt: skip


def _driver(status: Mapping[str, object]) -> tuple[Literal["running", "silent", "stopped"], str]:
    """State of the process that last wrote its status, and a sentence on it."""
    driver = status.get("driver")
    last = _time(status.get("at"))
    if not isinstance(driver, dict) or last is None:
        return "stopped", ""
    ago = max((datetime.now(UTC) - last).total_seconds(), 0)
    process = f"process {driver.get('pid')} on {driver.get('host')}"
    if status.get("state") != "running":
        return "stopped", f"Not running: {process} ended {duration(ago)} ago."
    if ago > _SILENT:
        return "silent", (
            f"Perhaps ended: {process} has reported nothing for {duration(ago)}. Resume with the same command."
        )
    return "running", f"Running: {process} reported {duration(ago)} ago."


def _of_folder(folder: Path) -> StatusDocument:
    run = read_manifest(folder)
    store_left_over(folder, run.id)
    state: Literal["running", "stopped"] = "stopped"
    process = "Not running."
    try:
        with RunLock(folder):
            pass
    except RunError as error:
        if isinstance(error.__cause__, OSError):
            process = "Whether a process runs it cannot be seen, as the folder cannot be written."
        else:
            state, process = "running", str(error).partition(". ")[0] + "."
    return StatusDocument(
        run=str(folder), study=run.study, model=run.model, state=state, complete=run.end is not None,
        completed_at=run.end, enough=run.enough, replies=count_replied(folder, run.repeats),
        requests=run.counts.requests, process=process,
    )  # fmt: skip


def _lines(status: StatusDocument) -> Iterator[str]:
    yield f"{status.run}: {status.study} on {status.model}"
    share = status.replies / status.requests if status.requests else 1.0
    units = "" if status.units is None else f", {status.units:,} {'unit' if status.units == 1 else 'units'} stored"
    yield f"{status.replies:,}/{status.requests:,} requests ({share:.0%}){units}"
    if status.enough:
        yield status.enough
    if status.completed_at is not None:
        yield f"Complete since {status.completed_at:%Y-%m-%d %H:%M} UTC."
    if status.state != "stopped" and (rate := status.answers_per_second):
        yield f"{rate:,.3g} answers/s, {duration(max(status.requests - status.replies, 0) / rate)} to go"
    if status.cost is not None:
        yield f"cost of this session: {status.cost:,.2f}"
    for label, counts in (
        ("workers", status.workers_by_node),
        ("failed requests", status.failures_by_node),
        ("lost workers", status.units_lost_by_node),
    ):
        if counts:
            yield f"{label}: {_list_counts(counts)}"
    if status.units_given_up:
        yield f"units given up: {status.units_given_up:,}; the same command retries them"
    if status.process:
        yield status.process


def _read_status(objects: Objects) -> Mapping[str, object]:
    """Read the status that the driver last wrote; empty if it cannot be understood."""
    stored = objects.get(STATUS)
    try:
        status = json.loads(stored[0]) if stored is not None else {}
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _number(status: Mapping[str, object], key: str) -> float | None:
    value = status.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except ValueError:
        return None


def _counts(value: object) -> dict[str, int]:
    """Counts by node, the largest first."""
    counts = [(str(node), count) for node, count in value.items() if isinstance(count, int)] if isinstance(
        value, dict) else []  # fmt: skip
    return dict(sorted(counts, key=lambda pair: (-pair[1], pair[0])))


def _list_counts(counts: Mapping[str, int]) -> str:
    rest = len(counts) - _NODES
    largest = list(counts.items())[:_NODES]
    return ", ".join(f"{node} {count:,}" for node, count in largest) + (f" and {rest} more" if rest > 0 else "")


def fetch(run: str, folder: Path) -> Output[WrittenFiles]:
    """Bring the run under a URL into a new folder, which is a run folder like any other; pictures with their run."""
    from facevalue.report.formatting import quantity  # noqa: PLC0415 - scipy takes a second to import
    from facevalue.runs.storage.fetch import fetch_run  # noqa: PLC0415 - scipy takes a second to import

    if not is_url(run):
        raise SettingError(f"{run} is no URL of object storage: write s3://BUCKET/PREFIX, gs://, az:// or file://.")
    pictures = fetch_run(run, folder)
    then, count = (
        shell_command("report", folder),
        f" ({quantity(pictures, 'picture', 'pictures')})" if pictures else "",
    )
    return Output(WrittenFiles((str(folder),), pictures or None, then), [f"{folder}{count}: {then}"])


@dataclass(frozen=True, slots=True)
class VerifiedRun:
    """Integrity of one run."""

    run: str
    """Folder or URL, as it was given."""
    state: Literal["sound", "whole", "damaged"]
    """sound: all is as it was written; whole: all files are, but some rows cannot count; damaged: see `fault`."""
    replies: int | None
    """Replies that count; null where the run is damaged."""
    shards: int | None
    """Files they lie in; null where the run is damaged."""
    digests: bool | None
    """Whether the format has digests: without them, damage that leaves a file readable is not seen."""
    odd: tuple[str, ...] = ()
    """Of each file with rows that cannot count, how many, and one of them."""
    fault: str = ""
    """The first file that is missing, damaged, or of another run; empty if none is."""


@dataclass(frozen=True)
class VerifyDocument(Document):
    """Integrity of run folders."""

    FORMAT: ClassVar[str] = "verify"
    runs: tuple[VerifiedRun, ...]
    """Each run, in the order given; of an audit those that have begun."""


def verify(runs: Sequence[Path | str]) -> Output[VerifyDocument]:
    """Check runs and those of audits, each to its end or to the first file that is damaged."""
    verified = tuple(verified for place in runs for verified in _verified_runs(place))
    warnings = [f"{line} `facevalue run` sets them aside and asks again." for run in verified for line in run.odd]
    warnings += [run.fault for run in verified if run.fault]
    status = Exit.DONE if all(run.state == "sound" for run in verified) else Exit.REFUSED
    return Output(VerifyDocument(verified), _verified_lines(verified), status, warnings)


def _verified_runs(place: Path | str) -> Iterator[VerifiedRun]:
    try:
        runs = runs_of(place)
    except RunError as error:
        yield VerifiedRun(str(place), "damaged", None, None, None, fault=str(error))
        return
    yield from (_verify_run(place_of(run)) for run in runs)


def _verify_run(run: Path | str) -> VerifiedRun:
    from facevalue.runs.storage.mirror import mirror_run  # noqa: PLC0415
    from facevalue.runs.stored_run import StoredRun  # noqa: PLC0415
    from facevalue.runs.verify import verify as check  # noqa: PLC0415 - scipy takes a second to import

    try:
        if isinstance(run, str):
            mirror_run(run, again=True)
        sound = check(StoredRun.open(run))
    except (RunError, DataError) as error:
        return VerifiedRun(str(run), "damaged", None, None, None, fault=str(error))
    state: Literal["sound", "whole"] = "whole" if sound.odd else "sound"
    return VerifiedRun(str(run), state, sound.replies, sound.shards, sound.digests, sound.odd)


def _verified_lines(runs: Sequence[VerifiedRun]) -> Iterator[str]:
    for run in runs:
        if run.state == "damaged":
            continue
        note = "" if run.digests else " Its format has no digests: damage that leaves a file readable is not seen."
        shards = "1 shard" if run.shards == 1 else f"{run.shards:,} shards"
        yield f"{run.run}: {run.state}. {run.replies:,} replies that count in {shards}.{note}"
