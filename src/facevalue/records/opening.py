"""Choice of the reader that opens a file of recorded answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.records.base import Record, checked_dict
from facevalue.records.batches import anthropic_batch, first_object, openai_batch
from facevalue.records.inspect_log import inspect_document, inspect_log
from facevalue.untrusted_files import nearest, read_file, to_json

_MOST = 10_000  # files of a folder
_MOST_JSON = 512 * 2**20  # bytes of a record that is one JSON document
READ = "logs of Inspect (.eval, .json), results of OpenAI's and Anthropic's batches (.jsonl)"
"""What is read, for messages."""


def open_records(paths: Sequence[Path]) -> tuple[list[Record], list[str]]:
    """Open files of recorded answers, and the logs of Inspect in folders.

    Returns the records, and for each log in a folder that is left out why.

    Raises
    ------
    DataError
        A file that was named cannot be used, or a folder holds no log that can be.
    """
    records: list[Record] = []
    left_out: list[str] = []
    for path in paths:
        if not path.is_dir():
            records.append(_open_record(path))
            continue
        logs = sorted(place for place in path.rglob("*.eval") if place.is_file())[: _MOST + 1]
        if len(logs) > _MOST:
            raise DataError(f"{path} holds more than {_MOST:,} logs: name some of them.")
        before = len(records)
        for log in logs:
            try:
                records.append(inspect_log(log))
            except DataError as error:
                left_out.append(f"Left out: {error}")
        if len(records) == before:
            reasons = " ".join(left_out) or "Name other records (.json, .jsonl) themselves."
            raise DataError(f"{path} holds no log of Inspect (.eval) that can be imported. {reasons}")
    return records, left_out


def _open_record(path: Path) -> Record:
    if not path.exists():
        raise DataError(f"There is no file {path} (recorded answers).{nearest(path)}")
    ending = path.suffix.lower()
    if ending == ".eval":
        return inspect_log(path)
    if ending in (".jsonl", ".ndjson"):
        return _lines(path)
    if ending != ".json":
        raise DataError(f"{path.name} is no record of answers that is read. These are: {READ}.")
    document = checked_dict(to_json(read_file(path, _MOST_JSON, "recorded answers"), path.name), path.name)
    if "eval" in document:
        return inspect_document(path, document)
    raise _unread(path, document)


def _lines(path: Path) -> Record:
    first = first_object(path, "recorded answers")
    if "result" in first:
        return anthropic_batch(path)
    if "custom_id" in first and ("response" in first or "error" in first):
        return openai_batch(path)
    raise _unread(path, first)


def _unread(path: Path, first: Mapping[str, Any]) -> DataError:
    """Describe an object that is not read; of a file of lines the first."""
    if "custom_id" in first or "requests" in first:
        return DataError(
            f"{path.name} holds requests, not answers: import what the batch that they were sent to wrote."
        )
    names = ", ".join(name[:40] for name in list(first)[:8]) or "nothing"
    return DataError(f"{path.name} is no record of answers that is read: it begins with {names}. These are: {READ}.")
