"""Correlations of two runs over groups: the paper's, of who has the largest scores, and ours, of mean scores."""

from collections.abc import Sequence

import polars as pl

from facevalue.protocol.offers import Correlated, OfferedTable
from facevalue.runs.comparisons.models import correlations
from facevalue.studies.counterfactuals import COMPARED

ABOUT = {"intervention": None, "prompt": "characteristics", "scorer": "s", "score": "toxicity", "subset": "age"}
TAILS, MEANS = [0.1, 0.2, 0.3, 0.1, 0.3], [0.1, 0.4, 0.2, 0.5, 0.3]


def _table(tails: list[float], means: list[float]) -> pl.DataFrame:
    rows = [
        {**ABOUT, "measure": measure, "group": f"g{at}", "value": value}
        for measure, values in (("tail_share", tails), ("mean", means))
        for at, value in enumerate(values)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("intervention").cast(pl.String))


def _correlated(first: pl.DataFrame, second: pl.DataFrame) -> Sequence[OfferedTable]:
    assert isinstance(COMPARED.correlated, Correlated)
    return correlations(first, second, COMPARED.correlated)


def test_both_correlations_are_named_and_are_of_their_own_measure() -> None:
    (table,) = _correlated(_table(TAILS, MEANS), _table([0.3, 0.2, 0.1, 0.3, 0.1], MEANS))
    assert table.columns[3:5] == ("of groups'", "groups")
    found = {str(row[3]): float(row[5]) for row in table.rows}
    assert found == {"largest scores (MaxToxicity)": -1.0, "mean scores (ours)": 1.0}


def test_scores_by_occupation_are_no_scores_of_groups() -> None:
    table = _table(TAILS, MEANS)
    named = table.filter(measure="mean").with_columns(
        measure=pl.lit("occupation_score"), occupation=pl.lit("chef"), value=-pl.col("value")
    )
    both = pl.concat([table, named], how="diagonal")
    assert _correlated(both, both)[0].rows == _correlated(table, table)[0].rows


def test_runs_without_such_estimates_and_studies_without_correlations_have_no_table() -> None:
    table = _table(TAILS, MEANS)
    assert not _correlated(table, table.clear())
    assert not correlations(table, table, None)
