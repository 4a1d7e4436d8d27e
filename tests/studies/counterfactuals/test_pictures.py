"""Pictures of counterfactual sets: drawn ones, PATA, and manifests of the user's own."""

from dataclasses import dataclass
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

from facevalue import studies
from facevalue.errors import DataError, SettingError
from facevalue.protocol.settings import check_together
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind
from facevalue.studies.counterfactuals.pictures import SetPictures, groups
from facevalue.studies.counterfactuals.settings import SETTINGS
from facevalue.types import OptionValue
from tests.stimuli.shards import Row, png, write_shard
from tests.studies.counterfactuals.published import PUBLISHED, published

FIRST = ["image", "path", "subset", "set", "group", "occupation"]


PICTURES = SetPictures()


def options(**given: OptionValue) -> dict[str, OptionValue]:
    return PICTURES.with_paths({setting.name: setting.default for setting in SETTINGS} | given)


@dataclass
class Read:
    """Pictures that were chosen, and what is not shown."""

    frame: pl.DataFrame
    left_out: tuple[LeftOut, ...]

    @property
    def singles(self) -> list[str]:
        """Pictures that are each one by itself."""
        return self.frame.filter(pl.col("set") == pl.col("image"))["image"].to_list()


def read(**given: OptionValue) -> Read:
    chosen = options(**given)
    return Read(PICTURES.table(chosen), PICTURES.left_out(chosen))


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", (64, 64), (200, 100, 50)).save(path)


def manifest(folder: Path, header: str, *rows: str) -> str:
    lines = [f"path,{header}"]
    for number, row in enumerate(rows):
        picture(folder / f"{number}.png")
        lines.append(f"{number}.png,{row}")
    (folder / "people.csv").write_text("\n".join(lines))
    return str(folder / "people.csv")


def test_where_nothing_is_named_sets_of_ten_are_drawn() -> None:
    found = read(sets=4)
    assert found.frame.columns[:6] == FIRST
    assert found.frame.group_by("subset", maintain_order=True).agg(pl.len(), pl.col("group").n_unique()).rows() == [
        ("skin-tone-gender", 40, 10), ("physical-gender", 40, 10),
    ]  # fmt: skip
    assert [one.what for one in found.left_out] == ["Ratings of 40 pictures"]
    assert found.singles == []
    assert set(found.frame.schema.values()) == {pl.String()}
    shown = PICTURES.source(found.frame, options())
    assert shown.kind is Kind.ILLUSTRATED
    shown.check({"image": found.frame["image"].to_list()})


def test_images_of_a_set_are_neighbours_in_the_order_of_the_paper() -> None:
    found = read(sets=2).frame.filter(pl.col("subset") == "physical-gender")
    assert tuple(found["group"]) == 2 * groups("physical-gender")
    assert found["set"].rle().struct.field("len").to_list() == [10, 10]


def test_groups_of_a_manifest_are_made_of_attributes_in_any_case(tmp_path: Path) -> None:
    listed = manifest(tmp_path, "set,race,gender", "a,black,Male", "a,WHITE,male", "b,Black,MALE", "b,white,male")
    found = read(manifest=listed)
    assert found.frame.select("subset", "set", "group").rows() == [
        ("pictures", "a", "Black male"), ("pictures", "a", "White male"),
        ("pictures", "b", "Black male"), ("pictures", "b", "White male"),
    ]  # fmt: skip
    assert found.frame["occupation"].null_count() == 4
    assert "identity" not in found.frame.columns


def test_a_manifest_may_say_group_subset_and_occupation_itself(tmp_path: Path) -> None:
    listed = manifest(
        tmp_path, "set,group,subset,occupation", "1,tall person,height,nurse", "1,short person,height,nurse"
    )
    found = read(manifest=listed)
    assert found.frame["group"].to_list() == ["tall person", "short person"]
    assert set(found.frame.select("subset", "occupation").iter_rows()) == {("height", "nurse")}


