"""Texts of large files, in pieces: JSON Lines, lists in JSON, also with nested conversations, plain text, and Parquet.

A corpus is larger than memory and never quite clean: lines that cannot be used are counted and the first of each kind
is named, and nothing is kept of what was read.

Counted are words of two genders in texts that name an occupation or a descriptor, piece by piece.
"""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from facevalue.errors import DataError, UnknownNameError
from facevalue.untrusted_files import check_file, read_file, to_toml

CHUNK = 4 * 2**20
"""Bytes that are read at once."""
MAX_TEXT = 10**6
"""Most bytes of a line of JSON, of an entry of a list, and of a text. Longer ones are counted and passed over."""
MAX_ENTRY = CHUNK
"""Most bytes of an entry of a list that are held to find its end."""
MOST_TIMES = 100
"""A `.gz` file may unpack to so many times its size, and `CHUNK` besides: texts unpack to ten times, zeros to 1,000."""
BROKEN, ENCODING, LONG, NO_TEXT = "no valid JSON", "not UTF-8", "longer than 1 MB", "without a text"

_SPOKEN = ("value", "content", "text")  # of a turn of a conversation: LLaVA's, then the usual ones of others
_LOOKED_AT = 1_000  # lines from which the form is told
_ROWS, _NESTED = 32_768, 1_024  # of Parquet at once; of nested columns it is not known how much they unpack to
_FEW = 16  # lines that are looked at one by one where some of them are broken


