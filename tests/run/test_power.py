"""Power before spending: what a plan detects, and what it takes to detect more."""

import math
from pathlib import Path

import pytest

from facevalue import studies
from facevalue.errors import DataError
from facevalue.models import load
from facevalue.run import RunSettings, run
from facevalue.run.power import Detection, detection
from facevalue.run.stored import StoredRun
from facevalue.studies import Study
from facevalue.studies.base import Spread

FEW = {"scenarios": ["wealthy", "polite"], "attributes": ["eyewear"], "seeds": ["1"]}


def plan(study: Study, **changes: object) -> Detection:
    chosen = {"requests": 1000, "sample": None, "seed": 0, "exact": False, "effect": None, "pilot": None} | changes
    return detection(study, **chosen)  # type: ignore[arg-type]


def test_more_faces_detect_less() -> None:
    few, many = (plan(studies.build("stylisticbias", {"faces": str(n)})).detectable for n in (20, 200))
    assert few is not None
    assert many is not None
    assert many < few / 2


def test_as_many_faces_as_are_needed_detect_what_was_asked() -> None:
    needed = plan(studies.build("stylisticbias", {"faces": "20"}), effect=0.03).needed
    assert needed is not None
    enough = plan(studies.build("stylisticbias", {"faces": str(needed)})).detectable
    less = plan(studies.build("stylisticbias", {"faces": str(needed - 1)})).detectable
    assert enough is not None
    assert less is not None
    assert enough <= 0.03 < less


def test_a_sample_of_few_scenarios_detects_less_than_all_of_them() -> None:
    study = studies.build("stylisticbias", {"faces": "40"})
    whole, part = plan(study), plan(study, sample=20_000)
    assert part.items < whole.items
    assert part.detectable is not None
    assert whole.detectable is not None
    assert part.detectable > whole.detectable


def test_the_level_is_that_of_the_family() -> None:
    one = plan(studies.build("stylisticbias", {"faces": "20", "variations": ["cap"]}))
    many = plan(studies.build("stylisticbias", {"faces": "20"}))
    assert one.level == pytest.approx(0.05)
    assert many.level == pytest.approx(0.05 / 34)


def test_a_pilot_gives_the_spread(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", FEW | {"faces": "30"})
    run(study, load("sim/default"), tmp_path / "pilot", RunSettings(check=False))
    found = plan(study, effect=0.05, pilot=StoredRun.open(tmp_path / "pilot"))
    assert "pilot" in found.source
    assert 0.05 < found.sd < 0.6
    assert found.needed is not None


def test_a_pilot_without_answers_says_so(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", FEW | {"faces": "4"})
    run(study, load("sim/refuser"), tmp_path / "pilot", RunSettings(check=False))
    with pytest.raises(DataError, match="nothing of the spread"):
        plan(study, pilot=StoredRun.open(tmp_path / "pilot"))


@pytest.mark.parametrize("effect", [0.0, math.nan, 1.5])
def test_impossible_effects_are_refused(effect: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        plan(studies.build("stylisticbias", {"faces": "4"}), effect=effect)


def test_left_out_items_add_their_share_of_the_variance() -> None:
    spread = Spread(mean=0.04, within=0.2, items=25, source="x")
    assert spread.at(25) == 0.04
    assert spread.at(1) == pytest.approx(math.sqrt(0.04**2 + 0.2**2 * (1 - 1 / 25)))
    assert math.isnan(Spread(0.04, math.nan, 25, "x").at(3))
