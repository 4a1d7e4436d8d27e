"""The reader of the authors' folders, on folders made here of coloured squares."""

import json
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.images import FileSource
from facevalue.studies.stylisticbias.folders import GRID, PEOPLE, read_stylisticbias_folders

PERSON = {"age": "young adult", "gender": "female", "ethnicity": "Middle Eastern", "body": "normal"}


def face(root: Path, stem: str, variation: Any = None, *, image: str = ".png", top: Any = None, **traits: Any) -> None:
    path = root / f"{stem}_metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    characteristics = {**PERSON, **traits} | ({} if variation is None else {"variation": variation})
    path.write_text(json.dumps({**(top or {}), "characteristics": characteristics}))
    if image:
        PIL.Image.new("RGB", (2, 2), "teal").save(root / f"{stem}{image}")


def test_one_face_with_variations(tmp_path: Path) -> None:
    face(tmp_path, "face_001")
    face(tmp_path, "face_001_hair", {"hair_style": "slicked back"}, image=".jpg")
    face(tmp_path, "face_001_lips", {"lip_makeup_female": "red lipstick"})
    found = read_stylisticbias_folders(tmp_path)
    people = ("young", "female", "middle-eastern", "normal")
    assert found.rows() == [
        ("face_001", "face_001.png", "face_001", "face_001", None, None, *people),
        (
            "face_001/hair_style/slicked-back",
            "face_001_hair.jpg",
            *["face_001"] * 2,
            "hair_style",
            "slicked-back",
            *people,
        ),
        (
            "face_001/lip_makeup/red-lipstick",
            "face_001_lips.png",
            *["face_001"] * 2,
            "lip_makeup",
            "red-lipstick",
            *people,
        ),
    ]
    assert found.columns == ["image", "path", "identity", "set", "attribute", "value", *PEOPLE]
    FileSource(found, tmp_path).check({"image": found["image"].to_list()})


@pytest.mark.parametrize(
    ("written", "attribute", "value"),
    [
        ({"fashion_style": "Professional / Business formal"}, "fashion_style", "professional"),
        ({"fashion_style": "Formal / Evening wear"}, "fashion_style", "formal"),
        ({"fashion_style": "Functional / outdoor wear"}, "fashion_style", "functional-outdoor"),
        ({"fashion_style": "Worn / Distressed clothing"}, "fashion_style", "worn-distressed"),
        ({"fashion_style": "daring/provocative"}, "fashion_style", "daring"),
        ({"fashion_style": "luxury/high fashion"}, "fashion_style", "luxury"),
        ({"fashion_style": "Smart casual"}, "fashion_style", "smart-casual"),
        ({"feature_key": "facial_hair_male", "feature_value": "Full beard"}, "facial_hair", "full-beard"),
        ({"key": "eyewear", "value": "thin metal frames"}, "eyewear", "thin-metal"),
        ({"eyewear": "thick-rimmed glasses"}, "eyewear", "thick-rimmed"),
        ("hair_color: grey hair", "hair_color", "gray"),
        ("hair_color=red", "hair_color", "red"),
        ({"lip_makeup_female": "neutral lipstick"}, "lip_makeup", "neutral"),
        ({"lip_makeup_female": "bold color"}, "lip_makeup", "bold"),
        ({"makeup_female": "Heavy makeup"}, "makeup", "heavy"),
        ({"piercings": "single nose piercing"}, "piercings", "single-nose"),
        ({"Tattoos": "Facial tattoo"}, "tattoos", "facial-tattoo"),
        ({"skin irregularities": "Freckles"}, "skin_irregularities", "freckles"),
        ({"hair style": "buzz cut"}, "hair_style", "buzz-cut"),
    ],
)
def test_spellings(tmp_path: Path, written: Any, attribute: str, value: str) -> None:
    face(tmp_path, "f1")
    face(tmp_path, "f1_v", written)
    assert read_stylisticbias_folders(tmp_path).row(1)[4:6] == (attribute, value)


def test_every_name_of_the_grid_is_understood_as_itself(tmp_path: Path) -> None:
    face(tmp_path, "f1")
    cells = [(attribute, value) for attribute, values in GRID.items() for value in values]
    for number, (attribute, value) in enumerate(cells):
        face(tmp_path, f"f1_{number}", {attribute: value.replace("-", " ").title()})
    found = read_stylisticbias_folders(tmp_path).drop_nulls("attribute")
    assert sorted(found.select("attribute", "value").rows()) == sorted(cells)
    assert len(cells) == 55


def test_the_grid_is_that_of_the_drawn_portraits() -> None:
    levels = pytest.importorskip("facevalue.stimuli.portraits.levels")
    assert {name: attribute.values for name, attribute in levels.ATTRIBUTES.items()} == GRID


