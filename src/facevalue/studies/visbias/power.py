"""How far choices about a group must lie from those about all for a plan to show it."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.study import Precision, Spread
from facevalue.studies.visbias.parsing import CHOICES
from facevalue.studies.visbias.tables import choice_questions

LEADING = ("race", "skin_tone", "gender")
"""Whose groups are planned for: the first of these that is compared, as its choices lead the page."""
EVENLY = (
    "a choice that every second answer names, where the sample tells least; a pilot of your own model says how even "
    "its answers are: --pilot RUN"
)


def precision(
    design: Design, people: pl.DataFrame, groups: Sequence[str], questions: Sequence[str]
) -> Precision | None:
    """Describe the study to the planner; None where choices of people are not compared.

    Parameters
    ----------
    design:
        Of the study.
    people:
        Images of people.
    groups:
        Factors that are compared.
    questions:
        That are asked.

    Notes
    -----
    For G groups of n people each, JS(P_g, mean_h P_h) is, without an effect, (1 - 1/G) / (8 n) times chi-squared with
    one degree of freedom less than there are options; and d² / (8 p (1 - p)) for a share p + d of one choice where the
    mean is p. So d is detected from d² = p (1 - p) (1 - 1/G) lambda / n, with lambda the noncentrality that the test
    detects.
    """
    factor = next((name for name in LEADING if name in groups and name in people.columns), None)
    mine = [q for q in choice_questions() if q.name in questions]
    if factor is None or not mine:
        return None
    shown = people[factor].drop_nulls()
    size = shown.n_unique()
    if size < 2:
        return None
    tests = size * len(mine)
    between = float(np.sqrt(1 - 1 / size))

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        asked = design.trials(numbers, ["image", "task"]).filter(pl.col("task").cast(pl.String) == "mcq")
        return asked["image"].n_unique(), 1.0

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        return Spread(between * pilot_spread(chunks), 0.0, 1.0, source)

    return Precision(
        what=f"a gap between a group's share of a choice and the mean of all groups ({factor.replace('_', ' ')})",
        tests=tests,
        clusters=len(shown),
        items=1.0,
        cluster="pictures",
        item="answer to each question",
        units=units,
        spread=spread,
        default=Spread(between * 0.5, 0.0, 1.0, EVENLY),
        shares=(float(shown.value_counts()["count"].min()) / len(shown),) * tests,  # type: ignore[arg-type]
        freedom=max(len(q.levels) for q in mine) - 1,
        sure=0.5,
        each=float(len(mine)),
    )


def pilot_spread(chunks: Iterator[pl.DataFrame]) -> float:
    """SD of one answer, of the choice whose share is nearest to one half; NaN where there is none."""
    sums = [
        chunk.filter(pl.col("task").cast(pl.String) == "mcq")
        .group_by(pl.col("question").cast(pl.String))
        .agg(*(pl.col(c).sum() for c in CHOICES))
        for chunk in chunks
    ]
    whole = pl.concat(sums).group_by("question").sum() if sums else pl.DataFrame()
    if whole.is_empty():
        return float("nan")
    counts = whole.select(CHOICES).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = counts / counts.sum(axis=1, keepdims=True)
    return float(np.nanmax(np.sqrt(share * (1 - share)))) if np.isfinite(share).any() else float("nan")
