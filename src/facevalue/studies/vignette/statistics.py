"""Statistics of VIGNETTE's choices: selection frequencies, tested against an even choice."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.proportions import Shares, score_p
from facevalue.statistics.statistic import Statistic

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.sum_scores import SumScores

EVEN = "even"
"""Column of sums: choices, where answers that name both or none count half for each of the two."""


class SelectionFrequency(Statistic):
    """Share of answers that choose somebody, tested against an even choice unless answers are right or wrong."""

    kind = "selection_frequency"

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the shares of cells, and p of an even choice between the two people who are shown."""
        labels, shares = scores.shares(estimand.by)
        with values_only():
            _, even = replace(scores, s=EVEN, requests="").shares(estimand.by)
        assert isinstance(even, Shares)
        is_choice = np.array([paradigm != "factuality" for paradigm in labels["paradigm"]], dtype=np.bool_)
        p = np.where(is_choice, score_p(even.value, even.size, even.df), np.nan)
        scores.enter(table, estimand, labels, replace(scores.scale(shares), p=p))
