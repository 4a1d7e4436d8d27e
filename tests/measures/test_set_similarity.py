"""Similarity of lists, beside that of two lists about one picture."""

import numpy as np
import pytest

from facevalue.measures.answer_matches import list_similarities

SETS = [frozenset(), frozenset("ab"), frozenset("a"), frozenset("bc")]


def compared(base: list[int], change: list[int]) -> tuple[float, float, float]:
    codes = np.array([[base], [change]])
    out = list_similarities(codes, SETS, codes >= -1, np.array([0]), np.array([1]))
    return tuple(float(values[0, 0]) for values in out[:3])  # type: ignore[return-value]


def test_it_is_the_share_of_what_either_names() -> None:
    assert compared([1, 1], [2, 2]) == (0.5, 1.0, 0.5)
    assert compared([1, 1], [3, 3])[0] == pytest.approx(1 / 3)
    assert compared([0, 0], [0, 0]) == (1.0, 1.0, 0.0)
    assert compared([0, 0], [1, 1])[0] == 0.0


def test_the_floor_is_that_of_two_replies_to_one_picture() -> None:
    assert compared([1, 2], [1, 2]) == (0.75, 0.5, -0.25)  # of few replies the difference may be below zero
    rate, floor, _ = compared([1, -1], [1, 2])
    assert rate == 0.75
    assert np.isnan(floor)


def test_missing_answers_are_left_out_and_counted() -> None:
    codes = np.array([[[1, -1]], [[1, 2]], [[-1, -1]]])
    out = list_similarities(codes, SETS, codes >= -1, np.array([0, 0]), np.array([1, 2]))
    assert out.valid.ravel().tolist() == [0.5, 0.0]
    assert out.pairs.ravel().tolist() == [1.0, 1.0]
    assert out.chosen.ravel().tolist() == [0.375, 0.0]


def test_nothing_is_lost_on_average_where_the_change_does_nothing() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, (4000, 1, 3))
    base, varied = np.arange(0, 4000, 2), np.arange(1, 4000, 2)
    out = list_similarities(codes, SETS, codes >= 0, base, varied)
    assert abs(out.beyond.mean()) < 4 * out.beyond.std() / 2000**0.5
    assert out.floor.mean() == pytest.approx(out.rate.mean(), abs=0.02)


def test_a_change_without_a_base_has_none() -> None:
    codes = np.zeros((2, 1, 2), dtype=np.int64)
    out = list_similarities(codes, SETS, codes >= 0, np.array([-1]), np.array([1]))
    assert np.isnan(out.rate).all()
    assert out.pairs.tolist() == [[0.0]]
