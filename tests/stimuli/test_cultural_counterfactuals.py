"""CulturalCounterfactuals: one person in several places."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facevalue.errors import DataError
from facevalue.stimuli.counterfactual_datasets import CULTURAL_SUBSETS, read_cultural_counterfactuals
from facevalue.stimuli.manifest_rows import check_sets
from tests.stimuli.shards import Row, png, write_shard

PLACES = ("Buddhist temple", "Christian church", "Hindu temple", "Mosque", "Shinto shrine", "Synagogue")


def person(name: str = "0_old_Latino_woman", places: tuple[str | None, ...] = PLACES) -> list[Row]:
    return [
        {"image": png(at), "ctf_set": name, "age": "old", "race": "Latino", "gender": "woman", "context": place}
        for at, place in enumerate(places)
    ]


def test_a_set_is_one_person_and_a_group_one_place(tmp_path: Path) -> None:
    write_shard(tmp_path / "religion/train-00000-of-00001.parquet", [*person(), *person("1_young_White_man")])
    found = read_cultural_counterfactuals(tmp_path)
    assert found.table.row(3, named=True) == {
        "image": "0_old_Latino_woman/Mosque", "path": "religion/train-00000-of-00001.parquet#3", "subset": "religion",
        "set": "0_old_Latino_woman", "group": "Mosque", "occupation": None, "age": "old", "race": "Latino",
        "gender": "woman",
    }  # fmt: skip
    assert check_sets(found.table).partial == ()


def test_folders_are_subsets_also_where_one_alone_is_named(tmp_path: Path) -> None:
    write_shard(tmp_path / "Religion/train.parquet", person())
    write_shard(tmp_path / "socioeconomic/train.parquet", person(places=("poor", "rich")))
    assert set(read_cultural_counterfactuals(tmp_path).table["subset"]) == {"religion", "socioeconomic"}
    assert set(read_cultural_counterfactuals(tmp_path / "Religion").table["subset"]) == {"religion"}


def test_the_subsets_hold_all_images() -> None:
    assert sum(sets * images for sets, images in CULTURAL_SUBSETS.values()) == 59_827


def test_images_without_a_context_are_counted(tmp_path: Path) -> None:
    write_shard(tmp_path / "religion.parquet", person(places=(*PLACES, None)))
    found = read_cultural_counterfactuals(tmp_path)
    assert found.table.height == 6
    assert found.left_out == (("1 images, such as religion.parquet#6", "Without a context."),)


def test_shards_of_no_subset_are_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "train.parquet", person())
    with pytest.raises(DataError, match="nothing says of which subset it is: name its folder religion or nationality"):
        read_cultural_counterfactuals(tmp_path)


def test_shards_of_another_data_set_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": [b"x"], "caption": ["a White male cook"]}), tmp_path / "religion.parquet")
    with pytest.raises(DataError, match="lacks the column 'ctf_set'"):
        read_cultural_counterfactuals(tmp_path)
