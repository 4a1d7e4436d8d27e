"""Gaps between groups of faces: whether a cue moves the judgment of one group further than that of another."""

from collections.abc import Mapping

import numpy as np

from facevalue.measures import comparison, multiple_testing
from facevalue.measures.estimates import EstimateTable
from facevalue.protocol.shifts import SEED
from facevalue.stimuli.portraits import SKIN_TONES
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.shifts import Shifts

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


def contrasts(dimension: str, levels: list[str]) -> list[tuple[str, str]]:
    """Which groups of a dimension are compared with which.

    Parameters
    ----------
    dimension, levels:
        A manifest column and the levels that occur in it.

    Returns
    -------
    (group, with what): the ends of a dimension whose order is known; the two groups where there are two; else each
    group with all others, so that the number of tests grows with the groups and not with their square.

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


def compare_groups(table: EstimateTable, s: Shifts) -> None:
    """Add the gap of every variation for every contrast, by Welch's comparison of faces; one family."""
    variation = s.by("attribute", "variation")
    cells = s.cells(variation)
    shown = np.zeros((len(s.faces.identities), len(variation)), dtype=np.bool_)
    shown[s.cluster[variation.codes >= 0], variation.codes[variation.codes >= 0]] = True
    labels: dict[str, list[str | None]] = {
        name: [] for name in (*variation.labels, "dimension", "group", "other_group")
    }
    found = []
    for dimension in s.faces.dimensions:
        level = s.faces.level(dimension)
        for group, other in contrasts(dimension, [name for name in dict.fromkeys(level) if name is not None]):
            member = [1 if name == group else 0 if name and other in (name, OTHERS) else -1 for name in level]
            code = np.array(member)
            both = shown[code == 1].any(axis=0) & shown[code == 0].any(axis=0)
            found.append((comparison.compare(cells.sums, cells.counts, code, SEED), both))
            for name, value in (("dimension", dimension), ("group", group), ("other_group", other)):
                labels[name] += [value] * len(variation)
            for name, values in variation.labels.items():
                labels[name] += values
    if not found:
        return
    gaps = comparison.joined([gap for gap, _ in found])
    keep = np.concatenate([both for _, both in found])
    table.add(m.GAP, labels, gaps, p=gaps.p, q=multiple_testing.adjust(gaps.p, "bh"), family=FAMILY, keep=keep)
