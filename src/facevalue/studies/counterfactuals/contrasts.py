"""Groups beside the other groups of their sets: which of them stand apart."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array, Estimates, joined, only_values, single
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_levels import group_levels
from facevalue.measures.majority import METHOD, from_majority
from facevalue.measures.set_tails import from_set_mean
from facevalue.measures.table_entries import enter
from facevalue.studies.counterfactuals import measures as m

SEED = 20260
_LEVEL = 0.05


def levels(sums: Array, counts: Array) -> Estimates:
    """Means of each group, and last that of all of them together."""
    blocks = (slice(0, -1), slice(-1, None))
    return joined([group_levels(sums[:, block], counts[:, block], SEED) for block in blocks])


def add_contrasts(
    table: EstimateTable,
    groups: tuple[str, ...],
    values: Array,
    about: Mapping[str, str],
    quantity: m.Compared,
    are_asked: npt.NDArray[np.bool_],
    limits: tuple[float, float] | None = None,
) -> None:
    """Enter each group against the groups that are alike, and, untested, against the mean of all.

    `values`, `asked`: of whole sets, shape (sets, groups, draws); `limits`: of a missing value, by default those of the
    scale, if it has any; see `majority.from_majority`. Each prompt is a family by itself, since q holds for all its
    groups together.
    """
    if quantity is m.SCORES:
        limits = m.score_limits(values)
    elif quantity is not m.SALARIES and np.isfinite(quantity.level.limits).all():
        limits = quantity.level.limits
    contrast = from_majority(values, SEED, are_asked, limits)
    labels = {**about, "group": groups}
    p, q = contrast.estimates.p_zero, contrast.q
    named = [about[label] for label in ("subset", "score", "word_list", "prompt") if label in about]
    enter(
        table, quantity.gap, labels, contrast.estimates, p=p, q=q, p_least=np.full(len(groups), contrast.p_least),
        family=m.family(quantity.family, *named), bounds=contrast.bounds,
    )  # fmt: skip
    enter(table, quantity.from_mean, labels, from_set_mean(values))
    if only_values() or not np.isfinite(contrast.p_any):
        return
    many, sets = len(groups), int(contrast.estimates.clusters.max())
    apart = single(float((q < _LEVEL).sum()), np.nan, np.nan, np.nan, many, sets, f"no interval: {METHOD}")
    enter(table, quantity.apart, about, apart, p=np.array([contrast.p_any]))
