"""Counts of words by unit, collected piece by piece.

How a text is cut into words changes what is counted, so each way has a name and a definition:

`marked`
    As the VisBias release cuts for marked words: trailing digits, colons and spaces off, lower case, split at white
    space, everything but a-z dropped within a token. "Woman's" is "womans"; a token without letters stays as an empty
    one and is counted.
`stereotype`
    As the release cuts for stereotype words: lower case, everything but word characters and white space dropped, split
    at white space. "dark-skinned" is "darkskinned", so that a hyphenated entry of a list never matches.
`words`
    Ours: Unicode NFKC, lower case, curly apostrophes straightened; a word is a run of letters, marks and digits, with
    hyphens and apostrophes inside it; a final 's is dropped. "Woman's" is "woman", "dark-skinned" stays whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError

# Tokenisers: texts to words, over whole columns.


LIMIT = 1_000_000
"""Characters of one text that are looked at; what comes after is left out. A description has some hundred."""
PIECE = 4_000_000
"""Bytes of text that are worked on together: bounds memory at some hundred MB, whatever the number of texts."""


class Tokeniser(StrEnum):
    """A named way to cut a text into words; the module says how each does."""

    MARKED = "marked"
    STEREOTYPE = "stereotype"
    WORDS = "words"


_WORD = r"[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*"
_APOSTROPHES = r"[\u2018\u2019\u02bc]"
_HYPHENS = r"[\u2010\u2011]"

# Marks that are tokens of their own, and what else a token may hold (Penn Treebank conventions).
_MARKS = r";@#$%&?!*()\[\]{}<>\"“”‘’«»„`"
_INNER = rf"[^\s{_MARKS}:,.']"
_TOKEN = rf"--|\.{{2,}}|[{_MARKS}:,]|{_INNER}(?:{_INNER}|[:,]\d|\.[\p{{L}}\p{{N}}])*|'\p{{L}}+|'|\."


def checked_texts(frame: pl.DataFrame, text: str) -> pl.Series:
    """The column of texts, checked: blank ones null, long ones cut at `LIMIT`.

    Examples
    --------
    >>> checked_texts(pl.DataFrame({"said": ["A man.", "  ", None]}), "said").to_list()
    ['A man.', None, None]
    """
    if text not in frame.columns:
        raise UnknownNameError("column", text, frame.columns)
    column = frame[text]
    if column.dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        raise DataError(f"Column {text!r} should hold texts, and holds {column.dtype}.")
    present = pl.col(text).str.contains(r"\S")
    return column.to_frame().select(pl.when(present).then(pl.col(text).str.head(LIMIT)).alias(text))[text]


def text_pieces(column: pl.Series) -> Iterator[tuple[int, pl.Series]]:
    """The column in pieces of at most `PIECE` bytes (or one text), each with the row it starts at."""
    ends = column.str.len_bytes().fill_null(0).cast(pl.UInt64).cum_sum()
    start, characters = 0, 0
    while start < len(column):
        upto = ends.search_sorted(characters + PIECE, side="right")
        stop = max(int(upto), start + 1)
        yield start, column[start:stop]
        characters, start = int(ends[stop - 1]), stop


def split_expression(name: str, tokeniser: Tokeniser) -> pl.Expr:
    """The expression that gives the list of tokens of a column of texts."""
    column = pl.col(name)
    if tokeniser is Tokeniser.MARKED:
        return column.str.strip_chars_end("0123456789: ").str.to_lowercase().str.extract_all(r"\S+")
    if tokeniser is Tokeniser.STEREOTYPE:
        return column.str.to_lowercase().str.replace_all(r"[^\w\s]", "").str.extract_all(r"\S+")
    straight = column.str.normalize("NFKC").str.to_lowercase().str.replace_all(_APOSTROPHES, "'")
    return straight.str.replace_all(_HYPHENS, "-").str.extract_all(_WORD)


def tokens(column: pl.Series, tokeniser: Tokeniser) -> pl.DataFrame:
    """All tokens of some texts, one row each.

    Examples
    --------
    >>> said = pl.Series(["The woman’s dark-skinned - 2:"])
    >>> for way in Tokeniser:
    ...     print(way, tokens(said, way)["token"].to_list())
    marked ['the', 'womans', 'darkskinned', '']
    stereotype ['the', 'womans', 'darkskinned', '2']
    words ['the', 'woman', 'dark-skinned', '2']
    """
    frame = column.alias("token").to_frame().with_row_index("row")
    long = (
        frame.select("row", split_expression("token", tokeniser)).explode("token").filter(pl.col("token").is_not_null())
    )
    if tokeniser is Tokeniser.MARKED:
        return long.with_columns(pl.col("token").str.replace_all("[^a-z]", ""))
    if tokeniser is Tokeniser.WORDS:
        return long.with_columns(pl.col("token").str.strip_suffix("'s"))
    return long


def token_lengths(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Length of each text in characters and in tokens (VisBias, Table 1).

    Notes
    -----
    Tokens follow the Penn Treebank conventions, as NLTK's `word_tokenize` does: punctuation marks and clitics ("'s")
    are tokens, words with hyphens or dashes are whole, points inside of numbers and abbreviations stay. A point at the
    end of a word is always a token here, whereas NLTK keeps it with what its sentence model takes for an abbreviation,
    and NLTK from 3.10 cuts at dashes. On the released descriptions of GPT-4o this gives 109.150 tokens on average
    where NLTK 3.9.1 gives 109.147.

    Examples
    --------
    >>> token_lengths(pl.DataFrame({"said": ["The man's hat isn't red.", ""]}), "said").rows()
    [(24, 8), (None, None)]
    """
    column = checked_texts(frame, text)
    return (
        column.alias("text")
        .to_frame()
        .select(characters=pl.col("text").str.len_chars(), tokens=pl.col("text").str.count_matches(_TOKEN))
    )


