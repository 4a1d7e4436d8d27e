"""Calibration of a study that is declared by its estimands: what is planted, and the simple tests, follow from them."""

import polars as pl

from facevalue.errors import DataError, NoPicturesError
from facevalue.measures.definitions import key_of, sampled_units
from facevalue.protocol.calibration import Calibration, Rival, Rows
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.tasks import Task, Tasks
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Lean
from facevalue.statistics.ranges import Range
from facevalue.statistics.statistic import Score


def calibration_of(protocol: Protocol) -> Calibration:
    """Return how a study is calibrated: as it declares, or as follows from its estimands.

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
        raise DataError(f"{protocol.name} says neither what its calibration plants nor what it estimates.")
    tasks = analysis.tasks
    sets = tasks[0].breakdown.sets
    rows = [
        (estimand, task, score)
        for task in tasks for estimand in task.estimands for score in task.scores_of(estimand)
    ]  # fmt: skip
    measured = [(estimand, estimand.name_of(task.breakdown), score.label) for estimand, task, score in rows]
    factors = [
        name
        for task in tasks
        for estimand in task.estimands
        for name in estimand.factors
        if not task.breakdown.is_of_prompt(name)
    ]
    return Calibration(
        planted=tuple(dict.fromkeys([*sets.cue[-1:], *factors])),
        counted=sampled_units(sets.unit),
        units=tuple(dict.fromkeys(["image", "identity", "set", sets.key])),
        sampled=sets.key,
        own_pictures=tuple(
            key_of(name, score) for estimand, name, score in measured if isinstance(estimand.statistic, Range)
        ),
        described=tuple(
            key_of(label, score)
            for estimand, name, score in measured
            for label in estimand.statistic.untested_measures(name, tested=estimand.tested)
        ),
        by_size=tuple(
            key_of(x, score) for estimand, name, score in measured for x in estimand.statistic.names_by_size(name)
        ),
        leans=tuple(key_of(name, score) for estimand, name, score in measured if isinstance(estimand.statistic, Lean)),
        in_one_order=all(len(task.axes.orderings) == 1 and not task.ask.option_columns for task in tasks),
        rivals=tuple(
            Rival(
                key_of(estimand.name_of(task.breakdown), score.label), _rows(estimand, task, score),
                only=(_of_family(estimand.family_name),),
            )
            for estimand, task, score in rows if estimand.tested
        ),
    )  # fmt: skip


def _of_family(name: str) -> pl.Expr:
    """Flag estimates of an estimand's family, or of one of its cells."""
    return (pl.col("family") == name) | pl.col("family").str.starts_with(f"{name} (")


def _rows(estimand: Estimand, task: Task, score: Score) -> Rows:
    return lambda answers: estimand.statistic.rival(estimand, task.rows(answers), task.breakdown, score)
