"""Audits of simulated models find what is planted, and little where nothing is."""

from itertools import islice

import polars as pl
import pytest

from facevalue.models.sim import PRESETS
from facevalue.protocol.calibration import summed_up
from facevalue.studies.modscan.calibration import STATISTICS, audits, truth


@pytest.mark.parametrize("condition", ["default", "null"])
def test_intervals_cover_what_is_planted(condition: str) -> None:
    found = summed_up(islice(audits(condition, 15), 3), STATISTICS)
    assert found["slope"] == pytest.approx(1.0, abs=0.12)
    assert found["coverage"] == pytest.approx(0.95, abs=0.04)  # about 500 shares
    assert (found["false_discovery_rate"] or 0.0) <= (0.35 if condition == "null" else 0.1)


def test_truth_is_even_where_nothing_is_planted_and_sums_to_one() -> None:
    even = truth(PRESETS["null"])
    assert even["true_gap"].abs().max() == pytest.approx(0.0, abs=0.01)
    planted = truth(PRESETS["strong"]).filter(modality="language")
    totals = planted.group_by("attribute", "instance").agg(pl.col("true").sum())
    assert totals["true"].to_list() == pytest.approx([1.0] * 28)
