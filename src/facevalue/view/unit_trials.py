"""Trials of units that were sampled, at the labels of an estimate, and their pictures."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.view.answer_index import index_of
from facevalue.view.estimates import ViewedEstimate
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef, listed

_TRIALS = 4
"""Trials of a unit."""


def trials_of_units(state: RunState, column: str, units: Sequence[str], row: ViewedEstimate) -> dict[str, list[int]]:
    """Trials of each unit at the levels of an estimate's labels; any where a unit has none there."""
    index, design = index_of(state), state.run.study.design
    levels = {name: label.level for name, label in row.labels.items() if name in design.columns}
    factors = design.trials(index.trials_at(column, units), list(dict.fromkeys([column, *levels])))
    frame = factors.select("trial", unit=pl.col(column).cast(pl.String))
    if levels and frame.height:
        at_levels = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
        keep = factors.select(pl.all_horizontal(at_levels).fill_null(value=False)).to_series()
        frame = frame.filter(keep | ~frame["unit"].is_in(frame.filter(keep)["unit"].unique().implode()))
    first = frame.group_by("unit", maintain_order=True).head(_TRIALS)
    out: dict[str, list[int]] = {}
    for unit, trial in first.select("unit", "trial").iter_rows():
        out.setdefault(unit, []).append(trial)
    return out


def pictures_of_trials(state: RunState, trials: Sequence[int]) -> dict[int, tuple[PictureRef, ...]]:
    """Pictures of trials, those of one stimulus once."""
    if not trials:
        return {}
    design = state.run.study.design
    numbers = np.array(trials, dtype=np.int64)
    _, places = np.unique(design.stimulus_numbers(numbers), return_index=True)
    distinct = numbers[np.sort(places)]
    return dict(zip(distinct.tolist(), listed(state, design.trials(distinct)), strict=True))
