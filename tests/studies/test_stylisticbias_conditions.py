"""Audits in hard conditions: what is promised holds in each, or nothing is said."""

from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.protocol.calibration import summed_up
from facevalue.studies.stylisticbias import calibration_conditions as hard

BY_NAME = {one.name.split(",")[0]: one for one in hard.CONDITIONS}


def committed() -> pl.DataFrame:
    return pl.read_csv(Path(__file__).parents[2] / "docs" / "calibration-conditions.csv")


def test_the_committed_table_keeps_what_is_promised() -> None:
    """Two standard errors of audits, as the cues of one share their bases; too wide is conservative, and is said."""
    table = committed()
    assert set(table["condition"]) == {one.name for one in hard.CONDITIONS}
    error = 2 * np.sqrt(0.05 * 0.95 / table["repetitions"].to_numpy())
    for name in ("any_lead", "any_page", "type1", "type1_scenarios"):
        assert (table[name].fill_null(0.0).to_numpy() <= 0.05 + error).all()
    still = ~table["condition"].str.contains("moves").to_numpy()
    for name in ("covered", "covered_scenarios"):
        assert (table[name].fill_null(1.0).to_numpy() >= 0.95 - error)[still].all()
    assert (table["equivalent"].drop_nulls() == 0).all()
    power = table.filter(pl.col("found").is_not_null())["found"].item()
    assert 0.75 <= power <= 0.97


def repeated(condition: hard.Condition, faces: int, repetitions: int) -> dict[str, float | None]:
    return summed_up(islice(hard.audits(condition, faces), repetitions), hard.STATISTICS)


@pytest.mark.parametrize("name", ["rare answers", "near-certain answers", "five faces"])
def test_nothing_is_found_where_nothing_is_planted(name: str) -> None:
    """Wilcoxon found something among 25 scenarios in most such audits; .05 of eight are none or one."""
    found = repeated(BY_NAME[name], BY_NAME[name].faces or 12, 8)
    assert found["any_page"] is not None
    assert found["any_page"] <= 1 / 8
    assert found["type1"] is not None
    assert found["type1"] < 0.09
    assert found["covered"] is not None
    assert found["covered"] > 0.91
    assert found["equivalent"] is None


def test_a_lone_cue_that_faces_were_planned_for_is_found() -> None:
    """Nine faces have it. By Wilcoxon eight could not find anything, whatever the shift."""
    condition = BY_NAME["a lone cue of one gender"]
    assert condition.faces is not None
    found = repeated(condition, condition.faces, 20)["found"]
    assert found is not None
    assert found > 0.6


def test_a_cue_that_moves_one_face_in_twenty_is_never_called_equivalent() -> None:
    found = repeated(BY_NAME["a cue moves one face in twenty all the way"], 20, 20)
    assert found["equivalent"] == 0


def test_the_planted_shift_is_what_very_many_faces_show() -> None:
    lone, movers = BY_NAME["a lone cue of one gender"], BY_NAME["a cue moves one face in twenty all the way"]
    rng = np.random.default_rng(0)
    assert hard.true_shift(lone, 25, rng) == pytest.approx(0.1, abs=0.005)
    assert hard.true_shift(movers, 25, rng) == pytest.approx(0.05 * 0.97, abs=0.003)
