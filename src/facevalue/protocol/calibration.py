"""Declaration of how a study is calibrated: what is planted, in which sizes, and beside which simple tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.types import OptionValue

UNIT, VALUE, SIDE, PART = "unit", "value", "side", "part"
"""Columns of what a rival tests."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A simple test of the answers that a study's own tests are of.

    Attributes
    ----------
    measure:
        Whose estimates it tests as well.
    rows:
        From answers to what is tested, a row per number: `unit`, what was sampled; `value`, which is zero on average
        without any effect; the labels of the estimate. With `side`, true for the one and false for the other of two
        groups, whose units are compared; with `part`, which of several numbers it is that an estimate is about.
    only:
        Which of the measure's estimates.
    flags:
        Whether each unit's value is 0 or 1, and two sides are compared by Fisher's exact test: with one to three units
        on a side, t finds something where there is nothing in most audits.
    """

    measure: str
    rows: Callable[[pl.DataFrame], pl.DataFrame]
    only: tuple[pl.Expr, ...] = ()
    flags: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """How audits of planted answers are made of a study.

    Attributes
    ----------
    planted:
        Columns of what is shown whose levels get effects; for two people with `_1` and `_2`.
    counted:
        What sizes count, in the plural.
    settings:
        Of the smallest audit.
    scaled:
        Settings that are multiplied for larger ones.
    units:
        Columns that name people: all pictures are taken several times for larger ones, as those of other people. Empty
        where pictures follow from the settings alone.
    rivals:
        Simple tests beside the study's own.
    own_pictures:
        Measures of how far pictures differ by themselves, as they do in all audits: no finding of them is false.
    same:
        Fields of forms that a question asks for as well: by title, from their categories to the question's options, the
        one shown first at the front. Without anything planted both are drawn alike.
    narrow:
        Settings of audits that are compared, and whose lead alone is wanted, where all else would take too long; those
        of the smallest audit where empty.
    in_one_order:
        Whether options have one order, so that a liking for the first is a difference, and no false one.
    planned:
        What an effect of 1 of its plan (`Planned.precision`) is in the measure that leads; None where these differ.
    """

    planted: tuple[str, ...]
    counted: str
    settings: Mapping[str, OptionValue] = field(default_factory=dict)
    scaled: tuple[str, ...] = ()
    units: tuple[str, ...] = ("image", "identity", "set")
    rivals: tuple[Rival, ...] = ()
    own_pictures: tuple[str, ...] = ()
    same: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    narrow: Mapping[str, OptionValue] = field(default_factory=dict)
    in_one_order: bool = False
    planned: float | None = 1.0


def against(levels: pl.Expr, level: str | pl.Expr, other: str | pl.Expr | None = None) -> pl.Expr:
    """Side of a row: true of a level, false of the other or of all others, null of what is not compared."""
    rest = levels != level if other is None else levels == other
    return pl.when(levels == level).then(True).when(rest).then(False)


def one_with_the_others(
    rows: pl.DataFrame, column: str, labels: Mapping[str, str], *, part: bool = False
) -> pl.DataFrame:
    """Rows once for each level of a column, whose units are compared with all others.

    `labels` are those of the estimates: the level's by "level", and the column's own name by "dimension". Where `part`,
    an estimate is about all levels at once.
    """
    levels = rows[column].drop_nulls().unique().sort().to_list()
    out = []
    for level in levels:
        side = against(pl.col(column).cast(pl.String), str(level)).alias(SIDE)
        named = {"level": str(level), "dimension": column.replace("_", " ")}
        texts = [pl.lit(named.get(text, text)).alias(name) for name, text in labels.items()]
        out.append(rows.with_columns(side, *texts, *([pl.lit(str(level)).alias(PART)] if part else [])))
    return pl.concat(out).drop_nulls(SIDE)


def words_of(rows: pl.DataFrame, text: str, named: tuple[str, ...]) -> pl.DataFrame:
    """Share of texts that have a word: a row for each word of all texts and each of what the texts are of (`named`)."""
    texts = rows.select(*named, word=pl.col(text).str.to_lowercase().str.extract_all(r"\w+").list.unique())
    many = texts.group_by(named).agg(pl.len().alias("texts"))
    having = texts.explode("word").drop_nulls("word").group_by(*named, "word").len()
    counts = many.join(having.select("word").unique(), how="cross").join(having, on=[*named, "word"], how="left")
    return counts.select(*named, "word", (pl.col("len").fill_null(0) / pl.col("texts")).alias(VALUE))
