"""Faces and scenes from files: what is read, what is left out, what is refused."""

from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from facevalue import studies
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.protocol.cards import StatedCard
from facevalue.protocol.study import Study
from facevalue.report.sections.headline import page_of
from facevalue.runs.checks import check_pictures
from facevalue.statistics.sets import Sets
from facevalue.stimuli.manifest_rows import PicturesError
from facevalue.studies.modscan.page import page_about
from tests.studies.modscan.asked import answered, attribute, build


def picture(path: Path, size: tuple[int, int] = (64, 64)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", size, (200, 100, 50)).save(path)


def faces(folder: Path, rows: list[tuple[str, str, str]], size: tuple[int, int] = (64, 64)) -> str:
    """A manifest of faces of these ages, genders and races."""
    lines = ["image,age,gender,race"]
    for number, row in enumerate(rows):
        picture(folder / f"{number}.png", size)
        lines.append(",".join([f"{number}.png", *row]))
    (folder / "faces.csv").write_text("\n".join(lines))
    return str(folder / "faces.csv")


def test_groups_of_a_manifest_are_those_of_the_paper_whatever_their_case_and_others_follow(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "Male", "black"), ("18", "male", "Samoan"), ("18", "MALE", "white")])
    study = build(manifest=listed, attribute=["race"], modality=["vision"], instances=["nurse"])
    assert set(map(frozenset, zip(attribute(study, "group_1"), attribute(study, "group_2"), strict=True))) == {
        frozenset(pair) for pair in (("White", "Black"), ("White", "Samoan"), ("Black", "Samoan"))
    }


def test_a_man_of_a_manifest_is_one_of_the_studys_men(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "Man", "White"), ("18", "woman", "White")])
    study = build(manifest=listed, attribute=["gender"], modality=["vision"], instances=["nurse"])
    assert {*attribute(study, "group_1"), *attribute(study, "group_2")} == {"male", "female"}


def test_fairface_has_its_own_ages_and_races(tmp_path: Path) -> None:
    rows = ["file,age,gender,race,service_test"]
    for number, (age, gender, race) in enumerate([("3-9", "Male", "East Asian"), ("3-9", "Female", "East Asian")]):
        picture(tmp_path / f"val/{number}.jpg")
        rows.append(f"val/{number}.jpg,{age},{gender},{race},True")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    study = build(fairface=str(tmp_path / "labels.csv"), root=str(tmp_path), attribute=["gender"], modality=["vision"])
    assert attribute(study, "cell") == ("3-9 East Asian",) * 2
    study.source.check({name: [row] for name, row in study.design.trials([0]).row(0, named=True).items()})


def test_composed_pairs_are_shown_as_they_are_the_first_number_on_the_left(tmp_path: Path) -> None:
    picture(tmp_path / "age_18_race_0/joined_image_gender_1_0_3.jpg", (138, 64))
    picture(tmp_path / "age_18_gender_0/joined_image_race_0_2_5.jpg", (138, 64))
    study = build(composed=str(tmp_path), modality=["vision"], instances=["nurse"])
    frame = answered(study, lambda _: "left")
    assert dict(frame.select("attribute", "choice").iter_rows()) == {"gender": "female", "race": "White"}
    shown = study.source.stimulus(0, study.design.trials([0]).row(0, named=True))
    assert shown.load()[0].data == (tmp_path / "age_18_race_0/joined_image_gender_1_0_3.jpg").read_bytes()


def test_a_pair_stands_on_the_sides_that_the_answers_say(tmp_path: Path) -> None:
    study = build(modality=["vision"], attribute=["gender"], instances=["nurse"], faces=2)
    for number in range(0, 8, 2):
        rows = study.design.trials([number, number + 1]).to_dicts()
        one, other = (study.source.stimulus(number, row) for row in rows)
        assert one.digest != other.digest
        assert one.digest == study.source.stimulus(9, rows[0]).digest


def test_a_stored_manifest_gives_the_same_study_without_reading_files_again(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "male", "White"), ("18", "female", "White")])
    study = build(manifest=listed, attribute=["gender"], per_persona=2)
    (tmp_path / "faces.csv").unlink()
    from facevalue.studies import build as again

    other = again("modscan", study.options, study.manifest)
    first, second = (one.design.trials(range(one.design.size)) for one in (study, other))
    assert first.equals(second)


def test_a_picture_four_times_as_wide_as_high_is_refused(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "male", "White"), ("18", "female", "White")], (330, 64))
    study = build(manifest=listed, attribute=["gender"], modality=["vision"], instances=["nurse"])
    with pytest.raises(DataError, match="times as long as broad"):
        study.source.check({name: [row] for name, row in study.design.trials([0]).row(0, named=True).items()})


@pytest.mark.parametrize("drawn", [True, False])
def test_every_picture_of_faces_and_scenes_can_be_looked_at_by_name(tmp_path: Path, drawn: bool) -> None:
    own = {} if drawn else {"manifest": faces(tmp_path, [("18", "male", "White"), ("18", "female", "White")])}
    check_pictures(build(instances=["geek"], per_persona=1, **own))


def test_either_face_of_a_pair_is_looked_at_before_a_run(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "male", "White"), ("18", "female", "White")])
    study = build(manifest=listed, attribute=["gender"], modality=["vision"], instances=["nurse"])
    row = {name: [level] for name, level in study.design.trials([0]).row(0, named=True).items()}
    for number in (0, 1):
        (tmp_path / f"{number}.png").rename(tmp_path / "away.png")
        with pytest.raises(PicturesError, match=f"{number}.png"):
            study.source.check(row)
        (tmp_path / "away.png").rename(tmp_path / f"{number}.png")


