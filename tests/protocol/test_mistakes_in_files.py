"""Mistakes in a study's file are one sentence with file and line, and the nearest valid choice where there is one."""

from pathlib import Path

import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

DRAWN = """name = "small"
[pictures]
kind = "portraits"
people = "6"
[pictures.cues]
eyewear = ["thick-rimmed"]
[prompt]
text = "Is this person a {job}?"
[factor.job]
levels = ["nurse", "cook"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
[sampling]
seeds = [1, 2]
temperature = 0.7
"""
PAIRS = """name = "small"
[pictures]
kind = "pairs"
manifest = "list.csv"
unit = "set"
cue = "hat"
base = "none"
of = "photographs"
[prompt]
text = "Who looks kinder, the person on the left or on the right? Answer with only {options}."
[answer]
kind = "choice"
options = ["left", "right"]
favourable = "left"
orderings = "both"
[[estimand]]
statistic = "preference"
by = ["hat"]
"""


@pytest.fixture
def listed(read: Reader) -> Reader:
    """A list of three pictures in each of four sets, beside the study's file."""
    rows = ["path,set,hat"]
    for number in range(4):
        for hat in ("none", "cap", "bow"):
            Image.new("RGB", (8, 8), (9 * number, 80, 9 * len(hat))).save(read.folder / f"{number}{hat}.png")
            rows.append(f"{number}{hat}.png,s{number},{hat}")
    (read.folder / "list.csv").write_text("\n".join(rows))
    return read


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"6"', '"0"', "line 4: No faces asked for"),
        ('"6"', '"-3"', "line 4: Cannot read the number of faces '-3': write 60, or"),
        ('"6"', "6", "line 4: 'people' is a text in quotes, not 6"),
        ("[1, 2]", "[]", "line 16: Seeds are 1 to 80 different whole numbers, such as 1,2,3"),
        ("[1, 2]", "[1, 1]", "line 16: Seeds are 1 to 80 different whole numbers"),
        ("[1, 2]", '["a"]', "line 16: 'seeds' is a list of whole numbers"),
        ("[1, 2]", "[-1]", "line 16: 'seeds' is a list of whole numbers"),
        ("0.7", "-.7", "line 17, column 15). Numbers begin with a digit: write -0.7."),
        ("0.7", "-0.7", "line 17: The temperature is -0.7: it must be between 0"),
        ("0.7", "nan", "line 17: 'temperature' is a number, not nan"),
        ("job", "trial", "line 9: No factor can be called 'trial', which is a column of the answers"),
        ("job", "value", "line 9: No factor can be called 'value', which is a column of the estimates"),
        ("job", "people", "line 9: No factor can be called 'people', which is a setting of the study"),
        ("job", "wording", "line 9: No factor can be called 'wording', which stands for the wording"),
        ("job", "age", "line 9: The factor 'age' is one of the pictures and of the slots"),
        ('[[estimand]]\nstatistic = "shift"\n', "", "small.toml: The study 'small' estimates nothing"),
        ("thick-rimmed", "thick", "line 6: Unknown value of eyewear 'thick'"),
        ('"shift"', '"shfit"', "line 14: Unknown statistic 'shfit'. Did you mean 'shift'?"),
    ],
)
def test_mistakes_in_a_study_of_drawn_faces(before: str, after: str, says: str, read: Reader) -> None:
    with pytest.raises(FaceValueError) as error:
        read(DRAWN.replace(before, after)).study()
    assert str(error.value).startswith("small.toml")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('base = "none"\n', "", "line 6: cue = 'hat' needs `base`, the level that all others are shown beside"),
        ('cue = "hat"\n', "", "line 6: base = 'none' needs `cue`, the column of what differs"),
        ('"list.csv"', '"lits.csv"', "line 4: There is no file"),
        ('"list.csv"', '"lits.csv"', "(a manifest). Did you mean 'list.csv'?"),
        ('"left"\norder', '"lft"\norder', "line 14: Unknown favourable option 'lft'. Did you mean 'left'?"),
        ('"photographs"', '"photos"', "line 8: Unknown what pictures are 'photos'. Did you mean 'photographs'?"),
        ('"set"', '"sets"', "line 5: Unknown unit 'sets'. Did you mean 'set'?"),
        ('base = "none"', 'base = "nome"', "Unknown level of hat 'nome'. Did you mean 'none'?"),
    ],
)
def test_mistakes_in_a_study_of_pairs(before: str, after: str, says: str, listed: Reader) -> None:
    with pytest.raises(FaceValueError) as error:
        listed(PAIRS.replace(before, after, 1)).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_list_on_the_command_line_stands_for_one_that_is_missing(listed: Reader) -> None:
    study = listed(PAIRS.replace("list.csv", "lost.csv"))
    assert study.study({"manifest": str(listed.folder / "list.csv")}).design.size > 0
    with pytest.raises(FaceValueError, match=r"^There is no file .*other\.csv \(a manifest\)\.$"):
        study.study({"manifest": str(listed.folder / "other.csv")})


def test_favourable_left_leans_to_the_picture_beside_the_base(listed: Reader, tmp_path: Path) -> None:
    listed(PAIRS)
    estimates = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run", progress=False).estimates()
    preferences = {row["hat"]: row for row in estimates.filter(measure="preference").iter_rows(named=True)}
    assert set(preferences) == {"cap", "bow"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in preferences.values())
    assert estimates.filter(measure="response_bias", score="side").height
