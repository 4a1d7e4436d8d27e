"""What a study would do with a folder of one's own pictures: told by `init` and `check` before anything is asked."""

from itertools import product
from pathlib import Path

import pytest

from facevalue import studies
from facevalue.runs.own_pictures.manifest_check import check_manifest, study_of, use_of
from facevalue.stimuli.manifest import read_manifest
from tests.cli.conftest import Command
from tests.cli.test_manifest import draw

PEOPLE = [f"{race} {who}" for race, who in product(("black", "white"), ("woman", "man"))]
SETS = [f"set{at:02}/{who} {job}.png" for at, job in enumerate(("doctor", "cook")) for who in PEOPLE]
FACES = [f"{who.replace(' ', '_')}_{age}_{n}.jpg" for who, age, n in product(PEOPLE, (25, 60), (0, 1))]
OWN = """name = "own"
[pictures]
kind = "manifest"
cue = "aid"
base = "none"
[prompt]
text = "Is this person kind?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["aid"]
"""
FOLDERS = {
    "stylisticbias": [f"{who}/{cue}.png" for who in ("ann", "ben") for cue in ("base", "cap", "sunglasses")],
    "vignette": [f"male/{who}_cooking_{n}.png" for who in ("old", "young") for n in (1, 2)],
    "visbias": [f"nurse/{who}.png" for who in PEOPLE],
    "modscan": FACES,
    "counterfactuals": SETS,
    "own.toml": [f"{who}/{aid}.png" for who in ("ann", "ben") for aid in ("none", "cane")],
    "gras": [f"{who} {n}.png" for who in PEOPLE for n in (1, 2)],
    "reflect": SETS,
    "reflect-pairs": SETS,
    "beauty": [f"face{n}_{how}.png" for n in range(2) for how in ("original", "filtered")],
    "blinded": [f"{who} {n}/{place}.png" for who in ("man", "woman") for n in (1, 2) for place in ("home", "street")],
    "cultural-counterfactuals": [f"set {n}/{place}.png" for n in range(3) for place in ("peru", "kenya")],
}


@pytest.mark.parametrize("study", FOLDERS)
def test_a_folder_whose_names_say_all_is_shown_whole_and_nothing_is_asked(facevalue: Command, study: str) -> None:
    Path("own.toml").write_text(OWN)
    for name in FOLDERS[study]:
        draw(f"p/{name}")
    begun = facevalue("manifest", "init", "p", "--for", study)
    checked = facevalue("manifest", "check", "p/manifest.csv", "--for", study)
    name = study.removesuffix(".toml")
    for done in (begun, checked):
        assert done.status == 0, done.out + done.err
        assert f"{name} would ask" in done.out
        assert f"about {len(FOLDERS[study])} pictures" in done.out
        assert "fill it in" not in done.out
    assert "A run takes it" in checked.out


def test_ages_sets_and_occupations_are_read(facevalue: Command) -> None:
    for name in FACES:
        draw(f"faces/{name}")
    for name in SETS:
        draw(f"sets/{name}")
    facevalue("manifest", "init", "faces", "--for", "modscan")
    assert "black_man_25_0.jpg,25,male,Black" in Path("faces/manifest.csv").read_text().splitlines()
    done = facevalue("manifest", "init", "sets", "--for", "counterfactuals")
    lines = Path("sets/manifest.csv").read_text().splitlines()
    assert "set00/black woman doctor.png,set00,Black,female,doctor" in lines
    assert "rating: pictures" in facevalue("manifest", "check", "sets/manifest.csv", "--for", "counterfactuals").out
    assert "Left out" not in done.out


def test_faces_of_which_no_pair_can_be_made_are_refused_and_not_replaced_by_drawings(facevalue: Command) -> None:
    for who in PEOPLE:
        draw(f"p/{who}.jpg")
    begun = facevalue("manifest", "init", "p", "--for", "modscan")
    assert begun.status == 1
    assert "age: could not be guessed; fill it in" in begun.out
    assert "the column 'age' (of the person; pairs are of one age) is empty in all rows" in begun.out
    assert facevalue("manifest", "check", "p/manifest.csv", "--for", "modscan").status == 1
    planned = facevalue("plan", "modscan", "--manifest", "p/manifest.csv")
    assert planned.status == 1
    assert "so that no pair can be made: fill in age." in planned.err


