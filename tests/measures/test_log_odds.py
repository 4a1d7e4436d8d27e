"""Log-odds: the published formula, and how often its interval holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.log_odds import Counts, log_odds


def counts(x: np.ndarray, n: np.ndarray) -> Counts:
    p = x / n
    return Counts(x, n, np.sqrt(p * (1 - p) / (n - 1)), n)


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
    value, _, low, _ = log_odds(Counts(one, one, np.array([np.nan]), one), rest)
    assert np.isfinite(value[0])
    assert np.isnan(low[0])
    assert np.isnan(log_odds(Counts(none, none, np.array([np.nan]), none), rest)[0][0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(share: float) -> None:
    rng = np.random.default_rng(7)
    inside, outside = (counts(rng.binomial(n, share, 2000).astype(float), np.full(2000, float(n))) for n in (16, 300))
    _, _, low, high = log_odds(inside, outside)
    assert ((low <= 0) & (high >= 0)).mean() > 0.94
