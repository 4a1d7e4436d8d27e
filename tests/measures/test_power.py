"""Power, against a library and by simulation."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.measures.power import (
    clusters_needed,
    detectable_mean,
    detects_mean,
    fewest_clusters,
    minimum_detectable,
    smallest_effect,
)


@pytest.mark.parametrize("clusters", [3, 5, 10, 30, 100, 500])
@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.0001])
def test_the_detectable_effect_agrees_with_statsmodels(clusters: int, alpha: float) -> None:
    from statsmodels.stats.power import TTestPower

    effect = float(detectable_mean(1.0, clusters, alpha))
    detected = TTestPower().power(effect, clusters, alpha / 2, alternative="larger")  # in its own direction
    assert detected == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("sd", "effect"), [(0.2, 0.05), (0.3, 0.02), (1.0, 1.5), (0.2, 0.13)])
def test_the_clusters_needed_agree_with_statsmodels(sd: float, effect: float) -> None:
    from statsmodels.stats.power import TTestPower

    expected = TTestPower().solve_power(effect / sd, alpha=0.05, power=0.8)
    assert clusters_needed(sd, effect) == np.ceil(expected)


@pytest.mark.parametrize("clusters", [5, 30, 100])
def test_the_detectable_effect_is_detected_as_often_as_promised(clusters: int) -> None:
    effect = float(detectable_mean(0.2, clusters))
    x = np.random.default_rng(clusters).normal(effect, 0.2, size=(8000, clusters))
    test = stats.ttest_1samp(x, 0, axis=1)
    assert np.mean((test.pvalue < 0.05) & (test.statistic > 0)) == pytest.approx(0.8, abs=0.015)


@given(
    sd=st.floats(0.01, 2),
    effect=st.floats(0.005, 1),
    alpha=st.sampled_from([0.05, 0.01, 0.0005]),
    wanted=st.sampled_from([0.5, 0.8, 0.95]),
)
def test_the_clusters_needed_are_the_fewest_that_detect(sd: float, effect: float, alpha: float, wanted: float) -> None:
    need = float(clusters_needed(sd, effect, alpha, wanted))
    assert need == int(need) >= 2
    assert detectable_mean(sd, need, alpha, wanted) <= effect * (1 + 2e-6)
    if need > 2:
        assert detectable_mean(sd, need - 1, alpha, wanted) > effect


@given(sd=st.floats(0.01, 2), clusters=st.integers(2, 2000))
def test_more_clusters_detect_less_and_more_variance_detects_more(sd: float, clusters: int) -> None:
    assert detectable_mean(sd, clusters + 1) < detectable_mean(sd, clusters) < detectable_mean(sd * 1.1, clusters)


def test_a_run_and_a_plan_agree() -> None:
    assert minimum_detectable(0.2 / np.sqrt(40), 39) == detectable_mean(0.2, 40)


def test_t_becomes_normal_without_a_step() -> None:
    below, above, limit = minimum_detectable(1.0, [99_999, 100_001, np.inf])
    assert below == pytest.approx(above, rel=1e-4)
    assert above == limit == pytest.approx(stats.norm.ppf(0.8) + stats.norm.ppf(0.975))


@pytest.mark.parametrize(("df", "alpha"), [(1, 0.001), (1, 5e-5), (1, 1e-9), (2, 1e-7), (3, 1e-9)])
def test_few_clusters_in_a_large_family_are_right_and_fast(df: int, alpha: float) -> None:
    start = time.perf_counter()
    delta = float(minimum_detectable(1.0, df, alpha))
    assert time.perf_counter() - start < 1
    rng = np.random.default_rng(4)
    t = (delta + rng.normal(size=400_000)) / np.sqrt(rng.chisquare(df, size=400_000) / df)
    assert np.mean(t > stats.t.isf(alpha / 2, df)) == pytest.approx(0.8, abs=0.004)


def test_the_asymptotic_form_meets_the_exact_one() -> None:
    alpha = 2 * stats.t.sf([199.9, 200.1], 2)
    exact, asymptotic = minimum_detectable(1.0, 2, alpha)
    assert asymptotic / exact == pytest.approx(200.1 / 199.9, rel=3e-5)


def test_missing_and_zero_variance_promise_nothing() -> None:
    assert np.isnan(minimum_detectable([np.nan, 0.0, 0.1, 0.1], [9, 9, np.nan, 0])).all()
    assert np.isnan(detectable_mean([0.0, np.nan, 0.1, 0.1], [9, 9, 1, np.nan])).all()
    assert np.isnan(clusters_needed([0.0, np.nan, 0.1], [0.1, 0.1, np.nan])).all()
    assert np.isposinf(clusters_needed(0.1, 0.0))


@pytest.mark.parametrize(("alpha", "wanted"), [(0.0, 0.8), (0.6, 0.8), (np.nan, 0.8), (0.05, 1.0), (0.05, 0.3)])
def test_levels_and_powers_out_of_range_are_errors(alpha: float, wanted: float) -> None:
    with pytest.raises(ValueError, match="must"):
        minimum_detectable(0.1, 9, alpha, wanted)


def test_a_negative_standard_deviation_is_an_error() -> None:
    with pytest.raises(ValueError, match="never negative"):
        detectable_mean(-0.1, 9)


def test_ten_thousand_comparisons_take_no_time() -> None:
    df = np.random.default_rng(0).uniform(1.5, 500, 10_000)
    start = time.perf_counter()
    assert np.isfinite(minimum_detectable(0.1, df)).all()
    assert time.perf_counter() - start < 5


def test_drawn_audits_of_normal_clusters_detect_what_the_noncentral_t_says() -> None:
    noise = np.random.default_rng(1).standard_normal(20_000)
    noise = np.asarray(0.2 * (noise - noise.mean()) / noise.std(), dtype=np.float64)
    found = smallest_effect(lambda effect: noise + effect, 40, 0.01, 1.0)
    assert found == pytest.approx(float(detectable_mean(0.2, 40, 0.01)), rel=0.03)
    assert fewest_clusters(noise + 0.1, 0.01) == pytest.approx(float(clusters_needed(0.2, 0.1, 0.01)), abs=2)


def test_few_clusters_that_are_all_alike_are_no_finding_however_far_they_move() -> None:
    """Five that all move by 1 have a p-value of 2/2^5, as by signs."""
    assert not detects_mean(np.ones(100), 5, 0.01, largest=1.0)
    assert detects_mean(np.ones(100), 9, 0.01, largest=1.0)
    assert not detects_mean(np.ones(100), 1, 0.01, largest=1.0)
    far = np.arange(100) / 100
    assert np.isnan(smallest_effect(lambda effect: np.where(far < effect, 1.0, 0.0), 5, 0.01, 1.0))