def test_pictures_that_are_not_shown_are_named_with_the_reason(facevalue: Command) -> None:
    rows = ["a.png,25,female,White", "b.png,25,male,White", "c.png,,male,White", "d.png,60,male,Black"]
    for name in "abcd":
        draw(f"{name}.png")
    Path("m.csv").write_text("path,age,gender,race\n" + "\n".join(rows) + "\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "modscan")
    assert done.status == 0
    assert "about 2 of the 4 pictures" in done.out
    assert "not shown: 'age' is empty (1 row)\n    row 3  c.png" in done.out
    assert "not shown: there is nothing to compare it with (1 row)\n    row 4  d.png" in done.out
    assert "(leave them out: --modality vision)" in done.out


def test_a_plan_says_that_pictures_are_passed_over(facevalue: Command) -> None:
    for name in FACES:
        draw(f"p/{name}")
    facevalue("manifest", "init", "p", "--for", "modscan")
    plan = ("plan", "modscan", "--manifest", "p/manifest.csv", "--modality", "vision")
    assert "would not be shown" not in facevalue(*plan).err
    draw("p/black_man_99_0.jpg")
    facevalue("manifest", "init", "p", "--for", "modscan", "--overwrite")
    done = facevalue(*plan)
    assert done.status == 0
    assert "1 of the 17 pictures of manifest.csv would not be shown with these settings" in done.err


def test_a_check_says_which_option_states_the_kind(facevalue: Command) -> None:
    for name in SETS:
        draw(f"p/{name}")
    facevalue("manifest", "init", "p", "--for", "counterfactuals")
    done = facevalue("manifest", "check", "p/manifest.csv", "--for", "counterfactuals")
    assert "--kind illustrated, synthetic, photographs." in done.out


def test_what_a_study_leaves_out_for_want_of_a_column_is_said(facevalue: Command) -> None:
    for who in PEOPLE:
        draw(f"{who}.png")
    rows = "\n".join(f"{who}.png,{who}" for who in PEOPLE)
    Path("m.csv").write_text(f"path,group\n{rows}\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "counterfactuals")
    assert "measures of sets: No picture has a set: fill in the column 'set'." in done.out
    assert "Ratings of 4 pictures" in done.out


def test_the_trials_themselves_say_which_pictures_are_shown(tmp_path: Path) -> None:
    rows = "path,age,gender,race\na.png,25,female,White\nb.png,25,male,White\n"
    file, protocol = tmp_path / "m.csv", studies.find_protocol("modscan")
    file.write_text(rows)
    study = study_of(protocol, file)
    file.write_text(rows.replace("a.png", "x.png").replace("b.png", "y.png"))
    use = use_of(study, read_manifest(file), protocol)
    assert (use.pictures, use.used, use.requests) == (2, 0, 0)
    assert [fault.count for fault in use.unused] == [2]


def test_levels_that_a_study_does_not_know_are_named_with_the_nearest_one(facevalue: Command) -> None:
    for name in ("a", "b", "c"):
        draw(f"{name}.png")
    Path("m.csv").write_text("path,age,gender,race\na.png,25,female,White\nb.png,25,male,White\nc.png,25,mael,Black\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "modscan")
    assert "not shown: the study knows no gender 'mael'; is 'male' meant? (1 row)" in done.out


def test_no_picture_is_opened_to_find_out_what_would_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("path,age,gender,race\nno.png,25,female,White\nneither.png,25,male,White\n")
    result = check_manifest(file, studies.find_protocol("modscan"), pictures=False)
    assert (result.faults, result.use.used if result.use else 0) == ([], 2)


def test_a_list_of_names_that_say_nothing_has_all_columns_to_fill_in(facevalue: Command) -> None:
    for number in range(4):
        draw(f"p/IMG_{number:04}.png")
    begun = facevalue("manifest", "init", "p", "--for", "visbias")
    assert Path("p/manifest.csv").read_text().splitlines()[0] == "path,occupation,race,gender,skin_tone"
    assert "Note: no factors: pictures cannot be compared by anything." in begun.out
    for study, says in (
        ("counterfactuals", "nothing says what the pictures show: fill in some of group, physical, race, gender"),
        ("gras", "nothing says what the pictures show: fill in some of gender, race, age, skin_tone"),
        ("blinded", "'scene' is empty (4 rows)"),
        ("beyond-demographics", "the column 'category' (estimates are broken down by it) is empty in all rows"),
    ):
        begun = facevalue("manifest", "init", "p", "--for", study, "--overwrite")
        assert begun.status == 1
        assert says in begun.out


def test_words_that_are_nearly_those_of_a_study_are_named(facevalue: Command) -> None:
    for who in ("femal asian 25", "male asian 25", "male balck 25"):
        draw(f"p/{who}.png")
    begun = facevalue("manifest", "init", "p", "--for", "modscan")
    assert "Not understood, and perhaps misspelt: femal (female?), balck (black?)." in begun.out


def test_paths_that_are_meant_from_elsewhere_or_misspelt_are_said(facevalue: Command) -> None:
    draw("p/ann/base.png")
    draw("p/ann/cap.png")
    header = "path,identity,attribute,variation\n"
    Path("p/m.csv").write_text(f"{header}p/ann/base.png,a,,\np/ann/cap.png,a,accessories,cap\n")
    done = facevalue("manifest", "check", "p/m.csv", "--for", "stylisticbias")
    assert "paths are read from p, and are meant from .: add --root ." in done.out
    assert facevalue("manifest", "check", "p/m.csv", "--for", "stylisticbias", "--root", ".").status == 0
    Path("p/m.csv").write_text(f"{header}ann\\base.png,a,,\nann/Cap.PNG,a,accessories,cap\n")
    done = facevalue("manifest", "check", "p/m.csv", "--for", "stylisticbias")
    assert "row 1  ann\\base.png; is ann/base.png meant?" in done.out
    assert "row 2  ann/Cap.PNG; is ann/cap.png meant?" in done.out


def test_a_mistake_in_one_set_does_not_hide_the_others(facevalue: Command) -> None:
    for number, who in product(range(6), PEOPLE):
        draw(f"p/set0{number}/{who} cook.png")
    draw("p/set01/black man cook 2.png")
    begun = facevalue("manifest", "init", "p", "--for", "counterfactuals")
    assert "set: set01 5, set00 4" in begun.out
    assert "set01 has Black male more than once" in begun.out


def test_what_spreadsheets_leave_behind_is_passed_over(facevalue: Command) -> None:
    draw("a.png")
    Path("m.csv").write_text("path,gender,,\na.png,male,,\n,,,\n\n")
    assert "1 picture; factors: gender" in facevalue("manifest", "check", "m.csv").out
    Path("m.csv").write_text("path,gender,,age\na.png,male,,9\n")
    assert "column 3 has no name" in facevalue("manifest", "check", "m.csv").out
    Path("m.csv").write_text("path,gender,\na.png,male,tall\n")
    assert "column 3 or one after it has no name, and is not empty" in facevalue("manifest", "check", "m.csv").out
