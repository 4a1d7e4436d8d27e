"""A statistic that another package could bring: how much more often than not shifts go upward."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import cell_means
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import column_shares
from facevalue.measures.missing_data_bounds import Replies, phi_bounds
from facevalue.statistics import Estimand, Score, Statistic
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.rivals import UNIT, VALUE, shifts_of, unit_means
from facevalue.statistics.scores import ModelScores
from facevalue.statistics.statistic import Definitions, Forms, PairNames


class Direction(Statistic):
    """Share of units whose mean shift is upward, a tie counting half, less one half."""

    kind = "direction"
    title = "Directions of shifts"
    lead = "In how many units the picture moves the answer up rather than down."
    definitions: ClassVar[Definitions] = {
        "direction": ("Direction of the shifts: {}", "share of units with shift > 0, ties half, - 1/2")
    }
    facet_title = "Directions of {}"
    of_whole = True
    is_effect = True
    paired = True

    def limits(self, score: Score, breakdown: Breakdown) -> tuple[float, float]:
        return -0.5, 0.5

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        cells = model.values.cells(*model.cut(estimand.by))
        shifts, asked = cell_means(cells.sums, cells.counts), np.broadcast_to(cells.shown > 0, cells.sums.shape)
        known = np.isfinite(shifts).astype(np.float64)
        upward = np.where(known > 0, (1 + np.sign(shifts)) / 2, 0.0)
        shares = column_shares(upward, known)
        less = replace(shares, p=shares.p_against(0.5)).less(0.5)
        bounds = phi_bounds(Replies(upward, known, asked.astype(np.float64))).subtract(0.5)
        model.enter(table, estimand, cells.labels, replace(less, bounds=bounds), cells.shown > 0)

    def rival(self, estimand: Estimand, answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        shifts = shifts_of(unit_means(answers, breakdown, score), breakdown)
        return shifts.select(*estimand.by, UNIT, pl.col(VALUE).sign())

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        return "moves more people up than down, by {size}", "moves more people down than up, by {size}"
