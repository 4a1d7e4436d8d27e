"""Recorded answers as rows, read piece by piece from a run folder, CSV, JSONL or Parquet; none of it is trusted."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from facevalue.checked_replies import checked_probabilities, checked_text
from facevalue.errors import DataError, ReplyError, UnknownNameError
from facevalue.seals import SHARD, check_shard, unsealed
from facevalue.types import Sampling, Status
from facevalue.untrusted_files import check_file, read_file, to_json, to_toml

LIMIT = 131_072
"""Most characters of one cell; a longer one is taken for damage."""
COLUMNS = 256
ROWS = 50_000_000
RESERVED = ("trial", "repeat", "status", "text", "probs")
"""Columns of a table with a meaning of their own; all others are factors, or notes that are not looked at."""

_MOST_SETTINGS = 64 * 2**20
_LINE = 4 * LIMIT  # characters of a line of JSON
_BATCH = 1024  # rows of Parquet that are in memory at once
_FORMAT = "1"  # of a run's shards
_OF_RUN = ("trial", "repeat", "status", "text", "probs", "request")


class Answer(NamedTuple):
    """A recorded answer."""

    request: int | None
    """Hash of what was asked, as a run stores it; None in tables."""
    trial: int | None
    repeat: int
    """Which request it answers; the trial is None in tables without such a column."""
    status: Status
    text: str | None
    probs: tuple[float, ...] | None
    """As in `Response`."""
    levels: tuple[str | None, ...]
    """Of the table's other columns, in their order."""


@dataclass(frozen=True)
class Recording:
    """Source of recorded answers: its place, and how it is read."""

    path: Path
    """The run folder or file."""
    by: str
    """How answers find their requests: "request", "trial" or "factors"."""
    columns: tuple[str, ...]
    """Names of the columns that `Answer.levels` holds."""
    read: Callable[[], Iterator[Answer]]
    """Reads the answers, piece by piece; rows that hold none are left out."""
    facts: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """What a run folder says about who answered."""
    sampling: Sampling = field(default_factory=Sampling)
    seeds: tuple[int, ...] = ()
    asked_of: int = 0
    """Of the run's study, and the hash of the model that it asked."""
    looks: bool = True
    """Whether it is a question if the model saw its pictures: not of a run whose model said itself what it sees."""


def recording(path: Path) -> Recording:
    """Open recorded answers."""
    if path.is_dir():
        return _run(path)
    check_file(path, "recorded answers")
    rows = {".csv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl, ".parquet": _parquet}.get(path.suffix.lower())
    if rows is None:
        raise DataError(f"{path.name} is neither a run folder nor a .csv, .jsonl or .parquet file.")
    columns = next(rows(path))[1]
    if len(columns) > COLUMNS:
        raise DataError(f"{path.name} has {len(columns)} columns; at most {COLUMNS} are read.")
    for name in columns:
        if not name or columns.count(name) > 1:
            raise DataError(f"{path.name} has {'a column without a name' if not name else f'two columns {name!r}'}.")
    if "text" not in columns and "probs" not in columns:
        raise DataError(f"{path.name} has no column 'text' or 'probs', so it holds no answers. {_columns(columns)}")
    others = tuple(name for name in columns if name not in RESERVED)
    if "trial" not in columns and not others:
        raise DataError(
            f"{path.name} has no column 'trial' and no factors, so it is unknown what its answers are about. "
            f"{_columns(columns)}"
        )

    def read() -> Iterator[Answer]:
        stream = rows(path)
        next(stream)
        for place, cells in stream:
            answer = _answer(dict(zip(columns, cells, strict=True)), others, f"{path.name}, {place}")
            if answer is not None:
                yield answer

    return Recording(path, "trial" if "trial" in columns else "factors", others, read)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    state = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                state.update(block)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    return state.hexdigest()


Rows = Iterator[tuple[str, Sequence[Any]]]
"""First the names of the columns, then where each row is and its cells."""


def _columns(columns: Sequence[str]) -> str:
    return f"Its columns: {', '.join(columns[:20])}{', ...' if len(columns) > 20 else ''}."


def _lines(file: TextIO, name: str) -> Iterator[str]:
    """The lines of a file; one without end is refused before it fills the memory."""
    number = 0
    while line := file.readline(_LINE):
        number += 1
        if len(line) == _LINE and not line.endswith("\n"):
            raise DataError(f"{name}, line {number}: longer than {_LINE:,} characters.")
        yield line


def _csv(path: Path) -> Rows:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_lines(file, path.name), strict=True)
            header = next(reader, None)
            if header is None:
                raise DataError(f"{path.name} is empty.")
            yield "header", [name.strip() for name in header]
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"{path.name}, line {reader.line_num}: {len(row)} cells under {len(header)} columns."
                    )
                yield f"line {reader.line_num}", row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name} cannot be read as CSV: {error}.") from None


def _jsonl(path: Path) -> Rows:
    try:
        with path.open(encoding="utf-8-sig") as file:
            names: list[str] | None = None
            for number, line in enumerate(_lines(file, path.name), 1):
                if not line.strip():
                    continue
                row = to_json(line, f"{path.name}, line {number}")
                if not isinstance(row, dict):
                    raise DataError(f"{path.name}, line {number}: not an object with names and values.")
                if names is None:
                    names = list(row)
                    yield "header", names
                for name in row:
                    if name not in names:
                        raise DataError(f"{path.name}, line {number}: {name!r} is not among the names of line 1.")
                yield f"line {number}", [row.get(name) for name in names]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read as lines of JSON: {error}.") from None
    if names is None:
        raise DataError(f"{path.name} is empty.")


