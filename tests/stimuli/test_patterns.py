"""Patterns of paths: how they are read, what is refused and with which nearest name. The files are empty."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.stimuli import folders as module
from facevalue.stimuli.folders import Levels, PathPattern, Spellings, read_folder

RACES = Levels({"asian": (), "middle eastern": ("ME",), "south asian": ()})
GENDERS = Levels({"female": ("woman",), "male": ("man",)})
PEOPLE = {"race": RACES, "gender": GENDERS}


def place(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


@given(
    race=st.sampled_from(["asian", "Middle Eastern", "ME", "south asian"]),
    gender=st.sampled_from(["female", "Man"]),
    inner=st.sampled_from(" -_"),
    between=st.sampled_from(["_", "-", " ", "__", ""]),
)
def test_separators_and_case_make_no_difference(race: str, gender: str, inner: str, between: str) -> None:
    form = PathPattern("{race}_{gender}/{n}", PEOPLE)
    (reading,) = form.readings(f"{race.replace(' ', inner)}{between}{gender}/7")
    levels = {"middleeastern": "middle eastern", "me": "middle eastern", "southasian": "south asian"}
    name = race.replace(" ", "").lower()
    assert dict(reading) == {
        "race": levels.get(name, name), "gender": {"man": "male"}.get(gender.lower(), gender), "n": "7",
    }  # fmt: skip


def test_a_field_without_levels_holds_any_text_and_is_not_cut_inside_words() -> None:
    form = PathPattern("{race}_{name}", {"race": RACES})
    assert form.readings("asian_mary-ann") == [(("race", "asian"), ("name", "mary-ann"))]
    assert form.readings("asiana_mary") == []
    assert form.readings("asian_") == []


def test_levels_that_are_not_closed_only_rename() -> None:
    form = PathPattern("{race}/{n}", {"race": Levels({"middle eastern": ("ME",)}, closed=False)})
    assert [dict(form.readings(f"{race}/1")[0])["race"] for race in ("me", "Asian")] == ["middle eastern", "Asian"]


def test_fixed_texts_stand_in_any_case() -> None:
    form = PathPattern("photos/age{age}--{gender}.big", {"gender": GENDERS})
    assert form.readings("Photos/AGE30--woman.big") == [(("age", "30"), ("gender", "female"))]
    assert form.readings("photos/30--woman.big") == []


def test_levels_may_depend_on_earlier_folders(tmp_path: Path) -> None:
    names: dict[str, Spellings] = {"female": {"old": ("old woman",)}, "male": {"old": ("old man",)}}
    levels = {"gender": GENDERS, "identity": Levels(lambda within: names[within["gender"]])}
    root = place(tmp_path, "male/old-man.png", "female/old woman.png", "female/old man.png")
    with pytest.raises(
        DataError, match=r"1 file .*female/old man.png: unknown identity 'old man', did you mean 'old wom"
    ):
        read_folder(root, ["{gender}/{identity}"], levels)
    (root / "female/old man.png").unlink()
    assert read_folder(root, ["{gender}/{identity}"], levels)["identity"].to_list() == ["old", "old"]


def test_what_can_be_read_in_two_ways_is_not_guessed(tmp_path: Path) -> None:
    root = place(tmp_path, "anna_maria_cap.png")
    with pytest.raises(DataError, match=r"anna_maria_cap\.png: could be anna maria_cap or anna_maria cap"):
        read_folder(root, ["{set}_{hat}"], {})
    assert read_folder(root, ["{set}_{hat}"], {"hat": Levels({"cap": ()})})["set"].to_list() == ["anna_maria"]


def test_rows_are_in_the_form_of_a_manifest_by_number(tmp_path: Path) -> None:
    frame = read_folder(place(tmp_path, "woman/10.png", "woman/2.JPG"), ["{gender}/{n}"], {"gender": GENDERS})
    assert frame.columns == ["image", "path", "identity", "set", "gender"]
    assert frame.rows() == [
        ("woman/2.JPG", "woman/2.JPG", "woman/2.JPG", None, "female"),
        ("woman/10.png", "woman/10.png", "woman/10.png", None, "female"),
    ]


def test_a_set_is_the_identity_where_no_field_is(tmp_path: Path) -> None:
    root = place(tmp_path, "a/none.png", "a/cap.png")
    assert read_folder(root, ["{set}/{hat}"], {}).select("identity", "set", "hat").rows() == [
        ("a", "a", "cap"), ("a", "a", "none"),
    ]  # fmt: skip


def test_the_first_five_wrong_files_are_named_and_all_are_counted(tmp_path: Path) -> None:
    root = place(tmp_path, "man/1.png", *(f"x{number}/1.png" for number in range(9)))
    with pytest.raises(DataError, match=r"9 files .*x4/1\.png[^;]*; there[^;]*; and 4 more\.$") as refused:
        read_folder(root, ["{gender}/{n}"], {"gender": GENDERS})
    assert "x5/1.png" not in str(refused.value)


def test_hidden_files_and_other_files_are_passed_over(tmp_path: Path) -> None:
    root = place(tmp_path, "man/1.png", "man/.2.png", "man/notes.txt", ".git/a/b.png", "README.md")
    assert read_folder(root, ["{gender}/{n}"], {"gender": GENDERS}).height == 1


def test_links_to_folders_are_followed_within_the_folder(tmp_path: Path) -> None:
    root = place(tmp_path / "root", "man/1.png")
    (root / "woman").symlink_to(root / "man")
    (root / "man/above").symlink_to(root)
    frame = read_folder(root, ["{gender}/{n}"], {"gender": GENDERS})
    assert frame["path"].to_list() == ["man/1.png", "woman/1.png"]
    (root / "female").symlink_to(tmp_path)
    with pytest.raises(DataError, match="female: a link that leads out of the folder with pictures"):
        read_folder(root, ["{gender}/{n}"], {"gender": GENDERS})


def test_a_folder_without_pictures_says_how_they_would_be_called(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no pictures \{gender\}/\{n\}, such as female/1\."):
        read_folder(tmp_path, ["{gender}/{n}"], {"gender": GENDERS})
    with pytest.raises(DataError, match="is not a folder"):
        read_folder(tmp_path / "absent", ["{gender}/{n}"], {})


def test_too_many_pictures_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PICTURES", 1)
    with pytest.raises(DataError, match="more than 1 pictures"):
        read_folder(place(tmp_path, "man/1.png", "man/2.png"), ["{gender}/{n}"], {})
