"""Importing answers that others asked for into run folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.cli.running import RunDocument, execute
from facevalue.records.opening import open_records
from facevalue.runs.imported_runs import by_run, prepare_import

_AGAIN = "The same command with a fuller record fills them in."


@dataclass(frozen=True)
class ImportDocument(Document):
    """Runs that were made of records, or filled by them."""

    FORMAT: ClassVar[str] = "import"
    runs: tuple[RunDocument, ...]
    """Each as of `run`."""


def import_records(
    records: tuple[Path, ...],
    out: Path,
    name: str | None,
    outside: bool,
    refusal_words: tuple[str, ...] = (),
    allow_mismatch: bool = False,
) -> Output[ImportDocument]:
    """Make a run folder of each model's records; of several models, folders below OUT."""
    opened_records, warnings = open_records(records)
    documents, status = [], Exit.DONE
    for folder, group in by_run(opened_records, out, name).items():
        prepared, model = prepare_import(group, folder, name, refusal_words, outside=outside, mismatched=allow_mismatch)
        output = execute(prepared, model, _AGAIN)
        assert isinstance(output.document, RunDocument)
        documents.append(output.document)
        status = max(status, output.status)
        warnings += model.warnings(resumed=output.document.skipped > 0)
    return Output(ImportDocument(tuple(documents)), status=status, warnings=warnings)
