"""VIGNETTE's image prompts."""

import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.prompts.articles import with_article
from facevalue.studies.vignette.image_prompts import generation_prompts
from facevalue.studies.vignette.prompts import roles


def test_there_are_24675_pictures_with_an_activity_and_329_portraits() -> None:
    assert generation_prompts(gender="male").height == 12_525
    assert generation_prompts(gender="female").height == 12_150
    assert generation_prompts().height == 24_675
    portraits = generation_prompts(portraits=True)
    assert dict(portraits.group_by("gender").len().iter_rows()) == {"male": 167, "female": 162}


@pytest.mark.parametrize("portraits", [False, True])
def test_each_picture_is_listed_once_with_all_columns(portraits: bool) -> None:
    frame = generation_prompts(portraits=portraits)
    assert frame.schema == dict.fromkeys(("gender", "dimension", "identity", "activity", "prompt"), pl.String)
    assert frame.select("gender", "dimension", "identity", "activity").is_unique().all()
    assert frame["activity"].null_count() == (frame.height if portraits else 0)


def test_prompts_are_the_papers_with_the_right_article() -> None:
    def prompt(identity: str, activity: str | None, gender: str) -> str:
        frame = generation_prompts(gender=gender, portraits=activity is None)
        return frame.row(by_predicate=(pl.col("identity") == identity) & pl.col("activity").eq_missing(activity))[-1]

    assert prompt("old", "cooking", "male") == "An old man engaged in cooking, with their face visible."
    assert prompt("little", "walking a dog", "female") == (
        "A little girl engaged in walking a dog, with their face visible."
    )
    assert prompt("european", None, "female") == "A European woman, with their face visible."
    assert prompt("urban", None, "male") == "An urban man, with their face visible."
    assert prompt("woman", None, "male") == "A woman, with their face visible."


def test_an_unknown_gender_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="gender 'femal'"):
        generation_prompts(gender="femal")


def test_roles_with_vowel_sounds_have_their_article() -> None:
    assert {role.noun for role in roles().values() if with_article(role.noun).startswith("an ")} == {
        "auto technician",
        "office assistant",
    }
