"""Tests by shuffled labels: as fine as the family needs, and not finer than the labels allow."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array, values_only
from facevalue.measures.noise_floors import LONE_EFFECT, MOST_SHUFFLES, Deals, by_shuffles


def normal(tests: int, seed: int) -> tuple[Array, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=tests), rng


def test_one_effect_among_two_thousand_tests_is_found() -> None:
    """With 1,000 shuffles no p is below .001, and .05 / 2,000 asks for one."""
    observed, rng = normal(2000, 1)
    observed[7] = 7.0
    found = by_shuffles(observed, lambda size: rng.normal(size=(size, 2000)), signed=True)
    assert found.shuffles == MOST_SHUFFLES
    assert np.flatnonzero(found.q < 0.001).tolist() == [7]
    assert found.p_least[0] * 2000 == pytest.approx(1 / LONE_EFFECT / (1 + MOST_SHUFFLES))


@pytest.mark.parametrize("signed", [True, False])
def test_families_without_effect_find_something_one_time_in_twenty(signed: bool) -> None:
    hits = []
    for seed in range(300):
        rng = np.random.default_rng(seed)

        def draw(size: int, rng: np.random.Generator = rng) -> Array:
            values = rng.normal(size=(size, 30)) @ np.diag(np.geomspace(1, 50, 30))
            return values if signed else values**2

        found = by_shuffles(draw(1)[0], draw, signed=signed, first=200, most=1000)
        hits.append((found.q < 0.05).any())
        assert found.shuffles == 1000 or found.p_family.min() >= 0.02
    assert np.mean(hits) < 0.085  # .05 and 2.8 standard errors


def test_shuffling_stops_where_it_promises_nothing() -> None:
    observed, rng = normal(20, 4)
    found = by_shuffles(observed, lambda size: rng.normal(size=(size, 20)), signed=True)
    assert found.shuffles < MOST_SHUFFLES
    assert found.q.min() > 0.05


def test_a_single_test_is_its_own_family_and_few_labels_limit_it() -> None:
    rng = np.random.default_rng(0)
    found = by_shuffles(np.array([9.0]), lambda size: rng.normal(size=(size, 1)), signed=True, labelings=6)
    assert found.q.tolist() == found.p.tolist()
    assert found.p_least.tolist() == [pytest.approx(1 / 6)]


def test_what_cannot_be_tested_is_no_test() -> None:
    rng = np.random.default_rng(0)
    found = by_shuffles(np.array([np.nan, 9.0]), lambda size: rng.normal(size=(size, 2)), signed=True)
    assert np.isnan([found.p[0], found.q[0], found.p_least[0], found.floor.mean[0]]).all()
    assert found.q[1] == found.p[1]
    with values_only():
        assert np.isnan(by_shuffles(np.array([1.0]), lambda _: np.ones((1, 1)), signed=True).p).all()


def test_labels_move_among_people_of_one_occupation_or_within_a_person() -> None:
    label = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    unit = np.array([0, 0, 1, 1, 2, 3, 4, 4])  # the last has both groups
    stratum = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    deals = Deals(label, unit, stratum)
    drawn = deals.draw_labels(400, np.random.default_rng(1))
    assert deals.distinct == 2 * 2 * 2
    assert len(np.unique(drawn, axis=0)) == 8
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 0] != drawn[:, 2]).all()
    assert (drawn[:, 6:].sum(axis=1) == 1).all()
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.1
