"""Tallies of questions in which groups differ: the test of each, the null, the interval."""

import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.findings import (
    _moments,
    finding_share,
    group_findings,
    question_findings,
    tally_bounds,
    welch_p,
)
from facevalue.measures.missing_data_bounds import Replies, phi_bounds
from facevalue.measures.uncertainty import Bounds
from tests.floors import floor_of

Array = np.ndarray


def moments(scores: Array, group: Array, groups: int) -> tuple[Array, Array, Array]:
    return _moments(scores, group[None], groups)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_p_is_that_of_welch(groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(groups), np.arange(groups), rng.integers(0, groups, 30)])
    scores = rng.normal(size=(group.size, 3)) * (1 + group[:, None]) + 0.3 * group[:, None]
    p = welch_p(*moments(scores, group, groups))[0]
    for column in range(3):
        samples = [scores[group == g, column] for g in range(groups)]
        expected = (
            scipy.stats.ttest_ind(*samples, equal_var=False).pvalue
            if groups == 2
            else scipy.stats.f_oneway(*samples, equal_var=False).pvalue
        )
        assert p[column] == pytest.approx(expected, rel=1e-9)


def test_missing_scores_and_lone_units_are_left_out_of_the_test() -> None:
    rng = np.random.default_rng(1)
    group = np.array([0] * 10 + [1] * 10 + [2])
    scores = rng.normal(size=(21, 1)) + group[:, None]
    scores[[0, 12]] = np.nan
    p = welch_p(*moments(scores, group, 3))[0]
    samples = [scores[(group == g) & np.isfinite(scores[:, 0]), 0] for g in (0, 1)]
    assert p[0] == pytest.approx(scipy.stats.ttest_ind(*samples, equal_var=False).pvalue)


def test_what_never_varies_cannot_be_tested_and_is_no_finding() -> None:
    group = np.arange(40) % 2
    scores = np.stack([np.ones(40), np.where(group == 1, 5.0, 0.0) + np.random.default_rng(0).normal(size=40)], axis=1)
    assert np.isnan(welch_p(*moments(scores, group, 2))[0, 0])
    tally = group_findings(scores, group, 2, np.arange(2), [np.arange(2)], 1)
    assert tally.value[0] == 0.5
    nothing = group_findings(scores[:, :1], group, 2, np.array([0]), [np.array([0])], 1)
    assert np.isnan(nothing.value[0])


def test_one_wording_with_a_finding_is_enough() -> None:
    rng = np.random.default_rng(2)
    group = np.arange(60) % 3
    scores = rng.normal(size=(60, 4))
    scores[:, 3] += 4 * group
    tally = group_findings(scores, group, 3, np.array([0, 0, 1, 1]), [np.arange(2), np.array([1])], 1)
    assert tally.value[1] == 1.0
    assert tally.n.tolist() == [2, 1]


def test_the_null_of_several_wordings_is_far_above_five_in_a_hundred() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(80, 100))
    tally = group_findings(scores, np.arange(80) % 2, 2, np.repeat(np.arange(20), 5), [np.arange(20)], 1)
    assert floor_of(tally).mean[0] == pytest.approx(1 - 0.95**5, abs=0.03)
    assert floor_of(tally).p[0] > 0.05
    assert tally.low[0] <= tally.value[0] <= tally.high[0]


@pytest.mark.slow
def test_intervals_hold_the_share_that_such_samples_find_and_the_null_its_level() -> None:
    def drawn(seed: int, effect: float) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        group = np.arange(60) % 2
        scores = 0.7 * rng.normal(size=(60, 10, 1)) + rng.normal(size=(60, 10, 3)) + 0.5 * rng.normal(size=(60, 1, 1))
        scores[:, :4] += effect * group[:, None, None]
        return scores.reshape(60, -1), group

    question = np.repeat(np.arange(10), 3)
    for effect in (0.0, 0.8):
        shares = [
            finding_share(question_findings(welch_p(*moments(*drawn(10_000 + s, effect), 2)), question))
            for s in range(400)
        ]
        truth = float(np.mean(shares))
        tallies = [group_findings(*drawn(s, effect), 2, question, [np.arange(10)], s) for s in range(60)]
        covered = [t.low[0] - 1e-9 <= truth <= t.high[0] + 1e-9 for t in tallies]
        assert np.mean(covered) > 0.88
        found = np.mean([floor_of(t).p[0] <= 0.05 for t in tallies])
        assert found < 0.15 if effect == 0 else found > 0.5


def test_columns_without_any_answer_raise_no_warning() -> None:
    scores = np.random.default_rng(4).random((30, 4))
    scores[:, 0] = np.nan
    scores[::2, 1] = np.nan
    group = np.arange(30) % 2
    seen = np.isfinite(scores).astype(float)
    ends = _ends(np.nan_to_num(scores), seen, np.ones_like(seen), group, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tally = group_findings(scores, group, 2, np.arange(4), [np.arange(4)], 1)
        bounds = tally_bounds(scores, group, ends, np.arange(4), [np.arange(4)])
        nothing = group_findings(np.full((30, 1), np.nan), group, 2, np.array([0]), [np.array([0])], 1)
    assert bounds.low[0] <= bounds.value[0] == tally.value[0] <= bounds.high[0]
    assert np.isnan(nothing.value[0])


def _ends(sums: Array, valid: Array, asked: Array, group: Array, groups: int) -> list[Bounds]:
    """Bounds of the groups' means from answers by unit and column."""
    return [
        phi_bounds(Replies(*(part * (group == g)[:, None] for part in (sums, valid, asked)))) for g in range(groups)
    ]


def test_bounds_are_the_share_itself_where_nothing_is_missing() -> None:
    rng = np.random.default_rng(5)
    group = np.arange(60) % 2
    scores = np.clip(rng.random((60, 6)) + np.array([0.4, 0, 0, 0, 0, 0]) * group[:, None], 0, 1)
    ones = np.ones_like(scores)
    bounds = tally_bounds(scores, group, _ends(scores, ones, ones, group, 2), np.arange(6), [np.arange(6)])
    assert bounds.low[0] == bounds.value[0] == bounds.high[0] > 0
    assert bounds.missing[0] == 0


def test_a_finding_that_withheld_answers_could_have_made_is_not_in_the_lower_bound() -> None:
    rng = np.random.default_rng(6)
    group = np.arange(200) % 2
    given = (rng.random((200, 3)) < 0.5).astype(float)
    withheld = (given == 1) & (group == 1)[:, None] & (rng.random((200, 3)) < 0.8)
    withheld[:, 2] = False
    given[:, 2] = group * 0.6 + 0.4 * rng.random(200)  # differs, with all answers there
    scores = np.where(withheld, np.nan, given)
    valid = np.where(withheld, 0.0, 1.0)
    ends = _ends(np.nan_to_num(scores) * valid, valid, np.ones_like(valid), group, 2)
    bounds = tally_bounds(scores, group, ends, np.arange(3), [np.arange(3)])
    assert bounds.value[0] == 1.0
    assert bounds.low[0] == pytest.approx(1 / 3)
    assert bounds.high[0] == 1.0
