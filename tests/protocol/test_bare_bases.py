"""Units whose pictures are compared with the question without a picture."""

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

BASE = 'base = "(no picture)"'
STUDY = f"""
name = "bare"
[pictures]
kind = "manifest"
manifest = "list.csv"
unit = "set"
cue = "scene"
{BASE}
of = "photographs"
[prompt]
text = "Would you invite the applicant?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["scene"]
[[estimand]]
statistic = "gap"
of_shifts = true
factor = "gender"
"""


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rows = ["path,set,scene,gender"]
    for number in range(8):
        for scene in ("studio", "beach"):
            path = tmp_path / "pictures" / f"s{number}" / f"{scene}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (9 * number, 80, 90 if scene == "studio" else 9)).save(path)
            gender = ("female", "male")[number % 2]
            rows.append(f"pictures/s{number}/{scene}.png,s{number},{scene},{gender}")
    (tmp_path / "list.csv").write_text("\n".join(rows))
    return tmp_path


@pytest.mark.parametrize(
    "listed", ["", 'kind = "folder"\npath = "pictures"\ncue = "scene"\nbase = "(no picture)"\nof = "photographs"\n']
)
def test_each_picture_is_compared_with_none(listed: str, read: Reader, pictures: Path) -> None:
    text = STUDY
    if listed:
        text = (
            text[: text.index('kind = "manifest"')]
            + listed
            + text[text.index("[prompt]") : text.index("[[estimand]]\ns")]
        )
        text += '[[estimand]]\nstatistic = "shift"\nby = ["scene"]\n'
    study = read(text).study()
    frame = study.design.trials(range(study.design.size))
    shown = [
        study.source.stimulus(number, row) for number, row in enumerate(frame.iter_rows(named=True))
    ]  # fmt: skip
    bare = [not stimulus.load() for stimulus in shown]
    assert bare == (frame["scene"] == "(no picture)").to_list()
    assert sum(bare) == 8
    study.source.check({"image": study.manifest["image"].to_list()})
    opened = fv.run(pictures / "small.toml", "sim/strong", pictures / "run")
    shifts = opened.estimates().filter(pl.col("measure") == "shift")
    assert set(shifts["scene"]) == {"studio", "beach"}
    assert shifts["clusters"].to_list() == [8, 8]
    opened.report(pictures / "report.html")
    assert fv.open_run(pictures / "run").estimates().height == opened.estimates().height


def test_a_plan_counts_pictures_and_costs_no_picture_where_there_is_none(read: Reader, pictures: Path) -> None:
    read(STUDY)
    plan = fv.study(pictures / "small.toml").plan()
    assert plan.asked == 24
    assert (plan.stimuli, plan.pictures) == (16, 16)  # and not the eight bases without one
    assert fv.study(pictures / "small.toml").plan(sample=12).pictures == 8
    assert plan.prompt_tokens < 24 * 800


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('kind = "manifest"', 'kind = "pairs"', r"Pairs show two pictures: their base is one, and not"),
        ('cue = "scene"', 'cue = "scenes"', r"your list needs a column 'scenes'.*; is 'scene' meant"),
        (BASE, 'base = "(no pictures)"', r"Unknown level of scene '\(no pictures\)'|no base picture"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader, pictures: Path) -> None:
    assert pictures.is_dir()
    with pytest.raises(FaceValueError, match=message):
        read(STUDY.replace(before, after, 1)).study()


def test_a_picture_called_none_is_refused(read: Reader, pictures: Path) -> None:
    path = pictures / "list.csv"
    path.write_text(path.read_text().replace(",beach,", ",(no picture),"))
    with pytest.raises(FaceValueError, match=r"A picture has '\(no picture\)' as its scene"):
        read(STUDY).study()
