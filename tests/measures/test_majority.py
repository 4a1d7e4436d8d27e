"""Groups against a majority that is alike: the unaffected are left alone, the affected found."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from facevalue.measures.cluster_bootstrap import Array, cell_means, values_only
from facevalue.measures.majority import Contrasts, from_majority, group_effects, replies_of
from facevalue.measures.multitest import adjust_p
from facevalue.studies.counterfactuals.formulas import from_set_mean

Drawn = Callable[[np.random.Generator, Array], Array]
SETS, DRAWS, AUDITS = 24, 3, 60


def _normal(rng: np.random.Generator, effect: Array) -> Array:
    shared, picture = rng.normal(size=(SETS, 1, 1)), 0.3 * rng.normal(size=(SETS, effect.size, 1))
    return shared + picture + rng.normal(size=(SETS, effect.size, DRAWS)) + effect[:, None]


def _rare(rng: np.random.Generator, effect: Array) -> Array:
    rate = np.clip(rng.beta(1, 15, (SETS, 1, 1)) * (1 + 4 * effect[:, None]), 0, 1)
    shape = (SETS, effect.size, DRAWS)
    return 0.02 * rng.random(shape) + (rng.random(shape) < rate) * (0.3 + 0.6 * rng.random(shape))


def _rated(rng: np.random.Generator, effect: Array) -> Array:
    return np.clip(np.rint(7 + 0.5 * rng.normal(size=(SETS, effect.size, 1)) + effect[:, None]), 1, 10)


def _audits(draw: Drawn, groups: int, affected: int, size: float) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Adjusted p of contrasts, and of a t test of each group against its sets with Holm; and what is planted."""
    rng = np.random.default_rng([groups, affected, int(10 * size)])
    effect = np.where(np.arange(groups) < affected, size, 0.0)
    ours, theirs = [], []
    for _ in range(AUDITS):
        values = draw(rng, effect)
        ours.append(np.nan_to_num(from_majority(values, seed=0).q, nan=1.0))
        apart = values.mean(axis=2) - values.mean(axis=(1, 2))[:, None]
        p = np.nan_to_num(stats.ttest_1samp(apart, 0).pvalue, nan=1.0)
        order = np.argsort(p)
        adjusted = np.empty(groups)
        adjusted[order] = np.maximum.accumulate(p[order] * np.arange(groups, 0, -1))
        theirs.append(adjusted)
    return np.array(ours), np.array(theirs), effect > 0


KINDS = [_normal, *(pytest.param(draw, marks=pytest.mark.slow) for draw in (_rare, _rated))]


@pytest.mark.parametrize("draw", KINDS)
@pytest.mark.parametrize("groups", [4, 10])
def test_with_nothing_planted_something_is_found_in_few_audits(draw: Drawn, groups: int) -> None:
    ours, _, _ = _audits(draw, groups, 0, 0.0)
    assert (ours < 0.05).any(axis=1).mean() <= 0.1  # .05, of 60 audits


@pytest.mark.slow
@pytest.mark.parametrize("draw", KINDS)
@pytest.mark.parametrize(("groups", "affected", "size"), [(10, 2, 0.75), (6, 2, 0.75), (4, 1, 0.75)])
def test_the_affected_are_found_as_by_t_and_the_others_are_left_alone(
    draw: Drawn, groups: int, affected: int, size: float
) -> None:
    ours, theirs, planted = _audits(draw, groups, affected, size)
    assert (ours[:, ~planted] < 0.05).any(axis=1).mean() <= 0.1
    assert (ours[:, planted] < 0.05).mean() >= 0.8 * (theirs[:, planted] < 0.05).mean() - 0.05
    assert (theirs[:, ~planted] < 0.05).any(axis=1).mean() > 0.1, "gaps from the mean of all do find the others"


def _unequal(rng: np.random.Generator, effect: Array) -> Array:
    values = _normal(rng, effect)
    values[:, ::3] += 1.7 * rng.normal(size=values[:, ::3].shape)
    return values


def _long_tailed(rng: np.random.Generator, effect: Array) -> Array:
    return rng.standard_t(3, size=(SETS, effect.size, DRAWS)) / np.sqrt(3) + effect[:, None]


def _unanswered(rng: np.random.Generator, effect: Array) -> Array:
    values = _normal(rng, effect)
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


@pytest.mark.slow
@pytest.mark.parametrize("draw", [_normal, _unequal, _long_tailed, _unanswered])
@pytest.mark.parametrize("affected", [0, 1, 2, 4])
def test_however_many_are_affected_they_are_found_as_by_t_and_intervals_hold(draw: Drawn, affected: int) -> None:
    rng = np.random.default_rng([affected, len(draw.__name__)])
    effect = np.where(np.arange(10) < affected, 0.45, 0.0)
    ours, theirs, holds = [], [], []
    for _ in range(5 * AUDITS):
        values = draw(rng, effect)
        found = from_majority(values, seed=0)
        apart = cell_means(np.nansum(values, axis=2), np.isfinite(values).sum(axis=2))
        apart -= np.nanmean(apart, axis=1, keepdims=True)
        p = np.asarray(stats.ttest_1samp(apart, 0, nan_policy="omit").pvalue)
        ours.append(found.q < 0.05)
        theirs.append(adjust_p(p, "holm") < 0.05)
        holds.append((found.estimates.low <= effect) & (effect <= found.estimates.high))
    named, named_by_t = np.array(ours), np.array(theirs)
    assert named[:, affected:].any(axis=1).mean() <= 0.09  # .05, of 300 audits
    assert 0.92 <= np.mean(holds) <= 0.98
    if affected:
        assert named[:, :affected].mean() >= 0.8 * named_by_t[:, :affected].mean()


