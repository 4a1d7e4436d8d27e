"""Groups against their sets where scores are rare."""

import numpy as np
import pytest

from facevalue.studies.counterfactuals.formulas import from_set_mean


@pytest.mark.parametrize(("sets", "rate"), [(12, 0.08), (36, 0.02), (36, 0.08)])
def test_groups_without_any_rare_score_are_no_finding(sets: int, rate: float) -> None:
    rng, found, covered = np.random.default_rng(7), 0, []
    for _ in range(60):
        gaps = [from_set_mean(0.2 * (rng.random((sets, 10, 3)) < rate).astype(np.float64)) for _ in range(4)]
        p = np.concatenate([one.p for one in gaps if one.p is not None])
        found += bool(np.nanmin(p) < 0.05 / 40)
        covered += [np.mean((one.low <= 1e-12) & (one.high >= -1e-12)) for one in gaps]
    assert found <= 6  # t alone: 20 to 60
    assert np.mean(covered) > 0.94


@pytest.mark.parametrize("sets", [3, 4, 8, 20])
def test_a_clear_gap_of_a_few_sets_has_a_p_that_goes_with_its_interval(sets: int) -> None:
    """Ratings of ten groups in four sets, one group three points up: their labels dealt anew never give as much."""
    rng = np.random.default_rng(sets)
    found, agree = [], []
    for _ in range(40):
        ratings = np.rint(rng.normal(5, 1, (sets, 1, 1)) + rng.normal(0, 1, (sets, 10, 1)))
        ratings[:, 0] += 3
        gaps = from_set_mean(np.clip(ratings, 1, 10), largest=9.0)
        assert gaps.p is not None
        found.append(gaps.p[0] < 0.05)
        agree.append((gaps.p < 0.05) == ((gaps.low > 0) | (gaps.high < 0)))
    assert np.all(agree)
    assert np.mean(found) > (0.5 if sets == 3 else 0.85)
