"""Words of a page: what a study's sections, charts, cards and notes say, from the file `words.toml` beside its page."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from facevalue.protocol.look import Of


class Words:
    """Texts of a page, a table of the file for each of its parts.

    `package`: the folder of the study, as its modules name it.

    A table holds arguments of what the page declares under its name: `Section("cues", blocks, **words("cues"))` takes
    title and lead from the table `[cues]`, and a chart of that section its own from `[cues.chart]`. Lists become
    tuples, a table with the key `measure` a selection of estimates (`Of`), and lines of a text one paragraph.
    """

    def __init__(self, package: str) -> None:
        self._tables = tomllib.loads(files(package).joinpath("words.toml").read_text("utf-8"))
        self._unused = dict.fromkeys(_filled_paths("", self._tables))

    def __call__(self, path: str) -> dict[str, Any]:
        """Arguments in the table of this path ("cues.chart"); tables within it, which have paths, are left out."""
        return _arguments(self._table_at(path))

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def text(self, path: str) -> str:
        """The text of this path ("cues.framing.absent")."""
        table, _, name = path.rpartition(".")
        return str(self(table)[name])

    def rows(self, path: str) -> list[dict[str, Any]]:
        """Arguments in each of the tables `[[path]]`."""
        table, _, name = path.rpartition(".")
        self._unused.pop(path, None)
        return [_arguments(row) for row in self._table_at(table)[name]]

    def titles(self) -> dict[str, dict[str, str]]:
        """Wording of levels, a table of `[titles]` for each label."""
        return {label: self(f"titles.{label}") for label in self._tables["titles"]}

    def unused_paths(self) -> list[str]:
        """Paths of tables that nothing has taken words from: left behind, or misspelt."""
        return list(self._unused)

    def _table_at(self, path: str) -> Mapping[str, Any]:
        self._unused.pop(path, None)
        table: Mapping[str, Any] = self._tables
        for name in filter(None, path.split(".")):
            table = table[name]
        return table


def _arguments(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _argument(value) for name, value in table.items() if not _is_part(value)}


def _argument(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split()) if "\n" in value else value
    if isinstance(value, list):
        return tuple(map(_argument, value))
    if isinstance(value, dict):
        levels = {name: _argument(level) for name, level in value.items()}
        return Of(**levels) if "measure" in value else levels
    return value


def _is_part(value: object) -> bool:
    """Return whether this is a table with a path of its own, or several `[[path]]`."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_part, value))
    return isinstance(value, dict) and "measure" not in value


def _filled_paths(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Paths of the tables that have words of their own."""
    if any(not _is_part(value) for value in table.values()):
        yield path
    for name, value in table.items():
        inner = f"{path}.{name}".removeprefix(".")
        if isinstance(value, list) and _is_part(value):
            yield inner
        elif _is_part(value):
            yield from _filled_paths(inner, value)
