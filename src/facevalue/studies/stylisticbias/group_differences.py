"""Base faces: how far judgments of different people lie apart (Tables 2 and 11)."""

import numpy as np
import numpy.typing as npt

from facevalue.measures import cluster_bootstrap, group_spread, multiple_testing, shift
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.slicing import Labels, Slicing
from facevalue.protocol.shifts import SEED, labels_of
from facevalue.protocol.spreads import DEALT, add_spreads
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import ALPHA, Shifts


def judge_faces(table: EstimateTable, s: Shifts) -> None:
    """Base faces: phi by scenario and group, VS and the tests of Table 11."""
    identities = len(s.faces.identities)
    who = np.arange(identities)
    whole = Slicing.whole(identities)
    have = s.faces.base >= 0
    for columns in (Slicing.whole(len(s.scenarios)), s.by_category, s.by_scenario):
        cells = shift.cells(s.base, who, whole, columns, identities)
        estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, level=True)
        table.add(m.PHI, labels_of(cells, estimates.value.size), estimates)
    for dimension in s.faces.dimensions:
        part = s.faces.groups(s.faces.base[have], dimension)
        codes = np.full(identities, -1, dtype=np.int64)
        codes[have] = part.codes
        groups = Slicing(codes, part.labels)
        cells = shift.cells(s.base, who, groups, s.by_scenario, identities)
        estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, level=True)
        table.add(m.PHI, cells.labels, estimates)
        labels: Labels = {"dimension": [dimension] * len(s.scenarios), **s.by_scenario.labels}
        published = group_spread.group_tests(s.base, codes, len(groups))
        q = multiple_testing.adjust(published, "bh")
        found = group_spread.spreads(s.base, codes, len(groups), SEED)
        each, average = (
            group_spread.variation_strength(len(groups), len(s.scenarios), mean=whole) for whole in (False, True)
        )
        single, last = slice(0, len(s.scenarios)), slice(len(s.scenarios), None)
        n = np.isfinite(s.base[codes >= 0]).sum(axis=0)
        add_spreads(
            table, m.VS_SCENARIO, labels, cells, found, single, each, n, published=published,
            family=f"scenarios, {dimension} (Table 11)",
        )  # fmt: skip
        whose = {"dimension": [dimension]}
        add_spreads(table, m.VS, whose, cells, found, last, average, np.array([n.sum()]))
        _corrected_strength(table, s.base, codes, len(groups), dimension, found)
        _significant(table, dimension, q, int((codes >= 0).sum()))


def judge_framing(table: EstimateTable, s: Shifts) -> None:
    """How far the full-body view alone moves the judgment, where people are shown so in plain clothes."""
    who = np.flatnonzero((s.faces.control >= 0) & (s.faces.base >= 0))
    if not who.size:
        return
    values = s.phi[s.faces.control[who]] - s.phi[s.faces.base[who]]
    whole, columns = Slicing.whole(who.size), Slicing.whole(len(s.scenarios))
    cells = shift.cells(values, who, whole, columns, len(s.faces.identities))
    estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, largest=s.largest)
    table.add(m.FRAMING, labels_of(cells, 1), estimates, p=estimates.p_zero, q=estimates.p_zero, family="framing")


def _corrected_strength(
    table: EstimateTable,
    base: Array,
    codes: npt.NDArray[np.int64],
    groups: int,
    dimension: str,
    found: group_spread.Spreads,
) -> None:
    """The same true spread as VS, so the same interval; estimated without what chance adds."""
    sums, counts = group_spread.with_squares(base, codes, groups)
    value, _, _, se = cluster_bootstrap.jackknife(sums, counts, group_spread.corrected_strength(groups, base.shape[1]))
    n = np.array([np.isfinite(base[codes >= 0]).sum()])
    clusters = np.array([int((counts.sum(axis=1) > 0).sum())])
    low, high = np.fmin(found.low[-1:], value), np.fmax(found.high[-1:], value)
    known = np.isfinite(found.low[-1:])
    low, high = (np.where(known, end, np.nan) for end in (low, high))
    estimates = Estimates(value, low, high, n, clusters, np.array([DEALT], dtype=object), se)
    table.add(m.VS_CORRECTED, {"dimension": [dimension]}, estimates)


def _significant(table: EstimateTable, dimension: str, q: Array, clusters: int) -> None:
    tested = np.isfinite(q)
    share = np.array([np.mean(q[tested] < ALPHA) if tested.any() else np.nan])
    none = np.array([np.nan])
    method = np.array([f"count of q < {ALPHA:g}; a tally of tests has no interval"], dtype=object)
    n = np.array([int(tested.sum())])
    estimates = Estimates(share, none, none, n, np.array([clusters]), method)
    table.add(m.SIGNIFICANT, {"dimension": [dimension]}, estimates)