def test_scenes_are_found_in_any_spelling_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        picture(tmp_path / f"Loves_Outdoors/{number}.png")
    study = build(scenes=str(tmp_path), modality=["language"], instances=["loves outdoors", "geek"])
    assert attribute(study, "image") == tuple(f"Loves_Outdoors/{number}.png" for number in (1, 2, 10))
    assert {one.what: one.why for one in study.planned.left_out} == {
        "scenes of geek": "0 of 200.", "scenes of loves outdoors": "3 of 200.",
    }  # fmt: skip


def test_folders_without_scenes_are_refused_in_one_sentence(tmp_path: Path) -> None:
    asked = {"modality": ["language"]}
    with pytest.raises(DataError, match="is not a folder with pictures"):
        build(scenes=str(tmp_path / "none"), **asked)
    with pytest.raises(DataError, match=r"holds no pictures .*, such as"):
        build(scenes=str(tmp_path), **asked)
    picture(tmp_path / "ArtLovers/1.png")
    with pytest.raises(DataError, match="unknown persona 'ArtLovers', did you mean 'art lover'"):
        build(scenes=str(tmp_path), **asked)


def test_the_page_says_whether_people_were_looked_for_in_scenes(tmp_path: Path) -> None:
    for number in (1, 2):
        picture(tmp_path / f"scenes/Geek/{number}.png", (64, 64 + number))
    asked = {"scenes": str(tmp_path / "scenes"), "modality": ["language"], "instances": ["geek"]}
    assert _people(build(**asked)).value == "Not checked"
    assert _people(build(per_persona=2)).value == "Nobody is drawn"
    listed = build(manifest=scenes(tmp_path, ["geek"]), modality=["language"])
    assert _people(listed).value == "Not checked"
    card = page_about(Sets(listed.manifest, "image"), checked=True).stated[0]
    assert isinstance(card, StatedCard)
    assert card.value == "As far as your checks look for people"
    assert card.status == _people(listed).status  # checks without a detector find nobody


def _people(study: Study) -> StatedCard:
    found = [one for one in page_of(study).stated if isinstance(one, StatedCard) and one.name == "people"]
    assert len(found) == 1
    return found[0]


def test_two_sources_of_faces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--composed has no effect beside --utkface"):
        build(utkface=str(tmp_path), composed=str(tmp_path))


def test_faces_without_a_label_are_left_out_and_counted(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "male", "White"), ("18", "female", "White"), ("18", "", "White")])
    study = build(manifest=listed, attribute=["gender"], modality=["vision"])
    assert "1 of the faces" in {one.what for one in study.planned.left_out}
    assert study.design.blocks[0].stimuli == 2  # one pair, either face on the left


def scenes(folder: Path, rows: list[str]) -> str:
    """A manifest of scenes of these personas."""
    lines = ["image,path,persona,prompt,picture_seed"]
    for number, persona in enumerate(rows):
        picture(folder / f"s{number}.png", (64, 64 + number))
        lines.append(f"{persona}/{number},s{number}.png,{persona},A room.,{number}")
    (folder / "scenes.csv").write_text("\n".join(lines))
    return str(folder / "scenes.csv")


def test_scenes_of_a_manifest_are_asked_about_without_faces(tmp_path: Path) -> None:
    listed = scenes(tmp_path, ["geek", "Geek", "art-lover"])
    study = build(manifest=listed)
    assert attribute(study, "instance") == ("art lover", "geek", "geek")
    left_out = {one.what: one.why for one in study.planned.left_out}
    assert left_out["pairs of faces"] == "The manifest lists scenes alone."
    assert left_out["scenes of geek"] == "2 of 200."
    check_pictures(study)
    again = studies.build("modscan", study.options, study.manifest)
    assert again.design.size == study.design.size
    check_pictures(again)
    assert attribute(build(manifest=listed, per_persona=1), "instance") == ("art lover", "geek")


def test_a_manifest_lists_faces_and_scenes(tmp_path: Path) -> None:
    for number, size in enumerate((64, 65, 66)):
        picture(tmp_path / f"{number}.png", (64, size))
    rows = ("path,age,gender,race,persona", "0.png,18,male,White,", "1.png,18,female,White,", "2.png,,,,slob")
    (tmp_path / "both.csv").write_text("\n".join(rows))
    study = build(manifest=str(tmp_path / "both.csv"), attribute=["gender"])
    modalities = study.design.trials(range(study.design.size))["modality"].unique().to_list()
    assert sorted(map(str, modalities)) == ["language", "vision"]
    check_pictures(study)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"modality": ["vision"]}, "lists scenes and no faces"),
        ({"instances": ["slob"]}, "has no scene of slob"),
        ({"scenes": "elsewhere"}, "leave out --scenes"),
        ({"utkface": "faces"}, "--manifest has no effect beside --utkface"),
    ],
)
def test_scenes_that_would_not_be_shown_are_refused(tmp_path: Path, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        build(manifest=scenes(tmp_path, ["geek"]), **asked)


def test_a_persona_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'geek'"):
        build(manifest=scenes(tmp_path, ["gek"]))


def test_faces_alone_have_no_effect_where_scenes_are_asked_about(tmp_path: Path) -> None:
    listed = faces(tmp_path, [("18", "male", "White"), ("18", "female", "White")])
    with pytest.raises(SettingError, match="the manifest lists no scenes"):
        build(manifest=listed, modality=["language"])
