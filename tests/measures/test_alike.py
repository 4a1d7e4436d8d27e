"""Means to which all clusters give one value have an interval with width."""

import math

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import cluster_means
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import ALIKE_SHIFTS, EQUAL_CLUSTERS, WIDENED_T, split_method


def entered(values: list[float], limits: tuple[float, float] = (0.0, 1.0)) -> tuple[object, ...]:
    sums = np.array(values)[:, None]
    table = EstimateTable("study", "model", ())
    measure = Measure("rate", "Rate", "x", "share", "face", "us", limits=limits)
    table.add(measure, {}, cluster_means(sums, np.ones_like(sums), 0, level=True))
    return table.frame().select("value", "low", "high", "method", "detail").row(0)


@pytest.mark.parametrize("faces", [2, 10, 40])
def test_of_faces_that_are_all_refused_the_interval_is_that_of_clopper_and_pearson(faces: int) -> None:
    value, low, high, *method = entered([1.0] * faces)
    assert (value, high, tuple(method)) == (1.0, 1.0, split_method(EQUAL_CLUSTERS))
    assert low == pytest.approx(0.025 ** (1 / faces))


def test_faces_that_differ_have_the_interval_that_they_had() -> None:
    assert entered([1.0] * 9 + [0.5])[3:] != split_method(EQUAL_CLUSTERS)


def test_without_limits_nothing_is_known_of_faces_that_were_not_seen() -> None:
    assert entered([1.0] * 10, limits=(-math.inf, math.inf))[1:3] == (None, None)


@pytest.mark.parametrize(("faces", "found"), [(4, False), (6, True), (20, True)])
def test_faces_that_all_shift_alike_are_judged_by_their_number_within_what_is_possible(faces: int, found: bool) -> None:
    """Ratings from 1 to 10 that all rise by three: no spread, so the signs decide, and it is said."""
    shifts = np.full((faces, 2), 3.0) * [1.0, -1.0]
    out = cluster_means(shifts, np.ones((faces, 2)), seed=0, largest=9.0)
    assert out.p is not None
    assert out.p == pytest.approx(2.0 ** (1 - faces))
    assert ((out.low > 0) | (out.high < 0)).tolist() == [found, found]
    assert -3.0 <= out.low[0] <= out.high[0] <= 9.0
    assert (out.low[0], out.high[0]) == pytest.approx((-out.high[1], -out.low[1]))
    assert out.method.tolist() == [ALIKE_SHIFTS, ALIKE_SHIFTS]


def test_faces_of_which_most_shift_alike_and_some_do_not_are_no_less_sure_than_their_signs() -> None:
    shifts = np.array([[1.0]] * 17 + [[0.0]] * 3)
    out = cluster_means(shifts, np.ones((20, 1)), seed=0, largest=9.0)
    assert 0 < out.low[0] < 0.85 < out.high[0] <= 9.0
    assert out.method.tolist() == [WIDENED_T]
