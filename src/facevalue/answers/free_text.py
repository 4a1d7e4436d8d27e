"""Free text: whether a reply is a text at all, or declines to give one.

A long text is a text, whatever it says besides ("I can't say who she is, but ..."). A short one that declines is a
refusal.
"""

import re
from functools import lru_cache

import polars as pl

from facevalue.answers._phrases import REFUSAL, visible_text
from facevalue.answers.base import NA, NA_DTYPE, statuses
from facevalue.errors import UnknownNameError
from facevalue.thinking import remove_thinking
from facevalue.types import Status

# Replies to prompts that ask for four texts at once, such as descriptions, each cut into its texts.


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
def split_texts(text: str) -> tuple[str, ...]:
    r"""The texts of a reply; empty where it cannot be told how many there are.

    Numbered texts (1, 2, ... in order) are cut at their numbers, others at empty lines if that makes four of them. A
    reply of one paragraph is one text.

    Examples
    --------
    >>> split_texts("Sure! Here are four:\n\n1. A man.\n2. A tall man.\n3. A cook.\n4. A cook at work.")
    ('A man.', 'A tall man.', 'A cook.', 'A cook at work.')
    >>> split_texts("A man.\n\nHe cooks."), split_texts("A man cooks.")
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


def row_per_text(frame: pl.DataFrame, column: str = "description") -> pl.DataFrame:
    """Answers with a row for each text of a column, in place of one for each reply."""
    if column not in frame.columns or not frame[column].count():
        return frame
    texts = pl.Series(column, [split_texts(reply) if reply else (reply,) for reply in frame[column]])
    return frame.with_columns(texts.cast(pl.List(pl.String))).explode(column)


SHORT = 40
"""Words up to which a reply that declines is a refusal."""


def parse_column(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Tell texts from replies that are none; `declined` is what a refusal says.

    Examples
    --------
    >>> replies = pl.DataFrame({"said": ["A tall person.", " ", "I'm sorry, I can't describe people."]})
    >>> read = parse_column(replies, "said")
    >>> read.select("text", "na").rows()
    [('A tall person.', None), (None, 'empty'), (None, 'refused')]
    >>> read["declined"].to_list()
    [None, None, "I'm sorry, I can't describe people."]
    """
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)
    replies = frame.select(text=remove_thinking(pl.col(text).cast(pl.String)), status=statuses(frame))
    replies = replies.with_columns(
        pl.col("text").str.strip_chars(), words=pl.col("text").str.count_matches(r"\S+").fill_null(0)
    ).with_columns(short=(pl.col("words") <= SHORT) & pl.col("text").str.contains(r"[\p{L}\p{N}]"))
    short = replies.filter("short")["text"].unique()
    declined = [reply for reply in short if REFUSAL.search(visible_text(reply)[0])]
    reason = (
        pl.when(pl.col("status") == Status.REFUSED.value)
        .then(pl.lit(NA.REFUSED.value))
        .when((pl.col("status") == Status.ERROR.value) | pl.col("text").is_null())
        .then(pl.lit(NA.ERROR.value))
        .when(~pl.col("text").str.contains(r"[\p{L}\p{N}]"))
        .then(
            pl.when(pl.col("status") == Status.TRUNCATED.value)
            .then(pl.lit(NA.TRUNCATED.value))
            .otherwise(pl.lit(NA.EMPTY.value))
        )
        .when(pl.col("short") & pl.col("text").is_in(declined))
        .then(pl.lit(NA.REFUSED.value))
    )
    reasoned = replies.with_columns(na=reason.cast(NA_DTYPE))
    says = (pl.col("na") == NA.REFUSED.value) & pl.col("text").str.contains(r"[\p{L}\p{N}]")
    return reasoned.select(
        text=pl.when(pl.col("na").is_null()).then("text"), na="na", declined=pl.when(says).then("text")
    )
