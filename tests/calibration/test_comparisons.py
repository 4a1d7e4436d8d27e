"""Two models of the same bias are compared as two runs are, and whatever differs is false."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from facevalue.calibration.audits import PAIRS, Audits, cell_records, compare_audits
from facevalue.calibration.repetitions import calibration_of
from facevalue.protocol.kept_answers import KeptAnswers, UnitNames
from facevalue.protocol.protocol import Protocol
from facevalue.runs.comparisons.models import differences_of, judged_together, with_first

pytestmark = pytest.mark.all_groups


def test_models_of_the_same_bias_are_compared_on_the_pictures_that_they_share(lab: Protocol) -> None:
    own = Audits(lab, calibration_of(lab), 1)
    found = compare_audits((own, own), PAIRS[0], 1, 1)
    assert found.units.paired
    assert found.units.shared == 12
    assert found.cells["measure"].to_list() == ["shift"] * 3 + ["gap", "paired_gap"]
    assert cell_records(found).height == 5


@pytest.mark.slow
def test_other_people_are_not_paired(lab: Protocol) -> None:
    both = (Audits(lab, calibration_of(lab), 1, others=others) for others in (False, True))
    one, two = both
    found = compare_audits((one, two), PAIRS[-1], 1, 1)
    assert not found.units.paired
    assert (found.units.only_first, found.units.only_second) == (12, 12)


@pytest.mark.slow
def test_a_model_with_an_effect_of_its_own_differs(lab: Protocol) -> None:
    own = Audits(lab, calibration_of(lab), 4)
    moved = replace(PAIRS[0].second, lone=4.0, target={"variation": "cap"})
    found = compare_audits((own, own), replace(PAIRS[0], second=moved), 1, 1)
    assert found.differing["variation"].to_list() == ["cap"]
    assert cell_records(found)["any"].all()


def _equal_models(protocols: Sequence[Protocol], models: int, repetition: int) -> bool:
    """Whether anything is found between models of the same bias, several of each study, judged together."""
    differences = []
    for study, protocol in enumerate(protocols):
        audits = Audits(protocol, calibration_of(protocol), 1)
        names, answered = UnitNames(), []
        for model in range(models):
            answers = KeptAnswers(audits.study, f"planted {model}", names.study_units(audits.study), Path())
            answers.add(audits.answers(PAIRS[0].first, repetition, 1000 * repetition + 10 * model + study))
            answered.append(answers)
        differences += differences_of(answered, with_first(models))
    agreements = judged_together(differences)
    return any(agreement.differing.height for agreement in agreements)


@pytest.mark.slow
def test_equal_models_of_several_studies_differ_in_at_most_one_of_twenty_comparisons(lab: Protocol) -> None:
    other = replace(lab, name="other lab")
    wrong = sum(_equal_models((lab, other), 4, repetition) for repetition in range(120))
    assert wrong <= 11  # P(more | 5%) = 2%
