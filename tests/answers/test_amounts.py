"""Amounts as options: every usual way to write an option names it, and nothing else does."""

import json
import re
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import NA, parse
from facevalue.errors import DataError
from facevalue.studies.visbias.tables import choice_questions
from facevalue.types import Option

INCOME = next(question for question in choice_questions() if question.name == "income")
OPTIONS = tuple(Option("ABCDEF"[i], text, text) for i, text in enumerate(INCOME.options))
BOUNDS = (0, 20, 40, 60, 80, 100, None)

NUMBERS = [
    "${},000", "$ {},000", "{},000", "${}000", "{}000", "${}.000", "${} 000", "${}\u00a0000", "${}\u202f000", "${}'000",
    "${}\u2019000", "${}k", "${}K", "{}k", "${},000.00", "US${},000", "USD {},000", "{},000 USD", "{},000 dollars",
    "\\${},000", "${}{{,}}000", "${}, 000", "${} thousand",
]  # fmt: skip
RANGES = [
    "{} ~ {}", "{}~{}", "{} - {}", "{}-{}", "{}\u2013{}", "{} \u2013 {}", "{}\u2014{}", "{} \u2212 {}", "{} to {}",
    "{} \uff5e {}", "{} \u301c {}", "between {} and {}", "from {} to {}", "about {} to {}", "{} \\u2013 {}",
    "**{}** ~ **{}**",
]  # fmt: skip
BELOW = [
    "< {}", "<{}", "less than {}", "Less than {}", "under {}", "below {}", "\u2264 {}", "up to {}", "&lt; {}",
    "\uff1c {}", "\\u003c {}", "{} or less", "at most {}", "no more than {}", "$0 ~ {}",
]  # fmt: skip
ABOVE = [
    "> {}", ">{}", "more than {}", "over {}", "above {}", "\u2265 {}", "at least {}", "&gt; {}", "\uff1e {}",
    "\\u003e {}", "{}+", "{} or more", "{} and above", "no less than {}", "greater than {}",
]  # fmt: skip
REPLIES = [
    "{letter} {text}", "{letter}) {text}", "{letter}. {text}", "({letter}) {text}", "{letter}: {text}",
    "{letter} - {text}", "{letter} \u2013 {text}", "{letter}, {text}", "{letter} ({text})", "{letter}\n{text}",
    "**{letter}** {text}", "\u201c{letter}\u201d {text}", "{letter} \u201c{text}\u201d", "\u201c{letter} {text}\u201d",
    '{{"answer": "{letter} {text}"}}', '{{"answer": "{letter}: {text}"}}', '{{"answer": "{letter}_{text}"}}',
    "{{\u201canswer\u201d: \u201c{letter}: {text}\u201d}}", '```json\n{{"answer": "{letter} {text}"}}\n```',
    "Answer: {letter} {text}", "The answer is {letter} {text}.", "{text} ({letter})",
]  # fmt: skip
BARE = [
    "{}",
    "{}.",
    '{{"answer": "{}"}}',
    "I would say {}.",
    "The income is probably {} a year.",
    "<answer>{}</answer>",
]


def spellings(option: int) -> list[str]:
    """Each way to write the numbers with one way to put them together, and the other way round."""
    low, high = BOUNDS[option], BOUNDS[option + 1]
    ways = BELOW if option == 0 else ABOVE if high is None else RANGES
    given = [(number, ways[0]) for number in NUMBERS] + [(NUMBERS[0], way) for way in ways]
    numbers = [b for b in ((high,) if option == 0 else (low, high)) if b is not None]
    return [way.format(*(number.format(b) for b in numbers)) for number, way in given]


@pytest.mark.parametrize("option", range(6), ids=INCOME.levels)
def test_every_spelling_of_an_option_names_it(option: int) -> None:
    for text in spellings(option):
        for reply in BARE:
            assert parse(reply.format(text), OPTIONS).choice == option, reply.format(text)
        for reply in REPLIES:
            said = reply.format(letter="ABCDEF"[option], text=text)
            assert parse(said, OPTIONS).choice == option, said


