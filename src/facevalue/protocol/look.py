"""Selections of estimates, and what the texts of a page may ask of them."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Protocol

from facevalue.measures.definitions import split_key
from facevalue.protocol.lookup import Estimate

Levels = Mapping[str, str | None]
"""A level for each label; None where the label must be missing."""


@dataclass(frozen=True, slots=True)
class Of:
    """Estimates of a measure.

    Attributes
    ----------
    measure:
        Which one, with its score where it is of one ("mean.warmth"); of several, all of the first, then of the next.
    by:
        Labels that are set. One that ends with "?" may be missing. All other labels are missing.
    where:
        Labels fixed at a level, or at any of several; None for missing.
    without:
        Labels that must not have a level.
    label, note:
        Forms of a row's text and of the smaller text beside it; all labels by default.
    order:
        "given" as in the table; "value" from the highest down; "size" whatever the sign; "clearest" farthest beyond its
        own noise first; "found" findings first, then the clearest; "labels" by the wording of the labels.
    most:
        Rows shown; all by default.
    intervention:
        Those under an intervention instead of those of the requests as they are.
    crossed:
        Whether levels that cross two dimensions ("race x gender") are among them.

    Examples
    --------
    >>> of = Of("shift", ("variation",), order="size", most=10)
    >>> of.measures
    ('shift',)
    """

    measure: str | tuple[str, ...]
    by: tuple[str, ...] = ()
    where: Mapping[str, str | tuple[str | None, ...] | None] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    note: str = ""
    order: str = "given"
    most: int | None = None
    intervention: str = ""
    crossed: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.measure, str):
            name, score = split_key(self.measure)
            object.__setattr__(self, "measure", name)
            object.__setattr__(self, "where", {**self.where, "score": score} if score else self.where)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return (self.measure,) if isinstance(self.measure, str) else self.measure

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that may be set, fixed ones but the score included.

        Examples
        --------
        >>> Of("gap", ("identity", "question?"), {"dimension": "age", "group": None}).labels
        ('identity', 'question', 'dimension')
        """
        fixed = (name for name, level in self.where.items() if level is not None and name != "score")
        return tuple(dict.fromkeys([*(name.removesuffix("?") for name in self.by), *fixed]))


class Look(Protocol):
    """Interface for a page's own texts: estimates of one model, and their wording."""

    @property
    def model(self) -> str:
        """Model that these estimates are of."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Models that were asked."""
        ...

    @property
    def interventions(self) -> Sequence[str]:
        """Names of what was done to the requests of this model."""
        ...

    def rows(self, of: Of) -> list[Estimate]:
        """The estimates of a selection, in its order."""
        ...

    def find(self, measure: str, **levels: str | None) -> Estimate | None:
        """The estimate at these levels, over everything else; None if there is none."""
        ...

    def of_model(self, model: str) -> "Look":
        """The same for another model."""
        ...

    def beside(self, measure: str, estimate: Estimate) -> Estimate | None:
        """Another measure of the same cell."""
        ...

    def found(self, estimate: Estimate) -> bool:
        """Return whether a difference was found."""
        ...

    def value(self, estimate: Estimate | None, *, bare: bool = False) -> str:
        """A value in words; `bare` without its unit's word."""
        ...

    def interval(self, estimate: Estimate | None) -> str:
        """An interval, or why there is none."""
        ...

    def floor(self, estimate: Estimate | None) -> str:
        """Noise floor in words: mean and upper end of what chance alone shows; a dash if unknown."""
        ...

    def said(self, form: str, estimate: Estimate) -> str:
        """A form filled in."""
        ...

    def title(self, column: str, level: str | None) -> str:
        """The wording of a level."""
        ...

    def raw(self, column: str, level: str | None) -> str:
        """A level as the study writes it; empty for none."""
        ...


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
