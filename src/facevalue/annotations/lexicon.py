"""Word lists with a name, a version and a hash, and how often texts use their words.

A list says what to count, so a figure made with it names it. FaceValue ships `group words` (ours); whatever else is
counted is read from a file of the user's, since published lists are rarely free to pass on.
"""

import csv
import hashlib
import io
import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.annotations import counts as tokenising
from facevalue.annotations.counts import Tokeniser
from facevalue.errors import DataError, UnknownNameError
from facevalue.printable import short
from facevalue.untrusted_files import read_file, read_text, to_json, to_toml

MAX_BYTES = 16 * 2**20
"""Largest file of word lists."""
SHIPPED = ("group_words", "hostility", "stereotype_content", "stop_words")
"""Lexicons that come with FaceValue."""


POLES = {"competence": "incompetence", "warmth": "coldness"}
"""Dimensions with the name of their negative pole."""
_FACETS = {"ability": "competence", "assertiveness": "competence", "agency": "competence",
           "sociability": "warmth", "morality": "warmth"}  # fmt: skip
_SIGNS = {"+": 1, "1": 1, "+1": 1, "1.0": 1, "positive": 1, "high": 1, "pos": 1,
          "-": -1, "-1": -1, "-1.0": -1, "negative": -1, "low": -1, "neg": -1, "0": 0, "": 0}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Lists of words."""

    name: str
    version: str
    source: str
    # Lower-case words by list, no word twice; nested files give names such as "woman/Asian"
    lists: Mapping[str, tuple[str, ...]]
    # Entries of several words, which are not counted
    phrases: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the lists, whatever their order: the same words, the same digest."""
        plain = {name: sorted(words) for name, words in self.lists.items()}
        return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def merge_lists(self, lists: Mapping[str, Collection[str]]) -> "Lexicon":
        """Lists made of several of these, each word once.

        Examples
        --------
        >>> parts = Lexicon("a", "1", "me", {"man/tall": ("tall", "big"), "woman/tall": ("tall",)})
        >>> dict(parts.merge_lists({"tall": ["man/tall", "woman/tall"]}).lists)
        {'tall': ('tall', 'big')}
        """
        merged_lists = {}
        for name, names in lists.items():
            for list_name in names:
                if list_name not in self.lists:
                    raise UnknownNameError(f"list of {self.name!r}", list_name, self.lists)
            merged_lists[name] = tuple(dict.fromkeys(word for list_name in names for word in self.lists[list_name]))
        return Lexicon(self.name, self.version, self.source, merged_lists)


def shipped_lexicon(name: str) -> Lexicon:
    """A lexicon that comes with FaceValue.

    Examples
    --------
    >>> sorted(shipped_lexicon("group_words").lists)
    ['gender', 'race']
    """
    if name not in SHIPPED:
        raise UnknownNameError("lexicon", name, SHIPPED)
    text = resources.files("facevalue.annotations").joinpath("lists", f"{name}.toml").read_text("utf-8")
    return _to_lexicon(tomllib.loads(text), name)


def read(path: str | Path) -> Lexicon:
    """Read a lexicon of the user's.

    Parameters
    ----------
    path:
        A JSON or TOML file with lists of single words, perhaps nested; a CSV with the columns `word`, `dimension` and
        `sign` (competence, +1), as dictionaries of dimensions are published; or one word a line, in a list of the
        file's name.

    Raises
    ------
    DataError
        The file cannot be read, holds no word, lacks a column, or has a sign that is none.
    """
    path = Path(path)
    data = read_file(path, MAX_BYTES, "word lists")
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml"):
        return _read_lists(data, path)
    return _to_lexicon((to_json if suffix == ".json" else to_toml)(data, str(path)), path.name)


