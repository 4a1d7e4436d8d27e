"""Counts of gender words beside instances, against a plain reading, and terms of the user's."""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.modscan.corpus import GENDERS, builtin, read_terms

WORDS = (
    "he",
    "Her",
    "HERS",
    "man",
    "woman",
    "nurse",
    "nurses",
    "Chef",
    "software",
    "developer",
    "the",
    "sonata",
    "poor",
)


def counted(*texts: str) -> dict[str, tuple[int, int, int]]:
    counts = builtin()
    counts.add(pl.Series(texts, dtype=pl.String))
    return {row["instance"]: (row["texts"], row["male"], row["female"]) for row in counts.table().to_dicts()}


def test_terms_are_those_of_the_paper() -> None:
    terms = builtin()
    kinds = [kind for kind, _ in terms.instances]
    assert (kinds.count("occupation"), kinds.count("descriptor")) == (10, 10)
    assert terms.genders["male"].count("|") == terms.genders["female"].count("|") == 19


def test_a_text_counts_once_and_its_words_as_often_as_they_stand_there() -> None:
    assert counted("The nurse, a nurse; she and her mother met him.")["nurse"] == (1, 1, 3)


def test_words_are_whole_and_case_makes_no_difference() -> None:
    found = counted("NURSE He's", "nurses he", "The heroine is a nurse.", "Nurse-he, (HERS)")
    assert found["nurse"] == (3, 2, 1)


def test_white_space_between_the_words_of_a_term_may_be_any() -> None:
    assert counted("A software\n developer and he", "a software-developer")["software developer"] == (1, 1, 0)


def test_a_text_may_name_several_instances() -> None:
    found = counted("A poor chef and his sister")
    assert found["poor"] == found["chef"] == (1, 1, 1)


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=20))
def test_counts_are_those_of_a_plain_reading_however_the_texts_are_cut(texts: list[str]) -> None:
    genders = {"male": {"he", "man"}, "female": {"her", "hers", "woman"}}
    expected = {}
    for instance in ("nurse", "chef", "software developer", "poor"):
        naming = [text.lower() for text in texts if re.search(rf"\b{instance}\b", text.lower())]
        sums = [sum(word in genders[gender] for text in naming for word in text.split()) for gender in GENDERS]
        expected[instance] = (len(naming), *sums)
    whole = counted(*texts)
    assert {name: whole[name] for name in expected} == expected
    parts = builtin()
    for text in texts:
        parts.add(pl.Series([text]))
    assert parts.table().select("texts", *GENDERS).rows() == [*whole.values()]
    assert parts.texts == len(texts)
    assert parts.words["male"] == sum(word.lower() in genders["male"] for text in texts for word in text.split())


def file(folder: Path, text: str) -> Path:
    path = folder / "terms.toml"
    path.write_text(text)
    return path


GOOD = 'male = ["he"]\nfemale = ["she"]\n[instances]\njob = ["truck driver", "C3PO"]\n'


def test_terms_of_ones_own(tmp_path: Path) -> None:
    counts = read_terms(file(tmp_path, GOOD))
    assert counts.instances == [("job", "truck driver"), ("job", "c3po")]
    counts.add(pl.Series(["The Truck  Driver said he met c3po."]))
    assert counts.table().rows() == [("job", "truck driver", 1, 1, 0), ("job", "c3po", 1, 1, 0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("female", "femal"), "Did you mean 'female'"),
        (GOOD.replace('["he"]', "[]"), "male is a list of 1 to 1,000 terms"),
        (GOOD.replace('["he"]', '"he"'), "male is a list"),
        (GOOD.replace('["he"]', '["he", "."]'), "does not begin and end with a letter or digit: '.'"),
        (GOOD.replace('["she"]', '["He"]'), "'he' is in both lists"),
        ('male = ["he"]\nfemale = ["she"]\n', r"needs a table [instances]"),
        ("male = [", "is not valid TOML"),
    ],
)
def test_files_that_cannot_be_understood_say_what_to_mend(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises((DataError, UnknownNameError), match=re.escape(says)):
        read_terms(file(tmp_path, text))