def test_groups_that_vary_more_do_not_hide_one_that_varies_little() -> None:
    rng = np.random.default_rng(9)
    effect = np.where(np.arange(10) == 1, 0.65, 0.0)  # 0, 3, 6 and 9 vary more
    assert sum(from_majority(_unequal(rng, effect), 0).q[1] < 0.05 for _ in range(5)) >= 4


def test_what_is_known_of_groups_that_stand_apart_helps_to_find_the_next() -> None:
    values = _normal(np.random.default_rng(9), np.array([3.0, -3.0, 0.55, 0, 0, 0, 0, 0, 0, 0]))
    found = from_majority(values, seed=0)
    alone = from_majority(values[:, 2:], seed=0)
    assert (found.q[:3] < 0.05).all()
    assert found.q[2] <= 1.5 * alone.q[0]
    assert found.estimates.p is not None
    assert (found.q >= found.estimates.p).all()


@pytest.mark.parametrize("groups", [4, 6, 10])
def test_of_two_halves_none_is_named_and_yet_they_differ(groups: int) -> None:
    ours, _, planted = _audits(_normal, groups, groups // 2, 0.8)
    assert (ours[:, ~planted] < 0.05).any(axis=1).mean() <= 0.1
    rng = np.random.default_rng(1)
    assert from_majority(_normal(rng, planted.astype(np.float64)), seed=0).p_any < 0.01


@pytest.mark.parametrize("affected", [0, 1, 2])
def test_p_and_interval_say_the_same(affected: int) -> None:
    rng = np.random.default_rng(affected)
    for groups in (2, 3, 7, 12):
        for _ in range(5):
            found = from_majority(_normal(rng, np.where(np.arange(groups) < affected, 0.6, 0.0)), seed=0).estimates
            assert found.p is not None
            np.testing.assert_array_equal(found.p < 0.05, (found.low > 0) | (found.high < 0))
            assert ((found.low <= found.value) & (found.value <= found.high)).all()


def test_whole_sets_have_the_effects_of_their_means() -> None:
    values = _normal(np.random.default_rng(3), np.zeros(5))
    np.testing.assert_allclose(group_effects(values).mean, from_set_mean(values).value, atol=1e-12)


def test_missing_replies_leave_the_others_of_their_sets_in() -> None:
    rng = np.random.default_rng(4)
    values = _normal(rng, np.array([1.5, 0, 0, 0, 0, 0]))
    values[rng.random(values.shape) < 0.4 * (np.arange(6) < 2)[:, None]] = np.nan
    contrasts = from_majority(values, seed=0)
    found = contrasts.estimates
    assert (contrasts.q < 0.05).tolist() == [True] + [False] * 5
    assert found.n.tolist() == np.isfinite(values).sum(axis=(0, 2)).tolist()
    assert found.value[0] == pytest.approx(1.5, abs=0.5)


@pytest.mark.parametrize("sets", [8, 20])
def test_a_group_that_few_sets_have_does_not_stand_apart_by_chance(sets: int) -> None:
    """Of 100 audits .05 leaves at most 11 (binomial, 99%)."""
    rng, named = np.random.default_rng(sets), 0
    for _ in range(100):
        values = rng.normal(size=(sets, 1, 1)) + rng.normal(size=(sets, 5, 1))
        values[2:, 0] = np.nan
        named += bool((from_majority(values, seed=0).q[0] < 0.05).any())
    assert named <= 11


def test_withheld_values_that_could_explain_a_difference_turn_its_bounds() -> None:
    """Replies of two groups are withheld where they are high: what is there looks lower than it is."""
    rng = np.random.default_rng(5)
    whole = _rare(rng, np.zeros(6))
    asked = np.ones(whole.shape, dtype=bool)
    values = whole.copy()
    values[:, :2][(whole[:, :2] > 0.2) & (rng.random((SETS, 2, DRAWS)) < 0.8)] = np.nan
    found = from_majority(values, 0, (0.0, 1.0), replies_of(values, asked))
    assert (found.bounds.low <= found.estimates.value).all()
    assert (found.bounds.high >= found.estimates.value).all()
    assert (found.bounds.high[:2] > 0).all()
    assert (found.bounds.missing[:2] > 0).all()
    complete = from_majority(whole, 0, (0.0, 1.0), replies_of(whole, asked))
    np.testing.assert_allclose(complete.bounds.low, complete.estimates.value, atol=1e-12)
    np.testing.assert_allclose(complete.bounds.high, complete.estimates.value, atol=1e-12)


def test_one_and_the_same_pattern_in_all_sets_is_found_and_no_difference_at_all_is_none() -> None:
    values = np.full((12, 5, 1), 7.0)
    found = from_majority(values, 0, limits=(1.0, 10.0)).estimates
    assert found.value.tolist() == [0.0] * 5
    assert (found.low < 0).all()
    assert (found.high > 0).all()
    values[:, 1] = 6.0
    apart = from_majority(values, 0)
    assert (apart.q < 0.05).tolist() == [False, True, False, False, False]
    assert apart.estimates.value[1] == pytest.approx(-1)


@given(st.integers(2, 24), st.integers(2, 160), st.integers(1, 3))
def test_effects_of_whole_sets_are_means_of_what_is_left_of_each_set(groups: int, sets: int, draws: int) -> None:
    rng = np.random.default_rng([groups, sets, draws])
    values = 0.1 + 0.05 * rng.normal(size=(sets, groups, draws))
    apart = values.mean(axis=2) - values.mean(axis=(1, 2))[:, None]
    effects = group_effects(values)
    np.testing.assert_allclose(effects.mean, apart.mean(axis=0), atol=1e-12)
    smaller = group_effects(values / 1000)
    np.testing.assert_allclose(effects.variance, 1e6 * smaller.variance, rtol=1e-6)


def test_what_is_rounding_alone_is_no_difference() -> None:
    values = np.full((72, 18, 1), 1 / 3)
    values[:, 12:] = np.nextafter(1 / 3, 1)
    effects = group_effects(values)
    assert (effects.mean == 0).all()
    assert (effects.variance < 1e-30).all()
    contrasts = from_majority(values, 0, limits=(0.0, 1.0))
    assert (contrasts.estimates.value == 0).all()
    assert (contrasts.q == 1).all()
    assert (contrasts.estimates.low < 0).all()


def test_groups_that_cannot_be_compared_have_no_contrast() -> None:
    values = np.full((6, 4, 1), np.nan)
    values[:3, :2, 0], values[3:, 2:, 0] = 1.0, 2.0
    found = from_majority(values, 0)
    assert np.isnan(found.estimates.value).all()
    assert np.isnan(found.p_any)
    values = _normal(np.random.default_rng(6), np.zeros(4))
    values[:, 3] = np.nan
    assert np.isnan(from_majority(values, 0).estimates.value).tolist() == [False] * 3 + [True]
    one = from_majority(values[:1], 0).estimates
    assert np.isnan(one.low).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.floats(-50, 50), st.floats(0.01, 100))