def test_sets_of_a_manifest_come_as_neighbours_wherever_their_rows_stand(tmp_path: Path) -> None:
    listed = manifest(tmp_path, "set,group", "b,x", "a,x", "b,y", "a,y", ",x")
    assert read(manifest=listed).frame["set"].to_list() == ["b", "b", "a", "a", "4.png"]


def test_partial_sets_are_named_and_kept(tmp_path: Path) -> None:
    listed = manifest(tmp_path, "set,group", "a,x", "a,y", "b,x", "c,x", "c,y", "c,y", ",x")
    found = read(manifest=listed)
    assert found.singles == [f"{number}.png" for number in (2, 3, 4, 5, 6)]
    assert found.frame.height == 7
    assert [(one.what, one.why) for one in found.left_out] == [
        (
            "2 of 3 sets of pictures, from measures of sets",
            "Not each group once: b lacks y; c has y more than once.",
        ),
        ("Ratings of 7 pictures", "Their occupation, which the prompts name, is not known."),
    ]


def test_pictures_without_a_group_are_left_out_and_counted(tmp_path: Path) -> None:
    listed = manifest(tmp_path, "set,gender", "a,male", "a,female", "a,")
    found = read(manifest=listed)
    assert found.frame.height == 2
    assert found.left_out[0].what == "1 of 3 pictures"


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("colour", "red", "no picture has a group"),
        ("gender,draw", "male,1", "no column can be called 'draw'"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(tmp_path: Path, header: str, row: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(manifest=manifest(tmp_path, header, row))


def test_a_stored_manifest_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(DataError, match="lacks the column 'group'"):
        PICTURES.sets(read(sets=1).frame.drop("group"))


def test_sets_of_one_name_in_two_subsets_are_told_apart(tmp_path: Path) -> None:
    listed = manifest(tmp_path, "set,group,subset", "1,x,old", "1,y,old", "1,x,new", "1,y,new", "2,x,new", "2,y,new")
    assert read(manifest=listed).frame["set"].unique(maintain_order=True).to_list() == ["old 1", "new 1", "2"]


def test_a_reopened_run_shows_pictures_of_its_new_root_alone(tmp_path: Path) -> None:
    listed = manifest(tmp_path / "theirs", "set,gender", "a,male", "a,female")
    theirs = options(manifest=listed)
    frame = PICTURES.table(theirs)
    elsewhere = PICTURES.with_paths({**theirs, "root": str(tmp_path / "elsewhere")})
    shown = PICTURES.source(frame, elsewhere)
    with pytest.raises(DataError):
        shown.stimulus(0, {"image": frame["image"][0]})


def test_pata_has_no_sets_and_the_races_of_the_paper(tmp_path: Path) -> None:
    tags = [
        "kitchen_caucasian_female_young",
        "office_eastasian_male_old",
        "gun_range_hispanic_male_old",
        "gym_black_male_old",
    ]
    (tmp_path / "pata.txt").write_text("\n".join(f"{tag}|http://example.org/{tag}.jpg" for tag in tags))
    for tag in tags[:3]:
        picture(tmp_path / f"{tag}.jpg")
    found = read(pata=str(tmp_path / "pata.txt"))
    assert found.frame["group"].to_list() == ["White female", "Asian male", "Latino male"]
    assert len(found.singles) == 3
    assert found.left_out[0].what.startswith("1 of 4 photographs: gym_black_male_old_3")
    shown = PICTURES.source(found.frame, options(pata=str(tmp_path / "pata.txt")))
    assert shown.kind is Kind.PHOTOGRAPHS
    shown.check({"image": found.frame["image"].to_list()})


def test_of_the_papers_pictures_the_numbers_are_known() -> None:
    frames = {subset: published(subset) for subset in PUBLISHED}
    assert [frame.height for frame in frames.values()] == [95_232, 50_520, 25_080]
    assert [frame["group"].n_unique() for frame in frames.values()] == [12, 10, 30]
    assert sum(frame.height for frame in frames.values()) == 170_832
    for frame in frames.values():
        assert frame["image"].n_unique() == frame.height


def social(root: Path, *sets: str) -> None:
    said = [f"A picture of a {group} nurse" for group in groups("physical-gender")]
    rows: list[Row] = [
        {"image": png(at), "caption": caption, "counterfactual_set": name}
        for name in sets
        for at, caption in enumerate(said)
    ]
    write_shard(root / "data/train.parquet", rows[:-1])


def test_of_shards_sets_are_checked_against_the_groups_of_the_paper(tmp_path: Path) -> None:
    social(tmp_path, "a", "b")
    found = read(social=str(tmp_path))
    assert {image.split("/")[0] for image in found.singles} == {"b"}
    assert found.left_out[0].why == "Not each group once: b lacks tattooed female."
    shown = PICTURES.source(found.frame, options(social=str(tmp_path)))
    assert shown.kind is Kind.SYNTHETIC
    shown.check({"image": found.frame["image"].to_list()})
    assert shown.stimulus(0, {"image": "a/skinny male"}).load()[0].data == png(0)


def test_a_group_that_no_set_of_the_data_has_is_missed(tmp_path: Path) -> None:
    social(tmp_path, "a")
    assert len(read(social=str(tmp_path)).singles) == 9


def test_a_reopened_run_reads_shards_of_its_new_root_alone(tmp_path: Path) -> None:
    social(tmp_path / "theirs", "a", "b")
    theirs = options(social=str(tmp_path / "theirs"))
    frame = PICTURES.table(theirs)
    elsewhere = PICTURES.with_paths({**theirs, "root": str(tmp_path / "elsewhere")})
    image = frame["image"][0]
    with pytest.raises(DataError):
        PICTURES.source(frame, elsewhere).stimulus(0, {"image": image})
    (tmp_path / "theirs").rename(tmp_path / "elsewhere")
    shown = PICTURES.source(frame, elsewhere).stimulus(0, {"image": image})
    assert shown.load()[0].data == png(0)


def test_a_stored_manifest_is_enough_no_list_is_read_again(tmp_path: Path) -> None:
    given: dict[str, OptionValue] = {"social": str(tmp_path), "prompt": ["describe"]}
    social(tmp_path, "a", "b")
    study = studies.protocol("counterfactuals").study(given)
    (tmp_path / "data/train.parquet").unlink()
    again = studies.build("counterfactuals", study.options, study.manifest)
    assert again.manifest.equals(study.manifest)
    assert again.design.size == study.design.size


def test_cultural_counterfactuals_have_no_occupations(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"image": png(at), "ctf_set": name, "age": "old", "race": "White", "gender": "man", "context": place}
        for name in ("0_old_White_man", "1_old_White_man")
        for at, place in enumerate(("Mosque", "Synagogue"))
    ]
    write_shard(tmp_path / "religion/train.parquet", rows)
    found = read(cultural=str(tmp_path))
    assert found.frame.select("subset", "set", "group", "occupation").rows()[:2] == [
        ("religion", "0_old_White_man", "Mosque", None), ("religion", "0_old_White_man", "Synagogue", None),
    ]  # fmt: skip
    assert found.singles == []


def test_subsets_of_the_paper_come_in_its_order(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"image": png(0), "caption": f"a {group} cook", "counterfactual_set": subset}
        for subset in reversed(PUBLISHED)
        for group in reversed(groups(subset))
    ]
    write_shard(tmp_path / "a.parquet", rows)
    found = read(social=str(tmp_path)).frame
    assert found["subset"].unique(maintain_order=True).to_list() == list(PUBLISHED)
    assert found["group"].to_list() == [group for subset in PUBLISHED for group in groups(subset)]


@pytest.mark.parametrize("one", ["social", "cultural", "pata", "manifest"])
def test_two_kinds_of_pictures_at_once_are_refused(one: str) -> None:
    for other in ("social", "cultural", "pata", "manifest"):
        if other != one:
            given: dict[str, OptionValue] = {setting.name: setting.default for setting in SETTINGS}
            with pytest.raises(SettingError):
                check_together(SETTINGS, given | {one: "a", other: "b"})
