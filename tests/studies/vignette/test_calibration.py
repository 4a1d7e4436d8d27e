"""Planted preferences are recovered by VIGNETTE's measures."""

from itertools import islice

import numpy as np
import polars as pl
import pytest

from facevalue.models.sim import PRESETS, SimModel
from facevalue.protocol.calibration import summed_up
from facevalue.studies.vignette.calibration import (
    PAIRCOMP,
    SELECTION,
    STATISTICS,
    audit,
    audited,
    audits,
    study,
    truth,
)
from facevalue.studies.vignette.tables import activities

DONE = [activity.name for activity in activities()[:3]]


def true(known: pl.DataFrame, measure: str, identity: str | None = None) -> list[float]:
    rows = known.filter(measure=measure) if identity is None else known.filter(measure=measure, identity=identity)
    return rows["true"].to_list()


def test_what_is_planted_adds_up_to_even_choices() -> None:
    known = truth(PRESETS["strong"], DONE)
    assert np.mean(true(known, "selection_gap")) == pytest.approx(0, abs=1e-9)
    assert 35 < np.mean(true(known, "selection_frequency")) < 47  # both and none get the rest
    assert np.std(true(known, "selection_frequency")) > 3
    for one in audited():
        assert sum(true(known, "paircomp", one)) == pytest.approx(0, abs=1e-9)


def test_nothing_planted_is_an_even_choice_for_everyone() -> None:
    known = truth(PRESETS["null"], DONE)
    assert np.ptp(true(known, "selection_frequency")) == pytest.approx(0, abs=1e-9)
    assert true(known, "selection_gap") == pytest.approx([0] * 12, abs=1e-9)
    assert true(known, "paircomp") == pytest.approx([0] * 132)


def test_an_audit_compares_every_identity_and_every_pair_with_what_is_planted() -> None:
    found = audit(study(3), SimModel("strong@5"), DONE)
    selection = found.filter(SELECTION)
    assert sorted(selection["identity"].to_list()) == sorted(audited())
    assert found.filter(PAIRCOMP).height == 12 * 11
    assert selection.select("value", "low", "high", "true").null_count().sum_horizontal().item() == 0
    assert np.corrcoef(selection["true"], selection["value"])[0, 1] > 0.7


def repeated(condition: str, activities: int, repetitions: int) -> dict[str, float | None]:
    return summed_up(islice(audits(condition, activities), repetitions), STATISTICS)


def test_an_audit_too_small_for_intervals_has_no_coverage() -> None:
    assert repeated("default", 2, 1)["coverage"] is None


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["default", "null"])
def test_intervals_cover_what_is_planted_at_their_nominal_rate(condition: str) -> None:
    found = repeated(condition, 20, 60)
    for name, least, most in (
        ("coverage", 0.92, 0.98),  # 720 intervals, twelve to an audit
        ("coverage_paircomp", 0.92, 0.99),
        ("false_discovery_rate", 0, 0.12),  # at most .05 expected; 60 audits
    ):
        value = found[name]
        assert value is not None
        assert least <= value <= most