def test_order_of_groups_origin_and_unit_do_not_matter(seed: int, groups: int, origin: float, unit: float) -> None:
    rng = np.random.default_rng(seed)
    values = _normal(rng, rng.normal(size=groups))
    order = rng.permutation(groups)
    with values_only():
        one, other = from_majority(values, 0), from_majority(origin + unit * values[:, order], 0)
    np.testing.assert_allclose(other.estimates.value, unit * one.estimates.value[order], atol=1e-6 * unit)


def test_values_alone_are_the_same() -> None:
    values = _normal(np.random.default_rng(7), np.array([1.0, 0, 0, 0]))
    whole: Contrasts = from_majority(values, 0)
    with values_only():
        bare = from_majority(values, 0)
    np.testing.assert_array_equal(bare.estimates.value, whole.estimates.value)
    assert np.isnan(bare.estimates.low).all()


def test_where_no_set_differs_from_another_missing_values_have_bounds_too() -> None:
    """All values are 0; half of the first group's are missing, and may be 1: its mean 1/2, that of all groups 1/6."""
    values = np.zeros((12, 3, 2))
    values[:, 0, 1] = np.nan
    found = from_majority(values, 0, (0.0, 1.0), replies_of(values, np.ones(values.shape, dtype=np.bool_)))
    assert found.estimates.value.tolist() == [0.0] * 3
    np.testing.assert_allclose(found.bounds.low, [0.0, -1 / 6, -1 / 6])
    np.testing.assert_allclose(found.bounds.high, [1 / 3, 0.0, 0.0])
    assert np.isnan(from_majority(values, 0).bounds.low).all(), "without limits nothing is known"


@given(seed=st.integers(0, 10_000), levels=st.integers(2, 4), sets=st.integers(2, 12), groups=st.integers(3, 7))
def test_what_rounding_does_to_equal_numbers_changes_nothing(seed: int, levels: int, sets: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, levels, size=(sets, groups, 2)).astype(np.float64)
    values[rng.random(values.shape) < 0.1] = np.nan
    exact = from_majority(values, seed=0)
    rounded = from_majority(values * (1 + 1e-14 * rng.normal(size=values.shape)), seed=0)
    for column in ("value", "low", "high", "se", "p"):
        now, before = (getattr(contrasts.estimates, column) for contrasts in (rounded, exact))
        np.testing.assert_allclose(now, before, rtol=1e-6, atol=1e-6, err_msg=column)
    np.testing.assert_allclose(rounded.q, exact.q, rtol=1e-6, atol=1e-6)
