"""SocialCounterfactuals: captions, shards, and flat files with the authors' metadata."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.stimuli.counterfactual_datasets import (
    ATTRIBUTES,
    SOCIAL_SUBSETS,
    parse_caption,
    read_social_counterfactuals,
)
from facevalue.stimuli.manifest_rows import Listing
from tests.stimuli.shards import png, write_shard

OPENINGS = {"A picture of ": "a_picture_of_", "A photo of ": "a_photo_of_", "An image of ": "an_image_of_", "": ""}
INDICES = {
    "race-gender": list(range(12)),
    "physical-gender": [10, 11, 12, 13, 20, 21, 24, 25, 26, 27],
    "physical-race": [*range(30, 42), *range(60, 66), *range(72, 84)],
}
PHYSICAL = ("skinny", "young", "obese", "tattooed", "old")
"""In the order of the authors' indices."""


def members(subset: str) -> list[tuple[str, str]]:
    one, other = SOCIAL_SUBSETS[subset]
    return list(product(PHYSICAL if one == "physical" else ATTRIBUTES[one], ATTRIBUTES[other]))


def caption(opening: str, levels: tuple[str, str], occupation: str) -> str:
    return f"{opening}{'an' if levels[0][0] in 'AIaio' else 'a'} {' '.join(levels)} {occupation}"


def captions_of(subset: str, opening: str = "A photo of ", occupation: str = "Pastry Chef") -> list[str]:
    return [caption(opening, levels, occupation) for levels in members(subset)]


def in_shards(root: Path, *sets: tuple[str, str], group: int = 100) -> Listing:
    rows: list[dict[str, str | bytes | None]] = [
        {"image": png(at), "caption": said, "counterfactual_set": name}
        for name, subset in sets
        for at, said in enumerate(captions_of(subset))
    ]
    write_shard(root / "data/train-00000-of-00001.parquet", rows, group=group)
    return read_social_counterfactuals(root)


def write_flat(root: Path, sets: Mapping[str, list[str]], occupation: str = "Pastry Chef") -> None:
    """Empty files and metadata: by subset, openings of its sets."""
    for subset, openings in sets.items():
        rows = []
        for number, opening in enumerate(openings):
            name = f"{OPENINGS[opening]}{subset.replace('-', '_')}_{occupation.lower().replace(' ', '_')}"
            said = zip(INDICES[subset], captions_of(subset, opening, occupation), strict=True)
            row = {"seed": 3_000_000_000 + number, "p2p_threshold": 0.5, "cfg_scale": 9.1, "filename": name, "rank": 0}
            rows.append(row | {f"caption_{index}": text for index, text in said})
            (root / "images").mkdir(parents=True, exist_ok=True)
            for index in INDICES[subset]:
                (root / f"images/{name}_0_{index}_{3_000_000_000 + number}.jpg").touch()
        (root / "metadata").mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows).write_csv(root / f"metadata/metadata_{subset.replace('-', '_')}.csv")


@given(
    st.sampled_from(list(OPENINGS)), st.sampled_from([m for s in SOCIAL_SUBSETS for m in members(s)]), st.booleans(),
    st.sampled_from(["nurse", "Civil Engineer", "real-estate developer", "Indian chef", "old hand", "opera SINGER"]),
    st.sampled_from([str, str.lower, str.upper, str.title]), st.sampled_from(["", "."]),
)  # fmt: skip
def test_captions_are_read_in_any_opening_order_and_case(
    opening: str, levels: tuple[str, str], turned: bool, occupation: str, case: type[str], end: str
) -> None:
    one, other = reversed(levels) if turned else levels
    found = parse_caption(case(caption(opening, (one, other), occupation)) + end)
    assert found is not None
    assert {found.race, found.gender, found.physical} == {*levels, None}
    assert found.occupation == occupation.lower()


@given(st.text(max_size=100))
def test_any_other_caption_is_not_read(text: str) -> None:
    assert parse_caption(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "A picture of a nurse", "A picture of a male nurse", "A picture of a White White nurse", "a young old nurse",
        "A picture of a White male", "A picture of a White male ", "A picture of a Purple male nurse",
        "A drawing of a White male nurse", "the White male nurse",
        "A picture of aWhite male nurse",
    ],
)  # fmt: skip
def test_a_caption_of_one_attribute_or_none_or_without_an_occupation_is_not_read(text: str) -> None:
    assert parse_caption(text) is None


def test_abbreviations_keep_their_capitals() -> None:
    found = [parse_caption(f"a White male {name}") for name in ("CEO", "ceo", "DJ", "PR Person", "Lab Tech")]
    assert [one and one.occupation for one in found] == ["CEO", "CEO", "DJ", "PR person", "lab tech"]


def test_shards_give_sets_groups_and_occupations(tmp_path: Path) -> None:
    found = in_shards(tmp_path, ("s1", "race-gender"), ("s2", "physical-race"), ("s3", "physical-gender"), group=7)
    assert found.left_out == ()
    sizes = found.table.group_by("subset", "set", maintain_order=True).agg(pl.len(), pl.col("group").n_unique())
    assert sizes.rows() == [
        ("race-gender", "s1", 12, 12),
        ("physical-gender", "s3", 10, 10),
        ("physical-race", "s2", 30, 30),
    ]
    assert found.table.row(0, named=True) == {
        "image": "s1/White male", "path": "data/train-00000-of-00001.parquet#0", "subset": "race-gender", "set": "s1",
        "group": "White male", "occupation": "pastry chef", "race": "White", "gender": "male", "physical": None,
    }  # fmt: skip


