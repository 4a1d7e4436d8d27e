"""Verdicts and tests of equivalence."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from facevalue.measures.verdicts import (
    BELOW_FLOOR,
    FOUND,
    FOUND_SMALL,
    NO_ANSWERS,
    NO_FLOOR,
    NO_INTERVAL,
    NO_MARGIN,
    NO_TEST,
    ONE_CLUSTER,
    UNDEFINED,
    ZERO_VARIANCE,
    Verdict,
    reach_verdicts,
    tost_p,
    unseen_p,
)

values = st.floats(-1, 1, allow_nan=False)


@given(value=values, se=st.floats(1e-4, 1), df=st.floats(1, 500), margin=st.floats(1e-3, 1))
def test_equivalence_read_from_the_90_percent_interval_agrees_with_the_test(
    value: float, se: float, df: float, margin: float
) -> None:
    p = float(tost_p(value, se, df, margin))
    half = float(stats.t.isf(0.05, df)) * se  # the 90% interval's
    low, high = value - half, value + half
    assume(abs(p - 0.05) > 1e-9)
    assert (p < 0.05) == (-margin < low and high < margin)


@given(value=values, se=st.floats(1e-4, 1), df=st.floats(1, 500), margin=st.floats(1e-3, 1))
def test_equivalence_is_symmetric_and_easier_with_a_wider_margin(
    value: float, se: float, df: float, margin: float
) -> None:
    p = tost_p(value, se, df, margin)
    assert tost_p(-value, se, df, margin) == pytest.approx(p)
    assert tost_p(value, se, df, 2 * margin) <= p + 1e-12


def test_tost_agrees_with_statsmodels() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    x = np.random.default_rng(2).normal(0.005, 0.1, 60)
    expected = DescrStatsW(x).ttost_mean(-0.03, 0.03)[0]
    assert tost_p(x.mean(), stats.sem(x), 59, 0.03) == pytest.approx(expected)


def test_tost_keeps_its_level_where_the_effect_is_the_margin_itself() -> None:
    x = np.random.default_rng(3).normal(0.2, 1, size=(4000, 50))
    p = tost_p(x.mean(axis=1), x.std(axis=1, ddof=1) / np.sqrt(50), 49, 0.2)
    assert np.mean(p < 0.05) <= 0.06


def test_what_allows_no_test_of_equivalence_gives_nan() -> None:
    p = tost_p([np.nan, 0.1, 0.1, 0.1], [0.1, np.nan, 0.0, 0.1], [9, 9, 9, 0], 0.1)
    assert np.isnan(p).all()


@pytest.mark.parametrize("margin", [0, -0.1, np.nan, [0.1, 0.0]])
def test_a_margin_that_is_not_above_zero_says_why_nothing_can_be_concluded(margin: object) -> None:
    with pytest.raises(ValueError, match="no sample however large could show equivalence"):
        tost_p(0.0, 0.1, 9, margin)  # type: ignore[arg-type]
    if not (isinstance(margin, float) and np.isnan(margin)):
        with pytest.raises(ValueError, match="margin above zero"):
            reach_verdicts([0.0] * 2, -1, 1, 1, margin, 1, 0.05)  # type: ignore[arg-type]


def test_an_infinite_margin_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        tost_p(0.0, 0.1, 9, np.inf)


def test_a_difference_that_is_small_is_found_and_flagged() -> None:
    out = reach_verdicts(0.01, 0.008, 0.012, q=1e-9, margin=0.05, tost_p=1e-9, alpha=0.05)
    assert out.verdict.item() is Verdict.DIFFERENCE
    assert out.why.item() == FOUND_SMALL


def test_an_unsigned_value_below_its_floor_is_no_finding() -> None:
    out = reach_verdicts(
        [0.03, 0.03, 0.03], 0.01, 0.05, q=0.01, margin=np.nan, tost_p=np.nan, alpha=0.05,
        floor_high=[0.04, 0.02, np.nan], unsigned=True,
    )  # fmt: skip
    assert out.verdict.tolist() == [Verdict.INCONCLUSIVE, Verdict.DIFFERENCE, Verdict.INCONCLUSIVE]
    assert out.why.tolist() == [BELOW_FLOOR, FOUND, NO_FLOOR]


def test_a_signed_value_needs_no_floor() -> None:
    out = reach_verdicts([0.03] * 2, 0.01, 0.05, 0.01, 0.1, 0.9, 0.05, floor_high=[np.nan, 0.02])
    assert out.verdict.tolist() == [Verdict.DIFFERENCE] * 2


def test_what_is_missing_is_named() -> None:
    nan = np.nan
    out = reach_verdicts(
        value=[nan, nan, nan, 0.2, 0.2, 0.0, 0.2],
        low=[nan, nan, nan, nan, nan, 0.0, 0.1],
        high=[nan, nan, nan, nan, nan, 0.0, 0.3],
        q=[nan, nan, nan, nan, nan, nan, nan],
        margin=0.1,
        tost_p=nan,
        alpha=0.05,
        n=[0, 40, 40, 40, 40, 40, 40],
        clusters=[0, 40, 40, 1, 40, 40, 40],
    )
    assert out.why.tolist() == [
        NO_ANSWERS, UNDEFINED, UNDEFINED, ONE_CLUSTER, NO_INTERVAL,
        ZERO_VARIANCE, NO_TEST,
    ]  # fmt: skip
    assert out.verdict.tolist() == [Verdict.NOT_MEASURABLE] * 6 + [Verdict.INCONCLUSIVE]
    assert "Nothing was asked, or" in out.why[0]  # who counts answers does not know whether any was asked for


@given(clusters=st.integers(2, 400), far=st.integers(0, 20), margin=st.floats(0.001, 0.5))
def test_clusters_that_move_all_the_way_or_not_at_all_are_tested_exactly(
    clusters: int, far: int, margin: float
) -> None:
    assume(far < clusters and far / clusters < margin)
    share = far / clusters
    se = np.sqrt(share * (1 - share) / (clusters - 1))
    p = unseen_p(share, se, clusters, margin, 1.0)
    assert p == pytest.approx(stats.binom.cdf(far, clusters, margin), rel=1e-6, abs=1e-12)


def test_without_a_largest_value_nothing_is_known_of_clusters_that_move_far() -> None:
    assert np.isnan(unseen_p(0.0, 0.1, 100, 0.5, np.inf))


def test_without_margin_nothing_is_equivalent() -> None:
    out = reach_verdicts(0.0, -0.1, 0.1, 0.9, margin=np.nan, tost_p=0.001, alpha=0.05)
    assert out.verdict.item() is Verdict.INCONCLUSIVE
    assert out.why.item() == NO_MARGIN


def test_equal_shifts_of_all_clusters_can_be_found_but_never_equivalent() -> None:
    out = reach_verdicts([1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1e-9, np.nan], 0.1, [np.nan, 0.001], 0.05)
    assert out.verdict.tolist() == [Verdict.DIFFERENCE, Verdict.NOT_MEASURABLE]


def test_alpha_outside_its_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="alpha"):
        reach_verdicts(0.0, -1, 1, 1, 0.1, 1, alpha=0)


maybe = st.one_of(st.floats(-1, 1), st.just(float("nan")))
chance = st.one_of(st.floats(0, 1), st.just(float("nan")))


@given(rows=st.lists(st.tuples(maybe, maybe, maybe, chance, chance), min_size=1, max_size=20))
def test_every_estimate_gets_one_verdict_and_missing_ones_never_another(
    rows: list[tuple[float, float, float, float, float]],
) -> None:
    value, low, high, q, p = np.array(rows).T
    out = reach_verdicts(value, low, high, q, 0.1, p, 0.05)
    missing = np.isnan(value) | np.isnan(low) | np.isnan(high)
    assert all(isinstance(v, Verdict) for v in out.verdict)
    assert (out.verdict[missing] == Verdict.NOT_MEASURABLE).all()
    assert all(isinstance(why, str) and why.endswith(".") for why in out.why)


def test_nothing_in_nothing_out() -> None:
    out = reach_verdicts([], [], [], [], 0.1, [], 0.05)
    assert out.verdict.size == out.why.size == 0
