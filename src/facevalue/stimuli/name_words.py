"""Words of the names of files, and levels of a study's columns among them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from facevalue.stimuli.columns import Column

Words = tuple[str, ...]
Phrases = Mapping[str, str]
"""From the words of a spelling, written together, to its level."""
GROUPS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gender": (
        ("female", "woman", "women", "girl", "lady", "ladies", "f"),
        ("male", "man", "men", "boy", "guy", "m"),
        ("nonbinary", "non-binary", "enby"),
    ),
    "age": (
        ("child", "kid", "children"),
        ("teenager", "teen", "adolescent"),
        ("young", "young adult", "youth"),
        ("middle-aged", "middle age", "mid-aged"),
        ("old", "elderly", "senior", "older"),
        *((span,) for span in ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69")),
        ("more than 70", "70+"),
    ),
    "race": (
        ("asian",),
        ("east asian",),
        ("southeast asian",),
        ("black", "african american", "african-american", "african"),
        ("indian", "south asian"),
        ("latino", "hispanic", "latina", "latine", "latinx", "latino hispanic"),
        ("middle-eastern", "arab"),
        ("white", "caucasian", "european"),
        ("native american", "indigenous"),
    ),
}
"""Words for how people are perceived, by column; those of a group mean the same, and the first is the level of a study
that has none of them."""
_ALIKE = {"ethnicity": "race"}
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST = 8


class Match(NamedTuple):
    """A level among words: from which word to before which."""

    start: int
    stop: int
    level: str


def words_of(text: str) -> Words:
    """Words and numbers of a name, in small letters; "BlackWoman_01" has three.

    Examples
    --------
    >>> words_of("BlackWoman_01")
    ('black', 'woman', '01')
    """
    return tuple(word.casefold() for word in _WORD.findall(_CASES.sub(" ", unicodedata.normalize("NFC", text))))


def join_words(words: Sequence[str]) -> str:
    """Words written together, so that "sun glasses" is "sunglasses"; numbers stay apart, as "0-2" is not "02".

    Examples
    --------
    >>> join_words(("sun", "glasses")), join_words(("20", "29"))
    ('sunglasses', '20 29')
    """
    return "".join(
        f" {word}" if at and word.isdigit() and words[at - 1].isdigit() else word for at, word in enumerate(words)
    )


def phrases_of(column: Column) -> dict[str, str]:
    """Spellings of a column's levels by their words, written together, and plurals: "sun glasses" is "sunglasses".

    Examples
    --------
    >>> phrases_of(Column("gender", "", levels=lambda: {"Women": ()}))["female"]
    'Women'
    """
    spelled = {level: (level, *others) for level, others in column.levels().items()}
    groups = GROUPS.get(_ALIKE.get(column.name, column.name), ()) if column.role != "cue" else ()
    joined = {level: {join_words(words_of(text)) for text in texts} for level, texts in spelled.items()}
    for group in groups:
        same = [join_words(words_of(text)) for text in group]
        owners = [level for level, texts in joined.items() if texts & set(same)]
        if len(owners) < 2:
            owner = owners[0] if owners else group[0]
            spelled[owner] = (*spelled.get(owner, (owner,)), *group)
    out: dict[str, str] = {}
    for level, texts in spelled.items():
        out |= {join_words(words_of(text)): out.get(join_words(words_of(text)), level) for text in texts[1:]}
    out |= {join_words(words_of(level)): level for level in spelled}
    for phrase, level in list(out.items()):
        out.setdefault(f"{phrase[:-1]}ies" if phrase.endswith("y") else f"{phrase}s", level)
    out.pop("", None)
    return out


def matches(words: Sequence[str], phrases: Phrases) -> list[Match]:
    """Levels among words, those of the longest phrases first; no word belongs to two.

    Examples
    --------
    >>> matches(("red", "hair", "cap"), {"redhair": "red", "hair": "hair", "cap": "cap"})
    [Match(start=0, stop=2, level='red'), Match(start=2, stop=3, level='cap')]
    """
    taken: set[int] = set()
    out = []
    for start, stop in _spans(len(words)):
        level = phrases.get(join_words(words[start:stop]))
        if level is not None and taken.isdisjoint(range(start, stop)):
            taken.update(range(start, stop))
            out.append(Match(start, stop, level))
    return out


def _spans(count: int) -> Iterator[tuple[int, int]]:
    for size in range(min(count, _LONGEST), 0, -1):
        for start in range(count - size + 1):
            yield start, start + size
