"""The authors' folders of pictures. The files are empty: nothing is decoded here."""

from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.studies.vignette.pictures import read_individuals, read_pairs

LOOKS = "physical traits"


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def test_the_authors_example_of_one_person(tmp_path: Path) -> None:
    root = place(tmp_path, "individual_images/male/age/little-boy_babysitting.png")
    assert read_individuals(root).to_dicts() == [
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
    (row,) = read_pairs(root).to_dicts()
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
        ("male/physical_traits/black-haired man_repairing a car.png", "male", LOOKS, "black-haired", "repairing a car"),
        ("male/physical_traits/Clean-Shaven-Man.PNG", "male", LOOKS, "clean-shaven", None),
        ("male/age/middle-aged man_Walking a dog.jpg", "male", "age", "middle aged", "walking a dog"),
        ("female/age/little_girl_walking_a_dog.png", "female", "age", "little", "walking a dog"),
        ("female/age/old woman.png", "female", "age", "old", None),
        ("female/Age/old-woman.webp", "female", "age", "old", None),
    ],
)
def test_spellings(tmp_path: Path, path: str, gender: str, dimension: str, identity: str, activity: str | None) -> None:
    (row,) = read_individuals(place(tmp_path, path)).rows()
    assert row == (path.rpartition(".")[0], path, gender, dimension, identity, activity)


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
            "clean-shaven-man_repairing-a-car--black-haired-man_walking-a-dog",
            *("identity-activity", ("clean-shaven", "black-haired"), ("repairing a car", "walking a dog")),
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
    (row,) = read_pairs(place(tmp_path, f"{path}.png")).rows()
    assert row[4:] == (contrast, *people, *activities)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("male/age/litle-boy_babysitting.png", "unknown identity 'litle-boy', did you mean 'little boy'?"),
        ("male/age/little-boy_babysiting.png", "unknown activity 'babysiting', did you mean 'babysitting'?"),
        ("male/age/zzz.png", "unknown identity 'zzz'; there are"),
        ("male/gender_and_sex/old-woman.png", "unknown identity 'old-woman'"),
        ("male/physical/x.png", "unknown dimension 'physical'"),
        ("male/notes.png", "not a path {gender}/{dimension}/{identity}"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(DataError, match="1 file with names that are not understood: ") as refused:
        read_individuals(place(tmp_path, path))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("identity_contrast/male/age/old-man_babysitting.png", "'old-man_babysitting' is not {identity_1}"),
        ("identity_contrast/male/age/old-man_babysitting--litle-boy_babysitting.png", "did you mean 'little boy'"),
        ("identity_contrast/male/age/old-man_babysitting--little-boy_walking-a-dog.png", "not of the contrast of"),
        ("identity_contrast/male/age/old-man--little-boy_babysitting.png", "not understood"),
        ("activity_contrast/male/age/old-man--little-boy.png", "not of the contrast"),
        ("identity_contrast/male/age/old-man--old-man.png", "not of the contrast"),
    ],
)
def test_pairs_that_are_none(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(DataError) as refused:
        read_pairs(place(tmp_path, path))
    assert says in str(refused.value)


def test_what_is_no_picture_is_left_alone(tmp_path: Path) -> None:
    root = place(
        tmp_path, "male/age/old-man.png", "male/age/merged.log", "male/age/.old-man.png", "male/notes.txt", "x.png"
    )
    assert read_individuals(root)["path"].to_list() == ["male/age/old-man.png"]


def test_a_folder_without_pictures_says_so(tmp_path: Path) -> None:
    for read in (read_individuals, read_pairs):
        with pytest.raises(DataError, match="holds no pictures"):
            read(tmp_path)


def test_two_pictures_of_one_cell_are_refused(tmp_path: Path) -> None:
    root = place(tmp_path, "male/age/old-man.png", "male/age/old man.jpg", "male/age/little-boy.png")
    with pytest.raises(DataError, match=r"old-man.png show the same: male, age, old. Keep one"):
        read_individuals(root)
