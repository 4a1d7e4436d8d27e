"""Analysis of words: those of groups, and those of word lists by group and occupation."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotate import lexicon
from facevalue.measures import cluster_bootstrap
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates, only_values
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_levels import group_levels
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.proportions import wilson
from facevalue.measures.table_entries import enter
from facevalue.measures.word_association import (
    THRESHOLD,
    Presence,
    association,
    least,
    selected_limits,
    standard_errors,
)
from facevalue.measures.word_bounds import association_bounds
from facevalue.measures.word_limits import METHOD, Limits, listed_limits
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import Answers, by_cluster
from facevalue.studies.counterfactuals.analysis_occupations import BY_OCCUPATION
from facevalue.studies.counterfactuals.contrasts import SEED, add_contrasts, levels
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.texts import Lists, Texts

MOST_WORDS = 500
"""Words of a group that are listed, those of the highest scores."""
_SELECTED = "t over sets whose texts have the word, adjusted for the choice of words"
_SLACK = 1e-12
_NO_INTERVAL = "no interval: one image alone, or no other, has the word"


def add_words(
    table: EstimateTable, blocks: Sequence[Part], gathered: Answers, lists: Lists, frequency: int, sets: int
) -> None:
    """Add words of groups and of lists."""
    for block in blocks:
        if block.task == OPEN and gathered.texts.counted[id(block)].any():
            if not only_values():
                _add_associated(table, block, gathered, frequency)
            for at, prompt in enumerate(block.prompts):
                _add_lists(table, block, gathered, lists, at, {"subset": block.subset, "prompt": prompt})
            prompts = [
                at for at in range(len(block.prompts)) if _of_prompt(block, gathered.texts.counted[id(block)], at).any()
            ]
            by_occupation = [at for at in prompts if block.prompts[at] == BY_OCCUPATION]
            _add_occupations(table, block, gathered.texts, lists, (by_occupation or prompts)[0], sets)


def _of_prompt(block: Part, cells: Array, prompt: int) -> Array:
    return cells.reshape(block.images, len(block.prompts))[:, prompt]


def _texts_of_groups(block: Part, gathered: Answers) -> tuple[Array, Array]:
    """Texts about each group that there are, and that are missing."""
    requested = [np.isfinite(gathered.kind(block, "reason", at)).sum(axis=1) for at in range(len(block.prompts))]
    texts_of_image = gathered.texts.counted[id(block)].reshape(block.images, -1).sum(axis=1)
    known, every = (
        np.bincount(block.group, x, len(block.groups)).astype(np.float64)
        for x in (texts_of_image, np.sum(requested, axis=0))
    )
    return known, np.maximum(every - known, 0.0)


def _add_associated(table: EstimateTable, block: Part, gathered: Answers, frequency: int) -> None:
    """Published lists of words, those that only one group's texts have, and what chance does not explain."""
    texts = gathered.texts
    tokens, words = texts.tokens(block), texts.vocabulary.words
    often = np.flatnonzero(tokens.sum(axis=0) >= frequency)
    counts, sizes = tokens[:, often], tokens.sum(axis=1)
    presence = texts.presence(block, often)
    listed, score = counts >= frequency, association(counts, sizes)
    occurring = texts.occurrences(block, often)
    se = standard_errors(occurring, None if len(block.sets) else texts.shown(block))
    listing = _Words(block, words.gather(often), counts, occurring.images, presence, se)
    listing.add(table, m.PMI, score, listed & np.isfinite(score) & (score >= THRESHOLD - _SLACK))
    bound = least(counts, sizes)
    listing.add(table, m.PMI_LEAST, bound, listed & np.isinf(score) & (bound >= THRESHOLD - _SLACK))
    if presence is None:
        return
    is_masked = words.is_in(_masked(block)).to_numpy()
    sizes = sizes - tokens[:, is_masked].sum(axis=1)
    score, bound = association(counts, sizes), least(counts, sizes)
    score = np.where(np.isinf(score), bound, score)
    movable = presence.images.sum(axis=0) - presence.everywhere * len(block.groups)
    tests = np.broadcast_to((movable >= frequency) & ~is_masked[often], score.shape)
    chosen = _highest(score, tests & listed & (score >= THRESHOLD - _SLACK))
    if chosen.any():
        tested = listed_limits(presence, chosen, int(tests.sum()))
        bounds = association_bounds(score, counts, sizes, occurring.images, _texts_of_groups(block, gathered))
        listing.add(table, m.PMI_STRICT, score, chosen, tested, bounds)


