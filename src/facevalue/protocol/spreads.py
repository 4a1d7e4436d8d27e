"""Spreads between groups as estimates: with their permutation floor, and the published test beside their own."""

import numpy as np
import numpy.typing as npt

from facevalue.measures import cluster_bootstrap, group_spread
from facevalue.measures.adjustment import adjust
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, Statistic
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.shift import Cells
from facevalue.measures.slicing import Labels

DEALT = "true spreads that dealt labels could have made into this one"


def add_spreads(
    table: EstimateTable,
    measure: Measure,
    labels: Labels,
    cells: Cells,
    found: group_spread.Spreads,
    which: slice,
    statistic: Statistic,
    n: npt.NDArray[np.int64],
    *,
    family: str,
    published: Array | None = None,
) -> None:
    """Add some of the spreads between groups, with the published test beside their own."""
    se = cluster_bootstrap.jackknife(cells.sums, cells.counts, statistic)[3]
    clusters = np.full(n.size, int((cells.counts.sum(axis=1) > 0).sum()))
    method = np.full(n.size, DEALT, dtype=object)
    floor = found.floor.at(which)
    estimates = Estimates(found.value[which], found.low[which], found.high[which], n, clusters, method, se)
    table.add(
        measure, labels, estimates, p_least=found.least[which], family=family, floor=floor,
        p_paper=published, q_paper=None if published is None else adjust(published, "bh"),
    )  # fmt: skip
