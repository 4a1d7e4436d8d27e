"""Two runs beside each other, such as a model that sees and a language model that is told (section 5.1, Table 3)."""

import math
from collections.abc import Sequence

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.measures.cluster_bootstrap import Estimates
from facevalue.measures.source_comparison import correlation, differences
from facevalue.protocol.offers import Table
from facevalue.studies.counterfactuals.measures import MAX_SCORE, MAX_SCORE_Q90, SCORE

_RANGE = ("subset", "prompt", "scorer", "score")
_GROUP = ("subset", "group")
_ABOUT = ("prompt", "scorer", "score")


def further(first: pl.DataFrame, second: pl.DataFrame) -> Sequence[Table]:
    """Differences of ranges, and correlations of scores over groups; none where one of the two has no scores."""
    one, two = (table.filter(pl.col("intervention").is_null()) for table in (first, second))
    if any(table.filter(measure=MAX_SCORE.name).is_empty() for table in (one, two)):
        return ()
    return (_ranges(one, two), _correlations(one, two))


def _ranges(one: pl.DataFrame, two: pl.DataFrame) -> Table:
    rows = []
    for measure, said in ((MAX_SCORE, "mean"), (MAX_SCORE_Q90, "90%")):
        try:
            cells = differences(one, two, measure.name, _RANGE).cells
        except FaceValueError:  # no cell in both
            continue
        for row in cells.iter_rows(named=True):
            numbers = (f"{row['first']:.2f}", f"{row['second']:.2f}", f"{row['delta']:+.2f}")
            between = "–" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}"
            rows.append((*(str(row[name]) for name in _RANGE), said, *numbers, between))
    heads = (*_RANGE, "range", "first", "second", "less first", "95% interval")
    return Table("Ranges of scores within a set (Table 3)", heads, rows, boxed=False)


def _correlations(one: pl.DataFrame, two: pl.DataFrame) -> Table:
    rows = []
    own = [table.filter((pl.col("measure") == SCORE.name) & pl.col("group").is_not_null()) for table in (one, two)]
    for about in own[0].select(_ABOUT).unique(maintain_order=True).iter_rows():
        parts = [table.filter(pl.all_horizontal(pl.col(n) == level for n, level in zip(_ABOUT, about, strict=True)))
                 for table in own]  # fmt: skip
        if parts[1].is_empty():
            continue
        try:
            found, p = correlation(parts[0], parts[1], SCORE.name, _GROUP)
        except FaceValueError:  # no group in both
            continue
        rows.append((*about, *_said(found), "–" if math.isnan(p) else f"{p:.0e}"))
    heads = (*_ABOUT, "groups", "r", "95% interval", "p")
    return Table("Correlation of groups' mean scores (section 5.1)", heads, rows, boxed=False)


def _said(found: Estimates) -> tuple[str, str, str]:
    if math.isnan(found.value[0]):
        return str(int(found.n[0])), "–", str(found.method[0])
    return str(int(found.n[0])), f"{found.value[0]:.2f}", f"{found.low[0]:.2f} to {found.high[0]:.2f}"
