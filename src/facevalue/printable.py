"""Printable text: strings of others made safe for terminals, keys taken out, commands as a shell takes them."""

import base64
import math
import re
import reprlib
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
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


_CODED = 6
"""Fewer characters than these of base64 or hexadecimal could be anything."""
_LONGEST = 12
"""Characters as which one character of a key may be written."""
_READ, _SHORTEST = 2**14, 4
_HEAD = 64
"""A longer key, such as a token of a session, is known by so many characters."""
_SECRET = re.compile(
    r"api[_-]?key|secret|passw|authori[sz]ation|credential|cookie|(^|[_-])(token|key)$|bearer", re.IGNORECASE
)


def names_secret(name: str) -> bool:
    """Return whether a setting of this name holds a secret, which no file may hold and no page show.

    Examples
    --------
    >>> [names_secret(name) for name in ("api_key", "X-Api-Key", "hf_token", "max_tokens", "top_k")]
    [True, True, True, False, False]
    """
    return _SECRET.search(name) is not None


def without_secrets(value: Any) -> Any:
    """Return a value of JSON without what has the name of a secret, and without names and passwords in addresses.

    Examples
    --------
    >>> without_secrets({"headers": {"Authorization": "x", "team": "a"}, "url": "https://ann:pass@host/v1"})
    {'headers': {'team': 'a'}, 'url': 'https://host/v1'}
    """
    if isinstance(value, dict):
        return {name: without_secrets(inner) for name, inner in value.items() if not names_secret(str(name))}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return without_password(value) if isinstance(value, str) else value


def without_password(text: str) -> str:
    """Return a text without the name and password that addresses in it hold."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)


@lru_cache(16)
def _ways(key: str) -> re.Pattern[str]:
    """A pattern of a key: as it is, with any characters escaped as in JSON, URLs or HTML, in base64 or hexadecimal."""
    letters = []
    for c in key[:_HEAD]:
        code = ord(c)
        escapes = rf"\\{{1,4}}(?:u00|x){code:02x}|%(?:25){{0,3}}{code:02x}|&#0{{0,4}}{code};|&#x0{{0,4}}{code:x};"
        letters.append(rf"(?:\\{{0,4}}{re.escape(c)}|{escapes})")
    coded = {key.encode().hex()}
    for before in range(3):  # what stands before it shifts the letters of base64
        encoded = base64.b64encode(bytes(before) + key.encode()).decode().rstrip("=")
        inner = encoded[-(-before * 8 // 6) : len(encoded) - ((before + len(key)) % 3 != 0)]
        coded |= {inner, inner.replace("+", "-").replace("/", "_")}
    long = sorted(form for form in coded if len(form) >= _CODED)
    rest = r"[^\s\"'<>]*" if len(key) > _HEAD else ""
    return re.compile("|".join(["".join(letters) + rest, *map(re.escape, long)]), re.IGNORECASE)


def without_key(text: str, key: str) -> str:
    r"""Return the first 16,384 characters of a text without a key, however that is written.

    The cut leaves no part of a key behind. What has fewer than four characters is no secret.

    Examples
    --------
    >>> without_key(r"sk-a/b, sk-a%2fb, sk-a\/b, Bearer c2stYS9i", "sk-a/b")
    '[key], [key], [key], Bearer [key]'
    """
    cut = text[:_READ]
    if len(key) < _SHORTEST:
        return cut
    clean = _ways(key).sub("[key]", cut)
    return clean if cut == text else clean[: -_LONGEST * len(key)]


def shell_command(*arguments: object) -> str:
    """A command of FaceValue with its arguments, quoted where a shell would take them apart.

    Examples
    --------
    >>> shell_command("report", "runs/my run", "--out", "page.html")
    "facevalue report 'runs/my run' --out page.html"
    """
    return shlex.join(["facevalue", *map(str, arguments)])


def drawing_command(file: Path) -> str:
    """The command that draws the pictures that the file of a study says are to be made.

    Examples
    --------
    >>> drawing_command(Path("mine.toml"))
    'facevalue make mine.toml --generator drawn --editor drawn --out pictures'
    """
    return shell_command("make", file, "--generator", "drawn", "--editor", "drawn", "--out", "pictures")
