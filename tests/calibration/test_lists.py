"""Planted lists and ratings: drawn as the study asks for them, and moved by what is planted."""

from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration.audits import Audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import calibration_of
from facevalue.calibration.runner import NOTHING
from facevalue.protocol.protocol import Protocol

TEXT = """
name = "listed"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
accessories = ["cap", "headscarf"]
[prompt]
text = "What may this person be?"
[answer]
{answer}
[[estimand]]
statistic = "shift"
by = ["variation"]
"""
LIST = 'kind = "list"\noptions = ["nurse", "cook", "judge", "pilot"]\nleast = 1\nmost = 2'
RATINGS = 'kind = "ratings"\nscales = ["Skill", "Warmth"]\nlow = 1\nhigh = 7'


def protocol(folder: Path, answer: str) -> Protocol:
    path = folder / "listed.toml"
    path.write_text(TEXT.replace("{answer}", answer))
    return studies.protocol(str(path))


def mean(answers: pl.DataFrame, score: str) -> float:
    value = answers.filter(variation="cap")[score].mean()
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(("answer", "score", "moved_by"), [(LIST, "nurse", 0.1), (RATINGS, "skill", 0.3)])
def test_what_is_planted_moves_the_scores(answer: str, score: str, moved_by: float, tmp_path: Path) -> None:
    study = protocol(tmp_path, answer)
    audits = Audits(study, calibration_of(study), 4)
    plain = audits.answers(NOTHING, 1, 1)
    moved = audits.answers(PlantedCondition("lone", lone=3.0, target={"variation": "cap"}), 1, 1)
    assert plain["na"].null_count() == plain.height
    assert abs(mean(moved, score) - mean(plain, score)) > moved_by


def test_lists_have_the_length_that_is_asked_for(tmp_path: Path) -> None:
    study = protocol(tmp_path, LIST)
    answers = Audits(study, calibration_of(study), 2).answers(NOTHING, 1, 1)
    assert set(answers["length"]) == {1.0, 2.0}
    assert answers["outside"].sum() == 0
    free = protocol(tmp_path, 'kind = "list"')
    lengths = Audits(free, calibration_of(free), 2).answers(NOTHING, 1, 1)["length"]
    assert lengths.null_count() == 0
    assert lengths.n_unique() > 3
