"""How often each word stands in each unit, counted piece by piece."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from facevalue.annotate import tokens as tokenising
from facevalue.annotate.tokens import Tokeniser
from facevalue.errors import DataError

Codes = npt.NDArray[np.int64]
_COMPACT = 4_000_000  # (unit, word) pairs kept before equal ones are added up


@dataclass(frozen=True)
class WordCounts:
    """Words by unit.

    Attributes
    ----------
    words:
        The vocabulary, in order of first appearance.
    tokens, documents:
        Sparse, shape (units, words): how often a word stands in a unit's texts, and in how many of them.
    sizes, texts:
        Tokens and texts of each unit, shape (units,). Missing texts are not counted.
    """

    words: pl.Series
    tokens: sparse.csr_array
    documents: sparse.csr_array
    sizes: Codes
    texts: Codes


class WordCounter:
    """Counts words by unit over any number of frames.

    A unit is what is kept apart: a text, an image with all its texts, a group. Memory grows with the vocabulary and
    the pairs of unit and word that occur, not with the number of texts.

    Parameters
    ----------
    units:
        How many there are.
    tokeniser:
        How texts are cut into words.

    Examples
    --------
    >>> counter = WordCounter(2, Tokeniser.WORDS)
    >>> counter.add(pl.DataFrame({"said": ["a hat, a tie", "a hat"]}), "said", np.array([0, 1]))
    >>> counted = counter.counts()
    >>> counted.words.to_list(), counted.tokens.toarray().tolist(), counted.documents.toarray().tolist()
    (['a', 'hat', 'tie'], [[2, 1, 1], [1, 1, 0]], [[1, 1, 1], [1, 1, 0]])
    """

    def __init__(self, units: int, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._codes: dict[str, int] = {}
        self._pairs: list[pl.DataFrame] = []
        self._kept = 0
        self._texts = np.zeros(units, dtype=np.int64)

    def add(self, frame: pl.DataFrame, text: str, unit: Codes) -> None:
        """Count the texts of a frame.

        Parameters
        ----------
        frame, text:
            The texts.
        unit:
            Unit of each row; negative for texts to leave out.

        Raises
        ------
        DataError
            A unit beyond those declared, or not one for each row.
        """
        if len(unit) != frame.height or (len(unit) and unit.max() >= len(self._texts)):
            raise DataError(f"Each of the {frame.height} texts needs one of {len(self._texts)} units.")
        column = tokenising.texts(frame, text)
        counted = (unit >= 0) & column.is_not_null().to_numpy()
        self._texts += np.bincount(unit[counted], minlength=len(self._texts))
        column = pl.select(pl.when(pl.Series(counted)).then(column)).to_series()
        for start, piece in tokenising.pieces(column):
            long = tokenising.tokens(piece, self._tokeniser)
            codes = self._coded(long["token"])
            # One integer for (text, word): grouping numbers is much faster than grouping strings.
            within = pl.DataFrame({"key": long["row"].cast(pl.UInt64) * 2**32 + codes}).group_by("key").len("tokens")
            self._keep(
                within.select(
                    unit=pl.Series(unit[start : start + len(piece)].astype(np.uint32)).gather(within["key"] // 2**32),
                    word=(pl.col("key") % 2**32).cast(pl.UInt32),
                    tokens="tokens",
                    documents=pl.lit(1, pl.UInt32),
                )
            )

    def counts(self) -> WordCounts:
        """What was counted so far."""
        self._compact()
        units, words = len(self._texts), len(self._codes)
        table = self._pairs[0] if self._pairs else pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.UInt32))
        at = (table["unit"].to_numpy().astype(np.int64), table["word"].to_numpy().astype(np.int64))
        tokens, documents = (
            sparse.csr_array((table[name].to_numpy().astype(np.int64), at), shape=(units, words))
            for name in ("tokens", "documents")
        )
        vocabulary = pl.Series("word", list(self._codes), dtype=pl.String)
        sizes = np.bincount(at[0], weights=table["tokens"].to_numpy(), minlength=units).astype(np.int64)
        return WordCounts(vocabulary, tokens, documents, sizes, self._texts.copy())

    def _coded(self, token: pl.Series) -> pl.Series:
        """Number of each token in the vocabulary, which grows by those not seen before."""
        distinct = token.unique(maintain_order=True)
        numbers = [self._codes.setdefault(word, len(self._codes)) for word in distinct]
        place = token.cast(pl.Enum(distinct)).to_physical()
        return pl.Series(numbers, dtype=pl.UInt64).gather(place)

    def _keep(self, pairs: pl.DataFrame) -> None:
        summed = _summed(pairs)
        self._pairs.append(summed)
        self._kept += summed.height
        if self._kept > _COMPACT:
            self._compact()

    def _compact(self) -> None:
        if len(self._pairs) > 1:
            self._pairs = [_summed(pl.concat(self._pairs))]
        self._kept = 0  # counts what came since; the sum itself is as large as it must be


_COLUMNS = ("unit", "word", "tokens", "documents")


def _summed(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.group_by("unit", "word").agg(pl.col("tokens").sum(), pl.col("documents").sum())
