"""Rivals: rows of the simplest test of a question, by pictures and units, which a calibration sets beside our own."""

from collections.abc import Sequence
from itertools import product

import polars as pl

from facevalue.statistics.breakdown import CONTRAST, DIMENSION, GROUP, OTHER_GROUP, Breakdown
from facevalue.statistics.statistic import Score

UNIT, VALUE, SIDE, PART = "unit", "value", "side", "part"
"""Columns of the rows: what was sampled, its number, which of two groups it is of, and which of several numbers."""
OTHERS, LEVELS_MEAN, EACH_OTHER, ALIKE = "(others)", "(mean)", "(each other)", "(alike)"
"""References that a level may have, beside another level: all that have another one, the mean of the unit's levels,
each of them, and the unit's levels that are alike, whichever these are."""
_BASE = "value of the base"


def unit_means(answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    """Mean score of each picture and question, with the unit."""
    names = dict.fromkeys([breakdown.sets.key, "image", *breakdown.sets.cue, *breakdown.factors])
    cells = answers.group_by([name for name in names if name in answers.columns]).agg(
        pl.col(score.name).mean().alias(VALUE)
    )
    return cells.with_columns(pl.col(breakdown.sets.key).alias(UNIT)).drop_nulls(VALUE)


def shifts_of(means: pl.DataFrame, breakdown: Breakdown) -> pl.DataFrame:
    """Each picture less its unit's base, question by question."""
    keys = [UNIT, *breakdown.prompt_factors]
    base = means.filter(_is_base(breakdown)).group_by(keys).agg(pl.col(VALUE).mean().alias(_BASE))
    return means.filter(~_is_base(breakdown)).join(base, on=keys).with_columns(pl.col(VALUE) - pl.col(_BASE))


def answers_about(means: pl.DataFrame, factors: Sequence[str], breakdown: Breakdown) -> pl.DataFrame:
    """Means of what statistics of these factors are of: bases where there are any, unless the cue is among them."""
    of_bases = breakdown.sets.cue and not set(breakdown.sets.cue) & {*factors}
    return means.filter(_is_base(breakdown)) if of_bases else means


def compared_levels(
    rows: pl.DataFrame, factor: str, breakdown: Breakdown, versus: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Levels of a factor, within units where these have several: one number each, and else two sides.

    `columns`: further columns that are kept.
    """
    selected = rows.select(*columns, factor, UNIT, VALUE)
    compared = group_sides(selected, [factor], versus).drop(factor)
    if not breakdown.varies_within_units(factor):
        return compared
    first, second = (pl.col(VALUE).filter(pl.col(SIDE) == which).mean() for which in (True, False))
    return compared.group_by(pl.exclude(SIDE, VALUE)).agg((first - second).alias(VALUE))


def each_level(rows: pl.DataFrame, factor: str, breakdown: Breakdown, columns: Sequence[str]) -> pl.DataFrame:
    """Each level and all others, of two levels one alone: the other says the same."""
    compared = compared_levels(rows, factor, breakdown, OTHERS, columns)
    return compared.filter(pl.col(GROUP) != compared[GROUP].max()) if compared[GROUP].n_unique() == 2 else compared


def gap_rows(
    rows: pl.DataFrame, factor: str, breakdown: Breakdown, rival_level: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Levels of a factor beside each other, or beside what `rival_level` says, labelled as gaps are."""
    between_levels = rival_level not in (OTHERS, LEVELS_MEAN, ALIKE)
    versus = EACH_OTHER if between_levels else OTHERS
    compared = compared_levels(rows, factor, breakdown, versus, columns).drop(DIMENSION)
    if between_levels:
        return compared.rename({GROUP: factor, OTHER_GROUP: CONTRAST})
    return compared.rename({GROUP: factor}).with_columns(pl.lit(rival_level).alias(CONTRAST))


def group_sides(rows: pl.DataFrame, columns: Sequence[str], versus: str) -> pl.DataFrame:
    """Rows once for each column (`dimension`) and level of it (`group`), beside those they are compared with.

    `side` is true of the group; false of all others, or, where it is compared with each other, of `other_group`.
    """
    compared = []
    for column in columns:
        level = pl.col(column).cast(pl.String)
        dimension = pl.lit(column).alias(DIMENSION)
        if not versus:
            compared.append(rows.with_columns(dimension, level.alias(GROUP)))
            continue
        levels = rows[column].cast(pl.String).drop_nulls().unique().sort().to_list()
        for group, other_group in product(levels, levels if versus == EACH_OTHER else [None]):
            if group != other_group:
                rest = level != group if other_group is None else level == other_group
                side = pl.when(level == group).then(True).when(rest).then(False).alias(SIDE)
                labels = {GROUP: group, **({} if other_group is None else {OTHER_GROUP: other_group})}
                texts = [pl.lit(text).alias(name) for name, text in labels.items()]
                compared.append(rows.with_columns(side, dimension, *texts).drop_nulls(SIDE))
    return pl.concat(compared)


def _is_base(breakdown: Breakdown) -> pl.Expr:
    column, level = pl.col(breakdown.sets.cue[0]), breakdown.sets.base_level
    return column.is_null() if level is None else column == level
