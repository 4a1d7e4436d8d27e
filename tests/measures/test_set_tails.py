"""Groups against their sets where scores are rare."""

import numpy as np
import pytest

from facevalue.measures.set_tails import from_set_mean


@pytest.mark.parametrize(("sets", "rate"), [(12, 0.08), (36, 0.02), (36, 0.08)])
def test_groups_without_any_rare_score_are_no_finding(sets: int, rate: float) -> None:
    rng, found, covered = np.random.default_rng(7), 0, []
    for _ in range(60):
        gaps = [from_set_mean(0.2 * (rng.random((sets, 10, 3)) < rate).astype(np.float64)) for _ in range(4)]
        p = np.concatenate([one.p_zero for one in gaps if one.p_zero is not None])
        found += bool(np.nanmin(p) < 0.05 / 40)
        covered += [np.mean((one.low <= 1e-12) & (one.high >= -1e-12)) for one in gaps]
    assert found <= 6  # t alone: 20 to 60
    assert np.mean(covered) > 0.94
