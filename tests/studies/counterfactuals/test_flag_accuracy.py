"""Precision, recall and F1 of flags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.studies.counterfactuals.stereotypes import flag_accuracy

FLAGS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30)


def test_the_printed_pair_is_one_that_300_words_allow() -> None:
    """D.2 prints P = .82 and R = .29 for 300 words: 28 of 34 flagged, of 97 that people flag, are one such case."""
    flagged, gold = np.zeros(300), np.zeros(300)
    flagged[:34] = 1
    gold[:28] = gold[34:103] = 1
    found = flag_accuracy(flagged, gold, seed=1)
    assert found.value.round(2).tolist() == [0.82, 0.29, 0.43]
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()


@given(FLAGS)
def test_precision_and_recall_change_places_with_flags_and_people(pairs: list[tuple[bool, bool]]) -> None:
    flagged, gold = np.array(pairs, dtype=np.float64).T
    one, other = flag_accuracy(flagged, gold, 1).value, flag_accuracy(gold, flagged, 1).value
    assert np.array_equal(one[[1, 0, 2]], other, equal_nan=True)
    if np.isfinite(one).all() and one[:2].all():
        assert one[2] == pytest.approx(2 / (1 / one[0] + 1 / one[1]))


def test_no_flag_is_not_a_precision_of_0() -> None:
    found = flag_accuracy(np.zeros(5), np.array([1.0, 0, 0, 0, 0]), 1)
    assert np.isnan(found.value[0])
    assert found.value[1:].tolist() == [0, 0]
    assert np.isnan(flag_accuracy(np.ones(1), np.ones(1), 1).low).all()
    with pytest.raises(ValueError, match="same shape"):
        flag_accuracy(np.ones(2), np.ones(3), 1)
