"""Differences between groups of people: of base faces (Tables 2 and 11), and of how far a cue moves the judgment."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from facevalue.measures import cluster_bootstrap, comparison, group_spread, shift
from facevalue.measures.adjustment import adjust
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.missing_data_bounds import Bounds, Replies, contrast_bounds, joined, shift_bounds
from facevalue.measures.slicing import Slicing
from facevalue.measures.table_entries import values
from facevalue.measures.wanted import takes
from facevalue.protocol.aggregate import Aggregate
from facevalue.protocol.shifts import SEED, add_levels
from facevalue.protocol.spreads import DEALT, add_spreads, limits
from facevalue.stimuli.portraits import SKIN_TONES
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import ALPHA, Shifts

FAMILY = "gaps between groups (Tables 4 to 6)"
OTHERS = "(others)"
"""Stands for all faces that are not of the group."""
ORDERS: Mapping[str, tuple[str, ...]] = {
    "age": ("young", "middle-aged", "elderly"),
    "build": ("thin", "normal", "obese"),
    "gender": ("male", "female"),
    "skin_tone": SKIN_TONES,
}
"""Dimensions of which the paper compares the ends: elderly with young, obese with thin, female with male."""


@takes(m.PHI, m.VS_SCENARIO, m.VS, m.VS_CORRECTED, m.SIGNIFICANT)
def judge_faces(table: EstimateTable, s: Shifts, scores: Aggregate | None) -> None:
    """Base faces: phi by scenario and group, VS and the tests of Table 11."""
    identities = len(s.faces.identities)
    who = np.arange(identities)
    whole = Slicing.whole(identities)
    for columns in (Slicing.whole(len(s.scenarios)), s.by_category, s.by_scenario):
        add_levels(table, m.PHI, shift.cells(s.base, who, whole, columns, identities))
    for dimension in s.faces.dimensions:
        groups = s.faces.by_base(dimension)
        codes = groups.codes
        add_levels(table, m.PHI, shift.cells(s.base, who, groups, s.by_scenario, identities))
        published = group_spread.group_tests(s.base, codes, len(groups))
        q = adjust(published, "bh")
        found = group_spread.spreads(s.base, codes, len(groups), SEED)
        bounds = [_limits(s, scores, groups, mean=mean) if scores is not None else None for mean in (False, True)]
        add_spreads(
            table, m.VS_SCENARIO, dimension, s.base, groups, s.by_scenario, found, mean=False, published=published,
            family=f"scenarios, {dimension} (Table 11)", bounds=bounds[0],
        )  # fmt: skip
        add_spreads(
            table,
            m.VS,
            dimension,
            s.base,
            groups,
            s.by_scenario,
            found,
            mean=True,
            family=f"dimensions, {m.VS.name}",
            bounds=bounds[1],
        )
        _corrected_strength(table, s.base, codes, len(groups), dimension, found)
        _significant(table, dimension, q, int((codes >= 0).sum()))


def _limits(s: Shifts, scores: Aggregate, groups: Slicing, *, mean: bool) -> Bounds:
    """What missing answers about base faces could have made of a spread."""
    with_base = np.flatnonzero(s.faces.base >= 0)
    return limits(
        [part[s.faces.base[with_base]] for part in scores.totals], with_base, groups, s.by_scenario, mean=mean
    )


@takes(m.FRAMING)
def judge_framing(table: EstimateTable, s: Shifts, scores: Aggregate | None = None) -> None:
    """How far the full-body view alone moves the judgment, where people are shown so in plain clothes."""
    who = np.flatnonzero((s.faces.control >= 0) & (s.faces.base >= 0))
    if not who.size:
        return
    whole, columns = Slicing.whole(who.size), Slicing.whole(len(s.scenarios))

    def cells_of(values: Array) -> shift.Cells:
        return shift.cells(values, who, whole, columns, len(s.faces.identities))

    images = s.faces.base[who], s.faces.control[who]
    cells, bounds = cells_of(s.phi[images[1]] - s.phi[images[0]]), None
    if scores is not None:
        base, control = (Replies(*(cells_of(part[at]).sums for part in scores.totals)) for at in images)
        bounds = shift_bounds(base, control)
    estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, largest=s.largest)
    table.add(m.FRAMING, cells.labels, estimates, p=estimates.p_zero, family="framing", bounds=bounds)


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
    method = f"count of q < {ALPHA:g}; a tally of tests has no interval"
    found = values(share, np.array([tested.sum()]), np.array([clusters]), method)
    table.add(m.SIGNIFICANT, {"dimension": [dimension]}, found)


def contrasts(dimension: str, levels: list[str]) -> list[tuple[str, str]]:
    """Which groups of a dimension are compared with which: (group, with what).

    These are the ends of a dimension whose order is known; the two groups where there are two; else each group with
    all others, so that the number of tests grows with the groups and not with their square.

    Examples
    --------
    >>> contrasts("age", ["young", "elderly", "middle-aged"]), contrasts("hat", ["no", "yes"])
    ([('elderly', 'young')], [('yes', 'no')])
    >>> contrasts("ethnicity", ["asian", "latino", "african"])[0]
    ('asian', '(others)')
    """
    order = ORDERS.get(dimension, ())
    known = [level for level in order if level in levels]
    if len(known) == len(levels):
        return [(known[-1], known[0])]
    return [(levels[1], levels[0])] if len(levels) == 2 else [(level, OTHERS) for level in levels]


@takes(m.GAP)
def compare_groups(table: EstimateTable, s: Shifts, scores: Aggregate | None = None) -> None:
    """Add the gap of every variation for every contrast, by Welch's comparison of faces; one family."""
    variation = s.by("attribute", "variation")
    cells = s.cells(variation)
    shown = np.zeros((len(s.faces.identities), len(variation)), dtype=np.bool_)
    shown[s.cluster[variation.codes >= 0], variation.codes[variation.codes >= 0]] = True
    labels: dict[str, list[str | None]] = {
        name: [] for name in (*variation.labels, "dimension", "group", "other_group")
    }
    found, bounds = [], []
    replies = None if scores is None else s.replies(scores, variation)
    for dimension in s.faces.dimensions:
        level = s.faces.level(dimension)
        for group, other in contrasts(dimension, [name for name in dict.fromkeys(level) if name is not None]):
            member = [1 if name == group else 0 if name and other in (name, OTHERS) else -1 for name in level]
            code = np.array(member)
            both = shown[code == 1].any(axis=0) & shown[code == 0].any(axis=0)
            found.append((comparison.compare(cells.sums, cells.counts, code, SEED), both))
            if replies is not None:
                base, varied = replies
                sides = [x.of(code == side) for side in (1, 0) for x in (varied, base)]
                bounds.append(contrast_bounds(sides, [1, -1, -1, 1]))
            for name, value in (("dimension", dimension), ("group", group), ("other_group", other)):
                labels[name] += [value] * len(variation)
            for name, levels in variation.labels.items():
                labels[name] += levels
    if not found:
        return
    gaps = cluster_bootstrap.joined([gap for gap, _ in found])
    keep = np.concatenate([both for _, both in found])
    table.add(m.GAP, labels, gaps, p=gaps.p_zero, family=FAMILY, keep=keep, bounds=joined(bounds) if bounds else None)