@dataclass
class Passed:
    """Counts of texts that were read and of those that could not be used.

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

    def over(self, reason: str, place: str, count: int = 1) -> None:
        """Count some that could not be used."""
        if count:
            self.reasons[reason] += count
            self.first.setdefault(reason, place)


def corpus_texts(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    """Yield the texts of a file, some at a time.

    Parameters
    ----------
    path:
        A `.jsonl`, `.json` (a list of objects, as LLaVA's), `.txt` (a text in each line) or `.parquet` file; the first
        three also as `.gz`.
    column:
        Where the text is. If it holds a list of texts, they are one text; if a list of turns, what is said in them
        (`value`, `content` or `text`) is. `COLUMN.KEY` names another key of turns, or one of an object. Plain text has
        no columns.
    passed:
        Counts what is read and what is passed over.

    Raises
    ------
    UnknownNameError
        There is no such column.
    DataError
        It is no such file, the column holds no text, or a `.gz` file unpacks to `MOST_TIMES` its size.
    """
    check_file(path, "a corpus")
    readers = {".jsonl": _of_jsonl, ".ndjson": _of_jsonl, ".json": _of_json, ".txt": _of_text, ".parquet": _of_parquet}
    kind = corpus_kind(path)
    if kind not in readers or (kind == ".parquet" and path.suffix.lower() == ".gz"):
        raise DataError(f"{path.name}: a corpus is a .jsonl, .json, .txt (also as .gz) or .parquet file.")
    if kind != ".txt" and not column:
        raise DataError(f"{path.name} has columns: say which holds the text (--text COLUMN).")
    for texts in readers[kind](path, column, passed):
        spoken = texts.filter(texts != "")  # neither empty nor null
        passed.over(NO_TEXT, path.name, texts.len() - spoken.len())
        if spoken.len():
            yield spoken


def corpus_kind(path: Path) -> str:
    """Ending of a file that says what it holds, that of packing left out.

    Examples
    --------
    >>> corpus_kind(Path("captions.TXT.gz")), corpus_kind(Path("chat.json"))
    ('.txt', '.json')
    """
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


@contextmanager
def _open_blocks(path: Path, passed: Passed) -> Iterator[Callable[[], bytes]]:
    """Read the file a block at a time, unpacked; `passed.bytes` counts what is read on disk."""
    before, packed, total = passed.bytes, path.suffix.lower() == ".gz", 0
    with path.open("rb") as raw:
        file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw

        def block() -> bytes:
            nonlocal total
            try:
                out = file.read(CHUNK)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(f"{path.name}: is damaged, or no gzip file: {error}.") from error
            total += len(out)
            passed.bytes = before + raw.tell()
            if packed and total > CHUNK + MOST_TIMES * passed.bytes - MOST_TIMES * before:
                raise DataError(f"{path.name} unpacks to more than {MOST_TIMES} times its size: it is no text.")
            return out

        yield block


def _of_jsonl(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    with _open_blocks(path, passed) as next_block:
        yield from _of_objects(_chunks(next_block, path.name, passed), path.name, column, passed)


def _of_json(path: Path, column: str, passed: Passed) -> Iterator[pl.Series]:
    """A list of objects, each of which becomes a line; a file that begins with an object has one in each line."""
    with _open_blocks(path, passed) as next_block:
        first = _strip_byte_order_mark(next_block(), path.name)
        if first.lstrip().startswith(b"["):
            chunks = _entries(first.lstrip()[1:], next_block, path.name)
        else:
            chunks = _chunks(next_block, path.name, passed, first)
        yield from _of_objects(chunks, path.name, column, passed)


def _of_text(path: Path, _: str, passed: Passed) -> Iterator[pl.Series]:
    with _open_blocks(path, passed) as next_block:
        for number, chunk in _chunks(next_block, path.name, passed):
            yield _lines(chunk, number, path.name, passed)["line"]


def _of_objects(chunks: Iterator[tuple[int, bytes]], place: str, column: str, passed: Passed) -> Iterator[pl.Series]:
    name, _, key = column.partition(".")
    kind = None
    for number, chunk in chunks:
        lines = _lines(chunk, number, place, passed)
        kind = kind or _kind(lines["line"], name, key, place)
        if kind is not None:
            yield _to_text(_decode_lines(lines, kind, place, passed).struct.field(name), key)


def _entries(data: bytes, next_block: Callable[[], bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Whole entries of a list, one in each line, with the number of the first; `data`: what follows its bracket."""
    number, over = 1, False
    while not over:
        block = next_block()
        lines, rest, over = _split(data + block)
        if lines:
            yield number, lines
            number += lines.count(b"\n")
        if not block and not over:
            raise DataError(f"{name}: the list has no end: the file is cut off, or no JSON.")
        if len(rest) > MAX_ENTRY:
            raise DataError(f"{name}: entry {number:,} of the list is longer than {MAX_ENTRY:,} bytes: it is no text.")
        data = rest


def _split(data: bytes) -> tuple[bytes, bytes, bool]:
    """Whole entries as lines, the beginning of the next, and whether the list is over.

    A quote counts if it stands behind an even number of backslashes, and a bracket or comma if it stands behind an even
    number of quotes.
    """
    text = np.frombuffer(data, np.uint8)
    at = np.arange(text.size, dtype=np.int32)
    plain = np.maximum.accumulate(np.where(text != ord("\\"), at, -1))
    escaped = np.r_[False, ((at - plain) % 2 == 1)[:-1]] if text.size else np.zeros(0, dtype=np.bool_)
    quoted = np.cumsum((text == ord('"')) & ~escaped, dtype=np.int32) % 2 == 1
    opens, closes = (np.isin(text, np.frombuffer(marks, np.uint8)) & ~quoted for marks in (b"[{", b"]}"))
    depth = np.cumsum(opens.astype(np.int8) - closes, dtype=np.int32)
    end = np.flatnonzero(depth < 0)
    cut = ~quoted & (text == ord(",")) & (depth == 0)
    out = text.copy()
    out[~quoted & ((text == ord("\n")) | (text == ord("\r")))] = ord(" ")
    out[cut] = ord("\n")
    if end.size:
        return out[: end[0]].tobytes() + b"\n", b"", True
    last = int(np.flatnonzero(cut)[-1]) + 1 if cut.any() else 0
    return out[:last].tobytes(), data[last:], False


def _chunks(
    next_block: Callable[[], bytes], name: str, passed: Passed, first: bytes | None = None
) -> Iterator[tuple[int, bytes]]:
    """Whole lines, a chunk at a time, with the number of the first; of a line that is far too long, nothing is kept."""
    number, carry, skipping = 1, b"", False
    block = _require_lines(_strip_byte_order_mark(next_block(), name), name) if first is None else first
    while block:
        if skipping:
            end = block.find(b"\n")
            if end < 0:
                block = next_block()
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
        block = next_block()
    if carry:
        yield number, carry


def _strip_byte_order_mark(block: bytes, name: str) -> bytes:
    """The beginning of a file without its mark of UTF-8; a `DataError` if it is another kind of file."""
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name} is UTF-16: save it as UTF-8.")
    if block.startswith(b"PAR1"):
        raise DataError(f"{name} is Parquet: its name should end in .parquet.")
    return block.removeprefix(b"\xef\xbb\xbf")


def _require_lines(block: bytes, name: str) -> bytes:
    """The same; a `DataError` if it is a list of objects by the name of JSON Lines."""
    if ".json" in name and block.lstrip().startswith(b"["):
        raise DataError(f"{name} is one list, not a JSON object per line: its name should end in .json.")
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


