"""Sizes that are chosen from a pilot whose answers count leave tests at their level."""

import numpy as np
import pytest
from scipy import stats

from facevalue.runs.audits.studies import FEWEST_UNITS, LEAST_FREEDOM
from facevalue.statistics.precision import pooled_spread

AUDITS = 2_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "tests", "level"),
    [(FEWEST_UNITS, 1 + LEAST_FREEDOM // (FEWEST_UNITS - 1), 0.01), (LEAST_FREEDOM + 1, 1, 0.05)],
)
def test_the_smallest_pilots_that_are_believed_cost_little_level(units: int, tests: int, level: float) -> None:
    rng = np.random.default_rng(7)
    alarms = []
    for _ in range(AUDITS):
        pilots = rng.standard_normal((3, units, tests)) + rng.standard_normal((3, units, 1))
        spreads = np.array(
            [pooled_spread([pilot[:, [test]] for test in range(tests)], "pilot").mean ** 2 for pilot in pilots]
        )
        size = max(int(12 * units * spreads[0] / spreads.sum()), units)
        rest = rng.standard_normal((size - units, tests)) + rng.standard_normal((size - units, 1))
        scores = np.concatenate([pilots[0], rest])
        t = scores.mean(axis=0) / (scores.std(axis=0, ddof=1) / np.sqrt(size))
        alarms.append(float((np.abs(t) > stats.t.isf(level / 2, size - 1)).mean()))
    error = np.std(alarms) / np.sqrt(AUDITS)
    assert np.mean(alarms) <= 1.2 * level + 3 * error
