"""Which reader opens a file of recorded answers."""

from collections.abc import Sequence
from pathlib import Path

from facevalue.errors import DataError
from facevalue.given import nearest
from facevalue.records.base import Record
from facevalue.records.inspect_log import inspect_log, is_log

_MOST = 10_000  # files of a folder


def opened(paths: Sequence[Path]) -> tuple[list[Record], list[str]]:
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
            records.append(_opened(path))
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
            raise DataError(f"{path} holds no log of Inspect that can be imported. {' '.join(left_out)}".strip())
    return records, left_out


def _opened(path: Path) -> Record:
    if not path.exists():
        raise DataError(f"There is no file {path} (recorded answers).{nearest(path)}")
    if is_log(path) or path.suffix == ".json":
        return inspect_log(path)
    raise DataError(f"{path.name} is no record of answers that is read: a log of Inspect (.eval, .json) is.")
