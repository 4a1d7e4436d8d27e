"""Articles by the sound that a noun phrase begins with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.prompts.phrases import article, with_article

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