def _parquet(path: Path) -> Rows:
    try:
        with pq.ParquetFile(path) as file:
            yield "header", list(file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(_BATCH):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield f"row {number}", row
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path.name} cannot be read as Parquet: {str(error).splitlines()[0]}.") from None


def _run(folder: Path) -> Recording:
    if not (folder / "run.toml").exists():
        raise DataError(f"{folder} is not the folder of a run: it has no run.toml.")
    name = str(folder / "run.toml")
    document = to_toml(unsealed(read_file(folder / "run.toml", _MOST_SETTINGS, "settings of a run"), name), name)
    try:
        model, study = document["model"], document["study"]
        sampling, seeds = Sampling(**study["sampling"]), tuple(int(seed) for seed in study["seeds"])
        facts: dict[str, str | int | float | bool] = {"answered_by": str(model["name"])}
        asked_of = int(document.get("asked_of", "0"), 16)
        facts |= {"structured": True} if model["settings"].get("structured") is True else {}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{folder / 'run.toml'} cannot be read: {error}.") from None
    place = folder / "responses"
    named_files = ((SHARD.fullmatch(path.name), path) for path in (place.iterdir() if place.is_dir() else ()))
    shards = [path for _, path in sorted((int(match[1]), path) for match, path in named_files if match)]
    if not shards:
        raise DataError(f"{folder} holds no responses.")

    def read() -> Iterator[Answer]:
        for shard in shards:
            yield from _read_shard(shard)

    return Recording(folder, "request", (), read, facts, sampling, seeds, asked_of, looks="sight" in document)


def _read_shard(shard: Path) -> Iterator[Answer]:
    try:
        check_shard(shard)
    except (OSError, DataError) as error:
        raise DataError(f"{shard} is damaged: {error}.") from None
    try:
        with pq.ParquetFile(shard) as file:
            written = (file.metadata.metadata or {}).get(b"facevalue.responses", b"none").decode()
            if written != _FORMAT or not set(_OF_RUN) <= set(file.schema_arrow.names):
                raise DataError(f"{shard} has format {written}; this FaceValue reads {_FORMAT}.")
            for batch in file.iter_batches(_BATCH, columns=list(_OF_RUN)):
                for row in batch.select(list(_OF_RUN)).to_pylist():
                    answer = _answer_of_run(row)
                    if answer is not None:
                        yield answer
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{shard} is cut short or damaged: {str(error).splitlines()[0]}.") from None


def _answer_of_run(row: Mapping[str, Any]) -> Answer | None:
    """A stored response; None for one that holds no answer, or cannot count and is asked again by its own run."""
    if row["status"] in (None, Status.ERROR) or row["trial"] is None or row["repeat"] is None:
        return None
    try:
        text = checked_text(row["text"])
        probs = None if row["probs"] is None else checked_probabilities(row["probs"], None)
    except ReplyError:
        return None
    status = Status(row["status"])
    if status is not Status.REFUSED and text is None and probs is None:
        return None
    return Answer(int(row["request"]), row["trial"], row["repeat"], status, text, probs, ())


def _answer(cells: Mapping[str, Any], columns: Sequence[str], place: str) -> Answer | None:
    """Understand one row; None where it holds no answer."""
    status_text = _text(cells.get("status"), place)
    if status_text and status_text not in set(Status):
        raise UnknownNameError(f"status in {place}:", status_text, [str(status) for status in Status])
    status = Status(status_text) if status_text else Status.OK
    text, probs = _text(cells.get("text"), place), _probabilities(cells.get("probs"), place)
    if status is Status.ERROR or (status is not Status.REFUSED and text is None and probs is None):
        return None
    return Answer(
        request=None,
        trial=_to_whole_number(cells["trial"], "trial", 2**63 - 1, place) if "trial" in cells else None,
        repeat=_to_whole_number(cells["repeat"], "repeat", 255, place) if "repeat" in cells else 0,
        status=status,
        text=text,
        probs=probs,
        levels=tuple(_level(cells[name], place) for name in columns),
    )


def _text(cell: Any, place: str) -> str | None:
    if cell is None:
        return None
    if not isinstance(cell, str):
        raise DataError(f"{place}: {type(cell).__name__} {str(cell)[:40]!r} where a text is due.")
    if len(cell) > LIMIT:
        raise DataError(f"{place}: a cell of {len(cell):,} characters; at most {LIMIT:,} are read.")
    if not cell.isascii():
        try:
            cell.encode()
        except UnicodeEncodeError:
            raise DataError(f"{place}: a text that is not valid Unicode.") from None
    return cell


def _level(cell: Any, place: str) -> str | None:
    """A factor's level as text; a blank cell is none."""
    if isinstance(cell, bool | int | float):
        return str(cell)
    if isinstance(cell, list | dict):
        return None  # a column such as notes; no factor has such levels
    text = cell if cell is None or isinstance(cell, str) else str(cell)
    return _text(text, place) or None


def _to_whole_number(cell: Any, name: str, highest: int, place: str) -> int:
    try:
        number = int(cell) if isinstance(cell, int | str) and not isinstance(cell, bool) else -1
    except ValueError:
        number = -1
    if not 0 <= number <= highest:
        raise DataError(f"{place}: {name} is {str(cell)[:40]!r}, not a whole number from 0 to {highest}.")
    return number


def _probabilities(cell: Any, place: str) -> tuple[float, ...] | None:
    if isinstance(cell, str):
        cell = [number for number in re.split(r"[\s,;\[\]]+", cell[:LIMIT]) if number]
    if not cell:
        return None
    try:
        return checked_probabilities([float(value) for value in cell], None)
    except (TypeError, ValueError, ReplyError):
        raise DataError(f"{place}: probs {str(cell)[:60]!r} are not probabilities.") from None
