"""What is said after the thinking, in text and in columns alike."""

import polars as pl
import pytest

from facevalue.thinking import after_thinking, spoken


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a)", "(a)"),
        ("<think>(a) or\n(b)?</think>\n\n(b)", "(b)"),
        ("the template began it: (a)?</think> (b)", "(b)"),
        ("<think>one</think><think>two</think>(a)", "(a)"),
        (" \n<think>(a), since\nno end", ""),
        ("<think>", ""),
        ("I <think> so: (a)", "I <think> so: (a)"),
        ("", ""),
    ],
)
def test_what_follows_the_thinking(text: str, said: str) -> None:
    assert after_thinking(text) == said
    assert pl.select(spoken(pl.lit(text))).item() == said


def test_no_text_stays_none() -> None:
    assert pl.select(spoken(pl.lit(None, pl.String))).item() is None
