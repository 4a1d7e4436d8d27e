"""Counts of words by unit, collected piece by piece."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from facevalue.annotations import tokens as tokenising
from facevalue.annotations.tokens import Tokeniser
from facevalue.errors import DataError

Codes = npt.NDArray[np.int64]
_COMPACT = 2_000_000  # pairs of unit and word that come in before equal ones are added up
_WORD = 2**32 - 1  # lower half of a key


@dataclass(frozen=True)
class WordCounts:
    """Words by unit."""

    words: pl.Series  # the vocabulary, in order of first appearance
    # Sparse, shape (units, words): how often a word stands in a unit's texts, and in how many of them
    tokens: sparse.csr_array
    documents: sparse.csr_array
    # Tokens and texts of each unit, shape (units,). Missing texts are not counted.
    sizes: Codes
    texts: Codes

    def merged(self, code: Codes, units: int) -> "WordCounts":
        """Counts of larger units: the number of that to which each of these units belongs, and how many there are."""
        ones = np.ones(code.size, dtype=np.int64)
        joins = sparse.csr_array((ones, (code, np.arange(code.size))), shape=(units, code.size))
        tokens, documents = (sparse.csr_array(joins @ counts) for counts in (self.tokens, self.documents))
        sizes, texts = (
            np.bincount(code, weights=counts, minlength=units).astype(np.int64) for counts in (self.sizes, self.texts)
        )
        return WordCounts(self.words, tokens, documents, sizes, texts)


class Vocabulary:
    """Numbers words in the order in which they first occur, over any number of columns of texts.

    Examples
    --------
    >>> words = Vocabulary(Tokeniser.WORDS)
    >>> found = next(words.of(pl.Series(["a hat, a tie", "hat"])))
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

    def of(self, column: pl.Series) -> Iterator["WordsSaid"]:
        """Words of some texts, piece by piece; each word of a text once, with how often it stands there."""
        for start, piece in tokenising.pieces(column):
            long = tokenising.tokens(piece, self._tokeniser)
            codes = self._coded(long["token"])
            # One integer for (text, word): grouping numbers is much faster than grouping strings.
            within = pl.DataFrame({"key": long["row"].cast(pl.UInt64) * 2**32 + codes}).group_by("key").len("tokens")
            key = within["key"].to_numpy().astype(np.int64)
            yield WordsSaid((key >> 32) + start, key & _WORD, within["tokens"].to_numpy().astype(np.int32))

    def _coded(self, token: pl.Series) -> pl.Series:
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
        column = tokenising.texts(frame, text)
        counted = (unit >= 0) & column.is_not_null().to_numpy()
        self._texts += np.bincount(unit[counted], minlength=len(self._texts))
        column = pl.select(pl.when(pl.Series(counted)).then(column)).to_series()
        for tokens in self._vocabulary.of(column):
            pair = (unit[tokens.row] << 32) | tokens.word
            self._keep(_Pairs(pair, tokens.times, np.ones_like(tokens.times)).summed())

    def counts(self) -> WordCounts:
        """Counts so far."""
        pairs = self._compacted()
        units = len(self._texts)
        unit, word = pairs.key >> 32, (pairs.key & _WORD).astype(np.int32)
        sizes = np.bincount(unit, weights=pairs.tokens, minlength=units).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=units))]).astype(np.int32)
        tokens, documents = (
            sparse.csr_array((values, word, ends), shape=(units, len(self._vocabulary)))
            for values in (pairs.tokens, pairs.documents)
        )
        return WordCounts(self._vocabulary.words, tokens, documents, sizes, self._texts.copy())

    def _keep(self, pairs: "_Pairs") -> None:
        self._pairs.append(pairs)
        self._since += len(pairs.key)
        if self._since > _COMPACT:
            self._compacted()

    def _compacted(self) -> "_Pairs":
        none = _Pairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        together = _Pairs(*(np.concatenate(columns) for columns in zip(none, *self._pairs, strict=True)))
        self._pairs = [together.summed()]
        self._since = 0
        return self._pairs[0]


class _Pairs(NamedTuple):
    """Counts by unit and word; the key holds the unit in its upper half, so that it sorts as a sparse matrix does."""

    key: Codes
    tokens: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]

    def summed(self) -> "_Pairs":
        """Each key once, in order."""
        if not len(self.key):
            return self
        order = np.argsort(self.key, kind="stable")
        key = self.key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        tokens, documents = (np.add.reduceat(v[order], first, dtype=np.int32) for v in (self.tokens, self.documents))
        return _Pairs(key[first], tokens, documents)
