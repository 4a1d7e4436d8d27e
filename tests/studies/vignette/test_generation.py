"""VIGNETTE's image prompts and the article that they begin with."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import UnknownNameError
from facevalue.prompts.articles import article, with_article
from facevalue.studies.vignette.generation import generation_prompts
from facevalue.studies.vignette.prompts import roles

AN = [
    "old man", "Eskimo", "eskimo", "athletic woman", "umpire", "usher", "urban man", "ugly man", "underweight woman",
    "unattractive man", "uninformed voter", "unidentified man", "Italian man", "hour", "honest clerk", "heir",
    "honorable man", "h", "X-ray", "x-ray", "FBI agent", "MRI", "8-year-old", "18-year-old", "11-year-old",
    "only child", "'old' man",
]  # fmt: skip
A = [
    "little boy", "European man", "university student", "uniform", "user", "unique man", "unit", "one-legged man",
    "once-rich man", "ewe", "eulogist", "Ukrainian", "Ugandan", "ukulele player", "utensil", "unanimous jury",
    "handyman", "house", "Hindu man", "healthy man", "yoga instructor", "UN envoy", "US citizen", "u", "U-turn",
    "180-year-old", "7-year-old", "mafia", '"young" man',
]  # fmt: skip
CONSONANTS = "bcdfgjklmnpqrstvwxyz"
LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", max_size=8)


@pytest.mark.parametrize("noun", AN)
def test_vowel_sounds_take_an(noun: str) -> None:
    assert article(noun) == "an"


@pytest.mark.parametrize("noun", A)
def test_consonant_sounds_take_a(noun: str) -> None:
    assert article(noun) == "a"


@given(st.sampled_from(CONSONANTS), st.sampled_from("aeiou"), LETTERS)
def test_a_word_that_begins_with_a_consonant_other_than_h_takes_a(first: str, second: str, rest: str) -> None:
    assert article(first + second + rest) == "a"
    assert article(first.upper() + second + rest) == "a"


@given(st.sampled_from("ai"), LETTERS)
def test_a_word_that_begins_with_a_or_i_takes_an(first: str, rest: str) -> None:
    assert article(first + rest) == "an"


@given(LETTERS.filter(bool), st.text("abcdefghijklmnopqrstuvwxyz -", max_size=12), st.sampled_from("'\"(“"))
def test_the_article_hangs_on_the_first_word_alone_not_on_quotes_or_what_follows(
    word: str, rest: str, mark: str
) -> None:
    assert article(f"{word} {rest}") == article(word) == article(mark + word)


@given(LETTERS.filter(lambda word: len(word) > 1))
def test_the_article_does_not_hang_on_a_capital_at_the_start(word: str) -> None:
    assert article(word.capitalize()) == article(word)


@given(st.text(max_size=20))
def test_any_text_gets_one_of_the_two_articles_and_stays_as_it_is(text: str) -> None:
    assert with_article(text) in (f"a {text}", f"an {text}")


def test_there_are_24675_pictures_with_an_activity_and_329_portraits() -> None:
    assert generation_prompts("male").height == 12_525
    assert generation_prompts("female").height == 12_150
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
        frame = generation_prompts(gender, portraits=activity is None)
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
        generation_prompts("femal")


def test_roles_with_vowel_sounds_have_their_article() -> None:
    assert {role.noun for role in roles().values() if with_article(role.noun).startswith("an ")} == {
        "auto technician",
        "office assistant",
    }
