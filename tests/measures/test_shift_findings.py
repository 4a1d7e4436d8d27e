"""Share of questions in which a picture moves the answer: its test, its null, its interval and its bounds."""

import numpy as np
import pytest
from scipy import stats

from facevalue.measures.findings import finding_bounds, finding_share, question_findings, shift_findings, shift_p
from facevalue.measures.uncertainty import Bounds
from tests.floors import floor_of

QUESTIONS, UNITS = 20, 24
EACH = np.arange(QUESTIONS)
ALL = [EACH]


def drawn(seed: int, moved: int, size: float = 0.3) -> np.ndarray:
    """Shifts of 24 people in 20 questions, so many of which are moved, as answers of yes or no."""
    rng = np.random.default_rng(seed)
    person = rng.normal(0, 0.05, (UNITS, 1))
    chance = np.clip(0.5 + person + size * (moved > EACH), 0, 1)
    return (rng.random((UNITS, QUESTIONS)) < chance).astype(float) - (rng.random((UNITS, QUESTIONS)) < 0.5)


def moments(shifts: np.ndarray) -> list[np.ndarray]:
    return [shifts.sum(axis=0), (shifts**2).sum(axis=0), np.isfinite(shifts).sum(axis=0).astype(float)]


def test_p_is_that_of_the_paired_t_test() -> None:
    shifts = drawn(1, 5)
    assert shift_p(*moments(shifts)) == pytest.approx(stats.ttest_1samp(shifts, 0).pvalue)


def test_who_all_move_alike_are_a_finding_and_who_do_not_move_are_none() -> None:
    p = shift_p(*moments(np.column_stack([np.ones(8), np.zeros(8), np.r_[1.0, np.zeros(7)]])))
    assert p[0] == pytest.approx(2 / 2**8)
    assert p[1] == 1
    assert p[2] > 0.05
    assert np.isnan(shift_p(*moments(np.ones((1, 1)))))[0]


def test_a_share_of_all_questions_leaves_room_for_units_that_were_not_seen() -> None:
    found = shift_findings(np.ones((12, QUESTIONS)), EACH, ALL, 0)
    assert floor_of(found).p[0] < 0.05
    assert (found.value[0], found.high[0]) == (1.0, 1.0)
    assert found.low[0] == pytest.approx(0.025 ** (1 / 12))  # as of Clopper and Pearson, of people
    still = shift_findings(np.zeros((UNITS, QUESTIONS)), EACH, ALL, 0)
    assert (still.value[0], still.low[0]) == (0.0, 0.0)
    assert still.high[0] == pytest.approx(1 - 0.025 ** (1 / UNITS))


def test_any_wording_is_enough() -> None:
    shifts = drawn(2, 10, 0.6)
    questions = EACH // 2
    found = shift_findings(shifts, questions, [np.arange(10)], 0)
    hits = np.asarray(stats.ttest_1samp(shifts, 0).pvalue).reshape(10, 2) < 0.05
    assert found.value[0] == pytest.approx(hits.any(axis=1).mean())
    assert found.n.tolist() == [10]
    assert found.clusters.tolist() == [UNITS]


@pytest.mark.parametrize(("moved", "least"), [(0, 0), (6, 15), (20, 50)])
def test_the_null_keeps_its_level_and_intervals_hold_the_share_of_such_samples(moved: int, least: int) -> None:
    expected = np.mean(
        [finding_share(question_findings(shift_p(*moments(drawn(9_000 + s, moved)))[None], EACH)) for s in range(300)]
    )
    held, called = 0, 0
    for seed in range(60):
        shares = shift_findings(drawn(seed, moved), EACH, ALL, seed)
        held += bool(shares.low[0] <= expected <= shares.high[0])
        called += bool(floor_of(shares).p[0] < 0.05)
    assert held >= 54
    assert called >= least
    assert moved or called <= 7


def test_bounds_hold_the_share_and_widen_with_what_is_missing() -> None:
    shifts = drawn(3, 10, 0.5)
    means = shifts.mean(axis=0)
    for gap in (0.0, 0.2):
        none = np.zeros(QUESTIONS)
        ends = Bounds(means, means - gap, means + gap, none + gap, none)
        bounds = finding_bounds(shifts, ends, EACH, ALL)
        value = shift_findings(shifts, EACH, ALL, 0).value[0]
        assert bounds.low[0] <= value <= bounds.high[0]
        assert (bounds.high[0] - bounds.low[0] > 0) == (gap > 0)
