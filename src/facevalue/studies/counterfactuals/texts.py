"""Words of open texts: by group, by set, and those of word lists, counted as the texts pass by."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotate import dimension_lists
from facevalue.annotate import tokens as tokenising
from facevalue.annotate.counts import Said, Vocabulary
from facevalue.annotate.dimension_lists import Listed
from facevalue.annotate.tokens import Tokeniser
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.word_association import Presence, dispersions, presence
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Codes, Part

MOST_GROUPS = 64
"""Groups of a subset up to which it is kept whose texts have a word: a bit for each."""
_COUNTS = ("tokens", "squares", "images")
"""Of words: occurrences, their squares summed over images, and images whose texts have them."""
_COMPACT = 2**22  # pairs of set and word that come in before equal ones are put together
_WORD = 2**32 - 1


@dataclass(frozen=True)
class Lists:
    """Which words are counted, and which are left out."""

    listed: Listed

    @property
    def names(self) -> tuple[str, ...]:
        """Of the lists."""
        return tuple(self.listed.lexicon.lists)

    @cached_property
    def flags(self) -> dict[str, int]:
        """The lists of each word as bits; the bit behind them is that of stop words."""
        out = dict.fromkeys(dimension_lists.stop_words(), 1 << len(self.names))
        for at, words in enumerate(self.listed.lexicon.lists.values()):
            for word in words:
                out[word] = out.get(word, 0) | 1 << at
        return out


def word_lists(path: str = "", variant: str = "released") -> Lists:
    """The user's lists, or ours without a file."""
    return Lists(dimension_lists.read(path, variant) if path else dimension_lists.ours())


