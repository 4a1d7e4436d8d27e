"""Planted effects reappear in a profile with the planted sign, and nothing is found where nothing is planted."""

from math import inf
from pathlib import Path

import polars as pl
import pytest

from benchmarks import profile_reference
from benchmarks._kept import kept_audits
from benchmarks.profile_audits import EFFECTS, NOTHING, Makers, counted, summary
from facevalue.calibration.families import clopper_pearson


@pytest.mark.slow
def test_one_audit_of_the_reference_model_shows_what_was_planted_in_three_protocols() -> None:
    rows = pl.DataFrame(profile_reference.audit(1))
    found = rows.filter("found", pl.col("planted").abs() > 0.2)  # less is learned less well of two people
    assert set(found["study"]) == {"stylisticbias", "vignette", "modscan"}
    assert (found["value"].sign() == found["planted"].sign()).all()


def test_signs_are_compared_with_what_was_planted_and_with_what_was_learned() -> None:
    cell = {"study": "vignette", "group": "young", "trait": "", "planted": -0.1, "found": True}
    audits = pl.DataFrame([{**cell, "value": 5.0}, {**cell, "value": 4.0}, {**cell, "value": -1.0, "found": False}])
    row = profile_reference.summary(audits, pl.DataFrame([{**cell, "value": 4.8}])).row(0, named=True)
    assert (row["audits"], row["planted"], row["learned"], row["found"]) == (3, -0.1, 4.8, 0.6667)
    assert (row["of_planted_sign"], row["of_learned_sign"], row["found_of_unlearned_sign"]) == (0.3333, 0.6667, 0.0)


def _audited(number: int) -> list[dict[str, object]]:
    return [{"value": number}]


def test_audits_are_kept_and_not_begun_after_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = {tmp_path / "kept" / f"{number}.json": number for number in range(1, 4)}
    first = dict(list(tasks.items())[:1])
    assert kept_audits(_audited, first, 1, inf)[tmp_path / "kept" / "1.json"]["value"].to_list() == [1]
    assert list(kept_audits(_audited, tasks, 1, 0.0)) == list(first)
    assert "1 of 3 audits are kept" in capsys.readouterr().out
    assert [rows["value"].item() for rows in kept_audits(_audited, tasks, 1, inf).values()] == [1, 2, 3]


@pytest.mark.slow
def test_audits_are_made_side_by_side(tmp_path: Path) -> None:
    tasks = {tmp_path / f"{number}.json": number for number in range(1, 4)}
    assert [rows["value"].item() for rows in kept_audits(_audited, tasks, 2, inf).values()] == [1, 2, 3]


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
