"""Replies that hold four descriptions, cut into them; and measured one by one."""

import polars as pl
import pytest

from facevalue.answers.free_text import row_per_text, split_texts
from facevalue.measures.definitions import rows_of
from tests.studies.visbias.simulated import build, estimates, read

TEXTS = ("A man stands in a kitchen.", "He wears a white jacket.", "Pans hang behind him.", "The light is warm.")
MARKERS = (
    "{}. ", "{}) ", "**{}.** ", "Description {}: ", "**Description {}:** ", "### Description {}\n\n", "{}: ",
    "**Description {}**\n", "- **Description {}:**\n", "Long description {}: ", "### {}. ", "**{}:** ",
)  # fmt: skip
LEADS = ("", "Sure! Here are four long descriptions of the image:\n\n", "Certainly, 4 of them.\n")


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("between", ["\n", "\n\n", "\n\n\n"])
def test_numbered_descriptions_are_cut(marker: str, between: str) -> None:
    for lead in LEADS:
        reply = lead + between.join(marker.format(at) + text for at, text in enumerate(TEXTS, 1))
        assert split_texts(reply) == TEXTS, reply


def test_words_count_as_numbers() -> None:
    for words in (("One", "Two", "Three", "Four"), ("one", "two", "three", "four")):
        assert split_texts("\n".join(f"Description {n}: {text}" for n, text in zip(words, TEXTS, strict=True))) == TEXTS
    ordinals = ("First", "Second", "Third", "Fourth")
    assert split_texts("\n\n".join(f"**{n} description:** {t}" for n, t in zip(ordinals, TEXTS, strict=True))) == TEXTS


def test_paragraphs_are_cut_if_there_are_four() -> None:
    assert split_texts("\n\n".join(TEXTS)) == TEXTS
    assert split_texts("Here you are:\n\n" + "\n\n---\n\n".join(TEXTS)) == TEXTS
    assert split_texts(TEXTS[0]) == TEXTS[:1]
    assert split_texts("\n\n".join(TEXTS[:3])) == ()


def test_numbers_within_a_description_are_left_alone() -> None:
    long = [f"{text}\nHis number is\n2 on the back, and 3. of all." for text in TEXTS]
    assert split_texts("\n".join(f"{at}. {text}" for at, text in enumerate(long, 1))) == tuple(long)
    assert split_texts("2. is what the jersey says.") == ("2. is what the jersey says.",)


def test_descriptions_are_measured_one_by_one_and_what_cannot_be_cut_is_missing() -> None:
    study = build(prompts="released", task=["description"], descriptions=4)
    whole = "\n".join(f"{at}. {text}" for at, text in enumerate(TEXTS, 1))
    count = len(study.design)
    answers = read(study, [whole if at % 4 else "One.\n\nTwo." for at in range(count)])
    missing = answers["na"].cast(pl.String).to_list()
    assert missing == ["neither" if at % 4 == 0 else None for at in range(count)]
    assert row_per_text(answers).height == missing.count("neither") + 4 * missing.count(None)
    found = estimates(study, answers).filter(rows_of(["mean.characters"]), pl.col("dimension").is_null())
    assert found["value"].to_list() == pytest.approx([sum(map(len, TEXTS)) / 4])
