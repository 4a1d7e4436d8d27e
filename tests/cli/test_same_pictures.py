"""Edits that changed nothing, from the command line: a plan says it, `make` names them and makes them again."""

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.runs.test_same_pictures import listed


def test_a_plan_says_which_pictures_are_the_same(facevalue: Command, tmp_path: Path) -> None:
    done = facevalue("plan", "stylisticbias", "--manifest", str(listed(tmp_path, 6)), "--kind", "photographs")
    assert done.status == 0
    assert "6 of 12 pictures are the same as another of" in done.err
    fine = facevalue("plan", "stylisticbias", "--manifest", str(listed(tmp_path, 0)), "--kind", "photographs")
    assert "the same as another" not in fine.err


def test_what_is_made_again_is_named_by_a_list(facevalue: Command, tmp_path: Path) -> None:
    making = ("make", "stylisticbias", "--faces", "2", "--generator", "drawn", "--out", "made", "--json")
    first = json.loads(facevalue(*making).out)
    Path("failed.csv").write_text("image\n")
    assert "names no picture that failed" in facevalue(*making, "--again", "failed.csv").err
    Path("failed.csv").write_text("picture\nx\n")
    assert "has no column 'image'" in facevalue(*making, "--again", "failed.csv").err
    assert "is no folder that facevalue inspect-pictures" in facevalue(*making, "--again", "checks").err
    assert first["same"] == 0
