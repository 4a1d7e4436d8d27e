"""Calibration of a study that is declared by its takes: what is planted, and the simple tests, follow from them."""

import numpy as np
import polars as pl

from facevalue.calibration.rivals import of_groups
from facevalue.errors import DataError
from facevalue.protocol.calibration import PART, SIDE, UNIT, VALUE, Calibration, Rival, Rows
from facevalue.protocol.definitions import measure_name
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
    SHIFT,
    SPREAD,
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
        It does neither.
    """
    if protocol.extras.calibrate is not None:
        return protocol.extras.calibrate()
    analysis = None if protocol.build is not None else protocol.study().analyse
    if not isinstance(analysis, Tasks):
        raise DataError(f"{protocol.name} says neither what its calibration plants nor what it takes.")
    tasks = analysis.tasks
    sets = tasks[0].breakdown.sets
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
        leans=tuple(
            measure_name(take, task.breakdown, score)
            for task in tasks for take in task.takes if take.measure == LEAN for score in task.scores_of(take)
        ),
        in_one_order=all(len(task.axes.orderings) == 1 for task in tasks),
        rivals=tuple(
            Rival(
                measure_name(take, task.breakdown, score), _rows(take, task, score),
                only=(pl.col("family").str.starts_with(take.named()),),
            )
            for task in tasks for take in task.takes if take.measure in _CONTRASTS for score in task.scores_of(take)
        ),
    )  # fmt: skip


def _rows(take: Take, task: Task, score: Score) -> Rows:
    contrast, breakdown = _CONTRASTS[take.measure], task.breakdown
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


def _compared(means: pl.DataFrame, take: Take, breakdown: Breakdown, versus: str) -> pl.DataFrame:
    """Levels of a take's factor, by what the take looks at: shifts, bases where there are any, or everything."""
    if take.on == SHIFT:
        means = _moved(means, breakdown)
    elif breakdown.sets.cue and not set(breakdown.sets.cue) & {*take.by, take.of}:
        means = means.filter(_is_base(breakdown))
    return of_groups(means.select(*take.by, take.of, UNIT, VALUE), [take.of], versus).drop(take.of)


def _gaps(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    contrast = breakdown.contrasts(take)[0][1]
    levels = contrast not in (OTHERS, LEVELS_MEAN, ALIKE)
    compared = _compared(means, take, breakdown, EACH_OTHER if levels else OTHERS).drop(DIMENSION)
    labels = [pl.col(GROUP).alias(take.of), (pl.col(OTHER_GROUP) if levels else pl.lit(contrast)).alias(CONTRAST)]
    contrasts = compared.select(*take.by, SIDE, UNIT, VALUE, *labels)
    if not breakdown.paired(take.of):
        return contrasts
    keys = [*take.by, take.of, CONTRAST, UNIT]
    first, second = (pl.col(VALUE).filter(pl.col(SIDE) == which).mean() for which in (True, False))
    return contrasts.group_by(keys).agg((first - second).alias(VALUE))


def _spreads(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    return _compared(means, take, breakdown, OTHERS).rename({GROUP: PART})


_CONTRASTS = {SHIFT: _shifts, GAP: _gaps, SPREAD: _spreads, PREFERENCE: _preferences, LEAN: _preferences}
