"""Log-odds: the published formula, and how often its interval holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.studies.vignette.statistics import Tallies, log_odds, log_odds_between


def counts(x: np.ndarray, n: np.ndarray) -> Tallies:
    p = x / n
    return Tallies(x, n, np.sqrt(p * (1 - p) / (n - 1)), n)


def test_value_is_the_formula_of_section_5() -> None:
    value, *_ = log_odds(counts(np.array([7.0]), np.array([10.0])), counts(np.array([20.0]), np.array([90.0])))
    assert value[0] == pytest.approx(math.log((8 / 4) / (21 / 71)))


@given(st.integers(0, 20), st.integers(0, 20))
def test_swapping_activity_and_rest_turns_the_sign(x: int, y: int) -> None:
    one, other = (counts(np.array([float(k)]), np.array([20.0])) for k in (x, y))
    there, back = log_odds(one, other), log_odds(other, one)
    assert there[0][0] == pytest.approx(-back[0][0])
    assert there[2][0] == pytest.approx(-back[3][0])


def test_one_pair_gives_no_interval_and_no_option_no_value() -> None:
    one, none = np.array([1.0]), np.array([0.0])
    rest = counts(np.array([20.0]), np.array([90.0]))
    value, _, low, _, _ = log_odds(Tallies(one, one, np.array([np.nan]), one), rest)
    assert np.isfinite(value[0])
    assert np.isnan(low[0])
    assert np.isnan(log_odds(Tallies(none, none, np.array([np.nan]), none), rest)[0][0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(share: float) -> None:
    rng = np.random.default_rng(7)
    inside, outside = (counts(rng.binomial(n, share, 2000).astype(float), np.full(2000, float(n))) for n in (16, 300))
    _, _, low, high, p = log_odds(inside, outside)
    assert ((p < 0.05) == ((low > 0) | (high < 0))).all()
    assert ((low <= 0) & (high >= 0)).mean() > 0.94


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5])
@pytest.mark.parametrize("unequal", [False, True])
def test_one_picture_of_an_activity_is_held_against_how_much_the_others_differ(share: float, unequal: bool) -> None:
    """Pictures differ with SD 1 on the logit scale, nothing else does: found in 5% of cells, not in most of them."""
    rng = np.random.default_rng(5)
    groups, activities = 300, 20
    logit = math.log(share / (1 - share)) + rng.normal(0, 1, (groups, activities))
    n = rng.integers(6, 66, (groups, activities)) if unequal else np.full((groups, activities), 66)
    x = rng.binomial(n, 1 / (1 + np.exp(-logit))).astype(float)
    group = np.repeat(np.arange(groups), activities)
    value, _, low, high, p, df = log_odds_between(x.ravel(), n.ravel().astype(float), group)
    assert (df == activities - 2).all()
    assert np.isfinite(value).all()
    assert (0.015 if unequal else 0.03) <= (p < 0.05).mean() <= 0.065  # rare and asked unlike: too seldom
    assert ((p < 0.05) == ((low > 0) | (high < 0))).all()


def test_a_picture_that_stands_out_is_found_and_three_activities_are_too_few() -> None:
    x, n = np.array([60.0, 33, 30, 35, 31, 36, 34, 29]), np.full(8, 66.0)
    _, _, low, _, p, _ = log_odds_between(x, n, np.zeros(8, dtype=np.int64))
    assert low[0] > 0
    assert p[0] < 0.001
    few = log_odds_between(x[:3], n[:3], np.zeros(3, dtype=np.int64))
    assert np.isfinite(few[0]).all()
    assert np.isnan(few[2]).all()


def test_somebody_who_is_never_chosen_does_not_stand_out() -> None:
    """The ones added to both counts alone make 3.0 log odds of nothing."""
    value, *_, p, _ = log_odds_between(np.zeros(20), np.full(20, 66.0), np.zeros(20, dtype=np.int64))
    assert value.min() > 2
    assert p.min() > 0.2