@pytest.mark.parametrize(
    ("base", "variation"),
    [
        ({"stem": "f1", "top": {"face_id": 12}}, {"stem": "else", "top": {"face_id": "12"}}),
        ({"stem": "x", "identity": "12"}, {"stem": "y", "identity": "12"}),
        ({"stem": "b", "top": {"id": "12"}}, {"stem": "12_hat", "top": {"id": "12_hat"}}),
        ({"stem": "12_base"}, {"stem": "12_hat_red"}),
        ({"stem": "base/12"}, {"stem": "variations/hats/12_hat"}),
        ({"stem": "12/base"}, {"stem": "12/hat"}),
        ({"stem": "12/base_face"}, {"stem": "12/variations/hat"}),
    ],
)
def test_whose_face_it_is(tmp_path: Path, base: dict[str, Any], variation: dict[str, Any]) -> None:
    face(tmp_path, "other")
    face(tmp_path, **base)
    face(tmp_path, variation=variation.pop("variation", {"accessories": "hat"}), **variation)
    found = read_stylisticbias_folders(tmp_path).drop_nulls("attribute")
    assert found["identity"].to_list() == ["12"]
    assert found["image"].to_list() == ["12/accessories/hat"]


def test_f1_is_not_f10(tmp_path: Path) -> None:
    face(tmp_path, "f1")
    face(tmp_path, "f10_hat", {"accessories": "hat"})
    with pytest.raises(DataError, match=r"f10_hat_metadata.json: a variation .* without a base face"):
        read_stylisticbias_folders(tmp_path)


@pytest.mark.parametrize("variation", [{}, "", "none", "Base"])
def test_an_empty_variation_is_a_base_face(tmp_path: Path, variation: Any) -> None:
    face(tmp_path, "f1", variation)
    assert read_stylisticbias_folders(tmp_path)["attribute"].to_list() == [None]


@pytest.mark.parametrize(
    ("variation", "message"),
    [
        ({"hair_style": "slickd back"}, "Did you mean 'slicked-back'"),
        ({"hair_stile": "bun"}, "or 'hair_style'"),
        ({"hair_color": "neutral"}, "Unknown hair_color in f1_v_metadata.json"),
        ({"hair_style": 3}, "Unknown hair_style"),
    ],
)
def test_unknown_names(tmp_path: Path, variation: Any, message: str) -> None:
    face(tmp_path, "f1")
    face(tmp_path, "f1_v", variation)
    with pytest.raises(UnknownNameError, match=message):
        read_stylisticbias_folders(tmp_path)


@pytest.mark.parametrize("variation", [{"hat": 1, "cap": 2}, ["hat"], "hat", 5])
def test_a_variation_that_is_not_one_feature(tmp_path: Path, variation: Any) -> None:
    face(tmp_path, "f1", variation)
    with pytest.raises(DataError, match=r"not one feature with one value"):
        read_stylisticbias_folders(tmp_path)


def test_other_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file ends in _metadata.json"):
        read_stylisticbias_folders(tmp_path)
    with pytest.raises(DataError, match=r"is not a folder"):
        read_stylisticbias_folders(tmp_path / "none")
    face(tmp_path / "image", "f1", image="")
    with pytest.raises(DataError, match=r"no image beside it"):
        read_stylisticbias_folders(tmp_path / "image")
    face(tmp_path / "two", "f1", top={"face_id": "1"})
    face(tmp_path / "two", "f2", top={"face_id": "1"})
    with pytest.raises(DataError, match=r"Two base faces of identity '1': f1_metadata.json and f2_metadata.json"):
        read_stylisticbias_folders(tmp_path / "two")
    face(tmp_path / "same", "f1")
    face(tmp_path / "same", "f1_a", {"accessories": "hat"})
    face(tmp_path / "same", "f1_b", {"accessories": "Hat"})
    with pytest.raises(DataError, match=r"Two images with accessories hat of identity 'f1'"):
        read_stylisticbias_folders(tmp_path / "same")
    face(tmp_path / "age", "f1")
    face(tmp_path / "age", "f1_a", {"accessories": "hat"}, age="elderly")
    with pytest.raises(DataError, match=r"age elderly, but the base face \(f1_metadata.json\) has young"):
        read_stylisticbias_folders(tmp_path / "age")
    face(tmp_path / "none", "f1", gender=None)
    with pytest.raises(DataError, match=r"a base face needs its gender"):
        read_stylisticbias_folders(tmp_path / "none")
    face(tmp_path / "level", "f1", age="yung")
    with pytest.raises(UnknownNameError, match=r"Did you mean 'young'"):
        read_stylisticbias_folders(tmp_path / "level")


@pytest.mark.parametrize(
    "text", ["{", "[]", "[" * 10**5, '{"characteristics": 1}', "{}", "\xff", '"' + "x" * 2**20 + '"']
)
def test_metadata_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "f1_metadata.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"f1_metadata\.json"):
        read_stylisticbias_folders(tmp_path)
