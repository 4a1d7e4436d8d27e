"""Missing answers with and without an intervention: intervals that cover."""

import numpy as np
import polars as pl
import pytest

from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.paired_changes import add_missing_change

Asked = tuple[np.ndarray, np.ndarray]  # replies, and those without a valid answer, by cluster


def missing(plain: Asked, other: Asked, pairs: tuple[np.ndarray, np.ndarray] | None = None) -> dict[str, float]:
    rows = np.arange(plain[0].size)
    units = dict(zip(("unit_1", "unit_2"), pairs or (rows, rows), strict=True))
    names = ("replies", "missing", "replies_other", "missing_other")
    totals = pl.DataFrame(units | dict(zip(names, (*plain, *other), strict=True)))
    out = EstimateTable("s", "m", intervention="x")
    add_missing_change(out, totals, "face", NO_INTERVENTION)
    row = out.frame().row(0, named=True)
    assert (row["measure"], row["versus"], row["unit"]) == (MISSING_SHARE.name, NO_INTERVENTION, "share")
    return row


@pytest.mark.slow
def test_the_change_of_missing_answers_covers() -> None:
    """1,000 runs of 50 clusters with 20 replies each, some clusters far likelier to be refused than others."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(1000):
        often = rng.beta(1, 9, 50)
        replies = np.full(50, 20.0)
        plain, other = rng.binomial(20, often), rng.binomial(20, np.minimum(often + 0.05, 1))
        row = missing((replies, plain.astype(float)), (replies, other.astype(float)))
        hits += row["low"] <= 0.05 <= row["high"]
    assert hits / 1000 == pytest.approx(0.95, abs=0.02)


def test_the_change_of_missing_answers_is_a_share_and_may_be_unmeasurable() -> None:
    ten = np.full(4, 10.0)
    row = missing((ten, np.array([0.0, 1, 0, 1])), (ten, np.array([1.0, 2, 3, 4])))
    assert row["value"] == pytest.approx(0.2)
    assert (row["n"], row["clusters"]) == (80, 4)
    assert missing((ten * 0, ten * 0), (ten, ten))["value"] is None


def test_no_missing_answer_anywhere_is_no_certainty() -> None:
    ten, none = np.full(12, 10.0), np.zeros(12)
    row = missing((ten, none), (ten, none))
    assert row["value"] == 0
    assert -0.5 < row["low"] < 0 < row["high"] < 0.5
    assert row["p"] == 1


@pytest.mark.slow
def test_the_change_of_missing_answers_covers_where_pairs_share_units() -> None:
    """250 runs of 14 people, each beside all others; some people are declined far oftener after the change."""
    rng = np.random.default_rng(6)
    first, second = np.triu_indices(14, 1)
    replies, hits, by_first = np.full(first.size, 4.0), 0, 0
    for _ in range(250):
        more = rng.choice([0.0, 0.3], 14)
        before = rng.binomial(4, 0.1, first.size).astype(float)
        after = rng.binomial(4, 0.1 + more[first] + more[second]).astype(float)
        pair = (replies, before), (replies, after)
        truth = 0.3
        row = missing(*pair, (first, second))
        hits += row["low"] <= truth <= row["high"]
        alone = [(np.bincount(first, one[0]), np.bincount(first, one[1])) for one in pair]
        row = missing(alone[0], alone[1])
        by_first += row["low"] <= truth <= row["high"]
    assert hits / 250 > 0.91
    assert by_first / 250 < 0.85, "as if only the first of a pair had been sampled"
