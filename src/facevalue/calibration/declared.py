"""Calibration of a study that is declared by its takes: what is planted, and the simple tests, follow from them."""

import numpy as np
import polars as pl

from facevalue.calibration.rivals import of_groups
from facevalue.errors import DataError, NoPicturesError
from facevalue.protocol.asks import ORDERING
from facevalue.protocol.calibration import PART, SIDE, UNIT, VALUE, Calibration, Rival, Rows
from facevalue.protocol.definitions import companions, measure_name
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.replies import Score
from facevalue.protocol.side_by_side import pairs_compared
from facevalue.protocol.stimuli import NOUNS
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    DIMENSION,
    EACH_OTHER,
    GAP,
    GROUP,
    LEAN,
    LEVELS_MEAN,
    OTHER_GROUP,
    OTHERS,
    PREFERENCE,
    RANGE,
    SHIFT,
    SPREAD,
    TALLY,
    Breakdown,
    Take,
)
from facevalue.protocol.tasks import Task, Tasks

_BASE = "value of the base"


def calibration_of(protocol: Protocol) -> Calibration:
    """Return how a study is calibrated: as it declares, or as follows from its takes.

    Raises
    ------
    DataError
        It does neither, or names no pictures.
    """
    if protocol.extras.calibrate is not None:
        return protocol.extras.calibrate()
    try:
        analysis = None if protocol.build is not None else protocol.study().analyse
    except NoPicturesError as error:
        raise DataError(
            f"{protocol.name} is calibrated on pictures of yours: copy it with facevalue new mine.toml --like "
            f"{protocol.name}, name your list there (manifest, under [pictures]), and calibrate mine.toml."
        ) from error
    if not isinstance(analysis, Tasks):
        raise DataError(f"{protocol.name} says neither what its calibration plants nor what it takes.")
    tasks = analysis.tasks
    sets = tasks[0].breakdown.sets
    taken = [(take, task, score) for task in tasks for take in task.takes for score in task.scores_of(take)]
    measured = [(take, measure_name(take, task.breakdown, score)) for take, task, score in taken]
    factors = [
        name
        for task in tasks
        for take in task.takes
        for name in (*take.by, take.of)
        if name and name not in task.breakdown.of_prompt
    ]
    return Calibration(
        planted=tuple(dict.fromkeys([*sets.cue[-1:], *factors])),
        counted=NOUNS[sets.unit],
        units=tuple(dict.fromkeys(["image", "identity", "set", sets.key])),
        sampled=sets.key,
        own_pictures=tuple(name for take, name in measured if take.measure == RANGE),
        described=tuple(name for take, name in measured for name in _described(take, name)),
        by_size=tuple(name for take, measure in measured for name in _of_size(take, measure)),
        leans=tuple(name for take, name in measured if take.measure == LEAN),
        in_one_order=all(len(task.axes.orderings) == 1 and not task.ask.option_columns for task in tasks),
        rivals=tuple(
            Rival(name, _rows(take, task, score), only=(_of_family(take.named()),))
            for (take, name), (_, task, score) in zip(measured, taken, strict=True) if take.tested
        ),
    )  # fmt: skip


def _described(take: Take, name: str) -> tuple[str, ...]:
    """Names of what a take measures and does not test; the size of a shift is left out, which chance makes larger."""
    return (*(() if take.tested else (name,)), *(() if take.size else companions(take, name)))


def _of_size(take: Take, name: str) -> tuple[str, ...]:
    """Names of what grows with the number of units, and of quantiles of replies, which no probabilities have."""
    return (name,) if take.measure == TALLY else companions(take, name) if take.measure == RANGE else ()


def _of_family(name: str) -> pl.Expr:
    """Flag estimates of a take's family, or of one of its cells."""
    return (pl.col("family") == name) | pl.col("family").str.starts_with(f"{name} (")


def _rows(take: Take, task: Task, score: Score) -> Rows:
    breakdown = task.breakdown
    if take.measure == RANGE:
        return lambda answers: _ranges(task.rows(answers), take, breakdown, score)
    contrast = _CONTRASTS[take.measure]
    return lambda answers: contrast(_means(task.rows(answers), breakdown, score), take, breakdown, score)


