"""Replies to prompts that ask for four texts at once, such as descriptions, each cut into its texts."""

import re
from functools import lru_cache

import polars as pl

AT_ONCE = 4
"""Texts that are asked for."""

_NUMBERS = {word: at for at, word in enumerate(("one", "two", "three", "four"), 1)} | {
    word: at for at, word in enumerate(("first", "second", "third", "fourth"), 1)
}
_NAMED = r"(?:long |detailed )?(?:description|version|option)"
_MARKER = re.compile(
    rf"^[ \t>#*_-]{{0,8}}(?:(?P<before>first|second|third|fourth) {_NAMED}\b"
    rf"|{_NAMED} (?:#|no\. ?)?(?P<behind>[1-9]|one|two|three|four)\b|(?P<digit>[1-9])(?=[.):]))"
    r"[ \t]*[.):-]*[ \t]*\**:?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_RULE = re.compile(r"[\s*_#-]*")


@lru_cache(maxsize=4096)
def parted(text: str) -> tuple[str, ...]:
    r"""The texts of a reply; empty where it cannot be told how many there are.

    Numbered texts (1, 2, ... in order) are cut at their numbers, others at empty lines if that makes four of them. A
    reply of one paragraph is one text.

    Examples
    --------
    >>> parted("Sure! Here are four:\n\n1. A man.\n2. A tall man.\n3. A cook.\n4. A cook at work.")
    ('A man.', 'A tall man.', 'A cook.', 'A cook at work.')
    >>> parted("A man.\n\nHe cooks."), parted("A man cooks.")
    ((), ('A man cooks.',))
    """
    markers: list[re.Match[str]] = []
    for marker in _MARKER.finditer(text):
        number = (marker["before"] or marker["behind"] or marker["digit"]).lower()
        if (int(number) if number.isdigit() else _NUMBERS[number]) == len(markers) + 1:
            markers.append(marker)
    if len(markers) > 1:
        ends = [*(marker.start() for marker in markers[1:]), len(text)]
        texts = [text[marker.end() : end].strip() for marker, end in zip(markers, ends, strict=True)]
        return tuple(piece for piece in texts if piece)
    texts = [paragraph.strip() for paragraph in _PARAGRAPHS.split(text.strip()) if not _RULE.fullmatch(paragraph)]
    if len(texts) == AT_ONCE + 1 and texts[0].endswith(":"):
        texts = texts[1:]
    return tuple(texts) if len(texts) in (1, AT_ONCE) else ()


def each(frame: pl.DataFrame, column: str = "description") -> pl.DataFrame:
    """Answers with a row for each text of a column, in place of one for each reply."""
    if column not in frame.columns or not frame[column].count():
        return frame
    texts = pl.Series(column, [parted(reply) if reply else (reply,) for reply in frame[column]])
    return frame.with_columns(texts.cast(pl.List(pl.String))).explode(column)
