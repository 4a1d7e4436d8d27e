"""TOML files: tables whose types are checked, texts of a study in files of their own, and variants.

Errors name the line and the nearest valid key. Texts (levels of a factor, such as CVs, and columns of items) are put
into the study as it is read: a run keeps them with it and needs the files no more, and a study whose texts have changed
is another one. Variants come with FaceValue, or from files of interventions, a study's file or a stored run.

A file of interventions has one table for each::

    [[intervention]]
    name = "judge"                        # lower-case letters, digits and hyphens
    title = "Told to be a judge"          # for people; the name by default
    before = "Act as a judge."            # text before the prompt
    after = ""                            # text after it
    system = ""                           # text before the study's system message
    turns = [["user", "Hello."], ["assistant", "Hello!"]]   # a conversation before the prompt
    picture = "keep"                      # "keep", "none", or "blank" for a white one
    cipher = false                        # ask in the Caesar cipher, and decode the reply
    caption = ""                          # text on a white band below the picture
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.prompts.variants import KEYS, Variant, check_distinct
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import OptionValue
from facevalue.untrusted_files import read_file, to_text, to_toml

TomlPath = tuple[str | int, ...]
T = TypeVar("T")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
_QUOTES = re.compile(r"\"{3}|'{3}")


def lines_of(text: str) -> dict[TomlPath, int]:
    r"""Line of each table and key of a TOML text, from 1; arrays of tables are numbered.

    Examples
    --------
    >>> lines_of("a = 1\n[b]\nc = 2\n[[d]]\n[[d]]\ne.f = 3")
    {('a',): 1, ('b',): 2, ('b', 'c'): 3, ('d',): 4, ('d', 0): 4, ('d', 1): 5, ('d', 1, 'e', 'f'): 6}
    """
    out: dict[TomlPath, int] = {}
    counts: dict[TomlPath, int] = {}
    table: TomlPath = ()
    quoted = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not quoted:
            if header := _HEADER.match(line):
                table = _parts(header[2])
                if header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                elif table[:-1] in counts:
                    table = (*table[:-1], counts[table[:-1]], table[-1])
                for depth in range(1, len(table) + 1):
                    out.setdefault(table[:depth], number)
            elif key := _KEY.match(line):
                out.setdefault((*table, *_parts(key[1])), number)
        for mark in _QUOTES.findall(line):
            quoted = "" if quoted == mark else quoted or mark
    return out


def _parts(name: str) -> TomlPath:
    return tuple(next(filter(None, match.groups()), "") for match in _PART.finditer(name))


class TomlTable:
    """A table of a file, read key by key."""

    def __init__(self, name: str, lines: Mapping[TomlPath, int], path: TomlPath, data: Mapping[str, Any]) -> None:
        self._name = name
        self._lines = lines
        self._path = path
        self._data = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def document(self) -> Mapping[str, Any]:
        """Content of the table."""
        return self._data

    def key_place(self, *keys: str | int) -> str:
        """The place of a key for people: the file, and the line where it is known; empty of a file without a name."""
        if not self._name:
            return ""
        path = (*self._path, *keys)
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self._name}: line {self._lines[path]}" if path else self._name

    @contextmanager
    def place_errors(self, *keys: str | int) -> Iterator[None]:
        """Say the place of errors that are raised inside."""
        try:
            yield
        except FaceValueError as error:
            if self._name and not str(error).startswith(f"{self._name}:"):
                error.args = (f"{self.key_place(*keys)}: {error}",)
            raise

    def error(self, text: str, *keys: str | int) -> DataError:
        """An error at the place of a key."""
        return DataError(f"{self.key_place(*keys)}: {text}")

    def check_keys(self, *keys: str) -> None:
        """Refuse keys that are none of these."""
        for key in self._data:
            if key not in keys:
                with self.place_errors(key):
                    raise UnknownNameError("key", key, keys)

    def _get(self, key: str, form: str, fits: Callable[[Any], bool], default: T | None) -> Any:
        if key not in self._data:
            if default is None:
                raise self.error(f"{key!r} is missing: {form}.")
            return default
        value = self._data[key]
        if not fits(value):
            raise self.error(f"{key!r} is {form}, not {_short(value)}.", key)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        return str(self._get(key, "a text in quotes", lambda value: isinstance(value, str), default))

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        return float(self._get(key, "a number", _is_number, default))

    def whole_number(self, key: str, default: int | None = None, low: int | None = None) -> int:
        """A whole number, of at least `low` where that is said."""
        lowest = 1 - 2**53 if low is None else low
        fits = lambda value: isinstance(value, int) and not isinstance(value, bool) and lowest <= value < 2**53  # noqa: E731
        return int(self._get(key, "a whole number" + ("" if low is None else f" from {low}"), fits, default))

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return bool(self._get(key, "true or false", lambda value: isinstance(value, bool), default))

    def names(self, key: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of different texts; a single text is a list of one."""

        def fits(value: object) -> bool:
            return isinstance(value, str) or (
                isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)
            )

        value = self._get(key, "a list of texts in quotes", fits, default)
        names = (value,) if isinstance(value, str) else tuple(value)
        if len(set(names)) < len(names):
            twice = next(text for text, many in Counter(names).items() if many > 1)
            raise self.error(f"{key!r} names {twice!r} twice.", key)
        return names

    def name_sets(self, key: str) -> list[tuple[str, ...]]:
        """Lists of different texts; a single list is the only one."""
        value = self._data.get(key)
        if not (isinstance(value, list) and value and all(isinstance(one, list) for one in value)):
            return [self.names(key)]
        tables = [TomlTable(self._name, self._lines, self._path, {key: one}) for one in value]
        return [table.names(key) for table in tables]

    def wholes(self, key: str, default: Sequence[int]) -> tuple[int, ...]:
        """A list of whole numbers."""

        def fits(value: object) -> bool:
            return isinstance(value, list) and all(isinstance(number, int) and 0 <= number < 2**31 for number in value)

        return tuple(self._get(key, "a list of whole numbers", fits, default))

    def texts(self, key: str) -> dict[str, str]:
        """Wording by name: a list of texts, or a table of them."""
        if isinstance(self._data.get(key), dict):
            table = self.table(key)
            return {name: table.text(name) for name in table}
        return {name: name for name in self.names(key)}

    def numbers(self, key: str) -> dict[str, float]:
        """A table of numbers."""
        table = self.table(key)
        return {name: table.number(name) for name in table}

    def table(self, key: str, *, needed: bool = True) -> "TomlTable":
        """A table within this one; an empty one where there is none and none is needed."""
        default: dict[str, Any] | None = None if needed else {}
        value = self._get(key, "a table", lambda value: isinstance(value, dict), default)
        return TomlTable(self._name, self._lines, (*self._path, key), value)

    def tables(self, key: str) -> list["TomlTable"]:
        """Tables of one name, `[[key]]` each."""

        def fits(value: object) -> bool:
            return isinstance(value, list) and all(isinstance(table, dict) for table in value)

        value = self._get(key, f"written as [[{key}]] tables", fits, [])
        return [TomlTable(self._name, self._lines, (*self._path, key, at), table) for at, table in enumerate(value)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


MOST_BYTES = 64 * 1024
"""Largest file of a text."""
MOST_FILES = 1_000
"""Files that one pattern may match."""
FILE, TEXTS = "file", "texts"
Check = Callable[[Path], None]
"""Refuses a path that leads out of the study's folder."""


def read_texts(pattern: Path, check: Check = lambda _: None) -> dict[str, str]:
    """Texts of the files that match a pattern, such as `cvs/*.txt`, by their names without the ending, in order.

    `check`: sees each path before it is read.

    Raises
    ------
    DataError
        There are none or too many, two have one name, or one is empty, too long or not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "nurse.txt").write_text("I am a nurse.")
    ...     read_texts(Path(folder, "*.txt"))
    {'nurse': 'I am a nurse.'}
    """
    check(pattern.parent)
    if "*" in pattern.parent.as_posix():
        raise DataError(f"{pattern.as_posix()}: the star stands for names of files, not of folders.")
    paths = _matching(pattern) if "*" in pattern.name else [pattern]
    if not paths:
        raise DataError(f"No file is called {pattern.name} in {pattern.parent.as_posix()}.")
    out: dict[str, str] = {}
    for path in paths:
        if path.stem in out:
            raise DataError(f"Two files of {pattern.as_posix()} are called {path.stem!r}: their names are the levels.")
        out[path.stem] = read_text_file(path, check)
    return out


def read_text_file(path: Path, check: Check = lambda _: None) -> str:
    """Text of a file, without white space around it; `check` sees its path before it is read.

    Raises
    ------
    DataError
        It is empty, longer than `MOST_BYTES` or not UTF-8.
    """
    check(path)
    text = to_text(read_file(path, MOST_BYTES, "a text"), path.name).replace("\r\n", "\n").strip()
    if not text:
        raise DataError(f"{path.name} holds no text.")
    return text


def _matching(pattern: Path) -> list[Path]:
    start, _, end = pattern.name.partition("*")
    if "*" in end:
        raise DataError(f"{pattern.name}: a pattern of files has one star.")
    names = []
    try:
        with os.scandir(pattern.parent) as entries:
            for file in entries:
                long_enough = len(file.name) >= len(start) + len(end)
                if long_enough and file.name.startswith(start) and file.name.endswith(end) and file.name[0] != ".":
                    names.append(file.name)
                    if len(names) > MOST_FILES:
                        raise DataError(f"More than {MOST_FILES:,} files are called {pattern.name}.")
    except (OSError, ValueError):
        raise DataError(f"There is no folder {pattern.parent.as_posix()} of texts.") from None
    return [pattern.parent / name for name in sorted(names)]


def with_texts(top: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    """The document of a study with the texts of files where it names files, which lie below `folder`."""
    out = _fill_texts(top, folder, check)
    if isinstance(out.get("task"), dict):
        tasks = top.table("task")
        out["task"] = {
            name: _fill_texts(tasks.table(name), folder, check) if isinstance(task, dict) else task
            for name, task in out["task"].items()
        }
    return out


def _fill_texts(table: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    """A table whose factors and items have texts in place of files."""
    out = dict(table.document())
    if isinstance(out.get("factor"), dict):
        factors = table.table("factor")
        out["factor"] = {
            name: _levels(factors.table(name), folder, check)
            if isinstance(factor, dict) and TEXTS in factor
            else factor
            for name, factor in out["factor"].items()
        }
    if isinstance(out.get("item"), list) and all(isinstance(item, dict) for item in out["item"]):
        out["item"] = [_columns(item, folder, check) for item in table.tables("item")]
    return out


def _levels(factor: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    factor.check_keys(TEXTS, "levels")
    if "levels" in factor:
        raise factor.error("A factor has either levels, or texts in files.", TEXTS)
    with factor.place_errors(TEXTS):
        return {"levels": read_texts(folder / factor.text(TEXTS), check)}


def _columns(item: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    out = dict(item.document())
    for column, value in out.items():
        if isinstance(value, dict):
            cell = item.table(column)
            cell.check_keys(FILE)
            with cell.place_errors(FILE):
                out[column] = read_text_file(folder / cell.text(FILE), check)
    return out


MAX_BYTES = 256 * 1024
"""Largest file of interventions."""


@cache
def builtin() -> Mapping[str, Variant]:
    """Interventions that come with FaceValue, by name."""
    data = files("facevalue.prompts").joinpath("interventions.toml").read_bytes()
    return {variant.name: variant for variant in parse_interventions(data, "interventions.toml")}


def find_variants(choices: Sequence[str | Variant]) -> tuple[Variant, ...]:
    """Look interventions up, each by name or as a TOML file with one or several; a variant stands for itself.

    Examples
    --------
    >>> [variant.title for variant in find_variants(["no-image"])]
    ['No picture']
    """
    variants: list[Variant] = []
    for choice in choices:
        if isinstance(choice, Variant):
            variants.append(choice)
        elif choice.endswith(".toml"):
            variants += parse_interventions(read_file(Path(choice), MAX_BYTES, "interventions"), choice)
        elif choice in builtin():
            variants.append(builtin()[choice])
        else:
            raise UnknownNameError("intervention", choice, [*builtin(), "FILE.toml"])
    return check_distinct(variants)


def parse_interventions(data: bytes, name: str) -> tuple[Variant, ...]:
    """Understand the bytes of a file of interventions, called `name` in errors."""
    document = to_toml(data, name, MAX_BYTES)
    top = TomlTable(name, lines_of(to_text(data, name)), (), document)
    for key in document:
        if key != "intervention":
            with top.place_errors(key):
                raise UnknownNameError("table", key, ["intervention"])
    if not isinstance(document.get("intervention"), list) or not document["intervention"]:
        raise DataError(f"{name} has no intervention: begin each with a line [[intervention]].")
    with top.place_errors():
        return check_distinct(variant_of(table) for table in top.tables("intervention"))


def declared_variants(table: TomlTable) -> tuple[Variant, ...]:
    """The variants of a study's file: `[variant.NAME]` each."""
    with table.place_errors():
        return check_distinct(variant_of(table.table(name), name) for name in table)


def interventions_of(options: Mapping[str, OptionValue]) -> tuple[Variant, ...]:
    """The interventions among the settings that a run keeps; none where there are none."""
    texts = options.get(INTERVENTIONS, [])
    return restore_variants(texts) if isinstance(texts, list) else ()


def restore_variants(texts: Iterable[str]) -> tuple[Variant, ...]:
    """Build interventions again from what `Variant.text` wrote down.

    Examples
    --------
    >>> variant = Variant("judge", before="Act as a judge.")
    >>> restore_variants([variant.text()]) == (variant,)
    True
    """
    variants = []
    for text in texts:
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"A stored intervention cannot be read: {error}.") from error
        if not isinstance(table, dict):
            raise DataError("A stored intervention is not a table.")
        variants.append(variant_of(TomlTable("the stored interventions", {}, (), table)))
    return check_distinct(variants)


def variant_of(table: TomlTable, name: str | None = None) -> Variant:
    """A variant from its table, which states its name unless that is in the table's own."""
    table.check_keys(*(key for key in KEYS if name is None or key != "name"))
    with table.place_errors():
        return Variant(
            table.text("name") if name is None else name,
            title=table.text("title", ""),
            picture=table.text("picture", "keep"),
            before=table.text("before", ""),
            after=table.text("after", ""),
            system=table.text("system", ""),
            turns=_turns(table),
            cipher=table.flag("cipher", default=False),
            caption=table.text("caption", ""),
            prompt=table.text("prompt", ""),
            options=table.texts("options") if "options" in table else {},
            tasks=table.names("tasks", ()),
            where=table.key_place(),
        )


def _turns(table: TomlTable) -> tuple[tuple[str, str], ...]:
    turns = table.document().get("turns", [])
    if not isinstance(turns, list):
        raise table.error('\'turns\' are a list: [["user", "..."], ["assistant", "..."]].', "turns")
    for turn in turns:
        if not isinstance(turn, list) or len(turn) != 2 or not all(isinstance(text, str) for text in turn):
            raise table.error('Each turn is a role and a text: ["user", "..."].', "turns")
    return tuple((role, text) for role, text in turns)
