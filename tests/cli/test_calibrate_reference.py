"""`facevalue calibrate --model reference`, on few people and with a stand-in for the model."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from facevalue.calibration import learned
from facevalue.models.reference import adapter
from facevalue.studies.stylisticbias import calibration as of_reference
from tests.cli.conftest import Command
from tests.studies.planted_model import PlantedModel


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> PlantedModel:
    """Stand in for the model; it looks at no pictures, so none are drawn. What it judged is kept for one test alone."""
    planted = PlantedModel(sign=-1)

    monkeypatch.setattr(adapter, "ReferenceModel", lambda *_: planted)
    few = replace(of_reference.REFERENCE, settings={**of_reference.REFERENCE.settings, "faces": "2M,2F"})
    monkeypatch.setattr(of_reference, "REFERENCE", few)
    monkeypatch.setattr(learned, "default_folder", lambda: tmp_path / "calibration")
    monkeypatch.setattr(learned, "draw_all", lambda manifest, _: iter([1] * manifest.height))
    return planted


def test_planted_learned_and_estimated_effects_are_shown_and_written(facevalue: Command, model: PlantedModel) -> None:
    args = ("calibrate", "--model", "reference", "--repetitions", "3", "--faces", "8,20", "--out", "table.csv")
    outcome = facevalue(*args)
    assert outcome.status == 0, outcome.err
    assert "13,000 judgments of 130 pictures" in outcome.err
    for heading in ("planted", "learned", "95% interval", "wrong sign", "FDR", "power"):
        assert heading in outcome.out
    table = pl.read_csv("table.csv")
    assert table.select("condition", "faces", "repetitions").rows() == [("reference", 8, 3), ("reference", 20, 3)]
    assert {"coverage", "flagged_none", "wrong_sign"} <= set(table.columns)
    effects = pl.read_csv("table-effects.csv")
    assert effects.columns == ["attribute", "variation", "scenario", "planted", "learned"]
    assert effects.height == 34 * 25


def test_what_is_promised_and_does_not_hold_is_said(facevalue: Command, model: PlantedModel) -> None:
    def promises() -> list[str]:
        out = facevalue("calibrate", "--model", "reference", "--repetitions", "1", "--faces", "4").out
        return [line.split()[-1] for line in out.splitlines() if line.startswith(("correlation", "slope"))]

    assert promises() == ["no", "no"]
    model.sign, model.weights = 1, "others"
    assert promises() == ["yes", "yes"]


def test_a_second_time_nothing_is_asked(facevalue: Command, model: PlantedModel) -> None:
    args = ("calibrate", "--model", "reference", "--repetitions", "1", "--faces", "4")
    first = facevalue(*args)
    asked = model.asked
    again = facevalue(*args)
    assert model.asked == asked
    assert "judgments" not in again.err
    assert again.out == first.out


def test_the_tables_are_readable_in_eighty_columns(
    facevalue: Command, model: PlantedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = facevalue("calibrate", "--model", "reference", "--repetitions", "1", "--faces", "20").out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "…" not in out
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines if "to" in line[1:]][:3] == ["freckles", "acne", "moles"]


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (
            ("--model", "refrence"),
            2,
            "Did you mean 'reference' or 'reference/VARIANT'? Known: planted, reference, reference/VARIANT.",
        ),
        (("vignette", "--model", "reference"), 2, "leave out --model reference"),
        (("--model", "reference", "--faces", "5000"), 2, "from 2 to 1000"),
    ],
)
def test_what_cannot_be_calibrated_is_one_message(
    facevalue: Command, args: tuple[str, ...], status: int, message: str
) -> None:
    outcome = facevalue("calibrate", *args)
    assert outcome.status == status
    assert message in outcome.err
    assert "Traceback" not in outcome.err + outcome.out
