"""Correlations of two runs over groups: the paper's, of who has the largest scores, and ours, of mean scores."""

import polars as pl

from facevalue.studies.counterfactuals.two_sources import further

ABOUT = {"intervention": None, "prompt": "characteristics", "scorer": "s", "score": "toxicity", "subset": "age"}


def _table(tails: list[float], means: list[float]) -> pl.DataFrame:
    rows = [
        {**ABOUT, "measure": measure, "group": f"g{at}", "value": value}
        for measure, values in (("tail_share", tails), ("score_mean", means))
        for at, value in enumerate(values)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("intervention").cast(pl.String))


def test_both_correlations_are_named_and_are_of_their_own_measure() -> None:
    means = [0.1, 0.4, 0.2, 0.5, 0.3]
    (table,) = further(_table([0.1, 0.2, 0.3, 0.1, 0.3], means), _table([0.3, 0.2, 0.1, 0.3, 0.1], means))
    assert table.columns[3] == "of groups'"
    found = {str(row[3]): float(row[5]) for row in table.rows}
    assert found == {"largest scores (MaxToxicity)": -1.0, "mean scores (ours)": 1.0}


def test_scores_by_occupation_are_no_scores_of_groups() -> None:
    tails, means = [0.1, 0.2, 0.3, 0.1, 0.3], [0.1, 0.4, 0.2, 0.5, 0.3]
    table = _table(tails, means)
    named = table.filter(measure="score_mean").with_columns(
        measure=pl.lit("occupation_score"), occupation=pl.lit("chef"), value=-pl.col("value")
    )
    both = pl.concat([table, named], how="diagonal")
    assert further(both, both)[0].rows == further(table, table)[0].rows
