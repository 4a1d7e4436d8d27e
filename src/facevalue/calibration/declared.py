"""Calibration of a study that is declared by its takes: what is planted, and the simple tests, follow from them."""

from collections.abc import Callable

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.calibration import PART, SIDE, UNIT, VALUE, Calibration, Rival, against, one_with_the_others
from facevalue.protocol.definitions import measure_name
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.replies import Score
from facevalue.protocol.stimuli import NOUNS
from facevalue.protocol.takes import (
    CONTRAST,
    DIMENSION,
    GAP,
    LEVELS_MEAN,
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
        in_one_order=all(len(task.axes.orderings) == 1 for task in tasks),
        rivals=tuple(
            Rival(
                measure_name(take, task.breakdown, score), _rows(take, task, score),
                (pl.col("family").str.starts_with(take.named()),),
            )
            for task in tasks for take in task.takes if take.measure in _CONTRASTS for score in task.scores_of(take)
        ),
    )  # fmt: skip


def _rows(take: Take, task: Task, score: Score) -> Callable[[pl.DataFrame], pl.DataFrame]:
    contrast, breakdown = _CONTRASTS[take.measure], task.breakdown
    return lambda answers: contrast(_means(task.rows(answers), breakdown, score), take, breakdown, score)


def _means(answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
    """Mean score of each picture and question, with all that may be asked of it as texts."""
    names = dict.fromkeys([breakdown.sets.key, "image", *breakdown.sets.cue, *breakdown.factors])
    texts = [pl.col(name).cast(pl.String) for name in names if name in answers.columns]
    cells = answers.with_columns(texts).group_by([name for name in names if name in answers.columns]).agg(
        pl.col(score.name).mean().alias(VALUE)
    )  # fmt: skip
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


def _preferences(means: pl.DataFrame, take: Take, _: Breakdown, score: Score) -> pl.DataFrame:
    return means.select(*take.by, UNIT, pl.col(VALUE) - (score.low + score.high) / 2)


def _looked_at(means: pl.DataFrame, take: Take, breakdown: Breakdown) -> pl.DataFrame:
    if take.on == SHIFT:
        return _moved(means, breakdown)
    bases = breakdown.sets.cue and not set(breakdown.sets.cue) & {*take.by, take.of}
    return means.filter(_is_base(breakdown)) if bases else means


def _gaps(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    rows = _looked_at(means, take, breakdown)
    out = []
    for level, contrast in breakdown.contrasts(take):
        side = against(pl.col(take.of), level, None if contrast in (OTHERS, LEVELS_MEAN) else contrast).alias(SIDE)
        labels = {take.of: pl.lit(level), CONTRAST: pl.lit(contrast)}
        out.append(rows.with_columns(side).drop_nulls(SIDE).select(*take.by, SIDE, UNIT, VALUE, **labels))
    contrasts = pl.concat(out)
    if not breakdown.paired(take.of):
        return contrasts
    keys = [*take.by, take.of, CONTRAST, UNIT]
    first, second = (pl.col(VALUE).filter(pl.col(SIDE) == which).mean() for which in (True, False))
    return contrasts.group_by(keys).agg((first - second).alias(VALUE))


def _spreads(means: pl.DataFrame, take: Take, breakdown: Breakdown, _: Score) -> pl.DataFrame:
    contrasts = one_with_the_others(_looked_at(means, take, breakdown), take.of, {DIMENSION: take.of}, part=True)
    return contrasts.select(*take.by, DIMENSION, PART, SIDE, UNIT, VALUE)


_CONTRASTS = {SHIFT: _shifts, GAP: _gaps, SPREAD: _spreads, PREFERENCE: _preferences}
