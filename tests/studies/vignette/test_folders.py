"""The authors' folders of pictures. The files are empty: nothing is decoded here."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.vignette import folders as module
from facevalue.studies.vignette.folders import Names, missing_pictures, read_individuals, read_pairs

AGE = {"little boy": "little", "male adolescent": "adolescent", "old man": "old", "middle-aged man": "middle aged"}
LOOKS = "physical traits"
NAMES = Names(
    dimensions={"age": "age", "physical_traits": "physical traits", "gender_and_sex": "gender"},
    identities={
        ("male", "age"): AGE,
        ("male", "physical traits"): {"clean-shaven man": "clean-shaven", "black-haired man": "black-haired"},
        ("female", "age"): {"little-girl": "little", "old-woman": "old"},
    },
    activities={"babysitting": "babysitting", "walking a dog": "walking a dog", "fixing-things": "fixing things"},
)


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def test_the_authors_example_of_one_person(tmp_path: Path) -> None:
    root = place(tmp_path, "individual_images/male/age/little-boy_babysitting.png")
    assert read_individuals(root, NAMES).to_dicts() == [
        {
            "image": "individual_images/male/age/little-boy_babysitting",
            "path": "individual_images/male/age/little-boy_babysitting.png",
            "gender": "male",
            "dimension": "age",
            "identity": "little",
            "activity": "babysitting",
        }
    ]


def test_the_authors_example_of_a_pair(tmp_path: Path) -> None:
    root = place(tmp_path, "identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting.png")
    (row,) = read_pairs(root, NAMES).to_dicts()
    assert row == {
        "image": "identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting",
        "path": "identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting.png",
        "gender": "male",
        "dimension": "age",
        "contrast": "identity",
        "identity_1": "little",
        "identity_2": "adolescent",
        "activity_1": "babysitting",
        "activity_2": "babysitting",
    }


@pytest.mark.parametrize(
    ("path", "gender", "dimension", "identity", "activity"),
    [
        ("male/physical_traits/clean-shaven-man_walking-a-dog.png", "male", LOOKS, "clean-shaven", "walking a dog"),
        ("male/physical_traits/black-haired man_fixing things.png", "male", LOOKS, "black-haired", "fixing things"),
        ("male/physical_traits/Clean-Shaven-Man.PNG", "male", LOOKS, "clean-shaven", None),
        ("male/age/middle-aged man_Walking a dog.jpg", "male", "age", "middle aged", "walking a dog"),
        ("female/age/little_girl_walking_a_dog.png", "female", "age", "little", "walking a dog"),
        ("female/age/old woman.png", "female", "age", "old", None),
        ("female/Age/old-woman.webp", "female", "age", "old", None),
    ],
)
def test_spellings(tmp_path: Path, path: str, gender: str, dimension: str, identity: str, activity: str | None) -> None:
    (row,) = read_individuals(place(tmp_path, path), NAMES).rows()
    assert row == (path.rpartition(".")[0], path, gender, dimension, identity, activity)


@given(st.data())
def test_whatever_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    descriptor = data.draw(st.sampled_from(list(AGE)))
    activity = data.draw(st.none() | st.sampled_from(list(NAMES.activities)))
    join = data.draw(st.sampled_from(["-", " "]))
    case = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    stem = descriptor if activity is None else f"{descriptor}_{activity}"
    root = place(tmp_path_factory.mktemp("x"), f"male/age/{case(stem).replace(' ', join)}.png")
    (row,) = read_individuals(root, NAMES).rows()
    assert row[4:] == (AGE[descriptor], None if activity is None else NAMES.activities[activity])


@pytest.mark.parametrize(
    ("path", "contrast", "people", "activities"),
    [
        (
            "same_activity/male/age/old-man_babysitting--little-boy_babysitting",
            *("identity", ("old", "little"), ("babysitting", "babysitting")),
        ),
        (
            "activity_contrast/male/age/old-man_babysitting--old-man_walking-a-dog",
            *("activity", ("old", "old"), ("babysitting", "walking a dog")),
        ),
        (
            "same_descriptor/male/age/old man_babysitting--old man_walking a dog",
            *("activity", ("old", "old"), ("babysitting", "walking a dog")),
        ),
        (
            "different_activity/male/age/old-man_babysitting--little-boy_walking-a-dog",
            *("identity-activity", ("old", "little"), ("babysitting", "walking a dog")),
        ),
        (
            "activity_identity_contrast/male/physical_traits/"
            "clean-shaven-man_fixing-things--black-haired-man_walking-a-dog",
            *("identity-activity", ("clean-shaven", "black-haired"), ("fixing things", "walking a dog")),
        ),
        (
            "identity_contrast/male/age/old-man--middle-aged-man",
            *("portrait", ("old", "middle aged"), (None, None)),
        ),
    ],
)
def test_contrasts(
    tmp_path: Path, path: str, contrast: str, people: tuple[str, str], activities: tuple[str | None, str | None]
) -> None:
    (row,) = read_pairs(place(tmp_path, f"{path}.png"), NAMES).rows()
    assert row[4:] == (contrast, *people, *activities)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("male/age/litle-boy_babysitting.png", "unknown identity 'litle boy', did you mean 'little boy'"),
        ("male/age/little-boy_babysiting.png", "unknown activity 'babysiting', did you mean 'babysitting'"),
        ("male/age/zzz.png", "unknown identity 'zzz'[.]"),
        ("male/gender_and_sex/old-man.png", "unknown identity 'old man'[.]"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(DataError, match=f"1 file with names that are not understood: .*{says}"):
        read_individuals(place(tmp_path, path), NAMES)


def test_the_first_five_unknown_files_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    root = place(tmp_path, "male/age/old-man.png", *(f"male/age/nobody{i}.png" for i in range(9)))
    with pytest.raises(DataError, match=r"^9 files .*nobody4.png[^;]*; and 4 more.$") as caught:
        read_individuals(root, NAMES)
    assert "nobody5" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("identity_contrast/male/age/old-man_babysitting.png", "not two people"),
        ("identity_contrast/male/age/old-man_babysitting--litle-boy_babysitting.png", "did you mean 'little boy'"),
        ("identity_contrast/male/age/old-man_babysitting--little-boy_walking-a-dog.png", "not of the contrast of its"),
        ("identity_contrast/male/age/old-man--little-boy_babysitting.png", "not of the contrast"),
        ("activity_contrast/male/age/old-man--little-boy.png", "not of the contrast"),
        ("identity_contrast/male/age/old-man--old-man.png", "not of the contrast"),
    ],
)
def test_pairs_that_are_none(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_pairs(place(tmp_path, path), NAMES)


def test_an_unknown_axis_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'physical'. Did you mean 'physical_traits'"):
        read_individuals(place(tmp_path, "male/physical/x.png"), NAMES)


def test_what_is_no_picture_is_left_alone(tmp_path: Path) -> None:
    root = place(tmp_path, "male/age/old-man.png", "male/age/merged.log", "male/age/.old-man.png", "male/notes.txt")
    assert read_individuals(root, NAMES)["path"].to_list() == ["male/age/old-man.png"]


def test_a_folder_without_pictures_says_so(tmp_path: Path) -> None:
    for read in (read_individuals, read_pairs):
        with pytest.raises(DataError, match="holds no pictures"):
            read(tmp_path, NAMES)


def test_two_pictures_of_one_cell_are_refused(tmp_path: Path) -> None:
    root = place(tmp_path, "male/age/old-man.png", "male/age/old man.jpg", "male/age/little-boy.png")
    with pytest.raises(
        DataError, match=r"old man.jpg and male/age/old-man.png show the same: male, age, old. Keep one"
    ):
        read_individuals(root, NAMES)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 1)
    with pytest.raises(DataError, match="more than 1 pictures"):
        read_individuals(place(tmp_path, "male/age/old-man.png", "male/age/little-boy.png"), NAMES)


def test_identities_and_activities_without_a_picture_are_named(tmp_path: Path) -> None:
    root = place(
        tmp_path,
        "male/age/old-man_babysitting.png",
        "male/age/little-boy_walking-a-dog.png",
        "male/physical_traits/clean-shaven-man.png",
    )
    missing = missing_pictures(read_individuals(root, NAMES), NAMES)
    assert missing.rows() == [
        ("male", "age", "adolescent", None),
        ("male", "age", "middle aged", None),
        ("male", "age", None, "fixing things"),
        ("male", "physical traits", "black-haired", None),
        ("female", "age", "little", None),
        ("female", "age", "old", None),
    ]


def test_pairs_show_both_their_people(tmp_path: Path) -> None:
    root = place(tmp_path, "different_activity/female/age/old-woman_babysitting--little-girl_fixing-things.png")
    missing = missing_pictures(read_pairs(root, NAMES), NAMES).filter(pl.col("gender") == "female")
    assert missing.rows() == [("female", "age", None, "walking a dog")]
