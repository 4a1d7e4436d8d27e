"""Pictures that own studies have made: the table [make] of a file, and what is refused of it."""

from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import FaceValueError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.declared_making import DeclaredMaking
from facevalue.protocol.making import PicturePlan
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import check_together, defaults, to_setting_type
from tests.protocol.conftest import Reader

STUDY = """name = "small"
[pictures]
kind = "manifest"
cue = "worn"
[prompt]
text = "Would you hire this person? {options}"
[answer]
kind = "yes-no"
favourable = "yes"
[[estimand]]
statistic = "shift"
by = ["worn"]
"""
MAKE = """[make]
prompt = "A portrait of a {age} {gender}."
sets = 2
[make.factor.age]
levels = ["young", "old"]
[make.factor.gender]
levels = { female = "woman", male = "man" }
[make.edit]
sunglasses = "Add sunglasses."
cap = "Put a cap on the {gender}'s head."
"""
PEOPLE = """[make]
prompt = "A photograph of {who_is_shown} at work."
[[make.person]]
who_is_shown = "a nurse of 30"
gender = "female"
[[make.person]]
who_is_shown = "a cook of 50"
gender = "male"
"""


def plan(protocol: Protocol, **given: Any) -> PicturePlan:
    """What a study has made with these settings."""
    assert protocol.extras.making is not None
    making = protocol.extras.making()
    options = defaults(making.settings)
    for setting in making.settings:
        if setting.name in given:
            options[setting.name] = to_setting_type(setting, given.pop(setting.name))
    assert not given
    check_together(making.settings, options)
    return making.plan(options)


def test_each_combination_of_levels_is_a_base_and_each_base_is_edited(read: Reader) -> None:
    made = plan(read(STUDY + MAKE))
    assert made.table.height == 2 * 2 * 2 * 3
    assert made.table.columns == ["image", "source", "prompt", "picture_seed", "identity", "worn", "age", "gender"]
    assert made.groups == ("age", "gender")
    assert made.table.head(3).select("image", "source", "prompt", "worn").rows() == [
        ("young_female/1", None, "A portrait of a young woman.", None),
        ("young_female/1/sunglasses", "young_female/1", "Add sunglasses.", "sunglasses"),
        ("young_female/1/cap", "young_female/1", "Put a cap on the woman's head.", "cap"),
    ]
    assert made.table["identity"].n_unique() == 8


def test_a_plan_is_narrowed_by_levels_and_edits(read: Reader) -> None:
    protocol = read(STUDY + MAKE)
    made = plan(protocol, age="old", edit="cap", sets=1, draws=2, null_edits=True)
    assert made.table["image"].to_list()[:3] == ["old_female/1/1", "old_female/1/1/no-change", "old_female/1/1/cap"]
    assert made.table.height == 2 * 2 * 3
    assert made.table["worn"].to_list()[:3] == [None, NULL_EDIT, "cap"]
    seeds = dict(plan(protocol, draws=2).table.select("image", "picture_seed").iter_rows())
    assert seeds["old_female/1/1/cap"] == made.table["picture_seed"][2]


def test_people_fill_slots_together_and_bring_factors(read: Reader) -> None:
    made = plan(read(STUDY + PEOPLE))
    words = ("nurse of 30", "cook of 50")
    assert made.table["prompt"].to_list() == [f"A photograph of a {word} at work." for word in words]
    assert made.table["gender"].to_list() == ["female", "male"]
    assert made.groups == ("gender",)
    assert made.edits == 0


def test_a_base_has_the_level_that_the_study_gives_it(read: Reader) -> None:
    made = plan(read(STUDY.replace('cue = "worn"', 'cue = "worn"\nbase = "nothing"') + MAKE), sets=1, gender="male")
    assert made.table["worn"].to_list() == ["nothing", "sunglasses", "cap"] * 2


def test_sets_without_a_base_are_edited_in_a_column_of_their_own(read: Reader) -> None:
    text = STUDY.replace('cue = "worn"', 'unit = "set"').replace('statistic = "shift"', 'statistic = "gap"')
    make = """[make]
    prompt = "A nurse."
    cue = "race"
    [make.edit]
    Black = "Make the person Black."
    Asian = "Make the person Asian."
    """
    text = text.replace('by = ["worn"]', 'factor = "race"')
    made = plan(read(text + make), sets=2)
    assert made.unit == "set"
    assert made.table["race"].to_list() == [None, "Black", "Asian"] * 2
    assert made.table["set"].to_list() == ["base/1"] * 3 + ["base/2"] * 3


