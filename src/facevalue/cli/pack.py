"""`facevalue pack`: everything that an audit rests on, in forms that others' tools read; and its check."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.cli.results import open_all
from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.runs.audit_folder import whole_runs_of


@dataclass(frozen=True)
class PackDocument(Document):
    """A pack that was written."""

    FORMAT: ClassVar[str] = "pack"
    pack: str
    """Folder or ZIP file."""
    files: int
    bytes: int
    """Of all files together, before they were packed."""
    runs: tuple[str, ...]
    """Names of its runs."""


@dataclass(frozen=True)
class PackCheckDocument(Document):
    """Check of a pack (`pack --verify`)."""

    FORMAT: ClassVar[str] = "pack-check"
    pack: str
    files: int
    """How many its list names."""
    faults: tuple[str, ...]
    """Files that are missing, changed, or not in the list; empty if all is as it was written."""


def pack(
    runs: Sequence[Path | str],
    to: Path | None,
    verify: Path | None,
    organization: str,
    limits: Path | None,
    baseline: Sequence[str],
) -> Output[PackDocument | PackCheckDocument]:
    """Write a pack, or check one."""
    if verify is not None:
        if runs or to is not None or limits is not None or baseline:
            raise SettingError("--verify checks a pack that is there: leave out all else.")
        from facevalue.packing.sealing import faults  # noqa: PLC0415 - what packs imports reports

        files, wrong = faults(verify)
        text = wrong or [f"{verify}: all {files:,} files are as they were written."]
        status = Exit.REFUSED if wrong else Exit.DONE
        return Output(PackCheckDocument(str(verify), files, tuple(wrong)), text, status)
    if not runs:
        raise SettingError("Name the runs or the audit to pack: facevalue pack RUN --to pack.zip")
    if to is None:
        raise SettingError("Say where the pack goes: --to FOLDER, or --to FILE.zip.")
    from facevalue.packing.contents import pack as write_pack  # noqa: PLC0415

    try:
        packed = write_pack(runs, to, organization, limits, open_all(baseline, below=whole_runs_of))
    except UnknownNameError as error:  # of a run or file, not of the command line
        raise FaceValueError(str(error)) from error
    line = f"{packed.place}: {packed.files:,} files, {packed.size / 1e6:,.1f} MB. Begin with README.md."
    return Output(PackDocument(str(packed.place), packed.files, packed.size, packed.runs), [line])