Codes = npt.NDArray[np.int64]
_COMPACT = 2_000_000  # pairs of unit and word that come in before equal ones are added up
_WORD_BITS = 2**32 - 1  # lower half of a key


@dataclass(frozen=True)
class WordCounts:
    """Words by unit."""

    words: pl.Series  # the vocabulary, in order of first appearance
    # Sparse, shape (units, words): how often a word stands in a unit's texts, and in how many of them
    tokens: "scipy.sparse.csr_array"
    documents: "scipy.sparse.csr_array"
    # Tokens and texts of each unit, shape (units,). Missing texts are not counted.
    sizes: Codes
    texts: Codes

    def merge_units(self, code: Codes, units: int) -> "WordCounts":
        """Counts of larger units: the number of that to which each of these units belongs, and how many there are."""
        ones = np.ones(code.size, dtype=np.int64)
        joins = scipy.sparse.csr_array((ones, (code, np.arange(code.size))), shape=(units, code.size))
        tokens, documents = (scipy.sparse.csr_array(joins @ counts) for counts in (self.tokens, self.documents))
        sizes, texts = (
            np.bincount(code, weights=counts, minlength=units).astype(np.int64) for counts in (self.sizes, self.texts)
        )
        return WordCounts(self.words, tokens, documents, sizes, texts)


class Vocabulary:
    """Numbers words in the order in which they first occur, over any number of columns of texts.

    Examples
    --------
    >>> words = Vocabulary(Tokeniser.WORDS)
    >>> found = next(words.count_words(pl.Series(["a hat, a tie", "hat"])))
    >>> words.words.to_list(), sorted(zip(found.row.tolist(), found.word.tolist(), found.times.tolist(), strict=True))
    (['a', 'hat', 'tie'], [(0, 0, 2), (0, 1, 1), (0, 2, 1), (1, 1, 1)])
    """

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._codes: dict[str, int] = {}

    def __len__(self) -> int:
        """Number of different words so far."""
        return len(self._codes)

    @property
    def words(self) -> pl.Series:
        """All of them, in the order of their numbers."""
        return pl.Series("word", list(self._codes), dtype=pl.String)

    def count_words(self, column: pl.Series) -> Iterator["WordsSaid"]:
        """Words of some texts, piece by piece; each word of a text once, with how often it stands there."""
        for start, piece in text_pieces(column):
            long = tokens(piece, self._tokeniser)
            codes = self._number_tokens(long["token"])
            # One integer for (text, word): grouping numbers is much faster than grouping strings.
            within = pl.DataFrame({"key": long["row"].cast(pl.UInt64) * 2**32 + codes}).group_by("key").len("tokens")
            key = within["key"].to_numpy().astype(np.int64)
            yield WordsSaid((key >> 32) + start, key & _WORD_BITS, within["tokens"].to_numpy().astype(np.int32))

    def _number_tokens(self, token: pl.Series) -> pl.Series:
        """Number of each token in the vocabulary, which grows by those not seen before."""
        distinct = token.unique(maintain_order=True)
        numbers = [self._codes.setdefault(word, len(self._codes)) for word in distinct]
        place = token.cast(pl.Enum(distinct)).to_physical()
        return pl.Series(numbers, dtype=pl.UInt64).gather(place)


