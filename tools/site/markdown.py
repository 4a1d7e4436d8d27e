"""Markdown of texts that were written for a terminal or a docstring."""

import re
from collections.abc import Iterable, Iterator, Sequence


def plain(text: str) -> str:
    r"""Text in which nothing is markup but code between backticks.

    Examples
    --------
    >>> plain("a_b < c* `d_e`")
    'a\\_b &lt; c\\* `d_e`'
    """
    parts = re.split(r"(`[^`\n]+`)", text)
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"([\\*_\[\]#`~$])", r"\\\1", parts[number]).replace("<", "&lt;")
    return "".join(parts)


def cell(text: str) -> str:
    """Text within a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    r"""Lines of a table, whose cells are Markdown already.

    Examples
    --------
    >>> list(table(("a", "b"), [("1", "x|y")]))
    ['| a | b |', '|---|---|', '| 1 | x\\|y |', '']
    """
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""
