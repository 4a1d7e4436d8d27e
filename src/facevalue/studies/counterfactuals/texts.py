"""Words of open texts: by group, by set, and those of word lists, counted as the texts pass by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from facevalue.measures.estimators import Codes, in_grains
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.settings import RELEASED
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


@dataclass(frozen=True)
class Lists:
    """Lists of the words that are counted, and stop words that are left out."""

    lexicon: Lexicon

    @property
    def names(self) -> tuple[str, ...]:
        """Of the lists."""
        return tuple(self.lexicon.lists)

    @cached_property
    def flags(self) -> dict[str, int]:
        """The lists of each word as bits; the bit behind them is that of stop words."""
        out = dict.fromkeys(stop_words(), 1 << len(self.names))
        for at, words in enumerate(self.lexicon.lists.values()):
            for word in words:
                out[word] = out.get(word, 0) | 1 << at
        return out


def stop_words() -> frozenset[str]:
    """Words that are left out before words are counted."""
    return frozenset(lexicon.shipped_lexicon("stop_words").lists["stop"])


def word_lists(path: str = "", variant: str = RELEASED) -> Lists:
    """The user's lists, as released or clean, or ours without a file."""
    if not path:
        return Lists(lexicon.shipped_lexicon("stereotype_content"))
    lists = lexicon.read(path)
    return Lists(lists if variant == RELEASED else _clean(lists))


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


class Texts:
    """Counts of one model's open texts.

    Memory grows with the vocabulary times groups, with pairs of image and prompt, and with the pairs of set and word
    that occur; not with the number of texts.
    """

    def __init__(self, blocks: Sequence[Part], lists: Lists) -> None:
        self._parts = [block for block in blocks if block.task == OPEN]
        self._lists = lists
        self.vocabulary = Vocabulary(Tokeniser.WORDS)
        self._flags = np.zeros(0, dtype=np.int64)
        kinds = len(lists.names)
        self._counts = [np.zeros((len(_COUNTS), len(block.groups), 0)) for block in self._parts]
        self._open = [_NO_WORDS for _ in self._parts]
        """Words of the images of the last set, of which more may be said."""
        self._sets = [_Sets(len(block.groups)) if len(block.groups) <= MOST_GROUPS else None for block in self._parts]
        self.shares = {id(block): np.zeros((kinds, block.cells)) for block in self._parts}
        """Of each list, sums over texts of its share of their words, by image and prompt."""
        self.distinct = {id(block): np.zeros((kinds, block.cells)) for block in self._parts}
        """Of each list, sums over texts of how many of its words they have, each once."""
        self.counted = {id(block): np.zeros(block.cells) for block in self._parts}
        """Texts with a word that is no stop word, by image and prompt."""
        self._lengths = {id(block): np.zeros(block.images) for block in self._parts}

    def add(self, trial: Codes, text: pl.Series) -> None:
        """Count texts; null is none."""
        column = tokenising.checked_texts(text.alias("text").to_frame(), "text")
        has_text = column.is_not_null().to_numpy()
        for at, block in enumerate(self._parts):
            rows = np.flatnonzero(has_text & (trial >= block.trials.start) & (trial < block.trials.stop))
            if rows.size:
                cell = (trial[rows] - block.start) // block.draws
                for words in self.vocabulary.count_words(column.gather(rows)):
                    self._count(at, block, cell, words)

    def _count(self, at: int, block: Part, cell: Codes, words_said: WordsSaid) -> None:
        self._know()
        texts = int(words_said.row.max(initial=-1)) + 1
        flags = self._flags[words_said.word]
        of_lists = flags > 0  # most words are on no list
        row, times, flags = words_said.row[of_lists], words_said.times[of_lists], flags[of_lists]
        stop = (flags >> len(self._lists.names)) & 1 > 0
        length = np.bincount(words_said.row, words_said.times, texts) - np.bincount(row[stop], times[stop], texts)
        some = length > 0
        low = int(cell[:texts].min(initial=0))
        span = slice(low, int(cell[:texts].max(initial=0)) + 1)
        place, size = cell[:texts] - low, span.stop - low
        self.counted[id(block)][span] += np.bincount(place[some], minlength=size)
        for number in range(len(self._lists.names)):
            hit = (flags >> number) & 1 > 0
            hits, distinct = np.bincount(row[hit], times[hit], texts), np.bincount(row[hit], minlength=texts)
            share = np.divide(hits, length, out=np.zeros(texts), where=some)
            self.shares[id(block)][number, span] += np.bincount(place, in_grains(np.minimum(share, 1.0)), size)
            self.distinct[id(block)][number, span] += np.bincount(place, distinct * some, size)
        image = cell[words_said.row] // len(block.prompts)
        self._lengths[id(block)] += np.bincount(image, words_said.times, block.images)
        counts = pl.DataFrame({"image": image, "word": words_said.word, "times": words_said.times.astype(np.int64)})
        pairs = pl.concat([self._open[at], counts]).group_by("image", "word").agg(pl.col("times").sum())
        cluster = block.cluster[pairs["image"].to_numpy()]
        goes_on = pl.Series(cluster == cluster.max(initial=-1))  # texts come in the order of sets
        self._open[at] = pairs.filter(goes_on)
        self._count_sets(at, block, pairs.filter(~goes_on))

    def _count_sets(self, at: int, block: Part, pairs: pl.DataFrame) -> None:
        """Count the words of images of whole sets."""
        size_known, words = self._counts[at].shape[2], len(self.vocabulary)
        if size_known < words:
            more = np.zeros((*self._counts[at].shape[:2], max(words, 2 * size_known) - size_known))
            self._counts[at] = np.concatenate([self._counts[at], more], axis=2)
        wide = self._counts[at].shape[2]
        image, word = (pairs[name].to_numpy() for name in ("image", "word"))
        group = block.group[image]
        many = pl.col("times")
        sums = pairs.select(many, key=pl.Series(group * wide + word), set=pl.Series(block.cluster[image] * wide + word))
        summed = (
            sums.with_columns(other=many.sum().over("set") - many)
            .group_by("key")
            .agg(tokens=many.sum(), squares=(many**2).sum(), crossed=(many * pl.col("other")).sum(), images=pl.len())
        )
        flat = self._counts[at].reshape(len(_COUNTS), -1)
        flat[:, summed["key"].to_numpy()] += summed.select(_COUNTS).to_numpy().T
        sets = self._sets[at]
        if sets is not None:
            sets.add(block.cluster[image], word, group)

    def _all_counted(self, block: Part) -> int:
        """Place of a block whose words are all counted, those of the last set, too."""
        at = self._parts.index(block)
        self._count_sets(at, block, self._open[at])
        self._open[at] = _NO_WORDS
        return at

    def _know(self) -> None:
        """Look up the words that are new on the lists."""
        size, words = self._flags.size, self.vocabulary.words
        if len(words) > size:
            new = np.array([self._lists.flags.get(word, 0) for word in words[size:]], dtype=np.int64)
            self._flags = np.concatenate([self._flags, new])

    def tokens(self, block: Part) -> Array:
        """Number of occurrences of each word in the texts about each group of a block, shape (groups, words)."""
        return self._counts_of_block(block)[0]

    def occurrences(self, block: Part, words: Codes) -> Occurrences:
        """Occurrences of some words in the texts about the images of a block."""
        return Occurrences(*self._counts_of_block(block)[:, :, words])

    def _counts_of_block(self, block: Part) -> Array:
        counts = self._counts[self._all_counted(block)][:, :, : len(self.vocabulary)]
        later = len(self.vocabulary) - counts.shape[2]  # words that only texts of other blocks have, which came later
        return np.pad(counts, ((0, 0), (0, 0), (0, later)))

    def images_with_text(self, block: Part) -> Array:
        """Images of each group with a text."""
        has = self.counted[id(block)].reshape(block.images, -1).sum(axis=1) > 0
        return np.bincount(block.group, has, len(block.groups)).astype(np.float64)

    def presence(self, block: Part, words: Codes) -> Presence | None:
        """In how many images' texts some words stand; of whole sets alone, if there are any. None for many groups."""
        sets = self._sets[self._all_counted(block)]
        if sets is None:
            return None
        texts = self.counted[id(block)].reshape(block.images, -1).sum(axis=1)
        in_sets = len(block.sets) > 0
        images = block.sets[(texts[block.sets] > 0).all(axis=1)].ravel() if in_sets else np.flatnonzero(texts > 0)
        lengths = np.zeros((block.clusters, len(block.groups)))
        lengths[block.cluster[images], block.group[images]] = self._lengths[id(block)][images]
        place = np.full(len(self.vocabulary), -1, dtype=np.int64)
        place[words] = np.arange(words.size)
        has_text = lengths.sum(axis=1) > 0
        codes, units, masks = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        for key, mask in sets.pairs():
            at = place[key & _WORD]
            is_present = (at >= 0) & has_text[key >> 32]
            codes.append(at[is_present])
            units.append(key[is_present] >> 32)
            masks.append(mask[is_present])
        return Presence(
            np.concatenate(codes), np.concatenate(units), np.concatenate(masks), words.size, lengths, in_sets
        )


