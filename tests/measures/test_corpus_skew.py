"""Skew of a corpus: the paper's Table 7, Wilson's interval, and what holds for any counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from facevalue.measures.group_shares import corpus_skew

TABLE_7 = {"pilot": (38, 25, 0.1032), "chef": (34, 24, 0.0862), "nurse": (43, 104, 0.2075), "housekeeper": (0, 8, 0.5)}


@pytest.mark.parametrize("instance", TABLE_7)
def test_table_7_of_modscan(instance: str) -> None:
    male, female, printed = TABLE_7[instance]
    _, (skew, _, _) = corpus_skew(male, female)
    assert float(skew) == pytest.approx(printed, abs=5e-5)


def test_without_words_there_is_no_skew_and_never_zero() -> None:
    share, skew = corpus_skew([0, 1], [0, 1])
    assert np.isnan([part[0] for part in (*share, *skew)]).all()
    assert skew[0][1] == 0.0


@given(male=st.integers(0, 10_000), female=st.integers(0, 10_000))
def test_the_interval_is_wilsons_carried_over(male: int, female: int) -> None:
    if male + female == 0:
        return
    (share, low, high), (skew, nearest, farthest) = (
        [float(part) for part in parts] for parts in corpus_skew(male, female)
    )
    wilson = proportion_confint(male, male + female, method="wilson")
    assert (low, high) == pytest.approx(wilson, abs=1e-9)
    inside = np.abs(np.linspace(low, high, 501) - 0.5)
    assert farthest == pytest.approx(inside.max(), abs=1e-9)
    assert nearest == pytest.approx(inside.min(), abs=2e-3)
    assert nearest <= skew <= farthest
    assert (nearest == 0) == (low <= 0.5 <= high)
    assert share == male / (male + female)


@given(male=st.integers(0, 500), female=st.integers(0, 500))
def test_exchanged_genders_have_the_same_skew(male: int, female: int) -> None:
    one, other = (corpus_skew(*counts)[1] for counts in ((male, female), (female, male)))
    assert np.allclose(one, other, equal_nan=True)
