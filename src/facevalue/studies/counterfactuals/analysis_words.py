"""Analysis of words: those of groups, and those of word lists by group and occupation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from facevalue.annotations import lexicon
from facevalue.measures.cluster_bootstrap import Array, cell_means, only_values
from facevalue.measures.definitions import Measure
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.protocol.estimands import Row
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import (
    SEED,
    SetAnswers,
    add_group_levels,
    group_contrasts,
    group_levels,
)
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.texts import Lists, Texts
from facevalue.studies.counterfactuals.word_association import (
    LISTED_INVERSION,
    SCORE_THRESHOLD,
    Limits,
    association_bounds,
    association_scores,
    least_scores,
    listed_limits,
    selected_limits,
    standard_errors,
)

MOST_WORDS = 500
"""Words of a group that are listed, those of the highest scores."""
_SELECTED = name_method(IntervalKind.T, "over sets whose texts have the word, adjusted for the choice of words")
_SLACK = 1e-12
_NO_INTERVAL = name_method(IntervalKind.NONE, "one image alone, or no other, has the word")


def of_words(blocks: Sequence[Part], gathered: SetAnswers, lists: Lists, frequency: int, sets: int) -> Iterator[Row]:
    """Words of groups and of lists."""
    for block in blocks:
        if block.task == OPEN and gathered.texts.counted[id(block)].any():
            if not only_values():
                yield from _word_rows(block, gathered, frequency)
            sizes = [_of_prompt(block, gathered.texts.counted[id(block)], at) for at in range(len(block.prompts))]
            answered = [at for at, size in enumerate(sizes) if size.any()]
            for prompt in answered:
                yield from _of_lists(block, gathered, lists, prompt)
            yield from _of_occupations(block, gathered.texts, lists, block.told_prompt(answered), sets)


def _of_prompt(block: Part, cells: Array, prompt: int) -> Array:
    return cells.reshape(block.images, len(block.prompts))[:, prompt]


def _texts_of_groups(block: Part, gathered: SetAnswers) -> tuple[Array, Array]:
    """Texts about each group that there are, and that are missing."""
    requested = [gathered.replies(block, at).numbers["requests"] for at in range(len(block.prompts))]
    texts_of_image = gathered.texts.counted[id(block)].reshape(block.images, -1).sum(axis=1)
    counts, totals = (
        np.bincount(block.group, x, len(block.groups)).astype(np.float64)
        for x in (texts_of_image, np.sum(requested, axis=0))
    )
    return counts, np.maximum(totals - counts, 0.0)


def _word_rows(block: Part, gathered: SetAnswers, frequency: int) -> Iterator[Row]:
    """Published lists of words, those that only one group's texts have, and what chance does not explain."""
    texts = gathered.texts
    tokens, words = texts.tokens(block), texts.vocabulary.words
    often = np.flatnonzero(tokens.sum(axis=0) >= frequency)
    counts, sizes = tokens[:, often], tokens.sum(axis=1)
    presence = texts.presence(block, often)
    listed, score = counts >= frequency, association_scores(counts, sizes)
    occurring = texts.occurrences(block, often)
    se = standard_errors(occurring, None if len(block.sets) else texts.images_with_text(block))
    units = np.asarray(occurring.images.sum(axis=0) if presence is None else presence.units, np.float64)
    listing = _Words(block, words.gather(often).to_list(), counts, occurring.images, units, se)
    yield from listing.rows(m.PMI, score, listed & np.isfinite(score) & (score >= SCORE_THRESHOLD - _SLACK))
    bound = least_scores(counts, sizes)
    yield from listing.rows(m.PMI_LEAST, bound, listed & np.isinf(score) & (bound >= SCORE_THRESHOLD - _SLACK))
    if presence is None:
        return
    is_masked = words.is_in(_group_words(block)).to_numpy()
    sizes = sizes - tokens[:, is_masked].sum(axis=1)
    score, bound = association_scores(counts, sizes), least_scores(counts, sizes)
    score = np.where(np.isinf(score), bound, score)
    movable = presence.images.sum(axis=0) - presence.everywhere * len(block.groups)
    tests = np.broadcast_to((movable >= frequency) & ~is_masked[often], score.shape)
    chosen = _highest(score, tests & listed & (score >= SCORE_THRESHOLD - _SLACK))
    if chosen.any():
        tested = listed_limits(presence, chosen, int(tests.sum()))
        bounds = association_bounds(score, counts, sizes, occurring.images, _texts_of_groups(block, gathered))
        yield from listing.rows(m.PMI_STRICT, score, chosen, tested, bounds)


