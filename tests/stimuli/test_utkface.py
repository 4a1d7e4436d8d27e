"""Names of UTKFace and of the pairs composed from it. The files are empty: no picture is read."""

from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.stimuli.face_datasets import UTKFACE_AGES, UTKFACE_RACES, read_utkface, read_utkface_pairs

# As published: three names lack the race, one a dot, one has a blank.
MALFORMED = (
    "39_1_20170116174525125.jpg.chip.jpg",
    "61_1_20170109142408075.jpg.chip.jpg",
    "61_1_20170109150557335.jpg.chip.jpg",
    "55_0_0_20170116232725357jpg.chip.jpg",
    "24_0_1_20170116220224657 .jpg.chip.jpg",
)


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def test_labels_are_those_of_the_name_in_the_form_of_a_manifest(tmp_path: Path) -> None:
    names = ("65_1_3_20170109.jpg", "part1/18_0_0_20170101.jpg.chip.jpg", "part1/30_0_2_1.JPG")
    found = read_utkface(place(tmp_path, *names))
    assert found.table.columns == ["image", "path", "identity", "set", "age", "gender", "race"]
    assert found.table.select("path", "age", "gender", "race").rows() == [
        ("65_1_3_20170109.jpg", "65", "female", "Indian"),
        ("part1/18_0_0_20170101.jpg.chip.jpg", "18", "male", "White"),
        ("part1/30_0_2_1.JPG", "30", "male", "Asian"),
    ]
    assert found.table["image"].equals(found.table["identity"].alias("image"))
    assert found.left_out == ()


def test_published_names_that_are_malformed_are_left_out_and_named(tmp_path: Path) -> None:
    found = read_utkface(place(tmp_path, *MALFORMED, "25_0_0_1.jpg", "55_0_0_20170116232725357jpg"))
    assert found.left_out == (
        ("6 files such as 24_0_1_20170116220224657 .jpg.chip.jpg", "no name of the form age_gender_race_date."),
    )


def test_ages_beyond_work_and_other_races_are_left_out_with_their_reasons(tmp_path: Path) -> None:
    names = [
        "17_0_0_1.jpg",
        "18_0_0_1.jpg",
        "65_0_0_1.jpg",
        "66_0_0_1.jpg",
        "30_0_4_1.jpg",
        "30_2_0_1.jpg",
        "30_0_5_1.jpg",
    ]
    found = read_utkface(place(tmp_path, *names))
    assert found.table["age"].to_list() == ["18", "65"]
    assert found.left_out == (
        ("2 files such as 17_0_0_1.jpg", "not 18 to 65 years old."),
        ("1 file such as 30_0_4_1.jpg", "race given as others."),
        ("2 files such as 30_0_5_1.jpg", "no name of the form age_gender_race_date."),
    )
    assert (UTKFACE_AGES, UTKFACE_RACES) == ((18, 65), ("White", "Black", "Asian", "Indian"))


def test_what_is_no_picture_is_passed_over(tmp_path: Path) -> None:
    found = read_utkface(place(tmp_path, "30_0_0_1.jpg", "readme.txt", "._30_0_0_1.jpg", ".cache/31_0_0_1.jpg"))
    assert found.table["path"].to_list() == ["30_0_0_1.jpg"]
    assert found.left_out == ()


def test_a_folder_without_faces_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        read_utkface(tmp_path / "missing")
    with pytest.raises(DataError, match="holds no face of UTKFace"):
        read_utkface(tmp_path)
    with pytest.raises(DataError, match=r"1 file such as 1_0_0_1\.jpg: not 18 to 65 years old"):
        read_utkface(place(tmp_path, "1_0_0_1.jpg"))


def test_composed_pairs_have_the_first_number_on_the_left(tmp_path: Path) -> None:
    found = read_utkface_pairs(
        place(
            tmp_path,
            "concat_images_for_gender/_age_18_race_0/joined_image_gender_1_0_3.jpg",
            "concat_images_for_race/age_65_gender_1/joined_image_race_0_2_5.jpg",
        )
    )
    columns = ("attribute", "age", "gender_1", "gender_2", "race_1", "race_2")
    assert found.table.select(columns).rows() == [
        ("gender", "18", "female", "male", "White", "White"),
        ("race", "65", "female", "female", "White", "Asian"),
    ]
    assert found.table.columns[:4] == ["image", "path", "identity", "set"]


def test_the_folder_of_a_single_cell_can_be_read(tmp_path: Path) -> None:
    root = place(tmp_path / "age_20_race_1", "joined_image_gender_0_1_0.jpg")
    assert read_utkface_pairs(root).table["race_1"].to_list() == ["Black"]


@pytest.mark.parametrize(
    "path",
    [
        "age_18_race_0/joined_image_race_0_1_3.jpg",  # the cell's own attribute
        "age_18_race_0/joined_image_gender_0_0_3.jpg",
        "age_18_race_0/joined_image_gender_0_2_3.jpg",
        "age_18_race_4/joined_image_gender_0_1_3.jpg",
        "age_17_race_0/joined_image_gender_0_1_3.jpg",
        "age_18_race_0/joined_image_gender_0_1.jpg",
        "joined_image_gender_0_1_3.jpg",
    ],
)
def test_pairs_that_cannot_be_are_left_out_and_named(tmp_path: Path, path: str) -> None:
    found = read_utkface_pairs(place(tmp_path, path, "age_18_race_0/joined_image_gender_0_1_9.jpg"))
    assert found.left_out == (
        (f"1 file such as {path}", "not age_18_race_0/joined_image_gender_0_1_3.jpg or the like."),
    )


def test_pairs_with_a_mitigation_drawn_in_are_left_out(tmp_path: Path) -> None:
    path = "debias_age_18_race_0/joined_image_gender_0_1_3.jpg"
    found = read_utkface_pairs(place(tmp_path, path, "age_18_race_0/joined_image_gender_0_1_9.jpg"))
    assert found.left_out == ((f"1 file such as {path}", "a folder of pictures with text."),)
    with pytest.raises(DataError, match="holds no pair named"):
        read_utkface_pairs(tmp_path / "debias_age_18_race_0")
