"""Divergences between two tasks are found where they differ, and by chance alone where they say the same."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array
from facevalue.studies.visbias.divergence import Votes, task_divergences
from tests.floors import floor_of

SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def people(rng: np.random.Generator, many: int, votes: int, alike: float) -> Array:
    """Votes of people each of whom repeats one vote in a share of all."""
    usual = rng.choice(4, size=(many, 1), p=SHARES)
    each = rng.choice(4, size=(many, votes), p=SHARES)
    return np.asarray(np.eye(4)[np.where(rng.random(each.shape) < alike, usual, each)].sum(axis=1))


@pytest.mark.parametrize(("forms", "many", "votes", "alike"), [(12, 12, 5, 0.9), (200, 12, 5, 0.5), (20, 120, 5, 0.5)])
def test_tasks_that_say_the_same_differ_in_one_of_twenty(forms: int, many: int, votes: int, alike: float) -> None:
    rng = np.random.default_rng(1)
    audits = [Votes(np.eye(4)[rng.choice(4, forms, p=SHARES)], people(rng, many, votes, alike)) for _ in range(200)]
    estimates = task_divergences(audits, seed=1)
    assert floor_of(estimates).p[:-1].size == 200
    assert 0.01 <= (floor_of(estimates).p[:-1] < 0.05).mean() <= 0.10, "200 at .05 lie within in .998 of cases"


def test_tasks_that_differ_are_found() -> None:
    rng = np.random.default_rng(2)
    other = np.eye(4)[rng.choice(4, 60, p=SHARES[::-1])]
    estimates = task_divergences([Votes(other, people(rng, 40, 5, 0.5))], seed=1)
    assert estimates.q is not None
    assert estimates.q[0] < 0.01
    assert estimates.low[0] > 0


def test_a_hundred_votes_of_one_person_weigh_as_much_as_one() -> None:
    forms = np.eye(2)[[0] * 20 + [1] * 2]
    one, hundred = (task_divergences([Votes(forms, np.array([[0.0, votes]]))], seed=1) for votes in (1.0, 100.0))
    assert floor_of(one).p[0] == floor_of(hundred).p[0]


def test_people_who_all_say_the_same_are_as_many_votes_as_people() -> None:
    alike = np.tile([[10.0, 0.0]], (3, 1))
    estimates = task_divergences([Votes(np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 2), alike)], seed=1)
    assert floor_of(estimates).p[0] > 0.05
