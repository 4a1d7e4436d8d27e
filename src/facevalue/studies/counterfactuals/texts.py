"""Words of open texts: by group, by set, and those of word lists, counted as the texts pass by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import counts as tokenising
from facevalue.annotations import lexicon
from facevalue.annotations.counts import Tokeniser, Vocabulary, WordsSaid
from facevalue.annotations.lexicon import POLES, Lexicon
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import Codes, in_grains, number_levels
from facevalue.statistics.answer_arrays import Axes
from facevalue.statistics.breakdown import Breakdown
from facevalue.studies.counterfactuals.settings import RELEASED
from facevalue.studies.counterfactuals.statistics import Subset, subsets_of
from facevalue.studies.counterfactuals.word_association import Occurrences, Presence

MOST_GROUPS = 64
"""Groups of a subset up to which it is kept whose texts have a word: a bit for each."""
ODD = frozenset(("nicotine", "virus", "dog"))
"""In published lists of competence, found automatically from seed words, and nothing of the kind."""
SHORTEST = 3
"""Letters of a word that says something by itself."""
_COUNTS = ("tokens", "squares", "crossed", "images")
"""Of words, as in `Occurrences`."""
_WORD = 2**32 - 1
_NO_WORDS = pl.DataFrame(schema={"image": pl.Int64, "word": pl.Int64, "times": pl.Int64})
Masks = npt.NDArray[np.unsignedinteger[Any]]
_Pairs = tuple[Codes, Masks]


def stop_words() -> frozenset[str]:
    """Words that are left out before words are counted."""
    return frozenset(lexicon.shipped_lexicon("stop_words").lists["stop"])


@lru_cache(maxsize=8)
def word_lists(path: str = "", variant: str = RELEASED) -> Lexicon:
    """The user's lists, as released or clean, or ours without a file."""
    if not path:
        return lexicon.shipped_lexicon("stereotype_content")
    lists = lexicon.read(path)
    return lists if variant == RELEASED else _clean(lists)


def _clean(listed: Lexicon) -> Lexicon:
    """Lists without stop words, short words, words of both poles of a dimension, and those that are odd."""
    opposite = {**POLES, **{pole: dimension for dimension, pole in POLES.items()}}
    without = stop_words() | ODD
    lists = {
        name: tuple(w for w in words if w not in without and len(w) >= SHORTEST
                    and w not in listed.lists.get(opposite.get(name, ""), ()))
        for name, words in listed.lists.items()
    }  # fmt: skip
    return replace(listed, lists=lists)


@dataclass(frozen=True)
class TextWords:
    """Words that statistics need of texts.

    Attributes
    ----------
    path, variant:
        The user's lists, as `word_lists` reads them.
    """

    path: str = ""
    variant: str = RELEASED

    @property
    def names(self) -> tuple[str, ...]:
        """Lists whose words are counted."""
        return tuple(word_lists(self.path, self.variant).lists)

    @property
    def flags(self) -> dict[str, int]:
        """The lists of each word as bits; the bit behind them is that of stop words."""
        out = dict.fromkeys(stop_words(), 1 << len(self.names))
        for at, words in enumerate(word_lists(self.path, self.variant).lists.values()):
            for word in words:
                out[word] = out.get(word, 0) | 1 << at
        return out

    def start(self, breakdown: Breakdown, axes: Axes) -> "Texts":
        """Counts of no text."""
        return Texts(subsets_of(breakdown), axes, self)


class Texts:
    """Counts of one model's open texts, by subset."""

    def __init__(self, subsets: Sequence[Subset], axes: Axes, words: TextWords) -> None:
        self.names, self.vocabulary = words.names, Vocabulary(Tokeniser.WORDS)
        self._axes, self._flags_of_words, self._flags = axes, words.flags, np.zeros(0, dtype=np.int64)
        self.subsets = [SubsetTexts(subset, axes.size, self) for subset in subsets]
        size = len(axes.images)
        self._subset, self._place = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
        for number, subset in enumerate(subsets):
            self._subset[subset.rows], self._place[subset.rows] = number, np.arange(subset.rows.size)

    def add(self, rows: pl.DataFrame) -> None:
        """Count the texts of answers; null is none."""
        column = tokenising.checked_texts(rows.select("text"), "text")
        image = number_levels(rows["image"], self._axes.images)
        subset = np.where(column.is_not_null().to_numpy() & (image >= 0), self._subset[image], -1)
        cell = self._place[image] * self._axes.size + self._axes.items(rows)
        for number, texts in enumerate(self.subsets):
            at = np.flatnonzero(subset == number)
            if at.size:
                texts.add(column.gather(at), cell[at])

    def flags(self, words: Codes) -> Codes:
        """Lists of some words as bits; those that are new are looked up."""
        size, vocabulary = self._flags.size, self.vocabulary.words
        if len(vocabulary) > size:
            new = np.array([self._flags_of_words.get(word, 0) for word in vocabulary[size:]], dtype=np.int64)
            self._flags = np.concatenate([self._flags, new])
        return self._flags[words]


