"""Planted preferences are recovered by VIGNETTE's measures."""

import numpy as np
import pytest

from facevalue.models.sim import PRESETS, SimModel
from facevalue.studies.vignette.calibration import audit, audited, calibrate, study, truth
from facevalue.studies.vignette.tables import activities

DONE = [activity.name for activity in activities()[:3]]


def test_what_is_planted_adds_up_to_even_choices() -> None:
    known = truth(PRESETS["strong"], DONE)
    assert np.mean(list(known.gap.values())) == pytest.approx(0, abs=1e-9)
    assert 35 < np.mean(list(known.selection.values())) < 47  # both and none get the rest
    assert np.std(list(known.selection.values())) > 3
    for one in audited():
        assert sum(v for (i, _), v in known.paircomp.items() if i == one) == pytest.approx(0, abs=1e-9)


def test_nothing_planted_is_an_even_choice_for_everyone() -> None:
    known = truth(PRESETS["null"], DONE)
    assert np.ptp(list(known.selection.values())) == pytest.approx(0, abs=1e-9)
    assert list(known.gap.values()) == pytest.approx([0] * 12, abs=1e-9)
    assert list(known.paircomp.values()) == pytest.approx([0] * 132)


def test_an_audit_compares_every_identity_and_every_pair_with_what_is_planted() -> None:
    found = audit(study(3), SimModel("strong@5"), DONE)
    assert sorted(found.selection["identity"].to_list()) == sorted(audited())
    assert found.paircomp.height == 12 * 11
    assert found.selection.null_count().sum_horizontal().item() == 0
    r = np.corrcoef(found.selection["planted"], found.selection["value"])[0, 1]
    assert r > 0.7


def test_an_audit_too_small_for_intervals_has_no_coverage() -> None:
    row, _ = calibrate("default", 2, 1)
    assert row.coverage is None or 0 <= row.coverage <= 1


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["default", "null"])
def test_intervals_cover_what_is_planted_at_their_nominal_rate(condition: str) -> None:
    row, _ = calibrate(condition, 20, 60)
    assert row.coverage is not None
    assert row.coverage_paircomp is not None
    assert 0.92 <= row.coverage <= 0.98  # 720 intervals, twelve to an audit
    assert 0.92 <= row.coverage_paircomp <= 0.99
    assert row.false_discovery_rate <= 0.12  # at most .05 expected; 60 audits
