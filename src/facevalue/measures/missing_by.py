"""By what a study's missing answers are compared: groups, prompts, and the units that were sampled."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who is shown, as columns of a study's answers; of several columns the first that has a level counts."""

    group: tuple[str, ...]
    unit: tuple[str, ...]
    """What was sampled."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups whose missing answers are compared.

    Attributes
    ----------
    dimension:
        What the groups differ in, or, with `named`, the column that says it.
    people:
        Everyone in one picture: all of them count.
    within:
        Columns whose levels units do not share, as two people of one number but of two genders.

    Examples
    --------
    >>> Grouped.of("gender", "identity").people
    (Person(group=('gender',), unit=('identity',)),)
    """

    dimension: str
    people: tuple[Person, ...]
    named: bool = False
    within: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: str, *unit: str) -> "Grouped":
        """Groups that are the levels of a column."""
        return cls(column, (Person((column,), unit),))

    @classmethod
    def of_pairs(cls, column: str, *unit: str) -> "Grouped":
        """Groups of the two people of a pair, whose columns end with _1 and _2."""
        sides = (Person((f"{column}_{k}",), tuple(f"{name}_{k}" for name in unit)) for k in (1, 2))
        return cls(column, tuple(sides))

    def columns(self, columns: Collection[str]) -> Iterator[tuple[pl.Expr, pl.Expr, pl.Expr]]:
        """Dimension, group and unit of each person, as far as a frame with these columns has any."""
        for person in self.people:
            group, unit = (_first(names, columns) for names in (person.group, person.unit))
            if group is not None and (not self.named or self.dimension in columns):
                apart = [pl.col(name).cast(pl.String).fill_null("") for name in self.within if name in columns]
                unit_name = pl.lit("") if unit is None else unit.fill_null("")
                yield (
                    pl.col(self.dimension).cast(pl.String) if self.named else pl.lit(self.dimension),
                    group, pl.concat_str([unit_name, *apart], separator="\x1f"),
                )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MissingBy:
    """By what a study's missing answers are compared.

    Attributes
    ----------
    groups:
        Groups of people or pictures.
    prompt:
        Columns that say what was asked, together; none where all is one question.
    """

    groups: tuple[Grouped, ...] = ()
    prompt: tuple[str, ...] = ()

    def question_name(self, columns: Collection[str]) -> pl.Expr:
        """What was asked, of a frame with these columns; null for what has no name."""
        names = [pl.col(name).cast(pl.String) for name in self.prompt if name in columns]
        if not names:
            return pl.lit(None, pl.String)
        group_name = pl.concat_str(names, separator=", ", ignore_nulls=True)
        return pl.when(group_name != "").then(group_name)


def _first(names: tuple[str, ...], frame_columns: Collection[str]) -> pl.Expr | None:
    columns = [pl.col(name).cast(pl.String) for name in names if name in frame_columns]
    return pl.coalesce(columns) if columns else None
