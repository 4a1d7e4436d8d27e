"""Studies of one's own about public data sets."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader
from tests.stimuli.shards import Row, png, write_shard

STUDY = """
name = "small"
[pictures]
kind = "data-set"
name = "cultural-counterfactuals"
path = "data"
[prompt]
text = "How competent does this person look, from 1 to 7?"
[answer]
kind = "rating"
low = 1
high = 7
[[estimand]]
statistic = "gap"
factor = "group"
versus = "(mean)"
"""
CONTEXTS = ("mosque", "church", "temple")


def cultural(folder: Path) -> None:
    rows: list[Row] = [
        {"image": png(3 * number + at), "ctf_set": f"{number}", "context": context, "age": "old"}
        for number in range(4) for at, context in enumerate(CONTEXTS)
    ]  # fmt: skip
    write_shard(folder / "religion/train.parquet", rows)


def faces(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for at, name in enumerate(names):
        (folder / name).write_bytes(png(at))


def test_sets_of_a_published_data_set_are_asked_about(read: Reader) -> None:
    cultural(read.folder / "data")
    read(STUDY)
    opened = fv.run(read.folder / "small.toml", lambda _: "5", read.folder / "run")
    table = opened.estimates().filter(measure="gap_from_mean")
    assert sorted(table["group"]) == sorted(CONTEXTS)
    assert set(table["clusters"]) == {4}
    pictures = opened.answers().select("image", "set").unique()
    assert pictures.height == 12
    assert pictures["set"].n_unique() == 4


def test_plans_say_which_faces_are_left_out(read: Reader) -> None:
    faces(read.folder / "data", "20_0_0_1.png", "30_1_1_2.png", "40_1_4_3.png", "5_0_0_4.png")
    text = STUDY.replace("cultural-counterfactuals", "utkface").replace('"group"', '"gender"').replace("(mean)", "male")
    study = read(text).study()
    assert sorted(study.manifest["gender"]) == ["female", "male"]
    assert [omission.what.partition(" ")[0] for omission in study.planned.left_out] == ["1", "1"]


def test_labels_of_fairface_are_read_from_its_folder(read: Reader) -> None:
    faces(read.folder / "data/val", "1.png", "2.png")
    labels = "file,age,gender,race\nval/1.png,20-29,Male,White\nval/2.png,3-9,Female,Black\n"
    (read.folder / "data/fairface_label_val.csv").write_text(labels)
    text = (
        STUDY.replace("cultural-counterfactuals", "fairface").replace('"group"', '"gender"').replace("(mean)", "male")
    )
    manifest = read(text).study().manifest
    assert manifest.select("age", "gender", "race").rows() == [("20-29", "male", "White"), ("3-9", "female", "Black")]
    assert manifest["set"].dtype == pl.String


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"cultural-counterfactuals"', '"cultural"', "line 5: Unknown data set 'cultural'."),
        ('name = "cultural-counterfactuals"', 'nam = "x"', "line 5: Unknown key 'nam'. Did you mean 'name'?"),
        ('name = "cultural-counterfactuals"', "", "'name' is missing"),
        ('"cultural-counterfactuals"', "3", "line 5: 'name' is a text in quotes, not 3."),
        ('"cultural-counterfactuals"', '"fairface"', "holds no labels of FairFace"),
        ('"cultural-counterfactuals"', '"utkface"', "holds no face of UTKFace"),
        ('path = "data"', 'path = "dta"', "There is no folder"),
        ('path = "data"', 'path = "../data"', "is not below its own folder"),
        ('path = "data"', 'path = "data"\nunit = "sets"', "line 7: Unknown unit 'sets'. Did you mean 'set'"),
        ('path = "data"', 'path = "data"\ncue = "group"', "line 7: Unknown key 'cue'."),
        ('"data-set"', '"dataset"', "Unknown kind of pictures 'dataset'. Did you mean 'data-set' or"),
        ('factor = "group"', 'factor = "race"', "Unknown factor in a gap 'race'."),
    ],
)
def test_each_mistake_is_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    cultural(read.folder / "data")
    with pytest.raises(FaceValueError) as error:
        read(STUDY.replace(before, after)).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)
