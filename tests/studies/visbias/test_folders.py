"""Folders of photographs of VisBias as a manifest: spellings, what is refused, and how many images each group has."""

from pathlib import Path

import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import group_counts
from facevalue.stimuli.images import ImageFiles
from facevalue.stimuli.manifest import read_manifest, write_manifest
from facevalue.studies.visbias.pictures import FACTORS, read_photographs
from facevalue.studies.visbias.tables import races


def put(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"")


def test_the_published_layout_has_700_images_in_70_groups(tmp_path: Path) -> None:
    people = [
        f"{race}_{gender}" for race in ("asian", "black", "latino", "ME", "white") for gender in ("female", "male")
    ]
    works = ["basketball player", "nurse", "firefighter", "CEO", "cook", "doctor", "lawyer"]
    put(tmp_path, *(f"{work}/{who}/{n}.jpg" for work in works for who in people for n in range(1, 11)))
    frame = read_photographs(tmp_path)
    assert frame.columns == ["image", "path", "identity", "set", "occupation", "race", "gender"]
    assert frame.height == frame["image"].n_unique() == 700
    assert group_counts(frame, dict.fromkeys(FACTORS, ()))["images"].to_list() == [10] * 70
    assert frame["race"].unique(maintain_order=True).to_list() == [level.name for level in races()]
    assert frame["path"][9] == "basketball player/asian_female/10.jpg"  # after 2, not after 1
    assert frame.filter(race="middle eastern", occupation="ceo")["path"][0] == "CEO/ME_female/1.jpg"


@pytest.mark.parametrize("work", ["basketball player", "basketball_player", "Basketball-Player", "basketballplayer"])
@pytest.mark.parametrize("who", ["ME_male", "middle-eastern male", "Middle_Eastern_Male"])
def test_names_are_compared_without_case_and_separators(tmp_path: Path, work: str, who: str) -> None:
    put(tmp_path, f"{work}/{who}/1.jpg")
    assert read_photographs(tmp_path).select("occupation", "race", "gender").row(0) == (
        "basketball player",
        "middle eastern",
        "male",
    )


def test_two_spellings_of_an_occupation_are_one(tmp_path: Path) -> None:
    put(tmp_path, "basketball player/asian_male/1.jpg", "basketball_player/asian_female/1.jpg")
    assert read_photographs(tmp_path)["occupation"].to_list() == ["basketball player"] * 2


@pytest.mark.parametrize("again", ["basketball_player/asian_male/1.jpg", "basketball player/asian_male/1.png"])
def test_one_number_twice_in_a_group_is_refused(tmp_path: Path, again: str) -> None:
    put(tmp_path, "basketball player/asian_male/1.jpg", again)
    with pytest.raises(DataError, match=r"show the same: basketball player, asian, male, 1\. Keep one"):
        read_photographs(tmp_path)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nurses/asian_male/1.jpg", "unknown occupation 'nurses', did you mean 'nurse'?"),
        ("nurse/asian_mal/1.jpg", "unknown gender 'mal', did you mean 'male'?"),
        ("nurse/asia_male/1.jpg", "unknown race 'asia', did you mean 'asian'?"),
        ("nurse/male/1.jpg", "'male' is not {race}_{gender}"),
    ],
)
def test_unknown_folders_are_named_with_the_nearest(tmp_path: Path, path: str, says: str) -> None:
    put(tmp_path, path)
    with pytest.raises(DataError) as refused:
        read_photographs(tmp_path)
    assert says in str(refused.value)


def test_images_of_no_group_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "nurse/asian_male/1.jpg", "nurse/2.jpg")
    with pytest.raises(DataError, match=r"nurse/2\.jpg: not a path \{occupation\}/\{race\}"):
        read_photographs(tmp_path)


def test_what_is_no_image_is_passed_over(tmp_path: Path) -> None:
    put(
        tmp_path, "nurse/asian_male/1.jpg", "nurse/asian_male/notes.txt", ".git/x/y.jpg", "README.md", "nurse/.DS_Store"
    )
    put(tmp_path, "nurse/asian_male/._1.jpg")
    assert read_photographs(tmp_path)["path"].to_list() == ["nurse/asian_male/1.jpg"]


def test_folders_without_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no pictures .*, such as basketball player/"):
        read_photographs(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        read_photographs(tmp_path / "absent")


def test_groups_without_images_are_counted_as_zero(tmp_path: Path) -> None:
    put(tmp_path, "nurse/asian_male/1.jpg", "nurse/asian_male/2.jpg", "cook/black_female/1.jpg")
    frame = read_photographs(tmp_path)
    counts = group_counts(frame, dict.fromkeys(FACTORS, ()))
    assert counts.height == 8
    images = {row[:3]: row[3] for row in counts.rows()}
    assert images["nurse", "asian", "male"] == 2
    assert images["nurse", "black", "male"] == 0
    levels = {name: [level.name for level in table()] for name, table in FACTORS.items()}
    assert group_counts(frame, levels).height == 70
    assert group_counts(frame, levels)["images"].sum() == 3
    with pytest.raises(UnknownNameError, match="skin_tone"):
        group_counts(frame, {"skin_tone": ()})


def test_the_manifest_can_be_written_read_and_shown(tmp_path: Path) -> None:
    put(tmp_path, "nurse/asian_male/1.jpg")
    frame = read_photographs(tmp_path)
    write_manifest(frame, tmp_path / "manifest.parquet")
    again = read_manifest(tmp_path / "manifest.parquet", required=("occupation", "race", "gender"))
    assert again.rows() == frame.rows()
    assert ImageFiles(frame, tmp_path).read("nurse/asian_male/1.jpg") == b""
