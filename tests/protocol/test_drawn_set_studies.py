"""Studies of one's own about drawn counterfactual sets without a base."""

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

STUDY = """
name = "small"
[pictures]
kind = "sets"
show = "workers"
sets = 12
[prompt]
text = "How competent does this person look, from 1 to 7?"
[answer]
kind = "rating"
low = 1
high = 7
[[estimand]]
statistic = "gap"
factor = "skin_tone"
versus = "(alike)"
"""


def test_sets_are_drawn_asked_about_and_measured(read: Reader) -> None:
    read(STUDY)
    opened = fv.run(read.folder / "small.toml", lambda _: "5", read.folder / "run")
    table = opened.estimates().filter(measure="gap_from_alike")
    assert table.height == 5
    assert table["value"].to_list() == [0.0] * 5
    pictures = opened.answers().select("image", "set", "gender", "skin_tone", "occupation").unique()
    assert pictures.height == 120
    assert pictures.group_by("set").agg(pl.len())["len"].unique().to_list() == [10]


def test_more_sets_begin_with_the_same_ones_and_portraits_have_looks(read: Reader) -> None:
    few, many = (read(STUDY.replace("sets = 12", f"sets = {count}")).study().manifest for count in (3, 4))
    assert many["image"][: few.height].to_list() == few["image"].to_list()
    portraits = read(STUDY.replace("workers", "portraits").replace("skin_tone", "physical")).study().manifest
    assert portraits.columns == ["image", "identity", "set", "gender", "physical"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"workers"', '"worker"', "line 5: Unknown what drawn sets show 'worker'. Did you mean 'workers'?"),
        ('"workers"', "3", "line 5: 'show' is a text in quotes, not 3."),
        ('"workers"', '"portraits"', "Unknown factor in a gap 'skin_tone'."),
        ("sets = 12", "sets = 0", "line 6: The setting sets is a whole number from 1, not 0."),
        ("sets = 12", "sets = -1", "line 6: The setting sets is a whole number from 1, not -1."),
        ("sets = 12", "sets = 2000", "line 6: The setting sets is at most 1,000, not 2,000."),
        ("sets = 12", "sets = 900", "drawn sets of workers at most, not 900."),
        ("sets = 12", 'sets = "12"', "line 6: 'sets' is a whole number"),
        ("sets = 12", "set = 12", "line 6: Unknown key 'set'. Did you mean 'sets'?"),
        ("sets = 12", 'cue = "gender"', "line 6: Unknown key 'cue'."),
        ('kind = "sets"', 'kind = "set"', "Unknown kind of pictures 'set'. Did you mean 'data-set' or 'sets'?"),
    ],
)
def test_each_mistake_is_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    with pytest.raises(FaceValueError) as error:
        read(STUDY.replace(before, after)).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)