def test_flat_files_give_the_same_whatever_the_gaps_of_their_numbers(tmp_path: Path) -> None:
    every = list(OPENINGS)
    write_flat(tmp_path, {"race-gender": every, "physical-gender": every, "physical-race": every})
    found = read_social_counterfactuals(tmp_path)
    assert found.left_out == ()
    sizes = found.table.group_by("subset", "set").agg(pl.len(), pl.col("group").n_unique())
    assert sorted(sizes.select("subset", "len", "group").iter_rows()) == sorted(
        [("race-gender", 12, 12), ("physical-gender", 10, 10), ("physical-race", 30, 30)] * 4
    )
    old = found.table.filter(pl.col("path") == "images/a_photo_of_physical_race_pastry_chef_0_83_3000000001.jpg")
    assert old.select("set", "group", "occupation").rows() == [
        ("a_photo_of_physical_race_pastry_chef_0_3000000001", "old Latino", "pastry chef")
    ]


def test_files_that_are_missing_or_unknown_are_counted(tmp_path: Path) -> None:
    write_flat(tmp_path, {"physical-gender": ["", "A photo of "]})
    (tmp_path / "images/physical_gender_pastry_chef_0_21_3000000000.jpg").unlink()
    (tmp_path / "images/holiday.jpg").touch()
    found = read_social_counterfactuals(tmp_path)
    assert found.table.height == 19
    assert found.left_out == (
        ("1 of 20 images, such as physical_gender_pastry_chef_0_21_3000000000.jpg", "Not in the folder."),
        ("1 files, such as images/holiday.jpg", "Not in the metadata."),
    )


def test_captions_that_are_not_understood_are_named_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, str | bytes | None]] = [
        {"image": png(0), "caption": said, "counterfactual_set": "s"} for said in captions_of("race-gender")
    ]
    rows[4]["caption"] = "Somebody at work"
    write_shard(tmp_path / "a.parquet", rows)
    found = read_social_counterfactuals(tmp_path)
    assert found.table.height == 11
    assert found.left_out == (
        ("1 image, such as a.parquet#4", "Nothing says whom they show; the caption is 'Somebody at work'."),
    )


def test_columns_say_whom_an_image_shows_where_its_caption_does_not(tmp_path: Path) -> None:
    rows: list[dict[str, str | bytes | None]] = [
        {"image": png(0), "caption": said, "counterfactual_set": "s", "a1": one, "a2": other}
        for said, (one, other) in zip(captions_of("race-gender"), members("race-gender"), strict=True)
    ]
    rows[4]["caption"], rows[5]["caption"] = None, "A picture of a White male nurse"
    write_shard(tmp_path / "a.parquet", rows)
    found = read_social_counterfactuals(tmp_path)
    assert found.table.filter(pl.col("path") == "a.parquet#4").select("group", "occupation").rows() == [
        ("Indian male", None)
    ]
    assert "a.parquet#5" not in found.table["path"].to_list()
    assert [why for _, why in found.left_out] == [
        "The caption 'A picture of a White male nurse' is not of whom the columns beside it name.",
        "Shown without an occupation, as the caption is not understood: ''.",
    ]


def test_ids_are_unique_even_where_a_set_is_there_twice(tmp_path: Path) -> None:
    found = in_shards(tmp_path, ("s1", "race-gender"), ("s1", "race-gender"), ("s2", "race-gender"))
    assert found.table["image"].n_unique() == 36
    assert found.table["image"][24] == "s2/White male"


def test_an_image_of_no_set_is_called_by_its_place(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [{"image": png(0), "caption": "a White male cook", "counterfactual_set": None}])
    assert read_social_counterfactuals(tmp_path).table.select("image", "set").rows() == [("a.parquet#0", None)]


def csv(root: Path, text: str) -> None:
    (root / "metadata_race_gender.csv").write_text(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no CSV that can be read"),
        ("filename,rank,caption_0\na,0,b\n", "lacks the column 'seed'; it has: filename, rank, caption_0"),
        ("filename,rank,seed\na,0,1\n", "lacks the column 'caption_0' or of another number"),
        ("filename,rank,seed,caption_0\na,,1,b\n", "row 1 lacks a filename, rank or seed"),
        ("filename,rank,seed,caption_0\na,0,1,b,c,d\n", "is no CSV that can be read"),
        ("filename,rank,seed,caption_0\n../../a,0,1,b\n", "none of the 1 pictures of the metadata is there"),
    ],
)
def test_metadata_that_cannot_be_used_are_refused(tmp_path: Path, text: str, said: str) -> None:
    csv(tmp_path, text)
    (tmp_path / "x.jpg").touch()
    with pytest.raises(DataError, match=said) as caught:
        read_social_counterfactuals(tmp_path)
    assert "\n" not in str(caught.value)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    write_flat(tmp_path, {"race-gender": [""]})
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/race_gender_pastry_chef_0_0_3000000000.jpg").touch()
    with pytest.raises(DataError, match="could both be the same picture"):
        read_social_counterfactuals(tmp_path)


def test_metadata_that_list_a_set_twice_show_it_once(tmp_path: Path) -> None:
    write_flat(tmp_path, {"race-gender": [""]})
    path = tmp_path / "metadata/metadata_race_gender.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1]]))
    found = read_social_counterfactuals(tmp_path)
    assert found.table.height == 12
    assert found.left_out == (("12 images of the metadata", "Listed more than once."),)


def test_a_folder_with_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds neither Parquet files .* nor pictures with the authors' metadata"):
        read_social_counterfactuals(tmp_path)


def test_shards_of_which_no_caption_is_understood_are_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [{"image": png(0), "caption": "a cat", "counterfactual_set": "s"}])
    with pytest.raises(DataError, match="No caption says whom its image shows, such as 'a cat'"):
        read_social_counterfactuals(tmp_path)
