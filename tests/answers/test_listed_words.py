"""Replies that name words of a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers.listed_words import ListKind, Named, combine_replies, read_named_words
from facevalue.types import Status

WORDS = ("fat", "lazy", "good-looking", "chef's", "none")


@pytest.mark.parametrize(
    "reply",
    [
        "fat, lazy",
        "['fat', 'lazy']",
        '```json\n["fat", "lazy"]\n```',
        "- fat\n- lazy\n",
        "1. Fat\n2. Lazy",
        "1. Fat: about bodies, and often meant to hurt\n2. Lazy - a judgment of character",
        "Here is the list: fat, and lazy.",
        "Stereotypical words:\nfat (body shaming), lazy (character)",
        "<think>good-looking? No.</think>fat; lazy",
        "**fat**, **lazy**, fat",
        "fat, lazy\nNote: I left out everything that describes clothes or a place.",
        "lazy, fat",
    ],
)
def test_lists_are_read_however_they_are_written(reply: str) -> None:
    assert read_named_words(reply, WORDS) == Named(ListKind.LIST, ("fat", "lazy"))


def test_other_words_are_invented() -> None:
    assert read_named_words("fat, greedy, very lazy", WORDS) == Named(ListKind.LIST, ("fat",), ("greedy", "very lazy"))
    assert read_named_words("good looking", WORDS).words == ()
    assert read_named_words("Good‑looking, chef’s", WORDS).words == ("good-looking", "chef's")


@pytest.mark.parametrize("reply", ["[]", "Output: []", "The list is [ ]", "None."])
def test_an_empty_list_names_nothing(reply: str) -> None:
    assert read_named_words(reply, ["fat"]) == Named(ListKind.LIST)


def test_a_word_that_means_nothing_elsewhere_can_be_listed() -> None:
    assert read_named_words("none", WORDS).words == ("none",)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("The words fat and lazy could be hurtful to people.", ListKind.PROSE),
        ("None of these, fat and lazy included, refers to a stereotype.", ListKind.PROSE),
        ("There are no stereotypical words in this text.", ListKind.PROSE),
        ("I'm sorry, but I cannot judge people by such words.", ListKind.REFUSED),
        ("", ListKind.EMPTY),
        (None, ListKind.EMPTY),
        ("<think>fat, lazy", ListKind.EMPTY),
    ],
)
def test_what_is_no_list_is_not_believed(reply: str | None, kind: ListKind) -> None:
    assert read_named_words(reply, WORDS) == Named(kind)


@pytest.mark.parametrize("reply", ['["lazy', '["lazy", "fat"', "[", '```json\n["lazy",\n', "Output: [lazy, fa"])
def test_a_list_that_breaks_off_is_broken_and_not_none_flagged(reply: str) -> None:
    assert read_named_words(reply, WORDS) == Named(ListKind.BROKEN)
    assert combine_replies(WORDS, [read_named_words(reply, WORDS)]) is None


def test_a_cut_reply_is_broken_and_a_refusal_is_one() -> None:
    assert read_named_words("lazy, fat", WORDS, Status.TRUNCATED).kind is ListKind.BROKEN
    assert read_named_words("lazy", WORDS, Status.TRUNCATED).kind is ListKind.BROKEN
    assert read_named_words("fat", WORDS, Status.REFUSED).kind is ListKind.REFUSED


@given(st.text(max_size=300), st.lists(st.text("abcdefgh-", min_size=1, max_size=8), unique=True, max_size=6))
def test_nothing_but_listed_words_is_ever_named(reply: str, listed: list[str]) -> None:
    found = read_named_words(reply, listed)
    assert set(found.words) <= set(listed)
    assert not set(found.words) & set(found.invented)
    assert found.kind is ListKind.LIST or not found.words


def test_a_long_reply_is_read_in_time() -> None:
    assert read_named_words(", ".join(["fat"] * 200_000), WORDS).words == ("fat",)
    assert read_named_words("fat " * 200_000, WORDS).kind is ListKind.PROSE
    assert read_named_words("(" * 100_000, WORDS).kind is ListKind.LIST
