"""Word lists of dimensions such as competence and warmth: ours, or a file of the user's, as released or cleaned.

Published dictionaries are rarely free to pass on, so they are read from where the user keeps them: a CSV of words with
their dimension and sign, or one word a line.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from facevalue.annotate import lexicon
from facevalue.annotate.lexicon import MAX_BYTES, Lexicon
from facevalue.annotate.list_variants import VARIANTS
from facevalue.errors import DataError, UnknownNameError
from facevalue.given import read_file

POLES = {"competence": "incompetence", "warmth": "coldness"}
"""Dimensions with the name of their negative pole."""
_FACETS = {"ability": "competence", "assertiveness": "competence", "agency": "competence",
           "sociability": "warmth", "morality": "warmth"}  # fmt: skip
_SIGNS = {"+": 1, "1": 1, "+1": 1, "1.0": 1, "positive": 1, "high": 1, "pos": 1,
          "-": -1, "-1": -1, "-1.0": -1, "negative": -1, "low": -1, "neg": -1, "0": 0, "": 0}  # fmt: skip
_ODD = frozenset(("nicotine", "virus", "dog"))
"""In published lists of competence, found automatically from seed words, and nothing of the kind."""
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class ListedDimensions:
    """Word lists, and what of a file is not among them.

    Attributes
    ----------
    phrases:
        Entries of several words: they are not counted.
    left_out:
        Words that the variant "clean" leaves out.
    """

    lexicon: Lexicon
    phrases: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def ours() -> ListedDimensions:
    """The lists that come with FaceValue.

    Examples
    --------
    >>> list(ours().lexicon.lists)
    ['competence', 'incompetence', 'warmth', 'coldness']
    """
    return ListedDimensions(lexicon.shipped("stereotype_content"))


def stop_words() -> frozenset[str]:
    """Words that are left out before words are counted."""
    return frozenset(lexicon.shipped("stop_words").lists["stop"])


def read(path: str | Path, variant: str = "released") -> ListedDimensions:
    """Read lists of the user's.

    Parameters
    ----------
    path:
        A CSV with the columns `word`, `dimension` and `sign` (competence, +1), or a file of one word a line, whose name
        is that of the list.
    variant:
        "released", as it is; or "clean": without stop words, words of two letters or fewer, words of both poles of a
        dimension, and some that found their way into published lists by accident.

    Raises
    ------
    DataError
        The file holds no word, lacks a column, or has a sign that is none.
    UnknownNameError
        No such variant.
    """
    path = Path(path)
    if variant not in VARIANTS:
        raise UnknownNameError("variant of word lists", variant, VARIANTS)
    data = read_file(path, MAX_BYTES, "word lists")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text in UTF-8.") from None
    head = [name.strip().lower() for name in next(csv.reader(io.StringIO(text)), [])]
    rows = _signed(text, path, head) if "word" in head else [(path.stem.lower(), line) for line in text.splitlines()]
    lists: dict[str, dict[str, None]] = {}
    phrases: dict[str, None] = {}
    for name, entry in rows:
        word = " ".join(entry.lower().split())
        if len(word.split()) == 1:
            lists.setdefault(name, {})[word] = None
        elif word:
            phrases[word] = None
    if not lists:
        raise DataError(f"{path}: holds no word.")
    left_out = _left_out(lists) if variant == "clean" else {}
    signed_lists = {name: tuple(w for w in words if w not in left_out.get(name, ())) for name, words in lists.items()}
    gone = tuple(sorted({word for words in left_out.values() for word in words}))
    return ListedDimensions(Lexicon(path.name, variant, "the user's", signed_lists), tuple(phrases), gone)


def _signed(text: str, path: Path, head: list[str]) -> list[tuple[str, str]]:
    """Name of the list and word of each row; words without a direction are of none."""
    for name in ("dimension", "sign"):
        if name not in head:
            raise DataError(f"{path}: the column {name!r} is missing; word lists have word, dimension and sign.")
    out = []
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if number == 1 or not any(cell.strip() for cell in row):
            continue
        cells = dict(zip(head, (cell.strip() for cell in row), strict=False))
        sign = _SIGNS.get(cells.get("sign", "").lower())
        if sign is None:
            raise DataError(f"{path}, line {number}: the sign {cells['sign']!r} should be +1 or -1.")
        dimension = cells.get("dimension", "").lower()
        dimension = _FACETS.get(dimension, dimension)
        if sign and dimension:
            out.append((dimension if sign > 0 else POLES.get(dimension, f"{dimension}, negative"), cells["word"]))
    return out


def _left_out(lists: dict[str, dict[str, None]]) -> dict[str, set[str]]:
    stop = stop_words()
    opposite = {**POLES, **{pole: dimension for dimension, pole in POLES.items()}}
    return {
        name: {
            word for word in words
            if word in stop or word in _ODD or len(word) < _SHORTEST or word in lists.get(opposite.get(name, ""), {})
        }
        for name, words in lists.items()
    }  # fmt: skip
