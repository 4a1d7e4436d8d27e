"""Calibration: the committed table keeps its promises, and the shortcut it takes gives what a real run gives."""

from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.models import load
from facevalue.models.sim import PRESETS, Planted
from facevalue.protocol.calibration import summed_up
from facevalue.runs import RunSettings, run
from facevalue.runs.stored import StoredRun, answers
from facevalue.studies.stylisticbias import calibration
from facevalue.studies.stylisticbias.aggregate import Faces, collect
from facevalue.types import OptionValue

TABLE = Path(__file__).parents[2] / "docs" / "calibration.csv"


def test_the_committed_table_covers_at_the_nominal_rate() -> None:
    table = pl.read_csv(TABLE)
    assert (table["repetitions"] >= 200).all()
    assert table["coverage"].is_between(0.92, 0.98).all()
    assert table["coverage_none"].is_between(0.92, 0.98).all()


def test_the_committed_table_finds_what_was_planted_and_nothing_else() -> None:
    table = pl.read_csv(TABLE)
    assert (table["false_discovery_rate"] <= 0.05).all()
    planted = table.filter(pl.col("condition") == "default")
    assert (planted["correlation"] > 0.95).all()
    assert planted["slope"].is_between(0.95, 1.05).all()


def test_the_page_shows_the_committed_table() -> None:
    page = TABLE.with_suffix(".md").read_text(encoding="utf-8")
    for row in pl.read_csv(TABLE).iter_rows(named=True):
        assert f"| {row['faces']} | {row['repetitions']} |" in page
        assert f"| {row['coverage']:.3f} |" in page


def test_simulated_scores_are_those_of_a_real_run(tmp_path: Path) -> None:
    options: dict[str, OptionValue] = {
        "faces": "6M",
        "variations": ["cap"],
        "scenarios": ["wealthy", "polite"],
        "seeds": ["1"],
    }
    study = studies.build("stylisticbias", options)
    run(study, load("sim/default"), tmp_path / "run", RunSettings(check=False))
    names = ["polite", "wealthy"]  # in the order of Table 1
    real = collect(answers(StoredRun.open(tmp_path / "run")), Faces(study.manifest), names, ["1", "2", "3", "4"], 1)
    assert np.allclose(calibration.simulated_phi(PRESETS["default"], study.manifest, names), real.phi, equal_nan=True)


def test_planted_shifts_are_those_of_a_very_large_sample() -> None:
    planted = Planted(seed=3, refusal=0.0, gibberish=0.0)
    audit = calibration.simulate(planted, {"male": 1200}, ["wealthy"], draw=1)
    error = audit.select((pl.col("value") - pl.col("planted")) / (pl.col("high") - pl.col("low"))).to_series()
    assert error.abs().max() < 1.0  # type: ignore[operator]
    assert np.corrcoef(audit["planted"], audit["value"])[0, 1] > 0.98


def test_nothing_planted_is_a_shift_of_exactly_zero() -> None:
    shifts = calibration.planted_shifts(PRESETS["null"], ["wealthy"], ["male", "female"])
    assert np.allclose(list(shifts.values()), 0)


@pytest.mark.slow
def test_new_audits_cover_as_the_committed_table_says() -> None:
    found = summed_up(islice(calibration.audits("default", 40), 60), calibration.STATISTICS)
    assert found["coverage"] is not None
    assert 0.92 < found["coverage"] < 0.98
    assert found["false_discovery_rate"] is not None
    assert found["false_discovery_rate"] <= 0.05
