"""Scores from sums: shares between the ends of a score, over units or people, in families by label."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable, name_families
from facevalue.measures.estimators import PEOPLE_KEYS, Sums, share_of_sums, share_over_pairs
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score

CHOSEN = Measure("chosen", "Chosen", "s / n", "share", "person", "", limits=(0.0, 1.0))
POINTS = Measure("points", "Points", "200 s / n - 100", "pp", "person", "", limits=(-100.0, 100.0))
MEASURES = (CHOSEN, POINTS)
ROWS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from(["f", "m", None]), st.integers(0, 4), st.integers(0, 4)),
    min_size=1, max_size=40,
)  # fmt: skip


def scores(rows: pl.DataFrame, score: Score, **facts: Any) -> SumScores:
    return SumScores(score, Sums.from_frame(rows, ["group"]), MEASURES, **facts)


def table_of(estimands: list[Estimand], *of: SumScores) -> pl.DataFrame:
    table = EstimateTable("study", "model", ("group", "reason"))
    estimate_sums(table, estimands, of)
    return table.frame()


@given(ROWS)
def test_shares_are_those_of_plain_sums_whatever_the_order_of_rows(
    cells: list[tuple[str, str | None, int, int]],
) -> None:
    columns = zip(*((unit, group, float(min(s, n)), float(n)) for unit, group, s, n in cells), strict=True)
    rows = pl.DataFrame(dict(zip(("unit", "group", "s", "n"), map(list, columns), strict=True)),
                        schema_overrides={"group": pl.String})  # fmt: skip
    by_group = [Estimand(Mean(), ("group",), measure="chosen"), Estimand(Mean(), measure="chosen")]
    out, turned = (table_of([by_group[0]], scores(x, share_score("chosen"))) for x in (rows, rows.reverse()))
    plain = {group: of.select(pl.col("s").sum(), pl.col("n").sum()).row(0) for (group,), of in rows.group_by("group")}
    for group, value, n in out.select("group", "value", "n").iter_rows():
        s, size = plain[group]
        assert n == size
        assert value == (pytest.approx(s / size) if size else None)
    columns_compared = ["group", "value", "low", "high", "n", "clusters"]
    a, b = (x.select(columns_compared).sort("group", nulls_last=True) for x in (out, turned))
    assert a.select("group", "n", "clusters").equals(b.select("group", "n", "clusters"))
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(a[name].to_numpy(), b[name].to_numpy(), rtol=1e-12)
    [whole] = table_of(by_group[1:], scores(rows, share_score("chosen")))["n"]
    assert whole == rows["n"].sum()


def test_a_score_with_other_ends_is_scaled_with_its_interval() -> None:
    rows = pl.DataFrame({"unit": list("abcd"), "group": ["f"] * 4, "s": [1.0, 0.0, 1.0, 1.0], "n": [1.0] * 4})
    share = table_of([Estimand(Mean(), ("group",), measure="chosen")], scores(rows, share_score("chosen")))
    points = table_of(
        [Estimand(Mean(), ("group",), measure="points")], scores(rows, Score("points", "Points", "pp", -100.0, 100.0))
    )
    for name in ("value", "low", "high"):
        assert points[name].item() == pytest.approx(200 * share[name].item() - 100)


def test_estimates_have_the_labels_of_their_scores_and_are_of_those_named_alone() -> None:
    rows = pl.DataFrame({"unit": list("ab"), "group": ["f", "m"], "s": [1.0, 0.0], "n": [1.0, 1.0]})
    both = [scores(rows, share_score(name), labels={"reason": name}) for name in ("cut", "refused")]
    out = table_of([Estimand(Mean(), ("group",), ("cut",), measure="chosen")], *both)
    assert out["reason"].to_list() == ["cut", "cut"]


def test_the_interval_of_pairs_is_over_the_people_on_either_side() -> None:
    rng = np.random.default_rng(7)
    first, second = np.triu_indices(8, 1)
    rows = pl.DataFrame({"unit": np.arange(first.size), "person_1": first, "person_2": second,
                         "s": rng.integers(0, 2, first.size).astype(float), "n": np.ones(first.size)})  # fmt: skip
    sums = Sums.from_frame(rows, [], PEOPLE_KEYS)
    of_table = SumScores(share_score("chosen"), sums, MEASURES)
    [share] = table_of([Estimand(Mean(), measure="chosen")], of_table).to_dicts()
    _, of_people = share_over_pairs(sums)
    _, of_pairs = share_of_sums(sums)
    assert share["low"] == of_people.low.item()
    assert share["clusters"] <= 8 < of_pairs.clusters.item()


def test_a_share_is_the_mean_over_a_label_that_it_is_not_broken_down_by() -> None:
    rows = pl.DataFrame({"unit": list("aabb"), "group": ["f", "m", "f", "m"], "s": [9.0, 0.0, 9.0, 0.0],
                         "n": [9.0, 1.0, 9.0, 1.0]})  # fmt: skip
    pooled, mean = (scores(rows, share_score("chosen"), mean_over=name) for name in ("", "group"))
    assert pooled.shares(())[1].value.item() == pytest.approx(0.9)
    assert mean.shares(())[1].value.item() == pytest.approx(0.5)
    assert mean.shares(("group",))[1].value.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("levels", "name"),
    [
        ({"group": ["f"], "reason": ["cut"]}, "gaps, cut (f)"),
        ({"group": [None], "reason": ["cut"]}, "gaps, cut ()"),
        ({"group": ["f"]}, "gaps (f)"),
    ],
)
def test_a_family_is_named_by_the_levels_of_its_labels(levels: dict[str, list[str | None]], name: str) -> None:
    assert name_families("gaps, {reason} ({group})", levels, 1) == [name]
