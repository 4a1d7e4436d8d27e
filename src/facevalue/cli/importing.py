"""Importing answers that others asked for into run folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.cli.running import RunDocument, execute
from facevalue.errors import DataError, SettingError
from facevalue.records.base import Record
from facevalue.records.opening import opened
from facevalue.runs.imported import imported
from facevalue.runs.prepared import model_in_path

_AGAIN = "The same command with a fuller record fills them in."


@dataclass(frozen=True)
class ImportDocument(Document):
    """Runs that were made of records, or filled by them."""

    FORMAT: ClassVar[str] = "import"
    runs: tuple[RunDocument, ...]
    """Each as of `run`."""


def import_records(records: tuple[Path, ...], out: Path, name: str | None, outside: bool) -> Output[ImportDocument]:
    """Make a run folder of each model's records; of several models, folders below OUT."""
    opened_records, left_out = opened(records)
    groups: list[list[Record]] = []
    for record in opened_records:
        group = next((g for g in groups if (g[0].model, g[0].study_asked) == (record.model, record.study_asked)), None)
        groups.append([record]) if group is None else group.append(record)
    if len(groups) > 1 and name is not None:
        raise SettingError(f"--name is for one run, and these are {len(groups)}: they are called by their models.")
    warnings, documents, status = list(left_out), [], Exit.DONE
    folders = [out] if len(groups) == 1 else [out / folder for folder in _names(groups)]
    for group, folder in zip(groups, folders, strict=True):
        prepared, model = imported(group, folder, name, outside=outside)
        try:
            output = execute(prepared, model, _AGAIN)
        finally:
            model.close()
        assert isinstance(output.document, RunDocument)
        documents.append(output.document)
        status = max(status, output.status)
        if (left := model.left()) and not output.document.skipped:
            warnings.append(f"{left:,} recorded answers are to nothing that {prepared.study.name} asks here: left out.")
    return Output(ImportDocument(tuple(documents)), status=status, warnings=warnings)


def _names(groups: Sequence[Sequence[Record]]) -> list[str]:
    """Names of folders: STUDY-MODEL, and a number after it where something else was asked of the same."""
    names: list[str] = []
    for first, *_ in groups:
        if first.study_asked is None:
            raise DataError(f"{first.path.name} holds answers by several models: import a record of each by itself.")
        name = f"{first.study_asked.study}-{model_in_path(first.model)}"
        numbered = (f"{name}-{number}" for number in range(2, len(groups) + 2))
        names.append(next(folder for folder in (name, *numbered) if folder not in names))
    return names