def _highest(score: Array, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The words of each group with the highest scores."""
    order = np.argsort(np.where(listed, -score, np.inf), axis=1, kind="stable")[:, :MOST_WORDS]
    out = np.zeros_like(listed)
    np.put_along_axis(out, order, True, axis=1)
    return out & listed


@dataclass(frozen=True)
class _Words:
    """Words of a subset with their counts, images that have them and standard errors by group, to be listed."""

    block: Part
    words: list[str]
    counts: Array
    images: Array
    units: Array
    se: Array

    def rows(
        self,
        measure: Measure,
        score: Array,
        listed: npt.NDArray[np.bool_],
        tested: Limits | None = None,
        bounds: Bounds | None = None,
    ) -> Iterator[Row]:
        """The words of each group with the highest scores, with limits and p-values of their test if there is one.

        Scores count mentions, and the test images that have a word: an interval holds its score.
        """
        at = group, word = np.nonzero(_highest(score, listed))
        if not group.size:
            return
        value, se, p, family = score[at], self.se[at], None, None
        if tested is None:
            method = np.where(np.isfinite(se), _SELECTED, _NO_INTERVAL).astype(object)
            low, high = selected_limits(value, se, self.units[word] - 1.0, self.counts.size)
        else:
            low, high = np.fmin(tested.low[at], value), np.fmax(tested.high[at], value)
            method = np.full(value.shape, LISTED_INVERSION, dtype=object)
            p, family = tested.p[at], m.family(m.ASSOCIATED, self.block.subset)
        n, clusters = (count[at].astype(np.int64) for count in (self.counts, self.images))
        estimates = Estimates(value, low, high, n, clusters, method, se)
        groups, words = [self.block.groups[x] for x in group], [self.words[x] for x in word]
        labels = {"subset": self.block.subset, "group": groups, "word": words}
        yield measure, labels, replace(estimates, bounds=bounds and bounds.select_rows(at), p=p), family


def _group_words(block: Part) -> list[str]:
    """Words that name groups."""
    group_words = [word for group in block.groups for word in group.lower().split()]
    words = [*group_words, *(half for word in group_words for half in word.split("-"))]  # "dark-skinned", and "dark"
    return [*words, *(word for listed in lexicon.shipped_lexicon("group_words").lists.values() for word in listed)]


def _of_lists(block: Part, gathered: SetAnswers, lists: Lists, prompt: int) -> Iterator[Row]:
    """Words of each list: share of a text's words, and how many, by group; and each group beside the others."""
    about = {"subset": block.subset, "prompt": block.prompts[prompt]}
    size = _of_prompt(block, gathered.texts.counted[id(block)], prompt)
    cells = [_of_prompt(block, hits, prompt) for hits in _cells(block, gathered.texts)]
    for (measure, name), hits in zip(product((m.WORD_SHARE, m.WORD_COUNT), lists.names), cells, strict=True):
        labels, means = add_group_levels(block.by_image({"s": hits, "n": size}).with_total("group"), ("group",))
        yield measure, {**about, "word_list": name, **labels}, means, None
    if len(block.sets):
        requested = gathered.replies(block, prompt).numbers["requests"]
        reply = np.arange(int(requested.max()))  # a picture's replies all have its mean share: sets are what vary
        answered, expected = (block.in_sets(reply < many[:, None]) for many in (size, requested))
        for name, hits in zip(lists.names, cells, strict=False):
            share = np.where(answered, block.in_sets(cell_means(hits, size)[:, None]), np.nan)
            yield from group_contrasts(block.groups, share, {**about, "word_list": name}, m.WORDS, expected)


def _cells(block: Part, texts: Texts) -> list[Array]:
    """Sums of shares of each list by image and prompt, then of distinct words."""
    return [*texts.shares[id(block)], *texts.distinct[id(block)]]


def _of_occupations(block: Part, texts: Texts, lists: Lists, prompt: int, sets: int) -> Iterator[Row]:
    """The same by occupation, for those of enough sets; and which group has the fewest, over occupations."""
    size = _of_prompt(block, texts.counted[id(block)], prompt)
    is_whole = (size[block.sets] > 0).all(axis=1)
    occupation = np.where(is_whole, block.set_occupation, -1)
    enough = np.flatnonzero(np.bincount(occupation[occupation >= 0], minlength=len(block.occupations)) >= sets)
    rates = [cell_means(_of_prompt(block, cells, prompt), size) for cells in _cells(block, texts)]
    measures = list(product((m.WORD_SHARE, m.WORD_COUNT), lists.names))
    fewest: dict[str, list[Array]] = {name: [] for name in lists.names}
    about = {"subset": block.subset, "prompt": block.prompts[prompt], "group": block.groups}
    for number in enough:
        images = block.sets[occupation == number]
        for (measure, name), rate in zip(measures, rates, strict=True):
            means = group_levels(rate[images], np.ones(images.shape), SEED)
            labels = {**about, "occupation": block.occupations[number], "word_list": name}
            yield measure, labels, means, None
            if measure is m.WORD_SHARE:
                least_of = means.value <= means.value.min() + _SLACK
                fewest[name].append(least_of / least_of.sum())
    for name, shared in fewest.items() if enough.size else ():
        parts = np.array(shared)
        yield m.FEWEST, {**about, "word_list": name}, column_shares(parts, np.ones_like(parts)), None
