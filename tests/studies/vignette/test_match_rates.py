"""Match rates over three wordings."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from facevalue.studies.vignette.comparisons import chance_match_rates, match_rates


@pytest.mark.parametrize("options", [2, 3, 4])
def test_sampled_answers_are_counted(options: int) -> None:
    for answers in product(range(options), repeat=3):
        kind = {3: "full", 2: "partial", 1: "different"}[max(Counter(answers).values())]
        rates = match_rates(np.eye(options)[list(answers)])
        assert rates._asdict() == {name: float(name == kind) for name in ("full", "partial", "different")}


@given(arrays(np.float64, (5, 3, 4), elements=st.floats(0.01, 1)))
def test_exact_answers_give_what_independent_draws_give_on_average(raw: np.ndarray) -> None:
    shares = raw / raw.sum(axis=-1, keepdims=True)
    expected = np.zeros((3, 5))
    for answers in product(range(4), repeat=3):
        chance_of = np.prod([shares[:, w, o] for w, o in enumerate(answers)], axis=0)
        expected[{3: 0, 2: 1, 1: 2}[max(Counter(answers).values())]] += chance_of
    assert np.array(match_rates(shares)) == pytest.approx(expected, abs=1e-9)
    assert np.sum(match_rates(shares), axis=0) == pytest.approx(1.0)


@given(arrays(np.float64, (7, 3), elements=st.floats(0, 1)))
def test_two_options_cannot_give_three_answers(first: np.ndarray) -> None:
    assert match_rates(np.stack([first, 1 - first], axis=-1)).different == pytest.approx(0.0, abs=1e-9)


@given(arrays(np.float64, (3, 3), elements=st.floats(0.01, 1)), st.permutations(range(3)), st.permutations(range(3)))
def test_neither_the_order_of_wordings_nor_that_of_options_matters(
    raw: np.ndarray, wordings: list[int], options: list[int]
) -> None:
    shares = raw / raw.sum(axis=-1, keepdims=True)
    assert match_rates(shares[wordings][:, options]) == pytest.approx(match_rates(shares), abs=1e-9)


def test_a_wording_without_an_answer_leaves_the_trial_out() -> None:
    shares = np.array([[[1.0, 0], [1, 0], [np.nan, np.nan]], [[1.0, 0], [1, 0], [1, 0]]])
    for rate, second in zip(match_rates(shares), (1.0, 0.0, 0.0), strict=True):
        assert np.isnan(rate[0])
        assert rate[1] == second


def test_what_are_no_shares_of_three_wordings_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        match_rates(np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match="sum to 1"):
        match_rates(np.full((3, 2), 0.4))


def test_chance_of_right_and_wrong_with_four_options() -> None:
    assert [float(x) for x in chance_match_rates([0.25, 0.75])] == [28 / 64, 36 / 64, 0.0]
