"""Intervals of shares and of their differences, against published examples and other software."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from facevalue.measures.proportions import effective_size, score_p, square_and_add, wilson

MANY = 10**9  # degrees of freedom with which t is the normal


def test_wilson_is_the_textbook_interval_where_answers_are_independent() -> None:
    for hits, size in ((0, 12), (3, 40), (40, 40), (250, 1000)):
        low, high = wilson(hits / size, size, MANY)
        assert (float(low), float(high)) == pytest.approx(proportion_confint(hits, size, method="wilson"), abs=1e-6)


def test_square_and_add_gives_newcombes_published_interval() -> None:
    # Newcombe 1998, Statistics in Medicine 17:873, Table II (a), method 10: 56/70 against 48/80.
    sides = [(np.array([x / n]), *wilson(np.array([x / n]), n, MANY)) for x, n in ((56, 70), (48, 80))]
    value, low, high = square_and_add(sides[0], sides[1])
    assert [float(x[0].round(4)) for x in (value, low, high)] == [0.2, 0.0524, 0.3339]


def test_few_clusters_widen_the_interval() -> None:
    few, many = (wilson(0.4, 50, df) for df in (3, 300))
    assert few[0] < many[0] < 0.4 < many[1] < few[1]


def test_pairs_that_all_agree_leave_an_interval_of_some_width() -> None:
    size = effective_size([1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [4, 4, 4])
    assert size.tolist() == [4, 4, 4]
    low, high = wilson([1.0, 0.0, 0.5], size, 3)
    assert (high - low > 0.3).all()


@given(st.floats(0, 1), st.floats(1, 1000), st.integers(1, 500))
def test_p_is_below_five_percent_exactly_where_the_interval_leaves_one_half_out(p: float, n: float, df: int) -> None:
    low, high = wilson(p, n, df)
    outside = not low <= 0.5 <= high
    if min(abs(float(low) - 0.5), abs(float(high) - 0.5)) > 1e-9:
        assert (score_p(p, n, df) < 0.05) == outside


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1))
def test_differences_turn_round_with_their_sides(one: float, other: float, r: float) -> None:
    first, second = ((np.array([x]), *wilson(np.array([x]), 20, 19)) for x in (one, other))
    value, low, high = square_and_add(first, second, r)
    back, back_low, back_high = square_and_add(second, first, r)
    np.testing.assert_allclose([value, low, high], [-back, -back_high, -back_low], atol=1e-12)
