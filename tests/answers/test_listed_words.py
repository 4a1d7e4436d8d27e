"""Replies that name words of a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers.listed_words import ListKind, Named, named, together
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
    assert named(reply, WORDS) == Named(ListKind.LIST, ("fat", "lazy"))


def test_other_words_are_invented() -> None:
    assert named("fat, greedy, very lazy", WORDS) == Named(ListKind.LIST, ("fat",), ("greedy", "very lazy"))
    assert named("good looking", WORDS).words == ()
    assert named("Good‑looking, chef’s", WORDS).words == ("good-looking", "chef's")


@pytest.mark.parametrize("reply", ["[]", "Output: []", "The list is [ ]", "None."])
def test_an_empty_list_names_nothing(reply: str) -> None:
    assert named(reply, ["fat"]) == Named(ListKind.LIST)


def test_a_word_that_means_nothing_elsewhere_can_be_listed() -> None:
    assert named("none", WORDS).words == ("none",)


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
    assert named(reply, WORDS) == Named(kind)


@pytest.mark.parametrize("reply", ['["lazy', '["lazy", "fat"', "[", '```json\n["lazy",\n', "Output: [lazy, fa"])
def test_a_list_that_breaks_off_is_broken_and_not_none_flagged(reply: str) -> None:
    assert named(reply, WORDS) == Named(ListKind.BROKEN)
    assert together(WORDS, [named(reply, WORDS)]) is None


def test_a_cut_reply_is_broken_and_a_refusal_is_one() -> None:
    assert named("lazy, fat", WORDS, Status.TRUNCATED).kind is ListKind.BROKEN
    assert named("lazy", WORDS, Status.TRUNCATED).kind is ListKind.BROKEN
    assert named("fat", WORDS, Status.REFUSED).kind is ListKind.REFUSED


@given(st.text(max_size=300), st.lists(st.text("abcdefgh-", min_size=1, max_size=8), unique=True, max_size=6))
def test_nothing_but_listed_words_is_ever_named(reply: str, listed: list[str]) -> None:
    found = named(reply, listed)
    assert set(found.words) <= set(listed)
    assert not set(found.words) & set(found.invented)
    assert found.kind is ListKind.LIST or not found.words


def test_a_long_reply_is_read_in_time() -> None:
    assert named(", ".join(["fat"] * 200_000), WORDS).words == ("fat",)
    assert named("fat " * 200_000, WORDS).kind is ListKind.PROSE
    assert named("(" * 100_000, WORDS).kind is ListKind.LIST
