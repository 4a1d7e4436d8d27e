"""Precision of plans for choices that are compared between groups by their divergence."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.statistics.precision import Precision, UnitSpread

EVENLY = (
    "a choice that every second answer names, where the sample tells least; a pilot of your own model says how even "
    "its answers are: --pilot RUN"
)


SURE = 0.8
"""Share of a family's level at which its largest statistic is found (`permutation.LONE`, which is slow to import)."""


def choice_precision(
    design: Design, labels: pl.Series, groups: int, options: Sequence[int], ordered: Sequence[bool], task: str,
    weights: Sequence[str], families: int = 1,
) -> Precision | None:  # fmt: skip
    """Describe a study of choices to the planner; None without two groups and a question.

    Parameters
    ----------
    labels:
        Group of each picture, of those that are planned for.
    groups:
        How many groups the family compares, others (by gender besides race) included.
    options, ordered:
        Of each question, how many there are and whether they have an order.
    families:
        How many lead the page.

    Equation
    --------
    A choice that a group of n makes in a share p + d, and all in p, has z = d / sqrt(p (1 - p) (1 - 1/G) / n) for G
    groups of one size. It is found where it is the largest of all groups' and contrasts'
    (`divergence.divergences`), so at the family's level over their number, or a little sooner, as they go together.
    Two runs are compared by each group's share of each choice (`compared`), over the pictures that both show.
    """
    labels = labels.drop_nulls()
    size = labels.n_unique()
    if size < 2 or not options:
        return None
    sets = (1 + (k if k > 2 else 1) + max(k - 3, 0) * in_order for k, in_order in zip(options, ordered, strict=True))
    tests = groups * sum(sets)
    between = float(np.sqrt(1 - 1 / size))

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        trials = design.trials(numbers, ["image", "task"]).filter(pl.col("task").cast(pl.String) == task)
        return trials["image"].n_unique(), 1.0

    def spread_of_task(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_task = (chunk.filter(pl.col("task").cast(pl.String) == task) for chunk in chunks)
        return UnitSpread(pilot_spread(of_task, weights), 0.0, 1.0, source)

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_share = spread_of_task(chunks, source)
        return replace(of_share, mean=between * of_share.mean)

    smallest = float(labels.value_counts()["count"].min()) / len(labels)  # type: ignore[arg-type]
    gap = Precision(
        what=f"a gap between a group's share of a choice and the mean of all groups ({labels.name.replace('_', ' ')})",
        tests=tests,
        clusters=len(labels),
        items=1.0,
        cluster="pictures",
        item="answer to each question",
        units=units,
        spread=spread,
        default=UnitSpread(between * 0.5, 0.0, 1.0, EVENLY),
        shares=(smallest,) * tests,
        freedom=1,
        sure=SURE / families,
        each=float(len(options)),
        largest=1 - 1 / size,  # it is one of the groups in the mean
    )
    cells = groups * sum(options)
    share = replace(
        gap, what=f"a group's share of a choice ({labels.name.replace('_', ' ')})", tests=cells, spread=spread_of_task,
        default=UnitSpread(0.5, 0.0, 1.0, EVENLY), shares=(smallest,) * cells, freedom=None, sure=1.0, largest=1.0,
    )  # fmt: skip
    return replace(gap, compared=share)


def pilot_spread(chunks: Iterator[pl.DataFrame], weights: Sequence[str]) -> float:
    """SD of one answer, of the choice whose share is nearest to one half; NaN where there is none."""
    question = pl.col("question").cast(pl.String)
    sums = [chunk.group_by(question).agg(*(pl.col(c).sum() for c in weights)) for chunk in chunks]
    totals = pl.concat(sums).group_by("question").sum() if sums else pl.DataFrame()
    if totals.is_empty():
        return float("nan")
    counts = totals.select(weights).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = counts / counts.sum(axis=1, keepdims=True)
    return float(np.nanmax(np.sqrt(share * (1 - share)))) if np.isfinite(share).any() else float("nan")
