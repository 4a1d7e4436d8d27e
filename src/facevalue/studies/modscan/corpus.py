"""Gender words in a training corpus: texts of its files, and counts beside occupations and descriptors (section 6)."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from facevalue.errors import DataError, UnknownNameError
from facevalue.printable import first_line
from facevalue.studies.modscan.settings import read
from facevalue.untrusted_files import check_file, read_file, to_toml

MAX_TEXT = 10**6
"""Longest line that is read whole, in characters; a longer one is read as several."""
MOST_TERMS, MAX_BYTES = 1_000, 2**20
"""Most terms of a list, and largest file of terms."""
GENDERS = ("male", "female")
BROKEN, NO_TEXT = "no JSON object", "without a text"
RECORDS = "records"
"""Key of a count of records, beside reasons why some could not be used."""
_ROWS = 8_192  # records that are held at once
_SPOKEN = ("value", "content", "text")  # of a turn of a conversation: LLaVA's, then the usual ones of others
_KEYS = ("name", "source", *GENDERS, "instances")


def corpus_texts(path: Path, column: str, passed: Counter[str]) -> Iterator[pl.Series]:
    """Yield the texts of a file, some at a time.

    Parameters
    ----------
    path:
        A `.jsonl`, `.json` (a list of objects, as LLaVA's), `.txt` (a text in each line) or `.parquet` file; lines also
        as `.gz`.
    column:
        Where the text is: a text, a list of texts, or turns of a conversation. `COLUMN.KEY` names another key of turns
        than `value`, `content` or `text`, or one of an object. Plain text has no columns.
    passed:
        Counts the records that are read, and those that are passed over by reason.

    Raises
    ------
    UnknownNameError
        There is no such column.
    DataError
        It is no such file, or the column holds no text.
    """
    check_file(path, "a corpus")
    kind = corpus_kind(path)
    readers = {".jsonl": _lines, ".ndjson": _lines, ".txt": _lines, ".json": _entries, ".parquet": _rows}
    if kind not in readers or (kind in (".json", ".parquet") and path.suffix.lower() == ".gz"):
        raise DataError(f"{path.name}: a corpus is a .jsonl or .txt (also as .gz), .json or .parquet file.")
    if kind != ".txt" and not column:
        raise DataError(f"{path.name} has columns: say which holds the text (--text COLUMN).")
    name, _, key = ("" if kind == ".txt" else column).partition(".")
    try:
        for records in readers[kind](path, name):
            objects = [record for record in records if isinstance(record, dict)]
            if objects and not any(name in record for record in objects):
                raise UnknownNameError(
                    f"column of {path.name}", name, dict.fromkeys(n for record in objects for n in record)
                )
            texts = records if kind == ".txt" else [_to_text(record.get(name), key) for record in objects]
            spoken = [text for text in texts if text]
            passed += Counter(
                {RECORDS: len(records), BROKEN: len(records) - len(texts), NO_TEXT: len(texts) - len(spoken)}
            )
            if spoken:
                yield pl.Series(spoken, dtype=pl.String)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error, pa.ArrowException) as error:
        raise DataError(f"{path.name} cannot be read: {first_line(error)}") from error


def corpus_kind(path: Path) -> str:
    """Ending of a file that says what it holds, that of packing left out.

    Examples
    --------
    >>> corpus_kind(Path("captions.TXT.gz")), corpus_kind(Path("chat.json"))
    ('.txt', '.json')
    """
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def _parts(records: Iterable[Any]) -> Iterator[list[Any]]:
    """Records, some at a time."""
    iterator = iter(records)
    while records_at_once := list(islice(iterator, _ROWS)):
        yield records_at_once


def _lines(path: Path, column: str) -> Iterator[list[Any]]:
    """Lines that are not empty: texts or, with a column, objects; None for one that is no object."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        lines = (line.strip() for line in iter(lambda: file.readline(MAX_TEXT), ""))
        yield from _parts(_to_object(line) if column else line for line in lines if line)


def _to_object(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _entries(path: Path, _: str) -> Iterator[list[Any]]:
    """Entries of a list, which is held in memory."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        listed = json.load(file)
    if not isinstance(listed, list):
        raise DataError(f"{path.name} is no list of objects; one with an object in each line should end in .jsonl.")
    yield from _parts(listed)


def _rows(path: Path, column: str) -> Iterator[list[Any]]:
    """Rows of a Parquet file."""
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:  # or all that was read stays in memory
        if column not in file.schema_arrow.names:
            raise UnknownNameError(f"column of {path.name}", column, file.schema_arrow.names)
        for batch in file.iter_batches(_ROWS, columns=[column]):
            yield batch.to_pylist()


def _to_text(value: Any, key: str) -> str:
    """One text of what a column holds; empty where that is none."""
    if isinstance(value, list):
        return "\n".join(filter(None, (_to_text(entry, key) for entry in value)))
    if isinstance(value, dict):
        return next((text for name in ([key] if key else _SPOKEN) if isinstance(text := value.get(name), str)), "")
    return value if isinstance(value, str) else ""


class CorpusCounts:
    """Counts of words of each gender beside instances, such as occupations by kind; memory does not grow with texts.

    Terms are found as whole words, whatever their case; of a term of several words, any white space may stand between.

    Attributes
    ----------
    texts:
        How many were counted.
    words:
        Words of each gender in all of them.
    genders, instances:
        Patterns of the words of each gender, and the kind and name of each instance.

    Examples
    --------
    >>> counts = builtin()
    >>> counts.add(pl.Series(["A nurse and her aunt.", "He is a NURSE.", "A man.", "Nurseries"]))
    >>> counts.table().filter(pl.col("instance") == "nurse").rows()
    [('occupation', 'nurse', 2, 1, 2)]
    >>> counts.texts, counts.words
    (4, {'male': 2, 'female': 2})
    """

    def __init__(self, genders: Mapping[str, Sequence[str]], instances: Mapping[str, Sequence[str]]) -> None:
        self.instances = [(kind, instance) for kind, listed in instances.items() for instance in listed]
        self.genders = {gender: _pattern(words) for gender, words in genders.items()}
        self._patterns = [_pattern([instance]) for _, instance in self.instances]
        self._any_instance = _pattern([instance for _, instance in self.instances])
        self.texts = 0
        self.words = dict.fromkeys(GENDERS, 0)
        self._counts = np.zeros((len(self.instances), 1 + len(GENDERS)), dtype=np.int64)

    def add(self, texts: pl.Series) -> None:
        """Count more texts, none of them null."""
        words = (texts.str.count_matches(pattern).alias(gender) for gender, pattern in self.genders.items())
        counts = pl.DataFrame([texts.alias("text"), *words])
        self.texts += texts.len()
        for gender in GENDERS:
            self.words[gender] += int(counts[gender].sum())
        naming = counts.filter(texts.str.contains(self._any_instance))
        for row, pattern in enumerate(self._patterns):
            matches = naming.filter(naming["text"].str.contains(pattern))
            self._counts[row] += [matches.height, *(int(matches[gender].sum()) for gender in GENDERS)]

    def table(self) -> pl.DataFrame:
        """A row per instance: `kind`, `instance`, `texts` that name it, and `male` and `female` words in these."""
        kinds = pl.DataFrame(self.instances, schema=["kind", "instance"], orient="row")
        return kinds.hstack(pl.DataFrame(self._counts, schema=["texts", *GENDERS]))


def builtin() -> CorpusCounts:
    """No counts yet of the terms of ModSCAN."""
    return _counts_of(read("corpus_terms.toml"), "corpus_terms.toml")


def read_terms(path: Path) -> CorpusCounts:
    """No counts yet of the user's terms: TOML with lists `male` and `female`, and a table `instances` of lists by kind.

    Raises
    ------
    DataError, UnknownNameError
        What is wrong with it.
    """
    return _counts_of(to_toml(read_file(path, MAX_BYTES, "terms"), str(path)), path.name)


def _counts_of(document: Mapping[str, Any], source: str) -> CorpusCounts:
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
    return CorpusCounts(genders, listed)


def _terms(listed: Any, name: str, source: str) -> list[str]:
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_TERMS:
        raise DataError(f"{source}: {name} is a list of 1 to {MOST_TERMS:,} terms.")
    terms = [" ".join(term.split()).lower() if isinstance(term, str) else "" for term in listed]
    for term in terms:
        if not term or not (term[0].isalnum() and term[-1].isalnum()):
            reason = "that does not begin and end with a letter or digit"
            raise DataError(f"{source}: {name} has a term {reason}: {term!r}.")
    return list(dict.fromkeys(terms))


def _pattern(terms: Sequence[str]) -> str:
    """A regular expression of Rust's that finds any of the terms as whole words."""
    patterns = (r"\s+".join(re.escape(word) for word in term.split()) for term in sorted(terms, key=len, reverse=True))
    return rf"(?i)\b(?:{'|'.join(patterns)})\b"
