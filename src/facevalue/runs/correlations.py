"""Two runs beside each other, cell by cell, such as a model that sees and a language model that is told."""

import math
from collections.abc import Sequence

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.measures.intervals import describe_method, split_method
from facevalue.measures.run_comparison import source_correlation
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.offers import Correlated, OfferedTable


def correlations(first: pl.DataFrame, second: pl.DataFrame, offered: Correlated | None) -> Sequence[OfferedTable]:
    """Correlations of two runs' estimates, a table for people; none where they have nothing of it in common."""
    if offered is None:
        return ()
    rows: list[tuple[str, ...]] = []
    plain = [table.filter(pl.col("intervention").is_null()) for table in (first, second)]
    for measure, of in offered.measures.items():
        named = [pl.col(name).is_not_null() for name in (*offered.about, offered.over[-1])]
        tables = [table.filter(pl.col("measure") == measure, *named) for table in plain]
        for about in tables[0].select(offered.about).unique(maintain_order=True).iter_rows():
            same_cell = [pl.col(name) == level for name, level in zip(offered.about, about, strict=True)]
            x, y = (table.filter(same_cell) for table in tables)
            try:
                estimate, p = source_correlation(x, y, measure, offered.over)
            except FaceValueError:  # no cell in both
                continue
            rows.append((*about, of, *_in_words(estimate), "–" if math.isnan(p) else f"{p:.0e}"))
    heads = (*offered.about, f"of {offered.over[-1]}s'", f"{offered.over[-1]}s", "r", "95% interval", "p")
    return (OfferedTable(offered.title, heads, rows, boxed=False),) if rows else ()


def _in_words(estimates: Estimates) -> tuple[str, str, str]:
    if math.isnan(estimates.value[0]):
        return str(int(estimates.n[0])), "–", describe_method(*split_method(str(estimates.method[0])))
    return str(int(estimates.n[0])), f"{estimates.value[0]:.2f}", f"{estimates.low[0]:.2f} to {estimates.high[0]:.2f}"
