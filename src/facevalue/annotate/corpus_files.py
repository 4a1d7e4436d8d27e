"""Texts of large files, in pieces: JSON Lines, also with nested conversations, and Parquet.

A corpus is larger than memory and never quite clean: lines that cannot be used are counted and the first of each kind
is named, and nothing is kept of what was read.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from facevalue.errors import DataError, UnknownNameError
from facevalue.given import check_file

CHUNK = 4 * 2**20
"""Bytes that are read at once."""
MAX_TEXT = 10**6
"""Most bytes of a line of JSON, and of a text in Parquet. Longer ones are counted and passed over."""
BROKEN, ENCODING, LONG, NO_TEXT = "no valid JSON", "not UTF-8", "longer than 1 MB", "without a text"

_SPOKEN = ("value", "content", "text")  # of a turn of a conversation: LLaVA's, then the usual ones of others
_LOOKED_AT = 1_000  # lines from which the form is told
_ROWS, _NESTED = 32_768, 1_024  # of Parquet at once; of nested columns it is not known how much they unpack to
_FEW = 16  # lines that are looked at one by one where some of them are broken


@dataclass
class Passed:
    """What was read and what could not be used.

    Attributes
    ----------
    records:
        Lines or rows, empty lines left out.
    bytes:
        Read so far.
    reasons:
        How many could not be used, by reason.
    first:
        Where the first of each is.
    """

    records: int = 0
    bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def over(self, reason: str, where: str, count: int = 1) -> None:
        """Count some that could not be used."""
        if count:
            self.reasons[reason] += count
            self.first.setdefault(reason, where)


def corpus_texts(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    """Yield the texts of a file, some at a time.

    Parameters
    ----------
    path:
        A `.jsonl` or `.parquet` file.
    column:
        Where the text is. If it holds a list of texts, they are one text; if a list of turns, what is said in them
        (`value`, `content` or `text`) is. `COLUMN.KEY` names another key of turns, or one of an object.
    passed:
        Counts what is read and what is passed over.

    Raises
    ------
    UnknownNameError
        There is no such column.
    DataError
        It is no such file, or the column holds no text.
    """
    check_file(path, "a corpus")
    readers = {".jsonl": _of_jsonl, ".ndjson": _of_jsonl, ".parquet": _of_parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path.name}: a corpus is a .jsonl or .parquet file.")
    for texts in readers[path.suffix.lower()](path, column, passed):
        spoken = texts.filter(texts != "")  # neither empty nor null
        passed.over(NO_TEXT, path.name, texts.len() - spoken.len())
        if spoken.len():
            yield spoken


def _of_jsonl(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    name, _, key = column.partition(".")
    with path.open("rb") as file:
        kind = None
        for number, chunk in _chunks(file, path.name, passed):
            lines = _lines(chunk, number, path.name, passed)
            kind = kind or _kind(lines["line"], name, key, path.name)
            if kind is not None:
                yield _spoken(_decoded(lines, kind, path.name, passed).struct.field(name), key)


def _chunks(file: BinaryIO, name: str, passed: Passed) -> Iterator[tuple[int, bytes]]:
    """Whole lines, a chunk at a time, with the number of the first; of a line that is far too long, nothing is kept."""
    number, carry, skipping = 1, b"", False
    while block := file.read(CHUNK):
        if not passed.bytes:
            block = _begun(block, name)
        passed.bytes += len(block)
        if skipping:
            end = block.find(b"\n")
            if end < 0:
                continue
            block, skipping, number = block[end + 1 :], False, number + 1
        data = carry + block
        end = data.rfind(b"\n") + 1
        if end:
            yield number, data[:end]
            number += data.count(b"\n", 0, end)
        carry = data[end:]
        if len(carry) > MAX_TEXT:
            passed.records += 1
            passed.over(LONG, f"{name}, line {number}")
            carry, skipping = b"", True
    if carry:
        yield number, carry


def _begun(block: bytes, name: str) -> bytes:
    """The beginning of a file without its mark of UTF-8; a `DataError` if it is no JSON Lines at all."""
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name} is UTF-16: save it as UTF-8.")
    if block.startswith(b"PAR1"):
        raise DataError(f"{name} is Parquet: its name should end in .parquet.")
    block = block.removeprefix(b"\xef\xbb\xbf")
    if block.lstrip().startswith(b"["):
        raise DataError(f"{name} is one list, not a JSON object per line: convert it, as with jq -c '.[]'.")
    return block


def _lines(chunk: bytes, number: int, name: str, passed: Passed) -> pl.DataFrame:
    """The lines that can be looked at, with their numbers."""
    try:
        texts: list[str | None] = list(chunk.decode().split("\n"))
    except UnicodeDecodeError:
        texts = []
        for at, line in enumerate(chunk.split(b"\n")):
            try:
                texts.append(line.decode())
            except UnicodeDecodeError:
                texts.append(None)
                passed.records += 1
                passed.over(ENCODING, f"{name}, line {number + at}")
    lines = pl.DataFrame({"line": pl.Series(texts, dtype=pl.String)}).with_row_index("number", number)
    lines = lines.filter(lines["line"].is_not_null() & (lines["line"].str.strip_chars(" \t\r") != ""))
    passed.records += lines.height
    long = lines["line"].str.len_bytes() > MAX_TEXT
    if long.any():
        passed.over(LONG, f"{name}, line {lines['number'].filter(long)[0]}", int(long.sum()))
        lines = lines.filter(~long)
    return lines


def _kind(lines: pl.Series, name: str, key: str, where: str) -> pl.Struct | None:
    """What the column holds, told from the first line that has it; None if none of these lines can be understood."""
    known: dict[str, None] = {}
    found: Any = None
    for line in lines.head(_LOOKED_AT):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        known.update(dict.fromkeys(row))
        found = _held(row.get(name), key)
        if found is not None:
            return pl.Struct({name: found})
    if known and name not in known:
        raise UnknownNameError(f"column of {where}", name, known)
    if known:
        raise DataError(f"{where}: {name!r} holds no text, nor turns of a conversation with one.")
    return None


def _held(value: Any, key: str) -> pl.DataType | None:
    """The type of a column that holds such a value; of turns and objects only what is said. None if it has no text."""
    if isinstance(value, list):
        inner = next(filter(None, (_held(one, key) for one in value)), None)
        return None if inner is None else pl.List(inner)
    if isinstance(value, dict):
        said = next((one for one in ([key] if key else _SPOKEN) if isinstance(value.get(one), str)), None)
        return None if said is None else pl.Struct({said: pl.String()})
    return pl.String() if isinstance(value, str) else None


def _decoded(lines: pl.DataFrame, kind: pl.Struct, name: str, passed: Passed) -> pl.Series:
    """The column of each line; those that cannot be understood are counted and left out."""
    whole = _attempt(lines["line"], kind)
    if whole is not None:
        return whole
    if lines.height > _FEW:
        half = lines.height // 2
        return pl.concat([_decoded(part, kind, name, passed) for part in (lines[:half], lines[half:])])
    out = [pl.Series([], dtype=kind)]
    for number, line in lines.iter_rows():
        one = _attempt(pl.Series([line]), kind)
        if one is None:
            passed.over(NO_TEXT if _is_json(line) else BROKEN, f"{name}, line {number}")
        else:
            out.append(one)
    return pl.concat(out)


def _attempt(lines: pl.Series, kind: pl.Struct) -> pl.Series | None:
    try:
        found = lines.str.json_decode(kind)
    except pl.exceptions.PolarsError:
        return None
    return found if found.len() == lines.len() else None  # two objects on one line, or one on two


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _spoken(column: pl.Series, key: str) -> pl.Series:
    """Each row as one text; null where it has none."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        said = next(name for name in ([key] if key else _SPOKEN) if name in dict(kind))
        return column.struct.field(said).cast(pl.String)
    if isinstance(kind, pl.List):
        if isinstance(kind.inner, pl.Struct):
            said = next(name for name in ([key] if key else _SPOKEN) if name in dict(kind.inner))
            column = column.list.eval(pl.element().struct.field(said))
        return column.cast(pl.List(pl.String)).list.join("\n", ignore_nulls=True)
    return column.cast(pl.String)