class _Sets:
    """Groups whose texts have a word, by set: a bit for each group.

    Texts come in the order of sets, so that what is known of a set is put together when the next one begins.
    """

    def __init__(self, groups: int) -> None:
        self._kind = np.uint32 if groups <= 32 else np.uint64
        self._closed: list[_Pairs] = []
        self._open = self._none

    @property
    def _none(self) -> _Pairs:
        return np.empty(0, np.int64), np.empty(0, self._kind)

    def add(self, cluster: Codes, word: Codes, group: Codes) -> None:
        """Note words of texts."""
        mask: Masks = (np.uint64(1) << group.astype(np.uint64)).astype(self._kind)
        key, mask = _merge_masks(*_concatenate(self._open, (cluster << 32 | word, mask)))
        last = int(np.searchsorted(key, key[-1] >> 32 << 32)) if key.size else 0
        self._closed.append((key[:last].copy(), mask[:last].copy()))
        self._open = key[last:].copy(), mask[last:].copy()

    def pairs(self) -> list[_Pairs]:
        """Each pair of set and word once, with its groups, in pieces."""
        chunks = [chunk for chunk in (*self._closed, self._open) if chunk[0].size]
        if any(second[0][0] <= first[0][-1] for first, second in pairwise(chunks)):  # sets came more than once
            keys, masks = zip(*chunks, strict=True)
            self._closed, self._open = [_merge_masks(np.concatenate(keys), np.concatenate(masks))], self._none
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
