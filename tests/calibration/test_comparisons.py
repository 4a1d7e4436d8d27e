"""Two models of the same bias are compared as two runs are, and whatever differs is false."""

from dataclasses import replace

from facevalue.calibration.audits import Audits
from facevalue.calibration.comparisons import PAIRS, cells, compared
from facevalue.calibration.declared import calibration_of
from facevalue.protocol.protocol import Protocol


def test_models_of_the_same_bias_are_compared_on_the_pictures_that_they_share(lab: Protocol) -> None:
    own = Audits(lab, calibration_of(lab), 1)
    found = compared((own, own), PAIRS[0], 1, 1)
    assert found.units.paired
    assert (found.units.shared, cells(found).height) == (12, 3)


def test_other_people_are_not_paired(lab: Protocol) -> None:
    both = (Audits(lab, calibration_of(lab), 1, others=others) for others in (False, True))
    one, two = both
    found = compared((one, two), PAIRS[-1], 1, 1)
    assert not found.units.paired
    assert (found.units.only_first, found.units.only_second) == (12, 12)


def test_a_model_with_an_effect_of_its_own_differs(lab: Protocol) -> None:
    own = Audits(lab, calibration_of(lab), 4)
    moved = replace(PAIRS[0].second, lone=4.0, target={"variation": "cap"})
    found = compared((own, own), replace(PAIRS[0], second=moved), 1, 1)
    assert found.differing["variation"].to_list() == ["cap"]
    assert cells(found)["any"].all()
