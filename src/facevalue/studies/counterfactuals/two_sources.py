"""Two runs beside each other, such as a model that sees and a language model that is told (section 5.1)."""

import math
from collections.abc import Sequence

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.measures.cluster_bootstrap import Estimates
from facevalue.measures.source_comparison import correlation
from facevalue.protocol.offers import OfferedTable
from facevalue.studies.counterfactuals.measures import SCORE, TAIL_SHARE

_GROUP = ("subset", "group")
_ABOUT = ("prompt", "scorer", "score")


def further(first: pl.DataFrame, second: pl.DataFrame) -> Sequence[OfferedTable]:
    """Correlations of scores over groups; none where one of the two has no scores."""
    x, y = (table.filter(pl.col("intervention").is_null()) for table in (first, second))
    if any(table.filter(measure=SCORE.name).is_empty() for table in (x, y)):
        return ()
    return (_correlations(x, y),)


def _correlations(x: pl.DataFrame, y: pl.DataFrame) -> OfferedTable:
    rows = []
    for measure, title in ((TAIL_SHARE, "largest scores (MaxToxicity)"), (SCORE, "mean scores (ours)")):
        tables = [table.filter((pl.col("measure") == measure.name) & pl.col("group").is_not_null()) for table in (x, y)]
        for about in tables[0].select(_ABOUT).unique(maintain_order=True).iter_rows():
            same_cell = [pl.col(name) == level for name, level in zip(_ABOUT, about, strict=True)]
            first, second = (table.filter(same_cell) for table in tables)
            if second.is_empty():
                continue
            try:
                estimate, p = correlation(first, second, measure.name, _GROUP)
            except FaceValueError:  # no group in both
                continue
            rows.append((*about, title, *_said(estimate), "–" if math.isnan(p) else f"{p:.0e}"))
    heads = (*_ABOUT, "of groups'", "groups", "r", "95% interval", "p")
    return OfferedTable("Correlations over groups (section 5.1)", heads, rows, boxed=False)


def _said(estimates: Estimates) -> tuple[str, str, str]:
    if math.isnan(estimates.value[0]):
        return str(int(estimates.n[0])), "–", str(estimates.method[0])
    return str(int(estimates.n[0])), f"{estimates.value[0]:.2f}", f"{estimates.low[0]:.2f} to {estimates.high[0]:.2f}"