def _of_parquet(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    name, _, key = column.partition(".")
    try:
        with pq.ParquetFile(path) as file:
            schema, groups = file.schema_arrow, file.metadata.num_row_groups
        if name not in schema.names:
            raise UnknownNameError(f"column of {path.name}", name, schema.names)
        kind = schema.field(name).type
        if not _holds_text(kind, key):
            raise DataError(f"{path.name}: {name!r} holds {kind}, which is no text.")
        nested = pa.types.is_nested(kind)
        before, size = passed.bytes, path.stat().st_size
        with pq.ParquetFile(
            path, pre_buffer=False, buffer_size=2**20, read_dictionary=[] if nested else [name]
        ) as file:
            for group in range(groups):
                where = f"{path.name}, row group {group + 1}"
                for batch in file.iter_batches(_NESTED if nested else _ROWS, row_groups=[group], columns=[name]):
                    passed.records += batch.num_rows
                    for piece in _pieces(batch.column(0), where, passed):
                        texts = _spoken(pl.Series(pl.from_arrow(piece)), key)
                        long = texts.str.len_bytes().fill_null(0) > MAX_TEXT
                        passed.over(LONG, where, int(long.sum()))
                        yield texts.filter(~long)
                passed.bytes = before + size * (group + 1) // groups
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path.name}: is not a Parquet file that can be read: {str(error).splitlines()[0]}."
        ) from error


def _pieces(column: Any, where: str, passed: Passed) -> Iterator[Any]:
    """Rows that unpack to no more than `CHUNK`: a small dictionary can name one long text many times."""
    if not isinstance(column, pa.DictionaryArray):
        yield column
        return
    lengths = pc.fill_null(pc.binary_length(column.dictionary).take(column.indices), 0)
    short = pc.less_equal(lengths, MAX_TEXT)
    passed.over(LONG, where, len(column) - int(pc.sum(short).as_py() or 0))
    column, filled = column.filter(short), np.cumsum(lengths.filter(short).to_numpy(zero_copy_only=False))
    start = 0
    while start < len(column):
        room = CHUNK + (int(filled[start - 1]) if start else 0)
        end = max(start + 1, int(np.searchsorted(filled, room, side="right")))
        yield column.slice(start, end - start).dictionary_decode()
        start = end


def _holds_text(kind: pa.DataType, key: str) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return not (pa.types.is_list(kind.value_type)) and _holds_text(kind.value_type, key)
    if pa.types.is_struct(kind):
        return any(kind.get_field_index(name) >= 0 for name in ([key] if key else _SPOKEN))
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
