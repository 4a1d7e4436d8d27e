"""Declaration of how a study is calibrated: what is planted, in which sizes, and beside which simple tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.statistics.rivals import PART, UNIT, VALUE
from facevalue.types import OptionValue

Rows = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Rival:
    """A simple test of the answers that a study's own tests are of: what each unit says on average, and t over units.

    Attributes
    ----------
    measure:
        Whose estimates it tests as well.
    rows:
        From answers, levels as texts, to what is tested, a row per number: `unit`, what was sampled; `value`, which is
        zero on average without any effect; and what it is of. With `side`, true for the one and false for the other of
        two groups, whose units are compared.
    by:
        Columns of these that are labels of the estimate; all if None.
    only:
        Which of the measure's estimates.
    components:
        Columns that say which of several numbers it is that an estimate is about.
    apart:
        Label of whose levels a unit's mean is taken off: what is left is how the unit differs between them.
    groups:
        Columns whose levels are labels `dimension` and `group`, one column after the other.
    versus:
        What groups are compared with: "(others)", all other levels; "(each other)", each other level, which is the
        label `other_group`. With nothing if empty.
    flags:
        Whether each unit's value is 0 or 1, and two sides are compared by Fisher's exact test: with one to three units
        on a side, t finds something where there is nothing in most audits.
    """

    measure: str
    rows: Rows
    by: tuple[str, ...] | None = None
    only: tuple[pl.Expr, ...] = ()
    components: tuple[str, ...] = (PART,)
    apart: str = ""
    groups: tuple[str, ...] = ()
    versus: str = ""
    flags: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """Settings from which audits of planted answers are made of a study.

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
    sampled:
        Column of the pictures that names what was sampled; where it is empty identity, else set, else the picture.
    own_pictures:
        Measures of how far pictures differ by themselves, as they do in most audits: no finding of them is false, but
        where pictures of one of `sampled` are alike.
    described:
        Measures that are not tested, of whose intervals it is counted how often they hold what should be found.
    by_size:
        Measures whose value depends on how many were sampled, or is one of replies and not of their probabilities: what
        should be found is their mean over audits.
    leans:
        Measures of how far answers lean to one option, which is a difference where one outweighs the others, or where
        the one shown first is always the same: no finding of them is false there.
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
    sampled: str = ""
    own_pictures: tuple[str, ...] = ()
    described: tuple[str, ...] = ()
    by_size: tuple[str, ...] = ()
    leans: tuple[str, ...] = ()
    same: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    narrow: Mapping[str, OptionValue] = field(default_factory=dict)
    in_one_order: bool = False
    planned: float | None = 1.0


def numbers(value: str, unit: str, *only: pl.Expr) -> Rows:
    """Make rows of the answers themselves: a column's values, of those that agree with `only`."""
    return lambda answers: answers.filter(*only).with_columns(pl.col(value).alias(VALUE), pl.col(unit).alias(UNIT))


def both_ways(pairs: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Each row about two twice: of the one beside the other, and the other way round, where values turn their sign.

    What they are called by is in columns ending in `_1` and `_2` (`names`), and then in `name` and `other_name`.
    """
    turned = []
    for number, beside_it, sign in ((1, 2, 1), (2, 1, -1)):
        ends = [(f"_{number}", ""), (f"_{beside_it}", "other_")]
        columns = [pl.col(name + end).alias(prefix + name) for name in names for end, prefix in ends]
        turned.append(pairs.with_columns(*columns, pl.col(VALUE) * sign))
    return pl.concat(turned)


def words_of(rows: pl.DataFrame, text: str, about: tuple[str, ...]) -> pl.DataFrame:
    """Share of texts that have a word: a row for each word of all texts and each of what the texts are of (`about`)."""
    texts = rows.select(*about, word=pl.col(text).str.to_lowercase().str.extract_all(r"\w+").list.unique())
    many = texts.group_by(about).agg(pl.len().alias("texts"))
    having = texts.explode("word").drop_nulls("word").group_by(*about, "word").len()
    counts = many.join(having.select("word").unique(), how="cross").join(having, on=[*about, "word"], how="left")
    return counts.select(*about, "word", (pl.col("len").fill_null(0) / pl.col("texts")).alias(VALUE))