def _highest(score: Array, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The words of each group with the highest scores."""
    order = np.argsort(np.where(listed, -score, np.inf), axis=1, kind="stable")[:, :MOST_WORDS]
    out = np.zeros_like(listed)
    np.put_along_axis(out, order, True, axis=1)
    return out & listed


class _Words:
    """Words of a subset with their counts by group, to be listed."""

    def __init__(
        self, block: Part, words: pl.Series, counts: Array, images: Array, found: Presence | None, se: Array
    ) -> None:
        self._part, self._words, self._counts, self._images = block, words.to_list(), counts, images
        self._units = images.sum(axis=0) if found is None else found.units
        self._se = se

    def add(
        self,
        table: EstimateTable,
        measure: Measure,
        score: Array,
        listed: npt.NDArray[np.bool_],
        tested: Limits | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """List the words of each group with the highest scores, with limits and p-values of their test if there is one.

        Scores count mentions, and the test images that have a word: an interval holds its score.
        """
        group, word = np.nonzero(_highest(score, listed))
        if not group.size:
            return
        value, se = score[group, word], self._se[group, word]
        clusters = self._images[group, word].astype(np.int64)
        n = self._counts[group, word].astype(np.int64)
        about = {
            "subset": self._part.subset,
            "group": [self._part.groups[at] for at in group],
            "word": [self._words[at] for at in word],
        }
        if tested is None:
            method = np.where(np.isfinite(se), _SELECTED, _NO_INTERVAL).astype(object)
            low, high = selected_limits(value, se, np.asarray(self._units[word] - 1.0, np.float64), self._counts.size)
            enter(table, measure, about, Estimates(value, low, high, n, clusters, method, se))
            return
        low, high = np.fmin(tested.low[group, word], value), np.fmax(tested.high[group, word], value)
        method = np.full(value.shape, METHOD, dtype=object)
        family, p = m.family(m.ASSOCIATED, self._part.subset), tested.p[group, word]
        ends = None if bounds is None else bounds.at((group, word))
        enter(
            table, measure, about, Estimates(value, low, high, n, clusters, method, se), family=family, p=p, bounds=ends
        )


def _masked(block: Part) -> list[str]:
    """Words that name groups."""
    group_words = [word for group in block.groups for word in group.lower().split()]
    words = [*group_words, *(half for word in group_words for half in word.split("-"))]  # "dark-skinned", and "dark"
    return [*words, *(word for listed in lexicon.shipped("group_words").lists.values() for word in listed)]


def _add_lists(
    table: EstimateTable, block: Part, gathered: Answers, lists: Lists, prompt: int, about: Mapping[str, str]
) -> None:
    """Words of each list: share of a text's words, and how many, by group; and each group beside the others."""
    texts = gathered.texts
    size = _of_prompt(block, texts.counted[id(block)], prompt)
    if not size.any():
        return
    groups = [*block.groups, None]
    counts_by_kind = [_of_prompt(block, cells, prompt) for cells in _cells(block, texts)]
    sums = [by_cluster(block, cells, size) for cells in counts_by_kind]
    kinds = product((m.WORD_SHARE, m.WORD_COUNT), range(len(lists.names)))
    for (measure, at), means in zip(kinds, (levels(*cells) for cells in sums), strict=True):
        enter(table, measure, {**about, "word_list": lists.names[at], "group": groups}, means)
    if len(block.sets):
        requested = ~np.isnan(gathered.kind(block, "reason", prompt))
        reply = np.arange(requested.shape[1])  # a picture's replies all have its mean share: sets are what vary
        answered, expected = (block.in_sets(reply < many[:, None]) for many in (size, requested.sum(axis=1)))
        for name, hits in zip(lists.names, counts_by_kind, strict=False):
            share = np.where(answered, block.in_sets(cluster_bootstrap.ratio(hits, size)[:, None]), np.nan)
            add_contrasts(table, block.groups, share, {**about, "word_list": name}, m.WORDS, expected)


def _cells(block: Part, texts: Texts) -> list[Array]:
    """Sums of shares of each list by image and prompt, then of distinct words."""
    return [*texts.shares[id(block)], *texts.distinct[id(block)]]


def _means(sums: Array, counts: Array, groups: int) -> Iterator[Estimates]:
    """Means of columns side by side, so many for each measure and list."""
    starts = range(0, sums.shape[1], groups)
    return (group_levels(sums[:, at : at + groups], counts[:, at : at + groups], SEED) for at in starts)


def _add_occupations(table: EstimateTable, block: Part, texts: Texts, lists: Lists, prompt: int, sets: int) -> None:
    """The same by occupation, for those of enough sets; and which group has the fewest, over occupations."""
    size = _of_prompt(block, texts.counted[id(block)], prompt)
    is_whole = (size[block.sets] > 0).all(axis=1)
    occupation = block.set_occupation
    sizes = np.bincount(occupation[is_whole & (occupation >= 0)], minlength=len(block.occupations))
    enough = np.flatnonzero(sizes >= sets)
    groups, names = block.groups, lists.names
    rates = [cluster_bootstrap.ratio(_of_prompt(block, cells, prompt), size) for cells in _cells(block, texts)]
    fewest = np.zeros((len(names), enough.size, len(groups)))
    about = {"subset": block.subset, "prompt": block.prompts[prompt]}
    for place, number in enumerate(enough):
        own = block.sets[is_whole & (occupation == number)]
        values = np.hstack([cells[own] for cells in rates])
        found = _means(values, np.ones_like(values), len(groups))
        labels = {**about, "occupation": block.occupations[number], "group": groups}
        for (measure, at), means in zip(product((m.WORD_SHARE, m.WORD_COUNT), range(len(names))), found, strict=True):
            enter(table, measure, {**labels, "word_list": names[at]}, means)
            if measure is m.WORD_SHARE:
                least_of = means.value <= means.value.min() + _SLACK
                fewest[at, place] = least_of / least_of.sum()
    for name, shared in zip(names, fewest, strict=True):
        if enough.size:
            _enter_fewest(table, {**about, "word_list": name, "group": groups}, shared)


def _enter_fewest(table: EstimateTable, about: Mapping[str, str | Sequence[str]], fewest: Array) -> None:
    share, count = fewest.mean(axis=0), fewest.shape[0]
    size = np.full(share.shape, float(count))
    low, high = wilson(share, size, np.maximum(size - 1, 1))
    number = np.full(share.shape, count)
    method = np.full(share.shape, "Wilson, over occupations", dtype=object)
    se = np.sqrt(share * (1 - share) / count)
    enter(table, m.FEWEST, about, Estimates(share, low, high, number, number, method, se))
