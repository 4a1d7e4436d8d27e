"""Replies that name options as the prompt presents them: "Image A", "the person in image B"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import NA
from facevalue.answers.forced_choice import parse
from facevalue.protocol.asks import presented_as
from facevalue.types import Option

NOUNS = ("image", "picture", "photo", "photograph", "person")
AB = tuple(Option("", letter, letter, NOUNS) for letter in "AB")
PLAIN = tuple(Option("", letter, letter) for letter in "AB")


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("Image A", 0),
        ("image b", 1),
        ("Image A.", 0),
        ("The person in image B", 1),
        ("the person in Image B.", 1),
        ("Picture A", 0),
        ("Person B", 1),
        ("Image (A)", 0),
        ("Image_A", 0),
        ("The answer is image B", 1),
        ("I would say image A.", 0),
        ("Image B looks wealthier.", 1),
        ("Image A looks wealthier.", 0),
        ("Image A, because of the suit", 0),
        ("**Image A**", 0),
        ("Image A: the person seems richer", 0),
        ("Image B's person", 1),
        ("(A)", 0),
        ("A.", 0),
        ("In the image, a man smiles.\nB", 1),
    ],
)
def test_names_of_the_prompt_are_read(reply: str, choice: int) -> None:
    assert parse(reply, AB).choice == choice


@pytest.mark.parametrize(
    "reply",
    [
        "In the image a man wears a suit.",
        "Image C",
        "The person a bit to the left",
        "Face A",  # no name of the prompt
        "Not image A",
        "Neither image A nor image B",
        "Image A or image B?",
        "Image A wears a suit and image B looks happy.",
        "Image A shows a banker; image B shows a student.",
        "Images A and B are alike.",
        "Image AB",
        "I'm sorry, I can't compare image A with the other.",
    ],
)
def test_what_names_none_or_both_is_no_answer(reply: str) -> None:
    assert parse(reply, AB).choice is None


def test_without_such_names_nothing_is_read_otherwise() -> None:
    assert parse("Image A", PLAIN).reason is NA.NEITHER


FORMS = st.sampled_from(["{} {}", "the person in {} {}", "{} ({})", "**{} {}**", "The {} {}", "{}: {}", '{} "{}"'])
AFTER = st.sampled_from(
    ["", ".", " looks tired", " wears a suit", " is a banker", ", a man,", " has more", ": richer", "\n", " -", " man",
     " appears kind", "'s face", "!", " seems poor,", " would", " over", " rather than"]
)  # fmt: skip
BETWEEN = st.sampled_from([" ", " and ", "; ", ". ", " or ", ", while ", "\n", " / ", " not ", " than ", " vs "])


@given(FORMS, FORMS, AFTER, AFTER, BETWEEN, st.sampled_from(NOUNS), st.sampled_from(NOUNS), st.permutations("AB"))
def test_replies_that_name_both_are_no_answers(
    first: str, second: str, one: str, two: str, between: str, noun: str, other_noun: str, letters: list[str]
) -> None:
    text = first.format(noun, letters[0]) + one + between + second.format(other_noun, letters[1]) + two
    assert parse(text, AB).choice is None


@given(st.sampled_from(["{} {}", "the person in {} {}", "{} ({})", "The {} {}", "I choose {} {}"]),
       st.sampled_from(["", ".", "!", "\n", ", because of the suit", ": richer", " is richer", " looks richer"]),
       st.sampled_from(NOUNS), st.integers(0, 1))  # fmt: skip
def test_replies_that_name_one_are_its_answer(form: str, after: str, noun: str, choice: int) -> None:
    assert parse(form.format(noun, "AB"[choice]) + after, AB).choice == choice


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("You will see two images, A and B.", ["image", "picture", "photo", "photograph"]),
        ("Which person (A or B) would you approach?", ["person"]),
        ("Which version of the person (A or B) is richer?", ["version", "person"]),
        ("Face A is on the left, face B on the right.", ["face"]),
        ("Candidates A/B apply.", ["candidate"]),
        ('Answer with ONLY one letter: "A" or "B".', []),
        ("Answer with A or B.", []),
        ("Choose either A or B", []),
        ("A is on the left, B on the right.", []),
        ("Vitamin A is in this picture.", []),
        ("Is it more like A or B?", []),
    ],
)
def test_names_are_those_that_the_prompt_puts_before_the_letters(text: str, nouns: list[str]) -> None:
    assert list(presented_as([text], ["A", "B"])) == nouns
    assert list(presented_as([text], ["wealthy", "poor"])) == []