class Texts:
    """Counts of one model's open texts.

    Memory grows with the vocabulary times groups, with pairs of image and prompt, and with the pairs of set and word
    that occur; not with the number of texts.
    """

    def __init__(self, parts: Sequence[Part], lists: Lists) -> None:
        self._parts = [part for part in parts if part.task == OPEN]
        self._lists = lists
        self.vocabulary = Vocabulary(Tokeniser.WORDS)
        self._flags = np.zeros(0, dtype=np.int64)
        kinds = len(lists.names)
        self._counts = [np.zeros((len(_COUNTS), len(part.groups), 0)) for part in self._parts]
        self._sets = [_Sets() if len(part.groups) <= MOST_GROUPS else None for part in self._parts]
        self.shares = {id(part): np.zeros((kinds, part.cells)) for part in self._parts}
        """Of each list, sums over texts of its share of their words, by image and prompt."""
        self.distinct = {id(part): np.zeros((kinds, part.cells)) for part in self._parts}
        """Of each list, sums over texts of how many of its words they have, each once."""
        self.counted = {id(part): np.zeros(part.cells) for part in self._parts}
        """Texts with a word that is no stop word, by image and prompt."""

    def add(self, trial: Codes, text: pl.Series) -> None:
        """Count texts; null is none."""
        column = tokenising.texts(text.alias("text").to_frame(), "text")
        there = column.is_not_null().to_numpy()
        for at, part in enumerate(self._parts):
            own = np.flatnonzero(there & (trial >= part.trials.start) & (trial < part.trials.stop))
            if own.size:
                cell = (trial[own] - part.start) // part.draws
                for said in self.vocabulary.of(column.gather(own)):
                    self._count(at, part, cell, said)

    def _count(self, at: int, part: Part, cell: Codes, said: Said) -> None:
        self._know()
        texts, words = int(said.row.max(initial=-1)) + 1, len(self.vocabulary)
        flags = self._flags[said.word]
        of_lists = flags > 0  # most words are on no list
        row, times, flags = said.row[of_lists], said.times[of_lists], flags[of_lists]
        stop = (flags >> len(self._lists.names)) & 1 > 0
        length = np.bincount(said.row, said.times, texts) - np.bincount(row[stop], times[stop], texts)
        some = length > 0
        low = int(cell[:texts].min(initial=0))
        span = slice(low, int(cell[:texts].max(initial=0)) + 1)
        where, size = cell[:texts] - low, span.stop - low
        self.counted[id(part)][span] += np.bincount(where[some], minlength=size)
        for number in range(len(self._lists.names)):
            hit = (flags >> number) & 1 > 0
            hits, each = np.bincount(row[hit], times[hit], texts), np.bincount(row[hit], minlength=texts)
            share = np.divide(hits, length, out=np.zeros(texts), where=some)
            self.shares[id(part)][number, span] += np.bincount(where, np.minimum(share, 1.0), size)
            self.distinct[id(part)][number, span] += np.bincount(where, each * some, size)
        image = cell[said.row] // len(part.prompts)
        known = self._counts[at].shape[2]
        if known < words:
            more = np.zeros((*self._counts[at].shape[:2], max(words, 2 * known) - known))
            self._counts[at] = np.concatenate([self._counts[at], more], axis=2)
        wide = self._counts[at].shape[2]
        own = pl.DataFrame({"key": image * wide + said.word, "times": said.times.astype(np.int64)})
        own = own.group_by("key").agg(pl.col("times").sum())
        group = part.group[own["key"].to_numpy() // wide]
        own = own.select("times", key=pl.Series(group) * wide + pl.col("key") % wide)
        summed = own.group_by("key").agg(
            tokens=pl.col("times").sum(), squares=(pl.col("times") ** 2).sum(), images=pl.len()
        )
        flat = self._counts[at].reshape(len(_COUNTS), -1)
        flat[:, summed["key"].to_numpy()] += summed.select(_COUNTS).to_numpy().T
        sets = self._sets[at]
        if sets is not None:
            sets.add(part.cluster[image] << 32 | said.word, np.uint64(1) << part.group[image].astype(np.uint64))

    def _know(self) -> None:
        """Look up the words that are new on the lists."""
        known, words = self._flags.size, self.vocabulary.words
        if len(words) > known:
            new = np.array([self._lists.flags.get(word, 0) for word in words[known:]], dtype=np.int64)
            self._flags = np.concatenate([self._flags, new])

    def tokens(self, part: Part) -> Array:
        """How often each word stands in the texts about each group of a block, shape (groups, words)."""
        return self._of(part)[0]

    def dispersions(self, part: Part, words: Codes) -> tuple[Array, Array]:
        """How unevenly some words fall on the images whose texts have them: of each group, and of all others."""
        return dispersions(*self._of(part)[:, :, words])

    def _of(self, part: Part) -> Array:
        own = self._counts[self._parts.index(part)][:, :, : len(self.vocabulary)]
        later = len(self.vocabulary) - own.shape[2]  # words that only texts of other blocks have, which came later
        return np.pad(own, ((0, 0), (0, 0), (0, later)))

    def presence(self, part: Part, words: Codes) -> Presence | None:
        """In how many images' texts some words stand; of whole sets alone, if there are any. None for many groups."""
        sets = self._sets[self._parts.index(part)]
        if sets is None:
            return None
        texts = self.counted[id(part)].reshape(part.images, -1).sum(axis=1)
        in_sets = len(part.sets) > 0
        images = part.sets[(texts[part.sets] > 0).all(axis=1)].ravel() if in_sets else np.flatnonzero(texts > 0)
        shown = np.bincount(part.group[images], minlength=len(part.groups)).astype(np.float64)
        place = np.full(len(self.vocabulary), -1)
        place[words] = np.arange(words.size)
        kept = np.zeros(part.clusters, dtype=np.bool_)
        kept[part.cluster[images]] = True
        key, mask = sets.whole()
        at = place[key & _WORD]
        there = (at >= 0) & kept[key >> 32]
        return presence(at[there], mask[there], words.size, shown, in_sets=in_sets)


class _Sets:
    """Whose texts have a word, by set: a bit for each group."""

    def __init__(self) -> None:
        self._keys: list[Codes] = []
        self._masks: list[npt.NDArray[np.uint64]] = []
        self._since, self._kept = 0, 0

    def add(self, key: Codes, mask: npt.NDArray[np.uint64]) -> None:
        key, mask = _united(key, mask)
        self._keys.append(key)
        self._masks.append(mask)
        self._since += key.size
        if self._since > max(_COMPACT, self._kept):  # so that each pair is put together a few times only
            self.whole()

    def whole(self) -> tuple[Codes, npt.NDArray[np.uint64]]:
        """Each pair of set and word once, with its groups."""
        if len(self._keys) != 1:
            keys = np.concatenate([np.empty(0, np.int64), *self._keys])
            masks = np.concatenate([np.empty(0, np.uint64), *self._masks])
            self._keys, self._masks = [], []
            key, mask = _united(keys, masks)
            self._keys, self._masks = [key], [mask]
            self._since, self._kept = 0, key.size
        return self._keys[0], self._masks[0]


def _united(key: Codes, mask: npt.NDArray[np.uint64]) -> tuple[Codes, npt.NDArray[np.uint64]]:
    if not key.size:
        return key, mask
    order = np.argsort(key, kind="stable")
    key, mask = key[order], mask[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.bitwise_or.reduceat(mask, first)
