"""Spread of groups whose differences vanish beside those of another scenario."""

import warnings

import numpy as np
import pytest

from facevalue.measures.group_spread import spreads


@pytest.mark.parametrize("scale", [0, 1e-100, 1e-155, 1e-300, 5e-324])
def test_a_scenario_almost_without_differences_makes_no_warning_and_leaves_the_others(scale: float) -> None:
    scores = np.random.default_rng(0).normal(size=(40, 3))
    groups = np.arange(40) % 2
    still = spreads(scores * [1, 0, 1], groups, 2, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny = spreads(scores * [1, scale, 1], groups, 2, seed=1)
    np.testing.assert_allclose(tiny.value, still.value, atol=1e-90)
    np.testing.assert_allclose(tiny.high[[0, 2, 3]], still.high[[0, 2, 3]])