def _kind(lines: pl.Series, name: str, key: str, place: str) -> pl.Struct | None:
    """Type of the column, told from the first line that has it; None if none of these lines can be understood."""
    names: dict[str, None] = {}
    kind: Any = None
    for line in lines.head(_LOOKED_AT):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        names.update(dict.fromkeys(row))
        kind = _text_type(row.get(name), key)
        if kind is not None:
            return pl.Struct({name: kind})
    if names and name not in names:
        raise UnknownNameError(f"column of {place}", name, names)
    if names:
        raise DataError(f"{place}: {name!r} holds no text, nor turns of a conversation with one.")
    return None


def _text_type(value: Any, key: str) -> pl.DataType | None:
    """The type of a column that holds such a value; of turns and objects only what is said. None if it has no text."""
    if isinstance(value, list):
        inner = next(filter(None, (_text_type(entry, key) for entry in value)), None)
        return None if inner is None else pl.List(inner)
    if isinstance(value, dict):
        spoken = next((name for name in ([key] if key else _SPOKEN) if isinstance(value.get(name), str)), None)
        return None if spoken is None else pl.Struct({spoken: pl.String()})
    return pl.String() if isinstance(value, str) else None


def _decode_lines(lines: pl.DataFrame, kind: pl.Struct, name: str, passed: Passed) -> pl.Series:
    """The column of each line; those that cannot be understood are counted and left out."""
    decoded = _attempt(lines["line"], kind)
    if decoded is not None:
        return decoded
    if lines.height > _FEW:
        half = lines.height // 2
        return pl.concat([_decode_lines(piece, kind, name, passed) for piece in (lines[:half], lines[half:])])
    out = [pl.Series([], dtype=kind)]
    for number, line in lines.iter_rows():
        decoded_line = _attempt(pl.Series([line]), kind)
        if decoded_line is None:
            passed.over(NO_TEXT if _is_json(line) else BROKEN, f"{name}, line {number}")
        else:
            out.append(decoded_line)
    return pl.concat(out)


