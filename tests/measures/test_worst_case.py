"""Findings whose missing answers could explain them: bounds with the sampling error of their ends."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.cluster_bootstrap import Array, cluster_means
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.family_tests import worst_p
from facevalue.measures.group_means import compare_groups
from facevalue.measures.judgment import judge
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, range_bounds, shift_bounds, spread_bounds
from facevalue.measures.uncertainty import Bounds

GAP = Measure("gap", "Gap", "a - b", "share", "identity", "", comparison=True, limits=(-1, 1))
PREFERENCE = Measure("preference", "Share less one half", "s - 1/2", "share", "image", "", comparison=True)


@given(seed=st.integers(0, 10_000), df=st.floats(1, 500))
def test_the_worst_case_is_never_clearer_and_with_all_answers_the_same(seed: int, df: float) -> None:
    rng = np.random.default_rng(seed)
    value, p, se = rng.normal(size=30), rng.random(30) ** 4, rng.random(30)
    width = rng.random(30) * (rng.random(30) < 0.7)
    out = worst_p(value, p, se, df, (value - width, value + width, se))
    assert (out >= p).all()
    np.testing.assert_array_equal(out[width == 0], p[width == 0])
    assert (out[np.abs(value) < width] == 1).all()
    further = worst_p(value, p, se, df, (value - 1.1 * width, value + 1.1 * width, se))
    assert (further >= out - 1e-12).all()


def audit(rng: np.random.Generator, tell: npt.NDArray[np.bool_], share: float, units: int = 60) -> pl.DataFrame:
    """A page of gaps between two groups that answer alike, one of whose yes (by cell) is withheld."""
    cells, replies = tell.size, 20
    group = np.arange(units) % 2
    person = rng.normal(size=(units, 1)) * 0.5 + rng.normal(size=(units, cells)) * 0.4
    yes = rng.binomial(replies, 1 / (1 + np.exp(-person))).astype(np.float64)
    lost = np.where((group == 1)[:, None] & tell, rng.binomial(yes.astype(int), share), 0)
    asked = np.full(yes.shape, float(replies))
    sums, valid = yes - lost, asked - lost
    one, two = ([x * (group == g)[:, None] for x in (sums, valid, asked)] for g in (0, 1))
    bounds = shift_bounds(Replies(*one), Replies(*two), paired=False)
    found = compare_groups(sums, valid, group, 0)
    table = EstimateTable("s", "m", ["question"])
    table.add(
        GAP, {"question": [f"q{i}" for i in range(cells)]}, replace(found, p=found.p, bounds=bounds), family="gaps"
    )
    return judge(table.frame(), [GAP])


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_of_withheld_answers_no_finding_lacks_its_unless(share: float) -> None:
    """At .05 of 200 audits binomial noise (sd .015) stays below .10; the sign of the bounds alone gives half."""
    rng = np.random.default_rng(1)
    plain = found = 0
    for _ in range(200):
        page = audit(rng, np.arange(12) < 6, share).filter(verdict="difference found")
        found += page.height > 0
        plain += page.filter(~pl.col("why").str.contains("unless")).height > 0
    assert plain <= 0.08 * 200
    assert found > (0.8 * 200 if share > 0.3 else 0)


def test_few_balanced_missing_answers_leave_findings_as_they_are() -> None:
    rng = np.random.default_rng(2)
    kept = []
    for _ in range(40):
        asked, group = np.full((40, 5), 20.0), np.arange(40) % 2
        lost = rng.binomial(20, 0.01, size=asked.shape)
        yes = rng.binomial((asked - lost).astype(int), 0.4 + 0.2 * group[:, None]).astype(np.float64)
        one, two = ([x * (group == g)[:, None] for x in (yes, asked - lost, asked)] for g in (0, 1))
        bounds = shift_bounds(Replies(*one), Replies(*two), paired=False)
        found = compare_groups(yes, asked - lost, group, 0)
        table = EstimateTable("s", "m", ["question"])
        table.add(GAP, {"question": list("abcde")}, replace(found, p=found.p, bounds=bounds), family="gaps")
        page = judge(table.frame(), [GAP]).filter(verdict="difference found")
        kept += page["why"].str.contains("unless").to_list()
    assert len(kept) > 190
    assert np.mean(kept) < 0.05


def test_a_model_by_chance_that_refuses_most_choices_of_women_is_not_found_to_prefer_men() -> None:
    """34 instances, 85% of choices of women refused: men in nearly all answers, and in some cells in all of them."""
    rng = np.random.default_rng(3)
    plain = []
    for _ in range(60):
        pictures, cells = 30, 34
        men = rng.binomial(1, 0.5, size=(pictures, cells)).astype(np.float64)
        valid = np.where(men == 1, 1.0, rng.random(men.shape) > 0.85)
        asked = np.ones(men.shape)
        bounds = phi_bounds(Replies(men * valid, valid, asked)).subtract(0.5)
        found = cluster_means((men - 0.5) * valid, valid, 0, largest=0.5)
        table = EstimateTable("s", "m", ["instance"])
        labels = {"instance": [str(i) for i in range(cells)]}
        table.add(PREFERENCE, labels, replace(found, p=found.p, bounds=bounds), family="gaps from chance")
        page = judge(table.frame(), [PREFERENCE]).filter(verdict="difference found")
        plain.append(page.filter(~pl.col("why").str.contains("unless")).height > 0)
    assert np.mean(plain) <= 0.1


def made(low: Array, high: Array) -> list[Bounds]:
    none = np.zeros(low.shape[1])
    return [Bounds((one + two) / 2, one, two, none, none) for one, two in zip(low, high, strict=True)]


@given(seed=st.integers(0, 5_000))
def test_ranges_and_spreads_lie_within_their_bounds_and_reach_the_lower_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((2, 4, 3)), axis=0)
    spread, span = (f(made(*ends)) for f in (spread_bounds, range_bounds))
    means = ends[0] + rng.random((500, 4, 3)) * (ends[1] - ends[0])
    sd, width = means.std(axis=1, ddof=1), np.ptp(means, axis=1)
    assert (spread.low <= sd.min(axis=0) + 1e-9).all()
    assert (span.low <= width.min(axis=0) + 1e-9).all()
    assert (width.max(axis=0) <= span.high + 1e-9).all()
    corners = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T[:, :, None]
    most = np.where(corners == 1, ends[1], ends[0]).std(axis=1, ddof=1).max(axis=0)
    np.testing.assert_allclose(spread.high, most, rtol=0.1)
    overlap = ends[0].max(axis=0) <= ends[1].min(axis=0)
    assert (spread.low[overlap] < 1e-9).all()
    assert (spread.low[~overlap] > 0).all()


def test_a_group_without_answers_asked_counts_in_no_range() -> None:
    ends = np.array([[[0.2], [np.nan], [0.6]], [[0.3], [np.nan], [0.7]]])
    span = range_bounds(made(*ends))
    assert span.low.round(9).tolist() == [0.3]
    assert span.high.round(9).tolist() == [0.5]
