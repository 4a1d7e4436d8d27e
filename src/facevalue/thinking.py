"""Replies of models that think aloud: what was said after the thinking."""

import re

import polars as pl

THOUGHT = "</think>"
"""End of the thinking. Its beginning may be missing, as many chat templates write it themselves."""
_THOUGHT = r"(?s)^.*</think>\s*"
_THINKING = r"(?s)^\s*<think>.*$"


def after_thinking(text: str) -> str:
    """Return what follows the thinking; nothing where it has no end.

    Examples
    --------
    >>> after_thinking("<think>(a)? No.</think>(b)"), after_thinking("<think>(a)? N"), after_thinking("(a)")
    ('(b)', '', '(a)')
    """
    return re.sub(_THINKING, "", re.sub(_THOUGHT, "", text))


def spoken(text: pl.Expr) -> pl.Expr:
    """Return a column of replies without what was thought before them."""
    return text.str.replace(_THOUGHT, "").str.replace(_THINKING, "")
