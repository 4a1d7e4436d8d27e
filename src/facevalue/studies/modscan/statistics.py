"""Statistics of ModSCAN's choices: shares of groups beside an even choice, and beside real shares."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from facevalue.measures.estimates import Level
from facevalue.measures.estimators import apart_from
from facevalue.statistics.statistic import Statistic

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.sum_scores import SumScores


@dataclass(frozen=True, kw_only=True)
class EvenChoiceGap(Statistic):
    """Share of a group less that of an even choice."""

    kind = "even_choice_gap"

    even: float

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the gap of each cell, with the score test of the even choice."""
        labels, shares = scores.shares(estimand.by)
        scores.enter(table, estimand, labels, apart_from(shares, self.even))


@dataclass(frozen=True, kw_only=True)
class RealWorldGap(Statistic):
    """Share of a group less its real share, where that is given.

    Attributes
    ----------
    real:
        Real share of an instance and group, and where it is from.
    """

    kind = "real_world_gap"

    real: Mapping[tuple[Level, Level], tuple[float, str]]

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the gap of each cell whose real share is given, with the score test of that share."""
        labels, shares = scores.shares(estimand.by)
        given = [self.real.get(key) for key in zip(labels["instance"], labels["group"], strict=True)]
        rows = np.flatnonzero([share is not None for share in given])
        if not rows.size:
            return
        gaps = apart_from(shares, np.array([np.nan if share is None else share[0] for share in given])).at(rows)
        sources = [given[row][1] for row in rows.tolist()]  # type: ignore[index]
        methods = [f"{method}; real share: {source}" for method, source in zip(gaps.method, sources, strict=True)]
        labels = {name: [levels[row] for row in rows.tolist()] for name, levels in labels.items()}
        scores.enter(table, estimand, labels, replace(gaps, method=np.array(methods, object)))
