"""Two runs of one study on different pictures, compared cell by cell: real against synthetic (VIGNETTE, A.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from facevalue.errors import RunError
from facevalue.measures.estimates import label_columns
from facevalue.measures.run_comparison import Matched, match, summarise
from facevalue.run.joined import estimate
from facevalue.run.stored import StoredRun

MEASURE = "selection_frequency"
KEYS = ("dimension", "paradigm", "contrast", "gender", "identity", "activity", "question")
"""What names a cell; null is "over all of them"."""
DESCRIPTOR = ("dimension", "gender", "identity")
_NUMBERS = ("value", "se", "n", "clusters")
_FINER = ("activity", "gender", "question")
_KIND = ("paradigm", "contrast")


@dataclass(frozen=True)
class Agreement:
    """How far two runs lie apart.

    Attributes
    ----------
    matched:
        Cells that both measured, and those that one did.
    overall:
        The numbers of Table 12, by paradigm.
    by_activity:
        Those of Table 13, by paradigm and activity; none where the cells are not by activity.
    notes:
        What else differs between the runs, for people.
    identities:
        The wording of identities for people, where it isn't the level itself.
    measure:
        What is compared.
    """

    matched: Matched
    overall: pl.DataFrame
    by_activity: pl.DataFrame
    notes: tuple[str, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)
    measure: str = MEASURE

    def json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "measure": self.measure,
            "notes": list(self.notes),
            "cells_matched": self.matched.cells.height,
            "only_first": self.matched.only_first.to_dicts(),
            "only_second": self.matched.only_second.to_dicts(),
            "overall": self.overall.to_dicts(),
            "by_activity": self.by_activity.to_dicts(),
            "cells": self.matched.cells.to_dicts(),
        }


def compare_runs(first: StoredRun, second: StoredRun, seed: int = 0) -> Agreement:
    """Compare the selection frequencies, or the mean answers, of two runs, second minus first.

    Parameters
    ----------
    first, second:
        Runs of one study; their pictures may differ, and so may their models.
    seed:
        Of the noise floors.

    Raises
    ------
    RunError
        The runs are one and the same or of different studies, or their study has nothing to compare.
    DataError
        No cell is in both.
    """
    if first.folder.resolve() == second.folder.resolve():
        raise RunError(f"{first.folder} would be compared with itself: name two runs.")
    if first.study.name != second.study.name:
        raise RunError(
            f"{first.folder} is a run of {first.study.name}, {second.folder} one of {second.study.name}: compare runs "
            "of one study."
        )
    scale = first.study.compared
    if scale is None and MEASURE not in {measure.name for measure in first.study.measures}:
        raise RunError(
            f"{first.study.name} has no selection frequencies and no mean of answers on a scale; `facevalue compare` "
            "compares those."
        )
    tables = []
    for run in (first, second):
        found, tallies = estimate([run.plain()])
        if not any(tally.valid for tally in tallies.values()):
            raise RunError(f"{run.folder} has no valid answer to compare.")
        tables.append(found)
    if scale is not None:
        return compare_means(tables[0], tables[1], scale, seed, differences(first, second))
    return compare_estimates(
        tables[0], tables[1], seed, differences(first, second), first.study.titles.get("identity", {})
    )


def differences(first: StoredRun, second: StoredRun) -> tuple[str, ...]:
    """What else differs between two runs, one sentence each; such differences are part of the deltas."""
    notes = []
    if first.model != second.model:
        notes.append(f"The models differ: {first.model} and {second.model}. The deltas are those of models, too.")
    settings: list[Mapping[str, Any]] = [
        {**run.study.options, "sample": run.facts.sample, "sample seed": run.facts.seed, "version": run.study.version}
        for run in (first, second)
    ]
    names = dict.fromkeys([*settings[0], *settings[1]])
    differing = [name for name in names if settings[0].get(name) != settings[1].get(name)]
    if differing:
        notes.append(f"Settings that differ: {', '.join(differing)}.")
    return tuple(notes)


def compare_estimates(
    first: pl.DataFrame,
    second: pl.DataFrame,
    seed: int = 0,
    notes: Sequence[str] = (),
    identities: Mapping[str, str] | None = None,
) -> Agreement:
    """Compare the selection frequencies in two tables of estimates.

    Parameters
    ----------
    first, second:
        As a study's analysis gives them, of one model each.
    seed:
        Of the noise floors.
    notes, identities:
        To go with the comparison.

    Raises
    ------
    DataError
        No cell is in both.
    """
    one, two = _finest(first, second)
    matched = match(one, two, KEYS, within=["paradigm"])
    overall = summarise(matched, DESCRIPTOR, ["paradigm"], seed)
    done = matched.cells.filter(pl.col("activity").is_not_null())
    by_activity = overall.clear()
    if done.height:
        acting = Matched(matched.keys, done, matched.only_first, matched.only_second)
        by_activity = summarise(acting, DESCRIPTOR, ["paradigm", "activity"], seed)
    return Agreement(matched, overall, by_activity, tuple(notes), identities or {})


def compare_means(
    first: pl.DataFrame, second: pl.DataFrame, scale: tuple[str, float, float], seed: int = 0, notes: Sequence[str] = ()
) -> Agreement:
    """Compare the means in two tables of estimates, in percent of their scale: those that are broken down furthest.

    Parameters
    ----------
    first, second, seed, notes:
        As for `compare_estimates`.
    scale:
        The measure, and its smallest and largest value (`Study.compared`).

    Raises
    ------
    DataError
        No cell is in both.
    """
    measure, low, high = scale
    percent = 100 / (high - low)
    tables = [table.filter(pl.col("measure") == measure) for table in (first, second)]
    keys = [name for name in label_columns(tables[0]) if any(table[name].is_not_null().any() for table in tables)]
    cells = []
    for table in tables:
        known = table.with_columns(depth=pl.sum_horizontal(pl.col(name).is_not_null() for name in keys))
        own = known.filter(pl.col("depth") == known["depth"].max()) if keys else known
        scaled = own.with_columns((pl.col("value") - low) * percent, pl.col("se") * percent)
        cells.append(scaled.select(*keys, *_NUMBERS))
    matched = match(cells[0], cells[1], keys)
    overall = summarise(matched, keys, seed=seed)
    return Agreement(matched, overall, overall.clear(), tuple(notes), measure=measure)


def _finest(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of the cells of each paradigm and contrast the finest kind that both tables have, each answer in one cell only.

    By activity if they can be, by gender too if they can be, over the questions if they can be. What only one of the
    tables has stays in, to be named as such.
    """
    one, two = (_cells(table) for table in (first, second))
    flags = [f"by_{name}" for name in _FINER]
    kinds = [table.select(*_KIND, *flags).unique() for table in (one, two)]
    shared = _first(kinds[0].join(kinds[1], on=[*_KIND, *flags], nulls_equal=True))
    out = []
    for table, own in zip((one, two), kinds, strict=True):
        alone = _first(own.join(shared, on=list(_KIND), how="anti", nulls_equal=True))
        out.append(table.join(pl.concat([shared, alone]), on=[*_KIND, *flags], how="semi", nulls_equal=True))
    return out[0], out[1]


def _first(kinds: pl.DataFrame) -> pl.DataFrame:
    ordered = kinds.sort(pl.col("by_activity"), pl.col("by_gender"), ~pl.col("by_question"), descending=True)
    return ordered.unique(list(_KIND), keep="first", maintain_order=True)


def _cells(estimates: pl.DataFrame) -> pl.DataFrame:
    own = estimates.filter((pl.col("measure") == MEASURE) & pl.col("identity").is_not_null())
    return own.select(*KEYS, *_NUMBERS).with_columns(pl.col(name).is_not_null().alias(f"by_{name}") for name in _FINER)