class WordsSaid(NamedTuple):
    """Words of texts: row of the text, number of the word, and how often it stands there."""

    row: Codes
    word: Codes
    times: npt.NDArray[np.int32]


class WordCounter:
    """Counts words by unit over any number of frames.

    A unit is what is kept apart: a text, an image with all its texts, a group. Memory grows with the vocabulary and
    the pairs of unit and word that occur, not with the number of texts.

    Examples
    --------
    >>> counter = WordCounter(2, Tokeniser.WORDS)
    >>> counter.add(pl.DataFrame({"said": ["a hat, a tie", "a hat"]}), "said", np.array([0, 1]))
    >>> counted = counter.counts()
    >>> counted.words.to_list(), counted.tokens.toarray().tolist(), counted.documents.toarray().tolist()
    (['a', 'hat', 'tie'], [[2, 1, 1], [1, 1, 0]], [[1, 1, 1], [1, 1, 0]])
    """

    def __init__(self, units: int, tokeniser: Tokeniser) -> None:
        self._vocabulary = Vocabulary(tokeniser)
        self._pairs: list[_Pairs] = []
        self._since = 0
        self._texts = np.zeros(units, dtype=np.int64)

    def add(self, frame: pl.DataFrame, text: str, unit: Codes) -> None:
        """Count the texts of a frame."""
        if len(unit) != frame.height or (len(unit) and unit.max() >= len(self._texts)):
            raise DataError(f"Each of the {frame.height} texts needs one of {len(self._texts)} units.")
        column = checked_texts(frame, text)
        counted = (unit >= 0) & column.is_not_null().to_numpy()
        self._texts += np.bincount(unit[counted], minlength=len(self._texts))
        column = pl.select(pl.when(pl.Series(counted)).then(column)).to_series()
        for tokens in self._vocabulary.count_words(column):
            pair = (unit[tokens.row] << 32) | tokens.word
            self._keep(_Pairs(pair, tokens.times, np.ones_like(tokens.times)).sum_keys())

    def counts(self) -> WordCounts:
        """Counts so far."""
        pairs = self._compact()
        units = len(self._texts)
        unit, word = pairs.key >> 32, (pairs.key & _WORD_BITS).astype(np.int32)
        sizes = np.bincount(unit, weights=pairs.tokens, minlength=units).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=units))]).astype(np.int32)
        tokens, documents = (
            scipy.sparse.csr_array((values, word, ends), shape=(units, len(self._vocabulary)))
            for values in (pairs.tokens, pairs.documents)
        )
        return WordCounts(self._vocabulary.words, tokens, documents, sizes, self._texts.copy())

    def _keep(self, pairs: "_Pairs") -> None:
        self._pairs.append(pairs)
        self._since += len(pairs.key)
        if self._since > _COMPACT:
            self._compact()

    def _compact(self) -> "_Pairs":
        none = _Pairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        together = _Pairs(*(np.concatenate(columns) for columns in zip(none, *self._pairs, strict=True)))
        self._pairs = [together.sum_keys()]
        self._since = 0
        return self._pairs[0]


class _Pairs(NamedTuple):
    """Counts by unit and word; the key holds the unit in its upper half, so that it sorts as a sparse matrix does."""

    key: Codes
    tokens: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]

    def sum_keys(self) -> "_Pairs":
        """Each key once, in order."""
        if not len(self.key):
            return self
        order = np.argsort(self.key, kind="stable")
        key = self.key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        tokens, documents = (np.add.reduceat(v[order], first, dtype=np.int32) for v in (self.tokens, self.documents))
        return _Pairs(key[first], tokens, documents)
