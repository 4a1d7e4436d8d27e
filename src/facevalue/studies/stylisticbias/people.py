"""Base faces: how far judgments of different people lie apart (Tables 2 and 11)."""

import numpy as np
import numpy.typing as npt

from facevalue.measures import families, inference, shift, strength
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.inference import Array, Estimates, Statistic
from facevalue.measures.shift import Cells
from facevalue.measures.slicing import Labels, Slicing
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import ALPHA, LARGEST, SEED, Shifts, derived, labels_of


def judge_faces(table: EstimateTable, s: Shifts) -> None:
    """Base faces: phi by scenario and group, VS and the tests of Table 11."""
    identities = len(s.faces.identities)
    who = np.arange(identities)
    whole = Slicing.whole(identities)
    have = s.faces.base >= 0
    for columns in (Slicing.whole(len(s.scenarios)), s.by_category, s.by_scenario):
        cells = shift.cells(s.base, who, whole, columns, identities)
        estimates = inference.means(cells.sums, cells.counts, SEED, level=True)
        table.add(m.PHI, labels_of(cells, estimates.value.size), estimates)
    for dimension in s.faces.dimensions:
        part = s.faces.groups(s.faces.base[have], dimension)
        codes = np.full(identities, -1, dtype=np.int64)
        codes[have] = part.codes
        groups = Slicing(codes, part.labels)
        cells = shift.cells(s.base, who, groups, s.by_scenario, identities)
        estimates = inference.means(cells.sums, cells.counts, SEED, level=True)
        table.add(m.PHI, cells.labels, estimates)
        labels: Labels = {"dimension": [dimension] * len(s.scenarios), **s.by_scenario.labels}
        n = np.isfinite(s.base[codes >= 0]).sum(axis=0).astype(np.float64)
        p = strength.group_tests(s.base, codes, len(groups))
        q = families.adjust(p, "bh")
        family = f"scenarios, {dimension} (Table 11)"
        each, average = (
            strength.variation_strength(len(groups), len(s.scenarios), mean=whole) for whole in (False, True)
        )

        def both(sums: Array, counts: Array, each: Statistic = each, average: Statistic = average) -> Array:
            return np.concatenate([each(sums, counts), average(sums, counts)], axis=-1)

        floor = strength.label_permutation_floor(s.base, codes, len(groups), both, SEED)
        own, mean = floor.split(len(s.scenarios))
        derived(table, m.VS_SCENARIO, labels, cells, each, n, floor=own, p=p, q=q, family=family)
        derived(table, m.VS, {"dimension": [dimension]}, cells, average, np.array([n.sum()]), floor=mean)
        _corrected_strength(table, s.base, codes, len(groups), dimension)
        _significant(table, dimension, q, int((codes >= 0).sum()))


def judge_framing(table: EstimateTable, s: Shifts) -> None:
    """How far the full-body view alone moves the judgment, where people are shown so in plain clothes."""
    who = np.flatnonzero((s.faces.control >= 0) & (s.faces.base >= 0))
    if not who.size:
        return
    values = s.phi[s.faces.control[who]] - s.phi[s.faces.base[who]]
    whole, columns = Slicing.whole(who.size), Slicing.whole(len(s.scenarios))
    cells = shift.cells(values, who, whole, columns, len(s.faces.identities))
    estimates = inference.means(cells.sums, cells.counts, SEED, largest=LARGEST)
    table.add(m.FRAMING, labels_of(cells, 1), estimates, p=estimates.p_zero, q=estimates.p_zero, family="framing")


def _corrected_strength(
    table: EstimateTable, base: Array, codes: npt.NDArray[np.int64], groups: int, dimension: str
) -> None:
    size = base.shape[1]
    sums, counts = strength.with_squares(base, codes, groups)
    cells = Cells(sums, counts, {}, np.ones(sums.shape[1], dtype=np.int64))
    n = np.array([np.isfinite(base[codes >= 0]).sum()], dtype=np.float64)
    derived(table, m.VS_CORRECTED, {"dimension": [dimension]}, cells, strength.corrected_strength(groups, size), n)


def _significant(table: EstimateTable, dimension: str, q: Array, clusters: int) -> None:
    tested = np.isfinite(q)
    share = np.array([np.mean(q[tested] < ALPHA) if tested.any() else np.nan])
    none = np.array([np.nan])
    method = np.array([f"count of q < {ALPHA:g}; a tally of tests has no interval"], dtype=object)
    n = np.array([int(tested.sum())])
    estimates = Estimates(share, none, none, n, np.array([clusters]), method)
    table.add(m.SIGNIFICANT, {"dimension": [dimension]}, estimates)
