"""The deterministic rule of A.2."""

import pytest

from facevalue.errors import UnknownNameError
from facevalue.studies.vignette.visual import LABELS, visually_representative

TRUTH = {
    ("Yes", "Yes"): "Yes",
    ("No", "No"): "No",
    ("Ambiguous", "Ambiguous"): "Yes",
    ("Yes", "Ambiguous"): "Yes",
    ("Ambiguous", "Yes"): "Yes",
    ("Yes", "No"): "No",
    ("No", "Yes"): "No",
    ("No", "Ambiguous"): "No",  # not in the paper; the released labels have it
    ("Ambiguous", "No"): "No",
}


@pytest.mark.parametrize(("labels", "final"), TRUTH.items())
def test_the_final_label_follows_the_rule(labels: tuple[str, str], final: str) -> None:
    assert visually_representative(*labels) == final


def test_the_truth_table_is_whole() -> None:
    assert set(TRUTH) == {(human, model) for human in LABELS for model in LABELS}


def test_another_label_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Yes'"):
        visually_representative("yes", "No")
