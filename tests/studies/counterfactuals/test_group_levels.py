"""Levels of groups: intervals over few units hold for rare and skewed values, and are those of t without skewness."""

from collections.abc import Callable

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array, cluster_means, values_only
from facevalue.measures.uncertainty import Estimates
from facevalue.studies.counterfactuals.formulas import SKEWED_T, group_levels

SETS, GROUPS, DRAWS = 20, 10, 3


def _normal(rng: np.random.Generator, sets: int) -> Array:
    return rng.normal(size=(sets, 1, 1)) + rng.normal(size=(sets, GROUPS, DRAWS))


def _rare(rng: np.random.Generator, sets: int) -> Array:
    rate, shape = rng.beta(1, 15, (sets, 1, 1)), (sets, GROUPS, DRAWS)
    return 0.02 * rng.random(shape) + (rng.random(shape) < rate) * (0.3 + 0.6 * rng.random(shape))


def _long(rng: np.random.Generator, sets: int) -> Array:
    return np.exp(0.7 * rng.normal(size=(sets, 1, 1)) + 0.8 * rng.normal(size=(sets, GROUPS, DRAWS)))


def _rated(rng: np.random.Generator, sets: int) -> Array:
    return np.clip(np.rint(7 + rng.normal(size=(sets, GROUPS, DRAWS))), 1, 10)


@pytest.mark.parametrize("draw", [_normal, _rare, _long, _rated])
def test_intervals_of_twenty_sets_hold_the_mean_as_often_as_they_say(
    draw: Callable[[np.random.Generator, int], Array],
) -> None:
    rng = np.random.default_rng(1)
    true, held = draw(rng, 50_000).mean(), []
    for _ in range(200):
        values = draw(rng, SETS)
        found = group_levels(values.sum(axis=2), np.full((SETS, GROUPS), float(DRAWS)), 0)
        held.append(((found.low <= true) & (true <= found.high)).mean())
        assert ((found.low < found.value) & (found.value < found.high)).all()
    assert 0.925 < np.mean(held) < 0.985  # groups share their sets: 200 draws know it to about .012


def test_symmetric_values_have_the_interval_of_t() -> None:
    half = np.random.default_rng(2).normal(size=(8, 3))
    sums = np.concatenate([half, -half])
    ours, plain = (
        group_levels(sums, np.ones((16, 3)), 0),
        cluster_means(sums, np.ones((16, 3)), 0, level=True),
    )
    np.testing.assert_allclose(ours.low, plain.low)
    np.testing.assert_allclose(ours.high, plain.high)
    assert set(ours.method) == {SKEWED_T}


def test_a_group_without_any_rare_score_borrows_the_spread_of_the_others() -> None:
    sums = np.zeros((20, 4))
    sums[:3, 0] = sums[4:6, 1] = 0.5
    found = group_levels(sums, np.ones((20, 4)), 0)
    assert (found.high > 0.01).all()


def test_many_units_and_values_alone_and_no_spread_are_left_as_they_are() -> None:
    rng = np.random.default_rng(3)
    for values in (rng.random((40, 3)), np.full((10, 3), 7.0)):
        ours, plain = (f(values, np.ones(values.shape), 0) for f in (group_levels, _means))
        np.testing.assert_array_equal(ours.low, plain.low)
    with values_only():
        assert np.isnan(group_levels(rng.random((10, 3)), np.ones((10, 3)), 0).low).all()


def _means(sums: Array, counts: Array, seed: int) -> Estimates:
    return cluster_means(sums, counts, seed, level=True)
