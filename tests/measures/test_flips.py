"""Flips of the answer from base to change, and those of one picture asked twice."""

import numpy as np
import pytest

from facevalue.measures.answer_matches import Flips, answer_flips

BASE, VARIED = np.array([0]), np.array([1])


def of_replies(base: list[float], varied: list[float]) -> Flips:
    answers = np.array([[[base]], [[varied]]], dtype=np.float64)
    return answer_flips(
        answers, np.where(np.isfinite(answers), 1.0, 0.0), np.ones_like(answers, dtype=bool), BASE, VARIED
    )


def test_rate_and_floor_count_pairs_of_different_replies() -> None:
    base, varied = [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]
    out = of_replies(base, varied)
    assert out.rate.item() == pytest.approx(np.mean([a != b for a in base for b in varied]))
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    twice = [np.mean([side[i] != side[j] for i, j in pairs]) for side in (base, varied)]
    assert out.floor.item() == pytest.approx(np.mean(twice))
    assert out.beyond.item() == pytest.approx(out.rate.item() - out.floor.item())


def test_beyond_is_the_squared_difference_on_average_and_zero_without_one() -> None:
    rng = np.random.default_rng(0)
    for p, q in ((0.5, 0.5), (0.2, 0.7)):
        answers = (rng.random((2, 40_000, 1, 3)) < np.array([p, q])[:, None, None, None]).astype(float)
        out = answer_flips(answers, np.ones_like(answers), answers >= 0, BASE, VARIED)
        assert out.beyond.mean() == pytest.approx((p - q) ** 2, abs=0.01)


def test_one_reply_has_a_rate_and_no_floor() -> None:
    out = of_replies([1.0], [0.0])
    assert out.rate.item() == 1.0
    assert np.isnan(out.floor.item())
    assert np.isnan(out.beyond.item())


def test_exact_probabilities_need_no_second_reply() -> None:
    out = of_replies([0.9], [0.6])
    assert out.rate.item() == pytest.approx(0.9 * 0.4 + 0.6 * 0.1)
    assert out.beyond.item() == pytest.approx(0.09)


def test_missing_replies_are_left_out_and_counted() -> None:
    out = of_replies([1.0, np.nan], [0.0, 0.0])
    assert out.rate.item() == 1.0
    assert (out.valid.item(), out.asked.item()) == (0.5, 1.0)
    nothing = of_replies([np.nan, np.nan], [0.0, 1.0])
    assert np.isnan(nothing.rate.item())
    assert (nothing.valid.item(), nothing.asked.item()) == (0.0, 1.0)


def test_pictures_without_a_base_have_no_flips() -> None:
    answers = np.array([[[[1.0, 0.0]]], [[[1.0, 0.0]]]])
    out = answer_flips(answers, np.ones_like(answers), answers >= 0, np.array([-1]), VARIED)
    assert np.isnan(out.rate.item())
    assert out.asked.item() == 0