def test_each_picture_is_its_own_unit_where_the_study_says_so(read: Reader) -> None:
    text = STUDY.replace('cue = "worn"', 'unit = "image"').replace('statistic = "shift"', 'statistic = "gap"')
    made = plan(read(text.replace('by = ["worn"]', 'factor = "gender"') + PEOPLE), sets=2)
    assert made.table["image"].to_list() == ["person-1/1", "person-1/2", "person-2/1", "person-2/2"]


def test_facevalue_draws_them_as_far_as_levels_say_who_it_is(read: Reader) -> None:
    made = plan(read(STUDY + MAKE), sets=1, age="old", null_edits=True)
    assert made.drawn is not None
    shown = {
        row["image"]: made.drawn.stimulus(0, row).load()[0].data
        for row in made.table.drop("picture_seed").rows(named=True)
    }
    assert shown["old_male/1"] == shown["old_male/1/no-change"] != shown["old_male/1/cap"]
    assert shown["old_male/1"] != shown["old_female/1"]


def test_what_facevalue_does_not_draw_is_said(read: Reader) -> None:
    made = plan(read(STUDY + MAKE.replace("sunglasses =", "spectacles =")), sets=1)
    assert made.drawn is not None
    row = made.table.filter(worn="spectacles").drop("picture_seed").row(0, named=True)
    with pytest.raises(FaceValueError, match="Unknown edit that FaceValue draws 'spectacles'"):
        made.drawn.stimulus(0, row).load()


def test_pictures_that_exist_are_edited(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "faces.csv").write_text("path,identity,worn,gender\na/1.png,ann,,female\na/2.png,ann,cap,female\n")
    make = '[make]\nsources = "faces.csv"\nnull_edits = true\n[make.edit]\ncap = "Put a cap on this {gender} person."\n'
    made = plan(read(STUDY + make))
    assert made.table["image"].to_list() == ["a/1", "a/1/no-change", "a/1/cap"]
    assert made.table["path"].to_list() == [str(tmp_path / "a/1.png"), None, None]
    assert made.table["prompt"].to_list()[0] is None
    assert made.table["prompt"][2] == "Put a cap on this female person."
    assert made.table["identity"].unique().to_list() == ["ann"]
    assert made.drawn is None


def test_sources_take_the_place_of_bases_that_would_be_made(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "faces.csv").write_text("path,gender\na.png,female\n")
    made = plan(read(STUDY + MAKE), sources=str(tmp_path / "faces.csv"))
    assert made.table["image"].to_list() == ["a", "a/sunglasses", "a/cap"]
    with pytest.raises(FaceValueError, match="--sets has no effect beside --sources"):
        plan(read(STUDY + MAKE), sources=str(tmp_path / "faces.csv"), sets=3)
    (tmp_path / "faces.csv").write_text("path,gendr\na.png,female\n")
    with pytest.raises(FaceValueError, match=r"your list needs a column 'gender' .*; is 'gendr' meant"):
        plan(read(STUDY + MAKE), sources=str(tmp_path / "faces.csv"))