class SubsetTexts:
    """Counts of the texts about the pictures of a subset.

    Memory grows with the vocabulary times groups, with pairs of image and prompt, and with the pairs of set and word
    that occur; not with the number of texts.
    """

    def __init__(self, subset: Subset, prompts: int, texts: Texts) -> None:
        self.subset, self.prompts, self._texts = subset, prompts, texts
        groups, kinds, cells = len(subset.groups), len(texts.names), subset.rows.size * prompts
        self._counts = np.zeros((len(_COUNTS), groups, 0))
        self._open = _NO_WORDS
        """Words of the images of the last set, of which more may be said."""
        self._kind: type[np.unsignedinteger[Any]] = np.uint32 if groups <= 32 else np.uint64
        # Groups whose texts have a word, by set: a bit for each. Texts come in the order of sets, so that what is known
        # of a set is put together when the next one begins
        self._closed: list[_Pairs] = []
        self._last: _Pairs = np.empty(0, np.int64), np.empty(0, self._kind)
        self.shares = np.zeros((kinds, cells))
        """Of each list, sums over texts of its share of their words, by image and prompt."""
        self.distinct = np.zeros((kinds, cells))
        """Of each list, sums over texts of how many of its words they have, each once."""
        self.counted = np.zeros(cells)
        """Texts with a word that is no stop word, by image and prompt."""
        self._lengths = np.zeros(subset.rows.size)

    @property
    def words(self) -> pl.Series:
        """Words of all texts, of other subsets, too."""
        return self._texts.vocabulary.words

    def about_prompt(self, cells: Array, prompt: int) -> Array:
        """Of numbers by image and prompt, those of one prompt."""
        return cells.reshape(-1, self.prompts)[:, prompt]

    @property
    def texts_of_images(self) -> Array:
        """Texts about each image."""
        return self.counted.reshape(-1, self.prompts).sum(axis=1)

    def add(self, column: pl.Series, cell: Codes) -> None:
        """Count texts about these pairs of image and prompt."""
        for words in self._texts.vocabulary.count_words(column):
            self._count(cell, words)

    def _count(self, cell: Codes, words_said: WordsSaid) -> None:
        texts = int(words_said.row.max(initial=-1)) + 1
        flags = self._texts.flags(words_said.word)
        of_lists = flags > 0  # most words are on no list
        row, times, flags = words_said.row[of_lists], words_said.times[of_lists], flags[of_lists]
        names = self._texts.names
        stop = (flags >> len(names)) & 1 > 0
        length = np.bincount(words_said.row, words_said.times, texts) - np.bincount(row[stop], times[stop], texts)
        some = length > 0
        low = int(cell[:texts].min(initial=0))
        span = slice(low, int(cell[:texts].max(initial=0)) + 1)
        place, size = cell[:texts] - low, span.stop - low
        self.counted[span] += np.bincount(place[some], minlength=size)
        for number in range(len(names)):
            hit = (flags >> number) & 1 > 0
            hits, distinct = np.bincount(row[hit], times[hit], texts), np.bincount(row[hit], minlength=texts)
            share = np.divide(hits, length, out=np.zeros(texts), where=some)
            self.shares[number, span] += np.bincount(place, in_grains(np.minimum(share, 1.0)), size)
            self.distinct[number, span] += np.bincount(place, distinct * some, size)
        image = cell[words_said.row] // self.prompts
        self._lengths += np.bincount(image, words_said.times, self._lengths.size)
        counts = pl.DataFrame({"image": image, "word": words_said.word, "times": words_said.times.astype(np.int64)})
        pairs = pl.concat([self._open, counts]).group_by("image", "word").agg(pl.col("times").sum())
        unit = self.subset.unit[pairs["image"].to_numpy()]
        goes_on = pl.Series(unit == unit.max(initial=-1))  # texts come in the order of sets
        self._open = pairs.filter(goes_on)
        self._count_sets(pairs.filter(~goes_on))

    def _count_sets(self, pairs: pl.DataFrame) -> None:
        """Count the words of images of whole sets."""
        size_known, words = self._counts.shape[2], len(self._texts.vocabulary)
        if size_known < words:
            more = np.zeros((*self._counts.shape[:2], max(words, 2 * size_known) - size_known))
            self._counts = np.concatenate([self._counts, more], axis=2)
        wide = self._counts.shape[2]
        image, word = (pairs[name].to_numpy() for name in ("image", "word"))
        group, unit = self.subset.group[image], self.subset.unit[image]
        many = pl.col("times")
        sums = pairs.select(many, key=pl.Series(group * wide + word), set=pl.Series(unit * wide + word))
        summed = (
            sums.with_columns(other=many.sum().over("set") - many)
            .group_by("key")
            .agg(tokens=many.sum(), squares=(many**2).sum(), crossed=(many * pl.col("other")).sum(), images=pl.len())
        )
        flat = self._counts.reshape(len(_COUNTS), -1)
        flat[:, summed["key"].to_numpy()] += summed.select(_COUNTS).to_numpy().T
        if len(self.subset.groups) <= MOST_GROUPS:
            mask: Masks = (np.uint64(1) << group.astype(np.uint64)).astype(self._kind)
            key, mask = _merge_masks(*_concatenate(self._last, (unit << 32 | word, mask)))
            last = int(np.searchsorted(key, key[-1] >> 32 << 32)) if key.size else 0
            self._closed.append((key[:last].copy(), mask[:last].copy()))
            self._last = key[last:].copy(), mask[last:].copy()

    def _close(self) -> None:
        """Count the words of the last set, too."""
        self._count_sets(self._open)
        self._open = _NO_WORDS

    @property
    def tokens(self) -> Array:
        """Number of occurrences of each word in the texts about each group, shape (groups, words)."""
        return self._all_counts[0]

    def occurrences(self, words: Codes) -> Occurrences:
        """Occurrences of some words in the texts about the images."""
        return Occurrences(*self._all_counts[:, :, words])

    @property
    def _all_counts(self) -> Array:
        self._close()
        counts, size = self._counts, len(self._texts.vocabulary)
        later = max(size - counts.shape[2], 0)  # words that only texts of other subsets have, which came later
        return np.pad(counts[:, :, :size], ((0, 0), (0, 0), (0, later)))

    @property
    def images_with_text(self) -> Array:
        """Images of each group with a text."""
        return np.bincount(self.subset.group, self.texts_of_images > 0, len(self.subset.groups)).astype(np.float64)

    def presence(self, words: Codes) -> Presence | None:
        """In how many images' texts some words stand; of whole sets alone, if there are any. None for many groups."""
        if len(self.subset.groups) > MOST_GROUPS:
            return None
        self._close()
        subset, texts = self.subset, self.texts_of_images
        in_sets = len(subset.sets) > 0
        images = subset.sets[(texts[subset.sets] > 0).all(axis=1)].ravel() if in_sets else np.flatnonzero(texts > 0)
        lengths = np.zeros((len(subset.names), len(subset.groups)))
        lengths[subset.unit[images], subset.group[images]] = self._lengths[images]
        place = np.full(len(self._texts.vocabulary), -1, dtype=np.int64)
        place[words] = np.arange(words.size)
        has_text = lengths.sum(axis=1) > 0
        codes, units, masks = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        for key, mask in self._set_pairs():
            at = place[key & _WORD]
            is_present = (at >= 0) & has_text[key >> 32]
            codes.append(at[is_present])
            units.append(key[is_present] >> 32)
            masks.append(mask[is_present])
        return Presence(
            np.concatenate(codes), np.concatenate(units), np.concatenate(masks), words.size, lengths, in_sets
        )

    def _set_pairs(self) -> list[_Pairs]:
        """Each pair of set and word once, with its groups, in pieces."""
        chunks = [chunk for chunk in (*self._closed, self._last) if chunk[0].size]
        if any(second[0][0] <= first[0][-1] for first, second in pairwise(chunks)):  # sets came more than once
            keys, masks = zip(*chunks, strict=True)
            self._closed = [_merge_masks(np.concatenate(keys), np.concatenate(masks))]
            self._last = self._last[0][:0], self._last[1][:0]
            return self._closed
        return chunks


def _concatenate(first: _Pairs, second: _Pairs) -> _Pairs:
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _merge_masks(key: Codes, mask: Masks) -> _Pairs:
    if not key.size:
        return key, mask
    order = np.argsort(key, kind="stable")
    key, mask = key[order], mask[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.bitwise_or.reduceat(mask, first)