@pytest.mark.parametrize("question", choice_questions(), ids=lambda question: question.name)
def test_a_letter_with_the_text_of_another_option_is_no_answer(question: object) -> None:
    assert isinstance(question, type(INCOME))
    options = tuple(Option("ABCDEF"[i], text, text) for i, text in enumerate(question.options))
    for at, other in permutations(range(len(options)), 2):
        for reply in REPLIES:
            said = reply.format(letter="ABCDEF"[at], text=options[other].text)
            assert parse(said, options).choice is None, said
        same = "{letter} {text}".format(letter="ABCDEF"[at], text=options[at].text)
        assert parse(same, options).choice == at


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("D Doctorate", "D"),
        ('{"answer": "B: Bachelor"}', "B"),
        ("A secondary", "A"),
        ("**C** Master.", "C"),
        ("C) Doctorate", None),
        ("A Bachelor", None),
        ("D: University", "D"),
        ("B friend", None),
        ("Doctorate", None),
    ],
)
def test_words_of_one_option_alone_behind_a_letter_are_its_text(reply: str, letter: str | None) -> None:
    question = next(question for question in choice_questions() if question.name == "education")
    options = tuple(Option("ABCD"[i], text, text) for i, text in enumerate(question.options))
    choice = parse(reply, options).choice
    assert (None if choice is None else "ABCD"[choice]) == letter


def test_two_options_are_no_answer() -> None:
    for one, other in permutations(range(6), 2):
        for first, second in zip(spellings(one), spellings(other), strict=False):
            for between in (" or ", ", ", " and ", "\n", " rather than ", "; maybe "):
                said = f"{'ABCDEF'[one]} {first}{between}{'ABCDEF'[other]} {second}"
                assert parse(said, OPTIONS).choice is None, said
                assert parse(first + between + second, OPTIONS).choice is None, first + between + second


@given(
    st.integers(0, 400),
    st.integers(0, 400),
    st.sampled_from(NUMBERS),
    st.sampled_from(RANGES[:12]),
    st.sampled_from(BARE),
)
def test_another_range_is_no_option(low: int, high: int, number: str, way: str, reply: str) -> None:
    text = reply.format(way.format(number.format(low), number.format(high)))
    known = [i for i in range(5) if (BOUNDS[i], BOUNDS[i + 1]) == (low, high)]
    assert parse(text, OPTIONS).choice == (known[0] if known else None)


@pytest.mark.parametrize(
    "reply",
    [
        "$50,000",
        "C $50,000",
        "20,000",
        "$20,000 $40,000",
        "$20,000 and $40,000",
        "$20,000 ~ $40,000 ~ $60,000",
        "less than $40,000",
        "not more than $100,000",
        "not less than $20,000",
        "over $20,000",
        "more than $20,000 ~ $40,000",
        "$80,000 ~ $100,000+",
        "\u20ac40,000 ~ \u20ac60,000",
        "40,000 ~ 60,000 rupees",
        "$40,000 ~ $60,000 per month",
        "$40,000 ~ $60,000 a week",
        "40 ~ 60",
        "$40,000 ~ $60,000,000",
        "140,000 ~ 60,000",
        "1.20,000 ~ 40,000",
        "<answer>$100,000</answer>",
        "Income -> $100,000",
        "Income => $100,000",
        "neither $40,000 ~ $60,000 nor $60,000 ~ $80,000",
        "not $40,000 ~ $60,000",
    ],
)
def test_what_only_looks_like_an_option_is_no_answer(reply: str) -> None:
    assert parse(reply, OPTIONS).choice is None


def test_a_letter_stands_whatever_amount_is_explained_behind_it() -> None:
    assert parse("C: a person like this may earn $50,000.", OPTIONS).choice == 2
    assert parse("A $20,000 ~ $40,000", OPTIONS).reason == NA.CONTRADICTION


def test_the_same_amount_twice_cannot_be_told_apart() -> None:
    with pytest.raises(DataError, match="same amount"):
        parse("A", (Option("A", "$1,000 - $2,000", "a"), Option("B", "1k to 2k", "b")))


@given(st.text(alphabet="$<>~0123456789,.k -ABC\u2013", max_size=40))
def test_any_text_gives_an_answer_or_a_reason(text: str) -> None:
    choice, reason = parse(text, OPTIONS)
    assert (choice is None) == (reason is not None)


def test_the_docs_examples() -> None:
    page = Path(__file__).parents[2].joinpath("docs/reference/answers.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\| `(".*")` \| ([^|]+) \|$', page, re.MULTILINE)
    assert len(rows) >= 8
    for reply, answer in rows:
        choice, reason = parse(json.loads(reply), OPTIONS)
        assert (f"N/A: {reason}" if choice is None else OPTIONS[choice].label) == answer, reply
