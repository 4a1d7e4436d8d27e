"""Pre-registration: families of tests, margins and level declared before the run.

Pre-registration is a TOML file. The run keeps its SHA-256 hash, so that anybody can check that it was not changed
afterwards::

    alpha = 0.05                 # level of the whole page, and of every family that names none; .05 if left out

    [margin]                     # largest difference that would not matter, by measure, in its unit
    sbs = 0.02                   # of one of several scores: "shift.warmth" = 2

    [[family]]                   # one table per family of tests
    name = "tattoos and fashion"
    measure = "sbs"
    method = "holm"              # "holm" (default), "bh" or "by"

    [family.where]               # rows of the estimates, by label; one that is not named is not restricted
    attribute = ["tattoos", "fashion_style"]
    scenario = []                # empty: rows over all scenarios
    group = ["*"]                # a star: rows of any single group
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.given import read_file, to_text, to_toml
from facevalue.measures import multiple_testing as testing
from facevalue.measures.estimates import TYPED
from facevalue.measures.verdicts import check_margin

MAX_BYTES = 256 * 1024
"""Largest pre-registration file that is read."""


@dataclass(frozen=True, slots=True)
class Preregistration:
    """What was declared before the run."""

    families: tuple[testing.Family, ...]
    """Confirmatory all."""
    margins: Mapping[str, float]
    """Largest difference that would not matter, by key of the measure."""
    alpha: float
    """Level of the page, and of each family that names none."""
    sha256: str
    """Hash of the file's bytes, in hexadecimal."""
    text: str
    before: bool = True
    """Whether the answers came after it. Recorded answers that are replayed were there before."""

    def measured(self, estimates: pl.DataFrame) -> "Preregistration":
        """The same without families of which nothing could be measured, as where no two groups have an answer."""
        present = tuple(f for f in self.families if estimates.select(f.selects().any()).item())
        return replace(self, families=present)

    def too_late(self) -> "Preregistration":
        """The same, declared when the answers were there already: it confirms nothing, and families are exploratory."""
        families = tuple(replace(family, kind="exploratory") for family in self.families)
        return replace(self, families=families, before=False)


def read_preregistration(
    path: Path,
    measures: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
) -> Preregistration:
    """Read a pre-registration file; the format is at the top of this module.

    Parameters
    ----------
    path:
        TOML, UTF-8, at most 256 KiB.
    measures:
        Keys that measures may have, if known: others are errors at once and not after the run.
    labels:
        The labels that the study declares, if others are to be errors at once.

    Raises
    ------
    DataError, UnknownNameError
        For a file that cannot be read or understood; each says what to mend.
    """
    data = read_file(path, MAX_BYTES, "pre-registration")
    return parse_preregistration(data, measures, labels, name=str(path))


def parse_preregistration(
    data: bytes,
    measures: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
    *,
    name: str = "pre-registration",
) -> Preregistration:
    """Understand the bytes of a pre-registration file; see `read_preregistration`.

    Examples
    --------
    >>> declared = parse_preregistration(b'''
    ... [margin]
    ... sbs = 0.02
    ... [[family]]
    ... name = "tattoos"
    ... measure = "sbs"
    ... [family.where]
    ... attribute = ["tattoos"]
    ... scenario = []
    ... ''')
    >>> declared.families[0].where, declared.families[0].method, declared.margins
    ({'attribute': ('tattoos',), 'scenario': None}, 'holm', {'sbs': 0.02})
    >>> parse_preregistration(b"[margins]")
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: pre-registration: Unknown key 'margins'. Did you mean 'margin'? \
Known: alpha, family, margin.
    """
    document = to_toml(data, name, MAX_BYTES)
    names = None if measures is None else tuple(measures)
    columns = None if labels is None else testing.selectable([*TYPED, *labels])
    try:
        _known_keys("key", document, ("alpha", "family", "margin"))
        alpha = _level(document.get("alpha", testing.ALPHA))
        margins = _margins(document.get("margin", {}), names)
        tables = document.get("family", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise DataError("families are written as [[family]] tables, one for each.")
        families = tuple(_family(table, number, alpha, names, columns) for number, table in enumerate(tables, start=1))
        testing.check_distinct(families)
        if not families and not margins:
            raise DataError("it declares neither a family nor a margin, so nothing could be confirmed by it.")
    except FaceValueError as error:
        raise testing.located(error, name) from None
    return Preregistration(families, margins, alpha, hashlib.sha256(data).hexdigest(), to_text(data, name))


def _known_keys(kind: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in table:
        if key not in allowed:
            raise UnknownNameError(kind, key, allowed)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # TOML has integers of any size
        return None


def _level(value: object) -> float:
    number = _number(value)
    if number is None:
        raise DataError(f"alpha is {value!r}, and must be a number above 0 and not above {testing.MOST_ALPHA:g}.")
    testing.check_alpha(number)
    return number


def _margins(table: object, measures: Sequence[str] | None) -> dict[str, float]:
    if not isinstance(table, dict):
        raise DataError("[margin] is a table: one line per measure, such as sbs = 0.02.")
    out: dict[str, float] = {}
    for measure, value in table.items():
        if measures is not None and measure not in measures:
            raise UnknownNameError("measure", measure, measures)
        number = _number(value)
        if number is None:
            raise DataError(f"the margin of {measure!r} is {value!r}, and must be a number above 0.")
        try:
            out[measure] = float(check_margin(number))
        except ValueError as error:
            raise DataError(f"the margin of {measure!r} is {value!r}. {error}") from None
    return out


def _family(
    table: Mapping[str, Any],
    number: int,
    alpha: float,
    measures: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> testing.Family:
    name = table.get("name")
    place = f"family {name!r}" if name else f"family {number}"
    try:
        _known_keys("key", table, ("name", "measure", "method", "alpha", "where"))
        for key in ("name", "measure"):
            if not isinstance(table.get(key), str) or not table[key]:
                raise DataError(f"{key!r} is missing or not text.")
        measure, method = table["measure"], table.get("method", "holm")
        names = None if measures is None else dict.fromkeys(key.partition(".")[0] for key in measures)
        if names is not None and measure not in names:
            raise UnknownNameError("measure", measure, names)
        conditions = table.get("where", {})
        if not isinstance(conditions, dict):
            raise DataError('[family.where] is a table: one line per label, such as attribute = ["hair"].')
        levels = _levels_by_label(conditions, columns)
        return testing.Family(
            name=str(name), kind="confirmatory", measure=measure, where=levels, method=str(method),
            alpha=_level(table.get("alpha", alpha)),
        )  # fmt: skip
    except FaceValueError as error:
        raise testing.located(error, place) from None


def _levels_by_label(levels: Mapping[str, object], columns: Sequence[str] | None) -> dict[str, tuple[str, ...] | None]:
    out: dict[str, tuple[str, ...] | None] = {}
    for name, value in levels.items():
        if columns is not None and name not in columns:
            raise UnknownNameError("label", name, columns)
        out[name] = _levels(name, value)
    return out


def _levels(column: str, value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(level, str) for level in value):
        raise DataError(f"the levels of {column!r} are a list of texts; an empty one means the rows over all levels.")
    return tuple(value) or None
