"""Intervals of shares and of their differences, against published examples and other software."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from facevalue.measures.cluster_bootstrap import Array, cluster_means
from facevalue.measures.estimators import column_shares
from facevalue.measures.proportions import effective_size, score_p, wilson_interval
from facevalue.measures.uncertainty import Estimates

MANY = 10**9  # degrees of freedom with which t is the normal


def test_wilson_is_the_textbook_interval_where_answers_are_independent() -> None:
    for hits, size in ((0, 12), (3, 40), (40, 40), (250, 1000)):
        low, high = wilson_interval(hits / size, size, MANY)
        assert (float(low), float(high)) == pytest.approx(proportion_confint(hits, size, method="wilson"), abs=1e-6)


def test_few_clusters_widen_the_interval() -> None:
    few, many = (wilson_interval(0.4, 50, df) for df in (3, 300))
    assert few[0] < many[0] < 0.4 < many[1] < few[1]


def test_pairs_that_all_agree_leave_an_interval_of_some_width() -> None:
    size = effective_size([1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [4, 4, 4])
    assert size.tolist() == [4, 4, 4]
    low, high = wilson_interval([1.0, 0.0, 0.5], size, 3)
    assert (high - low > 0.3).all()


@given(st.floats(0, 1), st.floats(1, 1000), st.integers(1, 500))
def test_p_is_below_five_percent_exactly_where_the_interval_leaves_one_half_out(p: float, n: float, df: int) -> None:
    low, high = wilson_interval(p, n, df)
    outside = not low <= 0.5 <= high
    if min(abs(float(low) - 0.5), abs(float(high) - 0.5)) > 1e-9:
        assert (score_p(p, n, df) < 0.05) == outside


def replies_without_an_answer(
    share: float, units: int, replies: int, within: float, audits: int
) -> tuple[Array, Array]:
    """Missing and all replies by unit, of so many audits; those of one unit are correlated by `within`."""
    rng, size = np.random.default_rng(7), 1 / within - 1
    of_units = rng.beta(share * size, (1 - share) * size, (units, audits))
    missing = rng.binomial(replies, of_units).astype(np.float64)
    return missing, np.full(missing.shape, float(replies))


def covered(estimates: Estimates, share: float) -> float:
    return float(np.mean((estimates.low <= share) & (share <= estimates.high)))


@pytest.mark.parametrize("share", [0.005, 0.02, 0.98, 0.995])
@pytest.mark.parametrize(("units", "replies", "within"), [(40, 10, 0.1), (12, 10, 0.1), (100, 4, 0.2)])
def test_shares_near_none_and_all_are_covered(share: float, units: int, replies: int, within: float) -> None:
    assert covered(column_shares(*replies_without_an_answer(share, units, replies, within, 600)), share) > 0.9


def test_a_bootstrap_of_rare_answers_has_nothing_to_draw_and_is_too_sure() -> None:
    missing, replies = replies_without_an_answer(0.005, 40, 10, 0.1, 100)
    assert (
        covered(cluster_means(missing, replies, seed=0, level=True), 0.005)
        < 0.85
        < covered(column_shares(missing, replies), 0.005)
    )