def _attempt(lines: pl.Series, kind: pl.Struct) -> pl.Series | None:
    try:
        decoded = lines.str.json_decode(kind)
    except pl.exceptions.PolarsError:
        return None
    return decoded if decoded.len() == lines.len() else None  # two objects on one line, or one on two


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _to_text(column: pl.Series, key: str) -> pl.Series:
    """Each row as one text; null where it has none."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        spoken = next(name for name in ([key] if key else _SPOKEN) if name in dict(kind))
        return column.struct.field(spoken).cast(pl.String)
    if isinstance(kind, pl.List):
        if isinstance(kind.inner, pl.Struct):
            spoken = next(name for name in ([key] if key else _SPOKEN) if name in dict(kind.inner))
            column = column.list.eval(pl.element().struct.field(spoken))
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
                place = f"{path.name}, row group {group + 1}"
                for batch in file.iter_batches(_NESTED if nested else _ROWS, row_groups=[group], columns=[name]):
                    passed.records += batch.num_rows
                    for piece in _pieces(batch.column(0), place, passed):
                        texts = _to_text(pl.Series(pl.from_arrow(piece)), key)
                        long = texts.str.len_bytes().fill_null(0) > MAX_TEXT
                        passed.over(LONG, place, int(long.sum()))
                        yield texts.filter(~long)
                passed.bytes = before + size * (group + 1) // groups
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path.name}: is not a Parquet file that can be read: {str(error).splitlines()[0]}."
        ) from error


def _pieces(column: Any, place: str, passed: Passed) -> Iterator[Any]:
    """Rows that unpack to no more than `CHUNK`: a small dictionary can name one long text many times."""
    if not isinstance(column, pa.DictionaryArray):
        yield column
        return
    lengths = pc.fill_null(pc.binary_length(column.dictionary).take(column.indices), 0)
    short = pc.less_equal(lengths, MAX_TEXT)
    passed.over(LONG, place, len(column) - int(pc.sum(short).as_py() or 0))
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


MAX_BYTES = 2**20
"""Largest file of terms."""
MOST = 1_000
"""Most terms of a list."""
GENDERS = ("male", "female")
_KEYS = ("name", "source", *GENDERS, "instances")


class CorpusTerms:
    """Terms that are counted: words of each gender, and instances such as occupations by kind.

    Terms are found as whole words, whatever their case; of a term of several words, any white space may stand between.
    """

    def __init__(self, name: str, genders: Mapping[str, Sequence[str]], instances: Mapping[str, Sequence[str]]) -> None:
        self.name = name
        self.instances = [(kind, instance) for kind, listed in instances.items() for instance in listed]
        self.genders = {gender: _pattern(words) for gender, words in genders.items()}
        self.each = [_pattern([instance]) for _, instance in self.instances]
        self.any = _pattern([instance for _, instance in self.instances])


class CorpusCounts:
    """Counts over any number of texts; memory does not grow with them.

    Attributes
    ----------
    texts:
        How many were counted.
    words:
        Words of each gender in all of them.

    Examples
    --------
    >>> counts = CorpusCounts(builtin())
    >>> counts.add(pl.Series(["A nurse and her aunt.", "He is a NURSE.", "A man.", "Nurseries"]))
    >>> counts.table().filter(pl.col("instance") == "nurse").rows()
    [('occupation', 'nurse', 2, 1, 2)]
    >>> counts.texts, counts.words
    (4, {'male': 2, 'female': 2})
    """

    def __init__(self, terms: CorpusTerms) -> None:
        self._terms = terms
        self.texts = 0
        self.words = dict.fromkeys(GENDERS, 0)
        self._counts = np.zeros((len(terms.instances), 1 + len(GENDERS)), dtype=np.int64)

    def add(self, texts: pl.Series) -> None:
        """Count more texts, none of them null."""
        counts = pl.DataFrame(
            [
                texts.alias("text"),
                *(texts.str.count_matches(pattern).alias(g) for g, pattern in self._terms.genders.items()),
            ]
        )
        self.texts += texts.len()
        for gender in GENDERS:
            self.words[gender] += int(counts[gender].sum())
        naming = counts.filter(texts.str.contains(self._terms.any))
        for row, pattern in enumerate(self._terms.each):
            matches = naming.filter(naming["text"].str.contains(pattern))
            self._counts[row] += [matches.height, *(int(matches[gender].sum()) for gender in GENDERS)]

    def table(self) -> pl.DataFrame:
        """A row per instance: `kind`, `instance`, `texts` that name it, and `male` and `female` words in these."""
        kinds = pl.DataFrame(self._terms.instances, schema=["kind", "instance"], orient="row")
        return kinds.hstack(pl.DataFrame(self._counts, schema=["texts", *GENDERS]))


def builtin() -> CorpusTerms:
    """The terms of ModSCAN."""
    data = resources.files("facevalue.annotations").joinpath("lists", "corpus_terms.toml").read_bytes()
    return _parse_terms(to_toml(data, "corpus_terms.toml"), "corpus_terms.toml")


def read_terms(path: Path) -> CorpusTerms:
    """Read terms of the user's: TOML with the lists `male` and `female`, and a table `instances` with lists by kind.

    Raises
    ------
    DataError, UnknownNameError
        What is wrong with it.
    """
    return _parse_terms(to_toml(read_file(path, MAX_BYTES, "terms"), str(path)), path.name)


def _parse_terms(document: Mapping[str, Any], source: str) -> CorpusTerms:
    for key in document:
        if key not in _KEYS:
            raise UnknownNameError(f"key of {source}", key, _KEYS)
    instances = document.get("instances")
    if not isinstance(instances, dict) or not instances:
        raise DataError(
            f'{source} needs a table [instances] with a list for each kind: occupation = ["nurse", "chef"].'
        )
    genders = {gender: _terms(document.get(gender), gender, source) for gender in GENDERS}
    shared = set(genders["male"]) & set(genders["female"])
    if shared:
        raise DataError(f"{source}: {min(shared)!r} is in both lists of words.")
    listed = {kind: _terms(terms, kind, source) for kind, terms in instances.items()}
    return CorpusTerms(str(document.get("name", source)), genders, listed)


def _terms(listed: Any, name: str, source: str) -> list[str]:
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise DataError(f"{source}: {name} is a list of 1 to {MOST:,} terms.")
    terms = [" ".join(term.split()).lower() if isinstance(term, str) else "" for term in listed]
    for term in terms:
        if not term or not (term[0].isalnum() and term[-1].isalnum()):
            raise DataError(
                f"{source}: {name} has a term that does not begin and end with a letter or digit: {term!r}."
            )
    return list(dict.fromkeys(terms))


def _pattern(terms: Sequence[str]) -> str:
    """A regular expression of Rust's that finds any of the terms as whole words."""
    patterns = (r"\s+".join(re.escape(word) for word in term.split()) for term in sorted(terms, key=len, reverse=True))
    return rf"(?i)\b(?:{'|'.join(patterns)})\b"
