"""PATA's list of labels and links. The links and files are made up: no picture is read."""

from pathlib import Path

import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli import face_datasets as module
from facevalue.stimuli.face_datasets import read_pata, read_pata_list
from facevalue.stimuli.pair_lists import identity_pairs

LINES = [
    "kitchen_indian_male_young|http://example.org/a.jpg",
    "kitchen_indian_male_young|http://example.org/b_c.jpg?x=1_2|3",
    "gun_range_eastasian_female_old|http://example.org/d.jpg",
    "computer_caucasian_female_young|http://example.org/e.jpg",
    "kitchen_black_male_old|http://example.org/f.jpg",
]


def listed(root: Path, *lines: str) -> Path:
    path = root / "pata.lst"
    path.write_text("\n".join(lines or LINES) + "\n")
    return path


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def test_labels_are_split_from_the_right(tmp_path: Path) -> None:
    frame = read_pata_list(listed(tmp_path))
    assert frame.select("line", "image", "identity", "gender", "age", "scene", "activity", "url").rows()[1:4] == [
        (2, "kitchen_indian_male_young_1", "Indian", "male", "young", "kitchen", "cooking", LINES[1].split("|", 1)[1]),
        (3, "gun_range_eastasian_female_old_2", "East Asian", "female", "old", "gun range", "gun range", "http://example.org/d.jpg"),
        (4, "computer_caucasian_female_young_3", "Caucasian", "female", "young", "computer", "programming", "http://example.org/e.jpg"),
    ]  # fmt: skip


def test_other_spellings_of_a_label(tmp_path: Path) -> None:
    path = listed(tmp_path, "Drinking_Water_East_Asian_Female_Old|u", "", "a_b_c_hispanic_male_young|u")
    assert read_pata_list(path).select("line", "scene", "identity").rows() == [
        (1, "drinking water", "East Asian"),
        (3, "a b c", "Hispanic"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kitchen_indian_male|u", "line 2: 'kitchen_indian_male' is not {scene}_{race}_{gender}_{age}"),
        ("_indian_male_young|u", "line 2: unknown race"),
        ("kitchen_indain_male_young|u", "line 2: unknown race 'indain', did you mean 'Indian'"),
        ("kitchen_indian_man_young|u", "line 2: unknown gender 'man'"),
        ("kitchen_indian_male_12|u", "line 2: unknown age '12'"),
        ("kitchen_indian_male_young", "line 2: no link after"),
        ("kitchen_indian_male_young| ", "line 2: no link after"),
    ],
)
def test_bad_lines_are_named_by_number(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_pata_list(listed(tmp_path, LINES[0], line))
    assert says in str(caught.value)


def test_the_first_five_bad_lines_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: .*line 5: [^;]*; and 4 more[.] A line is scene_race_gender_age.URL"):
        read_pata_list(listed(tmp_path, *["x|u"] * 9))


def test_lists_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="There is no file"):
        read_pata_list(tmp_path / "gone.lst")
    with pytest.raises(DataError, match="holds no lines"):
        read_pata_list(listed(tmp_path, ""))
    (tmp_path / "x.lst").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        read_pata_list(tmp_path / "x.lst")
    monkeypatch.setattr(module, "MAX_LIST_BYTES", 3)
    with pytest.raises(DataError, match="larger than"):
        read_pata_list(listed(tmp_path))


@pytest.mark.parametrize(
    ("scenes", "lines"),
    [
        (["kitchen"], [1, 2, 5]),
        (["cooking", "Gun_Range"], [1, 2, 3, 5]),
        (["programming"], [4]),
        ([], [1, 2, 3, 4, 5]),
    ],
)
def test_scenes_are_chosen_by_name_or_activity(tmp_path: Path, scenes: list[str], lines: list[int]) -> None:
    assert read_pata_list(listed(tmp_path), scenes)["line"].to_list() == lines


def test_an_unknown_scene_comes_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Unknown scene 'kitchn'. Did you mean 'kitchen'"):  # noqa: RUF043
        read_pata_list(listed(tmp_path), ["kitchn"])


def test_pictures_are_found_by_the_names_that_downloads_have(tmp_path: Path) -> None:
    path = listed(tmp_path)
    root = place(
        tmp_path,
        "images/0.jpg",
        "images/kitchen_indian_male_young_1.png",
        "gun_range_eastasian_female_old.JPG",
        "kitchen_indian_male_young.png",  # two lines have this label
        "notes.txt",
        "3.txt",
    )
    frame = read_pata(path, root)
    assert frame.columns == ["image", "path", "identity", "gender", "age", "activity", "scene", "url"]
    assert dict(frame.select("image", "path").rows()) == {
        "kitchen_indian_male_young_0": "images/0.jpg",
        "kitchen_indian_male_young_1": "images/kitchen_indian_male_young_1.png",
        "gun_range_eastasian_female_old_2": "gun_range_eastasian_female_old.JPG",
    }
    assert frame["url"][0] == "http://example.org/a.jpg"


def test_a_label_that_is_there_once_is_so_in_the_whole_list(tmp_path: Path) -> None:
    path = listed(tmp_path, *LINES, "kitchen_indian_female_young|u", "computer_indian_male_young|u")
    root = place(tmp_path, "kitchen_indian_male_young.png", "kitchen_indian_female_young.png")
    assert read_pata(path, root, ["kitchen"])["gender"].to_list() == ["female"]


def test_a_list_of_files_can_be_given(tmp_path: Path) -> None:
    files = {"http://example.org/d.jpg": "x/d.png", "http://example.org/f.jpg": "f.png"}
    frame = read_pata(listed(tmp_path), tmp_path, files=files)
    assert frame.select("path", "identity").rows() == [("x/d.png", "East Asian"), ("f.png", "Black")]


def test_without_any_picture_the_message_says_how_they_are_called(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the 5 pictures .* kitchen_indian_male_young_0.jpg or 0.jpg"):
        read_pata(listed(tmp_path), tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        read_pata(listed(tmp_path), tmp_path / "gone")


def test_two_pictures_for_one_line_are_refused(tmp_path: Path) -> None:
    root = place(tmp_path, "a/0.png", "b/0.jpg")
    with pytest.raises(DataError, match=r"a/0.png and b/0.jpg could both be the picture of line 1"):
        read_pata(listed(tmp_path), root)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 1)
    with pytest.raises(DataError, match="more than 1 pictures"):
        read_pata(listed(tmp_path), place(tmp_path, "0.png", "1.png"))


def test_the_manifest_can_be_paired(tmp_path: Path) -> None:
    frame = read_pata(listed(tmp_path), place(tmp_path, "0.jpg", "1.jpg", "4.jpg"), ["cooking"])
    pairs = identity_pairs(frame, seed=1, per_cell=20)
    assert pairs.select("identity_1", "identity_2", "gender_1", "gender_2", "activity").unique().rows() == [
        ("Black", "Indian", "male", "male", "cooking")
    ]
    assert pairs.height == 2
