"""Folders of scenes, and checks of them. The pictures are a few bytes: none is opened."""

from pathlib import Path

import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import read_scenes, without_people
from facevalue.stimuli.images import content_hash

HEADER = "path,scene,score,kept,problem,digest,detector,threshold"


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def checked(root: Path, **kept: str) -> Path:
    """A check of the pictures of folder a, by their numbers."""
    rows = [f"a/{n[1:]}.png,a,0.1,{yes},,{content_hash(f'a/{n[1:]}.png'.encode())},tiny,0.5" for n, yes in kept.items()]
    path = root / "check.csv"
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


def test_scenes_are_listed_by_folder_and_number_as_a_manifest(tmp_path: Path) -> None:
    found = read_scenes(place(tmp_path, "b/1.png", "ArtLover/10.png", "ArtLover/2.png", "ArtLover/notes.txt"))
    assert found.columns == ["image", "path", "identity", "set", "scene"]
    assert found.select("path", "scene").rows() == [
        ("ArtLover/2.png", "ArtLover"),
        ("ArtLover/10.png", "ArtLover"),
        ("b/1.png", "b"),
    ]


def test_one_scene_alone_can_be_listed(tmp_path: Path) -> None:
    assert read_scenes(place(tmp_path / "Slob", "1.png"))["scene"].to_list() == ["Slob"]


def test_missing_and_empty_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        read_scenes(tmp_path / "missing")
    with pytest.raises(DataError, match=r"holds no picture\. Scenes are pictures in a folder each"):
        read_scenes(tmp_path)
    place(tmp_path, "a/1.png")
    (tmp_path / "Slob").mkdir()
    (tmp_path / ".cache").mkdir()
    with pytest.raises(DataError, match="no picture in Slob"):
        read_scenes(tmp_path)


def test_only_scenes_without_people_are_kept(tmp_path: Path) -> None:
    root = place(tmp_path / "scenes", "a/1.png", "a/2.png", "a/3.png")
    found = without_people(read_scenes(root), root, checked(tmp_path, n1="true", n2="false", n3="true", n4="true"))
    assert found.table["path"].to_list() == ["a/1.png", "a/3.png"]
    assert (found.dropped, found.detector, found.threshold) == (1, "tiny", "0.5")


def test_a_picture_that_was_renamed_stays_checked_and_one_that_was_replaced_does_not(tmp_path: Path) -> None:
    root = place(tmp_path / "scenes", "a/1.png", "a/2.png")
    check = checked(tmp_path, n1="true", n2="true")
    (root / "a/2.png").rename(root / "a/9.png")
    assert without_people(read_scenes(root), root, check).table.height == 2
    (root / "a/9.png").write_text("another")
    with pytest.raises(DataError, match=r"1 pictures are not in it, or were changed since: a/9\.png\. Check them"):
        without_people(read_scenes(root), root, check)


def test_a_scene_of_which_nothing_is_left_is_an_error(tmp_path: Path) -> None:
    root = place(tmp_path / "scenes", "a/1.png")
    with pytest.raises(DataError, match="no picture without people is left of a"):
        without_people(read_scenes(root), root, checked(tmp_path, n1="false"))


def test_a_file_that_is_no_check_is_one_message(tmp_path: Path) -> None:
    root = place(tmp_path / "scenes", "a/1.png")
    (tmp_path / "other.csv").write_text("path,score\n")
    with pytest.raises(UnknownNameError, match="digest"):
        without_people(read_scenes(root), root, tmp_path / "other.csv")
    with pytest.raises(DataError, match="There is no file"):
        without_people(read_scenes(root), root, tmp_path / "missing.csv")