def _read_lists(data: bytes, path: Path) -> Lexicon:
    """Lists of a table, or of lines."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text in UTF-8.") from None
    head = [name.strip().lower() for name in next(csv.reader(io.StringIO(text)), [])]
    rows = (
        _read_signed_words(text, path, head)
        if "word" in head
        else [(path.stem.lower(), line) for line in text.splitlines()]
    )
    lists: dict[str, dict[str, None]] = {}
    phrases: dict[str, None] = {}
    for name, entry in rows:
        word = " ".join(entry.lower().split())
        if len(word.split()) == 1:
            lists.setdefault(name, {})[word] = None
        elif word:
            phrases[word] = None
    if not lists:
        raise DataError(f"{path}: holds no word.")
    return Lexicon(path.name, "", "", {name: tuple(words) for name, words in lists.items()}, tuple(phrases))


def _read_signed_words(text: str, path: Path, head: list[str]) -> list[tuple[str, str]]:
    """Name of the list and word of each row; words without a direction are of none."""
    for name in ("dimension", "sign"):
        if name not in head:
            raise DataError(f"{path}: the column {name!r} is missing; word lists have word, dimension and sign.")
    out = []
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if number == 1 or not any(cell.strip() for cell in row):
            continue
        cells = dict(zip(head, (cell.strip() for cell in row), strict=False))
        sign = _SIGNS.get(cells.get("sign", "").lower())
        if sign is None:
            raise DataError(f"{path}, line {number}: the sign {cells['sign']!r} should be +1 or -1.")
        dimension = cells.get("dimension", "").lower()
        dimension = _FACETS.get(dimension, dimension)
        if sign and dimension:
            out.append((dimension if sign > 0 else POLES.get(dimension, f"{dimension}, negative"), cells["word"]))
    return out


def read_ratings(path: Path) -> pl.DataFrame:
    """Read words with a rating or several: a row for each, `word` and a column for each rating.

    Parameters
    ----------
    path:
        A CSV, or a file with tabs, as ratings of words are published: the first column has the words, or phrases, the
        others numbers. The first line names them; where it holds numbers itself, the one rating is called as the file.

    Raises
    ------
    DataError
        The file cannot be read, has no rating, a row of another length or without a number, or a word twice.
    """
    lines = read_text(path, MAX_BYTES, "ratings of words").splitlines()
    tabs = bool(lines) and "\t" in lines[0]
    rows = [(number, _cells(line, tabs)) for number, line in enumerate(lines, 1) if line.strip()]
    head = [path.stem] if rows and _number(rows[0][1][-1]) is not None else rows.pop(0)[1][1:] if rows else []
    names = ["word", *(name.lower() for name in head)]
    if not rows or len(names) < 2 or len({*names} - {""}) < len(names):
        raise DataError(
            f"{path}: ratings of words have a column of words, columns of numbers with a name each, and rows."
        )
    ratings: dict[str, list[float | None]] = {}
    for number, (word, *cells) in rows:
        values = [_number(cell) for cell in cells]
        if not word or len(cells) != len(head) or None in values:
            raise DataError(
                f"{path}, line {number}: a row holds {', '.join(names)}, all but the first as numbers, "
                f"not {short(', '.join((word, *cells)))}."
            )
        if ratings.setdefault(" ".join(word.lower().split()), values) != values:
            raise DataError(f"{path}, line {number}: {short(word)} was rated otherwise before.")
    schema = {"word": pl.String, **dict.fromkeys(names[1:], pl.Float64)}
    return pl.DataFrame([(word, *values) for word, values in ratings.items()], schema, orient="row")


def _cells(line: str, tabs: bool) -> list[str]:
    """Cells of a line; the whole line where it cannot be cut."""
    try:
        return [cell.strip() for cell in (line.split("\t") if tabs else next(csv.reader([line])))]
    except csv.Error:
        return [line]


def _number(text: str) -> float | None:
    """A finite number; None where the text is none: Python alone takes 1_000 for one."""
    try:
        return number if isfinite(number := float(text)) and "_" not in text else None
    except ValueError:
        return None


def _to_lexicon(content: Any, source: str) -> Lexicon:
    if not isinstance(content, dict):
        raise DataError(f"{source}: word lists are a table of names with words, not {type(content).__name__}.")
    document = content if isinstance(content.get("lists"), dict) else {"lists": content}
    lists: dict[str, tuple[str, ...]] = {}
    for name, words in document["lists"].items():
        deeper = words if isinstance(words, dict) else {None: words}
        for inner, entries in deeper.items():
            full = name if inner is None else f"{name}/{inner}"
            lists[full] = _words(entries, full, source)
    if not lists:
        raise DataError(f"{source}: holds no word list.")
    name, version, origin = (str(document.get(key, "")) for key in ("name", "version", "source"))
    return Lexicon(name or source, version, origin, lists)


def _words(entries: Any, name: str, source: str) -> tuple[str, ...]:
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{source}: list {name!r} should be a list of words.")
    for entry in entries:
        if not isinstance(entry, str) or len(entry.split()) != 1:
            raise DataError(f"{source}: list {name!r} holds {entry!r}; entries are single words.")
    return tuple(dict.fromkeys(entry.strip().lower() for entry in entries))


def count(frame: pl.DataFrame, text: str, lexicon: Lexicon, tokeniser: Tokeniser = Tokeniser.WORDS) -> pl.DataFrame:
    """Count the tokens of each text that are words of each list.

    Examples
    --------
    >>> hats = Lexicon("hats", "1", "me", {"hat": ("hat", "cap"), "tie": ("tie",)})
    >>> count(pl.DataFrame({"said": ["A hat, a cap.", ""]}), "said", hats).rows()
    [(4, 2, 0), (None, None, None)]
    """
    names = list(lexicon.lists)
    if "tokens" in names:
        raise DataError(f"{lexicon.name}: no list can be called 'tokens'.")
    column = tokenising.checked_texts(frame, text)
    entries = pl.DataFrame(
        [(word, at) for at, name in enumerate(names) for word in lexicon.lists[name]],
        schema={"token": pl.String, "list": pl.UInt32},
        orient="row",
    )
    tables = []
    for _, piece in tokenising.text_pieces(column):
        long = tokenising.tokens(piece, tokeniser)
        rows = piece.alias("text").to_frame().with_row_index("row").select("row", there=pl.col("text").is_not_null())
        matches = long.join(entries, on="token")
        counts = [long.group_by("row").agg(pl.len().alias("tokens"))]
        if matches.height:
            hits = (pl.col("list") == at for at in range(len(names)))
            counts.append(matches.group_by("row").agg(h.sum().alias(n) for h, n in zip(hits, names, strict=True)))
        for table in counts:
            rows = rows.join(table, on="row", how="left", maintain_order="left")
        rows = rows.with_columns(pl.lit(0, pl.UInt32).alias(n) for n in names if n not in rows.columns)
        columns = [pl.when("there").then(pl.col(n).fill_null(0)).cast(pl.UInt32).alias(n) for n in ("tokens", *names)]
        tables.append(rows.select(columns))
    return pl.concat(tables) if tables else pl.DataFrame(schema=dict.fromkeys(("tokens", *names), pl.UInt32))
