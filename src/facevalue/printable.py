"""Printable text: strings from servers, manifests and run folders, made safe for the terminal."""

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Controls of C0 and C1 other than tab and newline (ESC begins what moves the cursor, sets titles or fills the
clipboard), marks that turn the direction of writing, and halves of surrogate pairs, which can't be encoded."""

_MARKDOWN = re.compile(r"([\\`*_\[\]|~#<>])")
_LINE, _SHORT = 200, 100  # characters


def printable(text: str) -> str:
    r"""Return a text with every character that could steer a terminal or hide what is written spelled out.

    Examples
    --------
    >>> printable("old\x1b[2Jnew"), printable("two\nlines")
    ('old\\x1b[2Jnew', 'two\nlines')
    """
    return _CONTROL.sub(_escape_character, text)


def first_line(error: BaseException) -> str:
    r"""The kind of an error and the first line of its text, bounded; for errors of other people's code.

    Examples
    --------
    >>> first_line(ValueError("No such thing.\nAt length."))
    'ValueError: No such thing'
    """
    try:
        text = (str(error).splitlines() or [""])[0][:_LINE].rstrip(".")
    except Exception:  # whatever a stranger's error raises
        text = ""
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def quote(value: object) -> str:
    """Something unexpected for people: a line of some tens of characters, and its type.

    Examples
    --------
    >>> quote(-1), quote("x" * 10**6)
    ('-1 (int)', "'xxxxxxxxxxxx...xxxxxxxxxxxxx' (str)")
    """
    return "None" if value is None else f"{short(value)} ({type(value).__name__:.40})"


def short(value: object) -> str:
    """Something unexpected as a line of some tens of characters."""
    try:
        text = reprlib.repr(value)[:_SHORT]
    except Exception:  # whatever a stranger's object raises
        text = "something"
    return " ".join(printable(text).split())


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def in_markdown(text: str) -> str:
    r"""A text that Markdown shows as it is, on one line: names in it format nothing and call nobody.

    Examples
    --------
    >>> in_markdown("a|b <i>c</i>\n@ann")
    'a\\|b \\<i\\>c\\</i\\> &#64;ann'
    """
    plain = _MARKDOWN.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    return " ".join(plain.replace("@", "&#64;").split())


def html_table(facts: Mapping[str, str]) -> str:
    """Facts as a table for notebooks.

    Examples
    --------
    >>> html_table({"model": "<m>"})
    '<table><tr><th>model</th><td>&lt;m&gt;</td></tr></table>'
    """
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f"<table>{''.join(rows)}</table>"


def join_names(names: Sequence[str], word: str = "and") -> str:
    """Join names as people list them.

    Examples
    --------
    >>> join_names(["a", "b", "c"]), join_names(["a"], "or")
    ('a, b and c', 'a')
    """
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def finite(value: Any) -> Any:
    """A value of dicts, lists and numbers as JSON can hold it: null for what is no number.

    Examples
    --------
    >>> finite({"value": float("nan"), "ends": [0.5, float("inf")]})
    {'value': None, 'ends': [0.5, None]}
    """
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
