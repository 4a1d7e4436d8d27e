"""Tables of a TOML file, read with their types checked; errors name the line and the nearest valid key."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from facevalue.errors import DataError, FaceValueError, UnknownNameError

Path = tuple[str | int, ...]
T = TypeVar("T")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
_QUOTES = re.compile(r"\"{3}|'{3}")


def lines_of(text: str) -> dict[Path, int]:
    r"""Line of each table and key of a TOML text, from 1; arrays of tables are numbered.

    Examples
    --------
    >>> lines_of("a = 1\n[b]\nc = 2\n[[d]]\n[[d]]\ne.f = 3")
    {('a',): 1, ('b',): 2, ('b', 'c'): 3, ('d',): 4, ('d', 0): 4, ('d', 1): 5, ('d', 1, 'e', 'f'): 6}
    """
    out: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
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


def _parts(name: str) -> Path:
    return tuple(next(filter(None, match.groups()), "") for match in _PART.finditer(name))


class TomlTable:
    """A table of a file, read key by key."""

    def __init__(self, name: str, lines: Mapping[Path, int], path: Path, data: Mapping[str, Any]) -> None:
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
