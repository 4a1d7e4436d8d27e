"""Groups beside the other groups of their sets: their levels, and which of them stand apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.estimators import CellEstimates, Sums, add_by_unit, cells_of
from facevalue.measures.group_means import group_levels
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.majority import from_majority, replies_of
from facevalue.measures.set_ranges import from_set_mean
from facevalue.measures.terms import name_units
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.estimands import Row
from facevalue.studies.counterfactuals import measures as m

SEED = 20260
_LEVEL = 0.05
_COUNTED = name_method(IntervalKind.NONE, "a number of groups, by contrast with a majority of alike groups, over sets")


def levels(sums: Sums, by: Sequence[str]) -> CellEstimates:
    """Means of groups, whose intervals know how all of them vary, and of all groups together, by themselves."""
    labels, cell, count = cells_of(sums, by)
    s, n = (add_by_unit(sums.units["unit"], cell, count, sums.numbers[name]) for name in "sn")
    is_total = np.array([level is None for level in labels["group"]])
    families = [group_levels(s[:, at], n[:, at], SEED) for at in (~is_total, is_total) if at.any()]
    estimates = Estimates.concatenate(families)
    return labels, replace(estimates, terms=name_units(estimates.terms, sums.names))


def contrasts(
    groups: tuple[str, ...],
    values: Array,
    about: Mapping[str, str],
    quantity: m.GroupMeasures,
    are_asked: npt.NDArray[np.bool_],
    limits: tuple[float, float] | None = None,
) -> Iterator[Row]:
    """Each group against the groups that are alike, and, untested, against the mean of all.

    `values`, `are_asked`: of whole sets, shape (sets, groups, draws); `limits`: of a missing value, by default those of
    the scale, if it has any; see `majority.from_majority`. Each prompt is a family by itself, since q holds for all its
    groups together.
    """
    if quantity is m.SCORES:
        limits = m.score_limits(values)
    elif quantity is not m.SALARIES and np.isfinite(quantity.level.limits).all():
        limits = quantity.level.limits
    contrast = from_majority(values, SEED, limits, replies_of(values, are_asked, limits))
    labels, p_least = {**about, "group": groups}, np.full(len(groups), contrast.p_least)
    scope = [about[label] for label in ("subset", "score", "word_list", "prompt") if label in about]
    gaps = replace(contrast.estimates, bounds=contrast.bounds, q=contrast.q, p_least=p_least)
    yield quantity.gap, labels, gaps, m.family(quantity.family, *scope)
    yield quantity.from_mean, labels, from_set_mean(values).untested(), None
    if only_values() or not np.isfinite(contrast.p_any):
        return
    count, sets = float((contrast.q < _LEVEL).sum()), int(contrast.estimates.clusters.max())
    apart = Estimates.single(count, np.nan, np.nan, np.nan, len(groups), sets, _COUNTED)
    yield quantity.apart, about, replace(apart, p=np.array([contrast.p_any])), None