def test_a_run_keeps_what_is_made_with_its_study(read: Reader) -> None:
    assert "Add sunglasses." in read(STUDY + MAKE).text


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("sets = 2", "stes = 2", r"line 15: Unknown key 'stes'. Did you mean 'sets'"),
        ("sets = 2", 'sets = "2"', r"line 15: 'sets' is a whole number, not '2'"),
        ("sets = 2", "sets = 0", r"line 15: 'sets' is a whole number from 1 to 100,000, not 0"),
        ("sets = 2", "sets = 99999", r"line 15: 1,199,988 pictures would be made; at most 1,000,000 are"),
        ("sets = 2", "draws = 101", r"line 15: 'draws' is a whole number from 1 to 100, not 101"),
        ("sets = 2", "draws = true", r"line 15: 'draws' is a whole number, not True"),
        ("sets = 2", "draws = 0", r"line 15: 'draws' is a whole number from 1 to 100, not 0"),
        ("sets = 2", "seed = -1", r"line 15: 'seed' is a whole number from 0, not -1"),
        ("sets = 2", "seed = 1.5", r"line 15: 'seed' is a whole number from 0, not 1.5"),
        ("sets = 2", 'null_edits = "yes"', r"line 15: 'null_edits' is true or false, not 'yes'"),
        ("sets = 2", "null_edits = 1", r"line 15: 'null_edits' is true or false, not 1"),
        ("sets = 2", 'sources = "faces.csv"', r"line 15: Bases are made of 'prompt', and named by 'sources'"),
        (
            "sets = 2",
            'sources = "../faces.csv"',
            r"line 15: The study names '../faces.csv', which is not below its own",
        ),
        ("sets = 2", "sources = 3", r"line 15: 'sources' is a text in quotes, not 3"),
        ("sets = 2", "cue = 3", r"line 15: 'cue' is a text in quotes, not 3"),
        ("sets = 2", 'cue = "age"', r"line 16: 'age' is what edits are called in"),
        ("sets = 2", 'cue = "prompt"', r"line 15: No factor of pictures can be called 'prompt'"),
        ("sets = 2", 'cue = ""', r"line 15: The column '' is not made of"),
        ('prompt = "A portrait of a {age} {gender}."', "", r"line 13: Nothing says what bases are: write a 'prompt'"),
        ('"A portrait of a {age} {gender}."', "3", r"line 14: 'prompt' is a text in quotes, not 3"),
        ("A portrait of a {age}", "A portrait of a {aeg}", r"line 14: Unknown slot 'aeg'. Did you mean 'age'"),
        ("A portrait of a {age} {gender}.", "A {age} woman. " * 400, r"line 14: A prompt has at most 4,000 characters"),
        (
            "{age} {gender}",
            "{gender}",
            r"line 16: Neither the prompt nor an edit has a slot {age} for",
        ),
        (
            "[make.factor.age]\nlevels",
            "[make.factor.age]\nlevel",
            r"line 17: Unknown key 'level'. Did you mean",
        ),
        ('["young", "old"]', '["young", "young"]', r"line 17: 'levels' names 'young' twice"),
        ('["young", "old"]', "[]", r"line 16: The factor 'age' has no levels"),
        ('["young", "old"]', "[1, 2]", r"line 17: 'levels' is a list of texts in quotes"),
        ('["young", "old"]', '["young", "Young!"]', r"differ in signs between words alone"),
        ("factor.age", "factor.Age", r"line 16: The column 'Age' is not made of small letters"),
        ("factor.age", "factor.sets", r"line 16: No factor of pictures can be called 'sets'"),
        ("factor.age", "factor.identity", r"line 16: No factor of pictures can be called 'identity'"),
        ("factor.age", "factor.worn", r"line 16: 'worn' is what edits are called in"),
        ("[make.factor.age]", "[make.factors.age]", r"line 16: Unknown key 'factors'. Did you mean 'factor'"),
        (
            'sunglasses = "Add sunglasses."',
            'sunglasses = ""',
            r"line 21: The edit 'sunglasses' needs a name, and",
        ),
        ('sunglasses = "Add sunglasses."', "sunglasses = 3", r"line 21: 'sunglasses' is a text in quotes, not 3"),
        (
            'sunglasses = "Add sunglasses."',
            '"no change" = "Nothing."',
            r"line 21: 'no change' is what null edits are",
        ),
        ('sunglasses = "Add sunglasses."', 'cap = "A cap."', r"Cannot overwrite|twice|already"),
        ("{gender}'s head", "{gendre}'s head", r"line 22: Unknown slot 'gendre'. Did you mean 'gender'"),
        ("[make.edit]", "[make.edits]", r"line 20: Unknown key 'edits'. Did you mean 'edit'"),
        ("[make.edit]\n", '[make.edit]\n"" = "Add."\n', r"needs a name, and a sentence"),
        ("[make.edit]\n", "[[make.edit]]\n", r"line 20: 'edit' is a table"),
        ("[make]\n", "[[make]]\n", r"'make' is a table"),
        (
            'kind = "manifest"\ncue = "worn"',
            'kind = "portraits"\n',
            r"line 13: \[make\] is of pictures that a list names",
        ),
        ('cue = "worn"', 'cue = "worn"\nunit = "template"', r"line 14: \[make\] makes pictures of an identity"),
        ('cue = "worn"', 'cue = "worn"\nbase = "cap"', r"line 23: 'cap' is what a base is called"),
    ],
)
def test_mistakes_have_their_line(read: Reader, before: str, after: str, says: str) -> None:
    text = STUDY + MAKE
    assert before in text
    with pytest.raises(FaceValueError, match=says) as error:
        plan(read(text.replace(before, after, 1)))
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('gender = "male"', "gender = 3", r"line 20: 'gender' is a text in quotes, not 3"),
        ('gender = "male"', 'gendr = "male"', r"line 18: Person 2 has other columns than the first"),
        ('gender = "male"', "", r"line 18: Person 2 has other columns than the first \(who_is_shown, gender\)"),
        ('gender = "male"', 'gender = " "', r"line 18: Person 2 has a text that is empty or longer than 1,000"),
        ("a cook of 50", "a cook " * 200, r"line 18: Person 2 has a text that is empty or longer than 1,000"),
        ("{who_is_shown}", "{who_is_show}", r"line 14: Unknown slot 'who_is_show'. Did you mean 'who_is_shown'"),
        ('"female"', '"female"\nidentity = "ann"', r"line 18: No factor of pictures can be called 'identity'"),
        ('"female"', '"female"\nWorn = "cap"', r"line 18: The column 'Worn' is not made of small letters"),
        ('"female"', '"female"\nprompt = "cap"', r"line 18: No factor of pictures can be called 'prompt'"),
        (
            "{who_is_shown}",
            "people",
            r"line 14: Neither the prompt nor an edit has a slot for the people, such as {who_is",
        ),
        ("[[make.person]]", "[make.person]", r"'person' is written as \[\[person\]\] tables|Cannot"),
        ("[[make.person]]", "[[make.people]]", r"Unknown key 'people'. Did you mean"),
    ],
)
def test_mistakes_of_people_have_their_line(read: Reader, before: str, after: str, says: str) -> None:
    text = STUDY + PEOPLE
    assert before in text
    with pytest.raises(FaceValueError, match=says):
        plan(read(text.replace(before, after, 1)))


