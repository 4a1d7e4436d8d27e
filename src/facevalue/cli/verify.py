"""`facevalue verify`: integrity of run folders, and of those of an audit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.cli.params import place as place_of
from facevalue.errors import DataError, RunError
from facevalue.runs.audit_folder import runs_of
from facevalue.runs.mirror import mirror_run
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify as check


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
    return Output(VerifyDocument(verified), _lines(verified), status, warnings)


def _verified_runs(place: Path | str) -> Iterator[VerifiedRun]:
    try:
        runs = runs_of(place)
    except RunError as error:
        yield VerifiedRun(str(place), "damaged", None, None, None, fault=str(error))
        return
    yield from (_verify_run(place_of(run)) for run in runs)


def _verify_run(run: Path | str) -> VerifiedRun:
    try:
        if isinstance(run, str):
            mirror_run(run, again=True)
        sound = check(StoredRun.open(run))
    except (RunError, DataError) as error:
        return VerifiedRun(str(run), "damaged", None, None, None, fault=str(error))
    state: Literal["sound", "whole"] = "whole" if sound.odd else "sound"
    return VerifiedRun(str(run), state, sound.replies, sound.shards, sound.digests, sound.odd)


def _lines(runs: Sequence[VerifiedRun]) -> Iterator[str]:
    for run in runs:
        if run.state == "damaged":
            continue
        note = "" if run.digests else " Its format has no digests: damage that leaves a file readable is not seen."
        shards = "1 shard" if run.shards == 1 else f"{run.shards:,} shards"
        yield f"{run.run}: {run.state}. {run.replies:,} replies that count in {shards}.{note}"
