"""Tables of estimates compared without a run: with and without each group of units, drawn around the values."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl

from facevalue.measures.definitions import Measure
from facevalue.measures.paired_changes import Deletion, reduce_estimates
from facevalue.protocol.offers import CellComparison, Extras
from facevalue.protocol.study import About, Estimated, Study
from facevalue.runs.comparisons.cells import RunAgreement, SharedUnits
from facevalue.runs.comparisons.models import compare_estimates

GROUPS = 20
UNITS = SharedUnits("picture", GROUPS, 0, 0, paired=True)


def declared(
    name: str,
    measures: tuple[Measure, ...],
    compared: CellComparison,
    labels: tuple[str, ...],
    lead: tuple[str, ...] = (),
) -> Study:
    """What a comparison reads of a study."""
    return cast(
        Study,
        SimpleNamespace(
            name=name,
            about=About(""),
            estimates=Estimated(measures, labels, lead=lead),
            extras=Extras(compare=compared),
        ),
    )


def without_groups(first: pl.DataFrame, second: pl.DataFrame, seed: int = 0) -> Iterator[Deletion]:
    """Both tables again without each group: differences then have the standard error of the second table."""
    rng = np.random.default_rng(seed)
    se = second["se"].fill_null(0.0).to_numpy()
    moves = rng.normal(0.0, 1.0, (GROUPS, second.height))
    moves -= moves.mean(axis=0)
    moves *= se / np.sqrt((GROUPS - 1) / GROUPS * (moves**2).sum(axis=0))
    for move in moves:
        values = pl.Series(second["value"].to_numpy() + move).fill_nan(None)
        left = second.with_columns(values.alias("value"), n=pl.col("n") - 1)
        yield Deletion("units 3", reduce_estimates(first), reduce_estimates(left))


def compared_tables(
    study: Study, first: pl.DataFrame, second: pl.DataFrame, margin: float | None = None,
    titles: Mapping[str, Mapping[str, str]] | None = None,
) -> RunAgreement:  # fmt: skip
    """Two tables, compared as a study declares."""
    if titles is not None:
        study.about = replace(study.about, titles=titles)  # type: ignore[misc]
    return compare_estimates(study, (first, second), without_groups(first, second), UNITS, margin)