def test_so_it_is_in_python() -> None:
    declared = DeclaredMaking(sources="faces.csv", edits={"cap": "Add a cap."}, cue="worn")
    assert [setting.name for setting in declared.settings] == [
        "edit",
        "draws",
        "sources",
        "root",
        "null_edits",
        "picture_seed",
    ]
    with pytest.raises(FaceValueError, match="Nothing is made of the sources"):
        DeclaredMaking(sources="faces.csv")
    with pytest.raises(FaceValueError, match="are of bases that are made, and these exist"):
        DeclaredMaking(sources="faces.csv", sets=2, null_edits=True)


def test_sources_of_an_audit_of_editors_have_no_level_of_the_cue(read: Reader) -> None:
    text = STUDY.replace('kind = "manifest"\ncue = "worn"', 'kind = "edits"\ncue = "worn"')
    made = plan(read(text + MAKE), sets=1, age="old", gender="male", null_edits=True)
    assert made.table["worn"].to_list() == [None, NULL_EDIT, "sunglasses", "cap"]


def test_a_file_that_narrows_a_study_narrows_what_is_made_for_it(read: Reader) -> None:
    narrowed = 'faces = "2"\nvariations = ["sunglasses"]\nscenario = ["wealthy"]\nfaces_seed = 3\n'
    text = f'like = "stylisticbias"\n[settings]\n{narrowed}'
    made = plan(read(text))
    assert made.table.height == 2 * 2
    assert plan(read(text), faces="4").table.height == 4 * 2


def test_rows_of_parquet_files_are_not_edited(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "faces.csv").write_text("path\ntrain.parquet#3\n")
    with pytest.raises(FaceValueError, match=r"train\.parquet#3 is a row of a Parquet file"):
        plan(read(STUDY + MAKE.replace("{gender}'s", "person's")), sources=str(tmp_path / "faces.csv"))
