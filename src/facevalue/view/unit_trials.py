"""Trials of units that were sampled, at the labels of an estimate, and their pictures."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.runs.answer_pairs import prompt_columns
from facevalue.view.answer_index import index_of
from facevalue.view.estimates import ViewedEstimate
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef, listed

_TRIALS = 4
"""Trials of a unit, without those beside them."""
_UNITS = 10
"""Units of which all trials are looked through together."""


def trials_of_units(
    state: RunState, columns: Sequence[str], units: Sequence[str], row: ViewedEstimate
) -> dict[str, list[int]]:
    """Trials of each unit at the levels of an estimate's labels; any where a unit has none there.

    `columns`: the factor whose levels are units, or those of both sides of a pair, on either of which someone may be.

    Where a label says what is shown, each is followed by the trial of the same unit that was asked the same about
    something else: the picture without the change first, where there is one.
    """
    index, study = index_of(state), state.run.study
    levels = {name: label.level for name, label in row.labels.items() if name in study.design.columns}
    prompt_factors = [name for name in prompt_columns(study) if name not in columns]
    needed = list(dict.fromkeys([*columns, *levels, *prompt_factors]))
    cues = [name for name in levels if name not in (*prompt_factors, *columns)]
    out: dict[str, list[int]] = {}
    for start in range(0, len(units), _UNITS):
        sides = (
            study.design.trials(index.trials_at(column, units[start : start + _UNITS]), needed).with_columns(
                unit=pl.col(column).cast(pl.String)
            )
            for column in columns
        )
        out |= _of_units(pl.concat(sides), levels, prompt_factors, cues)
    return out


def _of_units(
    factors: pl.DataFrame, levels: Mapping[str, str], prompt_factors: Sequence[str], cues: Sequence[str]
) -> dict[str, list[int]]:
    """The same, of all trials of some units with their factors; `cues`: labels that say what is shown."""
    at_levels = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
    frame = factors.with_columns(is_at=pl.all_horizontal(True, *at_levels).fill_null(value=False))
    if not frame["is_at"].all():
        frame = frame.with_columns(is_at=pl.col("is_at") | ~pl.col("is_at").any().over("unit"))
    first_trials = frame.filter("is_at").group_by("unit", maintain_order=True).head(_TRIALS)
    neighbours = _beside(first_trials, frame.filter(~pl.col("is_at")), ["unit", *prompt_factors], cues) if cues else {}
    out: dict[str, list[int]] = {}
    for unit, trial in first_trials.select("unit", "trial").iter_rows():
        numbers = out.setdefault(unit, [])
        numbers += [number for number in (trial, neighbours.get(trial)) if number is not None and number not in numbers]
    return out


def _beside(first: pl.DataFrame, others: pl.DataFrame, same: Sequence[str], cues: Sequence[str]) -> dict[int, int]:
    """To each trial another one with the same levels but for cues, of which as many as can be are missing."""
    missing = pl.sum_horizontal(pl.col(name).is_null() for name in cues)
    candidates = others.with_columns(missing.alias("missing")).sort("missing", descending=True, maintain_order=True)
    nearest = candidates.unique(same, keep="first", maintain_order=True).select(*same, beside="trial")
    pairs = first.join(nearest, on=list(same), how="inner", nulls_equal=True, maintain_order="left")
    return dict(pairs.select("trial", "beside").iter_rows())


def pictures_of_trials(state: RunState, trials: Sequence[int]) -> dict[int, tuple[PictureRef, ...]]:
    """Pictures of trials, those of one stimulus once."""
    if not trials:
        return {}
    design = state.run.study.design
    numbers = np.array(trials, dtype=np.int64)
    _, places = np.unique(design.stimulus_numbers(numbers), return_index=True)
    distinct = numbers[np.sort(places)]
    return dict(zip(distinct.tolist(), listed(state, design.trials(distinct)), strict=True))
