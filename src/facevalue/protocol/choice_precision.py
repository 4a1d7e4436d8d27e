"""Precision of plans for choices that are compared between groups by their divergence."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.study import Precision, Spread

EVENLY = (
    "a choice that every second answer names, where the sample tells least; a pilot of your own model says how even "
    "its answers are: --pilot RUN"
)


def choice_precision(
    design: Design, shown: pl.Series, options: Sequence[int], task: str, weights: Sequence[str]
) -> Precision | None:
    """Describe a study of choices to the planner; None without two groups and a question.

    For G groups of n people each, JS(P_g, mean_h P_h) is, without an effect, (1 - 1/G) / (8 n) times chi-squared with
    one degree of freedom less than there are options; and d² / (8 p (1 - p)) for a share p + d of one choice where the
    mean is p. So d is detected from d² = p (1 - p) (1 - 1/G) lambda / n, with lambda the noncentrality that the test
    detects.
    """
    shown = shown.drop_nulls()
    size = shown.n_unique()
    if size < 2 or not options:
        return None
    tests = size * len(options)
    between = float(np.sqrt(1 - 1 / size))

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        asked = design.trials(numbers, ["image", "task"]).filter(pl.col("task").cast(pl.String) == task)
        return asked["image"].n_unique(), 1.0

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        own = (chunk.filter(pl.col("task").cast(pl.String) == task) for chunk in chunks)
        return Spread(between * pilot_spread(own, weights), 0.0, 1.0, source)

    return Precision(
        what=f"a gap between a group's share of a choice and the mean of all groups ({shown.name.replace('_', ' ')})",
        tests=tests,
        clusters=len(shown),
        items=1.0,
        cluster="pictures",
        item="answer to each question",
        units=units,
        spread=spread,
        default=Spread(between * 0.5, 0.0, 1.0, EVENLY),
        shares=(float(shown.value_counts()["count"].min()) / len(shown),) * tests,  # type: ignore[arg-type]
        freedom=max(options) - 1,
        sure=0.5,
        each=float(len(options)),
    )


def pilot_spread(chunks: Iterator[pl.DataFrame], weights: Sequence[str]) -> float:
    """SD of one answer, of the choice whose share is nearest to one half; NaN where there is none."""
    named = pl.col("question").cast(pl.String)
    sums = [chunk.group_by(named).agg(*(pl.col(c).sum() for c in weights)) for chunk in chunks]
    whole = pl.concat(sums).group_by("question").sum() if sums else pl.DataFrame()
    if whole.is_empty():
        return float("nan")
    counts = whole.select(weights).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = counts / counts.sum(axis=1, keepdims=True)
    return float(np.nanmax(np.sqrt(share * (1 - share)))) if np.isfinite(share).any() else float("nan")
