"""Planted effects reappear in a profile with the planted sign, and nothing is found where nothing is planted."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks.profile_audits import EFFECTS, NOTHING, Makers, counted, summary
from benchmarks.profile_reference import audit
from facevalue.calibration.shares import clopper_pearson


def test_one_audit_of_the_reference_model_shows_what_was_planted_in_three_protocols(tmp_path: Path) -> None:
    rows = pl.DataFrame(audit(1, tmp_path))
    found = rows.filter("found", pl.col("planted").abs() > 0.2)  # less is learned less well of two people
    assert set(found["study"]) == {"stylisticbias", "vignette", "modscan"}
    assert found["same_sign"].all()


@pytest.mark.slow
def test_one_audit_of_five_studies_finds_effects_with_their_sign_and_nothing_elsewhere() -> None:
    makers = Makers(("vignette", "modscan"))
    effects = counted(makers.profile(EFFECTS, 1), makers.signs(EFFECTS))
    assert all(row["found_wrong"] == 0 for row in effects)
    assert all(row["same_sign"] == row["planted"] for row in effects)
    assert sum(int(str(row["found"])) for row in effects) > 0
    nothing = counted(makers.profile(NOTHING, 1), {})
    assert all(row["found"] == 0 for row in nothing)


def test_shares_of_audits_have_their_interval() -> None:
    rows = {
        "found": 0,
        "page": 1,
        "planted": 0,
        "same_sign": 0,
        "found_planted": 0,
        "found_signed": 0,
        "found_wrong": 0,
    }
    frame = pl.DataFrame([{"study": "a", "audit": n, "condition": "nothing", **rows} for n in range(10)])
    of_all = summary(frame).filter(study="all five").row(0, named=True)
    assert (of_all["any_found"], of_all["any_on_pages"]) == (0.0, 1.0)
    assert of_all["any_found_high"] == pytest.approx(clopper_pearson(0, 10)[1], abs=1e-4)
