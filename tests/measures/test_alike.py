"""Means to which all clusters give one value have an interval with width."""

import math

import numpy as np
import pytest

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import means
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.unseen import ALIKE


def entered(values: list[float], limits: tuple[float, float] = (0.0, 1.0)) -> tuple[object, ...]:
    sums = np.array(values)[:, None]
    table = EstimateTable("study", "model", ())
    measure = Measure("rate", "Rate", "x", "share", "face", "us", limits=limits)
    table.add(measure, {}, means(sums, np.ones_like(sums), 0, level=True))
    return table.frame().select("value", "low", "high", "method").row(0)


@pytest.mark.parametrize("faces", [2, 10, 40])
def test_of_faces_that_are_all_refused_the_interval_is_that_of_clopper_and_pearson(faces: int) -> None:
    value, low, high, method = entered([1.0] * faces)
    assert (value, high, method) == (1.0, 1.0, ALIKE)
    assert low == pytest.approx(0.025 ** (1 / faces))


def test_faces_that_differ_have_the_interval_that_they_had() -> None:
    assert entered([1.0] * 9 + [0.5])[3] != ALIKE


def test_without_limits_nothing_is_known_of_faces_that_were_not_seen() -> None:
    assert entered([1.0] * 10, limits=(-math.inf, math.inf))[1:3] == (1.0, 1.0)
