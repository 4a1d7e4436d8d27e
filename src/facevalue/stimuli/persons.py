"""Persons of a list of pictures: how many there are, and columns that look like persons and are not called so."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.stimuli.columns import FORM, Column

ATTRIBUTES = frozenset(("gender", "sex", "race", "ethnicity", "age", "skin_tone"))
"""Columns that a person has one level of, whether a study reads them or not."""
_NAMED = frozenset((
    "person", "persons", "people", "subject", "participant", "individual", "human", "actor", "celebrity", "sitter",
    "model", "name", "face", "who", "id", "pid", "uid",
))  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FEWEST = 2  # pictures of a person, on average
_FILLED = 0.9  # share of the rows


@dataclass(frozen=True, slots=True)
class ListedPersons:
    """Persons and sets of a list of pictures.

    Attributes
    ----------
    pictures:
        How many pictures there are.
    persons:
        How many persons the column of persons names; None where it names nobody, so that each picture counts as one.
    sets:
        How many sets the column `set` names.
    likely:
        Columns that look like persons where none is called so: name, and how many there would be.
    column:
        The column of persons: `identity`, but where a study compares identities.
    """

    pictures: int
    persons: int | None
    sets: int
    likely: tuple[tuple[str, int], ...] = ()
    column: str = "identity"

    @property
    def unit(self) -> str:
        """Sampled unit, and the number of units, in a sentence.

        Examples
        --------
        >>> print(ListedPersons(60, 12, 0).unit)
        The sampled unit is the person: 12 in 60 pictures.
        """
        pictures = f"{self.pictures:,} picture{'' if self.pictures == 1 else 's'}"
        if self.sets:
            return f"The sampled unit is the set: {self.sets:,} of {pictures}."
        if self.persons is not None:
            return f"The sampled unit is the person: {self.persons:,} in {pictures}."
        alone = f"each counted as another person (no column `{self.column}`)"
        return f"The sampled unit is the picture: {pictures}, {alone}."

    @property
    def question(self) -> str:
        """A question about the columns that look like persons; empty for none."""
        if not self.likely:
            return ""
        name, count = self.likely[0]
        on_average = f"{self.pictures / count:.0f}" if self.pictures % count == 0 else f"{self.pictures / count:.1f}"
        return (
            f"is {name!r} who is shown? It has {count:,} values with {on_average} pictures each, and the "
            f"{self.pictures:,} pictures count as {self.pictures:,} persons: if it is, rename it to {self.column!r}, "
            "or findings are too sure"
        )


def person_numbers(names: Iterable[str | None], letter: str = "p") -> list[str | None]:
    """Return a number in place of each name, in the order in which names come; the same for the same.

    Examples
    --------
    >>> person_numbers(["Anna Smith", "Ben", None, "Anna Smith"])
    ['p001', 'p002', None, 'p001']
    """
    names = list(names)
    order = {name: at for at, name in enumerate(dict.fromkeys(name for name in names if name is not None), start=1)}
    width = max(3, len(str(len(order))))
    return [None if name is None else f"{letter}{order[name]:0{width}}" for name in names]


def persons_of(frame: pl.DataFrame, columns: Sequence[Column] = ()) -> ListedPersons | None:
    """Count the persons and sets of a list of pictures; None for a table that lists no files.

    Parameters
    ----------
    frame:
        A manifest as it is read or stored.
    columns:
        Those that the study reads, which say what they mean.
    """
    if "path" not in frame.columns or frame["path"].null_count() == frame.height:
        return None
    declared = [column.name for column in columns]
    column = "person" if any(spec.name == "identity" and spec.paired for spec in columns) else "identity"
    names = frame[column].drop_nulls() if column in frame.columns else pl.Series([], dtype=pl.String)
    of_files = (pl.col(column) == pl.col("image")) | (pl.col(column) == pl.col("path"))
    is_named = bool(len(names)) and not frame.filter(pl.col(column).is_not_null()).select(of_files.all()).item()
    sets = frame["set"].drop_nulls().n_unique() if "set" in frame.columns else 0
    likely = () if is_named or sets else tuple(_likely(frame, declared))
    return ListedPersons(frame.height, names.n_unique() if is_named else None, sets, likely, column)


def _likely(frame: pl.DataFrame, declared: Collection[str]) -> list[tuple[str, int]]:
    """Columns of few values with several pictures each: called like persons, or of one level of what persons have."""
    factors = [name for name in frame.columns if name not in (*FORM, *declared) and frame.schema[name] == pl.String]
    had = [name for name in frame.columns if name in {*declared, *ATTRIBUTES} and name not in FORM]
    out = []
    for name in factors:
        filled = frame.filter(pl.col(name).is_not_null())
        count = filled[name].n_unique()
        if name in ATTRIBUTES or count < 2 or filled.height < max(_FEWEST * count, _FILLED * frame.height):
            continue
        one_level = [attribute for attribute in had if filled.select(name, attribute).n_unique() == count]
        kinds = filled.select(one_level).n_unique() if one_level else count
        called = not _NAMED.isdisjoint(word.lower() for word in _WORD.findall(name))
        if kinds < count or called:
            out.append((name, count))
    return sorted(out, key=lambda entry: -entry[1])
