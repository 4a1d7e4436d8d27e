"""Validity of the instrument: place and letter of options, replies without an answer."""

import numpy as np

from facevalue.measures import cluster_bootstrap, group_spread, shift
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.slicing import Slicing
from facevalue.prompts import ORDERINGS
from facevalue.protocol.aggregate import Aggregate, balanced
from facevalue.protocol.shifts import SEED, labels_of
from facevalue.protocol.spreads import add_spreads
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.shifts import Shifts


def judge_instrument(table: EstimateTable, s: Shifts, scores: Aggregate, orderings: list[str]) -> None:
    """How far the instrument itself can be trusted: position and letter bias, replies without an answer."""
    faces = s.faces
    identities = len(faces.identities)
    whole, columns = Slicing.whole(faces.manifest.height), Slicing.whole(len(s.scenarios))
    per = scores.weights.shape[2] // len(orderings)
    known = {o.name: o for o in ORDERINGS}
    first = np.array([known[name].first == 0 for name in orderings]).repeat(per)
    letter = np.array([known[name].labels[known[name].first] == "(a)" for name in orderings]).repeat(per)
    for measure, favourable in ((m.POSITION, first), (m.LETTER, letter)):
        own = balanced(np.where(favourable, scores.weights, 1 - scores.weights), np.where(favourable, 0, 1)) - 0.5
        cells = shift.cells(own, faces.identity, whole, columns, identities)
        estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, level=True)
        table.add(measure, labels_of(cells, 1), estimates)
    _missing_by_group(table, faces, scores.na_rate)
    rows = np.arange(faces.manifest.height)
    attribute = faces.slicing(rows, "attribute")
    slicings = [whole, attribute, *(faces.groups(rows, d) for d in faces.dimensions)]
    for measure, rate in ((m.NA_RATE, scores.na_rate), (m.REFUSAL_RATE, scores.refusal_rate)):
        for part in slicings:
            cells = shift.cells(rate, faces.identity, part, columns, identities)
            estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, level=True)
            table.add(measure, labels_of(cells, estimates.value.size), estimates)


def _missing_by_group(table: EstimateTable, faces: Faces, rate: Array) -> None:
    """Whether some people get fewer answers than others: a finding of its own."""
    everyone = Slicing.whole(faces.manifest.height), Slicing.whole(rate.shape[1])
    own = shift.cells(rate, faces.identity, *everyone, len(faces.identities))
    per_face = cluster_bootstrap.ratio(own.sums, own.counts)
    have = faces.base >= 0
    for dimension in faces.dimensions:
        part = faces.groups(faces.base[have], dimension)
        codes = np.full(len(faces.identities), -1, dtype=np.int64)
        codes[have] = part.codes
        statistic = group_spread.variation_strength(len(part), 1, mean=False)
        found = group_spread.spreads(per_face, codes, len(part), SEED)
        cells = shift.cells(per_face, np.arange(len(codes)), Slicing(codes, part.labels), Slicing.whole(1), len(codes))
        n = np.array([own.counts.sum()], dtype=np.int64)
        add_spreads(table, m.NA_SPREAD, {"dimension": [dimension]}, cells, found, slice(0, 1), statistic, n)
