"""Texts to sentences."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.annotations.sentiment import sentences


def split(text: str) -> list[str]:
    return sentences(pl.Series([text]))["sentence"].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("“One.” “Two.”", ["“One.”", "“Two.”"]),
        ("Dr. A. Lee, No. 5, e.g. Mr. X. He waits.", ["Dr. A. Lee, No. 5, e.g. Mr. X. He waits."]),
        ("a 3.5 m wall... and so on", ["a 3.5 m wall... and so on"]),
        ("# Title\n\n- one\r\n- two", ["# Title", "- one", "- two"]),
        ("   ", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_no_character_but_space_is_lost(said: list[str]) -> None:
    found = sentences(pl.Series(said))
    for row, text in enumerate(said):
        joined = "".join(found.filter(pl.col("row") == row)["sentence"])
        kept = text.replace("\ue000", "").replace("\ue001", "")
        assert "".join(joined.split()) == "".join(kept.split())
