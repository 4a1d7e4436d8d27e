"""Columns that a declared study reads of a list of the user's own pictures."""

from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from facevalue.protocol.asks import Ask
from facevalue.protocol.side_by_side import SIDE
from facevalue.protocol.stimuli import Folder, Listed, Stimuli
from facevalue.protocol.tasks import TASK
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.columns import Column, lacking
from facevalue.stimuli.faults import ManifestError
from facevalue.types import OptionValue


def columns_of(stimuli: Stimuli, asks: Collection[Ask], estimands: Collection[Estimand]) -> tuple[Column, ...]:
    """Columns to read of a list of the user's own pictures: slots of prompts that it fills, factors of estimands."""
    if not isinstance(stimuli, Listed) or isinstance(stimuli, Folder):
        return ()
    columns = {column.name: column for column in stimuli.columns}
    for name in (name for ask in asks for name in ask.of_pictures):
        columns.setdefault(name, Column(name, "fills the slot of the prompt", needed=True, filled=True))
    of_questions = {column.name for ask in asks for factor in ask.factors() for column in factor.columns()}
    for estimand in sorted(estimands, key=lambda estimand: estimand.optional):
        compared = estimand.statistic.factors
        for name in (*compared, *estimand.by):
            if name not in of_questions and name not in (TASK, *columns):
                role = "group" if name in compared and not stimuli.cue else ""
                meaning = "answers are compared by it" if name in compared else "estimates are broken down by it"
                columns[name] = Column(name, meaning, needed=not estimand.optional, role=role)
    return tuple(columns.values())


def check_columns(
    stimuli: Stimuli, columns: Collection[Column], table: pl.DataFrame, options: Mapping[str, OptionValue]
) -> None:
    """Refuse a list of the user's own pictures that lacks columns which estimands or slots of a study need.

    Those that the pictures themselves need were checked when the list was read; its table may no longer have them.
    """
    read_before = {column.name for column in stimuli.columns} if isinstance(stimuli, Listed) else set()
    names = [name for name in table.columns if name not in ("image", "identity", OTHER_PATH, SIDE)]
    if faults := lacking((column for column in columns if column.name not in {*read_before, *table.columns}), names):
        raise ManifestError(Path(str(options["manifest"])).name, faults)