def _means(answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    """Mean score of each picture and question."""
    names = dict.fromkeys([breakdown.sets.key, "image", *breakdown.sets.cue, *breakdown.factors])
    cells = answers.group_by([name for name in names if name in answers.columns]).agg(
        pl.col(score.name).mean().alias(VALUE)
    )
    return cells.with_columns(pl.col(breakdown.sets.key).alias(UNIT)).drop_nulls(VALUE)


def _is_base(breakdown: Breakdown) -> pl.Expr:
    column, level = pl.col(breakdown.sets.cue[0]), breakdown.sets.base_level
    return column.is_null() if level is None else column == level


def _moved(means: pl.DataFrame, breakdown: Breakdown) -> pl.DataFrame:
    """Each picture less its unit's base, question by question."""
    keys = [UNIT, *breakdown.asked]
    base = means.filter(_is_base(breakdown)).group_by(keys).agg(pl.col(VALUE).mean().alias(_BASE))
    return means.filter(~_is_base(breakdown)).join(base, on=keys).with_columns(pl.col(VALUE) - pl.col(_BASE))


def _shifts(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    return _moved(means, breakdown).select(*take.by, UNIT, VALUE)


def _preferences(means: pl.DataFrame, take: Take, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    images = breakdown.sets.manifest["image"]
    tables = []
    for labels, at, is_turned in pairs_compared(breakdown, take):
        signs = pl.DataFrame({"image": images[at], "(sign)": np.where(is_turned[:, 0], -1.0, 1.0)})
        lean = (pl.col(VALUE) - (score.low + score.high) / 2) * pl.col("(sign)")
        columns = [pl.lit(level).alias(name) for name, level in labels.items()]
        tables.append(means.join(signs, on="image").select(*take.by, UNIT, lean.alias(VALUE), *columns))
    return pl.concat(tables)


def _leans(means: pl.DataFrame, take: Take, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    lean = pl.col(VALUE) - (score.low + score.high) / 2
    return _looked_at(means, take, breakdown).select(*take.by, UNIT, lean.alias(VALUE))


def _looked_at(means: pl.DataFrame, take: Take, breakdown: Breakdown) -> pl.DataFrame:
    """What a take looks at: shifts, bases where there are any, or everything."""
    if take.on == SHIFT:
        return _moved(means, breakdown)
    of_bases = breakdown.sets.cue and not set(breakdown.sets.cue) & {*take.by, take.of}
    return means.filter(_is_base(breakdown)) if of_bases else means


def _compared(means: pl.DataFrame, take: Take, breakdown: Breakdown, versus: str, *also: str) -> pl.DataFrame:
    """Levels of a take's factor, within units where these have several: one number each, and else two sides."""
    looked_at = _looked_at(means, take, breakdown).select(*take.by, *also, take.of, UNIT, VALUE)
    compared = of_groups(looked_at, [take.of], versus).drop(take.of)
    if not breakdown.paired(take.of):
        return compared
    first, second = (pl.col(VALUE).filter(pl.col(SIDE) == which).mean() for which in (True, False))
    return compared.group_by(pl.exclude(SIDE, VALUE)).agg((first - second).alias(VALUE))


def _gaps(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    contrast = breakdown.contrasts(take)[0][1]
    levels = contrast not in (OTHERS, LEVELS_MEAN, ALIKE)
    compared = _compared(means, take, breakdown, EACH_OTHER if levels else OTHERS).drop(DIMENSION)
    labelled = compared.rename({GROUP: take.of} | ({OTHER_GROUP: CONTRAST} if levels else {}))
    return labelled if levels else labelled.with_columns(pl.lit(contrast).alias(CONTRAST))


def _each_level(means: pl.DataFrame, take: Take, breakdown: Breakdown, *also: str) -> pl.DataFrame:
    """Each level and all others, of two levels one alone: the other says the same."""
    compared = _compared(means, take, breakdown, OTHERS, *also)
    return compared.filter(pl.col(GROUP) != compared[GROUP].max()) if compared[GROUP].n_unique() == 2 else compared


def _spreads(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    return _each_level(means, take, breakdown).rename({GROUP: PART})


def _tallies(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    """What differs in each question: the smallest p of all says whether any does."""
    question = [name for name in breakdown.asked if name not in (*take.any, *take.by)]
    if breakdown.is_of_cue(take):
        rows = _moved(means, breakdown).with_columns(pl.lit(take.of).alias(DIMENSION), pl.lit("").alias(GROUP))
    else:
        rows = _each_level(means, take, breakdown, *question)
    part = pl.concat_str(GROUP, *question, separator="|").alias(PART)
    sides = [SIDE] if SIDE in rows.columns else []
    return rows.select(*take.by, DIMENSION, part, UNIT, *sides, VALUE)


def _ranges(answers: pl.DataFrame, take: Take, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    """By how much the variance between a unit's levels exceeds what the replies to one of them give: 0 by chance."""
    unit = pl.col(breakdown.sets.key).alias(UNIT)
    question = [*dict.fromkeys([*take.by, *breakdown.asked]), ORDERING]
    reply = pl.col(score.name)
    levels = answers.group_by(unit, *question, take.of).agg(mean=reply.mean(), within=reply.var(), n=reply.count())
    excess = pl.col("mean").var() - (pl.col("within") / pl.col("n")).mean()
    rows = levels.group_by(UNIT, *question).agg(excess.alias(VALUE))
    return rows.select(*take.by, UNIT, VALUE, pl.lit(take.of).alias(DIMENSION))


_CONTRASTS = {
    SHIFT: _shifts, GAP: _gaps, SPREAD: _spreads, TALLY: _tallies, PREFERENCE: _preferences, LEAN: _leans,
}  # fmt: skip
